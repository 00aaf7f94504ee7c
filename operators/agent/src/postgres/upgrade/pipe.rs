//! Copies rows from one server directly into another: psql reads them by COPY as the superuser, which evaluates nothing, and
//! another psql, authenticated as the owner of the tables, executes its output.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::partitions::FILLED;
use crate::postgres::client::diagnosis::restore_failed;
use crate::postgres::client::quote::{identifier, literal, opaque};
use crate::postgres::client::running::Subprocess;
use crate::postgres::client::session::{Session, superusers};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::restore::load::{DatabaseLoad, OWNERS};
use crate::postgres::restore::logins::Logins;
use crate::postgres::restore::privileges::Privilege;

/// Options for reading: the format of values must not depend on the settings of a database.
const READING: &str = superusers!(
    "-c DateStyle=ISO -c IntervalStyle=postgres -c extra_float_digits=3 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0"
);

/// Tables of users with their owners and columns, and tables of extensions with rows of users (with the condition for these).
const TABLES: &str = "SELECT pg_catalog.json_build_object('schemas', pg_catalog.json_build_array(n.nspname::text, fn.nspname::text), \
'owner', r.rolname::text, 'table', pg_catalog.format('%I.%I', n.nspname, c.relname), \
'into', pg_catalog.format('%I.%I', fn.nspname, f.relname), 'where', e.condition, 'bytes', c.relpages, \
'columns', (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' ORDER BY a.attnum) \
  FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')) \
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
JOIN pg_catalog.pg_class f ON f.oid = $FILLED JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace \
JOIN pg_catalog.pg_roles r ON r.oid = c.relowner \
LEFT JOIN (SELECT pg_catalog.unnest(extconfig) AS oid, pg_catalog.unnest(extcondition) AS condition \
  FROM pg_catalog.pg_extension) e ON e.oid = c.oid \
WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' \
AND (e.oid IS NOT NULL OR NOT EXISTS (SELECT FROM pg_catalog.pg_depend d \
  WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e'))";

#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
struct CopiedTable {
    /// Its own schema, and that of the table through which it is filled.
    schemas: [String; 2],
    owner: String,
    table: String,
    into: String,
    /// The condition for users' rows in an extension's table; none if all rows are users'.
    #[serde(rename = "where")]
    condition: Option<String>,
    columns: Option<String>,
}

impl CopiedTable {
    /// The statements that fill it and read it. The condition comes from the author of the extension, which a superuser trusted.
    fn statements(&self) -> (String, String) {
        let columns = self.columns.as_ref().map_or_else(String::new, |columns| format!(" ({columns})"));
        let into = format!("COPY {}{columns} FROM STDIN;", self.into);
        let out = match self.condition.as_deref().filter(|condition| !condition.trim().is_empty()) {
            Some(condition) => {
                let columns = self.columns.as_deref().unwrap_or_default();
                format!("COPY (SELECT {columns} FROM ONLY {} {condition}) TO STDOUT", self.table)
            }
            None => format!("COPY {}{columns} TO STDOUT", self.table),
        };
        (into, out)
    }
}

/// The script of the reading psql, which prints a COPY, the rows, and the end of the rows. Pure.
fn script(tables: &[&CopiedTable]) -> String {
    let one = |table: &&CopiedTable| {
        let (into, out) = table.statements();
        let announcement = opaque(&format!("SELECT {}", literal(&into)));
        format!("{announcement}\n{}\n\\echo '\\\\.'\n", opaque(&out))
    };
    tables.iter().map(one).collect()
}

/// Groups of tables that are copied concurrently. Pure.
fn shares<'a>(tables: &[&'a CopiedTable], jobs: usize) -> Vec<Vec<&'a CopiedTable>> {
    let mut shares = vec![Vec::new(); jobs.max(1).min(tables.len())];
    let count = shares.len();
    tables.iter().enumerate().for_each(|(at, table)| shares[at % count].push(*table));
    shares
}

pub(crate) struct Pipe<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) from: &'a Connection,
    pub(crate) to: &'a Connection,
    pub(crate) database: &'a str,
    pub(crate) jobs: u16,
}

impl Pipe<'_> {
    /// Copies all rows of a database whose tables exist.
    pub(crate) fn rows(&self, load: &DatabaseLoad<'_>, logins: &Logins<'_>) -> Result<(), CommandFailure> {
        let mut session = Session::open(self.tools, self.to, self.database)?;
        let tables: Vec<CopiedTable> = session.query_json(&TABLES.replace("$FILLED", FILLED))?;
        let encoding = session.query_one("SELECT pg_catalog.current_setting('server_encoding')")?.unwrap_or_default();
        drop(session);
        let mut of: BTreeMap<&str, Vec<&CopiedTable>> = BTreeMap::new();
        tables.iter().for_each(|table| of.entry(&table.owner).or_default().push(table));
        for (owner, tables) in of {
            // The owners of tables that the load created have logins. The other tables belong to extensions.
            let (own, extensions): (Vec<_>, Vec<_>) = tables.into_iter().partition(|table| table.condition.is_none());
            self.by_superuser(&extensions, &encoding)?;
            match logins.of_role(owner) {
                Some(connection) => self.by_owner(&own, &connection, load, &encoding)?,
                None if own.is_empty() => {}
                None => {
                    let message = format!("no role of this load can fill a table of {}", identifier(owner));
                    return Err(CommandFailure::new(Reason::RestoreFailed, message));
                }
            }
        }
        Ok(())
    }

    fn by_superuser(&self, tables: &[&CopiedTable], encoding: &str) -> Result<(), CommandFailure> {
        if tables.is_empty() { Ok(()) } else { self.copy(tables, self.to, encoding) }
    }

    fn by_owner(
        &self,
        tables: &[&CopiedTable],
        connection: &Connection,
        load: &DatabaseLoad<'_>,
        encoding: &str,
    ) -> Result<(), CommandFailure> {
        if tables.is_empty() {
            return Ok(());
        }
        let schemas = tables.iter().flat_map(|table| &table.schemas);
        let privileges: BTreeSet<Privilege> = schemas.map(|schema| Privilege::Use(identifier(schema))).collect();
        let lent = load.lend(&privileges, &connection.user)?;
        let shares = shares(tables, usize::from(self.jobs));
        let copied = thread::scope(|scope| {
            let started: Vec<_> =
                shares.iter().map(|share| scope.spawn(|| self.copy(share, connection, encoding))).collect();
            let message = "a thread that copies rows ended early";
            let end = |one: thread::ScopedJoinHandle<'_, Result<(), CommandFailure>>| {
                one.join().unwrap_or_else(|_| Err(CommandFailure::new(Reason::ToolFailed, message)))
            };
            // All threads end before a failure is returned.
            let ended: Vec<_> = started.into_iter().map(end).collect();
            ended.into_iter().collect()
        });
        load.take_back(&lent, &connection.user)?;
        copied
    }

    /// Both use the database's own encoding, so that the servers neither convert nor validate texts.
    fn copy(&self, tables: &[&CopiedTable], to: &Connection, encoding: &str) -> Result<(), CommandFailure> {
        let script = script(tables);
        let mut read = self.psql(self.from, READING, encoding);
        let mut write = self.psql(to, OWNERS, encoding);
        let mut reading = Subprocess::start(self.tools, read.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let input = reading.input();
        write.stdin(reading.output()?).stdout(Stdio::null());
        let writing = Subprocess::start(self.tools, &mut write);
        // The command holds an end of the pipe until it is dropped, and the writing psql would wait for a reader.
        drop(write);
        let written = thread::scope(|scope| {
            scope.spawn(move || {
                // If one has exited, its failure is reported.
                let _ = input.map(|mut input| input.write_all(script.as_bytes()));
            });
            writing.and_then(|writing| writing.end(Reason::RestoreFailed))
        });
        match (reading.end(Reason::ToolFailed), written) {
            (_, Err(write)) => Err(restore_failed(write)),
            (read, Ok(())) => read,
        }
    }

    fn psql(&self, connection: &Connection, settings: &str, encoding: &str) -> Command {
        let mut command = connection.client_of(self.tools, "psql", self.database, settings);
        command.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1"]);
        command.args(["--set=VERBOSITY=terse", "--set=SHOW_CONTEXT=never"]);
        command.env("PGCLIENTENCODING", encoding);
        command
    }
}

/// Copies the values of sequences. Those of the source server are read while only superusers are connected.
pub(crate) fn sequences(pipe: &Pipe<'_>) -> Result<(), CommandFailure> {
    let mut from = Session::open(pipe.tools, pipe.from, pipe.database)?;
    let mut to = Session::open(pipe.tools, pipe.to, pipe.database)?;
    to.query("SET default_transaction_read_only = off")?;
    let all = "SELECT pg_catalog.to_json(pg_catalog.format('%I.%I', n.nspname, c.relname)) FROM pg_catalog.pg_class c \
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.relkind = 'S' AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' \
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e' \
               AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass)";
    for name in from.query_json::<String>(all)? {
        let sql = format!("SELECT pg_catalog.json_build_array(last_value, is_called) FROM ONLY {name}");
        for (value, called) in from.query_json::<(i64, bool)>(&sql)? {
            let name = literal(&name);
            to.query(&format!("SELECT pg_catalog.setval({name}::pg_catalog.regclass, {value}, {called})"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, condition: Option<&str>) -> CopiedTable {
        CopiedTable {
            schemas: ["public".into(), "public".into()],
            owner: "app".into(),
            table: name.into(),
            into: name.into(),
            condition: condition.map(Into::into),
            columns: Some("a, b".into()),
        }
    }

    #[test]
    fn rows_are_copied_by_statements_that_evaluate_nothing() {
        let (into, out) = table("public.t", None).statements();
        assert_eq!(into, "COPY public.t (a, b) FROM STDIN;");
        assert_eq!(out, "COPY public.t (a, b) TO STDOUT");
        let (_, out) = table("public.t", Some("WHERE a > 1")).statements();
        assert_eq!(out, "COPY (SELECT a, b FROM ONLY public.t WHERE a > 1) TO STDOUT");
        let part = CopiedTable { into: "public.all".into(), ..table("public.t", None) };
        assert_eq!(part.statements().0, "COPY public.all (a, b) FROM STDIN;");
        assert_eq!(part.statements().1, "COPY public.t (a, b) TO STDOUT");
        let bare = CopiedTable { columns: None, ..table("public.t", None) };
        assert_eq!(bare.statements().1, "COPY public.t TO STDOUT");
    }

    #[test]
    fn psql_does_not_parse_names() {
        let text = script(&[&table("\"\\! touch x\n\".t", None)]);
        assert!(!text.contains("touch"));
        assert!(text.ends_with("\\echo '\\\\.'\n"), "{text}");
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn tables_are_distributed_to_groups() {
        let all = [table("a", None), table("b", None), table("c", None)];
        let all: Vec<&CopiedTable> = all.iter().collect();
        let counts = |jobs| shares(&all, jobs).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!((counts(1), counts(2), counts(9)), (vec![3], vec![2, 1], vec![1, 1, 1]));
    }
}
