//! What a database holds beyond rows, and what of a server no dump has in it: asked of catalogs alone.

use super::globals;
use super::manifest::Content;
use super::notes::SCHEMA;
use super::session::Session;
use super::sums::{Sum, Summing};
use crate::failure::Failure;

/// Objects with kind, name and owner, as every version has them. What belongs to an extension, or was made by the server for
/// something else, is left out. Of a function also what it does, and with whose rights.
const OBJECTS: &str = "SELECT pg_catalog.json_build_array(o.kind, n.nspname::text, o.name, r.rolname::text) FROM (
SELECT 'relation ' || c.relkind::text AS kind, c.relnamespace AS schema, c.relname::text AS name, c.relowner AS owner,
  'pg_catalog.pg_class'::pg_catalog.regclass AS class, c.oid FROM pg_catalog.pg_class c WHERE c.relpersistence <> 't'
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
UNION ALL SELECT 'event trigger ' || e.evtenabled::text, 0, e.evtname::text, e.evtowner,
  'pg_catalog.pg_event_trigger'::pg_catalog.regclass, e.oid FROM pg_catalog.pg_event_trigger e
) o LEFT JOIN pg_catalog.pg_namespace n ON n.oid = o.schema LEFT JOIN pg_catalog.pg_roles r ON r.oid = o.owner
WHERE (n.nspname IS NULL OR (n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'))
AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e')";

/// Those that fit into an answer by their contents, others by their size.
const LARGE_OBJECTS: &str = "SELECT pg_catalog.json_build_array(m.oid::text, CASE WHEN p.last < 100000
  THEN pg_catalog.md5(pg_catalog.lo_get(m.oid)) ELSE p.last::text END) FROM pg_catalog.pg_largeobject_metadata m
LEFT JOIN (SELECT loid, pg_catalog.max(pageno) AS last FROM pg_catalog.pg_largeobject GROUP BY loid) p ON p.loid = m.oid";

const PLACE: &str = "SELECT pg_catalog.json_build_array(datistemplate, datallowconn, datconnlimit) \
FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()";

/// Without the agent's notes on all databases, if they are in this one.
pub(crate) fn content(session: &mut Session<'_>, notes: bool) -> Result<Content, Failure> {
    let mut objects = Summing::default();
    for line in session.ask(OBJECTS)? {
        if !notes || !line.contains(&format!(", \"{SCHEMA}\", ")) {
            objects.add(line.as_bytes());
        }
    }
    let mut large = Summing::default();
    session.ask(LARGE_OBJECTS)?.iter().for_each(|line| large.add(line.as_bytes()));
    let (is_template, allow_connections, connection_limit) =
        session.ask_json::<(bool, bool, i32)>(PLACE)?.pop().unwrap_or((false, true, -1));
    let (objects, large_objects) = (objects.sum(), large.sum());
    // The schema `public` is an object, too.
    let pristine = objects.count <= 1 && large_objects.count == 0 && settings(session)? == 0;
    Ok(Content { objects, large_objects, is_template, allow_connections, connection_limit, pristine })
}

fn settings(session: &mut Session<'_>) -> Result<u64, Failure> {
    let sql = "SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_db_role_setting s JOIN pg_catalog.pg_database d \
        ON d.oid = s.setdatabase WHERE d.datname = pg_catalog.current_database()) + (SELECT pg_catalog.count(*) \
        FROM pg_catalog.pg_extension WHERE extname <> 'plpgsql') + (SELECT pg_catalog.count(*) \
        FROM pg_catalog.pg_default_acl)";
    Ok(session.ask_json(sql)?.pop().unwrap_or(0))
}

/// Who may do what beyond its own objects: attributes of roles, and members. In the words of the catalogs, so that two
/// servers, or two moments of one, can be compared.
pub(crate) fn roles(session: &mut Session<'_>) -> Result<Sum, Failure> {
    let mut summing = Summing::default();
    session.ask(ROLES)?.iter().for_each(|line| summing.add(line.as_bytes()));
    Ok(summing.sum())
}

/// What pg_dumpall leaves out, as SQL.
pub(crate) fn settings_of_all(session: &mut Session<'_>) -> Result<String, Failure> {
    let sql = "SELECT pg_catalog.to_json(setting) FROM pg_catalog.pg_db_role_setting, \
               pg_catalog.unnest(setconfig) AS setting WHERE setdatabase = 0 AND setrole = 0";
    let settings: Vec<String> = session.ask_json(sql)?;
    Ok(settings.iter().filter_map(|setting| globals::setting_of_all(setting)).collect())
}

const ROLES: &str = "SELECT pg_catalog.json_build_array(rolname::text, rolsuper, rolinherit, rolcreaterole, rolcreatedb, \
rolreplication, rolbypassrls)::text FROM pg_catalog.pg_roles WHERE rolname !~ '^(pg_|multi_operator_)' \
UNION ALL SELECT pg_catalog.json_build_array(g.rolname::text, u.rolname::text, m.admin_option)::text \
FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON g.oid = m.roleid \
JOIN pg_catalog.pg_roles u ON u.oid = m.member WHERE g.rolname !~ '^multi_operator_' AND u.rolname !~ '^multi_operator_'";

/// What a database has that is not loaded: a sentence each.
const NOT_LOADED: [(&str, &str); 2] = [
    (
        "SELECT pg_catalog.to_json(c.relname::text) FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c \
         ON c.oid = i.inhrelid JOIN pg_catalog.pg_class p ON p.oid = i.inhparent WHERE c.relowner <> p.relowner \
         AND c.relkind IN ('r', 'p', 'f')",
        "it belongs to another role than the table that it is a partition or child of; give both to one (ALTER TABLE ... OWNER TO)",
    ),
    (
        "SELECT pg_catalog.to_json(t.typname::text) FROM pg_catalog.pg_range r JOIN pg_catalog.pg_type t \
         ON t.oid = r.rngtypid JOIN pg_catalog.pg_proc p ON p.oid = r.rngcanonical::pg_catalog.oid \
         JOIN pg_catalog.pg_language l ON l.oid = p.prolang WHERE l.lanname NOT IN ('c', 'internal')",
        "it is a range type whose canonical function is not C; make the type without that function",
    ),
];

/// What of this database a load of its dump would refuse, or lose.
pub(crate) fn not_loaded(session: &mut Session<'_>, name: &str) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for (sql, sentence) in NOT_LOADED {
        let names: Vec<String> = session.ask_json(sql)?;
        found.extend(names.first().map(|one| format!("database {name}: {one:?}: {sentence}")));
    }
    Ok(found)
}

/// What of the whole server no dump has in it.
const NOT_DUMPED: [(&str, &str); 5] = [
    (
        "SELECT pg_catalog.to_json(slot_name::text) FROM pg_catalog.pg_replication_slots WHERE NOT temporary",
        "is a replication slot: what reads from it has to begin anew",
    ),
    (
        "SELECT pg_catalog.to_json(external_id) FROM pg_catalog.pg_replication_origin_status \
         JOIN pg_catalog.pg_replication_origin o ON o.roident = local_id",
        "is a replication origin: how far its subscription came is not kept",
    ),
    (
        "SELECT pg_catalog.to_json(spcname::text) FROM pg_catalog.pg_tablespace WHERE spcname !~ '^pg_'",
        "is a tablespace: what is in it is kept, and goes to the default one",
    ),
    (
        "SELECT pg_catalog.to_json(datname::text) FROM pg_catalog.pg_database WHERE datconnlimit = -2",
        "is a database that was left half dropped (DROP DATABASE takes it away)",
    ),
    (
        "SELECT pg_catalog.to_json(gid) FROM pg_catalog.pg_prepared_xacts",
        "is a prepared transaction: what it wrote is lost, until it is committed",
    ),
];

/// The first of each kind is named.
pub(crate) fn not_dumped(session: &mut Session<'_>) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for (sql, sentence) in NOT_DUMPED {
        let names: Vec<String> = session.ask_json(sql)?;
        let more = names.len().saturating_sub(1);
        let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        found.extend(names.first().map(|name| format!("{name:?}{others} {sentence}")));
    }
    Ok(found)
}
