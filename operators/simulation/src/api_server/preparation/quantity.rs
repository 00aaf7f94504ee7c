//! Quantities in the form in which the API server stores them: `1000m` is stored as `1`, `0.5Gi` as `512Mi`.
//!
//! Source: `k8s.io/apimachinery/pkg/api/resource`.

const DECIMAL: [(&str, u32); 10] =
    [("n", 0), ("u", 3), ("m", 6), ("", 9), ("k", 12), ("M", 15), ("G", 18), ("T", 21), ("P", 24), ("E", 27)];

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

const NANOS: i128 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// The quantity in billionths, rounded away from zero; `None` if that is no quantity.
pub(super) fn nanos(text: &str) -> Option<i128> {
    parse(text).map(|(nanos, _)| nanos)
}

/// The form in which it is stored; `None` if that is no quantity.
pub(super) fn canonical(text: &str) -> Option<String> {
    let (nanos, format) = parse(text)?;
    let whole = nanos / NANOS;
    let format = match format {
        Format::Binary if nanos % NANOS != 0 || whole.abs() < 1024 => Format::Decimal,
        other => other,
    };
    Some(match format {
        Format::Binary => in_binary(whole),
        Format::Decimal => {
            let (number, power) = reduced(nanos, 9);
            let suffix = DECIMAL.iter().find(|(_, exponent)| *exponent == power).map_or("", |(suffix, _)| *suffix);
            format!("{number}{suffix}")
        }
        Format::Exponent => match reduced(nanos, u32::MAX) {
            (number, 9) => number.to_string(),
            (number, power) => format!("{number}e{}", i64::from(power) - 9),
        },
    })
}

/// The number without factors of 1000, and the exponent of ten in billionths. Zero has no suffix.
fn reduced(nanos: i128, steps: u32) -> (i128, u32) {
    if nanos == 0 {
        return (0, 9);
    }
    let (mut number, mut power) = (nanos, 0);
    while number % 1000 == 0 && power / 3 < steps {
        number /= 1000;
        power += 3;
    }
    (number, power)
}

fn in_binary(whole: i128) -> String {
    let (mut number, mut suffix) = (whole, "");
    for (next, _) in BINARY {
        if number % 1024 != 0 {
            break;
        }
        number /= 1024;
        suffix = next;
    }
    format!("{number}{suffix}")
}

fn parse(text: &str) -> Option<(i128, Format)> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let end = unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let (size, format) = scaled(digits, places, suffix)?;
    Some((if negative { -size } else { size }, format))
}

/// The billionths of these digits with that many places after the point.
fn scaled(digits: i128, places: i64, suffix: &str) -> Option<(i128, Format)> {
    if let Some((_, exponent)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        let multiple = digits.checked_mul(1i128 << exponent)?;
        return Some((shifted(multiple, 9 - places)?, Format::Binary));
    }
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((shifted(digits, i64::from(*exponent) - places)?, Format::Decimal));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((shifted(digits, exponent.checked_add(9)?.checked_sub(places)?)?, Format::Exponent))
}

/// The number times a power of ten, rounded up.
fn shifted(number: i128, power: i64) -> Option<i128> {
    let factor = 10i128.checked_pow(u32::try_from(power.unsigned_abs()).ok()?)?;
    if power >= 0 {
        return number.checked_mul(factor);
    }
    Some(number / factor + i128::from(number % factor != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_stored_in_their_canonical_form() {
        let cases = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("2048Mi", "2Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("500Mi", "500Mi"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("12e6", "12e6"),
            ("0", "0"),
            ("0Gi", "0"),
            ("-1000m", "-1"),
            ("+1", "1"),
            ("0.1n", "1n"),
            ("1.0", "1"),
            ("2E", "2E"),
            (".5", "500m"),
        ];
        for (written, stored) in cases {
            assert_eq!(canonical(written).as_deref(), Some(stored), "{written}");
        }
        for wrong in ["", "-", "Gi", "1.2.3", "1 Gi", "1X", "0x1", "1e", "."] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn quantities_are_compared_by_their_size() {
        assert!(nanos("1Gi") > nanos("1G"));
        assert_eq!(nanos("1Gi"), nanos("1024Mi"));
    }
}
