//! `agent pg-upgrade`: from one version to a higher one, whatever happens meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::contents::ROWS;
use crate::support::{Fixture, Server, stderr};

/// What a finished copy leaves in the new data until it is prepared again.
pub const COPY_MARKER: &str = "multi_operator_upgrade.json";

/// An old server's place, and that of a new one.
pub struct Pair {
    pub old: Fixture,
    pub new: Fixture,
}

impl Pair {
    pub fn new(name: &str, from: &str, to: &str) -> Self {
        Self { old: Fixture::of(&format!("{name}-old"), from), new: Fixture::of(&format!("{name}-new"), to) }
    }

    /// A new server that is empty and closed, whatever was in its place before.
    pub fn empty(&self) -> Server<'_> {
        let _ = fs::remove_dir_all(self.new.path("volume/data"));
        let prepared = self.new.prepared(&["--initialise", "--access", "closed"]);
        assert_eq!((&prepared["initialised"], &prepared["access"]), (&true.into(), &"closed".into()));
        self.new.start()
    }

    /// The new server once it admits all clients.
    pub fn opened(&self, new: Server<'_>) -> Server<'_> {
        new.stop();
        self.new.prepared(&["--access", "open"]);
        self.new.start()
    }

    pub fn upgrade(&self, more: &[&str]) -> Command {
        let new = &self.new;
        let run = new.directory.to_str().unwrap();
        let all = ["pg-upgrade", "--to", &new.host, "--major", new.major(), "--run-dir", run];
        let mut command = new.agent(&[&all, more].concat());
        command.env("PGHOST", &self.old.host);
        command
    }

    pub fn upgraded(&self, more: &[&str]) -> Value {
        let before = self.thrown_away();
        let output = self.upgrade(more).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(self.thrown_away(), before);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The reason, and whether clients are reported as blocked.
    pub fn fails(&self, more: &[&str]) -> (String, Value) {
        let before = self.thrown_away();
        let output = self.upgrade(more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        eprintln!("{}", self.new.reason().1);
        assert_eq!(self.thrown_away(), before);
        (self.new.reason().0, self.new.termination_message()["closed"].clone())
    }

    /// Temporary files that a killed upgrade leaves.
    fn thrown_away(&self) -> BTreeSet<String> {
        let names = fs::read_dir(&self.new.directory).unwrap().map(|entry| entry.unwrap().file_name());
        let marks = ["rehearsal-", "copy-", "agent-"];
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| marks.iter().any(|mark| name.starts_with(mark))).collect()
    }

    /// The operator admits clients to the old server again.
    pub fn open_old(&self, old: &Server<'_>) {
        old.sql("postgres", "ALTER SYSTEM RESET default_transaction_read_only");
        let (path, open) = (self.old.path("volume/data/pg_hba.conf"), self.old.path("volume/data/pg_hba.open.conf"));
        fs::write(path, fs::read(open).unwrap()).unwrap();
        old.sql("postgres", "SELECT pg_reload_conf()");
        while !may_read(old) {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether a copy has begun to change a new server: roles come first, and all at once.
pub fn is_touched(new: &Server<'_>) -> bool {
    new.sql("template1", "SELECT count(*) FROM pg_roles WHERE rolname = 'reader'") == "1"
}

pub fn may_read(server: &Server<'_>) -> bool {
    server.psql("reader", "reader's", "app", "SELECT 1").status.success()
}

const MORE: [(&str, &str); 10] = [
    ("postgres", "ALTER DATABASE app SET work_mem = '7MB'"),
    ("postgres", "ALTER ROLE reader IN DATABASE app SET lock_timeout = '9s'"),
    ("postgres", "ALTER DATABASE postgres SET work_mem = '9MB'"),
    ("postgres", "CREATE TABLE here (a int); INSERT INTO here VALUES (1)"),
    ("postgres", "REVOKE TEMPORARY ON DATABASE app FROM public"),
    ("app", "CREATE TABLE acks (n int); ALTER TABLE acks OWNER TO reader"),
    ("app", "CREATE SEQUENCE s START 40; SELECT nextval('s'), nextval('s')"),
    ("app", "CREATE SEQUENCE unused; CREATE INDEX ON mine.hidden (who)"),
    ("app", "CREATE SCHEMA multi_operator; CREATE TABLE multi_operator.t (a int)"),
    ("postgres", "ALTER DATABASE app SET default_transaction_read_only = on"),
];

pub fn fill(server: &Server<'_>) {
    server.fill();
    for (database, sql) in MORE {
        server.sql(database, sql);
    }
}

pub fn check(server: &Server<'_>) {
    server.check_contents();
    assert_eq!(server.sql("app", "SHOW work_mem"), "7MB");
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "9MB");
    assert_eq!(server.sql("postgres", "SELECT a FROM here"), "1");
    assert_eq!(server.sql("app", "SHOW default_transaction_read_only"), "on");
    assert_eq!(server.sql("app", "SELECT last_value FROM s"), "41");
    assert_eq!(server.sql("app", "SELECT last_value IS NULL FROM pg_sequences WHERE sequencename = 'unused'"), "t");
    assert_eq!(server.sql("app", "SELECT has_database_privilege('public', 'app', 'TEMP')"), "f");
    assert_eq!(server.sql("app", "SELECT count(*) FROM multi_operator.t"), "0");
    let limit = server.psql("reader", "reader's", "app", "SHOW lock_timeout");
    assert_eq!(String::from_utf8(limit.stdout).unwrap().trim(), "9s", "{}", String::from_utf8_lossy(&limit.stderr));
}

/// Writes one row after the other until it is cut off. The last number that the server has acknowledged.
pub struct Writer {
    acknowledged: Arc<AtomicU64>,
    reader: thread::JoinHandle<()>,
}

impl Writer {
    pub fn start(server: &Server<'_>) -> Self {
        let mut psql = server.client("reader", "reader's", "app").stdin(Stdio::piped()).spawn().unwrap();
        let (mut input, output) = (psql.stdin.take().unwrap(), psql.stdout.take().unwrap());
        thread::spawn(move || {
            let _ = writeln!(input, "SET default_transaction_read_only = off;");
            let line = |n: u32| format!("INSERT INTO acks VALUES ({n});\n\\echo {n}\n");
            let _ = (1..u32::MAX).try_for_each(|n| input.write_all(line(n).as_bytes()));
            let _ = psql.wait();
        });
        let acknowledged = Arc::new(AtomicU64::new(0));
        let last = Arc::clone(&acknowledged);
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                last.store(line.parse().unwrap(), Ordering::Relaxed);
            }
        });
        Self { acknowledged, reader }
    }

    /// What it was acknowledged, now that it is cut off.
    pub fn end(self) -> u64 {
        self.reader.join().unwrap();
        self.acknowledged.load(Ordering::Relaxed)
    }
}

/// All acknowledged writes exist. The last row may have been written and its answer lost.
pub fn check_acknowledged(new: &Server<'_>, acknowledged: u64) {
    let there: u64 = new.sql("app", "SELECT count(*) FROM acks").parse().unwrap();
    assert!(there == acknowledged || there == acknowledged + 1, "{there} of {acknowledged}");
}

fn all_comes_along(from: &str, to: &str, jobs: &str) {
    let pair = Pair::new(&format!("upgrade-{from}-{to}"), from, to);
    let identifier = pair.old.prepared(&["--initialise"])["systemIdentifier"].as_str().unwrap().to_owned();
    let old = pair.old.start();
    fill(&old);
    let new = pair.empty();
    let own = new.sql("template1", "SELECT system_identifier FROM pg_control_system()");
    let writer = Writer::start(&old);
    let flags = ["--database", "app", "--from-system-identifier", &identifier, "--jobs", jobs, "--room", "2000000000"];
    let result = pair.upgraded(&flags);
    assert!(!may_read(&old));
    let acknowledged = writer.end();
    assert!(acknowledged > 0);
    eprintln!("{from} to {to}: {acknowledged} rows were acknowledged meanwhile; {result}");
    assert_eq!((&result["reused"], &result["databases"]), (&false.into(), &2.into()));
    assert_eq!(
        (&result["systemIdentifier"], &result["fromSystemIdentifier"]),
        (&own.as_str().into(), &identifier.as_str().into())
    );
    assert!(result["rows"].as_u64().unwrap() >= ROWS + 1 + acknowledged);
    assert!(result["copiedAt"].as_u64() > result["closedAt"].as_u64());
    for fixture in [&pair.old, &pair.new] {
        assert!(!fixture.log().contains("SCRAM"), "{}", fixture.log());
    }
    assert!(!may_read(&new));
    old.stop();
    new.stop();

    assert_eq!(pair.new.prepared(&["--system-identifier", &own])["access"], "closed");
    let new = pair.new.start();
    assert!(!may_read(&new));
    let new = pair.opened(new);
    check(&new);
    check_acknowledged(&new, acknowledged);
    assert_eq!(new.sql("postgres", "SHOW data_checksums"), "on");
    assert_eq!(new.sql("app", "SELECT reltuples FROM pg_class WHERE relname = 'hidden'"), "1000");
    let finished = pair.new.run(&["pg-finish", "--major"]);
    assert_eq!((&finished["analyzed"], &finished["warnings"]), (&3.into(), &Value::Array(Vec::new())), "{finished}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn from_13_to_15() {
    all_comes_along("13", "15", "1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn from_15_to_17() {
    all_comes_along("15", "17", "2");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn from_13_to_17() {
    all_comes_along("13", "17", "3");
}
