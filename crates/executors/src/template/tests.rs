//! What templates do with values, place by place (R96, R97, C12).

use serde_json::{Map, Value, json};
use toolrail_core::{ErrorCode, MASK, Problem, Problems, Secrets, Severity};

use super::*;

fn secrets() -> Secrets {
    Secrets::from_environment([("TOOLRAIL_SECRET_KEY".into(), "hunter2".into())], &[])
}

fn compile(text: &str, place: Place) -> Template {
    let (secrets, mut problems) = (secrets(), Problems::default());
    let template = Compiler::new(&mut problems, &secrets).template(text, "/t", place);
    template.unwrap_or_else(|| panic!("{text}: {problems:?}"))
}

fn problems_of(text: &str) -> Vec<Problem> {
    let (secrets, mut problems) = (secrets(), Problems::default());
    Compiler::new(&mut problems, &secrets).template(text, "/t", Place::Text);
    problems.into_list(None, str::to_owned)
}

fn arguments() -> Map<String, Value> {
    let value = json!({
        "s": "a/b&c", "n": 42, "big": 18_446_744_073_709_551_615_u64, "small": -9_223_372_036_854_775_808_i64, "f": 1.5,
        "yes": true, "nil": null, "list": ["x", 2, null], "map": {"b": 1, "a": [true]}, "quote": "\"}\n",
        "a-b": "dash", "deep": {"x": [{"y": "z"}]}
    });
    value.as_object().unwrap().clone()
}

fn render(text: &str, place: Place) -> Result<Option<String>, CallError> {
    let (secrets, arguments) = (secrets(), arguments());
    let mut out = String::new();
    let placement = compile(text, place).write(&mut Rendering::to_send(&arguments, &secrets), &mut out)?;
    Ok((placement == Placement::Placed).then_some(out))
}

fn render_json(body: &Value) -> Option<String> {
    let (secrets, arguments, mut problems) = (secrets(), arguments(), Problems::default());
    let tree = Compiler::new(&mut problems, &secrets).tree(body, "/body").unwrap();
    let mut out = Vec::new();
    let placement = tree.write(&mut Rendering::to_send(&arguments, &secrets), &mut out).unwrap();
    (placement == Placement::Placed).then(|| String::from_utf8(out).unwrap())
}

#[test]
fn values_are_written_for_their_place() {
    let cases = [
        ("x-{{args.s}}", Place::Text, Some("x-a/b&c")),
        ("/v1/{{args.s}}", Place::Path, Some("/v1/a%2Fb%26c")),
        ("{{args.s}}", Place::Query, Some("a%2Fb%26c")),
        ("n={{args.n}} {{args.f}} {{args.yes}}", Place::Text, Some("n=42 1.5 true")),
        ("{{args.map}}", Place::Text, Some("{\"b\":1,\"a\":[true]}")),
        ("{{ args.deep.x[0].y }}", Place::Text, Some("z")),
        ("{{args['a-b']}}", Place::Text, Some("dash")),
        ("Bearer {{secrets.KEY}}", Place::Header, Some("Bearer hunter2")),
        ("Bearer ${secrets.KEY}", Place::Header, Some("Bearer hunter2")),
        ("{{args.s|upper}}!", Place::Text, Some("A/B&C!")),
        ("{{args.none|default('d')}}", Place::Text, Some("d")),
        ("{{'{{'}}", Place::Text, Some("{{")),
        ("{{args.nil}}", Place::Text, Some("null")),
        ("{{args.nil}}", Place::Query, None),
        ("{{args.nil}}", Place::Header, None),
        ("{{args.none}}", Place::Header, None),
        ("a{{args.n}}b{{args.none}}", Place::Text, None),
        ("{{args.none|upper}}", Place::Text, None),
        ("{{args.none + 1}}", Place::Text, None),
        ("", Place::Text, Some("")),
    ];
    for (text, place, expected) in cases {
        assert_eq!(render(text, place).unwrap().as_deref(), expected, "{text} in {place:?}");
    }
}

#[test]
fn one_whole_expression_keeps_its_json_type_in_a_body() {
    let cases = [
        ("{{args.n}}", "42"),
        ("{{args.big}}", "18446744073709551615"),
        ("{{args.small}}", "-9223372036854775808"),
        ("{{args.big|default(1)}}", "18446744073709551615"),
        ("{{args.yes}}", "true"),
        ("{{args.nil}}", "null"),
        ("{{args.list}}", "[\"x\",2,null]"),
        ("{{args.map}}", "{\"b\":1,\"a\":[true]}"),
        ("{{args.map|default({})}}", "{\"b\":1,\"a\":[true]}"),
        ("{{args.quote}}", "\"\\\"}\\n\""),
        ("{{args.n + 1}}", "43"),
        ("{{ args.n > 40 }}", "true"),
        (" {{args.n}}", "\" 42\""),
        ("{{args.n}}{{args.n}}", "\"4242\""),
        ("say {{args.quote}}", "\"say \\\"}\\n\""),
    ];
    for (text, expected) in cases {
        assert_eq!(render_json(&json!(text)).unwrap(), expected, "{text}");
    }
}

#[test]
fn absent_members_and_items_are_left_out_of_a_body() {
    let body = json!({
        "a": "{{args.none}}", "b": {"c": "{{args.none}}", "d": 1}, "e": ["{{args.none}}", "{{args.n}}", "x{{args.none}}", 3],
        "f": {"g": "{{args.none}}"}, "h": "{{args.nil}}", "i": ["{{args.none}}"]
    });
    assert_eq!(render_json(&body).unwrap(), r#"{"b":{"d":1},"e":[42,3],"f":{},"h":null,"i":[]}"#);
    assert_eq!(render_json(&json!("{{args.none}}")), None);
}

#[test]
fn a_body_without_templates_is_kept_as_it_is() {
    let body = json!({"z": 1, "a": [1.0, "x", null], "k\"ey": {}});
    assert_eq!(render_json(&body).unwrap(), body.to_string());
}

#[test]
fn all_arguments_can_be_taken_together() {
    assert_eq!(render_json(&json!("{{args}}")).unwrap(), Value::Object(arguments()).to_string());
}

#[test]
fn a_key_cannot_be_a_template() {
    let (secrets, mut problems) = (secrets(), Problems::default());
    Compiler::new(&mut problems, &secrets).tree(&json!({"a": {"{{args.k}}": 1}}), "/body");
    let list = problems.into_list(None, str::to_owned);
    assert_eq!(list[0].pointer, "/body/a/{{args.k}}");
}

#[test]
fn arrays_repeat_where_a_place_takes_several_values() {
    let (secrets, arguments) = (secrets(), arguments());
    let cases: &[(&str, &[&str])] = &[
        ("{{args.list}}", &["x", "2"]),
        ("{{args.n}}", &["42"]),
        ("{{args.none}}", &[]),
        ("plain", &["plain"]),
        ("l-{{args.list}}", &["l-%5B%22x%22%2C2%2Cnull%5D"]),
        ("{{args.s|split('/')}}", &["a", "b%26c"]),
    ];
    for (text, expected) in cases {
        let mut seen = Vec::new();
        let mut rendering = Rendering::to_send(&arguments, &secrets);
        let place = |value: &str| {
            seen.push(value.to_owned());
            Ok(())
        };
        compile(text, Place::Query).each(&mut rendering, place).unwrap();
        assert_eq!(seen, *expected, "{text}");
    }
}

#[test]
fn a_line_break_in_a_header_names_the_argument() {
    let error = render("x {{args.quote}}", Place::Header).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(error.message.starts_with("/t: the argument \"quote\" has a line break"), "{error}");
}

#[test]
fn a_failing_filter_names_the_template() {
    let error = render("{{args.s|round}}", Place::Text).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(error.message.contains("{{args.s|round}} at /t"), "{error}");
}

#[test]
fn a_missing_secret_fails_the_call_and_warns_at_registration() {
    let error = render("{{secrets.NOPE}}", Place::Text).unwrap_err();
    assert_eq!(error.code, ErrorCode::SecretMissing);
    assert!(error.message.contains("TOOLRAIL_SECRET_NOPE"), "{error}");
    assert_eq!(render("{{secrets.NOPE|upper}}", Place::Text).unwrap_err().code, ErrorCode::SecretMissing);
    let list = problems_of("{{secrets.NOPE}}");
    assert_eq!(list[0].severity, Severity::Warning);
    assert!(problems_of("{{secrets.KEY}}").is_empty());
}

#[test]
fn an_error_never_quotes_a_secret() {
    let error = render("{{secrets.KEY|round}}", Place::Text).unwrap_err();
    assert!(!error.message.contains("hunter2"), "{error}");
}

#[test]
fn what_is_made_from_a_secret_is_masked_like_it() {
    let (secrets, arguments) = (secrets(), arguments());
    let mut rendering = Rendering::to_send(&arguments, &secrets);
    compile("{{secrets.KEY|b64encode}}", Place::Text).write(&mut rendering, &mut String::new()).unwrap();
    assert_eq!(rendering.derived(), ["aHVudGVyMg=="]);
}

#[test]
fn a_preview_masks_secrets_and_tells_where_values_came_from() {
    let (secrets, arguments) = (secrets(), arguments());
    let mut rendering = Rendering::to_show(&arguments, &secrets);
    let mut out = String::new();
    compile("/{{args.s}}/{{secrets.KEY}}/{{secrets.KEY|upper}}", Place::Path)
        .write(&mut rendering, &mut out)
        .unwrap();
    assert_eq!(out, "/a%2Fb%26c/***/***");
    compile("{{secrets.NOPE}}", Place::Query).write(&mut rendering, &mut out).unwrap();
    compile("{{args.none}}", Place::Query).write(&mut rendering, &mut out).unwrap();
    let trail = rendering.into_trail();
    let values: Vec<_> =
        trail.values.iter().map(|value| (value.from.as_str(), value.value.clone())).collect();
    assert_eq!(
        values,
        [
            ("args.s", Some(json!("a/b&c"))),
            ("secrets.KEY", Some(json!(MASK))),
            ("secrets.KEY|upper", Some(json!(MASK))),
            ("secrets.NOPE", Some(json!(MASK))),
            ("args.none", None),
        ]
    );
    assert!(trail.notes[0].contains("\"NOPE\" has no value"), "{:?}", trail.notes);
    assert_eq!(trail.notes[1], "/t is left out: the argument \"none\" is absent");
}

#[test]
fn faults_come_with_their_pointer() {
    for text in
        ["{{", "{{}}", "{{args.x|nope}}", "{{env.X}}", "{{args.}}", "{{secrets}}", "{% if a %}{% endif %}"]
    {
        let list = problems_of(text);
        assert_eq!(list.len(), 1, "{text}: {list:?}");
        assert_eq!((list[0].severity, list[0].pointer.as_str()), (Severity::Error, "/t"), "{text}");
    }
    assert_eq!(problems_of("{{a}} {{b}}").len(), 2);
}

#[test]
fn the_arguments_in_use_are_gathered() {
    let (secrets, mut problems) = (secrets(), Problems::default());
    let mut compiler = Compiler::new(&mut problems, &secrets);
    compiler.template("/{{args.id}}/{{args.v|default(1)}}", "/p", Place::Path);
    compiler.template("{{args.q.deep}}{{secrets.KEY}}", "/q", Place::Query);
    let found: Vec<_> = compiler
        .arguments
        .iter()
        .map(|one| (one.name.as_str(), one.pointer.as_str(), one.required))
        .collect();
    assert_eq!(found, [("id", "/p", true), ("v", "/p", false), ("q", "/q", false)]);
    let keys: Vec<&str> = compiler.named_secrets.iter().map(|named| named.key.as_str()).collect();
    assert_eq!(keys, ["KEY"]);
}

#[test]
fn no_argument_panics_a_rendering() {
    let odd = ["\0", "\u{10ffff}", "..", "%", "{{args.s}}", "${secrets.KEY}", "'; drop", "\u{202e}"];
    for text in odd {
        let arguments = json!({"x": text, "y": [[[{"z": text}]]]}).as_object().unwrap().clone();
        let secrets = secrets();
        for template in
            ["{{args.x}}", "a{{args.y}}", "{{args.x|upper|trim}}", "{{args.y|tojson}}", "{{args.x[0]}}"]
        {
            for place in [Place::Path, Place::Query, Place::Header, Place::Cookie, Place::Text] {
                let mut out = String::new();
                let _ =
                    compile(template, place).write(&mut Rendering::to_send(&arguments, &secrets), &mut out);
                assert!(!out.contains("hunter2"), "{template} {text}");
            }
        }
    }
}

#[test]
fn every_text_made_from_a_secret_is_masked_wherever_it_stands() {
    let (secrets, arguments) = (secrets(), arguments());
    for (text, expected) in [
        ("{{secrets.KEY|split('e')}}", &["hunt", "r2"][..]),
        ("{{[1, 'fixed', [secrets.KEY|upper]]}}", &["HUNTER2"]),
        ("{{{'k': secrets.KEY|b64encode}}}", &["aHVudGVyMg=="]),
        ("{{args.list}}", &[]),
    ] {
        let mut rendering = Rendering::to_send(&arguments, &secrets);
        compile(text, Place::Text).write(&mut rendering, &mut String::new()).unwrap();
        assert_eq!(rendering.derived(), expected, "{text}");
    }
}

#[test]
fn arguments_cannot_make_a_template_fill_the_memory() {
    let value = json!({"text": " ".repeat(60_000), "by": "y".repeat(60_000)});
    let (secrets, arguments) = (secrets(), value.as_object().unwrap());
    for text in ["{{args.text|replace(' ', args.by)}}", "{{args.text|split('')|join(args.by)|length}}"] {
        let template = compile(text, Place::Text);
        let mut rendering = Rendering::to_send(arguments, &secrets);
        let error = template.write(&mut rendering, &mut String::new()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        let words = ["the result is too large", "it takes too much"];
        assert!(words.iter().any(|words| error.message.contains(words)), "{error}");
    }
}

#[test]
fn values_in_many_places_make_no_request_without_bounds() {
    let secrets = secrets();
    let mut arguments = arguments();
    arguments.insert("long".into(), "a".repeat(60_000).into());
    arguments.insert("many".into(), vec!["a"; 12_000].into());
    let (long, many) = (compile("{{args.long}}", Place::Text), compile("{{args.many}}", Place::Text));
    for (mut rendering, most) in [
        (Rendering::to_send(&arguments, &secrets), 16 << 20),
        (Rendering::to_show(&arguments, &secrets), 2 << 20),
    ] {
        let mut out = String::new();
        let refused = (0..10_000).find_map(|_| long.write(&mut rendering, &mut out).err()).unwrap();
        assert_eq!(refused.code, ErrorCode::TooLarge);
        assert!(refused.message.contains("MiB at /t"), "{refused}");
        assert!(out.len() <= most);
    }
    let mut rendering = Rendering::to_send(&arguments, &secrets);
    let mut items = 0;
    let placed = (0..1_000).find_map(|_| {
        let each = many.each(&mut rendering, |_| {
            items += 1;
            Ok(())
        });
        each.err()
    });
    assert!(placed.is_some() && items < 400_000, "{items}");
}
