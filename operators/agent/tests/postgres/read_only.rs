//! The rules always admit superusers: while a server is closed, they cannot write by mistake, and a deliberate write is detected.

use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::support::{PASSWORD, Server, stderr};
use crate::upgrade::{Pair, fill, may_read};

/// The error of a superuser's session that writes.
fn written(server: &Server<'_>) -> Result<(), String> {
    let output = server.psql("boss", PASSWORD, "postgres", "INSERT INTO here VALUES (2)");
    if output.status.success() { Ok(()) } else { Err(stderr(&output)) }
}

fn is_refused(server: &Server<'_>) {
    let refused = written(server).unwrap_err();
    assert!(refused.contains("cannot execute INSERT in a read-only transaction"), "{refused}");
    assert_eq!(server.sql("template1", "SHOW default_transaction_read_only"), "on");
}

fn is_taken(server: &Server<'_>) {
    assert_eq!(written(server), Ok(()));
    assert_eq!(server.sql("template1", "SHOW default_transaction_read_only"), "off");
}

fn closed_and_opened(from: &str, to: &str) {
    let pair = Pair::new(&format!("read-only-{from}"), from, to);
    let old = pair.old.serve();
    fill(&old);
    is_taken(&old);
    let new = pair.empty();
    let first = pair.upgraded(&[]);
    assert!(!may_read(&old));
    is_refused(&old);
    assert_eq!(new.sql("template1", "SHOW default_transaction_read_only"), "off");
    // The container, and then the pod, starts again.
    old.stop();
    let old = pair.old.start();
    is_refused(&old);
    old.stop();
    assert_eq!(pair.old.prepared(&[])["access"], "closed");
    let old = pair.old.start();
    is_refused(&old);
    let again = pair.upgraded(&[]);
    assert_eq!((&again["reused"], &again["copiedAt"]), (&true.into(), &first["copiedAt"]));
    // The operator allows clients, over a connection or by the pod's arguments.
    pair.open_old(&old);
    is_taken(&old);
    drop(new);
    let _new = pair.empty();
    pair.upgraded(&[]);
    is_refused(&old);
    old.stop();
    pair.old.prepared(&["--access", "open"]);
    let old = pair.old.start();
    assert!(may_read(&old));
    is_taken(&old);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn superusers_do_not_write_to_a_server_of_13_while_it_is_shut() {
    closed_and_opened("13", "15");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn superusers_do_not_write_to_a_server_of_15_while_it_is_shut() {
    closed_and_opened("15", "17");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_superuser_who_writes_after_the_copy_is_found() {
    let pair = Pair::new("late-write", "15", "17");
    let old = pair.old.serve();
    fill(&old);
    let _new = pair.empty();
    let first = pair.upgraded(&[]);
    assert!(first["nextTransaction"].as_u64() > Some(0), "{first}");
    let reused = || {
        let again = pair.upgraded(&[]);
        assert_eq!((&again["reused"], &again["copiedAt"]), (&true.into(), &first["copiedAt"]));
        again["nextTransaction"].as_u64()
    };
    // A transaction that changes nothing does no harm: autovacuum has them, too.
    old.sql("postgres", "SET transaction_read_only = off; SELECT txid_current()");
    let next = reused();
    assert!(next > first["nextTransaction"].as_u64());
    assert!(reused() >= next);
    let mut open = old.client("boss", PASSWORD, "app").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = open.stdin.take().unwrap();
    writeln!(input, "BEGIN READ WRITE; INSERT INTO acks VALUES (8);").unwrap();
    let writing = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL";
    while old.sql("postgres", writing) == "0" {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(pair.fails(&[]), ("CountMismatch".into(), true.into()));
    assert!(pair.new.reason().1.contains("has a transaction open"), "{}", pair.new.reason().1);
    writeln!(input, "COMMIT;").unwrap();
    drop(input);
    assert!(open.wait().unwrap().success());
    assert_eq!(pair.fails(&[]), ("CountMismatch".into(), true.into()));
    assert!(pair.new.reason().1.contains("a superuser wrote to the source server"), "{}", pair.new.reason().1);
    // A database that was created since is found, too.
    old.sql("app", "SET transaction_read_only = off; DELETE FROM acks WHERE n = 8");
    reused();
    let mut created = old.client("boss", PASSWORD, "template1");
    let created =
        created.env("PGOPTIONS", "-c default_transaction_read_only=off").args(["-c", "CREATE DATABASE late"]).output();
    assert!(created.unwrap().status.success());
    assert_eq!(pair.fails(&[]), ("CountMismatch".into(), true.into()));
}
