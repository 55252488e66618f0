//! The quick pass against serde_json: whatever it vouches for is JSON, ordinary JSON it vouches for, and its string is
//! the serialiser's; each way of it, as far as this processor has what it takes.

use serde_json::value::RawValue;

use super::{check_and_quote, narrow, write_json_string};

/// Checks and quotes.
type Pass = fn(&str) -> Option<Vec<u8>>;

const FILLER: &str =
    r#"{"id":-10.5e+3,"名":["a\"\\\/\b\u00e9",true,false,null,[],{},[{}]],"":{"x":"y,:{}[]"}}"#;

const VALUES: &[&str] = &[
    "0",
    "-0",
    "10",
    "-1",
    "1.5",
    "0.0",
    "1e5",
    "1E+5",
    "1.5e-10",
    "12345678901234567890123456789",
    "true",
    "false",
    "null",
    "\"\"",
    "{}",
    "[]",
    "[[]]",
    "{\"a\":1}",
    "[1,2]",
    "{\"a\":1,\"b\":\"c\"}",
    "\"a:\"",
    "\"你\"",
    "[\"a\",\"b\"]",
    "[{\"a\":1},{\"b\":2}]",
    "\"\u{7f}\"",
    "[\n\t1 ,\r\n 2 ]",
];
const FAULTS: &[&str] = &[
    "",
    "-",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "+1",
    "1e",
    "1e+",
    "1.e5",
    "1.5.5",
    "1e5e5",
    "1e5.5",
    "0x1",
    "1a",
    "--1",
    "tru",
    "truee",
    "True",
    "nul",
    "nulll",
    "fals",
    "falsee",
    "NaN",
    "Infinity",
    "a",
    "'a'",
    "\\",
    "\\n",
    "你",
    "\u{1}",
    "\u{b}",
    "\u{c}",
    "\0",
    "\u{a0}",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "{]",
    "[}",
    "[1}",
    "{\"a\":1]",
    "[1,]",
    "[,1]",
    "[,]",
    "[1,,2]",
    "[1 2]",
    "[\"a\" \"b\"]",
    "[\"a\":1]",
    "[1,\"a\":2]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{:1}",
    "{1:2}",
    "{\"a\":1,\"b\"}",
    "{\"a\":1,2}",
    "{\"a\":\"b\":1}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\",\"b\":1}",
    "{{}}",
    "{[]}",
    "[]]",
    "{}}",
    "[[]",
    "{\"a\":{}",
    "[]:1",
    "{}{}",
    "[][]",
    "1 2",
    "\"a\"\"b\"",
    "\"a\"1",
    "1\"a\"",
    "true false",
    "[1]2",
    "1[2]",
    "1{}",
    "// x",
    "{null:1}",
    "{\"a\":1:2}",
    "{\"a\":[1:2]}",
    "[{\"a\":1,\"b\"}]",
    "{\"a\":[\"b\":1]}",
    "{\"a\":[],\"b\"}",
    "[{},\"b\":1]",
];

/// The pass with AVX2, which the widest hides.
fn middle_check_and_quote(text: &str) -> Option<Vec<u8>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = narrow::Avx2::found() {
        return avx2.check_and_quote(text);
    }
    narrow::check_and_quote(text)
}

fn middle_write_json_string(out: &mut Vec<u8>, text: &str) {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = narrow::Avx2::found() {
        return avx2.write_json_string(out, text);
    }
    narrow::write_json_string(out, text);
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

fn check(text: &str) {
    let expected = is_json(text).then(|| serde_json::to_string(text).unwrap());
    let passes: [Pass; 3] = [check_and_quote, middle_check_and_quote, narrow::check_and_quote];
    for pass in passes {
        let found = pass(text).map(|quoted| String::from_utf8(quoted).unwrap());
        assert_eq!(found, expected, "{text}");
    }
}

/// Puts `text` at every place of a block and of its half, with and without something behind it.
fn check_everywhere(text: &str) {
    for before in (0..4).chain(28..36).chain(60..68).chain(124..132) {
        let before = "x".repeat(before);
        for after in [0, 1, 31, 32, 33, 64, 200] {
            let after = " ".repeat(after);
            check(&format!("[\"{before}\",{text}]"));
            check(&format!("{{\"{before}\":{text}{after}}}"));
            check(&format!("[[\"{before}\"],{text}{after},0]"));
            check(&format!("{{\"a\":\"{before}\"\n,\t\"b\" :\r{after}{text}}}"));
        }
        check(&format!("{}{text}", " ".repeat(before.len())));
    }
}

#[test]
fn values_are_told_from_faults_wherever_they_stand() {
    for text in VALUES.iter().chain(FAULTS) {
        check_everywhere(text);
    }
}

#[test]
fn characters_and_escapes_in_strings_are_judged_wherever_they_stand() {
    for character in (0..0x180_u32).chain([0x2028, 0x4f60, 0xfeff, 0x1f600]).filter_map(char::from_u32) {
        for before in (0..3).chain(28..34).chain(60..66) {
            let before = "x".repeat(before);
            check(&format!("[\"{before}{character}\"]"));
            check(&format!("[\"{before}\\{character}\"]"));
            check(&format!("[\"{before}\\\\{character}y\"]"));
            check(&format!("[\"{before}\\\\\\{character}yyyyy\"]"));
            check(&format!("[\"{before}\\u00{character}0\"]"));
            check(&format!("[\"{before}\"{character}]"));
        }
    }
}

#[test]
fn runs_of_backslashes_cross_blocks() {
    for before in 0..70 {
        for count in [1, 2, 3, 4, 31, 32, 33, 63, 64, 65, 127, 128, 129] {
            let text = format!("[\"{}{}\"", "x".repeat(before), "\\".repeat(count));
            check(&format!("{text}]"));
            check(&format!("{text}\"]"));
            check(&format!("{text}u12aF\"]"));
            check(&format!("{text}u12\"]"));
        }
    }
}

#[test]
fn a_text_may_end_anywhere() {
    let text = FILLER.repeat(3);
    let all: Vec<_> = text.char_indices().map(|(index, _)| index).collect();
    for end in &all {
        check(&text[..*end]);
        check(&format!("[{}]", &text[..*end]));
    }
    for length in 0..200 {
        check(&"7".repeat(length.min(31)));
        check(&format!("\"{}\"", "x".repeat(length)));
        check(&format!("[{}1]", " ".repeat(length)));
        check(&format!("{}{}", "[".repeat(length.min(100)), "]".repeat(length.min(100))));
        check(&format!("[{}1]", "1,".repeat(length)));
        check(&format!("[{}1]", "\"a\",".repeat(length)));
        check(&format!("{{{}\"\":0}}", "\"a\":{},".repeat(length)));
    }
}

#[test]
fn what_is_beyond_the_quick_pass_is_left_to_the_parser() {
    let deep = "[".repeat(2000) + &"]".repeat(2000);
    assert!(is_json(&deep));
    assert_eq!(check_and_quote(&deep), None);
    assert_eq!(narrow::check_and_quote(&deep), None);
    let long_number = "1".repeat(2000);
    assert!(is_json(&long_number));
    let quoted = Some(format!("\"{long_number}\"").into_bytes());
    assert_eq!(narrow::check_and_quote(&long_number), quoted);
    assert!([None, quoted].contains(&check_and_quote(&long_number)));
}

#[test]
fn mutated_documents_are_judged_as_the_parser_does() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut valid = 0;
    for round in 0..20_000 {
        let mut text = random.document();
        for _ in 0..round % 4 {
            text = random.mutate(&text);
        }
        valid += usize::from(is_json(&text));
        check(&text);
    }
    assert!((5000..15_000).contains(&valid), "{valid} of the documents are valid");
}

fn check_string(text: &str) {
    let expected = format!("before{}", serde_json::to_string(text).unwrap());
    for write in [write_json_string, middle_write_json_string, narrow::write_json_string] {
        let mut out = b"before".to_vec();
        write(&mut out, text);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn any_text_becomes_the_serialisers_string() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for length in 0..700 {
        check_string(&(0..length).map(|_| random.character()).collect::<String>());
    }
    for character in ["\u{1}", "\"", "你", "x", "\n"] {
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000] {
            check_string(&character.repeat(length));
        }
    }
}

#[test]
fn every_character_is_escaped_as_by_the_serialiser_wherever_it_stands() {
    for character in (0..0x180_u32).chain([0x4f60, 0xffff, 0x1f600]).filter_map(char::from_u32) {
        for before in [0, 1, 7, 15, 16, 17, 31, 62, 63, 64] {
            for after in [0, 1, 8, 15, 16, 17, 64] {
                check_string(&format!("{}{character}{}", "x".repeat(before), "y".repeat(after)));
            }
        }
    }
}

/// A xorshift generator: the same documents on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn document(&mut self) -> String {
        let mut text = String::new();
        let length = 1 << self.below(11);
        self.value(&mut text, 6, length);
        text
    }

    fn value(&mut self, text: &mut String, depth: usize, length: usize) {
        let kind = if text.is_empty() { 6 + self.below(4) } else { self.below(10) };
        match kind {
            0 | 1 => text.push_str(["0", "-1.5", "12345", "3e9", "-0.25E-7"][self.below(5)]),
            2 => text.push_str(["true", "false", "null"][self.below(3)]),
            3..=5 => self.string(text),
            _ if depth == 0 => text.push_str("[]"),
            _ => {
                let is_object = kind < 8;
                text.push(if is_object { '{' } else { '[' });
                let mut separator = "";
                while text.len() < length && self.below(6) > 0 {
                    text.push_str(separator);
                    separator = ",";
                    self.space(text);
                    if is_object {
                        self.string(text);
                        text.push(':');
                        self.space(text);
                    }
                    self.value(text, depth - 1, length);
                }
                self.space(text);
                text.push(if is_object { '}' } else { ']' });
            }
        }
    }

    fn string(&mut self, text: &mut String) {
        text.push('"');
        let longest = 1 << self.below(8);
        for _ in 0..self.below(longest) {
            match self.below(12) {
                0 => text.push_str(["\\\"", "\\\\", "\\n", "\\/", "\\u00e9", "\\ud800"][self.below(6)]),
                1 => text.push(['é', '你', '😀', '\u{7f}', ' '][self.below(5)]),
                _ => text.push(['a', '1', ',', ':', '{', ']', 'u', '-'][self.below(8)]),
            }
        }
        text.push('"');
    }

    fn space(&mut self, text: &mut String) {
        if self.below(4) == 0 {
            text.push_str([" ", "\n", "\r\n\t", "                                   "][self.below(4)]);
        }
    }

    fn mutate(&mut self, text: &str) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        let index = self.below(characters.len().max(1));
        match self.below(4) {
            0 if !characters.is_empty() => drop(characters.remove(index)),
            1 if !characters.is_empty() => {
                let other = self.below(characters.len());
                characters.swap(index, other);
            }
            2 if !characters.is_empty() => characters[index] = self.character(),
            _ => characters.insert(index, self.character()),
        }
        characters.into_iter().collect()
    }

    fn character(&mut self) -> char {
        const ODD: &[char] = &[
            '"', '\\', '{', '}', '[', ']', ':', ',', ' ', '\n', '\t', '\r', '0', '1', '-', '+', '.', 'e',
            'u', 't', 'n', 'a', '\u{1}', '\u{8}', '\u{c}', '\u{1f}', '\u{7f}', 'é', '你', '😀',
        ];
        ODD[self.below(ODD.len())]
    }
}
