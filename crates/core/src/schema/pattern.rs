//! The patterns of a schema. Almost all are matched in linear time. One that looks around or back can only be matched by
//! trying, so the texts it is tried on, and the tries, are bounded.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Overrun;

/// The longest pattern in bytes: translating one takes time that grows with the square of it.
const LONGEST: usize = 4_096;
/// What the compiled patterns of one schema may take together, in bytes.
const MOST_MEMORY: usize = 32 << 20;
/// What the first try to compile a pattern may take; each further try may take four times as much.
const FIRST_SIZE: usize = 1 << 16;
/// What matching may keep in memory for one pattern.
const CACHE_SIZE: usize = 1 << 19;
/// The longest text in bytes that is matched by trying.
const LONGEST_TRIED: usize = 2_048;
/// How often matching by trying may go back.
const MOST_TRIES: usize = 20_000;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As the schema has it.
    pub(super) text: Box<str>,
    matcher: Matcher,
}

#[derive(Debug)]
enum Matcher {
    Linear(regex::Regex),
    Trying(fancy_regex::Regex),
}

impl Pattern {
    /// Whether it is matched by trying.
    pub(super) fn is_tried(&self) -> bool {
        matches!(self.matcher, Matcher::Trying(_))
    }

    /// How many steps matching that text counts for, unless it is too long.
    pub(super) fn steps(&self, text: &str) -> Result<u64, Overrun> {
        let length = text.len() as u64;
        match self.matcher {
            Matcher::Linear(_) => Ok(1 + length / 16),
            Matcher::Trying(_) if text.len() > LONGEST_TRIED => Err(Overrun::Pattern),
            Matcher::Trying(_) => Ok(16 + length * length / 8),
        }
    }

    /// Whether the text has it; who asks has spent the steps.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, Overrun> {
        // regex-automata has a fault by which some patterns panic (rust-lang/regex#1344).
        let matched = catch_unwind(AssertUnwindSafe(|| match &self.matcher {
            Matcher::Linear(regex) => Some(regex.is_match(text)),
            Matcher::Trying(regex) => regex.is_match(text).ok(),
        }));
        matched.ok().flatten().ok_or(Overrun::Pattern)
    }
}

/// Compiles the patterns of one schema, each once.
pub(super) struct Patterns {
    compiled: HashMap<String, Arc<Pattern>>,
    /// What they may still take.
    memory: usize,
}

impl Default for Patterns {
    fn default() -> Self {
        Self { compiled: HashMap::new(), memory: MOST_MEMORY }
    }
}

impl Patterns {
    /// The pattern compiled, or what is wrong with it.
    pub(super) fn compile(&mut self, text: &str) -> Result<Arc<Pattern>, String> {
        if let Some(pattern) = self.compiled.get(text) {
            return Ok(Arc::clone(pattern));
        }
        if text.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes; shorten it"));
        }
        let translated = jsonschema_regex::to_rust_regex(text)
            .map_err(|()| format!("{text:?} is not a \"regex\""))?
            .into_owned();
        let matcher = match self.linear(&translated)? {
            Some(regex) => Matcher::Linear(regex),
            None => Matcher::Trying(self.trying(text, &translated)?),
        };
        let pattern = Arc::new(Pattern { text: text.into(), matcher });
        self.compiled.insert(text.to_owned(), Arc::clone(&pattern));
        Ok(pattern)
    }

    /// For matching in linear time; nothing if the pattern looks around or back, or is none.
    fn linear(&mut self, translated: &str) -> Result<Option<regex::Regex>, String> {
        let mut size = FIRST_SIZE;
        loop {
            self.reserve(size)?;
            let built =
                regex::RegexBuilder::new(translated).size_limit(size).dfa_size_limit(CACHE_SIZE).build();
            match built {
                Ok(regex) => return Ok(Some(regex)),
                Err(regex::Error::CompiledTooBig(_)) => {
                    self.memory += size;
                    size *= 4;
                }
                Err(_) => {
                    self.memory += size;
                    return Ok(None);
                }
            }
        }
    }

    fn trying(&mut self, text: &str, translated: &str) -> Result<fancy_regex::Regex, String> {
        self.reserve(16 * FIRST_SIZE)?;
        fancy_regex::RegexBuilder::new(translated)
            .backtrack_limit(MOST_TRIES)
            .delegate_size_limit(4 * FIRST_SIZE)
            .delegate_dfa_size_limit(CACHE_SIZE)
            .build()
            .map_err(|_| format!("{text:?} is not a \"regex\""))
    }

    fn reserve(&mut self, size: usize) -> Result<(), String> {
        let too_large = "the patterns of the schema are too large; repeat less, or name fewer characters";
        self.memory = self.memory.checked_sub(size).ok_or(too_large)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_take_too_much_are_refused_one_by_one_and_together() {
        let mut patterns = Patterns { memory: 1 << 20, ..Patterns::default() };
        let refused = patterns.compile(r"(\p{L}{1,500}){1,500}").unwrap_err();
        assert!(refused.contains("too large"), "{refused}");
        for at in 0..16 {
            patterns.compile(&format!("^{at}$")).unwrap();
        }
        assert!(patterns.compile("^16$").unwrap_err().contains("too large"));
        patterns.compile("^1$").unwrap();
        assert!(patterns.compile(&"a".repeat(5_000)).unwrap_err().contains("longer than"));
        assert!(Patterns::default().compile("(").unwrap_err().contains("is not a \"regex\""));
    }
}
