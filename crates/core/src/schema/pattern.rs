//! The patterns of a schema. Almost all are matched step by step, within the budget of the check. One that looks around or
//! back can only be matched by trying, so the texts it is tried on, and the tries, are bounded.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Overrun;
use crate::stepped::{Stepped, Unknown, Unusable};

/// The longest pattern in bytes: translating one takes time that grows with the square of it.
const LONGEST: usize = 4_096;
/// What the patterns of one schema may weigh together, in states.
const MOST_WEIGHT: u64 = 250_000;
/// What a pattern that is tried weighs.
const TRIED_WEIGHT: u64 = 5_000;
/// What may be compiled of the parts of a pattern that is tried, in bytes.
const TRIED_SIZE: usize = 1 << 18;
/// What matching may keep in memory for such a part.
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
    Stepped(Box<Stepped>),
    Tried(fancy_regex::Regex),
}

impl From<Unknown> for Overrun {
    fn from(_: Unknown) -> Self {
        Self::Pattern
    }
}

impl Pattern {
    /// Whether it is matched by trying.
    pub(super) fn is_tried(&self) -> bool {
        matches!(self.matcher, Matcher::Tried(_))
    }

    /// Whether the text has it, unless `spend` says that finding out takes too many steps.
    pub(super) fn is_match(
        &self,
        text: &str,
        mut spend: impl FnMut(u64) -> Result<(), Overrun>,
    ) -> Result<bool, Overrun> {
        if self.is_tried() {
            if text.len() > LONGEST_TRIED {
                return Err(Overrun::Pattern);
            }
            let length = text.len() as u64;
            spend(16 + length * length / 8)?;
        }
        // regex-automata has a fault by which some patterns panic (rust-lang/regex#1344).
        let matched = catch_unwind(AssertUnwindSafe(|| match &self.matcher {
            Matcher::Stepped(pattern) => pattern.is_match(text, spend),
            Matcher::Tried(regex) => regex.is_match(text).map_err(|_| Overrun::Pattern),
        }));
        matched.unwrap_or(Err(Overrun::Pattern))
    }
}

/// Compiles the patterns of one schema, each once.
pub(super) struct Patterns {
    compiled: HashMap<String, Arc<Pattern>>,
    /// What they may still weigh.
    weight: u64,
}

impl Default for Patterns {
    fn default() -> Self {
        Self { compiled: HashMap::new(), weight: MOST_WEIGHT }
    }
}

impl Patterns {
    /// What those weigh that were compiled.
    pub(super) fn weight(&self) -> u64 {
        MOST_WEIGHT.saturating_sub(self.weight)
    }

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
        let matcher = self.matcher(text, &translated)?;
        let pattern = Arc::new(Pattern { text: text.into(), matcher });
        self.compiled.insert(text.to_owned(), Arc::clone(&pattern));
        Ok(pattern)
    }

    fn matcher(&mut self, text: &str, translated: &str) -> Result<Matcher, String> {
        match Stepped::new(translated, self.weight) {
            Ok((pattern, weight)) => {
                self.weight -= weight;
                Ok(Matcher::Stepped(Box::new(pattern)))
            }
            Err(Unusable::Large) => Err(too_large()),
            Err(Unusable::Syntax) => {
                self.weight = self.weight.checked_sub(TRIED_WEIGHT).ok_or_else(too_large)?;
                fancy_regex::RegexBuilder::new(translated)
                    .backtrack_limit(MOST_TRIES)
                    .delegate_size_limit(TRIED_SIZE)
                    .delegate_dfa_size_limit(CACHE_SIZE)
                    .build()
                    .map(Matcher::Tried)
                    .map_err(|_| format!("{text:?} is not a \"regex\""))
            }
        }
    }
}

fn too_large() -> String {
    "the patterns of the schema are too large; repeat less, or name fewer characters".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_take_too_much_are_refused_one_by_one_and_together() {
        let mut patterns = Patterns::default();
        let refused = patterns.compile(r"(\p{L}{1,500}){1,500}").unwrap_err();
        assert!(refused.contains("too large"), "{refused}");
        let made =
            (0..1_000).take_while(|at| patterns.compile(&format!("^{at}[a-z]{{20000}}$")).is_ok()).count();
        assert!((2..20).contains(&made), "{made}");
        patterns.compile("^0[a-z]{20000}$").unwrap();
        assert!(patterns.compile(&"a".repeat(5_000)).unwrap_err().contains("longer than"));
        assert!(Patterns::default().compile("(").unwrap_err().contains("is not a \"regex\""));
    }
}
