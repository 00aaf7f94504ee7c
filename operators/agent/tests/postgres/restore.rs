//! `agent pg-restore`: from one server into another.

use std::fs;
use std::os::unix::process::CommandExt;
use std::thread;
use std::time::Duration;

use crate::contents::ROWS;
use crate::support::{Fixture, signal};

fn moved(from: &Fixture, to: &Fixture) -> String {
    let status = std::process::Command::new("cp").arg("-a").arg(from.path("snapshots")).arg(&to.directory).status();
    assert!(status.unwrap().success());
    to.text("snapshots/one")
}

#[test]
#[ignore = "scripts/test --all servers"]
fn all_comes_back() {
    let (old, new) = (Fixture::new("old"), Fixture::new("new"));
    let source = old.serve();
    source.fill();
    source.sql("postgres", "ALTER DATABASE app SET work_mem = '7MB'; ALTER ROLE reader SET lock_timeout = '9s'");
    old.dump("one", &[]);
    let target = new.serve();
    let snapshot = moved(&old, &new);
    let result = new.run(&["pg-restore", "--snapshot", &snapshot, "--jobs", "2"]);
    assert_eq!((&result["rows"], &result["databases"], &result["reused"]), (&ROWS.into(), &1.into(), &false.into()));
    target.check_contents();
    assert_eq!(target.sql("app", "SHOW work_mem"), "7MB");
    assert_eq!(target.sql("app", "SELECT rolconfig FROM pg_roles WHERE rolname = 'reader'"), "{lock_timeout=9s}");
    assert_eq!(target.sql("app", "SELECT pg_has_role('o\"dd', 'reader', 'MEMBER')"), "t");
    assert_eq!(target.sql("app", "SELECT reltuples FROM pg_class WHERE relname = 'hidden'"), "1000");
    assert!(!new.log().contains("SCRAM"), "{}", new.log());
    // Later writes must stay.
    target.sql("app", "INSERT INTO words VALUES ('new')");
    assert_eq!(new.run(&["pg-restore", "--snapshot", &snapshot])["reused"], true);
    assert_eq!(target.sql("app", "SELECT count(*) FROM words"), "2");
    target.sql("postgres", "DELETE FROM multi_operator.restore");
    assert_eq!(new.fails(&["pg-restore", "--snapshot", &snapshot, "--database", "app"]).0, "TargetNotEmpty");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_role_that_is_there_keeps_its_password() {
    let (old, new) = (Fixture::new("old-role"), Fixture::new("new-role"));
    let source = old.serve();
    source.fill();
    old.dump("one", &["--database", "app"]);
    let target = new.serve();
    target.sql("postgres", "CREATE ROLE reader LOGIN PASSWORD 'new'");
    // An empty database of the name is what pg-init makes.
    target.sql("postgres", "CREATE DATABASE app OWNER reader");
    let snapshot = moved(&old, &new);
    new.run(&["pg-restore", "--snapshot", &snapshot]);
    assert!(target.psql("reader", "new", "app", "SELECT 1").status.success());
    assert!(!target.psql("reader", "reader's", "app", "SELECT 1").status.success());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_restore_that_was_killed_begins_again() {
    let (old, new) = (Fixture::new("old-killed"), Fixture::new("new-killed"));
    let source = old.serve();
    source.fill();
    source.sql("app", "CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 200000) n");
    old.dump("one", &["--database", "app"]);
    let target = new.serve();
    let snapshot = moved(&old, &new);
    let mut child = new.agent(&["pg-restore", "--snapshot", &snapshot]).spawn().unwrap();
    let there = "SELECT count(*) FROM pg_database WHERE datname = 'app'";
    while target.sql("postgres", there) == "0" {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(100));
    for pid in fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap().split(' ') {
        signal("-KILL", pid);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(target.sql("postgres", "SELECT finished FROM multi_operator.restore WHERE database = 'app'"), "f");
    assert_eq!(new.run(&["pg-restore", "--snapshot", &snapshot])["rows"], ROWS + 200_000);
    target.check_contents();
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_snapshot_does_not_go_back() {
    let fixture = Fixture::new("newer");
    let server = fixture.serve();
    server.fill();
    fixture.dump("one", &["--database", "app"]);
    let manifest = fixture.path("snapshots/one/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let line = text.lines().find(|line| line.contains("engineVersion")).unwrap();
    fs::write(&manifest, text.replace(line, "  \"engineVersion\": \"99.1\",")).unwrap();
    let (reason, message) = fixture.fails(&["pg-restore", "--snapshot", &fixture.text("snapshots/one")]);
    assert_eq!(reason, "NewerSnapshot");
    assert!(message.contains("PostgreSQL 99.1"), "{message}");
    server.check_contents();
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_database_gets_another_name() {
    let (old, new) = (Fixture::new("old-name"), Fixture::new("new-name"));
    let source = old.serve();
    source.fill();
    source.sql("postgres", "ALTER DATABASE app SET work_mem = '7MB'");
    old.dump("one", &[]);
    let target = new.serve();
    let snapshot = moved(&old, &new);
    let restore = ["pg-restore", "--snapshot", &snapshot, "--as", "shop"];
    assert_eq!(new.fails(&restore).0, "BadInput");
    let restore = [&restore[..], &["--database", "app"]].concat();
    target.sql("postgres", "CREATE DATABASE app");
    target.sql("app", "CREATE TABLE t (a int)");
    assert_eq!(new.fails(&restore).0, "TargetNotEmpty");
    target.sql("postgres", "DROP DATABASE app");
    target.sql("postgres", "CREATE DATABASE shop");
    target.sql("shop", "CREATE TABLE t (a int)");
    assert_eq!(new.fails(&restore).0, "TargetNotEmpty");
    target.sql("shop", "DROP TABLE t");
    let mut killed = 0;
    for moment in [100, 200, 300, 400, 500] {
        let mut child = { new.agent(&restore) }.process_group(0).spawn().unwrap();
        thread::sleep(Duration::from_millis(moment));
        killed += u32::from(child.try_wait().unwrap().is_none());
        signal("-KILL", &format!("-{}", child.id()));
        child.wait().unwrap();
    }
    assert!(killed > 0);
    new.run(&restore);
    assert_eq!(target.sql("shop", "SELECT count(*) FROM mine.hidden"), "1000");
    let about = "SELECT pg_get_userbyid(datdba) || ' ' || datname FROM pg_database WHERE datname IN ('app', 'shop')";
    assert_eq!(target.sql("postgres", about), "reader shop");
    assert_eq!(target.sql("shop", "SHOW work_mem"), "7MB");
    assert!(target.psql("reader", "reader's", "shop", "SELECT 1").status.success());
    target.sql("shop", "INSERT INTO words VALUES ('new')");
    assert_eq!(new.run(&restore)["reused"], true);
    // Under its own name it is another database.
    new.run(&["pg-restore", "--snapshot", &snapshot, "--database", "app"]);
    target.check_contents();
    assert_eq!(target.sql("shop", "SELECT count(*) FROM words"), "2");
    assert_eq!(new.fails(&[&restore[..4], &["other", "--database", "app"]].concat()).0, "TargetNotEmpty");
}
