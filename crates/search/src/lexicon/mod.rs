//! What the search knows about languages: how text is folded, where Chinese words begin and end, which words mean the same in
//! English and in Chinese. All of it is static data under `data/`, looked up in place; nothing is read before a word needs it.
//! Not here: how text is split into words, and how words are scored.

mod fold;
mod gloss;
mod related;
mod segment;
mod spelled;
mod stem;
mod stop;
mod table;

pub(crate) use fold::fold;
pub(crate) use gloss::{chinese_of, english_of};
pub(crate) use related::related;
pub(crate) use segment::segment;
pub(crate) use spelled::spelled_out;
pub(crate) use stem::stem;
pub(crate) use stop::is_stop_word;
