//! `agent pg-finish`, and what `agent pg-prepare` and `agent pg-run` do for a server that lost its password or its rules.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::support::{PASSWORD, Place};

#[test]
#[ignore = "scripts/test --all servers"]
fn extensions_come_to_the_version_of_the_image() {
    let place = Place::new("finish");
    let server = place.serve();
    server.fill();
    server.sql("app", "CREATE EXTENSION hstore VERSION '1.4'; CREATE TABLE t AS SELECT 1 AS a");
    server.sql("postgres", "ALTER DATABASE app SET default_transaction_read_only = on");
    let result = place.run(&["pg-finish"]);
    assert_eq!((&result["extensions"], &result["analyzed"]), (&1.into(), &0.into()));
    assert_eq!(server.sql("app", "SELECT extversion > '1.4' FROM pg_extension WHERE extname = 'hstore'"), "t");
    server.sql("postgres", "ALTER DATABASE app RESET default_transaction_read_only");
    // A version from which no way leads on: the others are done all the same.
    server.sql("app", "UPDATE pg_extension SET extversion = '0.0' WHERE extname = 'citext'");
    server.sql("app", "DROP EXTENSION hstore; CREATE EXTENSION hstore VERSION '1.4'");
    let result = place.run(&["pg-finish", "--major", "--jobs", "2"]);
    assert_eq!((&result["extensions"], &result["analyzed"]), (&1.into(), &3.into()));
    let warning = result["warnings"][0].as_str().unwrap();
    assert!(warning.contains("database app: extension citext stays at 0.0 instead of "), "{result}");
    assert_eq!(result["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(server.sql("app", "SELECT reltuples FROM pg_class WHERE relname = 't'"), "1");
    // Since version 15 a database knows by which rules of the library its indexes were sorted.
    if place.major() < "15" {
        return;
    }
    server.sql("postgres", "UPDATE pg_database SET datcollversion = '0.1' WHERE datname = 'app'");
    let result = place.run(&["pg-finish"]);
    assert!(result["warnings"].to_string().contains("REINDEX DATABASE"), "{result}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_lost_password_is_set_before_the_start() {
    let place = Place::new("lost");
    let server = place.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT 7 AS a");
    assert_eq!(place.prepare_fails(&["--reset-password", "--lock-timeout", "0"]).0, "DataInUse");
    server.sql("postgres", "ALTER ROLE boss PASSWORD 'forgotten' VALID UNTIL '2001-01-01'");
    // Not stopped: what was written is still to be recovered.
    let mut server = server;
    server.kill();
    assert_eq!(place.prepared(&["--reset-password", "--run-dir", &place.text("")])["passwordSet"], true);
    assert_eq!(place.prepared(&["--reset-password"])["passwordSet"], false);
    let server = place.start();
    assert_eq!(server.sql("postgres", "SELECT a FROM t"), "7");
    assert!(!server.psql("boss", "forgotten", "postgres", "SELECT 1").status.success());
    server.stop();
    // New data has the password anyway.
    assert_eq!(place.prepared(&[])["passwordSet"], false);
    let arguments = place.prepare(&["--reset-password"]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let output = place.agent(&arguments).env("PGPASSWORD", "").output().unwrap();
    assert_eq!((output.status.code(), place.reason().0.as_str()), (Some(1), "BadPassword"));
    // One beyond ASCII is compared as clients send it.
    let other = "pa\u{df}wort\u{a0}";
    for set in [true, false] {
        let output = place.agent(&arguments).env("PGPASSWORD", other).output().unwrap();
        assert!(output.status.success() && !String::from_utf8_lossy(&output.stderr).contains(other));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["passwordSet"], set);
    }
    let server = place.start_as(other);
    assert!(!server.psql("boss", PASSWORD, "postgres", "SELECT 1").status.success());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_alter_system_changed_holds_until_the_next_start() {
    let place = Place::new("overrides");
    let server = place.serve();
    server.sql("postgres", "ALTER SYSTEM SET work_mem = '9MB'");
    server.sql("postgres", "ALTER SYSTEM SET shared_buffers = '7TB'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "9MB");
    server.stop();
    place.prepared(&["--reset-password"]);
    let server = place.start();
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "4MB");
    // The server itself can still write there.
    server.sql("postgres", "ALTER SYSTEM SET work_mem = '8MB'");
    assert!(fs::read_to_string(place.path("volume/data/postgresql.auto.conf")).unwrap().contains("work_mem = '8MB'"));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn rules_that_are_not_whole_are_closed() {
    let place = Place::new("rules");
    place.prepared(&["--initialise"]);
    let rules = place.path("volume/data/pg_hba.conf");
    let whole = fs::read_to_string(&rules).unwrap();
    for part in [0, 10, whole.len() / 2, whole.len() - 20] {
        // The container starts again, and its pod's init steps do not.
        fs::write(&rules, &whole[..part]).unwrap();
        let server = place.start();
        assert_eq!(server.sql("postgres", "SELECT 1"), "1");
        assert!(fs::read_to_string(&rules).unwrap().starts_with("# multi-operator: closed\n"));
        server.stop();
    }
}

/// Whom a security guide had the superuser locked out, or another one who has renamed it: nobody can undo that over a connection.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_superuser_who_was_shut_out_is_let_in_before_the_start() {
    let place = Place::new("shut-out");
    let server = place.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT 7 AS a; CREATE ROLE other SUPERUSER LOGIN PASSWORD 'x'");
    server.sql("postgres", "ALTER DATABASE template1 SET default_transaction_read_only = on");
    let (renamed, without) = ("ALTER ROLE boss RENAME TO former", "ALTER ROLE boss PASSWORD NULL");
    let mut ways = vec![without, "ALTER ROLE boss NOLOGIN", renamed];
    // The bootstrap superuser keeps its right from version 16 on.
    if place.major() < "16" {
        ways.insert(0, "ALTER ROLE boss NOSUPERUSER");
    }
    let mut server = server;
    for way in ways {
        let output = server.psql("other", "x", "postgres", way);
        assert!(output.status.success(), "{way}: {output:?}");
        server.kill();
        let result = place.prepared(&["--reset-password", "--run-dir", &place.text("")]);
        // Nor has a role that is made anew one.
        assert_eq!(result["passwordSet"], way == without || way == renamed, "{way}");
        server = place.start();
        assert_eq!(server.sql("postgres", "SELECT a FROM t"), "7", "{way}");
        assert_eq!(server.sql("postgres", "SELECT rolsuper FROM pg_roles WHERE rolname = 'boss'"), "t");
    }
}
