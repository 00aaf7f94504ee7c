//! Databases from one server straight into another: what is dumped is loaded as it comes, and lies nowhere between.

use std::path::Path;
use std::thread;

use crate::failure::{Failure, Reason};
use crate::postgres::backup::contents;
use crate::postgres::backup::inventory::{self, Sequence};
use crate::postgres::backup::manifest::{self, Database};
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE};
use crate::postgres::client::quote;
use crate::postgres::client::session::{MAINTAINING, Session, superusers};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::files::Scratch;
use crate::postgres::restore::load::{Creation, Load};
use crate::postgres::restore::load_snapshot;
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::materialized_views::Unfilled;
use crate::postgres::upgrade::pipe::{self, Pipe};

/// One value a column is enough for plans that are not absurd, and takes moments; pg-finish makes the rest.
const ROUGH_STATISTICS: &str = superusers!(
    "-c default_transaction_read_only=off -c lock_timeout=0 -c synchronous_commit=off -c default_statistics_target=1 \
     -c vacuum_cost_delay=0"
);

pub(crate) struct DatabaseCopy<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) from: &'a Connection,
    pub(crate) to: &'a Connection,
    pub(crate) jobs: u16,
    /// A directory for what does not go through the pipe: definitions, no rows.
    pub(crate) folder: &'a Path,
}

/// Below a directory of its own.
const ARCHIVE: &str = "archive";

/// What went from one server into the other, as the old one had it.
pub(crate) struct Copied {
    pub(crate) database: Database,
    sequences: Vec<Sequence>,
    pub(crate) warnings: Vec<String>,
}

impl Copied {
    fn refuse_differences(&self, (found, sequences): &(Database, Vec<Sequence>)) -> Result<(), Failure> {
        let name = &self.database.name;
        let differing = self.sequences.iter().find(|sequence| !sequences.contains(sequence));
        let differing = differing.map(|one| format!("database {name}: sequence {}.{} differs", one.schema, one.name));
        match manifest::differences(&self.database, found).or(differing) {
            Some(message) => Err(Failure::new(Reason::CountMismatch, message)),
            None => Ok(()),
        }
    }
}

fn by_superuser(failure: Failure) -> Failure {
    if failure.reason() != Reason::CountMismatch {
        return failure;
    }
    let message = format!("a superuser wrote to the source server while it was copied: {}", failure.message());
    Failure::new(Reason::CountMismatch, message)
}

impl DatabaseCopy<'_> {
    /// Roles with their passwords. The superuser stays as the environment has it.
    pub(crate) fn roles(&self) -> Result<(), Failure> {
        let mut command = self.from.client_of(self.tools, "pg_dumpall", MAINTENANCE, MAINTAINING);
        command.args(["--globals-only", "--no-tablespaces", "--quote-all-identifiers"]);
        let roles = self.tools.run(&mut command, Reason::ToolFailed)?;
        let all = contents::settings_of_all(&mut Session::open(self.tools, self.from, MAINTENANCE)?)?;
        load_snapshot::create_roles(self.tools, self.to, TEMPLATE, &(roles + &all), &self.from.user)
    }

    /// All but the rows: what the new version does not take is found while the old one still serves.
    pub(crate) fn dry_run_schema(&self, name: &str) -> Result<(), Failure> {
        let archive = self.dump(name, "definitions", &["--schema-only"])?;
        let folder = archive.path().join(ARCHIVE);
        let load = self.load(name, &folder)?;
        load.create(match name {
            TEMPLATE => Creation::Fill,
            MAINTENANCE => Creation::Replace,
            _ => Creation::Make,
        })?;
        self.drop_public(&load, name)?;
        let mut logins = self.logins();
        logins.lend(&load.plan.roles())?;
        load.definitions(&logins)?;
        load.post_data(&logins, Unfilled::Refused)?;
        logins.give_back()
    }

    /// Nothing is to change in the old server any more, so counting it may go on beside the copy. Then both are compared.
    pub(crate) fn database(&self, name: &str) -> Result<Copied, Failure> {
        let (there, copied) = thread::scope(|scope| {
            let there = scope.spawn(|| self.count(self.from, name));
            let copied = self.copy(name);
            let message = "the thread that reads the source server ended early";
            (there.join().unwrap_or_else(|_| Err(Failure::new(Reason::ToolFailed, message))), copied)
        });
        let warnings = copied?;
        let (database, sequences) = there?;
        let copied = Copied { database, sequences, warnings };
        copied.refuse_differences(&self.count(self.to, name)?)?;
        Ok(copied)
    }

    /// Whether the old server still holds what was copied: a superuser comes in whatever the rules are.
    pub(crate) fn refuse_changes(&self, copied: &Copied) -> Result<(), Failure> {
        copied.refuse_differences(&self.count(self.from, &copied.database.name)?).map_err(by_superuser)
    }

    /// Whether the old server still holds what an earlier run has copied.
    pub(crate) fn refuse_later_changes(&self, name: &str) -> Result<(), Failure> {
        let (database, sequences) = self.count(self.to, name)?;
        self.refuse_changes(&Copied { database, sequences, warnings: Vec::new() })
    }

    /// It was open to all who loaded it.
    pub(crate) fn seal(&self, copied: &Copied) -> Result<(), Failure> {
        let Some(content) = &copied.database.content else { return Ok(()) };
        let mut session = Session::open(self.tools, self.to, TEMPLATE)?;
        let name = quote::identifier(&copied.database.name);
        session.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT {}", content.connection_limit)).map(|_| ())
    }

    pub(crate) fn analyze_roughly(&self, name: &str) -> Result<(), Failure> {
        let mut command = self.to.client_of(self.tools, "vacuumdb", name, ROUGH_STATISTICS);
        command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", self.jobs));
        self.tools.run(&mut command, Reason::ToolFailed).map(|_| ())
    }

    fn count(&self, connection: &Connection, name: &str) -> Result<(Database, Vec<Sequence>), Failure> {
        let mut session = Session::open(self.tools, connection, name)?;
        Ok((inventory::describe(&mut session, name)?, inventory::sequences(&mut session)?))
    }

    /// Definitions and large objects by way of a directory, rows through pipes.
    fn copy(&self, name: &str) -> Result<Vec<String>, Failure> {
        let archive = self.dump(name, "definitions", &["--section=pre-data", "--section=post-data"])?;
        let folder = archive.path().join(ARCHIVE);
        let load = self.load(name, &folder)?;
        // There is no other one of that name: it was dropped, to make way.
        load.create(if name == TEMPLATE { Creation::Fill } else { Creation::Make })?;
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

    /// Each new database has a schema `public`, which the old one may not have.
    fn drop_public(&self, load: &Load<'_>, name: &str) -> Result<(), Failure> {
        match contents::has_public(&mut Session::open(self.tools, self.from, name)?)? {
            true => Ok(()),
            false => load.drop_public(),
        }
    }

    /// Their contents. That they are there, whose, and who else may read them is among the definitions until 16, and here since 17.
    fn large_objects(&self, name: &str) -> Result<(), Failure> {
        let any = "SELECT 1 FROM pg_catalog.pg_largeobject_metadata LIMIT 1";
        if Session::open(self.tools, self.from, name)?.query_one(any)?.is_none() {
            return Ok(());
        }
        let archive = self.dump(name, "large-objects", &["--section=data", "--exclude-table-data=*.*"])?;
        let folder = archive.path().join(ARCHIVE);
        let load = self.load(name, &folder)?;
        load.values()?;
        load.grants()
    }

    fn load<'b>(&'b self, name: &'b str, archive: &'b Path) -> Result<Load<'b>, Failure> {
        Load::open(self.tools, self.to, (archive, self.folder), name, self.jobs, &self.from.user)
    }

    /// Whatever is left unfinished is thrown away with its server.
    fn logins(&self) -> Logins<'_> {
        Logins::new(self.tools, self.to, TEMPLATE, false)
    }

    fn dump(&self, name: &str, folder: &str, parts: &[&str]) -> Result<Scratch, Failure> {
        let archive = Scratch::new(self.folder.join(folder))?;
        let mut command = self.from.client_of(self.tools, "pg_dump", name, MAINTAINING);
        command.args(["--format=directory", "--compress=0", "--quote-all-identifiers", "--no-sync"]).args(parts);
        // Its own directory it makes itself.
        command.arg("--file").arg(archive.path().join(ARCHIVE));
        self.tools.run(&mut command, Reason::ToolFailed)?;
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server's own maintenance holds locks now and then, and a database may set that it waits for none.
    #[test]
    fn no_limit_of_a_database_ends_its_statistics() {
        for settings in [ROUGH_STATISTICS, MAINTAINING] {
            for limit in ["statement_timeout", "lock_timeout"] {
                assert!(settings.contains(&format!("-c {limit}=0")), "{settings}");
            }
        }
    }
}
