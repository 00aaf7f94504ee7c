//! As whom what of a dump is executed. Pure.

/// As whom a session is authenticated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    Superuser,
    Owner(String),
    /// A role without rights, for what belongs to this superuser, to whom it is handed over in the end.
    StandIn(String),
}
