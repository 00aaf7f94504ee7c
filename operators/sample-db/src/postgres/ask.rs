//! Questions.

use std::collections::BTreeSet;

use agent_protocol::PgUpgradeResult;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::change::READ_ONLY;
use super::connect::{Address, Refused, shut_out, within};
use crate::database::objects::{CONFIGURATION, OWN_PARAMETERS};
use crate::database::{Account, Answer, FileSetting, Login, Parameters, parameters, wanted};
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::queries::Access;

/// The identifier of the data, the release, the first line of who is let in, the size of all databases and the WAL, and the notes
/// of the agent: `pg-ready`'s on the file system, and `pg-run`'s on settings that it has not served with.
const SELF: &str = "SELECT (SELECT system_identifier::text FROM pg_catalog.pg_control_system()),
    pg_catalog.current_setting('server_version_num')::int4,
    pg_catalog.split_part(pg_catalog.pg_read_file('pg_hba.conf'), chr(10), 1),
    (SELECT pg_catalog.sum(pg_catalog.pg_database_size(oid))::int8 FROM pg_catalog.pg_database)
        + (SELECT coalesce(pg_catalog.sum(size), 0)::int8 FROM pg_catalog.pg_ls_waldir()),
    pg_catalog.pg_read_file(pg_catalog.current_setting('data_directory') || '.room', 0, 1000, true),
    pg_catalog.pg_read_file(pg_catalog.current_setting('data_directory') || '.attempt', 0, 200000, true)";
/// All lines of the configuration files, in the order in which they are read.
const LINES: &str = "SELECT pg_catalog.lower(name), coalesce(setting, ''), sourcefile
    FROM pg_catalog.pg_file_settings WHERE name IS NOT NULL ORDER BY seqno";
const KNOWN: &str = "SELECT name, pending_restart FROM pg_catalog.pg_settings";
/// How a file begins that lets nobody but the superuser in; see the agent's `pg-prepare`.
const CLOSED: &str = "# multi-operator: closed";

/// All that is asked of a server; `reload`: after it has read its files again; `again`: of one that has let the application in at none
/// of several looks.
pub(super) async fn server(
    address: &Address<'_>,
    db: &SampleDB,
    access: &Access,
    reload: bool,
    again: bool,
) -> Result<Answer, Refused> {
    within(async {
        let client = address.superuser(access).await?;
        if reload {
            client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
        }
        let row = client.query_one(SELF, &[]).await?;
        let number: i32 = row.try_get(1)?;
        let rules: String = row.try_get(2)?;
        let (room, attempt): (Option<String>, Option<String>) = (row.try_get(4)?, row.try_get(5)?);
        let login = login(address, &client, db, access, rules.trim_end() == CLOSED, again).await;
        let parameters = judge(&client, db, login == Login::ShutOut).await?;
        Ok(Answer {
            system_identifier: row.try_get(0)?,
            version: format!("{}.{}", number / 10_000, number % 10_000),
            login,
            parameters,
            bytes: row.try_get(3)?,
            room: room.and_then(|room| serde_json::from_str(&room).ok()),
            attempt: attempt.and_then(|attempt| serde_json::from_str(&attempt).ok()),
        })
    })
    .await
    .map_err(shut_out)
}

/// The note that the agent's `pg-upgrade` leaves when a copy is whole.
const COPIED: &str = "SELECT pg_catalog.pg_read_file('multi_operator_upgrade.json', 0, 100000, true)";

/// That note. The database that every server has is one of those that are copied.
pub(super) async fn copied(address: &Address<'_>, access: &Access) -> Result<Option<PgUpgradeResult>, Refused> {
    within(async {
        let client = address.superuser_of(access, "template1").await?;
        let note: Option<String> = client.query_one(COPIED, &[]).await?.try_get(0)?;
        Ok(note.and_then(|note| serde_json::from_str(&note).ok()))
    })
    .await
}

async fn judge(client: &Client, db: &SampleDB, shut: bool) -> Result<Parameters, Refused> {
    let mut lines = Vec::new();
    for row in client.query(LINES, &[]).await? {
        let file: String = row.try_get(2)?;
        lines.push(FileSetting {
            name: row.try_get(0)?,
            value: row.try_get(1)?,
            automatic: file.ends_with("/postgresql.auto.conf"),
            mounted: file.starts_with(CONFIGURATION),
        });
    }
    let (mut known, mut restart) = (BTreeSet::new(), Vec::new());
    for row in client.query(KNOWN, &[]).await? {
        let name: String = row.try_get(0)?;
        if row.try_get(1)? {
            restart.push(name.clone());
        }
        known.insert(name.to_lowercase());
    }
    // While it is shut, that sessions are read-only is the operator's own. What is left of it in a server that lets the application in
    // is taken back, whatever its file of rules says.
    let shut = shut.then_some((READ_ONLY, None));
    let ours = OWN_PARAMETERS.into_iter().map(|(name, value)| (name, Some(value))).chain(shut).collect();
    Ok(parameters(&wanted(db), &ours, &lines, &known, restart))
}

/// What the catalogs say of the application's role and database.
const ACCOUNT: &str = "SELECT r.oid IS NOT NULL, coalesce(r.rolcanlogin, false),
    coalesce(r.rolvaliduntil <= pg_catalog.now(), false), coalesce(r.rolconnlimit, -1),
    d.oid IS NOT NULL, coalesce(d.datallowconn, false), coalesce(d.datconnlimit, -1),
    coalesce(pg_catalog.has_database_privilege(r.oid, d.oid, 'CONNECT'), false)
    FROM (SELECT $1::pg_catalog.text AS name) AS asked
    LEFT JOIN pg_catalog.pg_roles r ON r.rolname::pg_catalog.text = asked.name
    LEFT JOIN pg_catalog.pg_database d ON d.datname::pg_catalog.text = asked.name";

async fn account(client: &Client, name: &str) -> Result<Account, Refused> {
    let row = client.query_one(ACCOUNT, &[&name]).await?;
    Ok(Account {
        role: row.try_get(0)?,
        may_log_in: row.try_get(1)?,
        expired: row.try_get(2)?,
        role_limit: row.try_get(3)?,
        database: row.try_get(4)?,
        open: row.try_get(5)?,
        database_limit: row.try_get(6)?,
        may_connect: row.try_get(7)?,
    })
}

/// Comes as an application does. Why one that is not let in is not, the superuser asks: what the server tells the application
/// itself is kept short.
async fn login(
    address: &Address<'_>,
    client: &Client,
    db: &SampleDB,
    access: &Access,
    closed: bool,
    again: bool,
) -> Login {
    let user = names::database(db);
    let tried = match &access.app {
        Some(app) => address.connect(user, app.text(), user).await.map(drop),
        None => Err(Refused::Failed("its password is not known".to_owned())),
    };
    let refused = match tried {
        Ok(()) => return Login::In,
        Err(_) if closed => return Login::ShutOut,
        Err(refused) => refused,
    };
    let obstacle = match account(client, user).await {
        Ok(account) if !account.database && !matches!(refused, Refused::Failed(_)) => return Login::Gone,
        Ok(account) => account.obstacle(user),
        Err(why) => {
            tracing::debug!(db = %db.meta.key, ?why, "the application's role could not be looked at");
            None
        }
    };
    match (refused, obstacle) {
        (Refused::BadPassword | Refused::Said(..), Some(why)) => Login::Refused(why),
        (Refused::BadPassword, None) => Login::WrongPassword,
        (Refused::Said(SqlState::TOO_MANY_CONNECTIONS, _), None) => Login::Busy,
        (Refused::Said(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, why), None) if again => Login::Refused(format!(
            "the server's rules keep it out, which says: {why}; correct pg_hba.conf in the directory of its data and have the server \
             read it (SELECT pg_reload_conf())"
        )),
        (Refused::Said(code, why), None) if !passes(&code) => Login::Refused(format!("the server says: {why}")),
        (Refused::Said(_, why) | Refused::Failed(why), _) => {
            tracing::debug!(db = %db.meta.key, why, "the application's login could not be tried");
            Login::Unknown
        }
    }
}

/// Whether what the server says may be otherwise in a moment: it starts or ends, or has yet to read who is let in.
fn passes(code: &SqlState) -> bool {
    const THESE: [SqlState; 3] =
        [SqlState::CANNOT_CONNECT_NOW, SqlState::ADMIN_SHUTDOWN, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
    THESE.contains(code)
}

/// Whether a server answers, and serves or is on its way to do so.
pub(super) async fn knock(address: &Address<'_>, access: &Access) -> bool {
    address.superuser(access).await.err().is_none_or(|refused| is_alive(&refused))
}

/// Whether a server that refuses a session may grant one later. One that shuts down says so for as long as that takes, which may be
/// for ever, and never serves again.
fn is_alive(refused: &Refused) -> bool {
    match refused {
        Refused::Failed(_) => false,
        Refused::Said(code, why) => *code != SqlState::CANNOT_CONNECT_NOW || !why.contains("shutting down"),
        Refused::BadPassword => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_shuts_down_does_not_answer_and_one_that_recovers_does() {
        let said = |why: &str| is_alive(&Refused::Said(SqlState::CANNOT_CONNECT_NOW, why.to_owned()));
        assert!(!said("the database system is shutting down"));
        assert!(said("the database system is starting up") && said("the database system is in recovery mode"));
        assert!(is_alive(&Refused::Said(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already".to_owned())));
        assert!(is_alive(&Refused::BadPassword) && !is_alive(&Refused::Failed("timed out".to_owned())));
    }
}
