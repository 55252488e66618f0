//! Moments as they are told: RFC 3339, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// For example `2026-07-28T09:30:00.250Z`.
pub fn rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
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
    use std::time::Duration;

    use super::*;

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
