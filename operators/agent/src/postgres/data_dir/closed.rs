//! Whether a server admits clients other than superusers.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::hba::HbaAccess;

/// How long a login may take: a client has 60 s for its password.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(75);

/// A role that does not exist: an open server requests its password, a closed one rejects it.
const PROBE_ROLE: &str = "multi_operator_nobody";

/// Processes of the server that are no session yet. The server still applies the old rules to a client that began to connect
/// before they changed, and is slow to send the password. Only /proc shows these processes. They have no title yet, or one that
/// begins with the names of user and database, which may be any: the address after these distinguishes them from processes of the
/// server and of its extensions.
const STARTING_BACKENDS: &str = "SELECT child.pid::int FROM (SELECT pid, pg_catalog.rtrim(pg_catalog.encode(\
pg_catalog.pg_read_binary_file('/proc/' || pid || '/cmdline', 0, 500, true), 'escape'), '\\000 ') AS title \
FROM pg_catalog.regexp_split_to_table(pg_catalog.btrim(pg_catalog.pg_read_file(pg_catalog.format('/proc/%1$s/task/%1$s/children', \
pg_catalog.split_part(pg_catalog.pg_read_file('postmaster.pid'), E'\\n', 1)), 0, 1000000)), ' ') AS pid) AS child \
WHERE title <> '' AND (title !~ '^postgres: ' OR title ~ '[^ ][(][0-9]+[)]|[[]local[]]') \
AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid::text = child.pid)";

/// Connects as another role: the server's answer applies to all later clients. It is not enough that the postmaster has read the
/// file, as it keeps its earlier rules if the file has an error.
pub(crate) fn rejects_others(tools: &Tools, connection: &Connection) -> Result<bool, CommandFailure> {
    let probe = connection.with_user(PROBE_ROLE, None);
    let answer = Session::connect(tools, &probe, MAINTENANCE).and_then(|mut session| session.query("SELECT 1"));
    match answer {
        Err(failure) if failure.message().contains("no pg_hba.conf entry") => Ok(true),
        Err(failure) if failure.reason() == Reason::ConnectionFailed => Err(failure),
        // The server requested a password, or all its connections are in use.
        _ => Ok(false),
    }
}

/// Queries the backends that are starting. In a session of its own, since a server that cannot read /proc ends it with an error;
/// then the agent does not wait for clients that are about to send a password.
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

/// Whether the server is closed to all but superusers, no session of another role is left, and no client is still connecting that
/// began before the server was closed.
pub(crate) fn is_closed(
    tools: &Tools,
    connection: &Connection,
    session: &mut Session<'_>,
) -> Result<bool, CommandFailure> {
    let rules = "SELECT pg_catalog.to_json(pg_catalog.pg_read_file(pg_catalog.current_setting('hba_file')))";
    let rules: Option<String> = session.query_json(rules)?.pop();
    if rules.and_then(|text| HbaAccess::of(&text)) != Some(HbaAccess::Closed) || !rejects_others(tools, connection)? {
        return Ok(false);
    }
    let (mut awaited, end) = (starting_backends(tools, connection), Instant::now() + LOGIN_TIMEOUT);
    while !awaited.is_empty() && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
        let now = starting_backends(tools, connection);
        awaited.retain(|process| now.contains(process));
    }
    let left = "SELECT 1 FROM pg_catalog.pg_stat_activity a LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid \
                WHERE a.backend_type IN ('client backend', 'walsender') AND r.rolsuper IS NOT TRUE";
    Ok(awaited.is_empty() && session.query_one(left)?.is_none())
}
