//! `agent pg-upgrade` between servers that crash, or have no space.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use crate::support::{PASSWORD, Server, stderr};
use crate::upgrade::{COPY_MARKER, Pair, Writer, check, check_acknowledged, fill, is_touched, may_read};

/// A file system of so many bytes, for as long as this is there.
struct Small(PathBuf);

impl Small {
    fn new(directory: PathBuf, megabytes: u64) -> Self {
        fs::create_dir_all(&directory).unwrap();
        let size = format!("size={megabytes}m,mode=777");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&directory).status();
        assert!(mounted.unwrap().success());
        Self(directory)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_volume_is_reported_with_whether_clients_are_blocked() {
    let pair = Pair::new("upgrade-full", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    let table = "CREATE TABLE t AS SELECT n, repeat('x', 1000) AS x FROM generate_series(1, 100000) n";
    old.sql("app", &format!("SET transaction_read_only = off; {table}"));
    let bytes = "SELECT sum(pg_database_size(oid)) FROM pg_database WHERE datallowconn";
    let bytes: u64 = old.sql("postgres", bytes).parse().unwrap();
    let new = pair.empty();
    // There is space for the databases, and not for what else the new server writes.
    for room in [bytes - 1, bytes * 2 - 1] {
        assert_eq!(pair.fails(&["--room", &room.to_string()]), ("NoSpace".into(), false.into()));
        assert!(may_read(&old) && !is_touched(&new));
    }
    drop(new);
    // The space is unknown, and runs out during the copy. A table without space is reported; a log without space crashes
    // the server, and its clients get no reason.
    for megabytes in [154, 172] {
        let volume = Small::new(pair.new.path("volume"), megabytes);
        let new = pair.empty();
        let reported = pair.fails(&[]);
        let log = pair.new.log();
        assert!(log.contains("No space left on device"), "{log}");
        let reason = if log.contains("PANIC:") { "ConnectionFailed" } else { "NoSpace" };
        assert_eq!(reported, (reason.into(), true.into()), "{megabytes}");
        assert!(!may_read(&old));
        drop(new);
        drop(volume);
        pair.open_old(&old);
    }
    let _new = pair.empty();
    assert_eq!(pair.upgraded(&["--room", &(bytes * 2).to_string()])["reused"], false);
}

/// An upgrade of a table that takes a while, in the middle of its copy.
fn copying(pair: &Pair, old: &Server<'_>, new: &Server<'_>) -> Child {
    fill(old);
    let table = "CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 1000000) n";
    old.sql("app", &format!("SET transaction_read_only = off; {table}"));
    let child = pair.upgrade(&[]).spawn().unwrap();
    while !is_touched(new) {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(400));
    assert!(!may_read(old));
    child
}

fn is_reported(pair: &Pair, child: Child) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    eprintln!("{}", pair.new.termination_message());
    assert_eq!(pair.new.reason().0, "ConnectionFailed", "{}", stderr(&output));
    assert_eq!(pair.new.termination_message()["closed"], true);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_lost_old_server_is_reported() {
    let pair = Pair::new("upgrade-lost", "13", "15");
    let mut old = pair.old.serve();
    let new = pair.empty();
    let child = copying(&pair, &old, &new);
    old.kill();
    is_reported(&pair, child);
    // While it is down, it is unknown whether it is closed.
    assert_eq!(pair.fails(&["--connect-timeout", "1"]), ("ConnectionFailed".into(), serde_json::Value::Null));
    assert_eq!(pair.old.prepared(&[])["access"], "closed");
    let old = pair.old.start();
    assert!(!may_read(&old) && is_touched(&new));
    drop(new);
    let _new = pair.empty();
    assert_eq!(pair.upgraded(&[])["reused"], false);
    assert!(!pair.new.termination_message().to_string().contains(PASSWORD));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_lost_new_server_is_reported() {
    let pair = Pair::new("upgrade-lost-new", "15", "17");
    let old = pair.old.serve();
    let mut new = pair.empty();
    let child = copying(&pair, &old, &new);
    new.kill();
    is_reported(&pair, child);
    assert_eq!(pair.fails(&["--connect-timeout", "1"]), ("ConnectionFailed".into(), true.into()));
    // What it has of the copy it keeps, and that is nothing to go on with.
    let new = pair.new.start();
    assert_eq!(pair.fails(&[]), ("ForeignData".into(), true.into()));
    drop(new);
    // A server that never existed blocks no clients.
    pair.open_old(&old);
    assert_eq!(pair.fails(&["--connect-timeout", "1"]), ("ConnectionFailed".into(), false.into()));
    assert!(may_read(&old));
    let _new = pair.empty();
    assert_eq!(pair.upgraded(&[])["reused"], false);
}

/// What is reported as copied has reached the WAL, even if the new server crashes right afterward.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_copy_outlives_the_end_of_its_server() {
    let mut pair = Pair::new("upgrade-lasts", "15", "17");
    pair.new.durable = true;
    pair.new.prepare(&[]);
    // Nobody flushes but who has to.
    pair.new.write("conf/more.conf", "wal_writer_delay = 10s\nwal_writer_flush_after = 1GB\ncheckpoint_timeout = 1h\n");
    let old = pair.old.serve();
    fill(&old);
    let mut new = pair.empty();
    assert_eq!(new.sql("template1", "SELECT current_setting('fsync') || current_setting('wal_writer_delay')"), "on10s");
    let writer = Writer::start(&old);
    let result = pair.upgraded(&["--jobs", "2"]);
    new.kill();
    let acknowledged = writer.end();
    assert!(acknowledged > 0);
    let new = pair.new.start();
    eprintln!("{acknowledged} rows were acknowledged; {}", pair.new.log());
    check_acknowledged(&new, acknowledged);
    assert!(pair.new.path("volume/data").join(COPY_MARKER).exists());
    let again = pair.upgraded(&[]);
    assert_eq!((&again["reused"], &again["copiedAt"]), (&true.into(), &result["copiedAt"]));
    check(&pair.opened(new));
}
