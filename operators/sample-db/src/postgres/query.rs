//! Queries.

use std::collections::BTreeSet;

use agent_protocol::PgUpgradeResult;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::change::READ_ONLY;
use super::connect::{ConnectError, ServerAddress, superuser_error, with_deadline};
use crate::database::objects::{CONFIGURATION, OWN_PARAMETERS};
use crate::database::{
    Account, FileSetting, LoginCheck, ParameterDiff, ServerInfo, effective_parameters, parameter_diff,
};
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::queries::ServerAccess;
use crate::saslprep::{PREPARED_DIFFERENTLY, is_prepared_alike};

/// The system identifier, the release, the first line of the client access rules, the size of all databases and of the WAL, and
/// two files of the agent: `pg-ready`'s about the file system, and `pg-run`'s about settings with which the server did not start.
const SERVER: &str = "SELECT (SELECT system_identifier::text FROM pg_catalog.pg_control_system()),
    pg_catalog.current_setting('server_version_num')::int4,
    pg_catalog.split_part(pg_catalog.pg_read_file('pg_hba.conf'), chr(10), 1),
    (SELECT pg_catalog.sum(pg_catalog.pg_database_size(oid))::int8 FROM pg_catalog.pg_database)
        + (SELECT coalesce(pg_catalog.sum(size), 0)::int8 FROM pg_catalog.pg_ls_waldir()),
    pg_catalog.pg_read_file(pg_catalog.current_setting('data_directory') || '.room', 0, 1000, true),
    pg_catalog.pg_read_file(pg_catalog.current_setting('data_directory') || '.attempt', 0, 200000, true)";
/// All settings of the configuration files, in the order in which they are read.
const FILE_SETTINGS: &str = "SELECT pg_catalog.lower(name), coalesce(setting, ''), sourcefile
    FROM pg_catalog.pg_file_settings WHERE name IS NOT NULL ORDER BY seqno";
const PARAMETERS: &str = "SELECT name, pending_restart FROM pg_catalog.pg_settings";
/// The first line of the rules that allow only the superuser; see the agent's `pg-prepare`.
const CLOSED: &str = "# multi-operator: closed";

/// Queries a server. `reload`: after it has reloaded its files. `report_refusal`: the application has not logged in for several
/// queries, so a refusal by the rules is reported.
pub(super) async fn server(
    address: &ServerAddress<'_>,
    db: &SampleDB,
    access: &ServerAccess,
    reload: bool,
    report_refusal: bool,
) -> Result<ServerInfo, ConnectError> {
    with_deadline(async {
        let client = address.superuser(access).await?;
        if reload {
            client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
        }
        let row = client.query_one(SERVER, &[]).await?;
        let number: i32 = row.try_get(1)?;
        let rules: String = row.try_get(2)?;
        let (room, attempt): (Option<String>, Option<String>) = (row.try_get(4)?, row.try_get(5)?);
        let login = login(address, &client, db, access, rules.trim_end() == CLOSED, report_refusal).await;
        let parameters = self::parameters(&client, db, login == LoginCheck::Blocked).await?;
        Ok(ServerInfo {
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
    .map_err(superuser_error)
}

/// The record that the agent's `pg-upgrade` leaves once a copy is complete.
const COPY_RESULT: &str = "SELECT pg_catalog.pg_read_file('multi_operator_upgrade.json', 0, 100000, true)";

/// Reads that record, from template1: the database `postgres` may be copied at the moment.
pub(super) async fn copy_result(
    address: &ServerAddress<'_>,
    access: &ServerAccess,
) -> Result<Option<PgUpgradeResult>, ConnectError> {
    with_deadline(async {
        let client = address.superuser_of(access, "template1").await?;
        let note: Option<String> = client.query_one(COPY_RESULT, &[]).await?.try_get(0)?;
        Ok(note.and_then(|note| serde_json::from_str(&note).ok()))
    })
    .await
}

async fn parameters(client: &Client, db: &SampleDB, blocked: bool) -> Result<ParameterDiff, ConnectError> {
    let mut lines = Vec::new();
    for row in client.query(FILE_SETTINGS, &[]).await? {
        let file: String = row.try_get(2)?;
        lines.push(FileSetting {
            name: row.try_get(0)?,
            value: row.try_get(1)?,
            automatic: file.ends_with("/postgresql.auto.conf"),
            mounted: file.starts_with(CONFIGURATION),
        });
    }
    let (mut known, mut restart) = (BTreeSet::new(), Vec::new());
    for row in client.query(PARAMETERS, &[]).await? {
        let name: String = row.try_get(0)?;
        if row.try_get(1)? {
            restart.push(name.clone());
        }
        known.insert(name.to_lowercase());
    }
    // While clients are blocked, the operator itself makes sessions read-only. If that setting is left in a server that allows
    // the application, it is reset, whatever the file of rules says.
    let read_only = blocked.then_some((READ_ONLY, None));
    let own = OWN_PARAMETERS.into_iter().map(|(name, value)| (name, Some(value))).chain(read_only).collect();
    Ok(parameter_diff(&effective_parameters(db), &own, &lines, &known, restart))
}

/// What the catalogs say about the application's role and database.
const ACCOUNT: &str = "SELECT r.oid IS NOT NULL, coalesce(r.rolcanlogin, false),
    coalesce(r.rolvaliduntil <= pg_catalog.now(), false), coalesce(r.rolconnlimit, -1),
    d.oid IS NOT NULL, coalesce(d.datallowconn, false), coalesce(d.datconnlimit, -1),
    coalesce(pg_catalog.has_database_privilege(r.oid, d.oid, 'CONNECT'), false)
    FROM (SELECT $1::pg_catalog.text AS name) AS asked
    LEFT JOIN pg_catalog.pg_roles r ON r.rolname::pg_catalog.text = asked.name
    LEFT JOIN pg_catalog.pg_database d ON d.datname::pg_catalog.text = asked.name";

async fn account(client: &Client, name: &str) -> Result<Account, ConnectError> {
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

/// Logs in as an application does. The superuser finds out why a login was refused, as the server's answer to the application is
/// kept short.
async fn login(
    address: &ServerAddress<'_>,
    client: &Client,
    db: &SampleDB,
    access: &ServerAccess,
    closed: bool,
    report_refusal: bool,
) -> LoginCheck {
    let user = names::database(db);
    let attempt = match &access.app_password {
        Some(app) => address.connect(user, app.text(), user).await.map(drop),
        None => Err(ConnectError::NoAnswer("its password is not known".to_owned())),
    };
    let error = match attempt {
        Ok(()) => return LoginCheck::Ok,
        Err(_) if closed => return LoginCheck::Blocked,
        Err(error) => error,
    };
    let obstacle = match account(client, user).await {
        Ok(account) if !account.database && !matches!(error, ConnectError::NoAnswer(_)) => {
            return LoginCheck::DatabaseMissing;
        }
        Ok(account) => account.obstacle(user),
        Err(why) => {
            tracing::debug!(db = %db.meta.key, ?why, "the application's role cannot be read");
            None
        }
    };
    match (error, obstacle) {
        (ConnectError::BadPassword | ConnectError::Server(..), Some(why)) => LoginCheck::Refused(why),
        (ConnectError::BadPassword, None) => match &access.app_password {
            Some(app) if !is_prepared_alike(app.text()) => LoginCheck::Refused(format!(
                "the server has another password than the Secret {}, and does not get that one: {PREPARED_DIFFERENTLY}; set \
                 another password in the entry password",
                names::app_secret(db)
            )),
            _ => LoginCheck::BadPassword,
        },
        (ConnectError::Server(SqlState::TOO_MANY_CONNECTIONS, _), None) => LoginCheck::Busy,
        (ConnectError::Server(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, why), None) if report_refusal => {
            LoginCheck::Refused(format!(
                "the server's rules do not allow it ({why}); correct pg_hba.conf in the directory of its data and have the \
             server read it (SELECT pg_reload_conf())"
            ))
        }
        (ConnectError::Server(code, why), None) if !is_transient(&code) => {
            LoginCheck::Refused(format!("the server says: {why}"))
        }
        (ConnectError::Server(_, why) | ConnectError::NoAnswer(why), _) => {
            tracing::debug!(db = %db.meta.key, why, "the application's login failed");
            LoginCheck::Unknown
        }
    }
}

/// Whether the server may answer differently in a moment: it is starting or stopping, or has yet to read its rules.
fn is_transient(code: &SqlState) -> bool {
    const TRANSIENT: [SqlState; 3] =
        [SqlState::CANNOT_CONNECT_NOW, SqlState::ADMIN_SHUTDOWN, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
    TRANSIENT.contains(code)
}

/// Whether a server answers, and serves or may serve later.
pub(super) async fn ping(address: &ServerAddress<'_>, access: &ServerAccess) -> bool {
    address.superuser(access).await.err().is_none_or(|error| may_serve_later(&error))
}

/// Whether a server that refuses a session may accept one later. One that shuts down says so for as long as that takes, possibly
/// forever, and never serves again.
fn may_serve_later(error: &ConnectError) -> bool {
    match error {
        ConnectError::NoAnswer(_) => false,
        ConnectError::Server(code, why) => *code != SqlState::CANNOT_CONNECT_NOW || !why.contains("shutting down"),
        ConnectError::BadPassword => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_shuts_down_does_not_answer_and_one_that_recovers_does() {
        let may_serve =
            |why: &str| may_serve_later(&ConnectError::Server(SqlState::CANNOT_CONNECT_NOW, why.to_owned()));
        assert!(!may_serve("the database system is shutting down"));
        assert!(
            may_serve("the database system is starting up") && may_serve("the database system is in recovery mode")
        );
        assert!(may_serve_later(&ConnectError::Server(
            SqlState::TOO_MANY_CONNECTIONS,
            "sorry, too many clients already".to_owned()
        )));
        assert!(
            may_serve_later(&ConnectError::BadPassword)
                && !may_serve_later(&ConnectError::NoAnswer("timed out".to_owned()))
        );
    }
}
