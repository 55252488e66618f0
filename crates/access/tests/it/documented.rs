//! What docs/permissions.md says is so.

use serde_json::{Value, json};

use crate::{problems, rulebook};

const PAGE: &str = include_str!("../../../../docs/permissions.md");

#[test]
fn every_example_is_fine_and_passes_its_own_tests() {
    let examples: Vec<&str> =
        PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let document: Value = serde_saphyr::from_str(example).unwrap();
        assert_eq!(problems(&document), [""; 0], "{example}");
        let book = rulebook(&document);
        assert!(book.test_count() > 2);
        assert_eq!(book.run_tests(), []);
    }
}

#[test]
fn every_condition_in_the_table_is_fine() {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let conditions: Vec<String> = rows
        .filter(|(cell, _)| cell.contains("args.") || cell.contains("(args"))
        .map(|(cell, _)| cell.replace("\\|", "|"))
        .collect();
    assert_eq!(conditions.len(), 8, "{conditions:#?}");
    for when in conditions {
        let document = json!({"rules": [{"name": "r", "effect": "deny", "when": when}]});
        assert_eq!(problems(&document), [""; 0], "{when}");
    }
}
