//! How a result ends: what the dialect asks for beside the answer itself.

use toolrail_core::ErrorCode;
use toolrail_protocol::meta::SERVER_INFO;

use crate::dialect::Dialect;
use crate::introduction::Introduction;
use crate::reply::Outcome;

/// Whether a client may keep a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// The method knows no such hints.
    Silent,
    /// For a moment, and for everybody.
    Briefly,
    /// For a moment, but for nobody else: another tenant sees something else.
    BrieflyForOne,
    /// Not at all: it may be different the next time, or for somebody else.
    Never,
}

impl Cache {
    /// `(ttlMs, cacheScope)`, if the method knows them.
    pub(crate) const fn hints(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Silent => None,
            Self::Briefly => Some(("1000", "\"public\"")),
            Self::BrieflyForOne => Some(("1000", "\"private\"")),
            Self::Never => Some(("0", "\"private\"")),
        }
    }
}

/// Finishes results for one dialect.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    pub(crate) me: &'a Introduction,
    pub(crate) dialect: Dialect,
}

impl Finish<'_> {
    /// Finishes a result object that lacks its last brace.
    pub(crate) fn close(self, outcome: Outcome) -> Outcome {
        self.close_with_code(outcome, None)
    }

    /// The same, for a result that may say how long it holds.
    pub(crate) fn close_cached(self, outcome: Outcome, cache: Cache) -> Outcome {
        self.close_with_meta(outcome, cache, None)
    }

    /// The same, with members for its `_meta`.
    pub(crate) fn close_with_meta(self, mut outcome: Outcome, cache: Cache, meta: Option<&str>) -> Outcome {
        if let (Dialect::Modern, Some((ttl, scope))) = (self.dialect, cache.hints()) {
            outcome.out.extend_from_slice(format!(",\"ttlMs\":{ttl},\"cacheScope\":{scope}").as_bytes());
        }
        self.end(outcome, meta)
    }

    /// The same, for a result that tells in `_meta` why the call failed.
    pub(crate) fn close_with_code(self, outcome: Outcome, code: Option<ErrorCode>) -> Outcome {
        let code = code.map(|code| format!("\"{}\":\"{code}\"", ErrorCode::META_KEY));
        self.end(outcome, code.as_deref())
    }

    fn end(self, mut outcome: Outcome, meta: Option<&str>) -> Outcome {
        let out = &mut outcome.out;
        match self.dialect {
            Dialect::Modern => {
                if out.last() != Some(&b'{') {
                    out.push(b',');
                }
                out.extend_from_slice(&self.me.modern_tail);
                if let Some(meta) = meta {
                    out.push(b',');
                    out.extend_from_slice(meta.as_bytes());
                }
                out.extend_from_slice(b"}}");
            }
            Dialect::Legacy | Dialect::Plain => {
                if let Some(meta) = meta {
                    out.extend_from_slice(format!(",\"_meta\":{{{meta}}}").as_bytes());
                }
                out.push(b'}');
            }
        }
        outcome
    }

    /// Finishes a result object that lacks its last brace and is of a sort of its own (`"task"`, `"input_required"`).
    /// Only modern clients get such.
    pub(crate) fn close_as(self, mut outcome: Outcome, result_type: &str) -> Outcome {
        let me = self.me.implementation();
        let tail = format!(",\"resultType\":\"{result_type}\",\"_meta\":{{\"{SERVER_INFO}\":{me}}}}}");
        outcome.out.extend_from_slice(tail.as_bytes());
        outcome
    }
}
