//! Faults of a definition come back at registration, all at once, each with its place and what to do.

use serde_json::{Value, json};
use toolrail_core::DefinitionForm;
use toolrail_executors::kinds;

use crate::tool::{SECRETS, compile, compile_in, faults, runtime};

/// Checks that the only fault is at `pointer` and says `words`.
fn check(definition: Value, pointer: &str, words: &str) {
    let found = faults(&definition);
    assert!(
        found.len() == 1 && found[0].starts_with(&format!("{pointer}: ")) && found[0].contains(words),
        "{definition}\nwanted {pointer}: …{words}…\nfound {found:#?}"
    );
}

fn http(settings: Value) -> Value {
    let mut whole = json!({"url": "http://h/x"});
    whole.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    json!({"http": whole})
}

#[test]
fn faults_of_the_url() {
    let cases = [
        ("example.com/x", "\"example.com/x\" has no scheme"),
        ("/x?key=1", "\"/x\" has no scheme"),
        ("", "\"\" has no scheme"),
        ("ftp://h/x", "use http:// or https://"),
        ("http:///x", "empty host"),
        ("http://h:99999/", "not a valid URL"),
        ("http://u:p@h/", "put them into auth"),
        ("http://h/x#frag", "never sent"),
        ("http://{{args.host}}/x", "must not choose the scheme, host or port"),
        ("{{args.url}}", "must not choose"),
        ("http://h.{{args.tld}}:80/x", "must not choose"),
        ("http://h:{{args.port}}/x", "must not choose"),
        ("{{args.scheme}}://h/x", "must not choose"),
        ("http://h/users/{id}", "write {{args.id}}"),
        ("http://h/{{args.id", "never closed"),
        ("http://h/{{args.id|nope}}", "does not exist"),
        ("http://h/?{{args.k}}=1", "cannot be a template"),
        ("http://h/?a{{args.k}}=1", "cannot be a template"),
        ("http://h/{{env.X}}", "only args, secrets and vars"),
        ("http://h/{{arg.city}}", "did you mean {{args.city}}?"),
    ];
    for (url, words) in cases {
        check(json!({"http": {"url": url}}), "/http/url", words);
    }
}

#[test]
fn an_address_that_is_missing_hides_no_other_fault() {
    for (block, pointers) in [
        (
            json!({"uri": "http://h/x", "method": "FETCH"}),
            ["/http/uri: ", "/http: the field \"url\"", "/http/method: "],
        ),
        (
            json!({"service": "none", "method": "FETCH", "headers": {"bad name": "x"}}),
            ["/http/service: ", "/http/method: ", "/http/headers/bad name: "],
        ),
    ] {
        let found = faults(&json!({"http": block}));
        for pointer in pointers {
            assert!(found.iter().any(|fault| fault.starts_with(pointer)), "{pointer} is not in {found:#?}");
        }
    }
}

#[test]
fn faults_of_the_http_block() {
    let cases = [
        (http(json!({"method": "PSOT"})), "/http/method", "did you mean POST"),
        (http(json!({"method": "TRACE"})), "/http/method", "use one of GET"),
        (http(json!({"headers": {"bad name": "x"}})), "/http/headers/bad name", "not a header name"),
        (http(json!({"headers": {"{{args.h}}": "x"}})), "/http/headers/{{args.h}}", "not a header name"),
        (http(json!({"headers": {"X-A": "1", "x-a": "2"}})), "/http/headers/x-a", "same header as \"X-A\""),
        (
            http(json!({"headers": {"Connection": "close"}})),
            "/http/headers/Connection",
            "belongs to the connection",
        ),
        (
            http(json!({"headers": {"Transfer-Encoding": "chunked"}})),
            "/http/headers/Transfer-Encoding",
            "remove it",
        ),
        (http(json!({"headers": {"content-length": "1"}})), "/http/headers/content-length", "remove it"),
        (http(json!({"headers": {"X": "a\r\nb"}})), "/http/headers/X", "cannot carry"),
        (http(json!({"headers": {"X": {"a": 1}}})), "/http/headers/X", "must be a text"),
        (http(json!({"headers": {"X": null}})), "/http/headers/X", "no effect"),
        (
            http(json!({"headers": {"Cookie": "a=1"}, "cookies": {"b": "2"}})),
            "/http/headers/Cookie",
            "cookies",
        ),
        (http(json!({"cookies": {"a b": "1"}})), "/http/cookies/a b", "not a cookie name"),
        (http(json!({"cookies": {"a": "1;2"}})), "/http/cookies/a", "percent-encode"),
        (http(json!({"query": {"a": {"b": 1}}})), "/http/query/a", "must be a text"),
        (http(json!({"query": {"{{args.a}}": "b"}})), "/http/query/{{args.a}}", "cannot be a template"),
        (http(json!({"query": {"a/b": "{{args.}}"}})), "/http/query/a~1b", "not a valid expression"),
        (
            http(json!({"timeoutMs": 100, "connectTimeoutMs": 200})),
            "/http/connectTimeoutMs",
            "more than timeoutMs",
        ),
        (http(json!({"timeoutMs": 0})), "/http/timeoutMs", "minimum"),
        (http(json!({"timeoutMs": 600_001})), "/http/timeoutMs", "maximum"),
        (http(json!({"maxResponseBytes": 67_108_865})), "/http/maxResponseBytes", "maximum"),
        (http(json!({"redirects": 11})), "/http/redirects", "maximum"),
        (
            http(json!({"bodyType": "xml", "body": "x", "method": "POST"})),
            "/http/bodyType",
            "json, form, multipart",
        ),
        (http(json!({"retry": {"tries": 3}})), "/http/retry/tries", "unknown field"),
        (http(json!({"timeout_ms": 5})), "/http/timeout_ms", "did you mean \"timeoutMs\""),
    ];
    for (definition, pointer, words) in cases {
        check(definition, pointer, words);
    }
}

fn post(settings: Value) -> Value {
    let mut definition = http(settings);
    definition["http"]["method"] = "POST".into();
    definition
}

#[test]
fn faults_of_the_body() {
    let cases = [
        (http(json!({"body": {}})), "/http/body", "a GET request has no body"),
        (http(json!({"method": "head", "body": {}})), "/http/body", "a HEAD request has no body"),
        (http(json!({"bodyType": "form"})), "/http/bodyType", "no effect without a body"),
        (post(json!({"body": "x", "bodyType": "form"})), "/http/body", "an object of fields"),
        (post(json!({"body": [], "bodyType": "multipart"})), "/http/body", "an object of parts"),
        (post(json!({"body": {}, "bodyType": "text"})), "/http/body", "is a text"),
        (post(json!({"body": 5, "bodyType": "binary"})), "/http/body", "base64"),
        (post(json!({"body": "§", "bodyType": "binary"})), "/http/body", "not base64"),
        (post(json!({"body": {"a": [{"b": "{{x}}"}]}})), "/http/body/a/0/b", "only args, secrets and vars"),
        (post(json!({"body": "{\"a\": {{args.x|uper}}}"})), "/http/body", "did you mean \"upper\""),
        (post(json!({"body": "{\"a\": }"})), "/http/body", "looks like JSON"),
        (post(json!({"body": {"{{args.k}}": 1}})), "/http/body/{{args.k}}", "cannot be a template"),
        (
            post(json!({"body": {"f": {}}, "bodyType": "multipart"})),
            "/http/body/f",
            "needs base64 or resource",
        ),
        (
            post(
                json!({"body": {"f": {"base64": "{{args.a}}", "resource": "{{args.b}}"}}, "bodyType": "multipart"}),
            ),
            "/http/body/f",
            "not both",
        ),
        (
            post(json!({"body": {"f": {"base64": "{{args.a}}", "filname": "x"}}, "bodyType": "multipart"})),
            "/http/body/f/filname",
            "did you mean \"filename\"",
        ),
        (
            post(json!({"body": {"f": {"resource": "http://x/{{args.a}}"}}, "bodyType": "multipart"})),
            "/http/body/f/resource",
            "one whole expression",
        ),
        (
            post(json!({"body": {"f": {"base64": "x", "hosts": ["h"]}}, "bodyType": "multipart"})),
            "/http/body/f/hosts",
            "no effect",
        ),
        (
            post(json!({"body": {"f": {"resource": "{{args.a}}", "hosts": "h"}}, "bodyType": "multipart"})),
            "/http/body/f/hosts",
            "list of host names",
        ),
        (
            post(json!({"body": {"a": "x"}, "bodyType": "multipart", "headers": {"Content-Type": "x/y"}})),
            "/http/headers/Content-Type",
            "boundary",
        ),
    ];
    for (definition, pointer, words) in cases {
        check(definition, pointer, words);
    }
}

#[test]
fn faults_of_auth() {
    let with = |auth: Value, settings: Value| {
        let mut definition = http(settings);
        definition["auth"] = auth;
        definition
    };
    let bearer = json!({"type": "bearer", "token": "{{secrets.KEY}}"});
    let key = |place: &str, name: &str| json!({"type": "apiKey", "in": place, "name": name, "value": "{{secrets.KEY}}"});
    let cases = [
        (
            with(bearer.clone(), json!({"headers": {"authorization": "x"}})),
            "/http/headers/authorization",
            "also set by auth",
        ),
        (
            with(
                json!({"type": "basic", "username": "u", "password": "{{secrets.KEY}}"}),
                json!({"headers": {"Authorization": "x"}}),
            ),
            "/http/headers/Authorization",
            "also set by auth",
        ),
        (
            with(key("header", "X-K"), json!({"headers": {"x-k": "x"}})),
            "/http/headers/x-k",
            "also set by auth",
        ),
        (with(key("header", "bad name"), json!({})), "/auth/name", "not a header name"),
        (with(key("header", "Connection"), json!({})), "/auth/name", "belongs to the connection"),
        (with(key("query", "k"), json!({"query": {"k": 1}})), "/auth/name", "also set by the request"),
        (with(key("query", "k"), json!({"url": "http://h/?k=1"})), "/auth/name", "also set by the request"),
        (with(key("cookie", "k"), json!({"cookies": {"k": "1"}})), "/http/cookies/k", "also set by auth"),
        (with(key("cookie", "k k"), json!({})), "/auth/name", "not a cookie name"),
        (
            with(json!({"type": "bearer", "token": "Bearer {{secrets.KEY}}"}), json!({})),
            "/auth/token",
            "the token alone",
        ),
        (
            with(json!({"type": "bearer", "token": "{{nope}}"}), json!({})),
            "/auth/token",
            "only args, secrets and vars",
        ),
        (with(json!({"type": "bearer", "token": ""}), json!({})), "/auth/token", "is empty"),
    ];
    for (definition, pointer, words) in cases {
        check(definition, pointer, words);
    }
}

#[test]
fn faults_of_the_feign_block() {
    let cases = [
        (json!({"path": "/x"}), "/feign", "needs baseUrl"),
        (json!({"service": "users", "path": "/x"}), "/feign/service", "there is no service \"users\""),
        (
            json!({"baseUrl": "http://h", "instances": ["http://i"], "path": "/x"}),
            "/feign/instances",
            "keep one",
        ),
        (json!({"baseUrl": "h:80", "path": "/x"}), "/feign/baseUrl", "no scheme"),
        (json!({"baseUrl": "http://{{args.h}}", "path": "/x"}), "/feign/baseUrl", "must not choose"),
        (json!({"baseUrl": "http://h?x=1", "path": "/x"}), "/feign/baseUrl", "put parameters into query"),
        (
            json!({"service": "s", "instances": ["http://a", "b"], "path": "/x"}),
            "/feign/instances/1",
            "no scheme",
        ),
        (json!({"baseUrl": "http://h", "path": "/x/{a b}"}), "/feign/path", "does not name an argument"),
        (json!({"baseUrl": "http://h", "path": "/x/{a"}), "/feign/path", "never closed"),
        (
            json!({"baseUrl": "http://h", "path": "http://h/x"}),
            "/feign/path",
            "put scheme, host and port into baseUrl",
        ),
        (json!({"baseUrl": "http://h", "path": "/x#y"}), "/feign/path", "never sent"),
        (json!({"baseUrl": "http://h", "path": "/x", "method": "BREW"}), "/feign/method", "use one of"),
        (json!({"baseUrl": "http://h", "path": "/x", "retry": true}), "/feign/retry", "must be of type"),
        (json!({"baseUrl": "http://h", "path": "/x", "url": "http://h"}), "/feign/url", "unknown field"),
    ];
    for (settings, pointer, words) in cases {
        check(json!({"feign": settings}), pointer, words);
    }
    assert!(!faults(&json!({"feign": {"instances": [], "path": "/x"}})).is_empty());
}

#[test]
fn faults_of_the_response_mapping() {
    let cases = [
        ("data.items", "must start with $, as in $.data.items"),
        (".data", "must start with $, as in $.data"),
        ("[0].a", "must start with $, as in $[0].a"),
        ("", "must start with $"),
        ("$[", "is not a JSONPath"),
    ];
    for (path, words) in cases {
        let mut definition = http(json!({}));
        definition["responseMapping"] = json!({"type": "jsonPath", "path": path});
        check(definition, "/responseMapping/path", words);
    }
}

#[test]
fn every_fault_is_told_at_once() {
    let found = faults(&json!({
        "http": {
            "method": "GTE", "url": "http://{{args.h}}/{{args.x|nope}}", "query": {"a": "{{"}, "headers": {"b c": "{{y}}"},
            "cookies": {"d": "\n"}, "body": {"e": "{{z}}"}, "timeoutMs": 0
        },
        "auth": {"type": "bearer", "token": "{{w}}"},
        "responseMapping": {"type": "jsonPath", "path": "$["}
    }));
    for pointer in [
        "/http/method",
        "/http/url",
        "/http/query/a",
        "/http/headers/b c",
        "/http/cookies/d",
        "/http/body/e",
        "/http/timeoutMs",
        "/auth/token",
        "/responseMapping/path",
    ] {
        assert!(
            found.iter().any(|fault| fault.starts_with(&format!("{pointer}: "))),
            "{pointer} in {found:#?}"
        );
    }
}

#[test]
fn a_parameter_in_both_query_and_url_is_a_warning() {
    let (tool, problems) =
        compile(&http(json!({"url": "http://h/?a=1", "query": {"a": "2"}})), &runtime(&[]));
    assert!(tool.is_some());
    assert_eq!(problems[0].pointer, "/http/query/a");
}

#[test]
fn the_arguments_in_use_are_told_with_what_is_required() {
    let tool = crate::tool::tool(&json!({
        "feign": {
            "baseUrl": "http://h", "path": "/u/{id}/{{args.v|default(1)}}?p={{args.p}}", "method": "POST", "query": {"q": "{{args.q}}"},
            "headers": {"h": "{{args.h[0]}}"}, "cookies": {"c": "{{args.c}}"}, "body": {"b": "{{args.b}}"}
        },
        "auth": {"type": "bearer", "token": "{{args.t}}"}
    }));
    let mut found: Vec<_> =
        tool.arguments.iter().map(|one| (one.name.as_str(), one.pointer.as_str(), one.required)).collect();
    found.sort_unstable();
    let expected = [
        ("b", "/feign/body/b", false),
        ("c", "/feign/cookies/c", false),
        ("h", "/feign/headers/h", false),
        ("id", "/feign/path", true),
        ("p", "/feign/path", false),
        ("q", "/feign/query/q", false),
        ("t", "/auth/token", false),
        ("v", "/feign/path", false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn taking_all_arguments_together_is_told() {
    let cases = [
        (json!({"http": {"url": "http://h/{{args.id}}"}}), false, &["id"][..]),
        (json!({"http": {"url": "http://h/", "method": "POST", "body": "{{args}}"}}), true, &[]),
        (json!({"http": {"url": "http://h/", "query": {"q": "{{args|tojson}}"}}}), true, &[]),
        (
            json!({"http": {"url": "http://h/"}, "responseMapping": {"type": "template", "template": "{{ args.a.b }} {{ args['c'] }}"}}),
            false,
            &["a", "c"],
        ),
        (
            json!({"http": {"url": "http://h/"}, "responseMapping": {"type": "template", "template": "{{ args[result.name] }}"}}),
            true,
            &[],
        ),
        (
            json!({"http": {"url": "http://h/"}, "responseMapping": {"type": "template", "template": "{% for x in args.list %}{{ x }}{% endfor %}"}}),
            false,
            &["list"],
        ),
    ];
    for (definition, all, named) in cases {
        let tool = crate::tool::tool(&definition);
        assert_eq!(tool.uses_other_arguments, all, "{definition}");
        let names: Vec<_> = tool.arguments.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, named, "{definition}");
    }
}

#[test]
fn a_placeholder_with_single_braces_is_a_warning() {
    let definition = json!({
        "inputSchema": {"properties": {"city": {"type": "string"}}},
        "http": {
            "url": "http://h/x", "method": "POST", "query": {"a": "{city}", "b": "{town}"}, "headers": {"X-A": "${city}"},
            "cookies": {"c": "{args.city}"}, "body": {"d": ["in {city}"], "e": "{{args.city}}"}
        },
        "auth": {"type": "bearer", "token": "{secrets.KEY}"}
    });
    let (tool, problems) = compile(&definition, &runtime(SECRETS));
    assert!(tool.is_some(), "{problems:#?}");
    let mut told: Vec<_> = problems
        .iter()
        .filter(|problem| problem.message.contains("as it stands"))
        .map(|problem| format!("{}: {}", problem.pointer, problem.message))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "/auth/token: {secrets.KEY} is sent as it stands; write {{secrets.KEY}}",
            "/http/body/d/0: {city} is sent as it stands; write {{args.city}}",
            "/http/cookies/c: {args.city} is sent as it stands; write {{args.city}}",
            "/http/headers/X-A: ${city} is sent as it stands; write {{args.city}}",
            "/http/query/a: {city} is sent as it stands; write {{args.city}}",
        ]
    );
}

#[test]
fn braces_that_mean_something_else_are_no_warning() {
    let schema = json!({"properties": {"city": {"type": "string"}}});
    for block in [
        json!({"http": {"url": "http://h/x", "method": "POST", "body": "{\"city\": {\"city\": 1}, \"n\": {{args.city}}}"}}),
        json!({"http": {"url": "http://h/x", "method": "POST", "body": {"query": "{ user(id: \"{{args.city}}\") {city} }"}}}),
        json!({"feign": {"baseUrl": "http://h", "path": "/x/{city}?y={city}"}}),
    ] {
        let mut definition = block;
        definition["inputSchema"] = schema.clone();
        let (tool, problems) = compile(&definition, &runtime(SECRETS));
        assert!(tool.is_some() && problems.is_empty(), "{definition}: {problems:#?}");
    }
}

/// Nothing a user can write panics the check (a poor man's fuzzer: random walks over the words that matter).
#[test]
fn no_text_panics_the_check() {
    let words = [
        "{{",
        "}}",
        "{",
        "}",
        "${secrets.",
        "args",
        "secrets",
        ".",
        "a",
        "[0]",
        "['x']",
        "|",
        "upper",
        "default(",
        ")",
        "'",
        "\"",
        "é",
        "/",
        "//",
        "://",
        ":",
        "http",
        "?",
        "#",
        "&",
        "=",
        "%",
        "\\",
        " ",
        "\n",
        "is ",
        "if ",
        "~",
        "(",
        "-",
        "0",
        "@",
        "data:",
    ];
    let form = DefinitionForm::new(kinds(&runtime(&[])));
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let random = std::cell::RefCell::new(move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    });
    let random = |below: usize| random.borrow_mut()(below);
    for _ in 0..1500 {
        let text =
            |start: &str| (0..random(9)).fold(start.to_owned(), |text, _| text + words[random(words.len())]);
        let definition = json!({
            "http": {
                "method": "POST", "url": text("http://h/"), "query": {"q": text("")}, "headers": {"h": text("")}, "cookies": {"c": text("")},
                "body": {"b": text("{{"), "c": [text("")]}
            },
            "auth": {"type": "bearer", "token": text("")}
        });
        let _ = compile_in(&form, &definition);
        let feign =
            json!({"feign": {"baseUrl": text(""), "path": text("/"), "method": "POST", "body": text("{")}});
        let _ = compile_in(&form, &feign);
    }
}
