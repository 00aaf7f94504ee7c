//! Loads a dump: each entry in a session of its owner, by the plan of `load_plan.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::postgres::client::default_databases::TEMPLATE;
use crate::postgres::client::diagnosis::restore_failed;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::restore::load_plan::{self, LoadPlan, LoadStep};
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::privileges::Privilege;
use crate::postgres::restore::toc::{self, TocEntry};

/// The options of a session that loads, with more of them. Settings of a database and of a role apply as soon as they are
/// restored, and may make the session read-only, change its role, load a library that does not exist, or change the meaning of
/// values.
macro_rules! loading {
    ($more:literal) => {
        concat!(
            "-c role=none -c search_path= -c local_preload_libraries= -c array_nulls=on -c xmloption=content \
             -c default_transaction_read_only=off -c synchronous_commit=off -c maintenance_work_mem=128MB \
             -c statement_timeout=0 -c lock_timeout=0 ",
            $more
        )
    };
}

pub(crate) const OWNERS: &str = loading!(
    "-c idle_in_transaction_session_timeout=0 -c check_function_bodies=off -c row_security=off -c client_min_messages=warning"
);

/// The options of the superuser's sessions.
const SUPERUSERS: &str = loading!("-c session_preload_libraries= -c wal_init_zero=off");

/// How a load creates its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseCreation {
    Create,
    Replace,
    /// Use the existing one.
    Fill,
}

pub(crate) struct DatabaseLoad<'a> {
    tools: &'a Tools,
    /// The superuser's.
    connection: &'a Connection,
    /// The directory that pg_dump created.
    archive: &'a Path,
    /// A directory for lists of entries.
    directory: &'a Path,
    pub(crate) database: &'a str,
    pub(crate) jobs: u16,
    pub(crate) entries: Vec<TocEntry>,
    pub(crate) plan: LoadPlan,
}

impl<'a> DatabaseLoad<'a> {
    /// Reads the archive, and plans the load. `superuser_then` is the name of a superuser of the server that was dumped.
    pub(crate) fn open(
        tools: &'a Tools,
        connection: &'a Connection,
        (archive, directory): (&'a Path, &'a Path),
        database: &'a str,
        jobs: u16,
        superuser_then: &str,
    ) -> Result<Self, CommandFailure> {
        let path = archive.join("toc.dat");
        let bytes = fs::read(&path).map_err(|error| files::failed("read", &path, &error, Reason::Corrupt))?;
        let wrong = |why: String| CommandFailure::new(Reason::RestoreFailed, format!("{}: {why}", path.display()));
        let entries = toc::parse(&bytes).map_err(wrong)?;
        // In the template, as the database to load may not exist.
        let mut session = Session::open(tools, connection, TEMPLATE)?;
        let all = "SELECT pg_catalog.to_json(rolname::text) FROM pg_catalog.pg_roles WHERE rolsuper";
        let mut superusers: BTreeSet<String> = session.query_json::<String>(all)?.into_iter().collect();
        superusers.insert(superuser_then.to_owned());
        let plan = load_plan::plan(&entries, &superusers).map_err(wrong)?;
        Ok(Self { tools, connection, archive, directory, database, jobs, entries, plan })
    }

    /// Creates the database, with its settings and grants; an existing one gets only those.
    pub(crate) fn create(&self, how: DatabaseCreation) -> Result<(), CommandFailure> {
        if how == DatabaseCreation::Fill {
            self.apply_properties()?;
            return self.allow_connections();
        }
        let mut command = self.restore(self.connection, SUPERUSERS, TEMPLATE);
        command.args(["--exit-on-error", "--create"]);
        if how == DatabaseCreation::Replace {
            command.args(["--clean", "--if-exists"]);
        }
        self.execute(command, &self.plan.database)?;
        self.allow_connections()
    }

    /// Removes the connection limit for the load; the manifest has it.
    fn allow_connections(&self) -> Result<(), CommandFailure> {
        let name = identifier(self.database);
        self.superuser(TEMPLATE)?.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT -1")).map(|_| ())
    }

    /// Drops the schema `public`, which the dumped database did not have, before anything is in it.
    pub(crate) fn drop_public(&self) -> Result<(), CommandFailure> {
        self.superuser(self.database)?.query("DROP SCHEMA IF EXISTS public").map(|_| ())
    }

    fn apply_properties(&self) -> Result<(), CommandFailure> {
        let mut session = self.superuser(self.database)?;
        // Grants are those of the owner.
        let owner = self.entries.iter().find(|entry| entry.kind == "DATABASE").map_or("", |entry| entry.owner.as_str());
        if !owner.is_empty() {
            session.query(&format!("ALTER DATABASE {} OWNER TO {}", identifier(self.database), identifier(owner)))?;
        }
        let of = self.entries.iter().filter(|entry| self.plan.database.contains(&entry.id) && entry.kind != "DATABASE");
        for entry in of {
            session.run(&entry.definition).map_err(restore_failed)?;
        }
        Ok(())
    }

    pub(crate) fn definitions(&self, logins: &Logins<'_>) -> Result<(), CommandFailure> {
        self.plan.definitions.iter().try_for_each(|run| self.run(run, logins, 1))
    }

    /// The rows in the archive.
    pub(crate) fn rows(&self, logins: &Logins<'_>) -> Result<(), CommandFailure> {
        self.plan.rows.iter().try_for_each(|run| self.run(run, logins, self.jobs))
    }

    /// Large objects, and values of sequences.
    pub(crate) fn values(&self) -> Result<(), CommandFailure> {
        self.by_superuser(&self.plan.values)
    }

    /// Grants and comments.
    pub(crate) fn grants(&self) -> Result<(), CommandFailure> {
        self.by_superuser(&self.plan.grants)
    }

    /// Fails if a sequence has another value than in the dump.
    pub(crate) fn refuse_other_sequences(&self) -> Result<(), CommandFailure> {
        let sets = self.entries.iter().filter(|entry| entry.kind == "SEQUENCE SET");
        let values: Vec<&str> = sets.filter_map(|entry| toc::setval(&entry.definition)).collect();
        let mut session = self.superuser(self.database)?;
        for some in values.chunks(500) {
            let sql = format!(
                "SELECT pg_catalog.to_json(name) FROM (VALUES {}) AS dumped (name, value, called) \
                 WHERE pg_catalog.pg_sequence_last_value(name::pg_catalog.regclass) IS DISTINCT FROM CASE WHEN called THEN value END",
                some.iter().map(|value| format!("({value})")).collect::<Vec<_>>().join(", ")
            );
            if let Some(name) = session.query_json::<String>(&sql)?.first() {
                let message =
                    format!("database {}: sequence {name} has another value than in the snapshot", self.database);
                return Err(CommandFailure::new(Reason::CountMismatch, message));
            }
        }
        Ok(())
    }

    pub(crate) fn by_superuser(&self, ids: &[u32]) -> Result<(), CommandFailure> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut command = self.restore(self.connection, SUPERUSERS, self.database);
        command.arg("--exit-on-error");
        self.execute(command, ids)
    }

    pub(crate) fn run(&self, run: &LoadStep, logins: &Logins<'_>, jobs: u16) -> Result<(), CommandFailure> {
        self.run_with(run, logins, &["--exit-on-error", &format!("--jobs={jobs}")])
    }

    /// With these options of pg_restore, which continues after an error unless an option prevents that.
    pub(crate) fn run_with(&self, run: &LoadStep, logins: &Logins<'_>, options: &[&str]) -> Result<(), CommandFailure> {
        if run.who == LoadRole::Superuser {
            return self.by_superuser(&run.ids);
        }
        let connection = logins.connection(&run.who)?;
        let lent = self.lend(&run.privileges, &connection.user)?;
        let mut command = self.restore(&connection, OWNERS, self.database);
        command.arg("--no-owner").args(options);
        let executed = self.execute(command, &run.ids);
        self.take_back(&lent, &connection.user)?;
        executed
    }

    /// Grants the privileges that the role lacks, and returns them.
    pub(crate) fn lend(&self, privileges: &BTreeSet<Privilege>, role: &str) -> Result<Vec<String>, CommandFailure> {
        let mut session = self.superuser(self.database)?;
        let mut lacking = Vec::new();
        for privilege in privileges {
            let (function, name, kind) = privilege.check();
            // The functions take names of schemas, languages and servers unquoted, others as in SQL.
            let names = match privilege {
                Privilege::Use(_) | Privilege::Create(_) | Privilege::Language(_) | Privilege::Server(_) => {
                    format!("pg_catalog.parse_ident({})::text[]", literal(name))
                }
                _ => format!("ARRAY[{}]::text[]", literal(name)),
            };
            let sql = format!(
                "SELECT pg_catalog.to_json(pg_catalog.{function}({}, name, '{kind}')) \
                 FROM (SELECT ({names})[1] AS name) AS listed",
                literal(role)
            );
            if session.query_json::<bool>(&sql)?.pop() != Some(true) {
                lacking.push(privilege.of());
            }
        }
        let connect = format!(
            "SELECT pg_catalog.has_database_privilege({}, pg_catalog.current_database(), 'CONNECT')",
            literal(role)
        );
        if session.query_one(&connect)?.as_deref() != Some("t") {
            lacking.push(format!("CONNECT ON DATABASE {}", identifier(self.database)));
        }
        for privilege in &lacking {
            session.query(&format!("GRANT {privilege} TO {}", identifier(role)))?;
        }
        Ok(lacking)
    }

    /// Revokes them again, also after a failure.
    pub(crate) fn take_back(&self, lent: &[String], role: &str) -> Result<(), CommandFailure> {
        let mut session = self.superuser(self.database)?;
        for privilege in lent {
            session.query(&format!("REVOKE {privilege} FROM {}", identifier(role)))?;
        }
        Ok(())
    }

    pub(crate) fn superuser(&self, database: &str) -> Result<Session<'a>, CommandFailure> {
        let mut session = Session::open(self.tools, self.connection, database)?;
        session.query("SET default_transaction_read_only = off")?;
        Ok(session)
    }

    fn restore(&self, connection: &Connection, settings: &str, database: &str) -> std::process::Command {
        let mut command = connection.client_of(self.tools, "pg_restore", database, settings);
        command.arg("--no-tablespaces");
        command
    }

    fn execute(&self, mut command: std::process::Command, ids: &[u32]) -> Result<(), CommandFailure> {
        let list = self.directory.join("entries.list");
        let text: String = ids.iter().map(|id| format!("{id};\n")).collect();
        files::write(&list, &text).map_err(|error| files::failed("written", &list, &error, Reason::RestoreFailed))?;
        command.arg("--use-list").arg(&list).arg(self.archive);
        self.tools.run(&mut command, Reason::RestoreFailed).map_err(restore_failed).map(|_| ())
    }
}
