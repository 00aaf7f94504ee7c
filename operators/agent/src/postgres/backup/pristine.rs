//! Whether a database that every server has is as initdb created it, as far as the sum of its objects does not show that.

use crate::failure::CommandFailure;
use crate::postgres::client::session::Session;

/// The first OID of users' objects.
const FIRST_OBJECT: u32 = 16_384;

/// Catalogs of objects without a schema, or that are not compared otherwise.
const CATALOGS: [&str; 18] = [
    "pg_am",
    "pg_cast",
    "pg_collation",
    "pg_conversion",
    "pg_default_acl",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_language",
    "pg_opclass",
    "pg_opfamily",
    "pg_publication",
    "pg_statistic_ext",
    "pg_transform",
    "pg_ts_config",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_extension",
];

/// Whether settings, owner, comment and grants of the database, and those of its schema `public`, are as initdb created them.
/// Without a comment, the comparison is unknown, which counts as different.
const AS_CREATED: &str =
    "SELECT pg_catalog.to_json((NOT EXISTS (SELECT FROM pg_catalog.pg_db_role_setting s WHERE s.setdatabase = d.oid)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_subscription s WHERE s.subdbid = d.oid)
AND NOT EXISTS (SELECT FROM pg_catalog.pg_seclabel) AND NOT EXISTS (SELECT FROM pg_catalog.pg_shseclabel l
  WHERE l.classoid = 'pg_catalog.pg_database'::pg_catalog.regclass AND l.objoid = d.oid)
AND d.datdba = 10 AND d.datistemplate = (d.datname = 'template1')
AND pg_catalog.shobj_description(d.oid, 'pg_database') IN ('default administrative connection database',
  'default template for new databases')
AND (SELECT pg_catalog.string_agg(one, ' ' ORDER BY one COLLATE pg_catalog.\"C\") FROM (SELECT
    CASE a.grantee WHEN 0 THEN 'all' WHEN d.datdba THEN 'owner' ELSE 'other' END || ':' || a.privilege_type
      || CASE WHEN a.is_grantable THEN '*' ELSE '' END AS one
    FROM pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) a) AS granted)
  = CASE d.datname WHEN 'template1' THEN 'all:CONNECT owner:CONNECT owner:CREATE owner:TEMPORARY'
    ELSE 'all:CONNECT all:TEMPORARY owner:CONNECT owner:CREATE owner:TEMPORARY' END
AND NOT EXISTS (SELECT FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_init_privs i
  ON i.objoid = n.oid AND i.classoid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
  LEFT JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner WHERE n.nspname = 'public'
  AND (n.nspacl::text IS DISTINCT FROM i.initprivs::text OR NOT (n.nspowner = 10 OR r.rolname = 'pg_database_owner')
    OR pg_catalog.obj_description(n.oid, 'pg_namespace') IS DISTINCT FROM 'standard public schema'))) IS TRUE)
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()";

/// Whether the session's database has nothing of a user's, other than the objects that are compared. What cannot be decided
/// counts as a user's: to save too much does no harm.
pub(crate) fn is(session: &mut Session<'_>) -> Result<bool, CommandFailure> {
    if session.query_json::<bool>(AS_CREATED)?.pop() != Some(true) {
        return Ok(false);
    }
    let any = CATALOGS.map(|name| format!("EXISTS (SELECT FROM pg_catalog.{name} WHERE oid >= {FIRST_OBJECT})"));
    Ok(session.query_json::<bool>(&format!("SELECT pg_catalog.to_json({})", any.join(" OR ")))?.pop() == Some(false))
}
