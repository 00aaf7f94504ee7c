//! The databases of a server. Those that accept no connections are opened for a dump, to superusers alone.

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::marker_tables::OPENED;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::Session;

#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct ServerDatabase {
    pub(crate) name: String,
    pub(crate) open: bool,
    pub(crate) limit: i32,
}

/// All databases that can be dumped: also templates, and those that accept no connections. `template0` is the server's own.
const ALL: &str = "SELECT pg_catalog.json_build_object('name', datname::text, 'open', datallowconn, 'limit', datconnlimit) \
FROM pg_catalog.pg_database WHERE datname <> 'template0' AND datconnlimit <> -2 ORDER BY datname";

pub(crate) fn all(session: &mut Session<'_>) -> Result<Vec<ServerDatabase>, CommandFailure> {
    session.query_json(ALL)
}

/// The databases that accept connections of a superuser. One whose DROP DATABASE was interrupted accepts none.
const OPEN: &str = "SELECT pg_catalog.to_json(datname::text) FROM pg_catalog.pg_database \
WHERE datallowconn AND datname <> 'template0' AND datconnlimit <> -2 ORDER BY datname";

pub(crate) fn all_open(session: &mut Session<'_>) -> Result<Vec<String>, CommandFailure> {
    session.query_json(OPEN)
}

/// The requested databases, or all.
pub(crate) fn chosen(all: Vec<ServerDatabase>, asked: &[String]) -> Result<Vec<ServerDatabase>, CommandFailure> {
    if let Some(missing) = asked.iter().find(|name| !all.iter().any(|database| database.name == **name)) {
        let message = format!("there is no database {}", identifier(missing));
        return Err(CommandFailure::new(Reason::DatabaseMissing, message));
    }
    Ok(all.into_iter().filter(|database| asked.is_empty() || asked.contains(&database.name)).collect())
}

/// Allows connections of superusers only: a connection limit of 0 blocks all others. If this run is killed, the next one closes
/// it.
pub(crate) fn open(session: &mut Session<'_>, database: &ServerDatabase) -> Result<(), CommandFailure> {
    session.query("SET default_transaction_read_only = off")?;
    OPENED.ensure(session)?;
    session.query(&format!(
        "INSERT INTO multi_operator.opened VALUES ({}, {}) ON CONFLICT DO NOTHING",
        literal(&database.name),
        database.limit
    ))?;
    open_for_good(session, &database.name)
}

/// The same without a record for a later run: for a throwaway server.
pub(crate) fn open_for_good(session: &mut Session<'_>, name: &str) -> Result<(), CommandFailure> {
    let name = identifier(name);
    session.query("SET default_transaction_read_only = off")?;
    session.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT 0"))?;
    session.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).map(|_| ())
}

/// Closes all databases that this or an earlier run opened.
pub(crate) fn close_opened(session: &mut Session<'_>) -> Result<(), CommandFailure> {
    if !OPENED.exists(session)? {
        return Ok(());
    }
    session.query("SET default_transaction_read_only = off")?;
    let opened = "SELECT pg_catalog.json_build_object('name', o.database, 'open', true, 'limit', o.connection_limit) \
                  FROM multi_operator.opened o JOIN pg_catalog.pg_database d ON d.datname = o.database";
    for database in session.query_json::<ServerDatabase>(opened)? {
        close(session, &database.name, database.limit)?;
    }
    session.query("DELETE FROM multi_operator.opened").map(|_| ())
}

/// Blocks connections to a database again.
pub(crate) fn close(session: &mut Session<'_>, name: &str, limit: i32) -> Result<(), CommandFailure> {
    let name = identifier(name);
    session.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"))?;
    session.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT {limit}")).map(|_| ())
}

/// The first minor release of each major version that can prevent the swap of a table for a view during a dump.
const SAFE_SINCE: [(u32, u32); 5] = [(12, 20), (13, 16), (14, 13), (15, 8), (16, 4)];

/// Why a server of that version number (150007) cannot be dumped while clients work in it. Pure.
pub(crate) fn unsafe_to_dump(number: u32) -> Option<String> {
    let (major, minor) = (number / 10_000, number % 10_000);
    let (_, since) = SAFE_SINCE.into_iter().find(|(of, _)| *of == major)?;
    (minor < since).then(|| {
        format!(
            "PostgreSQL {major}.{minor} cannot be dumped while clients work: a table can be swapped for a view meanwhile \
             (CVE-2024-7348); upgrade it to {major}.{since} or later, with upgrade.snapshotBefore: false (the snapshot \
             before the upgrade would fail, too), or set backup.method: Physical"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_the_race_is_refused() {
        assert!(unsafe_to_dump(150_007).unwrap().contains("upgrade it to 15.8 or later"));
        assert!(unsafe_to_dump(130_015).unwrap().contains("upgrade.snapshotBefore: false"));
        for safe in [130_016, 150_008, 150_018, 160_004, 170_000, 180_001] {
            assert_eq!(unsafe_to_dump(safe), None, "{safe}");
        }
    }

    #[test]
    fn every_database_is_chosen_unless_some_are_asked_for() {
        let database = |name: &str, open| ServerDatabase { name: name.into(), open, limit: -1 };
        let all = vec![database("app", false), database("postgres", true)];
        assert_eq!(chosen(all.clone(), &[]).unwrap(), all);
        assert_eq!(chosen(all.clone(), &["app".into()]).unwrap(), all[..1]);
        assert_eq!(chosen(all, &["lost".into()]).unwrap_err().reason(), Reason::DatabaseMissing);
    }
}
