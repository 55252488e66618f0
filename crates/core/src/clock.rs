//! Moments as they are told: RFC 3339, in UTC.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// As long as the shortest text that tells a second.
const TO_THE_SECOND: usize = "2026-07-28T09:30:00".len();

/// For example `2026-07-28T09:30:00.250Z`.
pub fn rfc3339(moment: SystemTime) -> String {
    let moment = Timestamp::try_from(moment).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{moment:.3}")
}

/// The moment that such a text tells. Without an offset it is UTC, and a blank may stand instead of the `T`: so Python and
/// databases write it. Nothing for one before 1970.
pub fn moment_of(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let in_utc = |civil: DateTime| civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let moment = text.parse::<Timestamp>().ok().or_else(|| text.parse().ok().and_then(in_utc))?;
    (moment >= Timestamp::UNIX_EPOCH && text.len() >= TO_THE_SECOND).then(|| moment.into())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn moments_that_were_told_are_read() {
        let seconds = |text: &str| {
            moment_of(text).and_then(|told| told.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs())
        };
        for text in [
            "2026-07-28T09:30:00.250Z",
            "2026-07-28T09:30:00",
            "2026-07-28 09:30:00.123456",
            "2026-07-28T11:30:00+02:00",
            "2026-07-28T04:00:00.5-05:30",
        ] {
            assert_eq!(seconds(text), Some(1_785_231_000), "{text}");
        }
        for told in [0, 951_782_399, 951_782_400, 4_102_444_800] {
            assert_eq!(seconds(&rfc3339(UNIX_EPOCH + Duration::from_secs(told))), Some(told));
        }
        for text in [
            "",
            "yesterday",
            "2026-07-28",
            "2026-13-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-07-28T09:30:00 in Köln",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn moments_are_told_in_utc() {
        let told = |seconds: u64, millis| {
            rfc3339(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis))
        };
        assert_eq!(told(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(told(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(told(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(told(1_785_231_000, 250), "2026-07-28T09:30:00.250Z");
        assert_eq!(told(4_102_444_800, 0), "2100-01-01T00:00:00.000Z");
    }
}
