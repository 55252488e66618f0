//! Who sees which tools, which calls are refused, and why.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolrail_access::{Match, Outcome, Rulebook, Subject, Verdict};
use toolrail_core::{Role, SaidHints, ToolTraits};

use crate::{args, rulebook, somebody};

fn verdict(book: &Rulebook, who: &Subject, tool: &str, given: Value) -> String {
    match book.for_subject(who).judge(&ToolTraits::named(tool), &args(given)) {
        Verdict::Allowed => "allowed".to_owned(),
        Verdict::Refused { rule, reason, hidden } => format!(
            "{} by {}{}",
            if hidden { "hidden" } else { "refused" },
            rule.as_deref().unwrap_or("default"),
            reason.map_or(String::new(), |reason| format!(": {reason}"))
        ),
    }
}

#[test]
fn a_deny_wins_over_an_allow_and_an_allow_over_the_default_in_any_order() {
    let mut rules = vec![
        json!({"name": "all", "effect": "allow", "tools": {"names": ["orders.*"]}}),
        json!({"name": "no-delete", "effect": "deny", "tools": {"names": ["*.delete"]}}),
    ];
    for _ in 0..2 {
        rules.reverse();
        let book = rulebook(&json!({"default": "deny", "rules": rules}));
        let ann = somebody("ann", &[]);
        assert_eq!(verdict(&book, &ann, "orders.list", json!({})), "allowed");
        assert_eq!(verdict(&book, &ann, "orders.delete", json!({})), "hidden by no-delete");
        assert_eq!(verdict(&book, &ann, "files.list", json!({})), "hidden by default");
    }
}

#[test]
fn a_rule_about_arguments_shows_the_tool_and_refuses_by_name_with_its_reason() {
    let small =
        json!({"name": "small", "effect": "allow", "when": "args.amount < 100", "reason": "ask finance"});
    let book = rulebook(&json!({"default": "deny", "rules": [small]}));
    let ann = somebody("ann", &[]);
    assert!(book.for_subject(&ann).sees(&ToolTraits::named("t")));
    assert_eq!(verdict(&book, &ann, "t", json!({"amount": 5})), "allowed");
    assert_eq!(verdict(&book, &ann, "t", json!({"amount": 500})), "refused by small: ask finance");
    assert_eq!(verdict(&book, &ann, "t", json!({})), "refused by small: ask finance");

    let large =
        json!({"name": "large", "effect": "deny", "when": "args.amount >= 100", "reason": "too much"});
    let book = rulebook(&json!({"rules": [large]}));
    assert!(book.for_subject(&ann).sees(&ToolTraits::named("t")));
    assert_eq!(verdict(&book, &ann, "t", json!({"amount": 5})), "allowed");
    assert_eq!(verdict(&book, &ann, "t", json!({"amount": 500})), "refused by large: too much");
    assert_eq!(verdict(&book, &ann, "t", json!({"amount": "x"})), "refused by large: too much");
}

#[test]
fn what_a_condition_says_beside_the_arguments_counts_in_lists() {
    let check = |effect: &str, default: &str, when: &str, seen: [bool; 2]| {
        let book =
            rulebook(&json!({"default": default, "rules": [{"name": "r", "effect": effect, "when": when}]}));
        for (who, seen) in [somebody("ann", &["support"]), somebody("bob", &[])].iter().zip(seen) {
            assert_eq!(book.for_subject(who).sees(&ToolTraits::named("t")), seen, "{effect} {when} {who:?}");
        }
    };
    check("allow", "deny", "args.n < 9 && 'support' in principal.groups", [true, false]);
    check("allow", "deny", "'support' in principal.groups", [true, false]);
    check("allow", "deny", "args.n < 9", [true, true]);
    check("deny", "allow", "args.n < 9", [true, true]);
    check("deny", "allow", "args.n < 9 && 'support' in principal.groups", [true, true]);
    check("deny", "allow", "args.n < 9 || 'support' in principal.groups", [false, true]);
    check("deny", "allow", "'support' in principal.groups", [false, true]);
    check("deny", "allow", "principal.groups[0] == 'support'", [false, false]);
    check("allow", "deny", "principal.groups[0] == 'support'", [true, false]);
}

#[test]
fn each_part_of_a_rule_has_to_hold_and_the_first_that_does_not_is_named() {
    let document = json!({"rules": [{"name": "r", "effect": "deny",
        "who": {"roles": ["call"], "tenants": ["acme*"], "groups": ["sup?ort"], "names": ["a*"], "scopes": ["x"], "anonymous": false},
        "tools": {"names": ["Orders.*"], "tags": ["Money"], "categories": ["shop"], "kinds": ["http"], "readOnly": false, "openWorld": true},
        "when": "tool.category == 'shop' && args.n == 1"}]});
    let book = rulebook(&document);
    let full = Subject {
        tenant: Some("acme-eu".into()),
        role: Some(Role::Call),
        scopes: vec!["x".into()],
        ..somebody("ann", &["eu", "support"])
    };
    let tags = ["money".to_owned()];
    let tool = ToolTraits {
        kind: "http",
        tags: &tags,
        category: Some("shop"),
        ..ToolTraits::named("orders.refund")
    };
    let part = |who: &Subject, tool: &ToolTraits<'_>, n: i32| {
        let explained = book.explain(who, tool, Some(&args(json!({"n": n}))));
        explained.rules[0].part.unwrap_or("")
    };
    assert_eq!(part(&full, &tool, 1), "");
    assert_eq!(part(&full, &tool, 2), "when");
    let who = |change: fn(&mut Subject)| {
        let mut who = full.clone();
        change(&mut who);
        part(&who, &tool, 1)
    };
    assert_eq!(who(|who| who.role = Some(Role::Admin)), "who.roles");
    assert_eq!(who(|who| who.role = None), "who.roles");
    assert_eq!(who(|who| who.tenant = Some("ACME-eu".into())), "who.tenants");
    assert_eq!(who(|who| who.tenant = None), "who.tenants");
    assert_eq!(who(|who| who.groups.clear()), "who.groups");
    assert_eq!(who(|who| who.name = Some("bob".into())), "who.names");
    assert_eq!(who(|who| who.scopes.clear()), "who.scopes");
    assert_eq!(who(|who| *who = Subject::default()), "who.anonymous");
    assert_eq!(part(&full, &ToolTraits { name: "files.list", ..tool }, 1), "tools.names");
    assert_eq!(part(&full, &ToolTraits { tags: &[], ..tool }, 1), "tools.tags");
    assert_eq!(part(&full, &ToolTraits { category: None, ..tool }, 1), "tools.categories");
    assert_eq!(part(&full, &ToolTraits { kind: "mcp", ..tool }, 1), "tools.kinds");
    let hints = SaidHints::from_mcp(&json!({"readOnlyHint": true}));
    assert_eq!(part(&full, &ToolTraits { hints, ..tool }, 1), "tools.readOnly");
}

#[test]
fn an_explanation_names_the_rule_the_parts_and_the_fault() {
    let book = rulebook(&json!({"default": "deny", "rules": [
        {"name": "refunds", "effect": "allow", "tools": {"names": ["orders.*"]}, "when": "args.amount < 100", "reason": "too much"},
        {"name": "night", "effect": "deny", "who": {"groups": ["night"]}},
    ]}));
    let tool = ToolTraits::named("orders.refund");
    let explained = book.explain(&somebody("ann", &[]), &tool, Some(&args(json!({"total": 5}))));
    let shown = serde_json::to_value(&explained).unwrap();
    let fault = "there is no \"amount\"; ask has(…) first where it may be missing";
    assert_eq!(
        shown,
        json!({"outcome": "refused", "rule": "refunds", "reason": "too much", "rules": [
            {"name": "refunds", "effect": "allow", "matched": "no", "part": "when", "fault": fault},
            {"name": "night", "effect": "deny", "matched": "no", "part": "who.groups"},
        ]})
    );
    let listed = book.explain(&somebody("ann", &[]), &tool, None);
    assert_eq!((listed.outcome, listed.rules[0].matched), (Outcome::Seen, Match::Perhaps));
    let denied = book.explain(&somebody("eve", &["night"]), &tool, None);
    assert_eq!((denied.outcome, denied.rule.as_deref()), (Outcome::Hidden, Some("night")));
    let other = book.explain(&somebody("ann", &[]), &ToolTraits::named("x"), None);
    assert_eq!((other.outcome, other.rule), (Outcome::Hidden, None));
}

#[test]
fn somebody_whom_no_rule_concerns_is_unlimited() {
    let unlimited = |document: Value, who: &Subject| rulebook(&document).for_subject(who).is_unlimited();
    let ann = somebody("ann", &["support"]);
    assert!(Rulebook::default().for_subject(&ann).is_unlimited());
    assert!(Rulebook::default().is_empty());
    let deny = |who: Value| json!({"rules": [{"name": "r", "effect": "deny", "who": who}]});
    assert!(unlimited(deny(json!({"groups": ["night"]})), &ann));
    assert!(!unlimited(deny(json!({"groups": ["support"]})), &ann));
    let when = |when: &str| json!({"rules": [{"name": "r", "effect": "deny", "when": when}]});
    assert!(unlimited(when("'night' in principal.groups"), &ann));
    assert!(!unlimited(when("args.x == 1"), &ann));
    let allow = |rest: Value| {
        let mut rule = json!({"name": "r", "effect": "allow"});
        rule.as_object_mut().unwrap().extend(args(rest));
        json!({"default": "deny", "rules": [rule]})
    };
    assert!(unlimited(allow(json!({"who": {"groups": ["support"]}})), &ann));
    assert!(unlimited(allow(json!({"when": "'support' in principal.groups"})), &ann));
    assert!(!unlimited(allow(json!({"tools": {"readOnly": true}})), &ann));
    assert!(!unlimited(allow(json!({"when": "'night' in principal.groups"})), &ann));
    assert!(!unlimited(json!({"default": "deny", "rules": []}), &ann));
}

#[test]
fn a_test_that_fails_tells_what_came_and_which_rule_decided() {
    let book = rulebook(
        &json!({"rules": [{"name": "no", "effect": "deny", "tools": {"tags": ["x"]}}], "tests": [
            {"tool": "a", "expect": "allow"},
            {"tool": {"name": "a", "tags": ["x"]}, "expect": "allow"},
            {"tool": "a", "expect": "hidden"},
            {"as": {"name": "n", "role": "call", "tenant": "t", "scopes": ["s"]}, "tool": {"name": "a", "tags": ["X"]}, "expect": "deny"},
        ]}),
    );
    let told: Vec<String> = book.run_tests().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "/tests/1: allow was expected, and it is hidden by the rule \"no\"",
            "/tests/2: hidden was expected, and it is allowed by default",
        ]
    );
}

fn any_rule() -> impl Strategy<Value = Value> {
    let whens = prop::sample::select(vec![
        "",
        "args.n < 2",
        "principal.name == 'a'",
        "args.n == 1 && principal.name == 'a'",
        "args.n == 1 || tool.name == 'x'",
        "principal.groups[0] == 'g' && args.n > 0",
        "args.l.exists(i, i == principal.name)",
        "tool.readOnly ? args.n == 1 : principal.name == 'b'",
        "!(args.n == 1) || 1 / args.n > 0",
    ]);
    (any::<bool>(), whens, prop::option::of("[xy*]"), prop::option::of("[ab*]")).prop_map(
        |(allows, when, tool, name)| {
            let mut rule = json!({"effect": if allows { "allow" } else { "deny" }});
            if !when.is_empty() {
                rule["when"] = json!(when);
            }
            if let Some(tool) = tool {
                rule["tools"] = json!({"names": [tool]});
            }
            if let Some(name) = name {
                rule["who"] = json!({"names": [name]});
            }
            rule
        },
    )
}

fn any_args() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"n": 0}),
        json!({"n": 1}),
        json!({"n": 5, "l": ["a"]}),
        json!({"n": "1", "l": [1, "b"]}),
        json!({"n": null, "l": {}}),
    ])
}

proptest! {
    /// Compared with deciding the slow way: each rule by itself, as `explain` finds it.
    #[test]
    fn decisions_are_those_of_the_rules_in_any_order(
        mut rules in prop::collection::vec(any_rule(), 0..6),
        denies in any::<bool>(),
        given in any_args(),
        name in prop::option::of("[abc]"),
        tool in "[xyz]",
    ) {
        for (at, rule) in rules.iter_mut().enumerate() {
            rule["name"] = json!(format!("r{at}"));
        }
        let default = if denies { "deny" } else { "allow" };
        let who = Subject { name, ..Subject::default() };
        let tool = ToolTraits::named(&tool);
        let given = args(given);
        let book = rulebook(&json!({"default": default, "rules": rules}));
        rules.reverse();
        let reversed = rulebook(&json!({"default": default, "rules": rules}));
        let rights = book.for_subject(&who);

        let explained = book.explain(&who, &tool, Some(&given));
        let matched = |effect| explained.rules.iter().any(|rule| rule.matched == Match::Yes && rule.effect == effect);
        let allowed = !matched(toolrail_access::Effect::Deny) && (matched(toolrail_access::Effect::Allow) || !denies);
        let verdict = rights.judge(&tool, &given);
        prop_assert_eq!(verdict == Verdict::Allowed, allowed);
        let hidden = matches!(&verdict, Verdict::Refused { hidden: true, .. });
        prop_assert_eq!(!allowed && !rights.sees(&tool), hidden);
        prop_assert!(!allowed || rights.sees(&tool), "what may be called is seen");
        prop_assert!(!rights.is_unlimited() || allowed);
        let outcome = |book: &Rulebook| book.explain(&who, &tool, Some(&given)).outcome;
        prop_assert_eq!(outcome(&book), outcome(&reversed));
    }
}
