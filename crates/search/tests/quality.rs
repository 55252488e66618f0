//! The search stays good on the tuning set, in each language and across them. `cargo xtask search-eval` tells more.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolrail_search::{Document, Index, Parameter, Query, search};

const DEPTH: usize = 10;

/// The least nDCG@10 of queries in one language about tools in one.
const FLOORS: &[(&str, f64)] = &[("en-en", 57.5), ("en-zh", 78.0), ("zh-en", 75.0), ("zh-zh", 67.0)];

#[test]
fn quality_on_the_tuning_set_stays_above_its_floors_in_each_language_and_across() {
    let tools = lines("tools.jsonl");
    let mut index = Index::default();
    index.apply(tools.iter().enumerate().map(|(place, tool)| (key(tool), Some((document(tool), place)))));
    let places: HashMap<Arc<str>, usize> =
        tools.iter().enumerate().map(|(place, tool)| (key(tool), place)).collect();
    let mut pairs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for query in lines("queries.jsonl") {
        let ids = query["relevant"].as_array().unwrap().iter().map(|id| id.as_str().unwrap());
        let relevant: Vec<usize> = ids.map(|id| places[id]).collect();
        let text = query["text"].as_str().unwrap();
        let chinese = relevant.iter().filter(|place| is_chinese(text_of(&tools[**place], "description")));
        let about = if chinese.count() * 2 > relevant.len() { "zh" } else { "en" };
        let pair = format!("{}-{about}", if is_chinese(text) { "zh" } else { "en" });
        pairs.entry(pair).or_default().push(ndcg(&ranked(&index, text), &relevant));
    }
    for (pair, floor) in FLOORS {
        let values = &pairs[*pair];
        #[expect(clippy::cast_precision_loss, reason = "there are few queries")]
        let mean = 100.0 * values.iter().sum::<f64>() / values.len() as f64;
        assert!(mean >= *floor, "{pair}: nDCG@10 {mean:.1} over {} queries, at least {floor}", values.len());
    }
}

fn ranked(index: &Index<usize>, text: &str) -> Vec<usize> {
    let query = Query { text, limit: DEPTH, accept: &|_| true, prior: &|_| 0.0, learnt: None };
    search(&[index], &query).iter().map(|hit| hit.value).collect()
}

fn ndcg(ranked: &[usize], relevant: &[usize]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "there are ten places")]
    let gain = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let reached: f64 = (0..ranked.len()).filter(|place| relevant.contains(&ranked[*place])).map(gain).sum();
    let best: f64 = (0..relevant.len().min(DEPTH)).map(gain).sum();
    reached / best
}

fn document(tool: &Value) -> Document<'_> {
    let properties = tool["input_schema"]["properties"].as_object();
    let parameters = properties.into_iter().flatten();
    Document {
        name: text_of(tool, "name"),
        description: text_of(tool, "description"),
        category: tool["category"].as_str(),
        server: tool["server"].as_str(),
        parameters: parameters
            .map(|(name, schema)| Parameter { name, description: schema["description"].as_str() })
            .collect(),
        ..Document::default()
    }
}

fn key(tool: &Value) -> Arc<str> {
    text_of(tool, "id").into()
}

fn text_of<'a>(tool: &'a Value, field: &str) -> &'a str {
    tool[field].as_str().unwrap()
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
}

fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tuning").join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
