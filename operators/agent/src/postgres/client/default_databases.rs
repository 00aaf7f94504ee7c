//! Pure: the databases that every server has.

/// The database to connect to for statements that concern the server.
pub(crate) const MAINTENANCE: &str = "postgres";

/// The one database of a new server that an upgrade never replaces. It does replace `postgres`, so that its settings are kept.
pub(crate) const TEMPLATE: &str = "template1";

/// Whether every server has it. A load then fills the existing one, and a snapshot lists it only if users put something into it.
pub(crate) fn is_default(database: &str) -> bool {
    [MAINTENANCE, TEMPLATE].contains(&database)
}
