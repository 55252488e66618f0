//! Results as Markdown tables, ready for the README, and as JSON for machines.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// One table.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Vec<Cell>>,
}

pub(super) struct Column {
    /// Heads the column and names the value in the JSON.
    pub(super) name: &'static str,
    /// How many digits behind the point a person wants to see.
    pub(super) digits: usize,
}

/// Where and under what other load the numbers were taken: without it nobody can judge them.
pub(super) struct Surroundings {
    machine: String,
    cores: usize,
    load: f64,
}

impl Surroundings {
    /// Read before the run, because the run is itself a load.
    pub(super) fn read() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let model = model.map_or("unknown processor", |(_, model)| model);
        let machine = format!("{cores} cores ({model}), {} {}", std::env::consts::OS, std::env::consts::ARCH);
        let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = averages.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0);
        Self { machine, cores, load }
    }

    /// A quarter of one core taken by others already moves the tails.
    fn is_busy(&self) -> bool {
        self.load > 0.25
    }
}

pub(super) enum Cell {
    Text(String),
    Number(f64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run are far below 2^52")]
impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

pub(super) const fn text(name: &'static str) -> Column {
    Column { name, digits: 0 }
}

pub(super) const fn number(name: &'static str, digits: usize) -> Column {
    Column { name, digits }
}

/// Bytes as the megabytes that memory is spoken of in.
#[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^52")]
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

pub(super) fn print(sections: &[Section], surroundings: &Surroundings) {
    println!("Measured on {}.", surroundings.machine);
    println!("Load average before the run: {:.1} on {} cores.", surroundings.load, surroundings.cores);
    if surroundings.is_busy() {
        println!("The machine was busy with other work: compare the ratios, do not publish the numbers.");
    }
    for section in sections {
        println!("\n{}", markdown(section));
    }
}

pub(super) fn write(sections: &[Section], surroundings: &Surroundings, path: &Path) -> Result<()> {
    let sections: Vec<Value> = sections.iter().map(to_json).collect();
    let results = json!({
        "machine": surroundings.machine,
        "loadAverageBefore": surroundings.load,
        "isBusy": surroundings.is_busy(),
        "sections": sections,
    });
    let folder = path.parent().context("the results need a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let text = serde_json::to_string_pretty(&results)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn markdown(section: &Section) -> String {
    let names = section.columns.iter().map(|column| column.name).collect::<Vec<_>>().join(" | ");
    let rule = |index: usize| match section.rows.first().map(|row| &row[index]) {
        Some(Cell::Text(_)) => "---",
        _ => "---:",
    };
    let rules = (0..section.columns.len()).map(rule).collect::<Vec<_>>().join("|");
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().zip(section.columns).map(|(cell, column)| shown(cell, column.digits));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let rows = section.rows.iter().map(row).collect::<Vec<_>>().join("\n");
    format!("**{}**\n\n| {names} |\n|{rules}|\n{rows}", section.title)
}

fn to_json(section: &Section) -> Value {
    let rows = section.rows.iter().map(|row| {
        let cells = row.iter().zip(section.columns).map(|(cell, column)| {
            let value = match cell {
                Cell::Text(text) => json!(text),
                Cell::Number(number) => json!(number),
            };
            (column.name.to_owned(), value)
        });
        Value::Object(cells.collect::<Map<_, _>>())
    });
    json!({ "title": section.title, "rows": rows.collect::<Vec<_>>() })
}

fn shown(cell: &Cell, digits: usize) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => grouped(&format!("{number:.digits$}")),
    }
}

/// Thousands apart: 12345.6 as 12,345.6.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut result = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let is_group_start = index > 0 && (whole.len() - index).is_multiple_of(3);
        if is_group_start && !result.ends_with('-') {
            result.push(',');
        }
        result.push(digit);
    }
    result + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (plain, expected) in
            [("0", "0"), ("999", "999"), ("1000", "1,000"), ("1234567.89", "1,234,567.89"), ("-100", "-100")]
        {
            assert_eq!(grouped(plain), expected);
        }
    }

    #[test]
    fn tables_align_text_left_and_numbers_right() {
        const COLUMNS: &[Column] = &[text("path"), number("CPU µs", 1), number("ratio", 2)];
        let section = Section {
            title: "Calls".to_owned(),
            columns: COLUMNS,
            rows: vec![vec![Cell::from("proxy"), Cell::from(2534.25), Cell::from(1.0)]],
        };
        let expected = "**Calls**\n\n| path | CPU µs | ratio |\n|---|---:|---:|\n| proxy | 2,534.2 | 1.00 |";
        assert_eq!(markdown(&section), expected);
        assert_eq!(to_json(&section)["rows"][0], json!({"path": "proxy", "CPU µs": 2534.25, "ratio": 1.0}));
    }
}
