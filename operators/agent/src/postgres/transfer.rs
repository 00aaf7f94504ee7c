//! Databases from one server straight into another: what is dumped is loaded as it comes, and lies nowhere between.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use super::inventory::{self, MAINTENANCE, Sequence};
use super::manifest::{self, Database};
use super::refill;
use super::session::Session;
use super::tools::{self, Connection, Tools};
use crate::failure::{Failure, Reason};

/// The one database of a new server that is never replaced here; `postgres` is, so that its settings come along.
pub(crate) const TEMPLATE: &str = "template1";

/// The settings of a database are in force as soon as it is there, and one may be that nothing is to be written.
/// Nothing is made to last on the way: that is done once, when all is in.
const WRITING: &str = "-c default_transaction_read_only=off -c synchronous_commit=off \
-c maintenance_work_mem=128MB -c wal_init_zero=off";

/// One value a column is enough for plans that are not absurd, and takes moments; pg-finish makes the rest.
const ROUGHLY: &str = "-c default_transaction_read_only=off -c synchronous_commit=off -c default_statistics_target=1 -c vacuum_cost_delay=0";

pub(crate) struct Transfer<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) from: &'a Connection,
    pub(crate) to: &'a Connection,
    pub(crate) jobs: u16,
    /// A folder for what does not go through the pipe: definitions, no rows.
    pub(crate) folder: &'a Path,
}

impl Transfer<'_> {
    /// Roles with their passwords. The superuser stays as the environment has it.
    pub(crate) fn roles(&self) -> Result<(), Failure> {
        let mut command = self.from.client_of(self.tools, "pg_dumpall", MAINTENANCE);
        command.args(["--globals-only", "--no-tablespaces", "--quote-all-identifiers"]);
        let text = self.tools.run(&mut command, Reason::ToolFailed)?;
        refill::make_roles(self.tools, self.to, TEMPLATE, &text, &self.from.user)
    }

    /// All but the rows: what the new version does not take is found while the old one still serves.
    pub(crate) fn rehearse(&self, name: &str) -> Result<(), Failure> {
        self.stream(name, &["--schema-only"])
    }

    /// Nothing changes in the old server any more, so counting it may go on beside the copy. Then both are compared.
    pub(crate) fn database(&self, name: &str) -> Result<Database, Failure> {
        let (there, copied) = thread::scope(|scope| {
            let there = scope.spawn(|| self.count(self.from, name));
            let copied = self.copy(name);
            let sentence = "the old server was not counted to the end";
            (there.join().unwrap_or_else(|_| Err(Failure::new(Reason::ToolFailed, sentence))), copied)
        });
        copied?;
        let (expected, sequences) = there?;
        let (found, found_sequences) = self.count(self.to, name)?;
        let differing = sequences.iter().find(|sequence| !found_sequences.contains(sequence));
        let differing = differing.map(|one| format!("database {name}: sequence {}.{} differs", one.schema, one.name));
        match manifest::differences(&expected, &found).or(differing) {
            Some(sentence) => Err(Failure::new(Reason::CountMismatch, sentence)),
            None => Ok(expected),
        }
    }

    pub(crate) fn analyze_roughly(&self, name: &str) -> Result<(), Failure> {
        let mut command = self.to.client_of(self.tools, "vacuumdb", name);
        command.env("PGOPTIONS", ROUGHLY);
        command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", self.jobs));
        self.tools.run(&mut command, Reason::ToolFailed).map(|_| ())
    }

    fn count(&self, connection: &Connection, name: &str) -> Result<(Database, Vec<Sequence>), Failure> {
        let mut session = Session::open(self.tools, connection, name)?;
        Ok((inventory::describe(&mut session, name)?, inventory::sequences(&mut session)?))
    }

    /// A pipe carries one table after the other. Indexes and foreign keys take most of the time that is left, and several
    /// can be made at once if their definitions lie in a file.
    fn copy(&self, name: &str) -> Result<(), Failure> {
        if self.jobs == 1 {
            return self.stream(name, &[]);
        }
        let later = self.folder.join("indexes.dump");
        thread::scope(|scope| {
            let dumped = scope.spawn(|| {
                let mut dump = self.dump(name, &["--section=post-data"]);
                self.tools.run(dump.arg("--file").arg(&later), Reason::ToolFailed)
            });
            let streamed = self.stream(name, &["--section=pre-data", "--section=data"]);
            let sentence = "pg_dump was not awaited";
            let dumped = dumped.join().unwrap_or_else(|_| Err(Failure::new(Reason::ToolFailed, sentence)));
            streamed.and(dumped)
        })?;
        let mut restore = self.restore(name);
        restore.arg(format!("--jobs={}", self.jobs)).arg(&later);
        self.tools.run(&mut restore, Reason::RestoreFailed).map_err(refill::restore_failed).map(|_| ())
    }

    /// pg_dump into pg_restore, so that both work at once.
    fn stream(&self, name: &str, parts: &[&str]) -> Result<(), Failure> {
        let mut restore = self.restore(TEMPLATE);
        restore.arg("--create");
        if name == MAINTENANCE {
            restore.args(["--clean", "--if-exists"]);
        }
        let mut dump = Running::start(self.tools, self.dump(name, parts).stdout(Stdio::piped()))?;
        restore.stdin(dump.output()?).stdout(Stdio::null());
        let restored = Running::start(self.tools, &mut restore).and_then(|restore| restore.end(Reason::RestoreFailed));
        // The command has the pipe's end until it is gone, and pg_dump would wait for somebody to read.
        drop(restore);
        match (dump.end(Reason::ToolFailed), restored) {
            // Whoever ended first left the other with a broken pipe, or with half of an archive.
            (Err(dump), Err(restore)) if broken_pipe(dump.message()) => Err(refill::restore_failed(restore)),
            (Err(dump), _) => Err(dump),
            (Ok(()), restored) => restored.map_err(refill::restore_failed),
        }
    }

    fn dump(&self, name: &str, parts: &[&str]) -> Command {
        let mut command = self.from.client_of(self.tools, "pg_dump", name);
        command.args(["--format=custom", "--compress=0", "--quote-all-identifiers", "--no-sync"]).args(parts);
        command
    }

    fn restore(&self, database: &str) -> Command {
        let mut command = self.to.client_of(self.tools, "pg_restore", database);
        command.args(["--exit-on-error", "--no-tablespaces"]).env("PGOPTIONS", WRITING);
        command
    }
}

fn broken_pipe(words: &str) -> bool {
    words.contains("Broken pipe") || words.contains("signal: 13")
}

/// A program beside others: whatever it says is read, so that it never waits for that.
struct Running<'a> {
    tools: &'a Tools,
    program: String,
    process: Child,
    words: Option<JoinHandle<String>>,
}

impl<'a> Running<'a> {
    fn start(tools: &'a Tools, command: &mut Command) -> Result<Self, Failure> {
        let program = tools::name(command);
        let spawned = command.stderr(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|error| tools.not_started(&program, &error))?;
        let words = process.stderr.take().map(|mut words| {
            thread::spawn(move || {
                let mut all = Vec::new();
                let _ = words.read_to_end(&mut all);
                String::from_utf8_lossy(&all).into_owned()
            })
        });
        Ok(Self { tools, program, process, words })
    }

    fn output(&mut self) -> Result<Stdio, Failure> {
        let sentence = || Failure::new(Reason::ToolFailed, format!("{} has no pipe", self.program));
        self.process.stdout.take().map(Stdio::from).ok_or_else(sentence)
    }

    fn end(mut self, otherwise: Reason) -> Result<(), Failure> {
        let status = self.process.wait().map_err(|error| self.tools.not_started(&self.program, &error))?;
        let words = self.words.take().and_then(|words| words.join().ok()).unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let words = if words.trim().is_empty() { status.to_string() } else { words };
        Err(self.tools.failure(&self.program, &words, otherwise))
    }
}

/// Bytes that are free where a folder is, if the image has df.
pub(crate) fn free_bytes(tools: &Tools, folder: &Path) -> Option<u64> {
    let df = [PathBuf::from("/bin/df"), PathBuf::from("/usr/bin/df")].into_iter().find(|path| path.is_file())?;
    let mut command = Command::new(df);
    command.args([OsStr::new("-P"), OsStr::new("-k"), folder.as_os_str()]).env("LC_ALL", "C");
    let printed = tools.run(&mut command, Reason::ToolFailed).ok()?;
    available(&printed)
}

/// The field before the percentage, of the second line: names of file systems may have spaces.
fn available(printed: &str) -> Option<u64> {
    let fields: Vec<&str> = printed.lines().nth(1)?.split_whitespace().collect();
    let percentage = fields.iter().position(|field| field.ends_with('%'))?;
    fields.get(percentage.checked_sub(1)?)?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_read() {
        let printed =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a b 263112772 1 33554432 65% /a b\n";
        assert_eq!(available(printed), Some(33_554_432 * 1024));
        assert_eq!(available("nothing"), None);
    }
}
