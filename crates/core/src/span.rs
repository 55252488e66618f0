//! Spans of time as people write them.

use std::time::Duration;

/// What stands behind the number, and how many seconds it means.
const UNITS: [(&str, u64); 5] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)];
/// Longer spans are a mistake: a hundred years.
const LONGEST: u64 = 100 * 366 * 86_400;

/// A text that tells no span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a span of time; write a number and s, m, h, d or w, such as 90d")]
pub struct WrongSpan(String);

/// The span that was written like `90d`, `12h`, `30m`, `45s` or `2w`.
pub fn span_of(text: &str) -> Result<Duration, WrongSpan> {
    let wrong = || WrongSpan(text.chars().take(80).collect());
    let unit = |(unit, seconds): (&str, u64)| text.trim().strip_suffix(unit).map(|number| (number, seconds));
    let (number, seconds) = UNITS.into_iter().find_map(unit).ok_or_else(wrong)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds <= LONGEST).ok_or_else(wrong)?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_a_number_and_a_unit() {
        for (text, seconds) in
            [("45s", 45), ("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), (" 2w ", 1_209_600), ("0s", 0)]
        {
            assert_eq!(span_of(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "d", "90", "-1d", "+1d", "1.5h", "1y", "90 d", "99999999999999999999d", "40000d"] {
            assert!(span_of(text).is_err(), "{text}");
        }
    }
}
