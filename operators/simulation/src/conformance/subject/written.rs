//! What is written to the objects of a kind.

/// A pointer to a field, and values of it; null removes it.
pub(in crate::conformance) type Field = (&'static str, &'static [&'static str]);

/// A kind, and what is written to its objects.
pub(in crate::conformance) struct Subject {
    /// The plural of the kind.
    pub plural: &'static str,
    /// The path of its group and version.
    pub root: &'static str,
    /// Its group and version in objects.
    pub api_version: &'static str,
    /// Its name in objects.
    pub kind: &'static str,
    /// Controllers of a real cluster write to its objects at any time.
    pub contended: bool,
    /// Its schema is known to the model, so unknown fields may be sent.
    pub custom: bool,
    /// It has the subresource `scale`, and scaling starts nothing.
    pub scale: bool,
    /// An admission plugin gives it a finalizer that a controller removes, so it is not deleted.
    pub kept: bool,
    /// An update creates an object that does not exist.
    pub created_by_updates: bool,
    /// What a new object has beside its metadata: one of these.
    pub bases: &'static [&'static str],
    /// What each apply has, since one without it would remove it; null for what none has.
    pub always: &'static str,
    /// What is changed.
    pub fields: &'static [Field],
    /// What makes a new object invalid.
    pub refused: &'static [Field],
    /// What cannot be changed.
    pub fixed: &'static [Field],
    /// What is written to the status.
    pub status: &'static [Field],
}

/// A kind to whose objects nothing is written.
pub(super) const EMPTY: Subject = Subject {
    plural: "",
    root: "/api/v1",
    api_version: "v1",
    kind: "",
    contended: false,
    custom: false,
    scale: false,
    kept: false,
    created_by_updates: false,
    bases: &["{}"],
    always: "{}",
    fields: &[],
    refused: &[],
    fixed: &[],
    status: &[],
};
