//! Permission rules: which tools somebody sees, and which calls are refused. Reads, checks and compiles a document of rules,
//! decides by it, explains its decisions and runs the tests that stand in it. Nothing of the gateway: whoever serves requests asks
//! here. `Permissions` are the rules at work, those of a configuration and those of a store; `StoredRules` are the latter, with
//! their versions.
//!
//! ```text
//! document ─ reader, who, tools, when, rule ─▶ Rulebook ─ for_subject ─▶ Rights ─ sees, judge ─▶ Verdict
//!                                      cases ◀─┘  └─ explain ─▶ Explanation
//! ```
//!
//! # The document
//!
//! | field | |
//! |---|---|
//! | `default` | `allow` (so if left out) or `deny`: what holds where no rule decides |
//! | `rules` | up to 256, in any order |
//! | `rules[].name` | required, unique: 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or digit |
//! | `rules[].effect` | required: `allow` or `deny` |
//! | `rules[].who` | whom it concerns, everybody if left out: `roles`, `tenants`, `groups`, `names`, `scopes` (lists) and `anonymous` (true or false). Each that is given has to hold; of a list, one entry suffices. All but roles are patterns with `*` and `?`, in exact case |
//! | `rules[].tools` | which tools, all if left out: `names`, `tags`, `categories`, `kinds` (lists of patterns, in any case), `readOnly`, `destructive`, `idempotent`, `openWorld` (true or false) |
//! | `rules[].when` | a condition in CEL over `principal`, `tool` and `args` |
//! | `rules[].reason` | what somebody is told whose arguments are refused |
//! | `tests` | up to 1,000: `as` (`name`, `role`, `tenant`, `groups`, `scopes`), `tool` (a name, or `name`, `kind`, `tags`, `category`, `tenant` and the hints), `args`, `expect` (`allow`, `deny` or `hidden`) |
//!
//! `docs/permissions.md` says the same for users, with examples.
//!
//! # Deciding
//!
//! A deny that matches wins over every allow; else an allow that matches; else the default. Where tools are listed, nothing is
//! known of arguments: a deny that depends on them does not hide, and an allow that depends on them shows. A condition that fails
//! counts as matching for a deny and as not matching for an allow.

mod cases;
mod explain;
mod facts;
mod limits;
mod permissions;
mod reader;
mod rights;
mod rule;
mod rulebook;
mod stored;
mod tools;
mod version_record;
mod when;
mod who;

pub use cases::{Expectation, TestFailure};
pub use explain::{Explanation, Match, Outcome, RuleFinding};
pub use facts::Subject;
pub use permissions::{Permissions, RuleSource};
pub use rights::{Rights, Verdict};
pub use rule::Effect;
pub use rulebook::{Reading, Rulebook};
pub use stored::{
    MOST_RULE_VERSIONS, NewRules, RulesError, RulesPlan, RulesUnknown, RulesVersion, StoredRules, StoredState,
};
