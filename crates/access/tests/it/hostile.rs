//! Nothing that a rule or a caller says takes long, much memory or the process down.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolrail_access::Rulebook;

use crate::{args, condition, problems, rulebook, somebody};

const TOO_LONG: &str = "it takes too long with these arguments";

fn of_rule(when: &str) -> Vec<String> {
    problems(&json!({"rules": [{"name": "r", "effect": "deny", "when": when}]}))
}

/// On a stack that is a small part of what any thread of the gateway has.
fn with_little_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn no_expression_uses_up_the_stack() {
    with_little_stack(|| {
        let repeated = |part: &str, end: &str| part.repeat(1_900 / part.len()) + end;
        for when in [
            repeated("(", ""),
            repeated("[", ""),
            repeated("{", ""),
            repeated("{1:", ""),
            repeated("!", "args.x"),
            repeated("-", "args.x"),
            repeated("!-", "args.x"),
            repeated("!(", ""),
            repeated("size(", ""),
            repeated("args[", ""),
            repeated("args.x?", ""),
            repeated("args.x?1:", "1"),
            repeated("1+", "args.x"),
            repeated("1*", "args.x"),
            repeated("args.x<", "1"),
            "args".to_owned() + &repeated(".x", ""),
            "args".to_owned() + &repeated("[0]", ""),
            "args.x".to_owned() + &repeated(".size()", ""),
            repeated("args.x&&", "args.x"),
            repeated("args.x||", "args.x"),
            repeated("'", ""),
            repeated("?:", ""),
            repeated(")", ""),
            repeated(",", ""),
        ] {
            let told = of_rule(&when);
            let fine = when.contains("&&")
                || when.contains("||")
                || when.starts_with("!!")
                || when.starts_with("--");
            // Signs cancel each other out, and what is joined by && and || is as flat as a list.
            assert_eq!(told.is_empty() || told[0].contains("needs"), fine, "{when}: {told:?}");
        }
    });
}

#[test]
fn the_deepest_that_is_read_is_evaluated_with_little_stack() {
    with_little_stack(|| {
        let nested = format!("{}args.x{} == [args.x]", "[".repeat(24), "]".repeat(24));
        assert_eq!(condition(&nested, json!({"x": 1})), Ok(false));
        let chain = format!("{}args.x > 0", "1 + ".repeat(62));
        assert_eq!(condition(&chain, json!({"x": 1})), Ok(true));
        let mut deep = json!(1);
        for _ in 0..62 {
            deep = json!([deep]);
        }
        assert_eq!(condition("args == args && args.x == args.x", json!({"x": deep})), Ok(true));
    });
}

#[test]
fn arguments_that_are_too_deep_or_too_large_fail() {
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "x": deep });
    }
    let told = condition("args.x == 1", deep).unwrap_err();
    assert_eq!(told, "the arguments have more than 64 levels, deeper than conditions look");
    let large = "the arguments have more than 64 KiB, which conditions do not look through";
    for value in [json!("x".repeat(70_000)), json!(vec![0; 20_000]), json!(vec![json!([]); 30_000])] {
        assert_eq!(condition("args.y == 1", json!({"y": 1, "x": value})), Err(large.to_owned()));
    }
    let keys: serde_json::Map<String, Value> = (0..10_000).map(|at| (format!("k{at}"), json!(1))).collect();
    assert_eq!(condition("args.k1 == 1", Value::Object(keys)), Err(large.to_owned()));
    assert_eq!(condition("args.y == 1", json!({"y": 1, "x": "x".repeat(60_000)})), Ok(true));
}

#[test]
fn work_that_grows_ends() {
    let numbers = json!({"l": (0..5_000).collect::<Vec<_>>(), "m": (20_000..25_000).collect::<Vec<_>>()});
    for when in [
        "args.l.all(x, !(x in args.m))",
        "args.l.exists(x, args.l == args.m + [x])",
        "args.l.map(x, args.l + args.l).size() == 1",
        "args.l.exists(x, args == {'l': args.l, 'm': [x]})",
    ] {
        assert_eq!(condition(when, numbers.clone()), Err(TOO_LONG.to_owned()), "{when}");
    }
    let text = json!({"s": "x".repeat(30_000), "l": (0..5_000).collect::<Vec<_>>()});
    assert_eq!(
        condition("args.l.map(x, args.s + args.s).size() == 1", text.clone()),
        Err(TOO_LONG.to_owned())
    );
    assert_eq!(
        condition("args.l.all(x, args.s.contains('y') || true)", text.clone()),
        Err(TOO_LONG.to_owned())
    );
    let grown = format!("({}) == ''", vec!["args.s"; 60].join(" + "));
    assert_eq!(condition(&grown, text.clone()), Err("it makes too long a text".to_owned()));
    let lists = format!("size({}) > 0", vec!["args.l"; 60].join(" + "));
    assert_eq!(condition(&lists, text), Err(TOO_LONG.to_owned()));
}

#[test]
fn all_rules_of_a_decision_share_its_steps() {
    let slow = "args.l.all(x, !(x in args.m))";
    let rule = |at: usize| json!({"name": format!("r{at}"), "effect": "allow", "when": slow});
    let book = rulebook(&json!({"default": "deny", "rules": (0..256).map(rule).collect::<Vec<_>>()}));
    let given = args(json!({"l": vec![1; 9_000], "m": vec![2; 300]}));
    let rights = book.for_subject(&somebody("ann", &[]));
    let verdict = rights.judge(&toolrail_core::ToolTraits::named("t"), &given);
    assert_ne!(verdict, toolrail_access::Verdict::Allowed);
}

#[test]
fn documents_have_a_bound() {
    let told = |document: Value| problems(&document).join("\n");
    let rule = json!({"name": "r", "effect": "deny"});
    assert_eq!(
        told(json!({"rules": vec![rule; 257]})),
        "error at /rules: there are 257 rules, and at most 256 can be"
    );
    let test = json!({"tool": "t", "expect": "allow"});
    assert_eq!(
        told(json!({"tests": vec![test; 1_001]})),
        "error at /tests: there are 1001 tests, and at most 1000 can be"
    );
    let names =
        |names: Vec<String>| json!({"rules": [{"name": "r", "effect": "deny", "tools": {"names": names}}]});
    assert_eq!(
        told(names(vec!["a".to_owned(); 65])),
        "error at /rules/0/tools/names: \"names\" has more than 64 entries; use patterns with *, or several rules"
    );
    assert_eq!(
        told(names(vec!["a".repeat(129)])),
        "error at /rules/0/tools/names/0: this has more than 128 characters; shorten it"
    );
    let when = format!("args.x == '{}'", "x".repeat(2_000));
    assert_eq!(of_rule(&when), ["error at /rules/0/when: this has more than 2000 characters; shorten it"]);
    let long = "x".repeat(100_000);
    let unknown = told(json!({ long.clone(): 1, "rules": [{"name": long, "effect": "deny"}]}));
    assert!(unknown.contains("is not the name of a rule"), "{unknown}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-z*' ]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["allow", "deny", "args.a == 1", "a.*", "call"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = prop::sample::select(vec![
            "default", "rules", "tests", "name", "effect", "who", "tools", "when", "reason", "roles", "as",
            "args", "tool", "names", "expect", "/~",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5).prop_map(|entries| {
                Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_is_read_or_refused_with_words(document in any_json()) {
        let reading = Rulebook::read(&document);
        prop_assert_eq!(reading.rulebook.is_none(), reading.problems.iter().any(|problem| problem.severity == toolrail_core::Severity::Error));
        if let Some(book) = reading.rulebook {
            book.run_tests();
        }
    }

    #[test]
    fn any_text_is_a_condition_or_refused_with_words(text in "[ -~äß\\n]{1,60}") {
        of_rule(&text);
    }

    #[test]
    fn any_words_in_a_row_are_a_condition_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "args", "principal", "tool", ".", "x", "name", "groups", "(", ")", "[", "]", "{", "}", ",", ":", "?", "!", "-", "+", "*", "/", "%",
        "==", "<", "in", "&&", "||", "1", "1.5", "'a'", "true", "null", "has", "size", ".all(", ".map(", "x,", "string", "int",
    ]), 1..40)) {
        let text = words.join(" ");
        if of_rule(&text).is_empty() {
            let _ = condition(&text, json!({"x": [1, "a", null, {"x": 1}], "name": 1.5}));
        }
    }
}
