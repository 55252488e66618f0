//! What a JSONPath may ask for. It is read before the parser sees it, since the parser and the query both go as deep as
//! the expression does: a hostile one would end the process, and would do so again at every start.

const LONGEST: usize = 1_000;
const DEEPEST: usize = 32;
const MOST_COMMAS: usize = 16;
const MOST_LISTS: usize = 2;
const MOST_FILTERS: usize = 3;
/// The parser tries a function in several readings, so that each level multiplies the work.
const DEEPEST_CALLS: usize = 3;

/// Refuses, in words for the user, what would cost too much to parse or to run. `bare` is the expression without its
/// quoted names.
pub(super) fn check(written: &str, bare: &str) -> Result<(), String> {
    let length = written.chars().count();
    if length > LONGEST {
        return Err(format!(
            "the JSONPath has {length} characters, more than the {LONGEST} that are allowed; select less or map with a template"
        ));
    }
    if bare.matches("..").count() > 1 {
        return Err(format!("{written:?} has more than one descendant step (..); name the way down"));
    }
    if bare.matches(',').count() > MOST_COMMAS {
        return Err(format!("{written:?} has more than {MOST_COMMAS} commas; select less or use *"));
    }
    if bare.matches('?').count() > MOST_FILTERS {
        return Err(format!(
            "{written:?} has more than {MOST_FILTERS} filters (?); join their conditions with &&, or map with a template"
        ));
    }
    check_nesting(bare).map_err(|fault| format!("{written:?}: {fault}"))
}

/// One bracket that is open.
#[derive(Clone, Copy)]
struct Open {
    call: bool,
    filter: bool,
    list: bool,
}

fn check_nesting(bare: &str) -> Result<(), String> {
    let mut open: Vec<Open> = Vec::new();
    let mut lists = 0;
    let mut before = ' ';
    for character in bare.chars() {
        let in_filter = open.iter().any(|bracket| bracket.filter);
        match character {
            '(' | '[' => {
                let call = character == '(' && (before.is_ascii_alphanumeric() || before == '_');
                open.push(Open { call, filter: false, list: false });
                check_depth(&open)?;
            }
            ')' | ']' => drop(open.pop()),
            '?' if in_filter => {
                return Err(
                    "filters inside filters are not supported; select less or map with a template".into()
                );
            }
            '?' => {
                if let Some(bracket) = open.last_mut() {
                    bracket.filter = true;
                }
            }
            '$' if in_filter => {
                return Err("$ inside a filter is not supported; compare with @ or a fixed value, or map with a template".into());
            }
            '.' if in_filter && before == '.' => {
                return Err(".. inside a filter is not supported; name the way down from @".into());
            }
            ',' => {
                if let Some(bracket) = open.last_mut().filter(|bracket| !bracket.call && !bracket.list) {
                    bracket.list = true;
                    lists += 1;
                }
                if lists > MOST_LISTS {
                    return Err(format!(
                        "more than {MOST_LISTS} steps hold several selectors (,); select less or map with a template"
                    ));
                }
            }
            _ => {}
        }
        if !character.is_whitespace() {
            before = character;
        }
    }
    Ok(())
}

fn check_depth(open: &[Open]) -> Result<(), String> {
    if open.len() > DEEPEST {
        return Err(format!("brackets are nested deeper than {DEEPEST}; select less or map with a template"));
    }
    if open.iter().filter(|bracket| bracket.call).count() > DEEPEST_CALLS {
        return Err(format!(
            "functions are nested deeper than {DEEPEST_CALLS}; select less or map with a template"
        ));
    }
    Ok(())
}
