//! The text of a tool that a vector is made of.

use crate::document::Document;

/// What is behind this many bytes says little more about what a tool is for.
const MOST_BYTES: usize = 2000;

/// What a tool is for, as a text: its name in words, its title and what it does.
pub fn meaning_text(document: &Document<'_>) -> String {
    let mut text = words_of(document.name);
    for part in document.title.into_iter().chain([document.description]) {
        let part = part.trim();
        if !part.is_empty() {
            text.push_str(". ");
            text.push_str(part);
        }
        cut(&mut text);
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
    fn a_long_text_is_cut_between_characters() {
        let long = "汉".repeat(5000);
        let document = Document { name: "x", description: &long, ..Default::default() };
        assert!(meaning_text(&document).len() <= MOST_BYTES);
    }
}
