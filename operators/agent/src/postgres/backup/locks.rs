//! How many tables a server can have locked at once: pg_dump locks all of a database until it has ended.

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::session::Session;

/// Locks of other sessions, and those of pg_dump on catalogs.
const OTHERS: u64 = 150;

/// The settings that determine how many locks fit.
const LIMITS: &str = "SELECT pg_catalog.json_build_array(pg_catalog.current_setting('max_locks_per_transaction')::int8, \
    pg_catalog.current_setting('max_connections')::int8 + pg_catalog.current_setting('max_worker_processes')::int8 + \
    pg_catalog.current_setting('autovacuum_max_workers')::int8 + pg_catalog.current_setting('max_wal_senders')::int8, \
    pg_catalog.current_setting('max_prepared_transactions')::int8)";
const TABLES: &str = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p') AND \
    relnamespace <> 'pg_catalog'::pg_catalog.regnamespace";
/// The error of a server that has no memory for another lock.
const FULL: &str = "out of shared memory";

/// A message if the server cannot lock all tables of the session's database at once.
pub(crate) fn too_many_tables(session: &mut Session<'_>, database: &str) -> Result<Option<String>, CommandFailure> {
    let limits = session.query_json::<(u64, u64, u64)>(LIMITS)?.pop().unwrap_or((64, 100, 0));
    let tables = session.query_json::<u64>(TABLES)?.pop().unwrap_or(0);
    Ok(lacking(tables, limits).map(|needed| message(database, tables, needed)))
}

/// Adds what to do to the failure of a command that reads a complete database, if it had too many tables. The agent does not
/// count them before: the server has memory for somewhat more locks than the settings say, and what worked must go on working.
pub(crate) fn explain(
    failure: CommandFailure,
    tables: impl FnOnce() -> Result<Option<String>, CommandFailure>,
) -> CommandFailure {
    if !failure.message().contains(FULL) {
        return failure;
    }
    let more = || format!("{}: set the parameter max_locks_per_transaction to more", failure.message());
    CommandFailure::new(Reason::Unsupported, tables().ok().flatten().unwrap_or_else(more))
}

/// The necessary `max_locks_per_transaction`, if it is too low for so many tables. The limits are its value, and the maximum
/// numbers of processes and of prepared transactions: the server has memory for that many times as many locks.
fn lacking(tables: u64, (locks, processes, prepared): (u64, u64, u64)) -> Option<u64> {
    let transactions = processes.saturating_add(prepared).max(1);
    let needed = tables.saturating_add(tables / 20).saturating_add(OTHERS);
    (needed > locks.saturating_mul(transactions)).then(|| needed.div_ceil(transactions))
}

fn message(database: &str, tables: u64, needed: u64) -> String {
    format!(
        "database {database} has {tables} tables, and the server cannot lock that many at once: set the parameter \
         max_locks_per_transaction to {needed} or more"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_memory_for_locks_is_reported_with_what_to_set() {
        let full = || CommandFailure::new(Reason::ToolFailed, "psql: ERROR:  out of shared memory");
        let explained = explain(full(), || Ok(Some("too many".to_owned())));
        assert_eq!((explained.reason(), explained.message()), (Reason::Unsupported, "too many"));
        assert!(explain(full(), || Ok(None)).message().contains("max_locks_per_transaction"));
        let other = explain(CommandFailure::new(Reason::NoSpace, "full"), || Ok(Some("too many".to_owned())));
        assert_eq!(other.reason(), Reason::NoSpace);
    }

    #[test]
    fn as_many_tables_as_locks_fit() {
        let default = (64, 100, 0);
        assert_eq!(lacking(5_000, default), None);
        // 100 connections and the processes that a server has by itself.
        let server = (64, 121, 0);
        assert_eq!((lacking(7_233, server), lacking(7_234, server)), (None, Some(65)));
        assert_eq!(lacking(20_000, default), Some(212));
        assert_eq!(lacking(50_000, default), Some(527));
        assert_eq!(lacking(50_000, (530, 100, 0)), None);
        assert_eq!(lacking(20_000, (64, 300, 100)), None);
        assert_eq!(lacking(0, (64, 5, 0)), None, "few connections are no reason to refuse an empty database");
        assert!(message("app", 20_000, 215).contains("max_locks_per_transaction to 215"));
    }
}
