//! Pure: names and label values of a limited length, derived from longer ones.

use std::borrow::Cow;

/// The longest value of a label.
pub const LONGEST_LABEL: usize = 63;
/// The longest name of most objects.
pub const LONGEST_NAME: usize = 253;

/// FNV-1a, 64 bits: stable forever, unlike the default hasher of Rust.
/// Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
#[must_use]
pub fn fnv1a(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// `name`, if it is no longer than `longest`; otherwise its beginning and a hash of all of it, as in the controllers of
/// Kubernetes. Two long names may share a beginning, but practically never the result.
#[must_use]
pub fn within(name: &str, longest: usize) -> Cow<'_, str> {
    if name.len() <= longest {
        return Cow::Borrowed(name);
    }
    let hash = format!("-{:016x}", fnv1a(name));
    let end = (0..=longest.saturating_sub(hash.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    // The part before the hash must end like a name: `a.-` would be invalid.
    let start = name[..end].trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    Cow::Owned(format!("{start}{hash}"))
}

/// Whether `text` is a DNS subdomain (RFC 1123), so that it can be an object's name and a URL path segment.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
            && bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
    };
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_stay_and_long_ones_are_distinguished_by_a_hash() {
        let longest = "a".repeat(LONGEST_LABEL);
        assert_eq!(within(&longest, LONGEST_LABEL), longest);
        let (one, other) = (format!("{longest}b"), format!("{longest}c"));
        let cut = within(&one, LONGEST_LABEL);
        assert_eq!(cut.len(), LONGEST_LABEL);
        assert_ne!(cut, within(&other, LONGEST_LABEL));
        assert_eq!(cut, format!("{}-db007549f35eb6cc", "a".repeat(46)), "the same in every release");
    }

    #[test]
    fn the_beginning_ends_like_a_name() {
        let dotted = format!("{}.-.{}", "a".repeat(44), "b".repeat(200));
        let cut = within(&dotted, LONGEST_LABEL);
        let (start, hash) = cut.rsplit_once('-').unwrap();
        assert_eq!((start, hash.len()), (&*"a".repeat(44), 16));
    }

    #[test]
    fn dns_subdomains_are_recognized() {
        for name in ["a", "0", "a-b.c", "kube-root-ca.crt", &"a".repeat(LONGEST_NAME)] {
            assert!(is_dns_subdomain(name), "{name}");
        }
        let long = "a".repeat(LONGEST_NAME + 1);
        for none in [
            "", ".", "..", "a..b", "-a", "a-", "a.-b", "A", "a b", "a/b", "../a", "a#b", "a?b", "a%2Fb", "\u{e4}",
            &long,
        ] {
            assert!(!is_dns_subdomain(none), "{none}");
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of the draft.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }
}
