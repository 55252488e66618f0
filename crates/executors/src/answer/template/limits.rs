//! What a response template may consist of. It is read before the engine parses it, since the engine goes as deep as the
//! template does, and a template that overflows the stack would end the process.

use super::names::{Code, next_code, words};

const LONGEST_BLOCK: usize = 2_000;
const DEEPEST_BRACKETS: usize = 32;
const MOST_FILTERS: usize = 10;
const MOST_OPERATORS: usize = 60;
const MOST_STEPS: usize = 200;
const MOST_BRANCHES: usize = 200;
const MOST_BLOCKS: usize = 1_000;
const DEEPEST_STATEMENTS: usize = 16;
/// Every loop inside another multiplies the work and what a value can grow to.
const DEEPEST_LOOPS: usize = 4;

const OPERATORS: [&str; 10] = ["+", "-", "*", "/", "%", "~", "not", "and", "or", "if"];
/// Words that are values by themselves.
const CONSTANTS: [&str; 6] = ["true", "false", "none", "True", "False", "None"];

/// The first thing in the template that goes too far, in words for the user.
pub(super) fn check(template: &str) -> Result<(), String> {
    let mut rest = template;
    let mut statements = Statements::default();
    let mut blocks = 0;
    loop {
        let (code, after, is_statement) = match next_code(rest) {
            Code::None => return Ok(()),
            Code::Open(place) => return Err(never_closed(template, place)),
            Code::Value(code, after) => (code, after, false),
            Code::Statement(code, after) => (code, after, true),
        };
        blocks += 1;
        let line = 1 + template[..template.len() - after.len()].matches('\n').count();
        let fault = |words: String| format!("line {line}: {words}");
        if blocks > MOST_BLOCKS {
            return Err(fault(format!("the template has more than {MOST_BLOCKS} blocks; shorten it")));
        }
        check_block(code).map_err(fault)?;
        if is_statement {
            statements.enter(code).map_err(fault)?;
        }
        rest = after;
    }
}

fn never_closed(template: &str, place: &str) -> String {
    let line = 1 + template[..template.len() - place.len()].matches('\n').count();
    let (opened, closed) = if place.starts_with("{{") { ("{{", "}}") } else { ("{%", "%}") };
    format!("line {line}: {opened:?} is never closed; add {closed:?}")
}

fn check_block(code: &str) -> Result<(), String> {
    if code.len() > LONGEST_BLOCK {
        return Err(format!("a block has more than {LONGEST_BLOCK} bytes; shorten it"));
    }
    let words = words(code);
    let count = |wanted: &dyn Fn(&str) -> bool| words.iter().filter(|(_, word)| wanted(word)).count();
    if count(&|word| word == "|") > MOST_FILTERS {
        return Err(format!("a block has more than {MOST_FILTERS} filters (|); use fewer"));
    }
    if count(&|word| OPERATORS.contains(&word)) > MOST_OPERATORS {
        return Err(format!("a block has more than {MOST_OPERATORS} operators; split it"));
    }
    if count(&|word| matches!(word, "." | "[" | "(" | "=" | "<" | ">")) > MOST_STEPS {
        return Err(format!("a block has more than {MOST_STEPS} steps (. [ ( and comparisons); split it"));
    }
    let mut depth = 0_usize;
    for (_, word) in &words {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_BRACKETS {
            return Err(format!("brackets are nested deeper than {DEEPEST_BRACKETS}; use fewer"));
        }
    }
    Ok(())
}

/// The statements that are open, and how many branches there were.
#[derive(Default)]
struct Statements {
    open: Vec<Opened>,
    branches: usize,
}

#[derive(PartialEq)]
enum Opened {
    For,
    If,
}

impl Statements {
    fn enter(&mut self, code: &str) -> Result<(), String> {
        let words: Vec<&str> = words(code)
            .into_iter()
            .map(|(_, word)| word)
            .filter(|word| *word != "-" && *word != "+")
            .collect();
        match words.first().copied().unwrap_or_default() {
            "for" => {
                check_loop(&words)?;
                self.open.push(Opened::For);
            }
            "if" => self.open.push(Opened::If),
            "elif" => self.branches += 1,
            "else" => {}
            "endfor" | "endif" => drop(self.open.pop()),
            other => {
                return Err(format!(
                    "{other:?} is not supported in a response template; there are for, if, elif and else"
                ));
            }
        }
        if self.branches > MOST_BRANCHES {
            return Err(format!("the template has more than {MOST_BRANCHES} elif; use fewer"));
        }
        if self.open.len() > DEEPEST_STATEMENTS {
            return Err(format!("statements are nested deeper than {DEEPEST_STATEMENTS}; use fewer"));
        }
        if self.open.iter().filter(|opened| **opened == Opened::For).count() > DEEPEST_LOOPS {
            return Err(format!("loops are nested deeper than {DEEPEST_LOOPS}; use fewer"));
        }
        Ok(())
    }
}

/// A loop goes over what is there. One that wraps its variable anew in every round could build values of any size.
fn check_loop(words: &[&str]) -> Result<(), String> {
    if words.contains(&"recursive") {
        return Err("a recursive loop is not supported in a response template; write the levels out".into());
    }
    let mut literals = 0_usize;
    let mut open = Vec::new();
    let mut before = "";
    for word in words {
        let named = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match *word {
            "[" | "{" => {
                let value_before = !matches!(before, "in" | "if" | "else" | "and" | "or" | "not" | "is")
                    && before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '}'));
                let literal = *word == "{" || !value_before;
                literals += usize::from(literal);
                open.push(literal);
            }
            "]" | "}" => literals -= usize::from(open.pop().unwrap_or_default()),
            _ if named && literals > 0 && !CONSTANTS.contains(word) => {
                return Err(format!(
                    "{word:?} stands in a list that a loop goes over, which is not supported; loop over result or args, or over fixed texts and numbers"
                ));
            }
            _ => {}
        }
        before = word;
    }
    Ok(())
}
