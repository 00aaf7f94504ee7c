//! Pure: the databases that every server has.

/// The one that is connected to for what concerns no database.
pub(crate) const MAINTENANCE: &str = "postgres";

/// The one database of a new server that an upgrade never replaces. It replaces `postgres`, so that its settings come along.
pub(crate) const TEMPLATE: &str = "template1";

/// Whether every server has it. Then a load fills it where it is, and a snapshot has it only if somebody put something into it.
pub(crate) fn stands(database: &str) -> bool {
    [MAINTENANCE, TEMPLATE].contains(&database)
}
