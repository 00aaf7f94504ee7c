//! Loads a logical snapshot into a server: the one that will serve it, or a throwaway one.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Reason};
use crate::postgres::backup::contents;
use crate::postgres::backup::globals::{self, GLOBALS, Place};
use crate::postgres::backup::inventory;
use crate::postgres::backup::manifest::{self, Database, Manifest};
use crate::postgres::backup::sums::Sum;
use crate::postgres::client::default_databases::{MAINTENANCE, stands};
use crate::postgres::client::diagnosis::restore_failed;
use crate::postgres::client::quote;
use crate::postgres::client::session::{MAINTAINING, Session, UNLOGGED};
use crate::postgres::client::statements::Open;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::files::Scratch;
use crate::postgres::restore::load::{Creation, Load};
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::materialized_views::Unfilled;

#[derive(Clone, Copy)]
pub(crate) struct SnapshotLoad<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) connection: &'a Connection,
    pub(crate) snapshot: &'a Path,
    pub(crate) manifest: &'a Manifest,
    pub(crate) jobs: u16,
    /// Where lists of what to load are written.
    pub(crate) run: &'a Path,
    /// Whether the server is kept, whatever becomes of this run.
    pub(crate) lasting: bool,
}

impl SnapshotLoad<'_> {
    /// Makes the roles, all or none: a role that is there has been there before, or is complete.
    pub(crate) fn globals(&self) -> Result<(), Failure> {
        let text = fs::read_to_string(self.snapshot.join(GLOBALS))
            .map_err(|error| Failure::new(Reason::Corrupt, format!("{GLOBALS}: {error}")))?;
        create_roles(self.tools, self.connection, MAINTENANCE, &text, &self.manifest.superuser)
    }

    /// Makes the database, which must not be there (but for those that every server has), and compares. What is to be told
    /// of it are messages.
    pub(crate) fn database(&self, database: &Database) -> Result<Vec<String>, Failure> {
        let archive = self.snapshot.join(&database.folder);
        let folder = Scratch::new(self.run.join(format!("load-{}", std::process::id())))?;
        let place = (archive.as_path(), folder.path());
        let (tools, connection) = (self.tools, self.connection);
        let load = Load::open(tools, connection, place, &database.name, self.jobs, &self.manifest.superuser)?;
        load.create(if stands(&database.name) { Creation::Fill } else { Creation::Make })?;
        if database.content.as_ref().and_then(|content| content.public) == Some(false) {
            load.drop_public()?;
        }
        let mut logins = Logins::new(tools, connection, MAINTENANCE, self.lasting);
        logins.lend(&load.plan.roles())?;
        load.definitions(&logins)?;
        load.rows(&logins)?;
        load.values()?;
        load.refuse_other_sequences()?;
        let warnings = load.post_data(&logins, Unfilled::Told)?;
        logins.give_back()?;
        let found = inventory::describe(&mut Session::open(tools, connection, &database.name)?, &database.name)?;
        match manifest::differences(database, &found) {
            Some(message) => Err(Failure::new(Reason::CountMismatch, message)),
            None => Ok(warnings),
        }
    }

    /// What roles may do. It is asked before user's code can have run, and afterwards.
    pub(crate) fn privileges(&self) -> Result<Sum, Failure> {
        contents::roles(&mut Session::open(self.tools, self.connection, MAINTENANCE)?)
    }

    /// A load changes no role's rights.
    pub(crate) fn refuse_gained_rights(&self, before: &Sum) -> Result<(), Failure> {
        if self.privileges()? == *before {
            return Ok(());
        }
        let message =
            "while the snapshot was loaded, roles or their members changed: code in it tried to gain privileges";
        Err(Failure::new(Reason::RestoreFailed, message))
    }

    /// Statistics, which a dump has none of.
    pub(crate) fn analyze(&self, database: &Database) -> Result<(), Failure> {
        let mut command = self.connection.client_of(self.tools, "vacuumdb", &database.name, MAINTAINING);
        command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", self.jobs));
        self.tools.run(&mut command, Reason::ToolFailed).map(|_| ())
    }

    /// Whether a database holds nothing that a user made.
    pub(crate) fn is_empty(&self, name: &str) -> Result<bool, Failure> {
        is_empty(self.tools, self.connection, name)
    }

    pub(crate) fn exists(&self, session: &mut Session<'_>, name: &str) -> Result<bool, Failure> {
        let sql = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", quote::literal(name));
        Ok(session.query_one(&sql)?.is_some())
    }
}

/// Makes what pg_dumpall says of roles, all or none.
pub(crate) fn create_roles(
    tools: &Tools,
    connection: &Connection,
    by_way_of: &str,
    text: &str,
    superuser_then: &str,
) -> Result<(), Failure> {
    let mut session = Session::open(tools, connection, by_way_of)?;
    session.query(UNLOGGED)?;
    let roles: Vec<String> = session.query_json("SELECT pg_catalog.to_json(rolname::text) FROM pg_catalog.pg_roles")?;
    let place = Place { superuser: &connection.user, superuser_then, roles: roles.into_iter().collect() };
    let open = |open: Open| format!("{GLOBALS}: the {} in line {} does not end", open.what, open.line);
    let statements = globals::adapted(text, &place).map_err(|at| Failure::new(Reason::Corrupt, open(at)))?;
    session.query("BEGIN")?;
    for statement in &statements {
        session.run(statement).map_err(restore_failed)?;
    }
    session.query("COMMIT").map(|_| ())
}

/// Whether a database holds nothing that a user made. Notes of the operator do not count.
pub(crate) fn is_empty(tools: &Tools, connection: &Connection, name: &str) -> Result<bool, Failure> {
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
