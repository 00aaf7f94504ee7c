//! A session with a server, through psql.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote;
use crate::postgres::client::tools::{Connection, Tools};
use crate::progress::WaitLogger;

/// Removes limits that a database or a role may set, and that would end a long read.
const NO_LIMITS: &str = "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN \
    ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', \
     'transaction_timeout')";

/// With an empty search path, no object of a user shadows another.
pub(crate) const SAFE_PATH: &str = "SELECT pg_catalog.set_config('search_path', '', false)";

/// A user may replace a table by a view before the agent reads it (CVE-2024-7348), whose functions would run as the superuser.
/// Servers of August 2024 and later have a setting against that.
const NO_VIEWS: &str = "SELECT pg_catalog.set_config(name, 'view, foreign-table', false) FROM pg_catalog.pg_settings \
    WHERE name = 'restrict_nonsystem_relation_kind'";

/// The options of a superuser's session, with more of them. Settings of a database and of a role apply from the beginning of a
/// session, and would change queries and their permissions; the database of an owner may load a library that does not exist.
macro_rules! superusers {
    ($more:literal) => {
        concat!(
            "-c role=none -c search_path= -c session_preload_libraries= -c local_preload_libraries= -c statement_timeout=0 ",
            $more
        )
    };
}
pub(crate) use superusers;

/// Options against settings of a database that would change what a superuser's client does.
pub(crate) const MAINTAINING: &str = superusers!("-c default_transaction_read_only=off -c lock_timeout=0");

/// Options also against settings that would change the results of queries.
const FROM_THE_BEGINNING: &str = superusers!(
    "-c default_transaction_read_only=off -c standard_conforming_strings=on -c datestyle=ISO -c lock_timeout=0"
);

/// Keeps the session's statements out of the server's log; only a superuser may set that.
pub(crate) const UNLOGGED: &str = "SELECT pg_catalog.set_config(name, value, false) FROM (VALUES ('log_statement', 'none'), \
    ('log_min_error_statement', 'panic'), ('log_min_duration_statement', '-1'), ('log_duration', 'off'), \
    ('pgaudit.log', 'none')) AS quiet (name, value)";

pub(crate) struct Session<'a> {
    tools: &'a Tools,
    process: Child,
    /// Dropping it closes it, and psql exits.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
    /// A secret in the line that ends an answer, so that no row of a user's can have that line.
    mark: String,
    queries: usize,
}

impl<'a> Session<'a> {
    /// A session of the superuser.
    pub(crate) fn open(tools: &'a Tools, connection: &Connection, database: &str) -> Result<Self, CommandFailure> {
        let mut session = Self::start(tools, connection, database, Some(FROM_THE_BEGINNING))?;
        session.query(SAFE_PATH)?;
        session.query(NO_LIMITS)?;
        session.query(NO_VIEWS)?;
        Ok(session)
    }

    /// The same, with retries while the server does not answer, for at most this long.
    pub(crate) fn open_within(
        tools: &'a Tools,
        connection: &Connection,
        database: &str,
        timeout: Duration,
    ) -> Result<Self, CommandFailure> {
        let end = Instant::now() + timeout;
        let mut progress = None;
        loop {
            match Self::open(tools, connection, database) {
                Err(failure) if failure.reason() == Reason::ConnectionFailed && Instant::now() < end => {
                    let progress = progress.get_or_insert_with(|| WaitLogger::new("the server answers".into()));
                    progress.update(failure.message());
                    progress.pause();
                }
                other => return other.map_err(|failure| explained(failure, database)),
            }
        }
    }

    /// A session without any settings.
    pub(crate) fn connect(tools: &'a Tools, connection: &Connection, database: &str) -> Result<Self, CommandFailure> {
        Self::start(tools, connection, database, None)
    }

    fn start(
        tools: &'a Tools,
        connection: &Connection,
        database: &str,
        settings: Option<&str>,
    ) -> Result<Self, CommandFailure> {
        let mark = files::secret()?;
        let mut command = connection.client_of(tools, "psql", database, settings.unwrap_or_default());
        command.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1"]);
        command.args(["--set=VERBOSITY=terse", "--set=SHOW_CONTEXT=never"]);
        command.env("PGCLIENTENCODING", "UTF8");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| tools.not_started("psql", &error))?;
        let (Some(input), Some(output), Some(mut stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(CommandFailure::new(Reason::ToolFailed, "psql has no pipes"));
        };
        let stderr = thread::spawn(move || {
            let mut all = Vec::new();
            let _ = stderr.read_to_end(&mut all);
            String::from_utf8_lossy(&all).into_owned()
        });
        Ok(Self {
            tools,
            process,
            input: Some(input),
            output: BufReader::new(output),
            stderr: Some(stderr),
            mark,
            queries: 0,
        })
    }

    /// Runs SQL, and returns the lines of its result.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<String>, CommandFailure> {
        self.send(&quote::opaque(sql))
    }

    /// The first line, if there is one.
    pub(crate) fn query_one(&mut self, sql: &str) -> Result<Option<String>, CommandFailure> {
        Ok(self.query(sql)?.into_iter().next())
    }

    /// Each line as JSON.
    pub(crate) fn query_json<T: serde::de::DeserializeOwned>(&mut self, sql: &str) -> Result<Vec<T>, CommandFailure> {
        let wrong =
            |error| CommandFailure::new(Reason::ToolFailed, format!("the output of psql cannot be parsed: {error}"));
        self.query(sql)?.iter().map(|line| serde_json::from_str(line).map_err(wrong)).collect()
    }

    /// The last line, a boolean as JSON; none if there is no line. NULL counts as false.
    pub(crate) fn query_bool(&mut self, sql: &str) -> Result<Option<bool>, CommandFailure> {
        Ok(self.query(sql)?.pop().map(|line| line == "true"))
    }

    /// Writes a text into a file on the server's file system.
    pub(crate) fn write_file(&mut self, path: &str, text: &str) -> Result<(), CommandFailure> {
        // One column of CSV whose quote is in no line, so that the text is written as it is.
        let lines = format!("pg_catalog.regexp_split_to_table({}, E'\\n')", quote::literal(text));
        let form = "(FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02', ESCAPE E'\\x02')";
        self.query(&format!("COPY (SELECT {lines}) TO {} {form}", quote::literal(path))).map(|_| ())
    }

    /// Sets whether errors have texts from now on, or only their SQLSTATE, as texts may contain values.
    pub(crate) fn set_verbosity(&mut self, texts: bool) -> Result<(), CommandFailure> {
        self.send(&format!("\\set VERBOSITY {}", if texts { "terse" } else { "sqlstate" })).map(|_| ())
    }

    /// Runs a user's SQL, and discards its result.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), CommandFailure> {
        self.send(&format!("\\o /dev/null\n{}\n\\o", quote::opaque(sql))).map(|_| ())
    }

    /// Copies rows out, line by line, in the database's own encoding. COPY of a table evaluates no code of users. A query would:
    /// to plan it, the server computes constants in expressions of indexes.
    pub(crate) fn copy(&mut self, sql: &str, mut each: impl FnMut(&[u8])) -> Result<(), CommandFailure> {
        self.receive(&quote::opaque(sql), |line| each(line))
    }

    fn send(&mut self, script: &str) -> Result<Vec<String>, CommandFailure> {
        let mut lines = Vec::new();
        self.receive(script, |line| lines.push(String::from_utf8_lossy(line).into_owned()))?;
        Ok(lines)
    }

    fn receive(&mut self, script: &str, mut each: impl FnMut(&[u8])) -> Result<(), CommandFailure> {
        self.queries += 1;
        let mark = format!("-- answered {} {} --", self.queries, self.mark);
        // If psql has exited, the read below reports it, with its standard error.
        if let Some(input) = &mut self.input {
            let _ = write!(input, "{script}\n\\echo '{mark}'\n").and_then(|()| input.flush());
        }
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.output.read_until(b'\n', &mut line) {
                Ok(read) if read > 0 => {}
                _ => return Err(self.failure_from_stderr()),
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if text == mark.as_bytes() {
                return Ok(());
            }
            each(text);
        }
    }

    fn failure_from_stderr(&mut self) -> CommandFailure {
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default();
        // The prefix with psql's name has no information.
        let stderr = stderr.lines().map(|line| line.trim_start_matches("psql: error: ")).collect::<Vec<_>>().join("\n");
        let _ = self.process.wait();
        self.tools.failure("psql", &stderr, Reason::ToolFailed)
    }
}

/// Adds what to do if the database `postgres` accepts no connections or was dropped. The agent needs it for queries that concern
/// the server, and for its marker tables.
fn explained(failure: CommandFailure, database: &str) -> CommandFailure {
    let message = failure.message();
    let statement = if message.contains("is not currently accepting connections") {
        "ALTER DATABASE postgres ALLOW_CONNECTIONS true"
    } else if failure.reason() == Reason::DatabaseMissing {
        "CREATE DATABASE postgres TEMPLATE template0"
    } else {
        return failure;
    };
    if database != MAINTENANCE {
        return failure;
    }
    let message = format!("{message}; the operator needs that database: run {statement} as a superuser in template1");
    CommandFailure::new(failure.reason(), message)
}

/// Rolls back what was not committed. An idle psql gets time to end its session, or the server would log a lost connection.
impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.input = None;
        let end = Instant::now() + Duration::from_secs(2);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
