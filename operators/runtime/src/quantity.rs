//! Pure: quantities (`250m`, `1Gi`, `1e3`) in one form, so that two spellings of one amount compare equal.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>

/// The amount in thousandths as a text; `None` if `text` is no quantity, or is too fine or too large.
#[must_use]
pub fn canonical(text: &str) -> Option<String> {
    milli_value(text).map(|amount| format!("{amount}m"))
}

/// The amount as an integer, rounded down; `None` if `text` is no quantity or too large.
#[must_use]
pub fn value(text: &str) -> Option<i128> {
    milli_value(text).map(|amount| amount.div_euclid(1000))
}

/// The amount in thousandths; `None` if `text` is no quantity, or is too fine or too large.
#[must_use]
pub fn milli_value(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (numerator, denominator) = scale(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let negative = whole.starts_with('-');
    let digits = format!("{}{fraction}", whole.strip_prefix(['+', '-']).unwrap_or(whole));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount = digits.parse::<i128>().ok()?.checked_mul(numerator)?.checked_mul(1000)?;
    let divisor = denominator.checked_mul(10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?)?;
    (amount % divisor == 0).then(|| if negative { -amount / divisor } else { amount / divisor })
}

/// The factor of a suffix as a fraction.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    Some(match suffix {
        "" => (1, 1),
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1000),
        "k" => (1000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (10i128.pow(12), 1),
        "P" => (10i128.pow(15), 1),
        "E" => (10i128.pow(18), 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let factor = 10i128.checked_pow(exponent.unsigned_abs())?;
            if exponent < 0 { (1, factor) } else { (factor, 1) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn two_spellings_of_one_amount_are_one() {
        for (a, b) in
            [("1", "1000m"), ("0.5", "500m"), ("1Ki", "1024"), ("1e3", "1k"), (".5Gi", "512Mi"), ("-1", "-1000m")]
        {
            assert_eq!(canonical(a), canonical(b), "{a} and {b}");
            assert!(canonical(a).is_some(), "{a}");
        }
        assert_ne!(canonical("1"), canonical("1m"));
    }

    #[test]
    fn what_is_no_quantity_has_no_amount() {
        for text in ["", "m", "1x", "1.2.3", "--1", "1e", "0.0000001"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
