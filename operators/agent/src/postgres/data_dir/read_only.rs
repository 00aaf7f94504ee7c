//! Makes the sessions of a server that is closed for a copy read-only by default: the rules admit superusers, and the copy lacks
//! what they write afterwards. A superuser can override that, which shows in the number of the next transaction.

use std::thread;
use std::time::{Duration, Instant};

use crate::failure::CommandFailure;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote::literal;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};

const PARAMETER: &str = "default_transaction_read_only";

/// How long the server may take to read its files: one with an error in a file does not apply it.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Sets it, and waits until new sessions have it. A server that rejects ALTER SYSTEM, or has an error in its files, is copied
/// without it.
pub(crate) fn enable(tools: &Tools, connection: &Connection) -> Result<(), CommandFailure> {
    let mut session = Session::open(tools, connection, MAINTENANCE)?;
    match session.query(&format!("ALTER SYSTEM SET {PARAMETER} = on")) {
        Err(failure) if failure.message().contains("ALTER SYSTEM is not allowed") => {
            eprintln!("cannot make the sessions of superusers read-only: {}", failure.message());
            return Ok(());
        }
        set => set?,
    };
    let set = session.query_one("SELECT pg_catalog.clock_timestamp()")?.unwrap_or_default();
    session.query("SELECT pg_catalog.pg_reload_conf()")?;
    let end = Instant::now() + RELOAD_TIMEOUT;
    while !is_in_force(tools, connection, &set)? {
        if Instant::now() > end {
            eprintln!("the sessions of superusers are not read-only: the server does not reload its configuration");
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether new sessions have it: the postmaster, whose memory they inherit, has read its files since then.
fn is_in_force(tools: &Tools, connection: &Connection, set: &str) -> Result<bool, CommandFailure> {
    let read = format!("SELECT 1 WHERE pg_catalog.pg_conf_load_time() >= {}::timestamptz", literal(set));
    Ok(Session::open(tools, connection, MAINTENANCE)?.query_one(&read)?.is_some())
}

/// Whether a `postgresql.auto.conf` sets it. Pure.
pub(crate) fn is_in(text: &str) -> bool {
    let value =
        |line: &str| Some(line.trim().strip_prefix(PARAMETER)?.trim_start().strip_prefix('=')?.trim().to_owned());
    text.lines().filter_map(value).next_back().is_some_and(|value| value.trim_matches('\'') == "on")
}

/// The line that sets it. Pure.
pub(crate) fn line() -> String {
    format!("{PARAMETER} = 'on'\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_holds() {
        assert!(is_in(&format!("# comment\nwork_mem = '4MB'\n{}", line())));
        assert!(!is_in("") && !is_in("# default_transaction_read_only = 'on'\n"));
        assert!(!is_in(&format!("{}{PARAMETER} = 'off'\n", line())));
        assert!(!is_in("default_transaction_read_only_too = 'on'\n"));
    }
}
