//! What a snapshot or an upgrade leaves out of a server or a database: a message each, from catalogs alone.

use crate::failure::CommandFailure;
use crate::postgres::client::session::Session;

/// What a database has that cannot be loaded.
const NOT_LOADED: [(&str, &str); 6] = [
    (
        "SELECT pg_catalog.to_json(c.relname::text) FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c \
         ON c.oid = i.inhrelid JOIN pg_catalog.pg_class p ON p.oid = i.inhparent WHERE c.relowner <> p.relowner \
         AND c.relkind IN ('r', 'p', 'f')",
        "its owner is not that of the table whose partition or child it is; give both the same owner (ALTER TABLE ... OWNER TO)",
    ),
    (
        "SELECT pg_catalog.to_json(t.typname::text) FROM pg_catalog.pg_range r JOIN pg_catalog.pg_type t \
         ON t.oid = r.rngtypid JOIN pg_catalog.pg_proc p ON p.oid = r.rngcanonical::pg_catalog.oid \
         JOIN pg_catalog.pg_language l ON l.oid = p.prolang WHERE l.lanname NOT IN ('c', 'internal')",
        "it is a range type whose canonical function is not C; create the type without that function",
    ),
    // Validators run whenever the superuser creates a server or a function.
    (
        "SELECT pg_catalog.to_json(name) FROM (SELECT fdwname::text, fdwvalidator FROM pg_catalog.pg_foreign_data_wrapper \
         UNION ALL SELECT lanname::text, lanvalidator FROM pg_catalog.pg_language) AS made (name, validator) \
         JOIN pg_catalog.pg_proc p ON p.oid = validator JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
         WHERE l.lanname NOT IN ('c', 'internal') AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d \
         WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e') ORDER BY name",
        "it is a foreign-data wrapper or a language whose validator is not C; create it without that function",
    ),
    (
        "SELECT pg_catalog.to_json(name) FROM (SELECT p.proname::text, p.proowner, 'pg_catalog.pg_proc'::pg_catalog.regclass, \
         p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
         WHERE p.prokind <> 'a' AND NOT l.lanpltrusted \
         UNION ALL SELECT p.proname::text, p.proowner, 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid \
         FROM pg_catalog.pg_aggregate a JOIN pg_catalog.pg_proc p ON p.oid = a.aggfnoid::pg_catalog.oid \
         WHERE 'pg_catalog.internal'::pg_catalog.regtype IN (a.aggtranstype, a.aggmtranstype) \
         UNION ALL SELECT t.typname::text, t.typowner, 'pg_catalog.pg_type'::pg_catalog.regclass, t.oid FROM pg_catalog.pg_type t \
         WHERE (t.typtype = 'b' AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.typarray = t.oid)) \
         OR NOT t.typisdefined) AS made (name, owner, class, oid) JOIN pg_catalog.pg_roles r ON r.oid = made.owner \
         WHERE NOT r.rolsuper AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = made.class \
         AND d.objid = made.oid AND d.deptype = 'e') ORDER BY name",
        "only a superuser can create such a function or type, and its owner is not one; give it to a superuser (ALTER ... OWNER TO)",
    ),
    (
        OF_FILES,
        "it is a foreign table of file_fdw, whose files only some roles may name, and is a partition, or has a type, a function or a trigger \
         of users in it; create it without that, or give it to a role that may name files (pg_read_server_files, pg_execute_server_program)",
    ),
    (
        NEEDS_USER_OBJECTS,
        "only a superuser can create it, and code of another role may check a constant in it; create it without that constant, or \
         from what superusers own",
    ),
];

/// Foreign tables of files that no role can load: the superuser must not create them, since they hold or call what may be a
/// user's, and their owner, or its stand-in, may not name files (load_plan.rs).
const OF_FILES: &str = "SELECT pg_catalog.to_json(c.relname::text) FROM pg_catalog.pg_class c \
JOIN pg_catalog.pg_foreign_table f ON f.ftrelid = c.oid JOIN pg_catalog.pg_foreign_server s ON s.oid = f.ftserver \
JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw AND w.fdwname = 'file_fdw' \
JOIN pg_catalog.pg_roles r ON r.oid = c.relowner JOIN pg_catalog.unnest(f.ftoptions) AS option ON option ~ '^(filename|program)=' \
WHERE (r.rolsuper OR NOT pg_catalog.pg_has_role(r.oid, CASE WHEN option ~ '^program=' THEN 'pg_execute_server_program' \
  ELSE 'pg_read_server_files' END, 'USAGE')) \
AND (EXISTS (SELECT FROM (SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid, c.oid \
  UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, oid FROM pg_catalog.pg_attrdef WHERE adrelid = c.oid \
  UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, oid FROM pg_catalog.pg_constraint WHERE conrelid = c.oid) \
    AS part (class, oid) JOIN pg_catalog.pg_depend d ON d.classid = part.class AND d.objid = part.oid \
  WHERE NOT (d.refclassid IN ('pg_catalog.pg_namespace'::pg_catalog.regclass, 'pg_catalog.pg_foreign_server'::pg_catalog.regclass) \
    OR (d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = c.oid)) \
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')) \
OR (r.rolsuper AND (EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = c.oid) \
  OR EXISTS (SELECT FROM pg_catalog.pg_rewrite WHERE ev_class = c.oid) \
  OR EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE c.oid IN (inhrelid, inhparent)) \
  OR EXISTS (SELECT FROM pg_catalog.pg_statistic_ext WHERE stxrelid = c.oid)))) ORDER BY c.relname";

/// Functions and aggregates with a constant that only a superuser can create, and that depend, directly or not, on an object
/// whose owner is not a superuser: a load gives them to a stand-in, which may not create them (evaluated.rs).
const NEEDS_USER_OBJECTS: &str = "WITH RECURSIVE need (made, class, oid) AS (SELECT p.oid, 'pg_catalog.pg_proc'::pg_catalog.regclass::oid, \
p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_roles r ON r.oid = p.proowner JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = p.oid WHERE r.rolsuper AND CASE WHEN a.aggfnoid IS NULL \
  THEN NOT l.lanpltrusted AND p.pronargdefaults > 0 \
  ELSE 'pg_catalog.internal'::pg_catalog.regtype IN (a.aggtranstype, a.aggmtranstype) AND coalesce(a.agginitval, a.aggminitval) IS NOT NULL END \
AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid \
  AND d.deptype = 'e') \
UNION SELECT n.made, d.class, d.oid FROM need n CROSS JOIN LATERAL (SELECT refclassid, refobjid FROM pg_catalog.pg_depend \
  WHERE classid = n.class AND objid = n.oid \
  UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, oid FROM pg_catalog.pg_constraint \
  WHERE (n.class = 'pg_catalog.pg_type'::pg_catalog.regclass AND contypid = n.oid) \
  OR (n.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND conrelid = n.oid) \
  UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, oid FROM pg_catalog.pg_attrdef \
  WHERE n.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND adrelid = n.oid \
  UNION ALL SELECT 'pg_catalog.pg_rewrite'::pg_catalog.regclass, oid FROM pg_catalog.pg_rewrite \
  WHERE n.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND ev_class = n.oid) AS d (class, oid) \
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = d.class AND e.objid = d.oid AND e.deptype = 'e')) \
SELECT DISTINCT pg_catalog.to_json(p.proname::text)::text FROM need n JOIN pg_catalog.pg_proc p ON p.oid = n.made \
JOIN (SELECT 'pg_catalog.pg_type'::pg_catalog.regclass, oid, typowner FROM pg_catalog.pg_type \
  UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass, oid, proowner FROM pg_catalog.pg_proc \
  UNION ALL SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, oid, relowner FROM pg_catalog.pg_class \
  UNION ALL SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass, oid, oprowner FROM pg_catalog.pg_operator \
  UNION ALL SELECT 'pg_catalog.pg_collation'::pg_catalog.regclass, oid, collowner FROM pg_catalog.pg_collation \
  UNION ALL SELECT 'pg_catalog.pg_language'::pg_catalog.regclass, oid, lanowner FROM pg_catalog.pg_language \
  UNION ALL SELECT 'pg_catalog.pg_ts_config'::pg_catalog.regclass, oid, cfgowner FROM pg_catalog.pg_ts_config \
  UNION ALL SELECT 'pg_catalog.pg_ts_dict'::pg_catalog.regclass, oid, dictowner FROM pg_catalog.pg_ts_dict) AS own (class, oid, owner) \
ON own.class = n.class AND own.oid = n.oid JOIN pg_catalog.pg_roles r ON r.oid = own.owner WHERE NOT r.rolsuper ORDER BY 1";

/// What a load of this database's dump would reject or lose.
pub(crate) fn not_loaded(session: &mut Session<'_>, name: &str) -> Result<Vec<String>, CommandFailure> {
    report(session, &NOT_LOADED, &format!("database {name}: "))
}

/// Rows that pg_dump leaves out of this database.
const LEFT_OUT: [(&str, &str); 1] = [(
    "SELECT pg_catalog.to_json(c.relname::text) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_depend d \
         ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e' \
         JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid \
         WHERE d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND c.relkind = 'r' AND c.relpersistence <> 't' \
         AND c.oid <> ALL (coalesce(e.extconfig, '{}')) AND pg_catalog.pg_relation_size(c.oid) > 0",
    "rows of an extension's table are left out: the extension creates its own; if the rows are yours, take the table out \
         (ALTER EXTENSION ... DROP TABLE)",
)];

/// Rows of this database that are not in a dump of it.
pub(crate) fn left_out(session: &mut Session<'_>, name: &str) -> Result<Vec<String>, CommandFailure> {
    report(session, &LEFT_OUT, &format!("database {name}: "))
}

/// What differs after a restore without loss of rows.
const REMARKS: [(&str, &str); 2] = [
    (
        "SELECT pg_catalog.to_json(c.relname::text) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c \
         ON c.oid = i.indexrelid JOIN pg_catalog.pg_class t ON t.oid = i.indrelid \
         WHERE NOT (i.indisready AND (i.indisvalid OR t.relkind = 'p')) AND t.relpersistence <> 't' \
         AND c.relnamespace <> 'pg_toast'::pg_catalog.regnamespace",
        "an unfinished index is left out: CREATE INDEX CONCURRENTLY runs or has failed; if it has failed, drop the index \
         and create it again",
    ),
    (
        "SELECT pg_catalog.to_json(e.extname::text) FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_roles r \
         ON r.oid = e.extowner WHERE NOT r.rolsuper",
        "the extension's owner is left out: it belongs to the superuser afterwards, so only a superuser alters or drops it",
    ),
];

/// What differs in this database after a restore. It does not delay a deletion, as no data is lost.
pub(crate) fn remarks(session: &mut Session<'_>, name: &str) -> Result<Vec<String>, CommandFailure> {
    report(session, &REMARKS, &format!("database {name}: "))
}

/// What a physical snapshot leaves out of a database.
const NOT_COPIED: [(&str, &str); 1] = [(
    "SELECT pg_catalog.to_json(relname::text) FROM pg_catalog.pg_class WHERE relpersistence = 'u' AND relkind = 'r'",
    "rows of an unlogged table are left out: a physical snapshot has none of them; set it to logged (ALTER TABLE ... SET \
     LOGGED), or set backup.method: Logical",
)];

/// What a physical snapshot leaves out of this database, which accepts connections.
pub(crate) fn not_copied(session: &mut Session<'_>, name: &str) -> Result<Vec<String>, CommandFailure> {
    report(session, &NOT_COPIED, &format!("database {name}: "))
}

/// Replication slots, which no kind of snapshot has.
const SLOTS: (&str, &str) = (
    "SELECT pg_catalog.to_json(slot_name::text) FROM pg_catalog.pg_replication_slots WHERE NOT temporary",
    "is a replication slot: what reads from it has to start again",
);

/// What no dump has of a server.
const NOT_DUMPED: [(&str, &str); 5] = [
    SLOTS,
    (
        "SELECT pg_catalog.to_json(external_id) FROM pg_catalog.pg_replication_origin_status \
         JOIN pg_catalog.pg_replication_origin o ON o.roident = local_id",
        "is a replication origin: the progress of its subscription is not kept",
    ),
    (
        "SELECT pg_catalog.to_json(spcname::text) FROM pg_catalog.pg_tablespace WHERE spcname !~ '^pg_'",
        "is a tablespace: its contents are kept, in the default tablespace",
    ),
    (
        "SELECT pg_catalog.to_json(datname::text) FROM pg_catalog.pg_database WHERE datconnlimit = -2",
        "is a database whose DROP DATABASE was interrupted; drop it again",
    ),
    (
        "SELECT pg_catalog.to_json(gid) FROM pg_catalog.pg_prepared_xacts",
        "is a prepared transaction: its writes are left out until it is committed",
    ),
];

/// What a dump of all databases leaves out of the server.
pub(crate) fn not_dumped(session: &mut Session<'_>) -> Result<Vec<String>, CommandFailure> {
    report(session, &NOT_DUMPED, "")
}

/// Objects of a superuser next to the operator's marker tables, whose schema in database `postgres` is in no dump.
const IN_MARKER_SCHEMA: [(&str, &str); 1] = [(
    "SELECT pg_catalog.to_json(name) FROM (SELECT relname::text, relnamespace FROM pg_catalog.pg_class \
         WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND relname NOT IN ('opened', 'restore', 'lent', 'ledger') \
         UNION ALL SELECT proname::text, pronamespace FROM pg_catalog.pg_proc \
         UNION ALL SELECT typname::text, typnamespace FROM pg_catalog.pg_type WHERE typtype IN ('d', 'e', 'r')) \
         AS made (name, schema) JOIN pg_catalog.pg_namespace n ON n.oid = schema WHERE n.nspname = 'multi_operator' ORDER BY name",
    "it is in schema multi_operator, where the operator keeps its own tables, and which is left out: move it to another schema \
         (ALTER ... SET SCHEMA)",
)];

/// What is left out of database `postgres` together with the operator's marker tables.
pub(crate) fn in_marker_schema(session: &mut Session<'_>) -> Result<Vec<String>, CommandFailure> {
    report(session, &IN_MARKER_SCHEMA, "database postgres: ")
}

/// What a physical snapshot leaves out of the server.
pub(crate) fn slots(session: &mut Session<'_>) -> Result<Vec<String>, CommandFailure> {
    report(session, &[SLOTS], "")
}

/// Names the first of each kind, and how many more there are.
fn report(session: &mut Session<'_>, kinds: &[(&str, &str)], prefix: &str) -> Result<Vec<String>, CommandFailure> {
    let mut found = Vec::new();
    for (sql, message) in kinds {
        let names: Vec<String> = session.query_json(sql)?;
        let more = names.len().saturating_sub(1);
        let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        // A message that begins with what is wrong has the names before a colon.
        let colon = if prefix.is_empty() { "" } else { ":" };
        found.extend(names.first().map(|name| format!("{prefix}{name:?}{others}{colon} {message}")));
    }
    Ok(found)
}
