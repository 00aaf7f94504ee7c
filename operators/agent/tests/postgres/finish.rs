//! `agent pg-finish`, and what `agent pg-prepare` and `agent pg-run` do for a server that lost its password or its rules.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::support::{Fixture, PASSWORD};

#[test]
#[ignore = "scripts/test --all servers"]
fn extensions_come_to_the_version_of_the_image() {
    let fixture = Fixture::new("finish");
    let server = fixture.serve();
    server.fill();
    server.sql("app", "CREATE EXTENSION hstore VERSION '1.4'; CREATE TABLE t AS SELECT 1 AS a");
    server.sql("postgres", "ALTER DATABASE app SET default_transaction_read_only = on");
    let result = fixture.run(&["pg-finish"]);
    assert_eq!((&result["extensions"], &result["analyzed"]), (&1.into(), &0.into()));
    assert_eq!(server.sql("app", "SELECT extversion > '1.4' FROM pg_extension WHERE extname = 'hstore'"), "t");
    server.sql("postgres", "ALTER DATABASE app RESET default_transaction_read_only");
    // A version from which no way leads on: the others are done all the same.
    server.sql("app", "UPDATE pg_extension SET extversion = '0.0' WHERE extname = 'citext'");
    server.sql("app", "DROP EXTENSION hstore; CREATE EXTENSION hstore VERSION '1.4'");
    let result = fixture.run(&["pg-finish", "--major", "--jobs", "2"]);
    assert_eq!((&result["extensions"], &result["analyzed"]), (&1.into(), &3.into()));
    let warning = result["warnings"][0].as_str().unwrap();
    assert!(warning.contains("database app: extension citext stays at 0.0 instead of "), "{result}");
    assert_eq!(result["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(server.sql("app", "SELECT reltuples FROM pg_class WHERE relname = 't'"), "1");
    // Since version 15 a database knows by which rules of the library its indexes were sorted.
    if fixture.major() < "15" {
        return;
    }
    server.sql("postgres", "UPDATE pg_database SET datcollversion = '0.1' WHERE datname = 'app'");
    let result = fixture.run(&["pg-finish"]);
    assert!(result["warnings"].to_string().contains("REINDEX DATABASE"), "{result}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_lost_password_is_set_before_the_start() {
    let fixture = Fixture::new("lost");
    let server = fixture.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT 7 AS a");
    assert_eq!(fixture.prepare_fails(&["--reset-password", "--lock-timeout", "0"]).0, "DataInUse");
    server.sql("postgres", "ALTER ROLE boss PASSWORD 'forgotten' VALID UNTIL '2001-01-01'");
    // Not stopped: what was written is still to be recovered.
    let mut server = server;
    server.kill();
    assert_eq!(fixture.prepared(&["--reset-password", "--run-dir", &fixture.text("")])["passwordSet"], true);
    assert_eq!(fixture.prepared(&["--reset-password"])["passwordSet"], false);
    let server = fixture.start();
    assert_eq!(server.sql("postgres", "SELECT a FROM t"), "7");
    assert!(!server.psql("boss", "forgotten", "postgres", "SELECT 1").status.success());
    server.stop();
    // New data has the password anyway.
    assert_eq!(fixture.prepared(&[])["passwordSet"], false);
    let arguments = fixture.prepare(&["--reset-password"]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let output = fixture.agent(&arguments).env("PGPASSWORD", "").output().unwrap();
    assert_eq!((output.status.code(), fixture.reason().0.as_str()), (Some(1), "BadPassword"));
    // One beyond ASCII is compared as clients send it.
    let other = "pa\u{df}wort\u{a0}";
    for set in [true, false] {
        let output = fixture.agent(&arguments).env("PGPASSWORD", other).output().unwrap();
        assert!(output.status.success() && !String::from_utf8_lossy(&output.stderr).contains(other));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["passwordSet"], set);
    }
    let server = fixture.start_as(other);
    assert!(!server.psql("boss", PASSWORD, "postgres", "SELECT 1").status.success());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_alter_system_changed_holds_until_the_next_start() {
    let fixture = Fixture::new("overrides");
    let server = fixture.serve();
    server.sql("postgres", "ALTER SYSTEM SET work_mem = '9MB'");
    server.sql("postgres", "ALTER SYSTEM SET shared_buffers = '7TB'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "9MB");
    server.stop();
    fixture.prepared(&["--reset-password"]);
    let server = fixture.start();
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "4MB");
    // The server itself can still write there.
    server.sql("postgres", "ALTER SYSTEM SET work_mem = '8MB'");
    assert!(fs::read_to_string(fixture.path("volume/data/postgresql.auto.conf")).unwrap().contains("work_mem = '8MB'"));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn rules_that_are_not_whole_are_closed() {
    let fixture = Fixture::new("rules");
    fixture.prepared(&["--initialise"]);
    let rules = fixture.path("volume/data/pg_hba.conf");
    let complete = fs::read_to_string(&rules).unwrap();
    for part in [0, 10, complete.len() / 2, complete.len() - 20] {
        // The container starts again, and its pod's init steps do not.
        fs::write(&rules, &complete[..part]).unwrap();
        let server = fixture.start();
        assert_eq!(server.sql("postgres", "SELECT 1"), "1");
        assert!(fs::read_to_string(&rules).unwrap().starts_with("# multi-operator: closed\n"));
        server.stop();
    }
}

/// An administrator has locked out the superuser, or another superuser has renamed it: no connection can undo that.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_superuser_who_was_locked_out_is_admitted_before_the_start() {
    let fixture = Fixture::new("shut-out");
    let server = fixture.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT 7 AS a; CREATE ROLE other SUPERUSER LOGIN PASSWORD 'x'");
    server.sql("postgres", "ALTER DATABASE template1 SET default_transaction_read_only = on");
    let (renamed, without) = ("ALTER ROLE boss RENAME TO former", "ALTER ROLE boss PASSWORD NULL");
    let mut ways = vec![without, "ALTER ROLE boss NOLOGIN", renamed];
    // The bootstrap superuser keeps its right from version 16 on.
    if fixture.major() < "16" {
        ways.insert(0, "ALTER ROLE boss NOSUPERUSER");
    }
    let mut server = server;
    for way in ways {
        let output = server.psql("other", "x", "postgres", way);
        assert!(output.status.success(), "{way}: {output:?}");
        server.kill();
        let result = fixture.prepared(&["--reset-password", "--run-dir", &fixture.text("")]);
        // Nor does a role that is created again have one.
        assert_eq!(result["passwordSet"], way == without || way == renamed, "{way}");
        server = fixture.start();
        assert_eq!(server.sql("postgres", "SELECT a FROM t"), "7", "{way}");
        assert_eq!(server.sql("postgres", "SELECT rolsuper FROM pg_roles WHERE rolname = 'boss'"), "t");
    }
}
