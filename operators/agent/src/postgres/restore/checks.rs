//! The user's checks of a restored snapshot.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::failure::{CommandFailure, Reason, cut};
use crate::postgres::backup::manifest::{DatabaseManifest, SnapshotManifest};
use crate::postgres::client::default_databases::{MAINTENANCE, is_default};
use crate::postgres::client::quote;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};

/// The limit for one check, in milliseconds.
const CHECK_TIMEOUT_MS: u32 = 600_000;

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserCheck {
    sql: String,
    /// The result as psql prints it without alignment: lines of values with `|` between.
    /// Without it, the SQL must only succeed.
    #[serde(default)]
    expect: Option<String>,
    /// By default the first database of the snapshot that is not `postgres`.
    #[serde(default)]
    database: Option<String>,
}

pub(crate) fn read(path: &Path) -> Result<Vec<UserCheck>, CommandFailure> {
    let text = fs::read(path).map_err(|error| bad(path, &error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| bad(path, &error.to_string()))
}

fn bad(path: &Path, why: &str) -> CommandFailure {
    CommandFailure::new(Reason::BadInput, format!("{} cannot be read: {why}", path.display()))
}

/// Runs each as the owner of its database, in a read-only session; the superuser could start programs.
pub(crate) fn run(
    tools: &Tools,
    connection: &Connection,
    manifest: &SnapshotManifest,
    checks: &[UserCheck],
) -> Result<(), CommandFailure> {
    for (at, check) in checks.iter().enumerate() {
        let failed = |why: String| CommandFailure::new(Reason::CheckFailed, format!("check {}: {why}", at + 1));
        let database =
            database_of(manifest, check).ok_or_else(|| failed("the snapshot has no such database".into()))?;
        let mut superuser = Session::open(tools, connection, MAINTENANCE)?;
        let same = format!(
            "SELECT 1 FROM pg_catalog.pg_roles WHERE rolsuper AND rolname = {}",
            quote::literal(&database.owner)
        );
        if superuser.query_one(&same)?.is_some() {
            return Err(failed(format!(
                "checks do not run in database {}, because it is owned by a superuser",
                database.name
            )));
        }
        superuser.query(&format!("ALTER ROLE {} LOGIN CONNECTION LIMIT -1", quote::identifier(&database.owner)))?;
        let owner = connection.with_user(&database.owner, None);
        let not_possible = |failure: CommandFailure| match failure.reason() {
            Reason::NoSpace | Reason::ConnectionFailed => failure,
            _ => failed(failure.message().into()),
        };
        let mut session = Session::connect(tools, &owner, &database.name)?;
        session
            .query(&format!("SET default_transaction_read_only = on; SET statement_timeout = {CHECK_TIMEOUT_MS}"))
            .map_err(not_possible)?;
        let found = session.query(&check.sql).map_err(not_possible)?.join("\n");
        match &check.expect {
            Some(expected) if expected.trim() != found.trim() => {
                return Err(failed(format!("the result is {}, not {}", shown(&found), shown(expected))));
            }
            _ => {}
        }
    }
    Ok(())
}

fn database_of<'a>(manifest: &'a SnapshotManifest, check: &UserCheck) -> Option<&'a DatabaseManifest> {
    let mut databases = manifest.databases.iter();
    match &check.database {
        Some(name) => databases.find(|database| database.name == *name),
        None => databases.find(|database| !is_default(&database.name)).or_else(|| manifest.databases.first()),
    }
}

/// The beginning of a text, in quotes.
fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let text = text.trim();
    let begin = cut(text, LONGEST);
    format!("{begin:?}{}", if begin.len() < text.len() { " ..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_a_list() {
        let checks: Vec<UserCheck> =
            serde_json::from_str(r#"[{"sql":"a","expect":"1"},{"sql":"b","database":"d"}]"#).unwrap();
        assert_eq!(checks[0], UserCheck { sql: "a".into(), expect: Some("1".into()), database: None });
        assert_eq!(checks[1].database.as_deref(), Some("d"));
        assert!(serde_json::from_str::<UserCheck>(r#"{"sql":"a","expected":"1"}"#).is_err());
    }

    #[test]
    fn long_results_are_cut() {
        assert_eq!(shown(" a\"b "), "\"a\\\"b\"");
        assert!(shown(&"x".repeat(300)).len() < 220);
    }
}
