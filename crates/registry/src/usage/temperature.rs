//! How much a tool is in use: hot, warm or cold by its calls, cooling while it is left alone; and what that is worth to a
//! search.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use toolrail_core::rfc3339;

use super::Usage;
use crate::catalog::{Snapshot, Tool};

/// The fewest calls of a hot tool, and of a warm one.
const HOT: u64 = 10;
const WARM: u64 = 3;

/// A hot tool that was left alone for so long is warm.
const HOT_UNTIL: Duration = Duration::from_hours(30 * 24);
/// A tool that was left alone for so long is cold.
const WARM_UNTIL: Duration = Duration::from_hours(60 * 24);

/// So many calls are worth as much to a search as any more.
const MOST_THAT_COUNT: f32 = 1_000.0;
/// What the calls of a tool are worth to a search halves with each such time that it is left alone.
const HALF_LIFE: Duration = HOT_UNTIL;

/// How much a tool is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Temperature {
    /// Hardly, or long ago.
    Cold,
    /// At times: three calls or more.
    Warm,
    /// Often: ten calls or more.
    Hot,
}

impl Temperature {
    /// That of a tool with so many calls, the last of them at that moment if it is known.
    fn of(count: u64, last_used: Option<SystemTime>, now: SystemTime) -> Self {
        let by_count = match count {
            HOT.. => Self::Hot,
            WARM.. => Self::Warm,
            _ => Self::Cold,
        };
        let idle = last_used.map(|last| now.duration_since(last).unwrap_or_default()).unwrap_or_default();
        let at_most = match idle {
            idle if idle >= WARM_UNTIL => Self::Cold,
            idle if idle >= HOT_UNTIL => Self::Warm,
            _ => Self::Hot,
        };
        by_count.min(at_most)
    }

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Hot => "hot",
        }
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// How a tool has been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// How many calls, ever, on every replica; with those that its description brought along.
    pub count: u64,
    /// When last.
    pub last_used: Option<SystemTime>,
    /// How much it is in use.
    pub temperature: Temperature,
}

impl ToolUse {
    pub(crate) fn new(count: u64, last_used: Option<SystemTime>, now: SystemTime) -> Self {
        Self { count, last_used, temperature: Temperature::of(count, last_used, now) }
    }

    /// When it was last used, RFC 3339 in UTC.
    pub fn last_used_text(&self) -> Option<String> {
        self.last_used.map(rfc3339)
    }

    /// What it is worth to a search, from 0 to 1. The logarithm keeps what is used a lot from hiding what is used a little.
    pub(crate) fn prior(&self, now: SystemTime) -> f32 {
        if self.count == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "its logarithm is taken")]
        let calls = (self.count as f32).min(MOST_THAT_COUNT);
        let idle =
            self.last_used.map(|last| now.duration_since(last).unwrap_or_default()).unwrap_or_default();
        let half_lives = idle.as_secs_f32() / HALF_LIFE.as_secs_f32();
        calls.ln_1p() / MOST_THAT_COUNT.ln_1p() * (-half_lives).exp2()
    }
}

impl Usage {
    /// How a tool has been used, as far as somebody of that tenant may know: what others do with a shared tool is not his to see.
    pub fn use_of(&self, tool: &Tool, tenant: Option<&str>) -> ToolUse {
        self.use_seen(tool, tenant, SystemTime::now())
    }

    fn use_seen(&self, tool: &Tool, tenant: Option<&str>, now: SystemTime) -> ToolUse {
        if tenant.is_some() && tool.tenant.is_none() {
            let (count, last_used) = described_use(tool);
            return ToolUse::new(count, last_used, now);
        }
        self.use_at(tool, now)
    }

    /// How often, and when last: here, on every other replica, and where it was described before.
    pub fn use_count(&self, tool: &Tool) -> (u64, Option<SystemTime>) {
        let (count, last) = tool.counted_uses();
        let (count_before, last_before) = described_use(tool);
        (count.saturating_add(count_before), last.max(last_before))
    }

    /// The same as of that moment.
    pub(crate) fn use_at(&self, tool: &Tool, now: SystemTime) -> ToolUse {
        let (count, last_used) = self.use_count(tool);
        ToolUse::new(count, last_used, now)
    }

    /// The tools of the snapshot that were used most as far as somebody of that tenant may know, at most so many; of those used
    /// as much, the one used last comes first.
    pub fn most_used<'s>(
        &self,
        snapshot: &'s Snapshot,
        tenant: Option<&str>,
        most: usize,
    ) -> Vec<(&'s Tool, ToolUse)> {
        let now = SystemTime::now();
        let tools = snapshot.tools().iter().map(|tool| (&**tool, self.use_seen(tool, tenant, now)));
        let mut used: Vec<_> = tools.filter(|(_, used)| used.count > 0).collect();
        let rank = |(tool, used): &(&'s Tool, ToolUse)| {
            (std::cmp::Reverse((used.count, used.last_used)), tool.name.as_str())
        };
        used.sort_by(|one, another| rank(one).cmp(&rank(another)));
        used.truncate(most);
        used
    }
}

/// How a tool was used where it was described before, and when last.
fn described_use(tool: &Tool) -> (u64, Option<SystemTime>) {
    tool.described.as_ref().map_or((0, None), |described| (described.use_frequency, described.last_used))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    /// The counts and days of RegistryTools.
    #[test]
    fn a_tool_that_is_left_alone_cools_down() {
        let now = UNIX_EPOCH + 1_000 * DAY;
        let cases = [
            (0, None, Temperature::Cold),
            (2, Some(0), Temperature::Cold),
            (3, Some(0), Temperature::Warm),
            (9, Some(29), Temperature::Warm),
            (10, Some(29), Temperature::Hot),
            (10, Some(30), Temperature::Warm),
            (1_000, Some(59), Temperature::Warm),
            (1_000, Some(60), Temperature::Cold),
            (3, Some(59), Temperature::Warm),
            (3, Some(60), Temperature::Cold),
            (10, None, Temperature::Hot),
        ];
        for (count, idle, expected) in cases {
            let last_used = idle.map(|days: u32| now - days * DAY);
            assert_eq!(
                ToolUse::new(count, last_used, now).temperature,
                expected,
                "{count} calls, idle {idle:?}"
            );
        }
        let tomorrow = Some(now + DAY);
        assert_eq!(ToolUse::new(10, tomorrow, now).temperature, Temperature::Hot, "clocks differ");
    }

    #[test]
    fn a_search_values_use_by_its_logarithm_and_how_long_ago_it_was() {
        let now = UNIX_EPOCH + 1_000 * DAY;
        let prior = |count, idle: u32| ToolUse::new(count, Some(now - idle * DAY), now).prior(now);
        assert!(prior(0, 0).abs() < f32::EPSILON);
        assert!(prior(1, 0) > 0.0 && prior(10, 0) > prior(1, 0));
        assert!(prior(20, 0) < 1.5 * prior(10, 0), "twice the calls are not worth twice as much");
        assert!((prior(10, 30) - prior(10, 0) / 2.0).abs() < 1e-6);
        assert!((prior(u64::MAX, 0) - 1.0).abs() < 1e-6);
    }
}
