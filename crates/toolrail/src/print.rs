//! Writing for people: results to standard output, everything else to standard error. A reader that went away
//! (`| head`) is no reason to complain.

use std::io::{IsTerminal, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width};
use serde::Serialize;

/// Writes a line to standard output.
pub(crate) fn line(text: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    let _ = out
        .write_all(text.as_ref().as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
}

/// Writes a line to standard error.
pub(crate) fn note(text: impl AsRef<str>) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_ref().as_bytes()).and_then(|()| out.write_all(b"\n"));
}

/// Writes a line that only explains to standard error, dim where somebody looks at it.
pub(crate) fn aside(text: impl AsRef<str>) {
    let text = text.as_ref();
    note(if person_reads_notes() { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() });
}

/// Writes a value as JSON to standard output: indented for people, on one line for programs.
pub(crate) fn json(value: &impl Serialize) {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    line(text.unwrap_or_default());
}

/// Whether a person reads what stands on standard error.
pub(crate) fn person_reads_notes() -> bool {
    std::io::stderr().is_terminal()
}

/// Writes a table to standard output; the last column is cut to what fits on a terminal.
pub(crate) fn table<const COLUMNS: usize>(header: [&str; COLUMNS], rows: Vec<[String; COLUMNS]>) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    for row in rows {
        let mut row = Row::from(row);
        row.max_height(1);
        table.add_row(row);
    }
    table.set_truncation_indicator("…");
    if let (true, Some(width)) = (std::io::stdout().is_terminal(), table.width()) {
        let others: u16 =
            table.column_max_content_widths().iter().take(COLUMNS - 1).map(|width| width + 2).sum();
        if let Some(last) = table.column_mut(COLUMNS - 1) {
            let room = width.saturating_sub(others).max(20);
            last.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(room)));
        }
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    line(table.trim_fmt());
}

/// One line of `text`, at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}
