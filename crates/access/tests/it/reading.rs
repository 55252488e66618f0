//! What is wrong with a document is told all at once, each with its place and what to do.

use serde_json::{Value, json};

use crate::{problems, rulebook};

/// Of a rule with that condition, without the place in the document.
fn wrong(when: &str) -> Vec<String> {
    let told = problems(&json!({"rules": [{"name": "r", "effect": "deny", "when": when}]}));
    told.iter().map(|told| told.trim_start_matches("error at /rules/0/when: ").to_owned()).collect()
}

#[test]
fn a_document_of_nothing_allows_everything() {
    let book = rulebook(&json!({}));
    assert!(book.is_empty());
    assert_eq!((book.rule_count(), book.test_count()), (0, 0));
}

#[test]
fn everything_wrong_is_told_at_once() {
    let document = json!({
        "defualt": "deny", "default": "Deny",
        "rules": [
            {"nmae": "a", "effect": "permit", "who": {"role": ["call"], "roles": ["cal"], "groups": [], "names": "ci", "tenants": null}},
            {"name": "a b", "effect": "deny", "tools": {"tags": [1, ""], "readOnly": "yes"}, "reason": ""},
            {"name": "x", "effect": "deny", "who": {}, "tools": {}},
            {"name": "x", "effect": "deny", "who": null, "when": 5},
            "deny",
        ],
        "tests": [{"tool": "t"}, {"tool": {}, "as": {"role": "boss"}, "args": [], "expect": "alow"}, {"expect": "allow"}],
    });
    assert_eq!(
        problems(&document),
        [
            "error at /defualt: unknown field \"defualt\"; did you mean \"default\"?",
            "error at /default: this is one of allow, deny; did you mean \"deny\"?",
            "error at /rules/0/nmae: unknown field \"nmae\"; did you mean \"name\"?",
            "error at /rules/0: \"name\" is missing; add it",
            "error at /rules/0/effect: this is one of allow, deny",
            "error at /rules/0/who/role: unknown field \"role\"; did you mean \"roles\"?",
            "error at /rules/0/who/tenants: \"tenants\" has no value; give it one, or leave it out",
            "error at /rules/0/who/groups: \"groups\" is empty, so nothing ever matches; fill it, or leave it out",
            "error at /rules/0/who/names: \"names\" is a list; write [\"ci\"]",
            "error at /rules/0/who/roles/0: this is one of read, call, write, admin; did you mean \"call\"?",
            "error at /rules/1/name: \"a b\" is not the name of a rule; it has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit",
            "error at /rules/1/tools/tags/0: this has to be a text; put it in quotes",
            "error at /rules/1/tools/tags/1: this is empty; fill it, or leave it out",
            "error at /rules/1/tools/readOnly: \"readOnly\" is true or false",
            "error at /rules/1/reason: this is empty; fill it, or leave it out",
            "error at /rules/2/who: this says nothing; leave `who` out for everybody",
            "error at /rules/2/tools: this says nothing; leave `tools` out for all tools",
            "error at /rules/3/who: \"who\" has no value; give it one, or leave it out",
            "error at /rules/3/when: this has to be a text; put it in quotes",
            "error at /rules/4: this has to be an object with the fields name, effect, who, tools, when, reason",
            "error at /rules/3/name: /rules/2 is called \"x\" too; give one of them another name",
            "error at /tests/0: \"expect\" is missing; add it",
            "error at /tests/1/as/role: this is one of read, call, write, admin",
            "error at /tests/1/tool: \"name\" is missing; add it",
            "error at /tests/1/args: these are the arguments of the call: an object",
            "error at /tests/2: \"tool\" is missing; add it",
        ]
    );
    assert_eq!(
        problems(&json!([])),
        ["error: this has to be an object with the fields default, rules, tests"]
    );
}

#[test]
fn a_rule_that_can_never_match_is_refused() {
    let told = |who: Value, tools: Value| {
        problems(&json!({"rules": [{"name": "r", "effect": "deny", "who": who, "tools": tools}]}))
    };
    for field in ["tenants", "groups", "names", "scopes", "roles"] {
        let who = json!({"anonymous": true, field: ["call"]});
        let expected = format!(
            "error at /rules/0/who/{field}: this never matches: somebody anonymous has no {field}; leave one of the two out"
        );
        assert_eq!(told(who, json!({"readOnly": true})), [expected]);
    }
    assert_eq!(
        told(json!({"anonymous": false}), json!({"readOnly": true, "destructive": true})),
        [
            "error at /rules/0/tools/destructive: this never matches: a tool that is read-only is not destructive; leave one of the two out"
        ]
    );
}

#[test]
fn a_rule_that_changes_nothing_is_warned_of() {
    let allow = json!({"name": "a", "effect": "allow", "reason": "because"});
    assert_eq!(
        problems(&json!({"rules": [allow]})),
        [
            "warning at /rules/0/reason: this is never shown: only somebody whose arguments are refused is told a reason; let `when` ask for args, or leave it out",
            "warning at /rules/0: this rule changes nothing: what no rule denies is allowed anyway, and a deny wins over it; set `default: deny`, or turn it into a deny",
        ]
    );
    assert_eq!(
        problems(&json!({"default": "deny", "rules": [{"name": "a", "effect": "deny"}]})),
        [
            "warning at /default: no rule allows anything, so nobody sees or calls any tool; add a rule that allows"
        ]
    );
}

#[test]
fn a_condition_that_cannot_be_read_is_told_with_its_place() {
    for (when, expected) in [
        ("args.x = 3", "at character 8: two values are compared with `==`"),
        ("args.x >", "at character 9: a value is expected here, not the end"),
        (
            "args.x == 1 args.y",
            "at character 13: `args` has no meaning here; an operator is missing before it",
        ),
        ("args.x == 1 &&\n  args.y == = 2", "at line 2, character 13: two values are compared with `==`"),
        ("args.x & args.y", "at character 8: `&` is no operator; write `&&`"),
        ("args.x == 'abc", "at character 11: this text has no end; close its quotes"),
        ("args.x == 'a\\q'", "at character 13: this is no escape; a backslash is written `\\\\`"),
        ("(args.x", "at character 8: `)` is expected here, not the end"),
        ("args.a-b == 1", "at character 8: there is no `b`, only principal, tool and args"),
        ("args. == 1", "at character 7: a name is expected after `.`"),
        ("args.x == 5u", "at character 11: numbers are written without `u` here"),
        ("args.x == 99999999999999999999", "at character 11: this is not a number, or too large a one"),
        ("args.x == 1.5.2", "at character 11: this is not a number, or too large a one"),
        ("args.x == b'x'", "at character 11: there are no bytes here; write a text without `b`"),
        ("args.x == 'ä' ä", "at character 15: 'ä' has no meaning here; texts stand in quotes"),
        (
            "args.`x`",
            "at character 6: names are not quoted here; write args['a-b'] for a name that is not plain",
        ),
        ("T{x: 1} == args", "at character 1: there are no messages here; a table is written {'key': value}"),
    ] {
        assert_eq!(wrong(when), [expected], "{when}");
    }
}

#[test]
fn unknown_names_and_functions_are_told_with_what_was_meant() {
    for (when, expected) in [
        ("tool.nmae == 'x'", "at character 6: tool has no `nmae`; did you mean `tool.name`?"),
        (
            "principal.group == 'x'",
            "at character 11: principal has no `group`; did you mean `principal.groups`?",
        ),
        (
            "principal.email == 'x'",
            "at character 11: principal has no `email`; write one of principal.name, principal.tenant, principal.role, principal.groups, principal.scopes",
        ),
        ("has(tool.tag)", "at character 10: tool has no `tag`; did you mean `tool.tags`?"),
        (
            "arg.x == 1",
            "at character 1: there is no `arg`, only principal, tool and args; did you mean `args`?",
        ),
        (
            "args.x.startWith('a')",
            "at character 8: there is no function `startWith`; did you mean `startsWith`?",
        ),
        (
            "args.x.matches('a.*')",
            "at character 8: there is no function `matches`; there are no regular expressions here; use startsWith, endsWith or contains",
        ),
        ("startsWith(args.x, 'a')", "at character 1: `startsWith` is written text.startsWith('begin')"),
        ("args.x.startsWith()", "at character 8: `startsWith` is written text.startsWith('begin')"),
        (
            "has(args)",
            "at character 1: `has` asks for a field: has(args.name); for other keys write 'a-b' in args",
        ),
        ("args.l.all(x)", "at character 8: `all` is written list.all(item, condition)"),
        ("args.l.all(x.y, true)", "at character 14: a name for the item is expected here"),
        (
            "args.l.all(args, true)",
            "at character 8: `args` means something already; give the item another name",
        ),
        (
            "args.l.all(x, x.exists(y, y))",
            "at character 17: `exists` cannot stand within another such; make two rules of it",
        ),
    ] {
        assert_eq!(wrong(when), [expected], "{when}");
    }
    let listed = wrong("principal == tool");
    assert!(listed.len() == 2 && listed[0].contains("write one of principal.name"), "{listed:?}");
}

#[test]
fn what_can_only_fail_or_is_always_the_same_is_refused() {
    for (when, expected) in [
        ("principal.name", "at character 11: this gives a text, and a condition gives true or false"),
        ("args.x + 1", "at character 8: this gives a number, and a condition gives true or false"),
        ("args.x && principal.name", "at character 21: `&&` needs true or false, and this is a text"),
        ("!principal.name", "at character 12: `!` needs true or false, and this is a text"),
        ("-tool.name == 1", "at character 7: `-` needs a number, and this is a text"),
        ("principal.name == 5", "at character 16: a text and a number are never the same"),
        (
            "principal.tenant == null",
            "at character 18: a text and null are never the same; a text that is not there is ''",
        ),
        ("principal.groups == 'x'", "at character 18: a list of texts and a text are never the same"),
        ("principal.name in 'abc'", "at character 16: `in` does not go with a text and a text"),
        ("5 in principal.groups", "at character 3: `in` does not go with a number and a list of texts"),
        ("principal.groups > 1", "at character 18: `>` does not go with a list of texts and a number"),
        ("principal.name.x == 1", "at character 16: a text has no field \"x\""),
        ("principal.name[0] == 'a'", "at character 15: a text has no entry for a number"),
        ("size(5) == args.x", "at character 6: `size` does not go with a number; it is written size(value)"),
        ("tool.readOnly.all(x, x)", "at character 15: `all` goes over a list, and this is true or false"),
        (
            "true",
            "this is the same for every call; ask something of principal, tool or args, or leave `when` out",
        ),
        (
            "1 < 2",
            "this is the same for every call; ask something of principal, tool or args, or leave `when` out",
        ),
        ("1 / 0 == 1 && principal.name == principal.name", "this fails for every call: it divides by zero"),
        (
            "int('x') == size(tool.name)",
            "this fails for every call: int is given a text that is no whole number",
        ),
    ] {
        assert_eq!(wrong(when), [expected], "{when}");
    }
    assert_eq!(wrong("tool.nmae == 1 && principal.x == 2").len(), 2, "all of them at once");
    assert_eq!(wrong("principal.groups[3] == 'x' && int(principal.name) > 1"), [""; 0]);
}
