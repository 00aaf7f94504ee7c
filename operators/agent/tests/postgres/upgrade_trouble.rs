//! `agent pg-upgrade`, killed, refused, out of room, and run again.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::{PASSWORD, signal, stderr};
use crate::upgrade::{Pair, Writer, check, fill, may_read};

#[test]
#[ignore = "needs PG_TREES"]
fn killed_at_any_moment_it_begins_anew() {
    let pair = Pair::new("upgrade-killed", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    old.sql(
        "app",
        "SET transaction_read_only = off; CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 300000) n",
    );
    let writer = Writer::start(&old);
    let mut killed = 0;
    for (words, milliseconds) in [
        ("", 50),
        ("", 700),
        ("trying all definitions", 100),
        ("shutting writers out", 0),
        ("shutting writers out", 30),
        ("copying database", 0),
        ("copying database", 200),
        ("copying database", 500),
        ("copying database \"postgres\"", 0),
        ("copying database \"postgres\"", 400),
        ("copying database \"postgres\"", 700),
    ] {
        let mut child = pair.upgrade(&[]).process_group(0).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        // When writers are out already, definitions are not tried again.
        let reached = words.is_empty() || said.any(|line| line.starts_with(words));
        thread::sleep(Duration::from_millis(milliseconds));
        let ended = child.try_wait().unwrap().is_some();
        signal("-KILL", &format!("-{}", child.id()));
        child.wait().unwrap();
        eprintln!("killed {milliseconds} ms after {words:?}: reached {reached}, ended {ended}");
        killed += u32::from(reached && !ended);
        assert_eq!(pair.new.path("volume/data").exists(), pair.new.path("volume/data/PG_VERSION").exists());
    }
    assert!(killed > 7);
    let result = pair.upgraded(&[]);
    let acknowledged = writer.end();
    eprintln!("killed {killed} times, {acknowledged} rows were acknowledged; {result}");
    assert_eq!(pair.upgraded(&[])["copiedAt"], result["copiedAt"]);
    pair.new.prepared(&["--access", "open"]);
    let new = pair.new.start();
    check(&new);
    let there: u64 = new.sql("app", "SELECT count(*) FROM acks").parse().unwrap();
    assert!(there == acknowledged || there == acknowledged + 1, "{there} of {acknowledged}");
}

#[test]
#[ignore = "needs PG_TREES"]
fn a_copy_is_good_while_the_old_is_closed() {
    let pair = Pair::new("upgrade-again", "13", "15");
    let old = pair.old.serve();
    fill(&old);
    let first = pair.upgraded(&[]);
    let again = pair.upgraded(&[]);
    assert_eq!((&again["reused"], &again["copiedAt"]), (&true.into(), &first["copiedAt"]));
    // The old pod starts again: it stays closed, for this copy.
    old.stop();
    pair.old.prepared(&[]);
    let old = pair.old.start();
    assert_eq!(pair.upgraded(&[])["reused"], true);
    // It is opened, and somebody writes.
    let (path, open) = (pair.old.text("volume/data/pg_hba.conf"), pair.old.text("volume/data/pg_hba.open.conf"));
    fs::write(path, fs::read_to_string(open).unwrap()).unwrap();
    old.sql("postgres", "SELECT pg_reload_conf()");
    thread::sleep(Duration::from_millis(300));
    old.sql("app", "SET transaction_read_only = off; INSERT INTO acks VALUES (7)");
    let newer = pair.upgraded(&[]);
    assert_eq!(
        (&newer["reused"], newer["rows"].as_u64()),
        (&false.into(), first["rows"].as_u64().map(|rows| rows + 1))
    );
    // From here on the new data is what counts.
    pair.new.prepared(&[]);
    assert_eq!(pair.fails(&[]), ("ForeignData".into(), true.into()));
    fs::remove_dir_all(pair.new.path("volume/data")).unwrap();
    fs::write(pair.new.path("volume/photo.jpg"), "").unwrap();
    assert_eq!(pair.fails(&[]).0, "ForeignData");
}

#[test]
#[ignore = "needs PG_TREES"]
fn what_cannot_be_copied_leaves_writers_in() {
    let pair = Pair::new("upgrade-refused", "13", "17");
    pair.old.prepare(&[]);
    pair.old.write("conf/more.conf", "max_prepared_transactions = 3\n");
    let old = pair.old.serve();
    fill(&old);
    let refused = |reason: &str, more: &[&str]| {
        assert_eq!(pair.fails(more), (reason.into(), false.into()));
        assert!(
            may_read(&old) && !pair.new.path("volume/data").exists() && !pair.new.path("volume/data.upgrade").exists()
        );
    };
    refused("ForeignData", &["--from-system-identifier", "7"]);
    refused("DatabaseMissing", &["--database", "none"]);
    old.sql("postgres", "CREATE EXTENSION adminpack");
    refused("ExtensionMissing", &[]);
    old.sql("postgres", "DROP EXTENSION adminpack");
    old.sql("postgres", "BEGIN; CREATE TABLE p (a int); PREPARE TRANSACTION 'one'");
    refused("PreparedTransactions", &[]);
    old.sql("postgres", "ROLLBACK PREPARED 'one'");
    let folder = pair.old.path("space");
    fs::create_dir(&folder).unwrap();
    Command::new("chown").arg("999").arg(&folder).status().unwrap();
    old.sql("postgres", &format!("CREATE TABLESPACE fast LOCATION '{}'", folder.display()));
    refused("Unsupported", &[]);
    old.sql("postgres", "DROP TABLESPACE fast");
    old.sql("postgres", "CREATE DATABASE shut ALLOW_CONNECTIONS false");
    refused("Unsupported", &[]);
    old.sql("postgres", "DROP DATABASE shut");
    // A view on what the new version does not have: only trying shows it.
    old.sql("postgres", "CREATE VIEW v AS SELECT pg_start_backup('x')");
    refused("RestoreFailed", &[]);
    old.sql("postgres", "DROP VIEW v");
    let wrong = pair.upgrade(&[]).env("PGPASSWORD", "wrong").output().unwrap();
    assert_eq!((wrong.status.code(), pair.new.reason().0.as_str()), (Some(1), "AuthenticationFailed"));
    assert_eq!(pair.upgraded(&[])["reused"], false);
}

#[test]
#[ignore = "needs PG_TREES"]
fn a_full_volume_is_told_and_whether_it_is_closed() {
    let pair = Pair::new("upgrade-full", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    let volume = pair.new.path("volume");
    let with_room = |megabytes: u32| {
        let size = format!("size={megabytes}m,mode=777");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&volume).status();
        assert!(mounted.unwrap().success());
        let outcome = std::panic::catch_unwind(|| pair.fails(&[]));
        Command::new("umount").arg(&volume).status().unwrap();
        outcome.unwrap()
    };
    assert_eq!(with_room(10), ("NoSpace".into(), false.into()));
    assert!(may_read(&old));
    // The data fits once, and what else the new server writes does not.
    let table = "CREATE TABLE t AS SELECT n, repeat('x', 1000) AS x FROM generate_series(1, 200000) n; CREATE INDEX ON t (x, n)";
    old.sql("app", &format!("SET transaction_read_only = off; {table}"));
    let bytes: u64 = old.sql("postgres", "SELECT sum(pg_database_size(oid)) FROM pg_database").parse().unwrap();
    let (reason, closed) = with_room(u32::try_from(bytes / 1_048_576).unwrap() + 3);
    assert_eq!((reason.as_str(), closed), ("NoSpace", true.into()));
    assert!(!may_read(&old));
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(pair.upgraded(&[])["reused"], false);
}

#[test]
#[ignore = "needs PG_TREES"]
fn a_server_that_goes_away_is_told() {
    let pair = Pair::new("upgrade-lost", "13", "15");
    let mut old = pair.old.serve();
    fill(&old);
    old.sql(
        "app",
        "SET transaction_read_only = off; CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 1000000) n",
    );
    let child = pair.upgrade(&[]).spawn().unwrap();
    while may_read(&old) {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    old.kill();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(pair.new.reason().0, "ConnectionFailed", "{}", stderr(&output));
    assert_eq!(pair.new.last_words()["closed"], true);
    assert_eq!(pair.old.prepared(&[])["access"], "closed");
    let old = pair.old.start();
    assert!(!may_read(&old));
    assert_eq!(pair.upgraded(&[])["reused"], false);
    assert!(!pair.new.last_words().to_string().contains(PASSWORD));
}

/// Asks for entry as the application, and leaves the server waiting for the password.
fn at_the_door(host: &str) -> TcpStream {
    let mut stream = TcpStream::connect((host, 5432)).unwrap();
    let words = b"\0\x03\0\0user\0reader\0database\0app\0\0";
    let length = u32::try_from(words.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], words].concat()).unwrap();
    assert_eq!(stream.read(&mut [0; 64]).unwrap().min(1), 1);
    stream
}

#[test]
#[ignore = "needs PG_TREES"]
fn who_was_let_to_the_door_before_is_waited_for() {
    for (name, from, to) in [("upgrade-door-13", "13", "15"), ("upgrade-door-15", "15", "17")] {
        let pair = Pair::new(name, from, to);
        let old = pair.old.serve();
        fill(&old);
        let (stream, silent) =
            (at_the_door(&pair.old.host), TcpStream::connect((pair.old.host.as_str(), 5432)).unwrap());
        let child = pair.upgrade(&[]).spawn().unwrap();
        while may_read(&old) {
            thread::sleep(Duration::from_millis(20));
        }
        // Those who come when it is closed are not waited for.
        let late = TcpStream::connect((pair.old.host.as_str(), 5432)).unwrap();
        thread::sleep(Duration::from_secs(6));
        assert!(!pair.new.path("volume/data").exists(), "{from}");
        drop((stream, silent));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        drop(late);
    }
}

/// Many that come again at once when they are sent away: each row that one of them was told of is there.
#[test]
#[ignore = "needs PG_TREES"]
fn short_sessions_lose_nothing() {
    let pair = Pair::new("upgrade-short", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    let insert = "SET transaction_read_only = off; INSERT INTO acks VALUES (1)";
    let hammer = || {
        let (mut acknowledged, mut unknown) = (0_u64, 0_u64);
        loop {
            let output = old.psql("reader", "reader's", "app", insert);
            let words = stderr(&output);
            match output.status.success() {
                true => acknowledged += 1,
                false if words.contains("no pg_hba.conf entry") => return (acknowledged, unknown),
                false => unknown += 1,
            }
        }
    };
    let (acknowledged, unknown) = thread::scope(|scope| {
        let hammers = [(); 4].map(|()| scope.spawn(hammer));
        pair.upgraded(&[]);
        hammers.map(|hammer| hammer.join().unwrap()).into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    });
    old.stop();
    pair.new.prepared(&["--access", "open"]);
    let there: u64 = pair.new.start().sql("app", "SELECT count(*) FROM acks").parse().unwrap();
    eprintln!("{acknowledged} rows were acknowledged, {unknown} may have been written; there are {there}");
    assert!(acknowledged > 0 && there >= acknowledged && there <= acknowledged + unknown);
}
