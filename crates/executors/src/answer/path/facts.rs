//! Every path selects what the reference implementation selects.

use serde_json::{Value, json};
use serde_json_path::JsonPath;

use super::*;
use crate::meter::Allowance;

fn selected(written: &str, answer: &Value) -> Value {
    let query =
        parse::parse(written).unwrap_or_else(|wrong| panic!("{written}: {} at {}", wrong.words, wrong.at));
    let json = Json::from_value(answer);
    let outline = Outline::of(&json, 10_000).unwrap();
    let mut meter = Meter::new(Allowance::LARGE);
    let nodes = Selecting::new(outline.root(), &mut meter).all(&query).unwrap();
    nodes.iter().map(|node| serde_json::from_str::<Value>(node.raw()).unwrap()).collect()
}

#[test]
fn a_path_selects_what_the_standard_says() {
    let answer = json!({
        "store": {"book": [
            {"category": "reference", "author": "Nigel Rees", "price": 8.95, "tags": ["a", "b"]},
            {"category": "fiction", "author": "Evelyn Waugh", "price": 12.99, "isbn": "0-553"},
            {"category": "fiction", "author": "J. R. R. Tolkien", "price": 22.99, "tags": []}
        ], "bicycle": {"color": "red", "price": 399}},
        "a": null, "b": [1, 2, 3, [4, 5], {"k": "v\n\"x\"", "你": true}], "o": {"j": {"x": 1}, "k": {"x": 1}},
        "e": [], "n": [1e2, 100, -0.5, 0, "100"], "": {"'": 1}, "pattern": "[a-c].*"
    });
    for written in [
        "$",
        "$.store.book[*].author",
        "$..author",
        "$.store.*",
        "$.store..price",
        "$..book[2]",
        "$..book[-1]",
        "$..book[0,1]",
        "$..book[:2]",
        "$..*",
        "$.b[1:3]",
        "$.b[::-1]",
        "$.b[3:0:-2]",
        "$.b[-2:]",
        "$.b[5:1]",
        "$.b[10]",
        "$.b[-10]",
        "$['a']",
        "$[\"store\"]['bicycle','book']",
        "$['']",
        "$['']['\\'']",
        "$.b[4].你",
        "$..book[?@.isbn]",
        "$..book[?@.price<10]",
        "$..book[?@.price >= 12.99 && @.category=='fiction']",
        "$..book[?!@.isbn]",
        "$..book[?!(@.price > 10)]",
        "$.store.book[?@.tags[0] == 'a'].price",
        "$..book[?length(@.author) > 11].author",
        "$..book[?count(@.*) == 4].author",
        "$..book[?match(@.author, 'E.*')].author",
        "$..book[?search(@.author, 'R[.]? ')].author",
        "$..book[?search(@.author, 'zz')]",
        "$.b[?@ > 1]",
        "$.b[?@ == 2 || @ == 3]",
        "$.b[?@.k == 'v\\n\"x\"']",
        "$.n[?@ == 100]",
        "$.n[?@ == 1e2]",
        "$.n[?@ <= 0]",
        "$.n[?@ != '100']",
        "$[?@.j == @.k]",
        "$[?@.a == @.b]",
        "$.b[?@ == null]",
        "$[?@ == null]",
        "$.store.book[?value(@.tags[0]) == 'a'].author",
        "$.e[*]",
        "$.b[0:0]",
        "$ .store [ 'bicycle' ] .color",
        "$.b[ 1 , 0 ]",
        "$..[?@.x == 1]",
        "$[?length(@) == 3]",
        "$..book.length",
        "$.b[?@[0] == 4]",
        "$.store.book[?@.price == $.store.book[1].price].author",
        "$.store.book[?match(@.category, $.pattern)].author",
        "$..[0]",
        "$..['price','color']",
    ] {
        let reference = JsonPath::parse(written).unwrap_or_else(|fault| panic!("{written}: {fault}"));
        let expected: Value = reference.query(&answer).all().into_iter().cloned().collect();
        let sort = |value: Value| {
            let mut texts: Vec<String> = value.as_array().unwrap().iter().map(Value::to_string).collect();
            // The standard leaves the order of descendants open in part.
            if written.contains("..") {
                texts.sort();
            }
            texts
        };
        assert_eq!(sort(selected(written, &answer)), sort(expected), "{written}");
    }
}

#[test]
fn what_is_no_path_is_refused_as_the_reference_does() {
    for written in [
        "$.",
        "$[",
        "$[]",
        "$.a b",
        "$.1",
        "$[01]",
        "$[-0]",
        "$[1:2:3:4]",
        "$[?]",
        "$[?@.a =]",
        "$[?@.a == ]",
        "$['a]",
        "$[?@.* == 1]",
        "$[?nope(@.a)]",
        "$[?length(@.a)]",
        "$[?match(@.a)]",
        "$[?count(1) == 1]",
        "$..",
        "$[?'a']",
        "$[?@.a === 1]",
        "$['\\x']",
        "$[?(@.a]",
        "$a",
        "$[?@.a == 01]",
        "$[?!@.a == 1]",
    ] {
        assert!(JsonPath::parse(written).is_err(), "{written} is a path for the reference");
        assert!(parse::parse(written).is_err(), "{written}");
    }
}
