//! What is in a database: asked in a session that sees what a dump sees.

use super::manifest::{Database, Extension, Table};
use super::quote;
use super::session::Session;
use crate::failure::{Failure, Reason};

/// Notes of the agent and of the operator in a database.
pub(crate) const SCHEMA: &str = "multi_operator";

/// The one that every server has, and that is connected to for what concerns no database.
pub(crate) const MAINTENANCE: &str = "postgres";

/// Extensions bring their own tables, whose rows a dump does not have. Partitions are counted, not what they are of.
///
/// As JSON, as a name may be of several lines.
const TABLES: &str = "SELECT pg_catalog.to_json(pg_catalog.format(
  'SELECT pg_catalog.json_build_array(%L::text, %L::text, pg_catalog.count(*)) FROM ONLY %I.%I',
  n.nspname, c.relname, n.nspname, c.relname))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
  AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname";

/// Only a ledger of the operator's own is read: what stands in its place might run as the superuser.
const LEDGER: &str = "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
WHERE n.nspname = 'multi_operator' AND c.relname = 'ledger' AND c.relkind = 'r' AND r.rolsuper AND c.relowner = r.oid";

pub(crate) fn describe(session: &mut Session<'_>, name: &str) -> Result<Database, Failure> {
    let mut database = outline(session, name)?;
    let statements: Vec<String> = session.ask_json(TABLES)?;
    for statement in statements {
        for (schema, table, rows) in session.ask_json::<(String, String, u64)>(&statement)? {
            // In the database that has the notes on all others these are not dumped.
            if name != MAINTENANCE || schema != SCHEMA {
                database.tables.push(Table { schema, name: table, rows });
            }
        }
    }
    let sql = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_largeobject_metadata";
    database.large_objects = session.ask_json(sql)?.first().copied().unwrap_or(0);
    Ok(database)
}

/// All but the counts.
pub(crate) fn outline(session: &mut Session<'_>, name: &str) -> Result<Database, Failure> {
    let owner = "SELECT pg_catalog.to_json(pg_catalog.pg_get_userbyid(datdba)::text) FROM pg_catalog.pg_database \
                 WHERE datname = pg_catalog.current_database()";
    let extensions =
        "SELECT pg_catalog.json_build_array(extname, extversion) FROM pg_catalog.pg_extension ORDER BY extname";
    let extensions = session.ask_json::<(String, String)>(extensions)?;
    let schema_version = if session.ask_one(LEDGER)?.is_some() {
        let last =
            "SELECT pg_catalog.to_json(key) FROM multi_operator.ledger ORDER BY applied_at DESC, key DESC LIMIT 1";
        session.ask_json(last)?.pop()
    } else {
        None
    };
    Ok(Database {
        name: name.into(),
        owner: session.ask_json(owner)?.pop().unwrap_or_default(),
        schema_version,
        extensions: extensions.into_iter().map(|(name, version)| Extension { name, version }).collect(),
        ..Database::default()
    })
}

/// Where a sequence stands.
#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Sequence {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// None, if it was never asked.
    last: Option<i64>,
}

pub(crate) fn sequences(session: &mut Session<'_>) -> Result<Vec<Sequence>, Failure> {
    session.ask_json(
        "SELECT pg_catalog.json_build_object('schema', schemaname::text, 'name', sequencename::text, 'last', last_value) \
         FROM pg_catalog.pg_sequences",
    )
}

/// The databases that a snapshot is of: those asked for, or all that take connections and are no templates.
pub(crate) fn databases(session: &mut Session<'_>, asked: &[String]) -> Result<Vec<String>, Failure> {
    let all = "SELECT pg_catalog.to_json(datname::text) FROM pg_catalog.pg_database \
               WHERE datallowconn AND NOT datistemplate ORDER BY datname";
    let all: Vec<String> = session.ask_json(all)?;
    if let Some(missing) = asked.iter().find(|name| !all.contains(name)) {
        let sentence = format!("there is no database {}", quote::identifier(missing));
        return Err(Failure::new(Reason::DatabaseMissing, sentence));
    }
    Ok(if asked.is_empty() { all } else { asked.to_vec() })
}

/// The server's version (15.18, and 150018) and system identifier.
pub(crate) fn server(session: &mut Session<'_>) -> Result<(String, u32, String), Failure> {
    let sql = "SELECT pg_catalog.json_build_array(pg_catalog.current_setting('server_version'), \
               pg_catalog.current_setting('server_version_num')::int, \
               (SELECT system_identifier::text FROM pg_catalog.pg_control_system()))";
    let (version, number, identifier) = session
        .ask_json::<(String, u32, String)>(sql)?
        .pop()
        .ok_or_else(|| Failure::new(Reason::ToolFailed, "the server tells no version"))?;
    // Debian appends its package's: 15.18 (Debian 15.18-0+deb12u1).
    Ok((version.split_whitespace().next().unwrap_or_default().to_owned(), number, identifier))
}
