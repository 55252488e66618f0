//! Answers of every sort, and what becomes of them.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;
use toolrail_core::{Block, Payload, ToolResult};

use super::*;
use crate::outbound::{Cut, Sensitive};

fn incoming(content_type: &str, body: impl Into<Bytes>) -> Incoming {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert("content-type", HeaderValue::from_str(content_type).unwrap());
    }
    Incoming {
        method: Method::GET,
        status: StatusCode::OK,
        headers,
        body: body.into(),
        cut: None,
        uri: "http://user:pw@up.example:81/p/x?key=1".parse().unwrap(),
        sensitive: Sensitive::default(),
    }
}

fn cut(content_type: &str, body: impl Into<Bytes>, total: Option<u64>) -> Incoming {
    let incoming = incoming(content_type, body);
    let cap = incoming.body.len();
    Incoming { cut: Some(Cut { cap, total }), ..incoming }
}

fn status(code: u16, incoming: Incoming) -> Incoming {
    Incoming { status: StatusCode::from_u16(code).unwrap(), ..incoming }
}

fn path(expression: &str) -> ResponseMapping {
    ResponseMapping::JsonPath { path: expression.to_owned() }
}

fn template(text: &str) -> ResponseMapping {
    ResponseMapping::Template { template: text.to_owned() }
}

fn outcome(mapping: &ResponseMapping, incoming: Incoming) -> Outcome {
    outcome_within(mapping, incoming, Allowance::LARGE)
}

fn outcome_within(mapping: &ResponseMapping, incoming: Incoming, allowance: Allowance) -> Outcome {
    let mut problems = Problems::default();
    let answer = AnswerMapping::compile(mapping, &mut problems);
    let problems = problems.into_list(None, str::to_owned);
    let arguments = json!({"city": "Köln", "n": 3});
    let answer = answer.unwrap_or_else(|| panic!("{problems:?}"));
    let mut meter = Meter::new(allowance);
    answer.mapping.outcome(incoming, arguments.as_object().unwrap(), &mut meter).or_else(MappingFailure::into)
}

fn passed(incoming: Incoming) -> ToolResult {
    outcome(&ResponseMapping::Passthrough, incoming).unwrap()
}

fn refused(mapping: &ResponseMapping, incoming: Incoming) -> CallError {
    outcome(mapping, incoming).unwrap_err()
}

fn faults(mapping: &ResponseMapping) -> Vec<String> {
    let mut problems = Problems::default();
    assert!(AnswerMapping::compile(mapping, &mut problems).is_none());
    problems.into_list(None, str::to_owned).iter().map(|p| format!("{}: {}", p.pointer, p.message)).collect()
}

/// The payload in a line.
fn shown(result: &ToolResult) -> String {
    match &result.payload {
        Payload::Json(json) => format!("json {}", json.text()),
        Payload::Text(text) => format!("text {text}"),
        Payload::Whole(_) | Payload::InputRequired(_) => unreachable!("HTTP answers are neither"),
        Payload::Empty => "empty".to_owned(),
        Payload::Blocks(blocks) => match &blocks[..] {
            [Block::Image { data, mime }] => format!("image {mime} {}", data.len()),
            [Block::Audio { data, mime }] => format!("audio {mime} {}", data.len()),
            [Block::Resource { uri, mime, data }] => format!("resource {uri} {mime} {}", data.len()),
            other => format!("{other:?}"),
        },
    }
}

#[test]
fn the_content_type_decides_the_payload() {
    for (content_type, body, expected) in [
        ("application/json", &b" {\"b\":1,\"a\":2.50} "[..], "json {\"b\":1,\"a\":2.50}"),
        ("application/problem+json; charset=utf-8", b"[1]", "json [1]"),
        ("Application/JSON", b"\xEF\xBB\xBF3", "json 3"),
        ("application/json;charset=ISO-8859-1", b"{\"a\":\"K\xF6ln\"}", "json {\"a\":\"Köln\"}"),
        ("", b" {\"a\":1}", "json {\"a\":1}"),
        ("", b"{not json", "text {not json"),
        ("", b"12", "text 12"),
        ("", b"\x00\x01", "resource http://up.example:81/p/x application/octet-stream 2"),
        ("text/plain", b"{\"a\":1}", "text {\"a\":1}"),
        ("text/html; charset=\"utf-8\"", "<p>你好</p>".as_bytes(), "text <p>你好</p>"),
        ("text/plain; charset=latin1", b"K\xF6ln", "text Köln"),
        ("application/xml", b"<a/>", "text <a/>"),
        ("application/soap+xml", b"<a/>", "text <a/>"),
        ("application/x-ndjson", b"{}\n{}\n", "text {}\n{}\n"),
        ("image/svg+xml", b"<svg/>", "text <svg/>"),
        ("image/PNG", b"\x89PNG", "image image/png 4"),
        ("audio/wav; x=1", b"RIFF", "audio audio/wav 4"),
        ("application/pdf", b"%PDF", "resource http://up.example:81/p/x application/pdf 4"),
        ("video/mp4", b"....", "resource http://up.example:81/p/x video/mp4 4"),
    ] {
        let result = passed(incoming(content_type, body));
        assert_eq!(shown(&result), expected, "{content_type}");
        assert!(!result.is_error && result.notes.is_empty(), "{content_type}: {:?}", result.notes);
    }
}

#[test]
fn json_that_is_none_is_given_as_text_with_a_note() {
    let result = passed(incoming("application/json", "<html>login</html>"));
    assert_eq!(shown(&result), "text <html>login</html>");
    assert!(result.notes[0].starts_with("the upstream declared JSON but the body is not valid JSON: "));
    let result = passed(incoming("application/json;charset=gbk", &b"{\"a\":\"\xC4\xE3\xBA\xC3\""[..]));
    assert_eq!(result.notes.len(), 2);
    assert!(result.notes[1].contains("declared as gbk"), "{:?}", result.notes);
}

#[test]
fn json_nested_too_deep_for_others_is_given_as_text_with_a_note() {
    let deep = "[".repeat(121) + &"]".repeat(121);
    let result = passed(incoming("application/json", deep.clone()));
    assert_eq!(shown(&result), format!("text {deep}"));
    let note =
        "the upstream declared JSON but the body is nested deeper than 120 levels; it is given as text";
    assert_eq!(result.notes, [note]);
}

#[test]
fn text_in_a_foreign_charset_says_that_it_is_not_exact() {
    let result = passed(incoming("text/plain; charset=gbk", &b"a\xC4\xE3"[..]));
    assert!(shown(&result).starts_with("text a\u{FFFD}"));
    assert!(result.notes[0].contains("declared as gbk and is not valid UTF-8"), "{:?}", result.notes);
}

#[test]
fn an_empty_answer_is_empty_but_a_head_request_shows_the_head() {
    assert_eq!(shown(&passed(status(204, incoming("", "")))), "empty");
    assert_eq!(shown(&passed(incoming("application/json", ""))), "empty");
    for method in [Method::HEAD, Method::OPTIONS] {
        let mut answer = Incoming { method, ..incoming("text/html", "") };
        for (name, value) in [("allow", "GET"), ("allow", "PUT"), ("set-cookie", "session=1")] {
            answer.headers.append(name, HeaderValue::from_static(value));
        }
        let expected =
            "json {\"status\":200,\"headers\":{\"content-type\":\"text/html\",\"allow\":\"GET, PUT\"}}";
        assert_eq!(shown(&passed(answer)), expected);
    }
    let options = Incoming { method: Method::OPTIONS, ..incoming("text/plain", "said") };
    assert_eq!(shown(&passed(options)), "text said");
}

#[test]
fn a_redirect_that_is_not_followed_is_an_answer() {
    let mut answer = status(302, incoming("text/html", "<a>moved</a>"));
    answer.headers.insert("location", HeaderValue::from_static("/there"));
    assert_eq!(shown(&passed(answer)), "json {\"status\":302,\"location\":\"/there\"}");
}

#[test]
fn a_cut_answer_is_honest_about_it() {
    for (answer, text, note) in [
        (
            cut("application/json", "{\"a\":[1,2", Some(99)),
            "text {\"a\":[1,2",
            "the answer was cut at 9 of 99 bytes; ",
        ),
        (cut("text/plain", &"Kö".as_bytes()[..2], Some(3)), "text K", "the answer was cut at 1 of 3 bytes; "),
        (cut("", "ab", None), "text ab", "the answer was cut at 2 bytes (its whole length is unknown); "),
    ] {
        let result = passed(answer);
        assert_eq!(shown(&result), text);
        assert!(result.notes[0].starts_with(note), "{:?}", result.notes);
        assert!(result.notes[0].ends_with("raise maxResponseBytes or ask the upstream for less"));
    }
}

#[test]
fn half_a_picture_is_not_delivered() {
    for (answer, words) in [
        (
            cut("image/png", "1234", Some(9000)),
            "answered with 9000 bytes of image/png, more than the 4 bytes",
        ),
        (
            cut("", &b"\xff\xff"[..], None),
            "answered with an unknown number of bytes of application/octet-stream",
        ),
    ] {
        let error = refused(&ResponseMapping::Passthrough, answer);
        assert_eq!(error.code, ErrorCode::UpstreamInvalid);
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn an_error_status_is_a_failure_with_an_excerpt() {
    let place = "http://up.example:81/p/x";
    for (answer, expected) in [
        (
            status(404, incoming("application/json", "{\"error\":\n\t\"no such\u{7} city\"}")),
            format!("the upstream answered 404 Not Found to GET {place}: {{\"error\": \"no such city\"}}"),
        ),
        (
            status(500, incoming("", "")),
            format!("the upstream answered 500 Internal Server Error to GET {place}"),
        ),
        (
            status(503, incoming("image/png", "1234")),
            format!("the upstream answered 503 Service Unavailable to GET {place}: (4 bytes of image/png)"),
        ),
        (status(799, incoming("", "odd")), format!("the upstream answered 799 to GET {place}: odd")),
    ] {
        let error = refused(&path("$.a"), answer);
        assert_eq!((error.code, error.message), (ErrorCode::UpstreamStatus, expected));
    }
    let mut limited = status(429, incoming("text/plain", "slow down"));
    limited.headers.insert("retry-after", HeaderValue::from_static("30"));
    let error = refused(&ResponseMapping::Passthrough, limited);
    assert!(error.message.ends_with("/p/x (retry-after: 30): slow down"), "{error}");
}

#[test]
fn the_excerpt_is_bounded() {
    for body in ["x".repeat(100_000), "word ".repeat(20_000), "你".repeat(50_000)] {
        let error = refused(&ResponseMapping::Passthrough, status(500, incoming("text/plain", body)));
        let excerpt = error.message.split_once("/p/x: ").unwrap().1;
        assert_eq!(excerpt.chars().count(), 2_001);
        assert!(excerpt.ends_with('…'));
    }
}

#[test]
fn a_compressed_answer_is_refused_and_never_quoted() {
    let mut answer = incoming("application/json", &b"\x1f\x8b\x08"[..]);
    answer.headers.insert("content-encoding", HeaderValue::from_static("gzip"));
    let error = refused(&ResponseMapping::Passthrough, answer.clone());
    assert!(error.message.contains("content-encoding \"gzip\" though none was asked for"), "{error}");
    let error = refused(&ResponseMapping::Passthrough, status(500, answer));
    assert!(error.message.ends_with("(3 bytes of application/json)"), "{error}");
}

const WEATHER: &str = "{\"data\":{\"items\":[{\"name\":\"b\",\"t\":1},{\"name\":\"a\",\"t\":2.5}],\"z\":null},\"a.b\":{\"*\":7}}";

#[test]
fn a_json_path_selects_part_of_the_answer() {
    for (expression, expected) in [
        ("$.data.items[1].name", "json \"a\""),
        ("$.data.items[-1].t", "json 2.5"),
        ("$['a.b']['*']", "json 7"),
        ("$.data.z", "json null"),
        ("$.data.items[*].name", "json [\"b\",\"a\"]"),
        ("$..t", "json [1,2.5]"),
        ("$.data.items[?@.t > 2].name", "json [\"a\"]"),
        ("$.data.items[?length(@.name) == 1].t", "json [1,2.5]"),
        ("$.data.items[0:1]", "json [{\"name\":\"b\",\"t\":1}]"),
        ("$.data.items[0,1].t", "json [1,2.5]"),
        (
            "$",
            "json {\"data\":{\"items\":[{\"name\":\"b\",\"t\":1},{\"name\":\"a\",\"t\":2.5}],\"z\":null},\"a.b\":{\"*\":7}}",
        ),
    ] {
        let result = outcome(&path(expression), incoming("application/json", WEATHER)).unwrap();
        assert_eq!(shown(&result), expected, "{expression}");
        assert!(result.notes.is_empty(), "{expression}");
    }
}

#[test]
fn a_json_path_that_selects_nothing_says_so() {
    for (expression, answer, expected) in [
        ("$.nope", incoming("application/json", WEATHER), "json null"),
        ("$.nope[*]", incoming("application/json", WEATHER), "json []"),
        ("$.nope", status(204, incoming("", "")), "empty"),
    ] {
        let result = outcome(&path(expression), answer).unwrap();
        assert_eq!(shown(&result), expected);
        assert_eq!(result.notes, [format!("responseMapping {expression} selected nothing in the answer")]);
    }
}

#[test]
fn a_mapping_is_not_applied_to_what_it_cannot_fit() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for (mapping, answer, words) in [
        (path("$.a"), incoming("text/plain", "{\"a\":1}"), "is not JSON"),
        (path("$.a"), incoming("application/json", "{broken"), "is not JSON"),
        (path("$.a"), incoming("application/json", deep), "is not JSON"),
        (path("$.a"), cut("application/json", "{\"a\"", Some(9)), "was cut at 4 of 9 bytes"),
        (template("{{ result }}"), cut("text/plain", "abc", None), "was cut at 3 bytes"),
        (template("{{ result }}"), incoming("image/png", "abc"), "neither JSON nor text"),
    ] {
        let error = refused(&mapping, answer);
        assert_eq!(error.code, ErrorCode::UpstreamInvalid);
        assert!(
            error.message.contains(words) && error.message.contains("http://up.example:81/p/x"),
            "{error}"
        );
    }
}

#[test]
fn a_template_makes_a_text() {
    for (text, expected) in [
        ("{{ args.city }}: {{ result.data.items[0].t }} °C ({{ status }})", "text Köln: 1 °C (200)"),
        (
            "{% for item in result.data.items|sort(attribute='name') %}{{ item.name }}={{ item.t }};{% endfor %}",
            "text a=2.5;b=1;",
        ),
        (
            "{{ result.data.z }} {{ true }} {{ result.data.items[0] }} {{ [1,'a'] }}",
            "text null true {\"name\":\"b\",\"t\":1} [1,\"a\"]",
        ),
        ("{{ result.data.items|map(attribute='name')|join(', ') }}", "text b, a"),
        ("{{ 'a-b-a'|replace('a', 'x') }}", "text x-b-x"),
        ("{{ result.nope|default('none') }}{% if result.nope %}yes{% else %}no{% endif %}", "text noneno"),
        ("{% if result.nope is defined %}a{% else %}b{% endif %}", "text b"),
        ("<{{ '<&>' }}>", "text <<&>>"),
    ] {
        let result = outcome(&template(text), incoming("application/json", WEATHER)).unwrap();
        assert_eq!(shown(&result), expected, "{text}");
    }
    let text = outcome(&template("said: {{ result }}"), incoming("text/plain", "hi")).unwrap();
    assert_eq!(shown(&text), "text said: hi");
    let empty = outcome(&template("{{ status }} {{ result }}"), status(204, incoming("", ""))).unwrap();
    assert_eq!(shown(&empty), "text 204 null");
}

#[test]
fn a_template_that_fails_says_where_and_why() {
    let long = "x".repeat(1_000_000);
    for (text, words) in [
        ("a\n{{ result.nope }}", "line 2: undefined value in \"result.nope\""),
        ("{{ result.data.nope.deeper }}", "in \"result.data.nope.deeper\""),
        ("{{ result.data.items + 1 }}", "line 1: "),
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
            "more than 200000 steps",
        ),
        ("{% for a in range(1000) %}{{ args.city * 10000 }}{% endfor %}", "grew beyond"),
        ("{{ ('a' * 100000)|replace('a', 'b' * 100000) }}", "the result is too large"),
        (
            "{{ (['\"' * 9000] * 100)|tojson|tojson|tojson|tojson|tojson|tojson|tojson|tojson }}",
            "the result is too large",
        ),
        ("{{ range(10000)|join('b' * 100000) }}", "the result is too large"),
    ] {
        let error = refused(&template(text), incoming("application/json", WEATHER));
        assert_eq!(error.code, ErrorCode::UpstreamInvalid);
        let place = "/responseMapping/template: the responseMapping template failed: ";
        assert!(error.message.starts_with(place) && error.is_about_definition, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let result = outcome(&template("{{ result }}"), incoming("text/plain", long.clone())).unwrap();
    assert_eq!(shown(&result).len(), long.len() + 5);
}

#[test]
fn faults_in_a_mapping_are_found_when_it_is_compiled() {
    for (mapping, pointer, words) in [
        (path("data.items"), "/responseMapping/path", "\"data.items\" must start with $, as in $.data.items"),
        (path("$.items[?@.a =~ /x/]"), "/responseMapping/path", "is not a JSONPath"),
        (path("$.a[?nope(@.b)]"), "/responseMapping/path", "is not a JSONPath"),
        (path("$..a..b..c..d"), "/responseMapping/path", "has more than one descendant step"),
        (template("a\n{{ result. }}"), "/responseMapping/template", "line 2: "),
        (template("{% for a in result %}"), "/responseMapping/template", "line 1: "),
        (
            template("{{ reslt.a }}"),
            "/responseMapping/template",
            "reslt is not known in this template; did you mean result?",
        ),
        (
            template("{{ secrets.KEY }}"),
            "/responseMapping/template",
            "secrets is not known in this template; there are",
        ),
        (template("{{ result\n|uper }}"), "/responseMapping/template", "line 2: there is no filter uper"),
        (template("{{ result|indent(4) }}"), "/responseMapping/template", "there is no filter indent"),
        (
            template("{% if result is empti %}{% endif %}"),
            "/responseMapping/template",
            "there is no test empti",
        ),
        (template(&"x".repeat(70_000)), "/responseMapping/template", "shorten it"),
    ] {
        let faults = faults(&mapping);
        assert!(
            faults.iter().any(|fault| fault.starts_with(&format!("{pointer}: ")) && fault.contains(words)),
            "{faults:?}"
        );
    }
    assert_eq!(faults(&template("{{ a }}{{ b|c }}")).len(), 3);
}

#[test]
fn a_json_path_that_would_cost_too_much_is_refused_before_it_is_parsed() {
    let nested =
        |open: &str, close: &str, times| format!("$[?{}@.a{}]", open.repeat(times), close.repeat(times));
    for (expression, words) in [
        (nested("!(", ")", 5000), "more than the 1000"),
        (nested("!(", ")", 40), "nested deeper than 32"),
        (nested("(", ")", 40), "nested deeper than 32"),
        (
            format!("$[?{}@{} == 1]", "length(".repeat(30), ")".repeat(30)),
            "functions are nested deeper than 3",
        ),
        ("$[".repeat(40), "nested deeper than 32"),
        ("$..a..b".into(), "has more than one descendant step"),
        (format!("$[{}0]", "0,".repeat(17)), "more than 16 commas"),
        (format!("${}", "[0,1]".repeat(3)), "more than 2 steps hold several selectors"),
        ("$[?@.a][?@.b][?@.c][?@.d]".into(), "more than 3 filters"),
        ("$[?@[?@.a]]".into(), "filters inside filters are not supported"),
        ("$[?@.a == $.b]".into(), "$ inside a filter"),
        ("$[?@..a]".into(), ".. inside a filter"),
    ] {
        let faults = faults(&path(&expression));
        assert!(faults[0].starts_with("/responseMapping/path: ") && faults[0].contains(words), "{faults:?}");
    }
    let deepest = nested("(", ")", 31);
    for expression in [
        deepest.as_str(),
        "$['..$?,((((((((((((((((((((((((((((((((((((((']",
        "$.a[?@.b && (@.c == '$..?' || length(value(@.d)) > 2)]['x','y']",
        "$[?match(@.a, 'x') && search(@.b, 'y')]",
    ] {
        let result = outcome(&path(expression), incoming("application/json", WEATHER));
        assert!(result.is_ok(), "{expression}: {result:?}");
    }
}

#[test]
fn a_json_path_cannot_make_more_of_an_answer_than_there_is() {
    let many = format!("[{}0]", "0,".repeat(60_000));
    let error = refused(&path("$[*,*]"), incoming("application/json", many));
    assert!(error.message.contains("selected 120002 values, more than the 100000"), "{error}");
    let long = format!("[\"{}\"]", "x".repeat(1 << 20));
    let error = refused(&path("$[0,0,0,0,0,0,0,0,0,0]"), incoming("application/json", long.clone()));
    assert!(error.message.contains("selected more than 8388608 bytes; select less"), "{error}");
    assert!(outcome(&path("$[0,0]"), incoming("application/json", long)).is_ok());
}

#[test]
fn a_template_that_goes_too_far_is_refused_before_it_is_parsed() {
    let many = |text: &str, times: usize| text.repeat(times);
    for (text, words) in [
        (format!("{{{{ {}1 }}}}", many("(", 20_000)), "more than 2000 bytes"),
        (
            format!("\n{{{{ {}1{} }}}}", many("[", 33), many("]", 33)),
            "line 2: brackets are nested deeper than 32",
        ),
        (format!("{{{{ 'a'{} }}}}", many("|upper", 11)), "more than 10 filters"),
        (format!("{{{{ {}1 }}}}", many("1+", 500)), "more than 60 operators"),
        (format!("{{{{ {}1 }}}}", many("-", 1900)), "more than 60 operators"),
        (format!("{{{{ result{} }}}}", many(".a", 900)), "more than 200 steps"),
        (format!("{{% if 0 %}}{}{{% endif %}}", many("{% elif 0 %}", 201)), "more than 200 elif"),
        (many("{{ 1 }}", 1001), "more than 1000 blocks"),
        (format!("{}{}", many("{% if 1 %}", 17), many("{% endif %}", 17)), "nested deeper than 16"),
        (
            format!("{}{}", many("{% for a in result %}", 5), many("{% endfor %}", 5)),
            "loops are nested deeper than 4",
        ),
        ("{% set a = 1 %}".into(), "\"set\" is not supported in a response template"),
        ("{%- macro f() %}{% endmacro %}".into(), "\"macro\" is not supported"),
        ("{% include 'x' %}".into(), "\"include\" is not supported"),
        ("{%raw%}{%endraw%}".into(), "\"raw\" is not supported"),
        ("{% for a in result recursive %}{% endfor %}".into(), "a recursive loop is not supported"),
        ("{% for a in [[result, result]] %}{% endfor %}".into(), "\"result\" stands in a list"),
        ("{% for a in [1]|zip([args]) %}{% endfor %}".into(), "\"args\" stands in a list"),
        ("{{ namespace(a=1) }}".into(), "namespace is not known"),
        ("{{ dict(a=1) }}".into(), "dict is not known"),
        ("{{ cycler(1) }}".into(), "cycler is not known"),
        ("{{ result".into(), "line 1: \"{{\" is never closed"),
        ("{% if {".into(), "\"{%\" is never closed"),
    ] {
        let faults = faults(&template(&text));
        assert!(
            faults[0].starts_with("/responseMapping/template: ") && faults[0].contains(words),
            "{faults:?}"
        );
    }
    let nested = format!("{}x{}", many("{% if 1 %}", 16), many("{% endif %}", 16));
    for text in [
        nested.as_str(),
        "{% for a in ['x', 1, true]|reverse %}{% for b in result['data']['items'] %}{{ loop.index }}{% endfor %}{% endfor %}",
        "{%- for key, value in args|items if key != 'n' -%}{{ key }}={{ [value, {'a': value}] }}{%- endfor -%}",
        "{# ((((( #}{{ '}}' }}{{ {'a': {'b': 1}} }}",
    ] {
        let result = outcome(&template(text), incoming("application/json", WEATHER));
        assert!(result.is_ok(), "{text}: {result:?}");
    }
}

/// The largest that is accepted stays within the stack of a worker thread, even without optimisation.
#[test]
fn what_is_accepted_fits_the_stack() {
    let checks = || {
        let parens = format!("{}1{}", "(".repeat(32), ")".repeat(32));
        let chains = [
            format!("{{{{ {} }}}}", "1+".repeat(60) + "1"),
            format!("{{{{ {} }}}}", "-".repeat(60) + "1"),
            format!("{{{{ {} }}}}", "not ".repeat(60) + "1"),
            format!("{{{{ {} }}}}", "1 if 0 else ".repeat(60) + "1"),
            format!("{{{{ {} }}}}", "1<".repeat(200) + "1"),
            format!("{{{{ result{} }}}}", ".a".repeat(200)),
            format!("{{{{ result{} }}}}", "()".repeat(200)),
            format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(200)),
            format!("{}{{{{ {parens} }}}}{}", "{% if 1 %}".repeat(16), "{% endif %}".repeat(16)),
        ];
        for text in chains {
            let mut problems = Problems::default();
            if let Some(answer) = AnswerMapping::compile(&template(&text), &mut problems) {
                let mut meter = Meter::new(Allowance::LARGE);
                drop(answer.mapping.outcome(incoming("application/json", WEATHER), &Map::new(), &mut meter));
            }
        }
        for expression in ["!(", "(", "["] {
            let path = path(&format!("$[?{}", expression.repeat(31)));
            let mut problems = Problems::default();
            assert!(AnswerMapping::compile(&path, &mut problems).is_none());
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(checks).unwrap().join().unwrap();
}

#[tokio::test]
async fn a_long_mapping_of_a_large_answer_keeps_no_deadline_waiting() {
    let mapping = template("{% for a in range(2) %}{{ result|sort|length }}{% endfor %}");
    let answer = AnswerMapping::compile(&mapping, &mut Problems::default()).unwrap();
    let body = format!("[{}0]", "1,0,".repeat(10_000));
    // On a runtime of one thread, a mapping that ran here would be done before the deadline is looked at.
    let deadline = std::time::Duration::ZERO;
    let arguments = Map::new();
    let mapped = answer.outcome(incoming("application/json", body.clone()), &arguments);
    assert!(tokio::time::timeout(deadline, mapped).await.is_err());
    let result = answer.outcome(incoming("application/json", body), &arguments).await.unwrap();
    assert_eq!(shown(&result), format!("text {}", "20001".repeat(2)));
}

#[test]
fn a_mapping_that_would_take_long_ends_before_it_does() {
    let allowance = Allowance { work: 5_000_000, bytes: 32 << 20 };
    let rows = format!("[{}0]", "{\"a\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"},".repeat(2_000));
    let numbers = format!("[{}0]", "0,1,".repeat(30_000));
    let many = format!("[{}]", [numbers.as_str(); 8].join(","));
    for (mapping, answer) in [
        (template("{% for a in result %}{{ (result + result)|unique|length }}{% endfor %}"), rows.clone()),
        (template("{% for a in result %}{% if result == result %}{% endif %}{% endfor %}"), rows.clone()),
        (template("{% for a in result %}{{ result|map('tojson')|join|length }}{% endfor %}"), rows.clone()),
        (template("{% for a in result %}{% if a in result|sort %}{% endif %}{% endfor %}"), numbers),
        (template("{% for a in range(900) %}{{ (result[0] ~ result[0])|length }}{% endfor %}"), many.clone()),
        (template("{% for a in range(9000) %}{{ ('x' * 8000000)|length }}{% endfor %}"), "1".into()),
        (path("$..[?count(@.*) > count(@.*) || count(@.*) < 0 || length(@) < 0 || @ == @]"), many.clone()),
        (path("$[*,*,*,*,*,*,*,*][*,*,*,*,*,*,*,*]"), many),
        (path("$[?search(@.a, @.b) || search(@.c, @.a)]"), patterns()),
    ] {
        let error = outcome_within(&mapping, incoming("application/json", answer), allowance).unwrap_err();
        assert!(error.message.contains("takes too much"), "{mapping:?}: {error}");
    }
}

/// Rows of which each has a pattern of its own.
fn patterns() -> String {
    let rows: Vec<_> =
        (0..2_000).map(|n| json!({"a": format!("(a|b){{0,{n}}}"), "c": "a".repeat(100)})).collect();
    json!(rows).to_string()
}

#[test]
fn a_pattern_is_compiled_once_and_matched_in_linear_time() {
    let allowance = Allowance { work: 1_000_000, bytes: 8 << 20 };
    let rows = format!("[{}0]", "{\"a\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"},".repeat(2_000));
    let mapping = path("$[?search(@.a, '(a+a+)+c') || match(@.a, '(a|aa)+b')].a");
    let result = outcome_within(&mapping, incoming("application/json", rows), allowance).unwrap();
    assert!(shown(&result).starts_with("json [\"aaa"), "{result:?}");
    assert!(faults(&path("$[?match(@.a, '(')]"))[0].contains("is not a pattern"));
}

#[tokio::test]
async fn a_small_answer_with_a_long_mapping_keeps_nobody_waiting() {
    let mapping = template("{% for a in result %}{{ result|sort|length }};{% endfor %}");
    let answer = AnswerMapping::compile(&mapping, &mut Problems::default()).unwrap();
    let body = format!("[{}0]", "1,0,".repeat(200));
    let arguments = Map::new();
    let mapped = answer.outcome(incoming("application/json", body.clone()), &arguments);
    assert!(
        tokio::time::timeout(std::time::Duration::ZERO, mapped).await.is_err(),
        "it left the runtime's thread"
    );
    let result = answer.outcome(incoming("application/json", body), &arguments).await.unwrap();
    assert_eq!(shown(&result), format!("text {}", "401;".repeat(401)));
}
