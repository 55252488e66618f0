//! The same queries to all three: how good each of them is on sets of real tools.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::super::report::{Cell, Column, Section, number, text};
use super::engines::{Crate, Engine};
use super::registry_tools::RegistryTools;
use crate::search_eval::{DEPTH, Form, Quality, Ranker, Set, judge, read_all};

const COLUMNS: &[Column] = &[
    text("set"),
    number("tools", 0),
    number("queries", 0),
    number("Toolrail", 1),
    number("bm25 crate", 1),
    text("registry-tools"),
];

pub(super) fn run(folder: &Path, registry_tools: Option<&RegistryTools>) -> Result<Section> {
    let mut rows = Vec::new();
    let mut all: [Vec<f64>; 3] = Default::default();
    for set in read_all(folder, None, &[])? {
        eprintln!("search: quality on {}", set.name);
        let ours = judge(&set, &Ranker::default()).quality.ndcg_at_10;
        let theirs = of_crate(&set);
        let source = registry_tools.map(|system| of_registry_tools(&set, system)).transpose()?;
        for (values, value) in all.iter_mut().zip([Some(ours), Some(theirs), source]) {
            values.extend(value);
        }
        let counts = [Cell::from(set.tools.len()), Cell::from(set.queries.len())];
        rows.push(row(&set.name, counts, [ours, theirs], source));
    }
    let [ours, theirs, source] = all.map(|values| mean(&values));
    let counts = [Cell::from(""), Cell::from("")];
    rows.push(row("mean", counts, [ours.unwrap_or(0.0), theirs.unwrap_or(0.0)], source));
    Ok(Section { title: "Quality: nDCG@10, in percent".to_owned(), columns: COLUMNS, rows })
}

fn row(name: &str, counts: [Cell; 2], [ours, theirs]: [f64; 2], source: Option<f64>) -> Vec<Cell> {
    let source = source.map_or_else(|| "left out".to_owned(), |value| format!("{value:.1}"));
    let mut cells = vec![Cell::from(name)];
    cells.extend(counts);
    cells.extend([Cell::from(ours), Cell::from(theirs), Cell::Text(source)]);
    cells
}

#[expect(clippy::cast_precision_loss, reason = "there are few sets")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn of_crate(set: &Set) -> f64 {
    let mut engine = Crate::default();
    engine.add(set.tools.iter().map(|tool| tool.document(Form::Whole)).enumerate().collect());
    let judged =
        set.queries.iter().map(|query| Quality::of(&engine.find(&query.text, DEPTH), &query.relevant));
    Quality::percent(&judged.collect::<Vec<_>>()).ndcg_at_10
}

fn of_registry_tools(set: &Set, system: &RegistryTools) -> Result<f64> {
    let places: HashMap<&str, usize> =
        set.tools.iter().enumerate().map(|(place, tool)| (&*tool.id, place)).collect();
    let tools: Vec<Value> = set
        .tools
        .iter()
        .map(|tool| json!({"name": &*tool.id, "description": tool.description, "tags": tool.tags, "category": tool.category}))
        .collect();
    let queries: Vec<&str> = set.queries.iter().map(|query| query.text.as_str()).collect();
    let ran = system.run(&tools, &queries, DEPTH)?;
    let judged = ran.ranked.iter().zip(&set.queries).map(|(names, query)| {
        let ranked: Vec<usize> = names.iter().filter_map(|name| places.get(name.as_str()).copied()).collect();
        Quality::of(&ranked, &query.relevant)
    });
    Ok(Quality::percent(&judged.collect::<Vec<_>>()).ndcg_at_10)
}
