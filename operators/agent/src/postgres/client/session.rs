//! A session with a server, through psql.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::failure::{Failure, Reason};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::files;
use crate::progress::WaitLogger;

/// Limits that a database or a role may set, and that would end a long read.
const NO_LIMITS: &str = "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN \
    ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', \
     'transaction_timeout')";

/// Nothing that a user made is found in place of what is meant.
pub(crate) const SAFE_PATH: &str = "SELECT pg_catalog.set_config('search_path', '', false)";

/// What is a table when it is looked for may be a view of a user's when it is read (CVE-2024-7348), whose functions would run
/// as the superuser. Servers of August 2024 and later know a setting against that.
const NO_VIEWS: &str = "SELECT pg_catalog.set_config(name, 'view, foreign-table', false) FROM pg_catalog.pg_settings \
    WHERE name = 'restrict_nonsystem_relation_kind'";

/// The options of a superuser's session, with those that it has besides. Settings of a database and of a role hold from the first
/// moment of a session, and would change what is asked and whether it may be done; an owner's database may load a library that is
/// not there.
macro_rules! superusers {
    ($besides:literal) => {
        concat!(
            "-c role=none -c search_path= -c session_preload_libraries= -c local_preload_libraries= -c statement_timeout=0 ",
            $besides
        )
    };
}
pub(crate) use superusers;

/// What settings of a database could have it that a superuser's client does otherwise.
pub(crate) const MAINTAINING: &str = superusers!("-c default_transaction_read_only=off -c lock_timeout=0");

/// What would change how a question is answered, too.
const FROM_THE_BEGINNING: &str = superusers!(
    "-c default_transaction_read_only=off -c standard_conforming_strings=on -c datestyle=ISO -c lock_timeout=0"
);

/// What is said in the session does not get into the server's log; only a superuser may ask for that.
pub(crate) const UNLOGGED: &str = "SELECT pg_catalog.set_config(name, value, false) FROM (VALUES ('log_statement', 'none'), \
    ('log_min_error_statement', 'panic'), ('log_min_duration_statement', '-1'), ('log_duration', 'off'), \
    ('pgaudit.log', 'none')) AS quiet (name, value)";

pub(crate) struct Session<'a> {
    tools: &'a Tools,
    process: Child,
    /// Closed by dropping, which psql takes for the end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
    /// No row of a user's looks like the end of an answer: nobody else knows this.
    mark: String,
    queries: usize,
}

impl<'a> Session<'a> {
    /// A session of the superuser.
    pub(crate) fn open(tools: &'a Tools, connection: &Connection, database: &str) -> Result<Self, Failure> {
        let mut session = Self::start(tools, connection, database, Some(FROM_THE_BEGINNING))?;
        session.query(SAFE_PATH)?;
        session.query(NO_LIMITS)?;
        session.query(NO_VIEWS)?;
        Ok(session)
    }

    /// The same, tried again while the server does not answer, for at most this long.
    pub(crate) fn open_within(
        tools: &'a Tools,
        connection: &Connection,
        database: &str,
        patience: Duration,
    ) -> Result<Self, Failure> {
        let end = Instant::now() + patience;
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

    /// A session in which nothing is set.
    pub(crate) fn connect(tools: &'a Tools, connection: &Connection, database: &str) -> Result<Self, Failure> {
        Self::start(tools, connection, database, None)
    }

    fn start(
        tools: &'a Tools,
        connection: &Connection,
        database: &str,
        settings: Option<&str>,
    ) -> Result<Self, Failure> {
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
            return Err(Failure::new(Reason::ToolFailed, "psql has no pipes"));
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

    /// Runs SQL, and gives the lines that come of it.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<String>, Failure> {
        self.send(&quote::opaque(sql))
    }

    /// The first line, or nothing.
    pub(crate) fn query_one(&mut self, sql: &str) -> Result<Option<String>, Failure> {
        Ok(self.query(sql)?.into_iter().next())
    }

    /// Each line as JSON.
    pub(crate) fn query_json<T: serde::de::DeserializeOwned>(&mut self, sql: &str) -> Result<Vec<T>, Failure> {
        let wrong = |error| Failure::new(Reason::ToolFailed, format!("the output of psql cannot be parsed: {error}"));
        self.query(sql)?.iter().map(|line| serde_json::from_str(line).map_err(wrong)).collect()
    }

    /// What the last line says, which is a boolean as JSON: nothing, if there is no line. What is not known (NULL) is no yes.
    pub(crate) fn query_bool(&mut self, sql: &str) -> Result<Option<bool>, Failure> {
        Ok(self.query(sql)?.pop().map(|line| line == "true"))
    }

    /// Writes lines of text into a file of the server's, where it is.
    pub(crate) fn write_file(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        // As one column of CSV whose quote is in no line: what is written is the text as it is.
        let lines = format!("pg_catalog.regexp_split_to_table({}, E'\\n')", quote::literal(text));
        let form = "(FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02', ESCAPE E'\\x02')";
        self.query(&format!("COPY (SELECT {lines}) TO {} {form}", quote::literal(path))).map(|_| ())
    }

    /// Whether errors have texts from now on, or their SQLSTATE alone, as texts may contain values.
    pub(crate) fn set_verbosity(&mut self, texts: bool) -> Result<(), Failure> {
        self.send(&format!("\\set VERBOSITY {}", if texts { "terse" } else { "sqlstate" })).map(|_| ())
    }

    /// Runs SQL of a user's: what comes of it is not looked at.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.send(&format!("\\o /dev/null\n{}\n\\o", quote::opaque(sql))).map(|_| ())
    }

    /// Copies rows out, line by line, in the bytes of the database's own encoding. COPY of a table evaluates nothing that a
    /// user wrote, where a query would: to plan it, the server computes constants in expressions of indexes.
    pub(crate) fn copy(&mut self, sql: &str, mut each: impl FnMut(&[u8])) -> Result<(), Failure> {
        self.receive(&quote::opaque(sql), |line| each(line))
    }

    fn send(&mut self, script: &str) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        self.receive(script, |line| lines.push(String::from_utf8_lossy(line).into_owned()))?;
        Ok(lines)
    }

    fn receive(&mut self, script: &str, mut each: impl FnMut(&[u8])) -> Result<(), Failure> {
        self.queries += 1;
        let mark = format!("-- answered {} {} --", self.queries, self.mark);
        // A psql that has ended is noticed below, with its standard error.
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
            let whole = line.strip_suffix(b"\n").unwrap_or(&line);
            if whole == mark.as_bytes() {
                return Ok(());
            }
            each(whole);
        }
    }

    fn failure_from_stderr(&mut self) -> Failure {
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default();
        // psql's own name before each message says nothing.
        let stderr = stderr.lines().map(|line| line.trim_start_matches("psql: error: ")).collect::<Vec<_>>().join("\n");
        let _ = self.process.wait();
        self.tools.failure("psql", &stderr, Reason::ToolFailed)
    }
}

/// What to do about a database that every server has and that takes no connections, or is gone. What concerns the whole
/// server is asked there, and the marker tables are there.
fn explained(failure: Failure, database: &str) -> Failure {
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
    Failure::new(failure.reason(), message)
}

/// What was not committed is rolled back. A psql that has nothing to do says goodbye, or the server would log a loss.
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
