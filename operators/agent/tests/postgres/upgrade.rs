//! `agent pg-upgrade`: from one version to a higher one, whatever happens meanwhile.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use crate::contents::ROWS;
use crate::support::{Place, Server, stderr};

/// An old server's place, and that of a new one.
pub struct Pair {
    pub old: Place,
    pub new: Place,
}

impl Pair {
    pub fn new(name: &str, from: &str, to: &str) -> Self {
        let pair = Self { old: Place::of(&format!("{name}-old"), from), new: Place::of(&format!("{name}-new"), to) };
        pair.new.prepare(&[]);
        pair
    }

    pub fn upgrade(&self, more: &[&str]) -> Command {
        let new = &self.new;
        let (data, conf, run) = (new.text("volume/data"), new.text("conf"), new.text("run"));
        let (major, run) = (new.major.clone().unwrap(), run.trim_end_matches("/run"));
        let all = ["pg-upgrade", "--pgdata", &data, "--major", &major, "--configuration", &conf, "--run-dir", run];
        let mut command = new.agent(&[&all, more].concat());
        command.env("PGHOST", &self.old.host);
        command
    }

    pub fn upgraded(&self, more: &[&str]) -> Value {
        let output = self.upgrade(more).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!self.new.path("volume/data.upgrade").exists());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The reason, and whether it says that writers are shut out.
    pub fn fails(&self, more: &[&str]) -> (String, Value) {
        let output = self.upgrade(more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        eprintln!("{}", self.new.reason().1);
        (self.new.reason().0, self.new.last_words()["closed"].clone())
    }
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

fn all_comes_along(from: &str, to: &str, jobs: &str) {
    let pair = Pair::new(&format!("upgrade-{from}-{to}"), from, to);
    let identifier = pair.old.prepared(&["--initialise"])["systemIdentifier"].as_str().unwrap().to_owned();
    let old = pair.old.start();
    fill(&old);
    let writer = Writer::start(&old);
    let flags = ["--owner", "uid-1", "--database", "app", "--from-system-identifier", &identifier, "--jobs", jobs];
    let result = pair.upgraded(&flags);
    assert!(!may_read(&old));
    let acknowledged = writer.end();
    assert!(acknowledged > 0);
    eprintln!("{from} to {to}: {acknowledged} rows were acknowledged meanwhile; {result}");
    assert_eq!((&result["reused"], &result["databases"]), (&false.into(), &2.into()));
    assert!(result["rows"].as_u64().unwrap() >= ROWS + 1 + acknowledged);
    assert!(result["copiedAt"].as_u64() > result["closedAt"].as_u64());
    assert!(!pair.old.log().contains("SCRAM"), "{}", pair.old.log());
    old.stop();

    let prepared = pair.new.prepared(&["--system-identifier", result["systemIdentifier"].as_str().unwrap()]);
    assert_eq!(prepared["access"], "closed");
    let new = pair.new.start();
    assert!(!may_read(&new));
    new.stop();
    pair.new.prepared(&["--access", "open"]);
    let new = pair.new.start();
    check(&new);
    let there: u64 = new.sql("app", "SELECT count(*) FROM acks").parse().unwrap();
    // The last one may have been written and its answer lost.
    assert!(there == acknowledged || there == acknowledged + 1, "{there} of {acknowledged}");
    assert_eq!(new.sql("postgres", "SHOW data_checksums"), "on");
    assert_eq!(new.sql("app", "SELECT reltuples FROM pg_class WHERE relname = 'hidden'"), "1000");
    let finished = pair.new.run(&["pg-finish", "--major"]);
    assert_eq!((&finished["analyzed"], &finished["warnings"]), (&3.into(), &Value::Array(Vec::new())), "{finished}");
}

#[test]
#[ignore = "needs PG_TREES"]
fn from_13_to_15() {
    all_comes_along("13", "15", "1");
}

#[test]
#[ignore = "needs PG_TREES"]
fn from_15_to_17() {
    all_comes_along("15", "17", "2");
}

#[test]
#[ignore = "needs PG_TREES"]
fn from_13_to_17() {
    all_comes_along("13", "17", "3");
}
