//! Pure: the roles that execute entries of a dump.

/// The role that a session authenticates as.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LoadRole {
    Superuser,
    Owner(String),
    /// A role without privileges that creates the objects of this superuser, who becomes their owner in the end.
    StandIn(String),
}
