//! Changes of a server's password, parameters and access rules.

use std::collections::BTreeSet;
use std::time::Duration;

use postgres_protocol::escape::{escape_identifier, escape_literal};
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connect::{ConnectError, ServerAddress, with_deadline};
use crate::database::{is_list, parts};
use crate::password::Password;
use crate::queries::ServerAccess;

/// Replaces the file with the access rules by one that `pg-prepare` has put next to it.
const RULES: &str = "DO $$ BEGIN EXECUTE pg_catalog.format('COPY (SELECT pg_catalog.regexp_split_to_table(
    pg_catalog.rtrim(pg_catalog.pg_read_file(%L), chr(10)), chr(10))) TO %L', '<file>',
    pg_catalog.current_setting('data_directory') || '/pg_hba.conf'); END $$; SELECT pg_catalog.pg_reload_conf()";
/// Rules for every role with a password.
const OPEN: &str = "pg_hba.open.conf";
/// Rules for the superuser alone.
const CLOSED: &str = "pg_hba.closed.conf";

/// Ends sessions of clients and of log readers: all that began before the rules were effective, and later those of all but
/// superusers. Returns how many there were.
const OTHER_SESSIONS: &str =
    "SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid)) FROM pg_catalog.pg_stat_activity a
    LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid WHERE a.backend_type IN ('client backend', 'walsender')
    AND a.pid <> pg_catalog.pg_backend_pid() AND (r.rolsuper IS NOT TRUE OR a.backend_start < $1::text::timestamptz)";
/// Processes of the server that are not sessions yet: a client that began to connect before the rules were effective, and is slow
/// to send the password, is admitted by the old ones. Such a process has no title yet, or one that begins with the names that the
/// client asks for, which may be any. The client's address after them distinguishes it from processes of the server and its
/// extensions. The agent finds them in the same way (`operators/agent/src/postgres/data_dir/closed.rs`).
const STARTING_BACKENDS: &str = "SELECT child.pid FROM (SELECT pid, pg_catalog.rtrim(pg_catalog.encode(
    pg_catalog.pg_read_binary_file('/proc/' || pid || '/cmdline', 0, 500, true), 'escape'), '\\000 ') AS title
    FROM pg_catalog.regexp_split_to_table(pg_catalog.btrim(pg_catalog.pg_read_file(pg_catalog.format(
    '/proc/%1$s/task/%1$s/children', pg_catalog.split_part(pg_catalog.pg_read_file('postmaster.pid'), E'\\n', 1)),
    0, 1000000)), ' ') AS pid) AS child
    WHERE title <> '' AND (title !~ '^postgres: ' OR title ~ '[^ ][(][0-9]+[)]|[[]local[]]')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid::text = child.pid)";
/// The setting that makes sessions of superusers, whom the rules allow, read-only by default while clients are blocked: nothing
/// copies what they would write.
pub(super) const READ_ONLY: &str = "default_transaction_read_only";
/// How long the server may take to reload its files. It ignores files with an error.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(3);
/// A role that does not exist: a server that allows clients asks it for a password, one that blocks them refuses it.
const PROBE_ROLE: &str = "multi_operator_nobody";
/// How often it is checked whether sessions have ended.
const POLL_SESSIONS: Duration = Duration::from_millis(100);

/// Sets the password of a role. The statement does not contain the password itself.
pub(super) async fn password(
    address: &ServerAddress<'_>,
    access: &ServerAccess,
    role: &str,
    password: &Password,
) -> Result<(), ConnectError> {
    with_deadline(async {
        let client = address.superuser(access).await?;
        let verifier = postgres_protocol::password::scram_sha_256(password.text().as_bytes());
        let statement = format!("ALTER ROLE {} PASSWORD {}", escape_identifier(role), escape_literal(&verifier));
        Ok(client.batch_execute(&statement).await?)
    })
    .await
}

/// Sets and resets parameters, and reloads. Returns the server's message if it rejects one.
pub(super) async fn parameters(
    address: &ServerAddress<'_>,
    access: &ServerAccess,
    set: &[(String, String)],
    reset: &[String],
) -> Result<Option<String>, ConnectError> {
    with_deadline(async {
        let client = address.superuser(access).await?;
        for name in reset {
            client.batch_execute(&format!("ALTER SYSTEM RESET {}", parameter(name))).await?;
        }
        for (name, value) in set {
            let statement = format!("ALTER SYSTEM SET {} = {}", parameter(name), setting(name, value));
            if let Err(error) = client.batch_execute(&statement).await {
                let server = error.as_db_error().filter(|server| is_about_parameter(server.code()));
                let server = server.map(|server| {
                    let hint = server.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
                    format!("{}{hint}", server.message())
                });
                return server.map(Some).ok_or_else(|| error.into());
            }
        }
        client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
        Ok(None)
    })
    .await
}

/// Whether an error is about the parameter, and not about the server.
fn is_about_parameter(code: &SqlState) -> bool {
    let classes = ["22", "42", "55", "0A"];
    classes.iter().any(|class| code.code().starts_with(class))
}

/// Allows clients to connect. The read-only setting is reset first, so that a server that allows clients is never read-only.
pub(super) async fn allow_clients(address: &ServerAddress<'_>, access: &ServerAccess) -> Result<(), ConnectError> {
    with_deadline(async {
        let client = address.superuser(access).await?;
        set_read_only(&client, &format!("ALTER SYSTEM RESET {READ_ONLY}")).await?;
        Ok(client.batch_execute(&rules(OPEN)).await?)
    })
    .await
}

/// Makes sessions read-only by default, or resets that. Returns whether the server accepts such statements. ALTER SYSTEM must be
/// the only statement, as it cannot run in a transaction.
async fn set_read_only(client: &Client, statement: &str) -> Result<bool, ConnectError> {
    match client.batch_execute(statement).await {
        Ok(()) => Ok(true),
        Err(error) if error.as_db_error().is_some_and(|server| *server.code() == SqlState::FEATURE_NOT_SUPPORTED) => {
            tracing::warn!(%error, statement, "the server does not support ALTER SYSTEM");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sessions and starting backends from before clients were blocked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingSessions {
    /// The pod.
    pub pod: String,
    /// Since when the rules are known to be effective, by the server's clock.
    pub blocked_since: String,
    /// Backends that are not sessions yet.
    pub starting: BTreeSet<String>,
}

/// Blocks all clients but the superuser, whose sessions become read-only by default.
pub(super) async fn block_clients(
    address: &ServerAddress<'_>,
    access: &ServerAccess,
) -> Result<RemainingSessions, ConnectError> {
    with_deadline(async {
        let client = address.superuser(access).await?;
        client.batch_execute(&rules(CLOSED)).await?;
        if set_read_only(&client, &format!("ALTER SYSTEM SET {READ_ONLY} = on")).await? {
            let set: String = client.query_one("SELECT pg_catalog.clock_timestamp()::text", &[]).await?.try_get(0)?;
            client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
            let end = Instant::now() + RELOAD_TIMEOUT;
            while !has_reloaded(address, access, &set).await? && Instant::now() < end {
                tokio::time::sleep(POLL_SESSIONS).await;
            }
        }
        while !is_blocking(address).await {
            tokio::time::sleep(POLL_SESSIONS).await;
        }
        let blocked_since = client.query_one("SELECT pg_catalog.clock_timestamp()::text", &[]).await?.try_get(0)?;
        Ok(RemainingSessions { pod: access.pod.clone(), blocked_since, starting: starting_backends(&client).await? })
    })
    .await
}

/// Whether sessions that begin now have the settings that were written before `set`: the postmaster, whose memory they copy, has
/// reloaded its files.
async fn has_reloaded(address: &ServerAddress<'_>, access: &ServerAccess, set: &str) -> Result<bool, ConnectError> {
    let read = "SELECT pg_catalog.pg_conf_load_time() >= $1::text::timestamptz";
    Ok(address.superuser(access).await?.query_one(read, &[&set]).await?.try_get(0)?)
}

/// Ends every other session, and waits for their end: what is read afterward is all that was acknowledged to clients. A client
/// may take a minute to send its password, so this may take more than one attempt.
pub(super) async fn end_others(
    address: &ServerAddress<'_>,
    access: &ServerAccess,
    remaining: &mut RemainingSessions,
) -> Result<(), ConnectError> {
    with_deadline(async {
        let client = address.superuser(access).await?;
        loop {
            let others: i64 = client.query_one(OTHER_SESSIONS, &[&remaining.blocked_since]).await?.try_get(0)?;
            if others == 0 && remaining.starting.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(POLL_SESSIONS).await;
            let now = starting_backends(&client).await?;
            remaining.starting.retain(|process| now.contains(process));
        }
    })
    .await
}

/// Whether the rules that block clients are effective.
pub(super) async fn is_blocking(address: &ServerAddress<'_>) -> bool {
    match address.connect(PROBE_ROLE, PROBE_ROLE, "postgres").await {
        Err(ConnectError::Server(_, why)) => why.contains("no pg_hba.conf entry"),
        _ => false,
    }
}

async fn starting_backends(client: &Client) -> Result<BTreeSet<String>, ConnectError> {
    let rows = match client.query(STARTING_BACKENDS, &[]).await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(%error, "starting backends cannot be read; clients that are still authenticating are not waited for");
            return Ok(BTreeSet::new());
        }
    };
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

fn rules(file: &str) -> String {
    RULES.replace("<file>", file)
}

/// A parameter's name, each part of which is quoted.
fn parameter(name: &str) -> String {
    name.split('.').map(escape_identifier).collect::<Vec<_>>().join(".")
}

/// A value. The items of a list are quoted one by one, since PostgreSQL would take the list for one item.
fn setting(name: &str, value: &str) -> String {
    match is_list(name) {
        true => parts(value).map(escape_literal).collect::<Vec<_>>().join(", "),
        false => escape_literal(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_quoted() {
        assert_eq!(escape_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(parameter("auto_explain.log_min_duration"), "\"auto_explain\".\"log_min_duration\"");
        assert_eq!(escape_literal("a'b\\"), " E'a''b\\\\'");
        assert_eq!(setting("shared_preload_libraries", "a, b"), "'a', 'b'");
        assert_eq!(setting("datestyle", "ISO, MDY"), "'ISO, MDY'");
    }
}
