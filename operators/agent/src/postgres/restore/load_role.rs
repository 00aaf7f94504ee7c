//! Pure: as which role a session executes entries of a dump.

/// The role that a session authenticates as.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LoadRole {
    Superuser,
    Owner(String),
    /// A role without rights, for what belongs to this superuser, to whom it is handed over in the end.
    StandIn(String),
}
