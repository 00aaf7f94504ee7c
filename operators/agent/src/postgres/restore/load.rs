//! Loads a dump: each entry in a session of its owner's, as `load_plan.rs` says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::failure::{Failure, Reason};
use crate::postgres::client::default_databases::TEMPLATE;
use crate::postgres::client::diagnosis::restore_failed;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::files;
use crate::postgres::restore::load_plan::{self, LoadPlan, Run};
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::privileges::Privilege;
use crate::postgres::restore::toc::{self, Entry};

/// The options of a session that loads, with those that it has besides. The settings of a database and of a role are in force as
/// soon as they are there, and one may be that nothing is to be written, that the session is another role's, that it loads a library
/// that is not there, or that values mean something else.
macro_rules! loading {
    ($besides:literal) => {
        concat!(
            "-c role=none -c search_path= -c local_preload_libraries= -c array_nulls=on -c xmloption=content \
             -c default_transaction_read_only=off -c synchronous_commit=off -c maintenance_work_mem=128MB \
             -c statement_timeout=0 -c lock_timeout=0 ",
            $besides
        )
    };
}

pub(crate) const OWNERS: &str = loading!(
    "-c idle_in_transaction_session_timeout=0 -c check_function_bodies=off -c row_security=off -c client_min_messages=warning"
);

/// What a server that is about to serve needs no log of, until all is in.
const SUPERUSERS: &str = loading!("-c session_preload_libraries= -c wal_init_zero=off");

/// How a database comes to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    Make,
    Replace,
    /// It is there.
    Fill,
}

pub(crate) struct Load<'a> {
    tools: &'a Tools,
    /// The superuser's.
    connection: &'a Connection,
    /// The directory that pg_dump made.
    archive: &'a Path,
    /// Where lists of entries can be written.
    folder: &'a Path,
    pub(crate) database: &'a str,
    pub(crate) jobs: u16,
    pub(crate) entries: Vec<Entry>,
    pub(crate) plan: LoadPlan,
}

impl<'a> Load<'a> {
    /// Reads what there is to load. `superuser_then` is a superuser's name of the server that was dumped.
    pub(crate) fn open(
        tools: &'a Tools,
        connection: &'a Connection,
        (archive, folder): (&'a Path, &'a Path),
        database: &'a str,
        jobs: u16,
        superuser_then: &str,
    ) -> Result<Self, Failure> {
        let path = archive.join("toc.dat");
        let bytes = fs::read(&path).map_err(|error| files::failed("read", &path, &error, Reason::Corrupt))?;
        let wrong = |why: String| Failure::new(Reason::RestoreFailed, format!("{}: {why}", path.display()));
        let entries = toc::parse(&bytes).map_err(wrong)?;
        // By way of the template, as the one to load may not be there.
        let mut session = Session::open(tools, connection, TEMPLATE)?;
        let all = "SELECT pg_catalog.to_json(rolname::text) FROM pg_catalog.pg_roles WHERE rolsuper";
        let mut superusers: BTreeSet<String> = session.query_json::<String>(all)?.into_iter().collect();
        superusers.insert(superuser_then.to_owned());
        let plan = load_plan::plan(&entries, &superusers).map_err(wrong)?;
        Ok(Self { tools, connection, archive, folder, database, jobs, entries, plan })
    }

    /// Makes the database, with its settings and grants; one that stands gets those alone.
    pub(crate) fn create(&self, how: Creation) -> Result<(), Failure> {
        if how == Creation::Fill {
            self.settle_in()?;
            return self.let_in();
        }
        let mut command = self.restore(self.connection, SUPERUSERS, TEMPLATE);
        command.args(["--exit-on-error", "--create"]);
        if how == Creation::Replace {
            command.args(["--clean", "--if-exists"]);
        }
        self.execute(command, &self.plan.database)?;
        self.let_in()
    }

    /// Owners come in whatever the limit is; the manifest has what it was.
    fn let_in(&self) -> Result<(), Failure> {
        let name = identifier(self.database);
        self.superuser(TEMPLATE)?.query(&format!("ALTER DATABASE {name} CONNECTION LIMIT -1")).map(|_| ())
    }

    /// The database that was dumped had no schema `public`. Before anything is in it.
    pub(crate) fn drop_public(&self) -> Result<(), Failure> {
        self.superuser(self.database)?.query("DROP SCHEMA IF EXISTS public").map(|_| ())
    }

    fn settle_in(&self) -> Result<(), Failure> {
        let mut session = self.superuser(self.database)?;
        // Grants are the owner's.
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

    pub(crate) fn definitions(&self, logins: &Logins<'_>) -> Result<(), Failure> {
        self.plan.definitions.iter().try_for_each(|run| self.run(run, logins, 1))
    }

    /// Rows that lie in the archive.
    pub(crate) fn rows(&self, logins: &Logins<'_>) -> Result<(), Failure> {
        self.plan.rows.iter().try_for_each(|run| self.run(run, logins, self.jobs))
    }

    /// Large objects, and values of sequences.
    pub(crate) fn values(&self) -> Result<(), Failure> {
        self.by_superuser(&self.plan.values)
    }

    /// Grants and comments.
    pub(crate) fn grants(&self) -> Result<(), Failure> {
        self.by_superuser(&self.plan.grants)
    }

    /// Sequences must stand where the dump has them.
    pub(crate) fn refuse_other_sequences(&self) -> Result<(), Failure> {
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
                return Err(Failure::new(Reason::CountMismatch, message));
            }
        }
        Ok(())
    }

    pub(crate) fn by_superuser(&self, ids: &[u32]) -> Result<(), Failure> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut command = self.restore(self.connection, SUPERUSERS, self.database);
        command.arg("--exit-on-error");
        self.execute(command, ids)
    }

    pub(crate) fn run(&self, run: &Run, logins: &Logins<'_>, jobs: u16) -> Result<(), Failure> {
        self.run_with(run, logins, &["--exit-on-error", &format!("--jobs={jobs}")])
    }

    /// With these options of pg_restore's, which goes on after an error unless an option stops it.
    pub(crate) fn run_with(&self, run: &Run, logins: &Logins<'_>, options: &[&str]) -> Result<(), Failure> {
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

    /// Lends what the role lacks, and returns what that was.
    pub(crate) fn lend(&self, privileges: &BTreeSet<Privilege>, role: &str) -> Result<Vec<String>, Failure> {
        let mut session = self.superuser(self.database)?;
        let mut lacking = Vec::new();
        for right in privileges {
            let (function, name, word) = right.question();
            // Names of schemas, languages and servers are asked for as they are, others as SQL has them.
            let asked = match right {
                Privilege::Use(_) | Privilege::Create(_) | Privilege::Language(_) | Privilege::Server(_) => {
                    format!("pg_catalog.parse_ident({})::text[]", literal(name))
                }
                _ => format!("ARRAY[{}]::text[]", literal(name)),
            };
            let sql = format!(
                "SELECT pg_catalog.to_json(pg_catalog.{function}({}, name, '{word}')) \
                 FROM (SELECT ({asked})[1] AS name) AS asked",
                literal(role)
            );
            if session.query_json::<bool>(&sql)?.pop() != Some(true) {
                lacking.push(right.of());
            }
        }
        let connect = format!(
            "SELECT pg_catalog.has_database_privilege({}, pg_catalog.current_database(), 'CONNECT')",
            literal(role)
        );
        if session.query_one(&connect)?.as_deref() != Some("t") {
            lacking.push(format!("CONNECT ON DATABASE {}", identifier(self.database)));
        }
        for right in &lacking {
            session.query(&format!("GRANT {right} TO {}", identifier(role)))?;
        }
        Ok(lacking)
    }

    /// To be called whatever became of the run.
    pub(crate) fn take_back(&self, lent: &[String], role: &str) -> Result<(), Failure> {
        let mut session = self.superuser(self.database)?;
        for right in lent {
            session.query(&format!("REVOKE {right} FROM {}", identifier(role)))?;
        }
        Ok(())
    }

    pub(crate) fn superuser(&self, database: &str) -> Result<Session<'a>, Failure> {
        let mut session = Session::open(self.tools, self.connection, database)?;
        session.query("SET default_transaction_read_only = off")?;
        Ok(session)
    }

    fn restore(&self, connection: &Connection, settings: &str, database: &str) -> std::process::Command {
        let mut command = connection.client_of(self.tools, "pg_restore", database, settings);
        command.arg("--no-tablespaces");
        command
    }

    fn execute(&self, mut command: std::process::Command, ids: &[u32]) -> Result<(), Failure> {
        let list = self.folder.join("entries.list");
        let text: String = ids.iter().map(|id| format!("{id};\n")).collect();
        files::write(&list, &text).map_err(|error| files::failed("written", &list, &error, Reason::RestoreFailed))?;
        command.arg("--use-list").arg(&list).arg(self.archive);
        self.tools.run(&mut command, Reason::RestoreFailed).map_err(restore_failed).map(|_| ())
    }
}
