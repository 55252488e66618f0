//! What decisions cost: `cargo run --release -p toolrail-access --example figures`.

#![expect(clippy::print_stdout, reason = "that is all it is for")]

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolrail_access::{Rights, Rulebook, Subject, Verdict};
use toolrail_core::ToolTraits;

const TIMES: u32 = 200_000;

fn main() {
    let small = args(json!({"amount": 50, "currency": "EUR", "note": "late delivery", "items": [1, 2, 3]}));
    let large = args(json!({"amount": 50, "rows": vec![json!({"id": 1, "name": "somebody"}); 1_000]}));
    let allow = json!({"name": "orders", "effect": "allow", "tools": {"names": ["orders.*"]}});
    let denies = |at: usize| json!({"name": format!("d{at}"), "effect": "deny", "tools": {"names": [format!("other{at}.*")]}});
    let when =
        |when: &str| json!({"name": "r", "effect": "allow", "tools": {"names": ["orders.*"]}, "when": when});

    show("1 rule without a condition", &rights(vec![allow.clone()]), &small);
    let mut many: Vec<Value> = (0..10).map(denies).collect();
    many.push(allow);
    show("11 rules without a condition", &rights(many), &small);
    show("args.amount < 100", &rights(vec![when("args.amount < 100")]), &small);
    let two = "args.amount < 100 && principal.tenant == 'acme'";
    show(two, &rights(vec![when(two)]), &small);
    let all = "args.items.all(item, item > 0) && 'support' in principal.groups";
    show(all, &rights(vec![when(all)]), &small);
    show("args.amount < 100, arguments of 27 KB", &rights(vec![when("args.amount < 100")]), &large);
    let worst = when(
        "args.rows.all(row, args.rows.size() > 0 && !(row in [1, 2, 3, 4, 5, 6, 7, 8, 9]) && row == row)",
    );
    show("what runs out of steps", &rights(vec![worst]), &args(json!({"rows": vec![1_000; 10_000]})));
}

fn args(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn rights(rules: Vec<Value>) -> Rights {
    let subject = Subject {
        name: Some("ann".to_owned()),
        tenant: Some("acme".to_owned()),
        groups: vec!["eu".to_owned(), "support".to_owned()],
        ..Subject::default()
    };
    let reading = Rulebook::read(&json!({"default": "deny", "rules": rules}));
    for problem in &reading.problems {
        println!("{problem}");
    }
    reading.rulebook.unwrap_or_default().for_subject(&subject)
}

fn show(what: &str, rights: &Rights, args: &Map<String, Value>) {
    let tool = ToolTraits::named("orders.refund");
    let allowed = rights.judge(&tool, args) == Verdict::Allowed;
    let times = if allowed { TIMES } else { 200 };
    let judged = nanoseconds(times, || rights.judge(black_box(&tool), args));
    let seen = nanoseconds(times, || rights.sees(black_box(&tool)));
    println!("{what}: judge {judged} ns, sees {seen} ns{}", if allowed { "" } else { " (refused)" });
}

/// Of twenty rounds the best, because others use the machine too.
fn nanoseconds<T>(times: u32, work: impl Fn() -> T) -> u128 {
    let round = |_| {
        let begin = Instant::now();
        for _ in 0..times / 20 {
            black_box(work());
        }
        begin.elapsed().as_nanos() / u128::from(times / 20)
    };
    (0..20).map(round).min().unwrap_or_default()
}
