//! Moments as they are told: RFC 3339, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For example `2026-07-28T09:30:00.250Z`.
pub fn rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The moment that such a text tells, to the second. Without an offset it is UTC, and a blank may stand instead of the `T`: so
/// Python and databases write it. Nothing for one before 1970.
pub fn moment_of(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let is_at =
        |index: usize, allowed: &[u8]| text.as_bytes().get(index).is_some_and(|byte| allowed.contains(byte));
    let separated =
        is_at(4, b"-") && is_at(7, b"-") && is_at(10, b"Tt ") && is_at(13, b":") && is_at(16, b":");
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let in_range =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if !separated || !in_range {
        return None;
    }
    let seconds = days_since_1970(year, month, day)? * 86_400 + hour * 3_600 + minute * 60 + second;
    let told = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    let offset = text.get(19..)?.trim_start_matches(|any: char| any == '.' || any.is_ascii_digit());
    let (hours, minutes) = match offset {
        "" | "Z" | "z" => return Some(told),
        _ => (offset.get(1..3)?.parse::<u64>().ok()?, offset.get(4..6)?.parse::<u64>().ok()?),
    };
    let offset_by = Duration::from_secs(hours * 3_600 + minutes * 60);
    let utc = if offset.starts_with('-') { told.checked_add(offset_by) } else { told.checked_sub(offset_by) };
    utc.filter(|_| offset.starts_with(['+', '-']))
}

/// The reverse of [`civil`].
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

/// Year, month and day of a day since 1970. Years begin in March here, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    /// From 1 March of the year 0 to 1 January 1970.
    const BEFORE_1970: u64 = 719_468;
    let days = days + BEFORE_1970;
    let (era, day_of_era) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
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
