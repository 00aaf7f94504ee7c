//! The databases of a server, and those that take no connections opened for a dump: to superusers alone.

use crate::failure::{Failure, Reason};
use crate::postgres::client::marker_tables::OPENED;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::Session;

#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) open: bool,
    pub(crate) limit: i32,
}

/// All that can be dumped: templates too, and those that take no connections. `template0` is the server's own.
const ALL: &str = "SELECT pg_catalog.json_build_object('name', datname::text, 'open', datallowconn, 'limit', datconnlimit) \
FROM pg_catalog.pg_database WHERE datname <> 'template0' AND datconnlimit <> -2 ORDER BY datname";

pub(crate) fn all(session: &mut Session<'_>) -> Result<Vec<Place>, Failure> {
    session.query_json(ALL)
}

/// Those that let a superuser in as they are. Nobody gets into what was left half dropped.
const OPEN: &str = "SELECT pg_catalog.to_json(datname::text) FROM pg_catalog.pg_database \
WHERE datallowconn AND datname <> 'template0' AND datconnlimit <> -2 ORDER BY datname";

pub(crate) fn all_open(session: &mut Session<'_>) -> Result<Vec<String>, Failure> {
    session.query_json(OPEN)
}

/// Those asked for, or all.
pub(crate) fn chosen(all: Vec<Place>, asked: &[String]) -> Result<Vec<Place>, Failure> {
    if let Some(missing) = asked.iter().find(|name| !all.iter().any(|place| place.name == **name)) {
        let message = format!("there is no database {}", identifier(missing));
        return Err(Failure::new(Reason::DatabaseMissing, message));
    }
    Ok(all.into_iter().filter(|place| asked.is_empty() || asked.contains(&place.name)).collect())
}

/// Lets superusers in, and nobody else: a limit of none holds for all others. The next run closes it if this one is killed.
pub(crate) fn open(session: &mut Session<'_>, place: &Place) -> Result<(), Failure> {
    session.query("SET default_transaction_read_only = off")?;
    OPENED.ensure(session)?;
    session.query(&format!(
        "INSERT INTO multi_operator.opened VALUES ({}, {}) ON CONFLICT DO NOTHING",
        literal(&place.name),
        place.limit
    ))?;
    open_for_good(session, &place.name)
}

/// The same where no later run closes it: in a server that is thrown away.
pub(crate) fn open_for_good(session: &mut Session<'_>, name: &str) -> Result<(), Failure> {
    let name = identifier(name);
    session.query("SET default_transaction_read_only = off")?;
    session.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT 0"))?;
    session.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).map(|_| ())
}

/// Closes all that were opened, by whichever run.
pub(crate) fn close_opened(session: &mut Session<'_>) -> Result<(), Failure> {
    if !OPENED.is_there(session)? {
        return Ok(());
    }
    session.query("SET default_transaction_read_only = off")?;
    let opened = "SELECT pg_catalog.json_build_object('name', o.database, 'open', true, 'limit', o.connection_limit) \
                  FROM multi_operator.opened o JOIN pg_catalog.pg_database d ON d.datname = o.database";
    for place in session.query_json::<Place>(opened)? {
        close(session, &place.name, place.limit)?;
    }
    session.query("DELETE FROM multi_operator.opened").map(|_| ())
}

/// Takes no connections any more.
pub(crate) fn close(session: &mut Session<'_>, name: &str, limit: i32) -> Result<(), Failure> {
    let name = identifier(name);
    session.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"))?;
    session.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT {limit}")).map(|_| ())
}

/// The first minor release of each major that can keep a table from being swapped for a view while it is dumped.
const SAFE_SINCE: [(u32, u32); 5] = [(12, 20), (13, 16), (14, 13), (15, 8), (16, 4)];

/// Why a server of that version number (150007) cannot be dumped while others work in it. Pure.
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
        let place = |name: &str, open| Place { name: name.into(), open, limit: -1 };
        let all = vec![place("app", false), place("postgres", true)];
        assert_eq!(chosen(all.clone(), &[]).unwrap(), all);
        assert_eq!(chosen(all.clone(), &["app".into()]).unwrap(), all[..1]);
        assert_eq!(chosen(all, &["lost".into()]).unwrap_err().reason(), Reason::DatabaseMissing);
    }
}
