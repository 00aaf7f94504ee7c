//! Changes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use postgres_protocol::escape::{escape_identifier, escape_literal};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connect::{Address, Refused, within};
use crate::database::{is_list, parts};
use crate::password::Password;
use crate::queries::Access;

/// Puts a file that `pg-prepare` has put beside the one with the rules in its place.
const RULES: &str = "DO $$ BEGIN EXECUTE pg_catalog.format('COPY (SELECT pg_catalog.regexp_split_to_table(
    pg_catalog.rtrim(pg_catalog.pg_read_file(%L), chr(10)), chr(10))) TO %L', '<file>',
    pg_catalog.current_setting('data_directory') || '/pg_hba.conf'); END $$; SELECT pg_catalog.pg_reload_conf()";
/// Everybody who has a password.
const OPEN: &str = "pg_hba.open.conf";
/// The superuser alone.
const CLOSED: &str = "pg_hba.closed.conf";

/// Ends sessions of clients, and of what reads the log: all that were there before the rules held, and afterwards all but
/// those of superusers. How many there were.
const OTHERS: &str =
    "SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid)) FROM pg_catalog.pg_stat_activity a
    LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid WHERE a.backend_type IN ('client backend', 'walsender')
    AND a.pid <> pg_catalog.pg_backend_pid() AND (r.rolsuper IS NOT TRUE OR a.backend_start < $1::text::timestamptz)";
/// Processes of the server that are no session yet: whoever began to connect before the rules held, and is slow to tell the
/// password, is judged by the old ones. They have no title yet, or one that begins with the names that they ask for, which may be any:
/// it is the address after them that tells them from processes of the server's and of its extensions. The agent looks for them in the same
/// way (`operators/agent/src/postgres/data_dir/closed.rs`).
const COMING: &str = "SELECT child.pid FROM (SELECT pid, pg_catalog.rtrim(pg_catalog.encode(
    pg_catalog.pg_read_binary_file('/proc/' || pid || '/cmdline', 0, 500, true), 'escape'), '\\000 ') AS title
    FROM pg_catalog.regexp_split_to_table(pg_catalog.btrim(pg_catalog.pg_read_file(pg_catalog.format(
    '/proc/%1$s/task/%1$s/children', pg_catalog.split_part(pg_catalog.pg_read_file('postmaster.pid'), E'\\n', 1)),
    0, 1000000)), ' ') AS pid) AS child
    WHERE title <> '' AND (title !~ '^postgres: ' OR title ~ '[^ ][(][0-9]+[)]|[[]local[]]')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid::text = child.pid)";
/// What superusers, whom the rules let in, do by default while a server is shut: they do not write what nobody copies any more.
pub(super) const READ_ONLY: &str = "default_transaction_read_only";
/// How long the server may take to read its files: one in whose files something is wrong does not take what they say.
const READ_WITHIN: Duration = Duration::from_secs(3);
/// No such role: an open server asks it for a password, a closed one sends it away.
const NOBODY: &str = "multi_operator_nobody";
/// How long until it is looked at again whether sessions have ended.
const POLL_SESSIONS: Duration = Duration::from_millis(100);

/// Sets the password of a role. The password itself is in no statement.
pub(super) async fn password(
    address: &Address<'_>,
    access: &Access,
    role: &str,
    password: &Password,
) -> Result<(), Refused> {
    within(async {
        let client = address.superuser(access).await?;
        let verifier = postgres_protocol::password::scram_sha_256(password.text().as_bytes());
        let statement = format!("ALTER ROLE {} PASSWORD {}", escape_identifier(role), escape_literal(&verifier));
        Ok(client.batch_execute(&statement).await?)
    })
    .await
}

/// Sets parameters, and takes others back; they are read at once. Which one the server refused, and why, if it did.
pub(super) async fn parameters(
    address: &Address<'_>,
    access: &Access,
    set: &[(String, String)],
    reset: &[String],
) -> Result<Option<String>, Refused> {
    within(async {
        let client = address.superuser(access).await?;
        for name in reset {
            client.batch_execute(&format!("ALTER SYSTEM RESET {}", parameter(name))).await?;
        }
        for (name, value) in set {
            let statement = format!("ALTER SYSTEM SET {} = {}", parameter(name), setting(name, value));
            if let Err(error) = client.batch_execute(&statement).await {
                let said = error.as_db_error().filter(|said| is_refusal(said.code()));
                let said = said.map(|said| {
                    let hint = said.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
                    format!("{}{hint}", said.message())
                });
                return said.map(Some).ok_or_else(|| error.into());
            }
        }
        client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
        Ok(None)
    })
    .await
}

/// Whether it is about the parameter, and not about the server.
fn is_refusal(code: &SqlState) -> bool {
    let classes = ["22", "42", "55", "0A"];
    classes.iter().any(|class| code.code().starts_with(class))
}

/// Lets writers in. A server that is open is never read-only: that is taken back first.
pub(super) async fn let_in(address: &Address<'_>, access: &Access) -> Result<(), Refused> {
    within(async {
        let client = address.superuser(access).await?;
        read_only(&client, &format!("ALTER SYSTEM RESET {READ_ONLY}")).await?;
        Ok(client.batch_execute(&rules(OPEN)).await?)
    })
    .await
}

/// Sets that sessions are read-only by default, or takes it back; whether the server takes such statements. ALTER SYSTEM stands alone,
/// as it is not for a transaction.
async fn read_only(client: &Client, statement: &str) -> Result<bool, Refused> {
    match client.batch_execute(statement).await {
        Ok(()) => Ok(true),
        Err(error) if error.as_db_error().is_some_and(|said| *said.code() == SqlState::FEATURE_NOT_SUPPORTED) => {
            tracing::warn!(%error, statement, "a server does not take ALTER SYSTEM");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Who came before the rules held that shut them out, and has yet to end.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    /// Where.
    pub(super) pod: String,
    /// From when on the rules were seen to hold, by the server's clock.
    held: String,
    /// Processes that are no session yet.
    coming: BTreeSet<String>,
}

/// Shuts out all but the superuser, whose sessions are read-only from then on.
pub(super) async fn shut(address: &Address<'_>, access: &Access) -> Result<Leaving, Refused> {
    within(async {
        let client = address.superuser(access).await?;
        client.batch_execute(&rules(CLOSED)).await?;
        if read_only(&client, &format!("ALTER SYSTEM SET {READ_ONLY} = on")).await? {
            let set: String = client.query_one("SELECT pg_catalog.clock_timestamp()::text", &[]).await?.try_get(0)?;
            client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
            let end = Instant::now() + READ_WITHIN;
            while !has_read_its_files(address, access, &set).await? && Instant::now() < end {
                tokio::time::sleep(POLL_SESSIONS).await;
            }
        }
        while !refuses(address).await {
            tokio::time::sleep(POLL_SESSIONS).await;
        }
        let held = client.query_one("SELECT pg_catalog.clock_timestamp()::text", &[]).await?.try_get(0)?;
        Ok(Leaving { pod: access.pod.clone(), held, coming: coming(&client).await? })
    })
    .await
}

/// Whether sessions that begin now have what was set by then: the postmaster, of whose memory they get a copy, has read its files.
async fn has_read_its_files(address: &Address<'_>, access: &Access, set: &str) -> Result<bool, Refused> {
    let read = "SELECT pg_catalog.pg_conf_load_time() >= $1::text::timestamptz";
    Ok(address.superuser(access).await?.query_one(read, &[&set]).await?.try_get(0)?)
}

/// Ends every other session, and waits until that is so: what is read afterwards is all that anybody has been told was written.
/// Whoever is slow to tell a password has a minute for that, so it may take more than one attempt.
pub(super) async fn end_others(address: &Address<'_>, access: &Access, leaving: &mut Leaving) -> Result<(), Refused> {
    within(async {
        let client = address.superuser(access).await?;
        loop {
            let others: i64 = client.query_one(OTHERS, &[&leaving.held]).await?.try_get(0)?;
            if others == 0 && leaving.coming.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(POLL_SESSIONS).await;
            let now = coming(&client).await?;
            leaving.coming.retain(|process| now.contains(process));
        }
    })
    .await
}

/// Whether the rules that shut out hold.
pub(super) async fn refuses(address: &Address<'_>) -> bool {
    match address.connect(NOBODY, NOBODY, "postgres").await {
        Err(Refused::Said(_, why)) => why.contains("no pg_hba.conf entry"),
        _ => false,
    }
}

async fn coming(client: &Client) -> Result<BTreeSet<String>, Refused> {
    let rows = match client.query(COMING, &[]).await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(%error, "who is connecting cannot be seen");
            return Ok(BTreeSet::new());
        }
    };
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

fn rules(file: &str) -> String {
    RULES.replace("<file>", file)
}

/// A parameter's name, of which the parts are quoted each.
fn parameter(name: &str) -> String {
    name.split('.').map(escape_identifier).collect::<Vec<_>>().join(".")
}

/// A value; a list's parts one by one, since PostgreSQL would take them for one.
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
    fn nothing_gets_out_of_its_quotes() {
        assert_eq!(escape_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(parameter("auto_explain.log_min_duration"), "\"auto_explain\".\"log_min_duration\"");
        assert_eq!(escape_literal("a'b\\"), " E'a''b\\\\'");
        assert_eq!(setting("shared_preload_libraries", "a, b"), "'a', 'b'");
        assert_eq!(setting("datestyle", "ISO, MDY"), "'ISO, MDY'");
    }
}
