//! What conditions mean.

use serde_json::{Value, json};

use crate::{condition, explained};

fn check(given: Value, conditions: &[(&str, bool)]) {
    for (when, expected) in conditions {
        assert_eq!(condition(when, given.clone()), Ok(*expected), "{when}");
    }
}

fn fails(given: Value, conditions: &[(&str, &str)]) {
    for (when, expected) in conditions {
        assert_eq!(condition(when, given.clone()), Err((*expected).to_owned()), "{when}");
    }
}

#[test]
fn operators_bind_as_in_cel() {
    check(
        json!({"a": 1, "b": 2, "t": true, "f": false}),
        &[
            ("args.a + args.b * 3 == 7", true),
            ("(args.a + args.b) * 3 == 9", true),
            ("args.a - 1 - 1 == -1", true),
            ("args.f && args.f || args.t", true),
            ("args.t || args.f && args.f", true),
            ("!args.f && args.t", true),
            ("!!args.t", true),
            ("- -args.a == 1", true),
            ("args.t ? args.f : args.t", false),
            ("args.f ? false : args.f ? false : true", true),
            ("args.a < args.b == true", true),
            ("7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -args.a", true),
            ("args.b in [1, 2,]", true),
            ("args['a'] == 1 // why", true),
            ("-9223372036854775808 < args.a && 0x10 == 16", true),
        ],
    );
}

#[test]
fn a_number_is_the_same_however_it_is_written() {
    for written in ["100", "100.0", "1e2"] {
        let given: Value = serde_json::from_str(&format!("{{\"n\": {written}, \"l\": [1, 2]}}")).unwrap();
        check(
            given,
            &[
                ("args.n == 100 && args.n == 100.0 && args.n in [100]", true),
                ("args.n / 3 == 33", true),
                ("args.n * 0.5 == 50", true),
                ("args.n % 7 == 2", true),
                ("args.n < 100.5 && 99.5 < args.n", true),
                ("args.l[args.n - 99] == 2", true),
            ],
        );
    }
    check(
        json!({"big": u64::MAX, "exact": 9_007_199_254_740_993_i64}),
        &[
            ("args.big > 9223372036854775807", true),
            ("args.exact > 9007199254740992.0", true),
            ("args.exact == 9007199254740992.0", false),
            ("args.big > args.exact", true),
        ],
    );
}

#[test]
fn fields_lists_objects_and_texts_can_be_asked_for() {
    check(
        json!({"o": {"a": {"b": null}}, "l": ["x", "yy"], "s": "Grüße", "e": "", "a-b": 1}),
        &[
            ("has(args.o) && has(args.o.a) && !has(args.x)", true),
            ("has(args.o.a.b) && args.o.a.b == null", true),
            ("'a-b' in args && args['a-b'] == 1 && !('c' in args)", true),
            ("size(args.s) == 5 && args.l.size() == 2 && size(args.o) == 1", true),
            ("args.s.startsWith('Gr') && args.s.endsWith('e') && args.s.contains('üß')", true),
            ("'A\\u0042\\x43\\n\\\\'.lowerAscii() == 'abc\\n\\\\' && args.e == ''", true),
            ("r'\\n' == '\\\\n' && args.e == \"\"", true),
            ("args.l == ['x', 'yy'] && args.l != ['x']", true),
            ("args.o == {'a': {'b': null}} && args.o != {'a': {}}", true),
            ("args.l + ['z'] == ['x', 'yy', 'z']", true),
            ("args.s + '!' == 'Grüße!'", true),
            ("string(1) + string(true) + string(1.5) == '1true1.5' && args.e == ''", true),
            ("int('12') + int(1.9) == 13 && double('1.5') == 1.5 && args.e == ''", true),
            ("{'x': 1, 'yy': 2}[args.l[1]] == 2", true),
            ("'a' < 'b' && args.s > 'F'", true),
            ("args.l == 3 || args.s == args.l", false),
        ],
    );
}

#[test]
fn macros_go_over_lists_and_keys() {
    check(
        json!({"l": [1, 2, 3], "o": {"a": 1, "b": 2}, "e": []}),
        &[
            ("args.l.all(x, x > 0) && !args.l.all(x, x > 1)", true),
            ("args.l.exists(x, x == 3) && !args.l.exists(x, x == 4)", true),
            ("args.l.exists_one(x, x > 2) && !args.l.exists_one(x, x > 1)", true),
            ("args.l.map(x, x * 2) == [2, 4, 6]", true),
            ("args.l.map(x, x > 1, x * 2) == [4, 6]", true),
            ("args.l.filter(x, x > 1).all(y, y < 4)", true),
            ("args.o.all(k, args.o[k] > 0)", true),
            ("args.e.all(x, x) && !args.e.exists(x, x)", true),
            ("principal.groups.exists(g, g.startsWith('sup')) && args.e == []", true),
        ],
    );
}

#[test]
fn a_part_that_fails_is_no_matter_if_another_decides() {
    check(
        json!({"n": 1, "l": [1, "x", 9]}),
        &[
            ("args.x > 1 || args.n == 1", true),
            ("args.n == 1 || args.x > 1", true),
            ("args.x > 1 && args.n == 2", false),
            ("args.l.exists(i, i > 5)", true),
            ("args.l.all(i, i > 5)", false),
        ],
    );
    fails(
        json!({"n": 1, "l": [1, "x", 2]}),
        &[
            ("args.x > 1 || args.n == 2", "there is no \"x\"; ask has(…) first where it may be missing"),
            ("args.l.exists(i, i > 5)", "`>` does not go with a text and a number"),
            ("args.l.exists_one(i, i > 1)", "`>` does not go with a text and a number"),
        ],
    );
}

#[test]
fn what_cannot_be_is_told_without_repeating_an_argument() {
    fails(
        json!({"n": 0, "s": "secret", "max": i64::MAX, "min": i64::MIN, "l": [1], "o": {}}),
        &[
            ("1 / args.n == 1", "it divides by zero"),
            ("1 % args.n == 1", "it divides by zero"),
            ("args.max + 1 > 0", "a number becomes too large"),
            ("args.max * 2 > 0", "a number becomes too large"),
            ("args.min - 1 < 0", "a number becomes too large"),
            ("-args.min > 0", "a number becomes too large"),
            ("args.min / -1 > 0", "a number becomes too large"),
            ("args.min % -1 == 0", "a number becomes too large"),
            ("args.s > 1", "`>` does not go with a text and a number"),
            ("args.s", "true or false is needed, and there is a text"),
            ("args.s.x == 1", "a text has no field \"x\""),
            ("args.l[1] == 1", "there is nothing at that place of the list"),
            ("args.l[-1] == 1", "there is nothing at that place of the list"),
            ("args.l['x'] == 1", "a list has no entry for a text"),
            ("args.o['x'] == 1", "there is nothing under that key"),
            ("args.n in args.s", "`in` does not go with a number and a text"),
            ("args.n.startsWith('x')", "startsWith does not go with a number"),
            ("int(args.s) == 1", "int is given a text that is no whole number"),
            ("int(args.max * 4.0) == 1", "int is given too large a number"),
            ("args.n.all(x, x)", "all does not go with a number"),
            ("{args.n: 1, 0: 2}[0] == 1", "a table has the same key twice"),
        ],
    );
    let explained = serde_json::to_string(&explained("args.s > 1", json!({"s": "hunter2"}))).unwrap();
    assert!(!explained.contains("hunter2"), "{explained}");
}

#[test]
fn a_tenant_that_is_not_there_is_an_empty_text() {
    check(
        json!({}),
        &[
            ("principal.tenant == 'acme' && has(principal.tenant)", true),
            ("principal.role == '' && !has(principal.role)", true),
            ("tool.tenant == '' && !has(tool.category) && !has(tool.tags) && has(tool.readOnly)", true),
            ("principal.name == 'ann' && tool.name == 'orders.refund'", true),
            ("tool.destructive && tool.openWorld && !tool.readOnly && !tool.idempotent", true),
        ],
    );
}
