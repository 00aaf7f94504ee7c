//! Whether a server admits clients other than superusers.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Reason};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::hba::Access;

/// A client has 60 s for its password.
const LOGIN_WITHIN: Duration = Duration::from_secs(75);

/// No such role: an open server asks it for a password, a closed one sends it away.
const PROBE_ROLE: &str = "multi_operator_nobody";

/// Processes of the server that are no session yet: a client that began to connect before the rules held, and is slow to send
/// the password, is judged by the old rules. They are seen in /proc alone, and have no title yet, or one that begins with the names
/// that they ask for, which may be any: it is the address after them that tells them from processes of the server's and of its
/// extensions.
const STARTING_BACKENDS: &str = "SELECT child.pid::int FROM (SELECT pid, pg_catalog.rtrim(pg_catalog.encode(\
pg_catalog.pg_read_binary_file('/proc/' || pid || '/cmdline', 0, 500, true), 'escape'), '\\000 ') AS title \
FROM pg_catalog.regexp_split_to_table(pg_catalog.btrim(pg_catalog.pg_read_file(pg_catalog.format('/proc/%1$s/task/%1$s/children', \
pg_catalog.split_part(pg_catalog.pg_read_file('postmaster.pid'), E'\\n', 1)), 0, 1000000)), ' ') AS pid) AS child \
WHERE title <> '' AND (title !~ '^postgres: ' OR title ~ '[^ ][(][0-9]+[)]|[[]local[]]') \
AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid::text = child.pid)";

/// Connects as another role: what the server answers holds for all who come after. That the postmaster has read the
/// file is not enough, as it keeps its rules if it finds the file wrong.
pub(crate) fn refuses_others(tools: &Tools, connection: &Connection) -> Result<bool, Failure> {
    let probe = connection.with_user(PROBE_ROLE, None);
    let asked = Session::connect(tools, &probe, MAINTENANCE).and_then(|mut session| session.query("SELECT 1"));
    match asked {
        Err(failure) if failure.message().contains("no pg_hba.conf entry") => Ok(true),
        Err(failure) if failure.reason() == Reason::ConnectionFailed => Err(failure),
        // It was asked for a password; or all places are taken.
        _ => Ok(false),
    }
}

/// By a session of its own, since a server that cannot look there ends it with an error. Then the moments that a
/// password takes are not waited for.
pub(crate) fn starting_backends(tools: &Tools, connection: &Connection) -> BTreeSet<u32> {
    let found = Session::open(tools, connection, MAINTENANCE)
        .and_then(|mut session| session.query_json::<u32>(STARTING_BACKENDS));
    match found {
        Ok(processes) => processes.into_iter().collect(),
        Err(failure) => {
            eprintln!("cannot list the backends that are starting: {}", failure.message());
            BTreeSet::new()
        }
    }
}

/// Whether the server is closed to all but superusers, no session of another role's is left in it, and none is coming that
/// began to connect before it was closed.
pub(crate) fn is_closed(tools: &Tools, connection: &Connection, session: &mut Session<'_>) -> Result<bool, Failure> {
    let rules = "SELECT pg_catalog.to_json(pg_catalog.pg_read_file(pg_catalog.current_setting('hba_file')))";
    let rules: Option<String> = session.query_json(rules)?.pop();
    if rules.and_then(|text| Access::of(&text)) != Some(Access::Closed) || !refuses_others(tools, connection)? {
        return Ok(false);
    }
    let (mut awaited, end) = (starting_backends(tools, connection), Instant::now() + LOGIN_WITHIN);
    while !awaited.is_empty() && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
        let now = starting_backends(tools, connection);
        awaited.retain(|process| now.contains(process));
    }
    let left = "SELECT 1 FROM pg_catalog.pg_stat_activity a LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid \
                WHERE a.backend_type IN ('client backend', 'walsender') AND r.rolsuper IS NOT TRUE";
    Ok(awaited.is_empty() && session.query_one(left)?.is_none())
}
