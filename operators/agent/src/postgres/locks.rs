//! How many tables a server can have locked at once: pg_dump locks all of a database until it has ended. Pure.

/// What others lock meanwhile, and pg_dump of the catalogs.
const OTHERS: u64 = 150;

/// What `max_locks_per_transaction` has to be, if it is too little for so many tables. The limits are that, and how many
/// processes and prepared transactions there can be: the server has room for that many times as many locks.
pub(crate) fn lacking(tables: u64, (locks, processes, prepared): (u64, u64, u64)) -> Option<u64> {
    let places = processes.saturating_add(prepared).max(1);
    let needed = tables.saturating_add(tables / 20).saturating_add(OTHERS);
    (needed > locks.saturating_mul(places)).then(|| needed.div_ceil(places))
}

pub(crate) fn sentence(database: &str, tables: u64, needed: u64) -> String {
    format!(
        "database {database} has {tables} tables, and the server cannot lock that many at once: set the parameter \
         max_locks_per_transaction to {needed} or more"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_tables_as_locks_fit() {
        let default = (64, 100, 0);
        assert_eq!(lacking(5_000, default), None);
        assert_eq!(lacking(20_000, default), Some(212));
        assert_eq!(lacking(50_000, default), Some(527));
        assert_eq!(lacking(50_000, (530, 100, 0)), None);
        assert_eq!(lacking(20_000, (64, 300, 100)), None);
        assert_eq!(lacking(0, (64, 5, 0)), None, "few connections are no reason to refuse an empty database");
        assert!(sentence("app", 20_000, 215).contains("max_locks_per_transaction to 215"));
    }
}
