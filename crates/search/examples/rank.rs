//! Ranks tools of a file for queries on standard input, for judging from outside: `rank TOOLS.jsonl`. Or judges itself:
//! `rank --eval DIR`, a folder of sets, each with `tools.jsonl` and `queries.jsonl`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an instrument for developers")]

use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use toolrail_search::{Document, Extras, Index, Learnt, Parameter, Parameters, Query, Reading, search_with};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    let parameters = parameters();
    if first == "--eval" {
        evaluate(&arguments.next().unwrap_or_default(), &parameters, &arguments.collect::<Vec<_>>());
        return;
    }
    if first == "--bench" {
        let folder = arguments.next().unwrap_or_default();
        bench(&folder, arguments.next().unwrap_or_default().parse().unwrap(), &parameters);
        return;
    }
    let index = load(&first, &parameters);
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let limit = usize::try_from(request["limit"].as_u64().unwrap_or(10)).unwrap();
        let asked = Asked { index: &index, parameters: &parameters, learnt: None };
        let ranked: Vec<String> =
            asked.ask(request["query"].as_str().unwrap(), limit).iter().map(ToString::to_string).collect();
        println!("{}", json!({ "ranked": ranked }));
        std::io::stdout().flush().unwrap();
    }
}

struct Asked<'a> {
    index: &'a Index<Arc<str>>,
    parameters: &'a Parameters,
    learnt: Option<&'a Learnt>,
}

impl Asked<'_> {
    fn ask(&self, text: &str, limit: usize) -> Vec<Arc<str>> {
        let query = Query { text, limit, accept: &|_| true, prior: &|_| 0.0, learnt: self.learnt };
        let hits = search_with(&[self.index], &query, &Extras { parameters: self.parameters, meaning: None });
        hits.into_iter().map(|hit| hit.value).collect()
    }
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
    let mut index = Index::with_parameters(parameters.clone());
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
        let mut queries = rows(&format!("{set}/queries.jsonl"));
        let mut learnt = Learnt::default();
        if more.iter().any(|word| word.starts_with("--half") || word == "--learn") {
            let half =
                |query: &Value| query["id"].as_str().unwrap().bytes().map(u32::from).sum::<u32>() % 2 == 0;
            for query in queries.iter().filter(|query| half(query)) {
                for tool in query["relevant"].as_array().unwrap() {
                    learnt.note(tool.as_str().unwrap(), query["text"].as_str().unwrap(), 1);
                }
            }
            queries.retain(|query| !half(query));
        }
        let learnt = more.iter().any(|word| word == "--learn").then_some(&learnt);
        let asked = Asked { index: &index, parameters, learnt };
        let mut times = Vec::new();
        let (mut gained, mut first) = (0.0, 0.0);
        for query in &queries {
            let relevant: Vec<&str> =
                query["relevant"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let started = Instant::now();
            let ranked = asked.ask(query["text"].as_str().unwrap(), 10);
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
        let _ = write!(
            line,
            "{name} {:.1} (h1 {:.1}, {:?})  ",
            100.0 * gained / count,
            100.0 * first / count,
            times[times.len() / 2]
        );
    }
    println!("MEAN {:.2}  {line}", 100.0 * sum / sets.len() as f64);
}

/// How long searches take among so many tools, mixed from those of the sets in a folder.
fn bench(folder: &str, count: usize, parameters: &Parameters) {
    let (mut tools, mut queries) = (Vec::new(), Vec::new());
    for set in ["bfcl", "sealtools", "metatool", "acebench_zh"] {
        tools.extend(rows(&format!("{folder}/{set}/tools.jsonl")));
        queries.extend(rows(&format!("{folder}/{set}/queries.jsonl")).into_iter().take(150));
    }
    let mut index = Index::with_parameters(parameters.clone());
    let before = memory();
    let document = |number: usize| {
        let tool = &tools[number * 7919 % tools.len()];
        let other = &tools[(number / tools.len() * 31 + number * 104_729) % tools.len()];
        let description =
            format!("{} {}", tool["description"].as_str().unwrap(), other["name"].as_str().unwrap());
        let mut found = Vec::new();
        arguments(&other["input_schema"], &mut found);
        found.truncate(6);
        let found: Vec<(String, Option<String>)> =
            found.iter().map(|found| (found.name.to_owned(), found.description.map(str::to_owned))).collect();
        (tool["name"].as_str().unwrap().to_owned(), description, found)
    };
    let started = Instant::now();
    let mut analysing = std::time::Duration::ZERO;
    let mut reading = Reading::default();
    for from in (0..count).step_by(4096) {
        let documents: Vec<_> = (from..count.min(from + 4096)).map(document).collect();
        let batch = documents.iter().enumerate().map(|(at, (name, description, found))| {
            let key: Arc<str> = Arc::from(format!("{name}-{}", from + at));
            let parameters =
                found.iter().map(|(name, text)| Parameter { name, description: text.as_deref() }).collect();
            (Arc::clone(&key), Some((Document { name, description, parameters, ..Document::default() }, key)))
        });
        let now = Instant::now();
        index.apply_with(batch, &mut reading);
        analysing += now.elapsed();
    }
    drop(reading);
    println!(
        "{count} tools: built in {analysing:?} (with making them {:?}), {} MB",
        started.elapsed(),
        memory() - before
    );
    let asked = Asked { index: &index, parameters, learnt: None };
    let only = std::env::var("KIND").unwrap_or_default();
    for kind in ["all", "short", "zh"].into_iter().filter(|kind| only.is_empty() || only == *kind) {
        let mut times = Vec::new();
        let mut busy = 0;
        let rounds = if only.is_empty() { 12 } else { 200 };
        for round in 0..rounds {
            busy = processor();
            for query in &queries {
                let text = query["text"].as_str().unwrap();
                if (kind == "short" && text.len() > 60)
                    || (kind == "zh") != (text.len() > text.chars().count() + 9) && kind != "all"
                {
                    continue;
                }
                let now = Instant::now();
                std::hint::black_box(asked.ask(text, 5));
                if round + 1 == rounds {
                    times.push(now.elapsed());
                }
            }
        }
        times.sort();
        let busy = (processor() - busy) / 1000 / times.len();
        println!(
            "  {kind}: p50 {:?} p99 {:?} ({}), mean on the processor {busy} µs",
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            times.len()
        );
    }
    let mut times = Vec::new();
    for number in 0..100 {
        let old = index.clone();
        let (name, description, _) = document(number * 13);
        let now = Instant::now();
        let key: Arc<str> = Arc::from(format!("new-{number}"));
        let made = Document { name: &name, description: &description, ..Document::default() };
        index.apply([(Arc::clone(&key), Some((made, key)))]);
        times.push(now.elapsed());
        drop(old);
    }
    times.sort();
    println!("  insert p50 {:?} p99 {:?}", times[50], times[98]);
}

fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

/// Nanoseconds on the processor.
fn processor() -> usize {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    status.split_whitespace().next().unwrap().parse().unwrap()
}
