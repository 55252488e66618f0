//! The text of a tool that a vector is made of.

use crate::document::Document;

/// What is behind this many bytes says little more about what a tool is for.
const MOST_BYTES: usize = 2000;

/// Further arguments say little more either.
const MOST_PARAMETERS: usize = 8;

/// What a tool is for, as a text: its name in words, its title, what it does and what it takes.
pub fn meaning_text(document: &Document<'_>) -> String {
    let mut text = words_of(document.name);
    let parts = document.title.into_iter().chain([document.description]).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        text.push_str(". ");
        text.push_str(part);
        cut(&mut text);
    }
    let mut mark = ". ";
    for parameter in document.parameters.iter().take(MOST_PARAMETERS) {
        text.push_str(mark);
        text.push_str(&words_of(parameter.name));
        if let Some(description) = parameter.description {
            text.push(' ');
            text.push_str(description.trim());
        }
        cut(&mut text);
        mark = ", ";
    }
    text
}

/// `getUserByID` and `get_user_by_id` in words.
fn words_of(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut before = ' ';
    for letter in name.chars() {
        if before.is_lowercase() && letter.is_uppercase() {
            words.push(' ');
        }
        words.push(if matches!(letter, '_' | '-' | '.' | '/' | ':') { ' ' } else { letter });
        before = letter;
    }
    cut(&mut words);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &mut String) {
    if text.len() > MOST_BYTES {
        text.truncate(text.floor_char_boundary(MOST_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Parameter;

    #[test]
    fn a_name_is_read_in_words() {
        let document = Document {
            name: "github__createPull_request",
            description: " Opens one. ",
            ..Default::default()
        };
        assert_eq!(meaning_text(&document), "github create Pull request. Opens one.");
    }

    #[test]
    fn what_a_tool_takes_is_part_of_what_it_is_for() {
        let parameters = vec![
            Parameter { name: "fromCurrency", description: Some("A code") },
            Parameter { name: "amount", description: None },
        ];
        let document = Document { name: "convert", parameters, ..Default::default() };
        assert_eq!(meaning_text(&document), "convert. from Currency A code, amount");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = "汉".repeat(5000);
        let document = Document { name: "x", description: &long, ..Default::default() };
        assert!(meaning_text(&document).len() <= MOST_BYTES);
    }
}
