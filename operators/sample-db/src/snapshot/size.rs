//! Pure: human-readable sizes.

/// A human-readable number of bytes.
pub(super) fn humanize(bytes: i64) -> String {
    const UNITS: [&str; 4] = ["Ki", "Mi", "Gi", "Ti"];
    let mut rest = bytes.max(0);
    let mut shown = format!("{rest}");
    for unit in UNITS {
        if rest < 1024 {
            break;
        }
        shown = format!("{}.{}{unit}", rest / 1024, rest % 1024 * 10 / 1024);
        rest /= 1024;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_human_readable() {
        for (bytes, shown) in [(0, "0"), (1023, "1023"), (1024, "1.0Ki"), (12_897_485, "12.2Mi"), (3 << 30, "3.0Gi")] {
            assert_eq!(humanize(bytes), shown);
        }
    }
}
