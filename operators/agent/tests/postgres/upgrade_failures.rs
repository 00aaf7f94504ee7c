//! `agent pg-upgrade`, killed, refused, and run again.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::{signal, stderr};
use crate::upgrade::{COPY_MARKER, Pair, Writer, check, check_acknowledged, fill, is_touched, may_read};

#[test]
#[ignore = "scripts/test --all servers"]
fn killed_at_any_moment_it_begins_again() {
    let pair = Pair::new("upgrade-killed", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    old.sql(
        "app",
        "SET transaction_read_only = off; CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 300000) n",
    );
    let writer = Writer::start(&old);
    let mut new = pair.empty();
    let mut killed = 0;
    for (phase, milliseconds) in [
        ("", 50),
        ("", 700),
        ("loading all definitions into a scratch server", 100),
        ("blocking clients", 0),
        ("blocking clients", 30),
        ("copying database", 0),
        ("copying database", 200),
        ("copying database", 500),
        ("copying database \"app\"", 0),
        ("copying database \"app\"", 400),
        ("copying database \"app\"", 900),
    ] {
        let mut child = pair.upgrade(&[]).process_group(0).spawn().unwrap();
        let mut output = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        // When writers are out already, definitions are not tried again.
        let reached = phase.is_empty() || output.any(|line| line.starts_with(phase));
        thread::sleep(Duration::from_millis(milliseconds));
        let ended = child.try_wait().unwrap().is_some();
        signal("-KILL", &format!("-{}", child.id()));
        child.wait().unwrap();
        // What it has asked for last is done nevertheless.
        let others =
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        while new.sql("template1", others) != "0" {
            thread::sleep(Duration::from_millis(20));
        }
        let (touched, recorded) = (is_touched(&new), pair.new.path("volume/data").join(COPY_MARKER).exists());
        eprintln!(
            "{milliseconds} ms after {phase:?}: reached {reached}, ended {ended}, touched {touched}, marked {recorded}"
        );
        killed += u32::from(reached && !ended);
        let copying = phase.starts_with("copying");
        assert!(touched == copying || phase.starts_with("blocking"), "{phase}");
        if recorded {
            assert_eq!(pair.upgraded(&[])["reused"], true);
        } else if touched {
            assert_eq!(pair.fails(&[]), ("ForeignData".into(), true.into()));
        }
        // Half of a copy is unusable: the operator begins with a new server. An unchanged server is as good as new.
        if touched {
            drop(new);
            new = pair.empty();
        }
    }
    assert!(killed > 7);
    let result = pair.upgraded(&[]);
    let acknowledged = writer.end();
    eprintln!("killed {killed} times, {acknowledged} rows were acknowledged; {result}");
    assert_eq!(pair.upgraded(&[])["copiedAt"], result["copiedAt"]);
    let new = pair.opened(new);
    check(&new);
    check_acknowledged(&new, acknowledged);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_copy_is_good_while_the_old_is_closed() {
    let pair = Pair::new("upgrade-again", "13", "15");
    let old = pair.old.serve();
    fill(&old);
    let new = pair.empty();
    let first = pair.upgraded(&[]);
    let again = || {
        let again = pair.upgraded(&[]);
        assert_eq!((&again["reused"], &again["copiedAt"]), (&true.into(), &first["copiedAt"]));
    };
    again();
    // The old pod starts again: it stays closed, for this copy.
    old.stop();
    pair.old.prepared(&[]);
    let old = pair.old.start();
    again();
    // The new server's container starts again, without its pod's init steps.
    new.stop();
    let mut new = pair.new.start();
    again();
    new.kill();
    let new = pair.new.start();
    again();
    // A pod begins with pg-prepare, and its clients may have written.
    new.stop();
    pair.new.prepared(&[]);
    assert!(!pair.new.path("volume/data").join(COPY_MARKER).exists());
    let new = pair.new.start();
    assert_eq!(pair.fails(&[]), ("ForeignData".into(), true.into()));
    drop(new);
    let new = pair.empty();
    let second = pair.upgraded(&[]);
    assert_eq!((&second["reused"], &second["rows"]), (&false.into(), &first["rows"]));
    // The old one is opened, and a client writes.
    pair.open_old(&old);
    old.sql("app", "SET transaction_read_only = off; INSERT INTO acks VALUES (7)");
    assert_eq!(pair.fails(&[]), ("ForeignData".into(), false.into()));
    assert!(may_read(&old));
    drop(new);
    let _new = pair.empty();
    let newer = pair.upgraded(&[]);
    let rows = first["rows"].as_u64().map(|rows| rows + 1);
    assert_eq!((&newer["reused"], newer["rows"].as_u64()), (&false.into(), rows));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_cannot_be_copied_leaves_writers_in() {
    let pair = Pair::new("upgrade-refused", "13", "17");
    pair.old.prepare(&[]);
    pair.old.write("conf/more.conf", "max_prepared_transactions = 3\n");
    let old = pair.old.serve();
    fill(&old);
    let new = pair.empty();
    let refused = |reason: &str, more: &[&str]| {
        assert_eq!(pair.fails(more), (reason.into(), false.into()));
        assert!(may_read(&old) && !is_touched(&new));
    };
    refused("ForeignData", &["--from-system-identifier", "7"]);
    refused("DatabaseMissing", &["--database", "none"]);
    refused("NoSpace", &["--room", "10000000"]);
    old.sql("postgres", "CREATE EXTENSION adminpack");
    refused("ExtensionMissing", &[]);
    old.sql("postgres", "DROP EXTENSION adminpack");
    old.sql("postgres", "BEGIN; CREATE TABLE p (a int); PREPARE TRANSACTION 'one'");
    refused("PreparedTransactions", &[]);
    old.sql("postgres", "ROLLBACK PREPARED 'one'");
    let directory = pair.old.path("space");
    fs::create_dir(&directory).unwrap();
    Command::new("chown").arg("999").arg(&directory).status().unwrap();
    old.sql("postgres", &format!("CREATE TABLESPACE fast LOCATION '{}'", directory.display()));
    refused("Unsupported", &[]);
    old.sql("postgres", "DROP TABLESPACE fast");
    old.sql("postgres", "CREATE DATABASE shut ALLOW_CONNECTIONS false");
    refused("Unsupported", &[]);
    old.sql("postgres", "DROP DATABASE shut");
    // A view on what the new version does not have: only trying shows it.
    old.sql("postgres", "CREATE VIEW v AS SELECT pg_start_backup('x')");
    refused("RestoreFailed", &[]);
    old.sql("postgres", "DROP VIEW v");
    // Anything in the new server counts as a user's.
    for (database, make, drop) in [
        ("template1", "CREATE DATABASE other", "DROP DATABASE other"),
        ("template1", "CREATE ROLE guest", "DROP ROLE guest"),
        ("postgres", "CREATE TABLE t (a int)", "DROP TABLE t"),
    ] {
        new.sql(database, make);
        refused("ForeignData", &[]);
        new.sql(database, drop);
    }
    let wrong = pair.upgrade(&[]).env("PGPASSWORD", "wrong").output().unwrap();
    assert_eq!((wrong.status.code(), pair.new.reason().0.as_str()), (Some(1), "AuthenticationFailed"));
    // Led to a server of another version, be it the old one itself.
    let itself = ["pg-upgrade", "--to", &pair.old.host, "--major", "17"];
    let wrong = pair.new.agent(&itself).env("PGHOST", &pair.old.host).output().unwrap();
    assert_eq!((wrong.status.code(), pair.new.reason().0.as_str()), (Some(1), "WrongMajor"));
    assert!(may_read(&old));
    assert_eq!(pair.upgraded(&[])["reused"], false);
}

/// Asks for entry as the application, and leaves the server waiting for the password.
fn at_the_door(host: &str, role: &str) -> TcpStream {
    let mut stream = TcpStream::connect((host, 5432)).unwrap();
    let message = format!("\0\x03\0\0user\0{role}\0database\0app\0\0");
    let length = u32::try_from(message.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], message.as_bytes()].concat()).unwrap();
    assert_eq!(stream.read(&mut [0; 64]).unwrap().min(1), 1);
    stream
}

#[test]
#[ignore = "scripts/test --all servers"]
fn who_was_let_to_the_door_before_is_waited_for() {
    // A process of the server's has a title like that of the second while it sends its password.
    for (role, from, to) in [("reader", "13", "15"), ("archiver", "15", "17")] {
        let pair = Pair::new(&format!("upgrade-door-{from}"), from, to);
        let old = pair.old.serve();
        fill(&old);
        old.sql("postgres", "CREATE ROLE archiver LOGIN");
        let stream = at_the_door(&pair.old.host, role);
        let silent = TcpStream::connect((pair.old.host.as_str(), 5432)).unwrap();
        let new = pair.empty();
        let child = pair.upgrade(&[]).spawn().unwrap();
        while may_read(&old) {
            thread::sleep(Duration::from_millis(20));
        }
        // Those who come when it is closed are not waited for.
        let late = TcpStream::connect((pair.old.host.as_str(), 5432)).unwrap();
        thread::sleep(Duration::from_secs(6));
        assert!(!is_touched(&new), "{role} of {from}");
        drop((stream, silent));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        drop(late);
    }
}

/// Many clients that reconnect at once when they are rejected: each row that was acknowledged to one of them exists.
#[test]
#[ignore = "scripts/test --all servers"]
fn short_sessions_lose_nothing() {
    let pair = Pair::new("upgrade-short", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    let insert = "SET transaction_read_only = off; INSERT INTO acks VALUES (1)";
    let hammer = || {
        let (mut acknowledged, mut unknown) = (0_u64, 0_u64);
        loop {
            let output = old.psql("reader", "reader's", "app", insert);
            let message = stderr(&output);
            match output.status.success() {
                true => acknowledged += 1,
                false if message.contains("no pg_hba.conf entry") => return (acknowledged, unknown),
                false => unknown += 1,
            }
        }
    };
    let new = pair.empty();
    let (result, acknowledged, unknown) = thread::scope(|scope| {
        let hammers = [(); 4].map(|()| scope.spawn(hammer));
        let result = pair.upgraded(&[]);
        let counts = hammers.map(|hammer| hammer.join().unwrap());
        (result, counts.iter().map(|count| count.0).sum::<u64>(), counts.iter().map(|count| count.1).sum::<u64>())
    });
    let there: u64 = new.sql("app", "SELECT count(*) FROM acks").parse().unwrap();
    eprintln!("{acknowledged} rows were acknowledged, {unknown} may have been written; there are {there}; {result}");
    assert!(acknowledged > 0 && there >= acknowledged && there <= acknowledged + unknown);
}
