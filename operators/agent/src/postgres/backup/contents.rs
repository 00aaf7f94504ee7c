//! The contents of a database other than its rows, read from catalogs alone.

use crate::failure::CommandFailure;
use crate::postgres::backup::globals;
use crate::postgres::backup::manifest::DatabaseContent;
use crate::postgres::backup::pristine;
use crate::postgres::backup::sums::{Sum, SumBuilder};
use crate::postgres::client::marker_tables::SCHEMA;
use crate::postgres::client::session::Session;

/// Objects with kind, name and owner, as every version has them, without those that belong to an extension or that the server
/// created for another object. Of a function also its source, and with whose privileges it runs.
const OBJECTS: &str = "SELECT pg_catalog.json_build_array(o.kind, n.nspname::text, o.name, r.rolname::text) FROM (
SELECT 'relation ' || c.relkind::text AS kind, c.relnamespace AS schema, c.relname::text AS name, c.relowner AS owner,
  'pg_catalog.pg_class'::pg_catalog.regclass AS class, c.oid FROM pg_catalog.pg_class c WHERE c.relpersistence <> 't'
  AND NOT EXISTS ($UNFINISHED AND i.indexrelid = c.oid)
UNION ALL SELECT 'function', p.pronamespace, p.proname || ' ' || p.pronargs::text || ' ' || p.prosecdef::text || ' '
  || pg_catalog.md5(p.prosrc), p.proowner, 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid FROM pg_catalog.pg_proc p
UNION ALL SELECT 'type ' || t.typtype::text, t.typnamespace, t.typname::text, t.typowner,
  'pg_catalog.pg_type'::pg_catalog.regclass, t.oid FROM pg_catalog.pg_type t WHERE t.typtype IN ('d', 'e', 'r')
UNION ALL SELECT 'operator', o.oprnamespace, o.oprname::text, o.oprowner,
  'pg_catalog.pg_operator'::pg_catalog.regclass, o.oid FROM pg_catalog.pg_operator o
UNION ALL SELECT 'schema', s.oid, '', CASE s.nspname WHEN 'public' THEN 0 ELSE s.nspowner END,
  'pg_catalog.pg_namespace'::pg_catalog.regclass, s.oid FROM pg_catalog.pg_namespace s
UNION ALL SELECT 'trigger ' || t.tgenabled::text, c.relnamespace, c.relname || ' ' || t.tgname, c.relowner,
  'pg_catalog.pg_trigger'::pg_catalog.regclass, t.oid FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND t.tgparentid = 0
UNION ALL SELECT 'rule ' || w.ev_enabled::text, c.relnamespace, c.relname || ' ' || w.rulename, c.relowner,
  'pg_catalog.pg_rewrite'::pg_catalog.regclass, w.oid FROM pg_catalog.pg_rewrite w
  JOIN pg_catalog.pg_class c ON c.oid = w.ev_class WHERE w.rulename <> '_RETURN'
UNION ALL SELECT 'policy', c.relnamespace, c.relname || ' ' || p.polname, c.relowner,
  'pg_catalog.pg_policy'::pg_catalog.regclass, p.oid FROM pg_catalog.pg_policy p
  JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
UNION ALL SELECT 'constraint ' || k.contype::text, k.connamespace, k.conname::text, 0,
  'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid FROM pg_catalog.pg_constraint k
  WHERE k.contype IN ('c', 'f', 'p', 'u', 'x') AND k.conparentid = 0
  AND NOT (k.contype IN ('p', 'u', 'x') AND EXISTS ($UNFINISHED AND i.indexrelid = k.conindid))
UNION ALL SELECT 'event trigger ' || e.evtenabled::text, 0, e.evtname::text, e.evtowner,
  'pg_catalog.pg_event_trigger'::pg_catalog.regclass, e.oid FROM pg_catalog.pg_event_trigger e
) o LEFT JOIN pg_catalog.pg_namespace n ON n.oid = o.schema LEFT JOIN pg_catalog.pg_roles r ON r.oid = o.owner
WHERE (n.nspname IS NULL OR (n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'))
AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e')";

/// Indexes that pg_dump leaves out: CREATE INDEX CONCURRENTLY has not completed them, or has failed. Those of a partitioned table
/// may wait for the indexes of its partitions.
const UNFINISHED: &str = "SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid \
WHERE NOT (i.indisready AND (i.indisvalid OR t.relkind = 'p'))";

/// Large objects that fit into an answer by their contents, others by their size.
const LARGE_OBJECTS: &str = "SELECT pg_catalog.json_build_array(m.oid::text, CASE WHEN p.last < 100000
  THEN pg_catalog.md5(pg_catalog.lo_get(m.oid)) ELSE p.last::text END) FROM pg_catalog.pg_largeobject_metadata m
LEFT JOIN (SELECT loid, pg_catalog.max(pageno) AS last FROM pg_catalog.pg_largeobject GROUP BY loid) p ON p.loid = m.oid";

/// The maximum number of objects whose names the manifest has, to name one that differs: a manifest must stay readable.
const NAMED: usize = 10_000;

const CONNECTION_SETTINGS: &str = "SELECT pg_catalog.json_build_array(datistemplate, datallowconn, datconnlimit) \
FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()";

/// The content of the session's database, without the agent's marker tables if `has_markers`.
pub(crate) fn content(session: &mut Session<'_>, has_markers: bool) -> Result<DatabaseContent, CommandFailure> {
    let (mut objects, mut names) = (SumBuilder::default(), Vec::new());
    for line in session.query(&OBJECTS.replace("$UNFINISHED", UNFINISHED))? {
        if !has_markers || !line.contains(&format!(", \"{SCHEMA}\", ")) {
            objects.add(line.as_bytes());
            names.push(line);
        }
    }
    if names.len() > NAMED {
        names.clear();
    }
    let mut large = SumBuilder::default();
    session.query(LARGE_OBJECTS)?.iter().for_each(|line| large.add(line.as_bytes()));
    let (is_template, allow_connections, connection_limit) =
        session.query_json::<(bool, bool, i32)>(CONNECTION_SETTINGS)?.pop().unwrap_or((false, true, -1));
    let (objects, large_objects) = (objects.sum(), large.sum());
    let public = has_public(session)?;
    // The schema `public` counts as an object.
    let pristine = public && objects.count <= 1 && large_objects.count == 0 && pristine::is(session)?;
    Ok(DatabaseContent {
        objects,
        names,
        public: Some(public),
        large_objects,
        is_template,
        allow_connections,
        connection_limit,
        pristine,
    })
}

/// Whether there is a schema `public`, which each new database has and no dump creates.
pub(crate) fn has_public(session: &mut Session<'_>) -> Result<bool, CommandFailure> {
    Ok(session.query_one("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'public'")?.is_some())
}

/// A sum of the attributes and memberships of all roles, to compare two servers, or one server at two times.
pub(crate) fn roles(session: &mut Session<'_>) -> Result<Sum, CommandFailure> {
    let mut summing = SumBuilder::default();
    session.query(ROLES)?.iter().for_each(|line| summing.add(line.as_bytes()));
    Ok(summing.sum())
}

/// The settings of all roles, which pg_dumpall leaves out, as SQL.
pub(crate) fn settings_of_all(session: &mut Session<'_>) -> Result<String, CommandFailure> {
    let sql = "SELECT pg_catalog.to_json(setting) FROM pg_catalog.pg_db_role_setting, \
               pg_catalog.unnest(setconfig) AS setting WHERE setdatabase = 0 AND setrole = 0";
    let settings: Vec<String> = session.query_json(sql)?;
    Ok(settings.iter().filter_map(|setting| globals::setting_of_all(setting)).collect())
}

const ROLES: &str = "SELECT pg_catalog.json_build_array(rolname::text, rolsuper, rolinherit, rolcreaterole, rolcreatedb, \
rolreplication, rolbypassrls)::text FROM pg_catalog.pg_roles WHERE rolname !~ '^(pg_|multi_operator_)' \
UNION ALL SELECT pg_catalog.json_build_array(g.rolname::text, u.rolname::text, m.admin_option)::text \
FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON g.oid = m.roleid \
JOIN pg_catalog.pg_roles u ON u.oid = m.member WHERE g.rolname !~ '^multi_operator_' AND u.rolname !~ '^multi_operator_'";
