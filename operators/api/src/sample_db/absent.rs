//! What counts as absent: defaults, nulls, empty texts, and values that only a later manager knows.

use serde::de::value::StringDeserializer;
use serde::{Deserialize, Deserializer};

/// Whether a value equals its type's default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a part of the spec; a server-side apply that empties a part leaves null.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads a text; an empty one counts as unset.
pub(super) fn non_empty<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
}

/// Reads an enum value or a time of status; an unknown one (a later manager may have written it) counts as absent.
pub(crate) fn known<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.and_then(|text| T::deserialize(StringDeserializer::<serde::de::value::Error>::new(text)).ok()))
}
