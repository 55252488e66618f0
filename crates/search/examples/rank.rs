//! Ranks tools of a file for queries on standard input, for judging from outside: `rank TOOLS.jsonl`. Or judges itself:
//! `rank --eval DIR`, a folder of sets, each with `tools.jsonl` and `queries.jsonl`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an instrument for developers")]

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use toolrail_search::{Document, Extras, Index, Parameter, Parameters, Query, search_with};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    let parameters = parameters();
    if first == "--eval" {
        evaluate(&arguments.next().unwrap_or_default(), &parameters, &arguments.collect::<Vec<_>>());
        return;
    }
    let index = load(&first, &parameters);
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let limit = usize::try_from(request["limit"].as_u64().unwrap_or(10)).unwrap();
        let ranked: Vec<String> = ask(&index, request["query"].as_str().unwrap(), limit, &parameters)
            .iter()
            .map(ToString::to_string)
            .collect();
        println!("{}", json!({ "ranked": ranked }));
        std::io::stdout().flush().unwrap();
    }
}

fn ask(index: &Index<Arc<str>>, text: &str, limit: usize, parameters: &Parameters) -> Vec<Arc<str>> {
    let query = Query { text, limit, accept: &|_| true, prior: &|_| 0.0, learnt: None };
    let hits = search_with(&[index], &query, &Extras { parameters, meaning: None });
    hits.into_iter().map(|hit| hit.value).collect()
}

/// The usual numbers, or others: `RANK="clause=0.4 weights.0=2"`.
fn parameters() -> Parameters {
    let mut parameters = Parameters::default();
    for setting in std::env::var("RANK").unwrap_or_default().split_whitespace() {
        let (name, value) = setting.split_once('=').unwrap();
        assert!(parameters.set(name, value.parse().unwrap()), "{name}");
    }
    parameters
}

fn rows(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn load(path: &str, parameters: &Parameters) -> Index<Arc<str>> {
    let tools = rows(path);
    let mut index = Index::new(parameters.clone());
    let bare = std::env::var("BARE").is_ok();
    index.apply(tools.iter().map(|tool| {
        let id: Arc<str> = Arc::from(tool["id"].as_str().unwrap());
        let mut found = Vec::new();
        arguments(&tool["input_schema"], &mut found);
        let document = Document {
            name: tool[if bare { "id" } else { "name" }].as_str().unwrap(),
            description: tool["description"].as_str().unwrap_or_default(),
            tags: tool["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
            category: tool["category"].as_str(),
            server: tool["server"].as_str(),
            server_description: if bare { None } else { tool["server_description"].as_str() },
            parameters: found,
            ..Document::default()
        };
        (Arc::clone(&id), Some((document, id)))
    }));
    index
}

fn arguments<'v>(schema: &'v Value, found: &mut Vec<Parameter<'v>>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        found.push(Parameter { name, description: property["description"].as_str() });
        arguments(property, found);
        arguments(&property["items"], found);
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
fn evaluate(folder: &str, parameters: &Parameters, more: &[String]) {
    let mut sets: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect();
    sets.retain(|set| std::path::Path::new(set).join("queries.jsonl").exists());
    sets.sort();
    let mut sum = 0.0;
    let mut line = String::new();
    for set in &sets {
        let index = load(&format!("{set}/tools.jsonl"), parameters);
        let queries = rows(&format!("{set}/queries.jsonl"));
        let mut times = Vec::new();
        let (mut gained, mut first) = (0.0, 0.0);
        for query in &queries {
            let relevant: Vec<&str> =
                query["relevant"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let started = Instant::now();
            let ranked = ask(&index, query["text"].as_str().unwrap(), 10, parameters);
            times.push(started.elapsed());
            let discount = |place: usize| 1.0 / (place as f64 + 2.0).log2();
            let good = |id: &Arc<str>| relevant.contains(&&**id);
            let reached: f64 =
                ranked.iter().enumerate().filter(|(_, id)| good(id)).map(|(place, _)| discount(place)).sum();
            let ideal: f64 = (0..relevant.len().min(10)).map(discount).sum();
            gained += reached / ideal;
            first += f64::from(u8::from(ranked.first().is_some_and(good)));
            if more.iter().any(|word| word == "--misses") && reached / ideal < 0.5 {
                println!(
                    "{:.2} {} WANT {relevant:?} GOT {:?}",
                    reached / ideal,
                    query["text"],
                    ranked.get(..5.min(ranked.len()))
                );
            }
        }
        times.sort();
        let count = queries.len() as f64;
        sum += gained / count;
        let name = set.rsplit('/').next().unwrap_or_default();
        line += &format!(
            "{name} {:.1} (h1 {:.1}, {:?})  ",
            100.0 * gained / count,
            100.0 * first / count,
            times[times.len() / 2]
        );
    }
    println!("MEAN {:.2}  {line}", 100.0 * sum / sets.len() as f64);
}
