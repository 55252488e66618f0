//! Writing for people: results to standard output, everything else to standard error. A reader that went away
//! (`| head`) is no reason to complain. A terminal gets control characters as visible escapes, since names, answers and
//! errors come from others; programs get every byte as it is.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width};
use serde::Serialize;

/// What went wrong when standard output was written.
static FAILURE: OnceLock<std::io::Error> = OnceLock::new();

/// Writes a line to standard output.
pub(crate) fn line(text: impl AsRef<str>) {
    let text = text.as_ref();
    write_line(&if person_reads_results() { visible(text) } else { text.into() });
}

/// Writes a line to standard error.
pub(crate) fn note(text: impl AsRef<str>) {
    // Also where it goes into a file: whoever reads that does so on a terminal.
    write_note(&visible(text.as_ref()));
}

/// Writes a line that only explains to standard error, dim where somebody looks at it.
pub(crate) fn aside(text: impl AsRef<str>) {
    if person_reads_notes() {
        write_note(&format!("\u{1b}[2m{}\u{1b}[0m", visible(text.as_ref())));
    } else {
        note(text);
    }
}

/// Which word a message on standard error begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Something failed.
    Error,
    /// What to do about it.
    Hint,
}

/// Writes `error: …` or the like to standard error, its first word in colour where somebody looks at it and has not asked for
/// none.
pub(crate) fn told(tone: Tone, text: impl AsRef<str>) {
    let (word, code) = match tone {
        Tone::Error => ("error:", "1;31"),
        Tone::Hint => ("hint:", "1;36"),
    };
    if !person_reads_notes() || is_plain() {
        return note(format!("{word} {}", text.as_ref()));
    }
    write_note(&format!("\u{1b}[{code}m{word}\u{1b}[0m {}", visible(text.as_ref())));
}

/// What a line of a comparison tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tint {
    /// What is there now.
    Added,
    /// What was there.
    Removed,
    /// Where that is.
    Place,
}

/// Writes a line to standard output, in colour where somebody looks at it and has not asked for none.
pub(crate) fn tinted(tint: Tint, text: impl AsRef<str>) {
    if !person_reads_results() || is_plain() {
        return line(text);
    }
    let code = match tint {
        Tint::Added => 32,
        Tint::Removed => 31,
        Tint::Place => 36,
    };
    write_line(&format!("\u{1b}[{code}m{}\u{1b}[0m", visible(text.as_ref())));
}

/// The text with those parts of it marked, for [`raw_line`], where somebody looks at it and has not asked for no colour. The
/// parts are given in characters, in order.
pub(crate) fn marked(text: &str, parts: &[[usize; 2]]) -> String {
    if !person_reads_results() {
        return text.to_owned();
    }
    if is_plain() {
        return visible(text).into_owned();
    }
    with_marks(text, parts)
}

fn with_marks(text: &str, parts: &[[usize; 2]]) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars();
    let mut passed = 0;
    let mut take = |up_to: usize| {
        let part: String = letters.by_ref().take(up_to.saturating_sub(passed)).collect();
        passed = passed.max(up_to);
        visible(&part).into_owned()
    };
    for [start, end] in parts {
        let (before, inside) = (take(*start), take(*end));
        for part in [before.as_str(), "\u{1b}[1;33m", &inside, "\u{1b}[0m"] {
            shown.push_str(part);
        }
    }
    shown + &take(usize::MAX)
}

/// Writes a line to standard output as it is: what others wrote must have gone through [`marked`].
pub(crate) fn raw_line(text: &str) {
    write_line(text);
}

/// Asks on the terminal, and returns whether the answer is yes; nothing where there is nobody to ask.
pub(crate) fn confirmed(question: &str) -> Option<bool> {
    if !std::io::stdin().is_terminal() || !person_reads_notes() {
        return None;
    }
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(format!("{} [y/N] ", visible(question)).as_bytes()).and_then(|()| out.flush());
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    Some(read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Writes a value as JSON to standard output: indented for people, on one line for programs.
pub(crate) fn json(value: &impl Serialize) {
    let text = if person_reads_results() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    write_line(&text.unwrap_or_default());
}

/// Whether a person reads what stands on standard error.
pub(crate) fn person_reads_notes() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether nobody wants colours (no-color.org).
fn is_plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

fn person_reads_results() -> bool {
    std::io::stdout().is_terminal()
}

/// Why something did not get to standard output, if it did not. A reader that went away had enough.
pub(crate) fn failure() -> Option<&'static std::io::Error> {
    FAILURE.get()
}

fn write_line(text: &str) {
    let mut out = std::io::stdout().lock();
    let written =
        out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        // The first one tells.
        let _ = FAILURE.set(error);
    }
}

fn write_note(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
}

/// What becomes of a last column that does not fit on the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overlong {
    /// One line a row.
    Cut,
    /// As many lines as it takes.
    Wrap,
}

/// The widest column that is never broken, the last one excepted.
const WIDEST_UNBROKEN: u16 = 64;

/// The least room for the last column beside the others.
const LEAST_LAST: u16 = 20;

/// The most characters of a cell. Laying out takes time that grows faster than the text.
const LONGEST_CELL: usize = 2_000;

/// Writes a table to standard output.
pub(crate) fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    mut rows: Vec<[String; COLUMNS]>,
    overlong: Overlong,
) {
    let mut width = None;
    if person_reads_results() {
        width = Table::new().width();
        for cell in rows.iter_mut().flatten() {
            *cell = visible(cell).into_owned();
        }
    }
    write_line(&laid_out(header, rows, overlong, width));
}

/// The table as text. A terminal that does not know its width says 0.
fn laid_out<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
    overlong: Overlong,
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for row in rows {
        let mut row = Row::from(row.map(|cell| shortened(&cell, LONGEST_CELL)));
        if overlong == Overlong::Cut {
            row.max_height(1);
        }
        table.add_row(row);
    }
    table.set_truncation_indicator("…");
    if let Some(width) = width.filter(|width| *width > 0) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        let widths = table.column_max_content_widths();
        let least = LEAST_LAST.min(widths[COLUMNS - 1]).max(longest_last_word(&table)).saturating_add(2);
        let widths = &widths[..COLUMNS - 1];
        // A time or a name that is broken in two is worse than a line that is too long.
        for (index, _) in widths.iter().enumerate().filter(|(_, width)| **width <= WIDEST_UNBROKEN) {
            if let Some(column) = table.column_mut(index) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let others = widths.iter().fold(0_u16, |sum, width| sum.saturating_add(*width).saturating_add(2));
        let is_unbroken = widths.iter().all(|width| *width <= WIDEST_UNBROKEN);
        if is_unbroken && width.saturating_sub(others) < least {
            return folded(&table, overlong, width);
        }
        if let Some(last) = table.column_mut(COLUMNS - 1) {
            let room = width.saturating_sub(others).max(LEAST_LAST);
            last.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(room)));
        }
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table.trim_fmt()
}

/// The length of the longest word of the last column, as far as words are kept in one piece.
fn longest_last_word(table: &Table) -> u16 {
    let cells = table.row_iter().filter_map(|row| row.cell_iter().last());
    let longest = |text: String| text.split_whitespace().map(|word| word.chars().count()).max();
    let longest = cells.filter_map(|cell| longest(cell.content())).max().unwrap_or_default();
    u16::try_from(longest).map_or(WIDEST_UNBROKEN, |longest| longest.min(WIDEST_UNBROKEN))
}

/// The table with its last column on lines of its own, where there is no room for it beside the others.
fn folded(table: &Table, overlong: Overlong, width: u16) -> String {
    let bare = || {
        let mut bare = Table::new();
        bare.load_style(comfy_table::presets::NOTHING).set_truncation_indicator("…");
        bare
    };
    let mut others = bare();
    others.set_content_arrangement(ContentArrangement::Disabled);
    let mut last = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        let mut cells: Vec<String> =
            row.cell_iter().map(|cell| one_line(&cell.content(), LONGEST_CELL)).collect();
        last.extend(cells.pop());
        others.add_row(cells);
    }
    if let Some(first) = others.column_mut(0) {
        first.set_padding((0, 1));
    }
    let mut lines = Vec::new();
    for (line, cell) in others.trim_fmt().lines().zip(last) {
        lines.push(line.to_owned());
        let mut below = bare();
        below.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(LEAST_LAST));
        let mut row = Row::from([cell]);
        if overlong == Overlong::Cut {
            row.max_height(1);
        }
        below.add_row(row);
        let text = below.trim_fmt();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!(" {line}")));
    }
    lines.join("\n")
}

/// One line of `text`, at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// `1 tool`, `2 tools`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// The text with everything that would steer the terminal written out.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        // The end of a line in many answers.
        let ends_line = character == '\r' && rest.peek() == Some(&'\n');
        if steers(character) && !ends_line {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

/// Control characters, and those that turn the direction of text around.
fn steers(character: char) -> bool {
    let turns =
        matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_written_out() {
        for (text, shown) in [
            ("plain 天气\n\ttext", "plain 天气\n\ttext"),
            ("a\u{1b}[31mred", "a\\u{1b}[31mred"),
            ("one\r\ntwo\rthree", "one\r\ntwo\\rthree"),
            ("\u{9b}2J\u{7}\u{202e}", "\\u{9b}2J\\u{7}\\u{202e}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn marks_stand_between_characters_and_steer_nothing_else() {
        let marked = with_marks("天气 \u{1b}[31mweather", &[[0, 2], [8, 99]]);
        assert_eq!(marked, "\u{1b}[1;33m天气\u{1b}[0m \\u{1b}[31m\u{1b}[1;33mweather\u{1b}[0m");
        assert_eq!(with_marks("abc", &[[5, 9], [1, 2]]), "abc\u{1b}[1;33m\u{1b}[0m\u{1b}[1;33m\u{1b}[0m");
    }

    #[test]
    fn a_width_of_zero_is_no_width() {
        let rows = || vec![["a.tool".to_owned(), "what it does ".repeat(4)]];
        let unknown = laid_out(["NAME", "DESCRIPTION"], rows(), Overlong::Cut, None);
        assert_eq!(laid_out(["NAME", "DESCRIPTION"], rows(), Overlong::Cut, Some(0)), unknown);
        assert!(unknown.contains("what it does what it does what it does"), "{unknown}");
    }

    #[test]
    fn a_time_is_in_one_piece_however_narrow_the_terminal() {
        let time = "2026-11-16T08:54:11.499Z";
        let rows = vec![["12", time, "somebody", "updated"].map(str::to_owned)];
        for width in [20, 40, 60] {
            let text =
                laid_out(["REVISION", "WHEN", "WHO", "WHAT"], rows.clone(), Overlong::Cut, Some(width));
            assert!(text.contains(time) && text.contains("somebody"), "{text}");
        }
    }

    #[test]
    fn a_last_column_without_room_stands_below_and_in_one_piece() {
        let header = ["REVISION", "WHEN", "WHO", "VIA", "WHAT", "NAME"];
        let row = ["12", "2026-11-16T08:54:11.499Z", "somebody", "cli", "created", "some.tool"];
        // Whatever the width, a name is in one piece.
        for width in 20..120 {
            let text = laid_out(header, vec![row.map(str::to_owned)], Overlong::Wrap, Some(width));
            assert!(text.contains("some.tool") && text.contains("NAME"), "{width}: {text}");
        }
        for overlong in [Overlong::Cut, Overlong::Wrap] {
            let text = laid_out(header, vec![row.map(str::to_owned); 2], overlong, Some(60));
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            assert_eq!(lines.len(), 6, "{text}");
            assert_eq!((lines[1], lines[3], lines[5]), ("NAME", "some.tool", "some.tool"), "{text}");
            assert!(lines[0].starts_with("REVISION") && lines[2].ends_with("created"), "{text}");
        }
    }

    #[test]
    fn a_long_last_column_is_cut_or_wrapped() {
        let table = |name: &str, overlong| {
            let rows = vec![[name.to_owned(), "word ".repeat(30)]];
            laid_out(["NAME", "TEXT"], rows, overlong, Some(40))
        };
        let cut = table("a", Overlong::Cut);
        assert!(cut.lines().count() == 2 && cut.ends_with('…'), "{cut}");
        let wrapped = table("a", Overlong::Wrap);
        assert_eq!(wrapped.matches("word").count(), 30, "{wrapped}");
        assert!(!table(&"a".repeat(70_000), Overlong::Cut).is_empty());
    }
}
