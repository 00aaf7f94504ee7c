//! Loads a logical snapshot into a server: the one that will serve it, or a throwaway one.

use std::fs;
use std::path::Path;

use crate::failure::{CommandFailure, Reason};
use crate::files::ScratchDirectory;
use crate::postgres::backup::contents;
use crate::postgres::backup::globals::{self, ExistingRoles, GLOBALS};
use crate::postgres::backup::inventory;
use crate::postgres::backup::manifest::{self, DatabaseManifest, SnapshotManifest};
use crate::postgres::backup::sums::Sum;
use crate::postgres::client::default_databases::{MAINTENANCE, is_default};
use crate::postgres::client::diagnosis::restore_failed;
use crate::postgres::client::quote;
use crate::postgres::client::session::{MAINTAINING, Session, UNLOGGED};
use crate::postgres::client::statements::Unterminated;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::restore::load::{DatabaseCreation, DatabaseLoad};
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::materialized_views::Unfilled;

#[derive(Clone, Copy)]
pub(crate) struct SnapshotLoad<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) connection: &'a Connection,
    pub(crate) snapshot: &'a Path,
    pub(crate) manifest: &'a SnapshotManifest,
    pub(crate) jobs: u16,
    /// A directory for lists of entries.
    pub(crate) run: &'a Path,
    /// Whether the server outlives this run, even if it fails.
    pub(crate) persistent: bool,
}

impl SnapshotLoad<'_> {
    /// Creates the roles, all or none: so an existing role was there before, or is complete.
    pub(crate) fn globals(&self) -> Result<(), CommandFailure> {
        let text = fs::read_to_string(self.snapshot.join(GLOBALS))
            .map_err(|error| CommandFailure::new(Reason::Corrupt, format!("{GLOBALS}: {error}")))?;
        create_roles(self.tools, self.connection, MAINTENANCE, &text, &self.manifest.superuser)
    }

    /// Creates and loads the database, and compares it with the manifest. It must not exist, unless every server has it. Returns
    /// warnings.
    pub(crate) fn database(&self, database: &DatabaseManifest) -> Result<Vec<String>, CommandFailure> {
        let archive = self.snapshot.join(&database.directory);
        let directory = ScratchDirectory::new(self.run.join(format!("load-{}", std::process::id())))?;
        let paths = (archive.as_path(), directory.path());
        let (tools, connection) = (self.tools, self.connection);
        let load = DatabaseLoad::open(tools, connection, paths, &database.name, self.jobs, &self.manifest.superuser)?;
        load.create(if is_default(&database.name) { DatabaseCreation::Fill } else { DatabaseCreation::Create })?;
        if database.content.as_ref().and_then(|content| content.public) == Some(false) {
            load.drop_public()?;
        }
        let mut logins = Logins::new(tools, connection, MAINTENANCE, self.persistent);
        logins.lend(&load.plan.roles())?;
        load.definitions(&logins)?;
        load.rows(&logins)?;
        load.values()?;
        load.refuse_other_sequences()?;
        let warnings = load.post_data(&logins, Unfilled::Warn)?;
        logins.give_back()?;
        let found = inventory::describe(&mut Session::open(tools, connection, &database.name)?, &database.name)?;
        match manifest::differences(database, &found) {
            Some(message) => Err(CommandFailure::new(Reason::CountMismatch, message)),
            None => Ok(warnings),
        }
    }

    /// The privileges of all roles, to compare them before users' code can have run, and afterward.
    pub(crate) fn privileges(&self) -> Result<Sum, CommandFailure> {
        contents::roles(&mut Session::open(self.tools, self.connection, MAINTENANCE)?)
    }

    /// Fails if the load has changed the privileges of a role.
    pub(crate) fn refuse_gained_privileges(&self, before: &Sum) -> Result<(), CommandFailure> {
        if self.privileges()? == *before {
            return Ok(());
        }
        let message =
            "while the snapshot was loaded, roles or their members changed: code in it tried to gain privileges";
        Err(CommandFailure::new(Reason::RestoreFailed, message))
    }

    /// Computes statistics, which a dump lacks.
    pub(crate) fn analyze(&self, database: &DatabaseManifest) -> Result<(), CommandFailure> {
        let mut command = self.connection.client_of(self.tools, "vacuumdb", &database.name, MAINTAINING);
        command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", self.jobs));
        self.tools.run(&mut command, Reason::ToolFailed).map(|_| ())
    }

    /// Whether a database has no objects of users.
    pub(crate) fn is_empty(&self, name: &str) -> Result<bool, CommandFailure> {
        is_empty(self.tools, self.connection, name)
    }

    pub(crate) fn exists(&self, session: &mut Session<'_>, name: &str) -> Result<bool, CommandFailure> {
        let sql = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", quote::literal(name));
        Ok(session.query_one(&sql)?.is_some())
    }
}

/// Creates the roles of a pg_dumpall, all or none.
pub(crate) fn create_roles(
    tools: &Tools,
    connection: &Connection,
    via_database: &str,
    text: &str,
    superuser_then: &str,
) -> Result<(), CommandFailure> {
    let mut session = Session::open(tools, connection, via_database)?;
    session.query(UNLOGGED)?;
    let roles: Vec<String> = session.query_json("SELECT pg_catalog.to_json(rolname::text) FROM pg_catalog.pg_roles")?;
    let existing = ExistingRoles { superuser: &connection.user, superuser_then, roles: roles.into_iter().collect() };
    let open = |open: Unterminated| format!("{GLOBALS}: the {} in line {} does not end", open.what, open.line);
    let statements = globals::adapted(text, &existing).map_err(|at| CommandFailure::new(Reason::Corrupt, open(at)))?;
    session.query("BEGIN")?;
    for statement in &statements {
        session.run(statement).map_err(restore_failed)?;
    }
    session.query("COMMIT").map(|_| ())
}

/// Whether a database has no objects of users. The operator's marker tables do not count.
pub(crate) fn is_empty(tools: &Tools, connection: &Connection, name: &str) -> Result<bool, CommandFailure> {
    let users = "nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'multi_operator')";
    let sql = format!(
        "SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
         ON n.oid = c.relnamespace WHERE {users}) + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_proc p \
         JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE {users}) \
         + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
         WHERE t.typtype IN ('d', 'e', 'r') AND {users}) \
         + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_namespace WHERE {users} AND nspname <> 'public') \
         + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_largeobject_metadata)"
    );
    let things: Vec<u64> = Session::open(tools, connection, name)?.query_json(&sql)?;
    Ok(things == [0])
}
