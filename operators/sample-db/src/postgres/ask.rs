//! Questions.

use std::collections::BTreeSet;

use tokio_postgres::Client;

use super::Access;
use super::connect::{Address, Refused, within};
use crate::SampleDB;
use crate::plan::objects::{CONFIGURATION, OWN_PARAMETERS, SUPERUSER};
use crate::plan::{Answer, Line, Login, Parameters, Said, names, parameters};

/// The identifier of the data, the release, the first line of who is let in, and the size of all databases.
const SELF: &str = "SELECT (SELECT system_identifier::text FROM pg_catalog.pg_control_system()),
    pg_catalog.current_setting('server_version_num')::int4,
    pg_catalog.split_part(pg_catalog.pg_read_file('pg_hba.conf'), chr(10), 1),
    (SELECT pg_catalog.sum(pg_catalog.pg_database_size(oid))::int8 FROM pg_catalog.pg_database)";
/// All lines of the configuration files, in the order in which they are read.
const LINES: &str = "SELECT pg_catalog.lower(name), coalesce(setting, ''), sourcefile
    FROM pg_catalog.pg_file_settings WHERE name IS NOT NULL ORDER BY seqno";
const KNOWN: &str = "SELECT name, pending_restart FROM pg_catalog.pg_settings";
/// How a file begins that lets nobody but the superuser in; see the agent's `pg-prepare`.
const CLOSED: &str = "# multi-operator: closed";

/// All that is asked of a server.
pub(super) async fn server(
    address: &Address<'_>,
    db: &SampleDB,
    access: &Access,
    reload: bool,
) -> Result<Answer, Refused> {
    within(async {
        let client = address.superuser(access).await?;
        if reload {
            client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
        }
        let row = client.query_one(SELF, &[]).await?;
        let number: i32 = row.try_get(1)?;
        let rules: String = row.try_get(2)?;
        let parameters = judge(&client, db).await?;
        drop(client);
        Ok(Answer {
            system_identifier: row.try_get(0)?,
            version: format!("{}.{}", number / 10_000, number % 10_000),
            login: login(address, db, access, rules.trim_end() == CLOSED).await,
            parameters,
            bytes: row.try_get(3)?,
        })
    })
    .await
}

/// The note that the agent's `pg-upgrade` leaves when a copy is whole.
const COPIED: &str = "SELECT pg_catalog.pg_read_file('multi_operator_upgrade.json', 0, 100000, true)";

/// That note. The database that every server has is one of those that are copied.
pub(super) async fn copied(address: &Address<'_>, access: &Access) -> Result<Option<Said>, Refused> {
    within(async {
        let client = address.connect(SUPERUSER, access.system.text(), "template1").await?;
        let note: Option<String> = client.query_one(COPIED, &[]).await?.try_get(0)?;
        Ok(note.and_then(|note| serde_json::from_str(&note).ok()))
    })
    .await
}

async fn judge(client: &Client, db: &SampleDB) -> Result<Parameters, Refused> {
    let mut lines = Vec::new();
    for row in client.query(LINES, &[]).await? {
        let file: String = row.try_get(2)?;
        lines.push(Line {
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
    let ours = OWN_PARAMETERS.iter().map(|(name, _)| *name).collect();
    Ok(parameters(&db.spec.engine.parameters, &ours, &lines, &known, restart))
}

/// Comes as an application does.
async fn login(address: &Address<'_>, db: &SampleDB, access: &Access, closed: bool) -> Login {
    let Some(app) = &access.app else { return Login::Unknown };
    let user = names::database(db);
    match address.connect(user, app.text(), user).await {
        Ok(_) => Login::In,
        Err(Refused::BadPassword) => Login::WrongPassword,
        Err(Refused::Failed(_)) if closed => Login::ShutOut,
        Err(Refused::Failed(why)) => {
            tracing::debug!(db = %db.meta.key, why, "the application's login could not be tried");
            Login::Unknown
        }
    }
}
