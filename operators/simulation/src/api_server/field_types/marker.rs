//! The markers of fields, in tables.

/// The fields of a struct that have a marker, or one below them.
pub(super) type FieldTable = &'static [(&'static str, Marker)];

/// How a field merges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Marker {
    /// As a whole, though it is a map or a struct.
    Atomic,
    /// A list of values.
    Set,
    /// A map with any keys; its values have no marker.
    Map,
    /// A list of structs that are identified by these fields.
    Keyed(&'static [&'static str], FieldTable),
    /// A list of structs that are identified by these fields, and each owned as a whole.
    KeyedAtomic(&'static [&'static str]),
    /// A struct.
    Struct(FieldTable),
}
