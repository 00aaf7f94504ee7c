//! Pure: whether PostgreSQL and the Rust client prepare a password alike (SASLprep, RFC 4013) before they hash it.
//!
//! Both authenticate with the password as it is if SASLprep rejects it. PostgreSQL checks characters before it normalizes them
//! (`src/common/saslprep.c`), `postgres-protocol` afterward: where the two decide differently, no client of one kind can log in
//! with a password that the other one set.

use stringprep::tables::{
    ascii_control_character, bidi_l, bidi_r_or_al, change_display_properties_or_deprecated, commonly_mapped_to_nothing,
    inappropriate_for_canonical_representation, inappropriate_for_plain_text, non_ascii_control_character,
    non_ascii_space_character, non_character_code_point, private_use, tagging_character, unassigned_code_point,
};

/// What is wrong with a password that is not prepared alike.
pub(crate) const PREPARED_DIFFERENTLY: &str =
    "PostgreSQL and the operator prepare its Unicode characters differently (SASLprep)";

/// The characters that SASLprep rejects.
const REJECTED: [fn(char) -> bool; 9] = [
    ascii_control_character,
    non_ascii_control_character,
    private_use,
    non_character_code_point,
    inappropriate_for_plain_text,
    inappropriate_for_canonical_representation,
    change_display_properties_or_deprecated,
    tagging_character,
    unassigned_code_point,
];

/// Whether PostgreSQL and this program hash the same text for that password.
pub(crate) fn is_prepared_alike(password: &str) -> bool {
    match stringprep::saslprep(password) {
        Ok(prepared) => *prepared == *password || !postgres_rejects(password),
        Err(_) => postgres_rejects(password),
    }
}

/// Whether PostgreSQL uses the password as it is.
fn postgres_rejects(password: &str) -> bool {
    let map = |c: char| if non_ascii_space_character(c) { ' ' } else { c };
    let mapped: String = password.chars().map(map).filter(|c| !commonly_mapped_to_nothing(*c)).collect();
    let is_mixed = || {
        mapped.contains(bidi_r_or_al)
            && (mapped.contains(bidi_l) || !mapped.starts_with(bidi_r_or_al) || !mapped.ends_with(bidi_r_or_al))
    };
    mapped.is_empty() || mapped.chars().any(|c| REJECTED.iter().any(|is_rejected| is_rejected(c))) || is_mixed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_passwords_are_prepared_alike_whether_saslprep_changes_or_rejects_them() {
        let unchanged = ["secret", "quo'te", "p\u{e4}ss", "\u{5d0}\u{5d1}", "\u{1f511}key"];
        let changed = ["pa\u{308}ss", "\u{ff21}\u{ff11}", "a\u{a0}b", "soft\u{ad}hyphen", "\u{fb01}", "a\u{200b}b"];
        let rejected = ["\u{e000}", "a\u{fffd}", "\u{5d0}a", "\u{1f511}a\u{308}", "1\u{5d0}\u{a0}"];
        for password in [&unchanged[..], &changed, &rejected].concat() {
            assert!(is_prepared_alike(password), "{}", password.escape_unicode());
        }
    }

    #[test]
    fn passwords_that_normalization_makes_acceptable_or_not_are_prepared_differently() {
        let empty = ["\u{ad}", "\u{ad}\u{ad}"];
        // Newer than Unicode 3.2, with a decomposition into older characters.
        let newer = ["\u{2c7c}", "\u{1f130}b", "\u{32d0}\u{3250}"];
        let deprecated = ["a\u{340}", "a\u{341}"];
        let bidirectional = ["\u{5d0}\u{2122}\u{5d0}", "\u{5d0}\u{fb1d}", "a\u{2135}"];
        for password in [&empty[..], &newer, &deprecated, &bidirectional].concat() {
            assert!(!is_prepared_alike(password), "{}", password.escape_unicode());
        }
    }
}
