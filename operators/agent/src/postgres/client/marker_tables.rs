//! The agent's own tables, which record what it has done: in schema `multi_operator` of the database `postgres`, and the ledger
//! in that of an application.
//!
//! The owner of such a database, or a role that may create objects in it, may have created that schema or a table in it first. A
//! superuser who reads or writes a user's table executes what the user attached to it: constants in an index, a rule, a trigger.
//! So each session checks the catalogs before it uses such a table. What a superuser owns in a superuser's schema, no other role
//! can change afterwards.

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::Session;

/// The schema of all marker tables.
pub(crate) const SCHEMA: &str = "multi_operator";

/// One marker table.
pub(crate) struct MarkerTable {
    pub(crate) name: &'static str,
    /// The columns, for `CREATE TABLE`.
    definition: &'static str,
    /// The columns, as the catalogs have them.
    columns: &'static str,
    /// The privileges that roles other than superusers may have.
    granted: &'static str,
}

/// Databases that were opened for a dump: if the run is killed, the next one closes them.
pub(crate) const OPENED: MarkerTable = MarkerTable {
    name: "opened",
    definition: "database text PRIMARY KEY, connection_limit int NOT NULL",
    columns: "database text, connection_limit integer",
    granted: "SELECT",
};

/// Databases that a restore creates or has created.
pub(crate) const RESTORE: MarkerTable = MarkerTable {
    name: "restore",
    definition: "database text PRIMARY KEY, snapshot text NOT NULL, finished boolean NOT NULL, \
                 at timestamptz NOT NULL DEFAULT pg_catalog.now()",
    columns: "database text, snapshot text, finished boolean, at timestamp with time zone now()",
    granted: "SELECT",
};

/// The attributes that roles had before the agent lent them a password: if the run is killed, the next one restores them.
pub(crate) const LENT: MarkerTable = MarkerTable {
    name: "lent",
    definition: "role text PRIMARY KEY, undo text NOT NULL",
    columns: "role text, undo text",
    granted: "",
};

/// A record of the SQL that was run in an application's database. `pg-init` creates the table, and allows the application to add
/// rows.
pub(crate) const LEDGER: MarkerTable = MarkerTable {
    name: "ledger",
    definition: "key text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT pg_catalog.now()",
    columns: "key text, checksum text, applied_at timestamp with time zone now()",
    granted: "SELECT INSERT",
};

/// Whether the schema is a superuser's, and no other role may create objects in it.
const OWN_SCHEMA: &str =
    "SELECT pg_catalog.to_json(o.rolsuper AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(n.nspacl) a
  LEFT JOIN pg_catalog.pg_roles g ON g.oid = a.grantee WHERE a.privilege_type = 'CREATE' AND g.rolsuper IS NOT TRUE))
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner WHERE n.nspname = 'multi_operator'";

/// Whether the table $1 is a superuser's with the columns $2, and nothing attached to it that the server would execute. $3 has
/// the privileges that others may have. A table that a superuser took over from a user keeps what the user attached.
const OWN_TABLE: &str = "SELECT pg_catalog.to_json(o.rolsuper AND c.relkind = 'r' AND c.relpersistence = 'p'
AND NOT c.relispartition AND NOT c.relrowsecurity
AND (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
    pg_catalog.pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attnum)
  FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = c.oid AND a.attnum > 0) = $2
AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhparent, i.inhrelid))
AND NOT EXISTS (SELECT FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = c.oid)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND NOT i.indisprimary)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype NOT IN ('p', 'n'))
AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(c.relacl) a LEFT JOIN pg_catalog.pg_roles g ON g.oid = a.grantee
  WHERE g.rolsuper IS NOT TRUE AND a.privilege_type <> ALL (pg_catalog.string_to_array($3, ' '))))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles o ON o.oid = c.relowner WHERE n.nspname = 'multi_operator' AND c.relname = $1";

impl MarkerTable {
    /// Whether the table exists. One that is not the agent's is a failure, before the server executes anything of it.
    pub(crate) fn exists(&self, session: &mut Session<'_>) -> Result<bool, CommandFailure> {
        match (schema(session)?, self.table(session)?) {
            (Some(false), _) | (_, Some(false)) => Err(foreign(session, self.name)?),
            (_, there) => Ok(there.is_some()),
        }
    }

    /// Creates the table if it does not exist.
    pub(crate) fn ensure(&self, session: &mut Session<'_>) -> Result<(), CommandFailure> {
        let of_schema = format!("SCHEMA {SCHEMA}");
        if schema(session)?.is_none() {
            session.query(&format!("BEGIN; CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))?;
            revoke(session, &of_schema, &format!("pg_catalog.pg_namespace c WHERE c.nspname = '{SCHEMA}'"), "nspacl")?;
            session.query("COMMIT")?;
        }
        // The agent creates nothing in a schema of another role.
        if schema(session)? != Some(true) {
            return Err(foreign(session, self.name)?);
        }
        if self.table(session)?.is_none() {
            let table = format!("{SCHEMA}.{}", self.name);
            session.query(&format!("BEGIN; CREATE TABLE IF NOT EXISTS {table} ({})", self.definition))?;
            let from = format!("pg_catalog.pg_class c WHERE c.oid = {}::pg_catalog.regclass", literal(&table));
            revoke(session, &table, &from, "relacl")?;
            session.query("COMMIT")?;
        }
        match self.exists(session)? {
            true => Ok(()),
            false => Err(foreign(session, self.name)?),
        }
    }

    /// Whether the table is the agent's; none if it does not exist.
    pub(crate) fn table(&self, session: &mut Session<'_>) -> Result<Option<bool>, CommandFailure> {
        let sql = OWN_TABLE.replace("$1", &literal(self.name)).replace("$2", &literal(self.columns));
        session.query_bool(&sql.replace("$3", &literal(self.granted)))
    }
}

/// Whether the schema of marker tables is the agent's; none if it does not exist.
pub(crate) fn schema(session: &mut Session<'_>) -> Result<Option<bool>, CommandFailure> {
    session.query_bool(OWN_SCHEMA)
}

/// Revokes what the superuser's default privileges have granted on a new object.
fn revoke(session: &mut Session<'_>, what: &str, from: &str, acl: &str) -> Result<(), CommandFailure> {
    let granted = format!(
        "SELECT DISTINCT pg_catalog.to_json(CASE a.grantee WHEN 0 THEN 'PUBLIC' \
         ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END)::text FROM (SELECT c.{acl} AS acl FROM {from}) AS one, \
         pg_catalog.aclexplode(one.acl) a LEFT JOIN pg_catalog.pg_roles g ON g.oid = a.grantee WHERE g.rolsuper IS NOT TRUE"
    );
    for role in session.query_json::<String>(&granted)? {
        session.query(&format!("REVOKE ALL ON {what} FROM {role} CASCADE"))?;
    }
    Ok(())
}

/// The failure that a foreign object has the name of a marker table or its schema, with what to do about it.
fn foreign(session: &mut Session<'_>, table: &str) -> Result<CommandFailure, CommandFailure> {
    let owner = "SELECT pg_catalog.json_build_array(pg_catalog.current_database()::text, \
                 pg_catalog.pg_get_userbyid(nspowner)::text) FROM pg_catalog.pg_namespace WHERE nspname = 'multi_operator'";
    let owner: Option<(String, String)> = session.query_json(owner)?.pop();
    let (database, owner) = owner.unwrap_or_default();
    let (database, owner) = (identifier(&database), identifier(&owner));
    let what = match schema(session)? {
        Some(true) => {
            format!("the table {SCHEMA}.{table} of database {database} differs from the one that the operator creates")
        }
        _ => format!(
            "the schema {SCHEMA} of database {database} belongs to the role {owner}, or roles other than superusers may create objects in it"
        ),
    };
    let message = format!(
        "{what}, and the operator keeps its own tables there: what is attached to it would run as the superuser; connect to \
         database {database} and rename the schema, or drop it (ALTER SCHEMA {SCHEMA} RENAME TO another_name): the \
         operator creates its own"
    );
    Ok(CommandFailure::new(Reason::ForeignData, message))
}
