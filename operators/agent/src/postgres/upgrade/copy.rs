//! Copies databases from one server directly into another: rows are loaded while they are dumped, without storing them in
//! between.

use std::path::Path;
use std::thread;

use crate::failure::{CommandFailure, Reason};
use crate::files::ScratchDirectory;
use crate::postgres::backup::contents;
use crate::postgres::backup::inventory::{self, Sequence};
use crate::postgres::backup::manifest::{self, DatabaseManifest};
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE};
use crate::postgres::client::quote;
use crate::postgres::client::session::{MAINTAINING, Session, superusers};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::restore::load::{DatabaseCreation, DatabaseLoad};
use crate::postgres::restore::load_snapshot;
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::materialized_views::Unfilled;
use crate::postgres::upgrade::pipe::{self, Pipe};

/// Options for approximate statistics. One value for each column suffices for usable plans, and is fast; pg-finish computes the
/// rest.
const ROUGH_STATISTICS: &str = superusers!(
    "-c default_transaction_read_only=off -c lock_timeout=0 -c synchronous_commit=off -c default_statistics_target=1 \
     -c vacuum_cost_delay=0"
);

pub(crate) struct DatabaseCopy<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) from: &'a Connection,
    pub(crate) to: &'a Connection,
    pub(crate) jobs: u16,
    /// A directory for what does not go through the pipe: definitions, and no rows.
    pub(crate) directory: &'a Path,
}

/// The archive's name in its scratch directory.
const ARCHIVE: &str = "archive";

/// What was copied, as the old server had it.
pub(crate) struct CopyResult {
    pub(crate) database: DatabaseManifest,
    sequences: Vec<Sequence>,
    pub(crate) warnings: Vec<String>,
}

impl CopyResult {
    fn refuse_differences(&self, (found, sequences): &(DatabaseManifest, Vec<Sequence>)) -> Result<(), CommandFailure> {
        let name = &self.database.name;
        let differing = self.sequences.iter().find(|sequence| !sequences.contains(sequence));
        let differing = differing.map(|one| format!("database {name}: sequence {}.{} differs", one.schema, one.name));
        match manifest::differences(&self.database, found).or(differing) {
            Some(message) => Err(CommandFailure::new(Reason::CountMismatch, message)),
            None => Ok(()),
        }
    }
}

fn by_superuser(failure: CommandFailure) -> CommandFailure {
    if failure.reason() != Reason::CountMismatch {
        return failure;
    }
    let message = format!("a superuser wrote to the source server while it was copied: {}", failure.message());
    CommandFailure::new(Reason::CountMismatch, message)
}

impl DatabaseCopy<'_> {
    /// Copies roles with their passwords. The superuser keeps the password of the environment.
    pub(crate) fn roles(&self) -> Result<(), CommandFailure> {
        let mut command = self.from.client_of(self.tools, "pg_dumpall", MAINTENANCE, MAINTAINING);
        command.args(["--globals-only", "--no-tablespaces", "--quote-all-identifiers"]);
        let roles = self.tools.run(&mut command, Reason::ToolFailed)?;
        let all = contents::settings_of_all(&mut Session::open(self.tools, self.from, MAINTENANCE)?)?;
        load_snapshot::create_roles(self.tools, self.to, TEMPLATE, &(roles + &all), &self.from.user)
    }

    /// Loads all but the rows, to find what the new version rejects while the old one still serves.
    pub(crate) fn dry_run_schema(&self, name: &str) -> Result<(), CommandFailure> {
        let archive = self.dump(name, "definitions", &["--schema-only"])?;
        let directory = archive.path().join(ARCHIVE);
        let load = self.load(name, &directory)?;
        load.create(match name {
            TEMPLATE => DatabaseCreation::Fill,
            MAINTENANCE => DatabaseCreation::Replace,
            _ => DatabaseCreation::Create,
        })?;
        self.drop_public(&load, name)?;
        let mut logins = self.logins();
        logins.lend(&load.plan.roles())?;
        load.definitions(&logins)?;
        load.post_data(&logins, Unfilled::Refused)?;
        logins.give_back()
    }

    /// Copies a database, and compares it. The old server must not change any more, so it is counted during the copy.
    pub(crate) fn database(&self, name: &str) -> Result<CopyResult, CommandFailure> {
        let (there, copied) = thread::scope(|scope| {
            let there = scope.spawn(|| self.count(self.from, name));
            let copied = self.copy(name);
            let message = "the thread that reads the source server ended early";
            (there.join().unwrap_or_else(|_| Err(CommandFailure::new(Reason::ToolFailed, message))), copied)
        });
        let warnings = copied?;
        let (database, sequences) = there?;
        let copied = CopyResult { database, sequences, warnings };
        copied.refuse_differences(&self.count(self.to, name)?)?;
        Ok(copied)
    }

    /// Fails if the old server differs from what was copied: the rules always admit superusers.
    pub(crate) fn refuse_changes(&self, copied: &CopyResult) -> Result<(), CommandFailure> {
        copied.refuse_differences(&self.count(self.from, &copied.database.name)?).map_err(by_superuser)
    }

    /// Fails if the old server differs from what an earlier run has copied.
    pub(crate) fn refuse_later_changes(&self, name: &str) -> Result<(), CommandFailure> {
        let (database, sequences) = self.count(self.to, name)?;
        self.refuse_changes(&CopyResult { database, sequences, warnings: Vec::new() })
    }

    /// Restores the connection settings of a database, which was open to all roles of the load.
    pub(crate) fn seal(&self, copied: &CopyResult) -> Result<(), CommandFailure> {
        let Some(content) = &copied.database.content else { return Ok(()) };
        let mut session = Session::open(self.tools, self.to, TEMPLATE)?;
        let name = quote::identifier(&copied.database.name);
        session.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT {}", content.connection_limit)).map(|_| ())
    }

    pub(crate) fn analyze_roughly(&self, name: &str) -> Result<(), CommandFailure> {
        let mut command = self.to.client_of(self.tools, "vacuumdb", name, ROUGH_STATISTICS);
        command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", self.jobs));
        self.tools.run(&mut command, Reason::ToolFailed).map(|_| ())
    }

    fn count(&self, connection: &Connection, name: &str) -> Result<(DatabaseManifest, Vec<Sequence>), CommandFailure> {
        let mut session = Session::open(self.tools, connection, name)?;
        Ok((inventory::describe(&mut session, name)?, inventory::sequences(&mut session)?))
    }

    /// Copies definitions and large objects through a directory, rows through pipes.
    fn copy(&self, name: &str) -> Result<Vec<String>, CommandFailure> {
        let archive = self.dump(name, "definitions", &["--section=pre-data", "--section=post-data"])?;
        let directory = archive.path().join(ARCHIVE);
        let load = self.load(name, &directory)?;
        // There is no other database of that name: `postgres` was dropped before.
        load.create(if name == TEMPLATE { DatabaseCreation::Fill } else { DatabaseCreation::Create })?;
        self.drop_public(&load, name)?;
        let mut logins = self.logins();
        logins.lend(&load.plan.roles())?;
        load.definitions(&logins)?;
        let pipe = Pipe { tools: self.tools, from: self.from, to: self.to, database: name, jobs: self.jobs };
        pipe.rows(&load, &logins)?;
        pipe::sequences(&pipe)?;
        self.large_objects(name)?;
        let warnings = load.post_data(&logins, Unfilled::Refused)?;
        logins.give_back()?;
        Ok(warnings)
    }

    /// Drops the schema `public`, which each new database has, if the old one lacks it.
    fn drop_public(&self, load: &DatabaseLoad<'_>, name: &str) -> Result<(), CommandFailure> {
        match contents::has_public(&mut Session::open(self.tools, self.from, name)?)? {
            true => Ok(()),
            false => load.drop_public(),
        }
    }

    /// Copies the contents of large objects. Their existence, owners and grants are among the definitions until 16, and here
    /// since 17.
    fn large_objects(&self, name: &str) -> Result<(), CommandFailure> {
        let any = "SELECT 1 FROM pg_catalog.pg_largeobject_metadata LIMIT 1";
        if Session::open(self.tools, self.from, name)?.query_one(any)?.is_none() {
            return Ok(());
        }
        let archive = self.dump(name, "large-objects", &["--section=data", "--exclude-table-data=*.*"])?;
        let directory = archive.path().join(ARCHIVE);
        let load = self.load(name, &directory)?;
        load.values()?;
        load.grants()
    }

    fn load<'b>(&'b self, name: &'b str, archive: &'b Path) -> Result<DatabaseLoad<'b>, CommandFailure> {
        DatabaseLoad::open(self.tools, self.to, (archive, self.directory), name, self.jobs, &self.from.user)
    }

    /// Logins without records: an unfinished copy is discarded together with its server.
    fn logins(&self) -> Logins<'_> {
        Logins::new(self.tools, self.to, TEMPLATE, false)
    }

    fn dump(&self, name: &str, directory: &str, parts: &[&str]) -> Result<ScratchDirectory, CommandFailure> {
        let archive = ScratchDirectory::new(self.directory.join(directory))?;
        let mut command = self.from.client_of(self.tools, "pg_dump", name, MAINTAINING);
        command.args(["--format=directory", "--compress=0", "--quote-all-identifiers", "--no-sync"]).args(parts);
        // pg_dump creates the archive's directory itself.
        command.arg("--file").arg(archive.path().join(ARCHIVE));
        self.tools.run(&mut command, Reason::ToolFailed)?;
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server's own maintenance holds locks at times, and a database may set a lock timeout.
    #[test]
    fn no_limit_of_a_database_ends_its_statistics() {
        for settings in [ROUGH_STATISTICS, MAINTAINING] {
            for limit in ["statement_timeout", "lock_timeout"] {
                assert!(settings.contains(&format!("-c {limit}=0")), "{settings}");
            }
        }
    }
}
