//! What is loaded after the rows.

use super::load::Load;
use super::logins::Logins;
use super::quote::{identifier, literal};
use super::views::{self, Unfilled};
use crate::failure::Failure;

impl Load<'_> {
    /// Indexes, constraints and triggers; grants and comments; then what is computed from all that.
    pub(crate) fn later(&self, logins: &Logins<'_>, unfilled: Unfilled) -> Result<Vec<String>, Failure> {
        self.plan.later.iter().try_for_each(|run| self.run(run, logins, self.jobs))?;
        self.grants()?;
        let warnings = views::fill(self, logins, unfilled)?;
        self.hand_over(logins)?;
        self.by_superuser(&self.plan.last)?;
        Ok(warnings)
    }

    /// What stand-ins made becomes their superusers': one table after the other, as many at once would take many locks.
    fn hand_over(&self, logins: &Logins<'_>) -> Result<(), Failure> {
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
            for statement in session.ask_json::<String>(&tables)? {
                session.ask(&statement)?;
            }
            let role = identifier(role);
            session.ask(&format!("REASSIGN OWNED BY {role} TO {}; DROP OWNED BY {role}", identifier(owner)))?;
        }
        Ok(())
    }
}
