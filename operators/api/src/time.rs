//! Durations in the notation of the spec, and the time zone of schedules.

use jiff::SignedDuration;

/// The time zone of a schedule whose spec sets none.
pub const DEFAULT_TIME_ZONE: &str = "Etc/UTC";
/// CEL rule of a duration: a whole number and one unit.
pub(crate) const SPAN: &str = "self.matches('^(0|[1-9][0-9]{0,4})[smhdw]$')";
/// The same, above 0.
pub(crate) const LASTING_SPAN: &str = "self.matches('^[1-9][0-9]{0,4}[smhdw]$')";

/// Parses a duration such as `90s`, `30m`, `24h`, `30d` or `2w`; a day has 24 hours.
#[must_use]
pub fn span(text: &str) -> Option<SignedDuration> {
    let unit = match text.as_bytes().last()? {
        b's' => 1,
        b'm' => 60,
        b'h' => 60 * 60,
        b'd' => 24 * 60 * 60,
        b'w' => 7 * 24 * 60 * 60,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    let digits = !number.is_empty() && number.len() <= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| number.parse::<i64>().ok()).flatten().map(|number| SignedDuration::from_secs(number * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_schema_takes() {
        for (text, seconds) in
            [("0s", 0), ("90s", 90), ("30m", 1800), ("24h", 86_400), ("30d", 2_592_000), ("2w", 1_209_600)]
        {
            assert_eq!(span(text), Some(SignedDuration::from_secs(seconds)), "{text}");
        }
        for text in ["", "s", "5", "-1h", "1.5h", "1h30m", "100000h", "5 m", "5ü", "+5h"] {
            assert_eq!(span(text), None, "{text}");
        }
        let present: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        assert!(present.checked_add(span("99999w").expect("a span")).is_ok());
    }
}
