//! What was judged, as lines for people or for machines.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::data::Set;
use super::judge::Judged;
use super::metrics::{MEASURES, Quality};

/// For whom to print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Person,
    Machine,
}

/// Prints a set as soon as it is judged.
pub(super) fn print_set(judged: &Judged, reader: Reader) {
    let (median, p99) = (judged.microseconds(50), judged.microseconds(99));
    let queries = judged.answers.len();
    if reader == Reader::Machine {
        let mut line = judged.quality.to_json();
        line["set"] = json!(judged.name);
        line["queries"] = json!(queries);
        line["medianMicroseconds"] = json!(median);
        line["p99Microseconds"] = json!(p99);
        if let Some(before) = judged.before {
            line["before"] = before.to_json();
        }
        println!("{line}");
        return;
    }
    println!(
        "{}{}  {median:.0} µs median, {p99:.0} p99",
        row(&judged.name, queries, &judged.quality),
        gain(judged.before.as_ref(), &judged.quality)
    );
}

/// Prints the mean of the sets, if there are several.
pub(super) fn print_mean(all: &[Judged], reader: Reader) {
    if all.len() < 2 {
        return;
    }
    let mean = Quality::mean(&all.iter().map(|judged| judged.quality).collect::<Vec<_>>());
    let before: Vec<Quality> = all.iter().filter_map(|judged| judged.before).collect();
    let before = (!before.is_empty()).then(|| Quality::mean(&before));
    let queries = all.iter().map(|judged| judged.answers.len()).sum();
    if reader == Reader::Machine {
        let mut line = mean.to_json();
        line["set"] = json!("mean");
        line["queries"] = json!(queries);
        if let Some(before) = before {
            line["before"] = before.to_json();
        }
        println!("{line}");
        return;
    }
    println!("{}{}", row("mean of sets", queries, &mean), gain(before.as_ref(), &mean));
}

fn row(name: &str, queries: usize, quality: &Quality) -> String {
    let measures = MEASURES.iter().map(|(measure, value)| format!("{measure} {:5.1}", value(quality)));
    format!("{name:24} n={queries:5} {}", measures.collect::<Vec<_>>().join(" "))
}

fn gain(before: Option<&Quality>, after: &Quality) -> String {
    before.map_or_else(String::new, |before| {
        let (before, after) = (before.ndcg_at_10, after.ndcg_at_10);
        format!("  nDCG@10 before {before:.1}, gained {:+.1}", after - before)
    })
}

/// Prints the queries of a set by their language and that of the tools they are about.
pub(super) fn print_pairs(set: &Set, judged: &Judged) {
    let mut pairs: BTreeMap<String, Vec<Quality>> = BTreeMap::new();
    for (query, answer) in set.queries.iter().zip(&judged.answers) {
        pairs.entry(set.pair_of(query)).or_default().push(answer.quality);
    }
    for (pair, qualities) in pairs {
        println!("{}", row(&format!("  {pair}"), qualities.len(), &Quality::percent(&qualities)));
    }
}

/// Adds the rankings of a set to a file, a line a query, for other programs to judge.
pub(super) fn write_rankings(path: &Path, set: &Set, judged: &Judged) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for (query, answer) in set.queries.iter().zip(&judged.answers) {
        let ranked: Vec<&str> = answer.ranked.iter().map(|tool| &*set.tools[*tool].id).collect();
        writeln!(file, "{}", json!({"query_id": query.id, "ranked": ranked}))?;
    }
    Ok(())
}

/// Prints the worst answers of a set: what was asked, what was wanted, what came.
pub(super) fn print_misses(set: &Set, judged: &Judged, most: usize) {
    let mut worst: Vec<usize> = (0..judged.answers.len()).collect();
    worst.retain(|place| judged.answers[*place].quality.ndcg_at_10 < 1.0);
    worst.sort_by(|one, another| {
        let quality = |place: &usize| judged.answers[*place].quality.ndcg_at_10;
        quality(one).total_cmp(&quality(another))
    });
    for place in worst.into_iter().take(most) {
        let (query, answer) = (&set.queries[place], &judged.answers[place]);
        println!("  {:.2} {}", answer.quality.ndcg_at_10, query.text);
        let mut wanted: Vec<&str> = query.relevant.iter().map(|tool| &*set.tools[*tool].id).collect();
        wanted.sort_unstable();
        println!("       wanted {}", wanted.join(", "));
        let came = answer.ranked.iter().take(5).map(|tool| &*set.tools[*tool].id);
        println!("       came   {}", came.collect::<Vec<_>>().join(", "));
    }
}
