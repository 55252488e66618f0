//! Regular expressions whose cost is known before they are compiled, and which are matched byte by byte, so that whoever
//! matches can stop: the time that a text takes grows with the text and with the pattern, and a small pattern can be a large
//! automaton, such as `(a?){20000}`.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Input, MatchKind};
use regex_syntax::hir::{Class, Hir, HirKind};

/// What matching may keep in memory for one pattern.
const CACHE_BYTES: usize = 256 << 10;
/// The most caches that are kept: one for each who matches at the same time.
const MOST_CACHES: usize = 2;
/// What a compiled pattern may take, however its weight was estimated.
const MOST_BYTES: usize = 16 << 20;
/// Bytes of a text that count for one step where nothing new is found out about the pattern.
const BYTES_PER_STEP: usize = 16;
/// Pieces of memory that count for one step: so much is looked through where something is.
const MEMORY_PER_STEP: usize = 4;
/// The most visits of states where matching cannot be stopped.
const MOST_VISITS: usize = 20_000_000;

/// A compiled pattern.
pub struct Stepped {
    dfa: DFA,
    caches: Mutex<Vec<Cache>>,
}

/// Why a pattern was not compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is none, or looks around or back.
    Syntax,
    /// It is too large: what it weighs is more than was allowed.
    Large,
}

/// Nobody can tell within bounds whether a text matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl Stepped {
    /// Compiles a pattern that weighs no more than that, and tells what it weighs: about as many states as it has.
    pub fn new(pattern: &str, most: u64) -> Result<(Self, u64), Unusable> {
        let hir = regex_syntax::Parser::new().parse(pattern).map_err(|_| Unusable::Syntax)?;
        let weight = weight(&hir);
        if weight > most {
            return Err(Unusable::Large);
        }
        let config = thompson::Config::new()
            .nfa_size_limit(Some(MOST_BYTES))
            .which_captures(WhichCaptures::None)
            .shrink(false);
        let nfa =
            thompson::Compiler::new().configure(config).build_from_hir(&hir).map_err(|_| Unusable::Large)?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa);
        Ok((Self { dfa: dfa.map_err(|_| Unusable::Large)?, caches: Mutex::default() }, weight))
    }

    /// Whether the text has it. `spend` is told how many steps are taken and may end it.
    pub fn is_match<E: From<Unknown>>(
        &self,
        text: &str,
        mut spend: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<bool, E> {
        let states = self.states();
        // The first step of all may look at every state, and nothing can stop it.
        spend(1 + (states / 8) as u64)?;
        let kept = self.caches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut cache = kept.unwrap_or_else(|| self.dfa.create_cache());
        let walked = self.walk(&mut cache, text.as_bytes(), &mut spend);
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        if caches.len() < MOST_CACHES {
            caches.push(cache);
        }
        drop(caches);
        match walked? {
            Some(verdict) => Ok(verdict),
            None => self.at_once(text, states, spend),
        }
    }

    /// About how many states it has.
    fn states(&self) -> usize {
        self.nfa().states().len()
    }

    fn nfa(&self) -> &NFA {
        self.dfa.get_nfa()
    }

    /// Nothing where this way does not lead to the end: word boundaries beside letters of other scripts.
    fn walk<E>(
        &self,
        cache: &mut Cache,
        text: &[u8],
        spend: &mut impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Option<bool>, E> {
        let Ok(mut state) = self.dfa.start_state_forward(cache, &Input::new(text)) else { return Ok(None) };
        let mut memory = cache.memory_usage();
        for (at, byte) in text.iter().enumerate() {
            let Ok(next) = self.dfa.next_state(cache, state, *byte) else { return Ok(None) };
            state = next;
            let now = cache.memory_usage();
            if now != memory {
                spend(1 + (now.abs_diff(memory) / MEMORY_PER_STEP) as u64)?;
                memory = now;
            } else if at % BYTES_PER_STEP == 0 {
                spend(1)?;
            }
            if state.is_tagged() {
                if state.is_match() {
                    return Ok(Some(true));
                }
                if state.is_dead() {
                    return Ok(Some(false));
                }
                if state.is_quit() {
                    return Ok(None);
                }
            }
        }
        let end = self.dfa.next_eoi_state(cache, state);
        Ok(end.ok().filter(|state| !state.is_quit()).map(|state| state.is_match()))
    }

    /// The slow way, which nothing can stop.
    fn at_once<E: From<Unknown>>(
        &self,
        text: &str,
        states: usize,
        mut spend: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<bool, E> {
        let visits = states.saturating_mul(1 + text.len());
        if visits > MOST_VISITS {
            return Err(Unknown.into());
        }
        spend((visits / 8) as u64)?;
        let matcher = PikeVM::new_from_nfa(self.nfa().clone()).map_err(|_| Unknown)?;
        Ok(matcher.is_match(&mut matcher.create_cache(), text))
    }
}

impl fmt::Debug for Stepped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stepped").field("states", &self.states()).finish()
    }
}

/// About how many states a pattern will have.
fn weight(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() as u64,
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min).max(1));
            times.saturating_mul(weight(&repetition.sub).saturating_add(1)).saturating_add(1)
        }
        HirKind::Capture(capture) => weight(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(weight).fold(1, u64::saturating_add)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Ended {
        Spent,
        Unknown,
    }

    impl From<Unknown> for Ended {
        fn from(_: Unknown) -> Self {
            Self::Unknown
        }
    }

    fn steps(pattern: &str, text: &str, most: u64) -> Result<(bool, u64), Ended> {
        let (pattern, _) = Stepped::new(pattern, 1_000_000).unwrap();
        let mut spent = 0;
        let verdict = pattern.is_match(text, |steps| {
            spent += steps;
            if spent > most { Err(Ended::Spent) } else { Ok(()) }
        });
        verdict.map(|verdict| (verdict, spent))
    }

    #[test]
    fn verdicts_are_those_of_the_library() {
        let texts = [
            "",
            "a",
            "b",
            "ab",
            "aaa b",
            "été",
            "1 été 2",
            "x\ny",
            "日本語",
            "word",
            "a-b",
            "ß",
            "\u{1F600}",
        ];
        for pattern in [
            "",
            "a",
            "^a$",
            "^a*b$",
            r"\bword\b",
            r"\bété\b",
            r"^\p{L}+$",
            "(?i)A",
            "[^a]",
            "a|b$",
            r"^\w{2,3}$",
            r"\d",
            "^.$",
            r"(?m)^y$",
            r"\Bb",
            "(a?){20}b",
            "日本",
            r"^[\p{Han}]{1,3}$",
        ] {
            let oracle = regex::Regex::new(pattern).unwrap();
            for text in texts {
                let (verdict, _) = steps(pattern, text, u64::MAX).unwrap();
                assert_eq!(verdict, oracle.is_match(text), "{pattern:?} {text:?}");
            }
        }
    }

    #[test]
    fn what_takes_long_can_be_stopped() {
        let text = "a".repeat(60_000);
        assert_eq!(steps("(a?){20000}b", &text, 1_000_000), Err(Ended::Spent));
        let (_, spent) = steps("^[a-z]{1,64}$", "example", u64::MAX).unwrap();
        assert!(spent < 1_000, "{spent}");
        let (verdict, spent) = steps("^[a-z]*$", &text, u64::MAX).unwrap();
        assert!(verdict && spent < 10_000, "{spent}");
    }

    #[test]
    fn word_boundaries_beside_other_scripts_are_bounded_too() {
        let text = "é ".repeat(1_000_000);
        assert_eq!(steps(r"\b(x?){500}y\b", &text, u64::MAX), Err(Ended::Unknown));
    }

    #[test]
    fn what_is_too_large_is_not_compiled() {
        for pattern in [r"(?i)\p{L}{800}", "((a{100}){100}){100}", r"(\p{L}{1,500}){1,500}"] {
            assert_eq!(Stepped::new(pattern, 200_000).unwrap_err(), Unusable::Large, "{pattern}");
        }
        for pattern in ["(", "(?=a)", r"(a)\1"] {
            assert_eq!(Stepped::new(pattern, 200_000).unwrap_err(), Unusable::Syntax, "{pattern}");
        }
        for pattern in [r"^\p{L}{1,200}$", "^[a-zA-Z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}$"] {
            assert!(Stepped::new(pattern, 200_000).is_ok(), "{pattern}");
        }
    }
}
