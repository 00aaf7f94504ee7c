//! The part of a load that follows the rows, which pg_dump calls post-data.

use crate::failure::CommandFailure;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::restore::load::DatabaseLoad;
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::materialized_views::{self, Unfilled};

impl DatabaseLoad<'_> {
    /// Loads indexes, constraints and triggers; grants and comments; then fills materialized views.
    pub(crate) fn post_data(&self, logins: &Logins<'_>, unfilled: Unfilled) -> Result<Vec<String>, CommandFailure> {
        self.plan.post_data.iter().try_for_each(|run| self.run(run, logins, self.jobs))?;
        self.grants()?;
        let warnings = materialized_views::fill(self, logins, unfilled)?;
        self.hand_over(logins)?;
        self.by_superuser(&self.plan.last)?;
        Ok(warnings)
    }

    /// Gives the objects of stand-ins to their superusers: table by table, as many at once would take many locks.
    fn hand_over(&self, logins: &Logins<'_>) -> Result<(), CommandFailure> {
        let mut session = self.superuser(self.database)?;
        for (role, owner) in logins.stand_ins() {
            let tables = format!(
                "SELECT pg_catalog.to_json(pg_catalog.format('ALTER %s %I.%I OWNER TO %I', \
                 CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' \
                 ELSE 'TABLE' END, n.nspname, c.relname, {1}::text)) \
                 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 JOIN pg_catalog.pg_roles r ON r.oid = c.relowner \
                 WHERE r.rolname = {0} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
                literal(role),
                literal(owner)
            );
            for statement in session.query_json::<String>(&tables)? {
                session.query(&statement)?;
            }
            let role = identifier(role);
            session.query(&format!("REASSIGN OWNED BY {role} TO {}; DROP OWNED BY {role}", identifier(owner)))?;
        }
        Ok(())
    }
}
