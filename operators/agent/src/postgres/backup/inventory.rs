//! The inventory of a database, from a session that sees what a dump sees.

use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::contents;
use crate::postgres::backup::manifest::{DatabaseManifest, Extension, QualifiedName, TableManifest};
use crate::postgres::backup::partitions::FILLED;
use crate::postgres::backup::sums::{Sum, SumBuilder};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::marker_tables::{self, LEDGER, SCHEMA};
use crate::postgres::client::session::Session;

/// Tables, each with the table through which it is filled. Those of extensions are left out, as a dump does not have their rows.
/// Of a partitioned table, the partitions are counted. Columns are in the order of their names, since a restore may change their
/// order; generated ones are left out.
///
/// As JSON, since a name may have several lines.
const TABLES: &str = "SELECT pg_catalog.json_build_array(pg_catalog.json_build_array(n.nspname::text, c.relname::text), \
pg_catalog.json_build_array(fn.nspname::text, f.relname::text), \
pg_catalog.format('COPY %I.%I %s TO STDOUT', n.nspname, c.relname, \
  (SELECT '(' || pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' ORDER BY a.attname) || ')' \
   FROM pg_catalog.pg_attribute a \
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''))) \
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
JOIN pg_catalog.pg_class f ON f.oid = $FILLED JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace \
WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' \
AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass \
  AND d.objid = c.oid AND d.deptype = 'e') \
ORDER BY n.nspname, c.relname";

/// The output of values depends on these settings, and a database may set them.
const OUTPUT_FORMAT: &str = "SELECT pg_catalog.set_config(name, value, false) FROM (VALUES ('DateStyle', 'ISO'), \
('IntervalStyle', 'postgres'), ('TimeZone', 'UTC'), ('extra_float_digits', '3'), ('bytea_output', 'hex'), \
('lc_monetary', 'C'), ('xmlbinary', 'base64'), ('client_encoding', pg_catalog.current_setting('server_encoding'))) \
AS looks (name, value)";

pub(crate) fn describe(session: &mut Session<'_>, name: &str) -> Result<DatabaseManifest, CommandFailure> {
    let mut database = outline(session, name)?;
    let tables: Vec<(QualifiedName, QualifiedName, String)> = session.query_json(&TABLES.replace("$FILLED", FILLED))?;
    // A dump leaves out the marker tables.
    let has_markers = name == MAINTENANCE && marker_tables::schema(session)? == Some(true);
    let own = |schema: &str| has_markers && schema == SCHEMA;
    database.content = Some(contents::content(session, has_markers)?);
    let sql = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_largeobject_metadata";
    database.large_objects = session.query_json(sql)?.first().copied().unwrap_or(0);
    session.query(OUTPUT_FORMAT)?;
    for (table, filled, copy) in tables {
        if !own(&table.0) {
            let mut summing = SumBuilder::default();
            session.copy(&copy, |line| summing.add(line))?;
            let Sum { count, checksum } = summing.sum();
            let (schema, name) = table.clone();
            database.tables.push(TableManifest { schema, name, rows: count, checksum: Some(checksum) });
            if filled != table {
                database.moving.insert(table, filled);
            }
        }
    }
    session.query("SET client_encoding = 'UTF8'")?;
    Ok(database)
}

/// The inventory without the counts.
pub(crate) fn outline(session: &mut Session<'_>, name: &str) -> Result<DatabaseManifest, CommandFailure> {
    let owner = "SELECT pg_catalog.to_json(pg_catalog.pg_get_userbyid(datdba)::text) FROM pg_catalog.pg_database \
                 WHERE datname = pg_catalog.current_database()";
    let extensions =
        "SELECT pg_catalog.json_build_array(extname, extversion) FROM pg_catalog.pg_extension ORDER BY extname";
    let extensions = session.query_json::<(String, String)>(extensions)?;
    // The agent reads only the operator's own ledger: another object of that name might run code as the superuser.
    let ledger = marker_tables::schema(session)? == Some(true) && LEDGER.table(session)? == Some(true);
    let schema_version = if ledger {
        let last =
            "SELECT pg_catalog.to_json(key) FROM multi_operator.ledger ORDER BY applied_at DESC, key DESC LIMIT 1";
        session.query_json(last)?.pop()
    } else {
        None
    };
    Ok(DatabaseManifest {
        name: name.into(),
        owner: session.query_json(owner)?.pop().unwrap_or_default(),
        schema_version,
        extensions: extensions.into_iter().map(|(name, version)| Extension { name, version }).collect(),
        ..DatabaseManifest::default()
    })
}

/// The state of a sequence.
#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Sequence {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// None if it has not been used.
    last: Option<i64>,
}

pub(crate) fn sequences(session: &mut Session<'_>) -> Result<Vec<Sequence>, CommandFailure> {
    session.query_json(
        "SELECT pg_catalog.json_build_object('schema', schemaname::text, 'name', sequencename::text, 'last', last_value) \
         FROM pg_catalog.pg_sequences",
    )
}

/// The server's version (15.18, and 150018) and system identifier.
pub(crate) fn server(session: &mut Session<'_>) -> Result<(String, u32, String), CommandFailure> {
    let sql = "SELECT pg_catalog.json_build_array(pg_catalog.current_setting('server_version'), \
               pg_catalog.current_setting('server_version_num')::int, \
               (SELECT system_identifier::text FROM pg_catalog.pg_control_system()))";
    let (version, number, identifier) = session
        .query_json::<(String, u32, String)>(sql)?
        .pop()
        .ok_or_else(|| CommandFailure::new(Reason::ToolFailed, "the server reports no version"))?;
    // Debian appends the version of its package: 15.18 (Debian 15.18-0+deb12u1).
    Ok((version.split_whitespace().next().unwrap_or_default().to_owned(), number, identifier))
}
