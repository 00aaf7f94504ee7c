//! `agent pg-prepare` and `agent pg-run`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Fixture, PASSWORD, kill_group, stderr};

#[test]
#[ignore = "scripts/test --all servers"]
fn a_database_is_created_once() {
    let fixture = Fixture::new("prepare");
    let first = fixture.prepared(&["--initialise", "--owner", "uid-1"]);
    assert_eq!(first["initialised"], true);
    assert!(first["version"].as_str().unwrap().starts_with(fixture.major()), "{first}");
    let identifier = first["systemIdentifier"].as_str().unwrap();
    // The manager was killed before it had recorded the number.
    let again = fixture.prepared(&["--initialise", "--owner", "uid-1"]);
    assert_eq!((&again["initialised"], &again["systemIdentifier"]), (&false.into(), &first["systemIdentifier"]));
    fs::set_permissions(fixture.path("volume/data"), fs::Permissions::from_mode(0o2770)).unwrap();
    fixture.prepared(&["--system-identifier", identifier]);
    assert_eq!(fs::metadata(fixture.path("volume/data")).unwrap().permissions().mode() & 0o777, 0o700);
    let conf = fs::read_to_string(fixture.path("volume/data/postgresql.conf")).unwrap();
    assert_eq!(conf.matches("include_dir = ").count() - conf.matches("#include_dir = ").count(), 1);

    let server = fixture.start();
    assert_eq!(server.sql("postgres", "SHOW data_checksums"), "on");
    assert_eq!(server.sql("postgres", "SELECT datcollate FROM pg_database WHERE datname = 'template1'"), "C.UTF-8");
    assert_eq!(
        server.sql("postgres", "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'boss'"),
        "t"
    );
    assert!(!server.psql("boss", "wrong", "postgres", "SELECT 1").status.success());
    server.stop();
}

#[test]
#[ignore = "scripts/test --all servers"]
fn nothing_is_created_over_existing_files_or_without_request() {
    let fixture = Fixture::new("foreign");
    assert_eq!(fixture.prepare_fails(&[]).0, "DataMissing");
    assert_eq!(fixture.prepare_fails(&["--system-identifier", "7"]).0, "DataMissing");
    let output = fixture.agent(&fixture.prepare(&[]).iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));

    fs::create_dir_all(fixture.path("volume/data")).unwrap();
    fs::write(fixture.path("volume/data/photo.jpg"), "").unwrap();
    let (reason, message) = fixture.prepare_fails(&["--initialise"]);
    assert_eq!(reason, "ForeignData");
    assert!(message.contains("photo.jpg"), "{message}");
    assert!(fixture.path("volume/data/photo.jpg").exists());
    fs::remove_dir_all(fixture.path("volume/data")).unwrap();

    fixture.prepared(&["--initialise", "--owner", "uid-1"]);
    assert_eq!(fixture.prepare_fails(&["--system-identifier", "7"]).0, "ForeignData");
    assert_eq!(fixture.prepare_fails(&["--initialise", "--owner", "uid-2"]).0, "ForeignData");
    let mut arguments = fixture.prepare(&[]);
    arguments[4] = "12".into();
    assert_eq!(fixture.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).0, "WrongMajor");
    let control = fixture.path("volume/data/global/pg_control");
    let mut bytes = fs::read(&control).unwrap();
    bytes[100] ^= 1;
    fs::write(&control, &bytes).unwrap();
    assert_eq!(fixture.prepare_fails(&[]).0, "DataCorrupt");
    fs::remove_file(&control).unwrap();
    assert_eq!(fixture.prepare_fails(&["--initialise", "--owner", "uid-1"]).0, "DataCorrupt");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn killed_half_way_it_begins_again() {
    let fixture = Fixture::new("killed");
    let arguments = fixture.prepare(&["--initialise"]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    for moment in [20, 150, 400, 700] {
        let mut child = fixture.agent(&arguments).process_group(0).spawn().unwrap();
        thread::sleep(Duration::from_millis(moment));
        let ended = child.try_wait().unwrap().is_some();
        kill_group(child);
        assert_eq!(fixture.path("volume/data").exists(), fixture.path("volume/data/PG_VERSION").exists());
        if ended {
            break;
        }
    }
    fixture.prepared(&["--initialise"]);
    assert!(!fixture.path("volume/data.initdb").exists());
    let server = fixture.start();
    assert_eq!(server.sql("postgres", "SELECT 1"), "1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_superuser_needs_a_password() {
    let fixture = Fixture::new("password");
    for wrong in ["", "a\nb"] {
        let arguments = fixture.prepare(&["--initialise"]);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = fixture.agent(&arguments).env("PGPASSWORD", wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(fixture.reason().0, "BadPassword");
    }
    assert!(!fixture.path("volume/data").exists());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_new_superuser_may_have_a_password_beyond_ascii() {
    let fixture = Fixture::new("prepare-password");
    let password = "p\u{e4}\u{df}wort '\\ \u{1f600}\u{a0}";
    let arguments = fixture.prepare(&["--initialise"]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let output = fixture.agent(&arguments).env("PGPASSWORD", password).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let server = fixture.start_as(password);
    let stored = "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'boss'";
    assert_eq!(server.psql("boss", password, "postgres", stored).stdout, b"t\n");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn closed_is_for_the_superuser() {
    let fixture = Fixture::new("closed");
    fixture.prepared(&["--initialise"]);
    let server = fixture.start();
    server.sql("postgres", "CREATE ROLE other LOGIN PASSWORD 'x'");
    assert!(server.psql("other", "x", "postgres", "SELECT 1").status.success());
    // The operator replaces the file over a connection, and a restart keeps that.
    let rules = fixture.text("volume/data/pg_hba.conf");
    let lines = "SELECT regexp_split_to_table(trim(pg_read_file('pg_hba.closed.conf')), chr(10))";
    server.sql("postgres", &format!("COPY ({lines}) TO '{rules}'"));
    server.sql("postgres", "SELECT pg_reload_conf()");
    server.stop();
    fixture.prepared(&[]);
    let server = fixture.start();
    let refused = server.psql("other", "x", "postgres", "SELECT 1");
    assert!(stderr(&refused).contains("no pg_hba.conf entry"), "{refused:?}");
    server.stop();
    fixture.prepared(&["--access", "open"]);
    let server = fixture.start();
    assert!(server.psql("other", "x", "postgres", "SELECT 1").status.success());
    server.stop();
    // Power was lost while it was replaced.
    std::fs::write(fixture.path("volume/data/pg_hba.conf"), "").unwrap();
    assert_eq!(fixture.prepared(&[])["access"], "closed");
    assert_eq!(fixture.prepared(&["--access", "open"])["access"], "open");
    assert_eq!(fixture.prepared(&[])["access"], "open");
    fixture.prepared(&["--closed"]);
    let server = fixture.start();
    assert!(!server.psql("other", "x", "postgres", "SELECT 1").status.success());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn one_server_at_a_time() {
    let fixture = Fixture::new("lock");
    let mut server = fixture.serve();
    assert_eq!(fixture.prepare_fails(&["--lock-timeout", "0"]).0, "DataInUse");
    let data = fixture.text("volume/data");
    assert_eq!(fixture.fails(&["pg-run", "--pgdata", &data, "--lock-timeout", "1"]).0, "DataInUse");
    // The postmaster alone is killed; a process of its that goes on still writes.
    server.sql("postgres", "SELECT 1");
    let since = Instant::now();
    server.kill();
    fixture.prepared(&["--lock-timeout", "20"]);
    assert!(since.elapsed() < Duration::from_secs(20));
    let server = fixture.start();
    assert!(server.sql("postgres", "SELECT count(*) FROM pg_stat_activity").parse::<u32>().unwrap() > 0);
    let environment = fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
    assert!(!environment.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_volume_is_reported() {
    let fixture = Fixture::new("full");
    let volume = fixture.path("volume");
    fs::create_dir(&volume).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=20m,mode=777", "tmpfs"]).arg(&volume).status();
    assert!(mounted.unwrap().success());
    let outcome = std::panic::catch_unwind(|| fixture.prepare_fails(&["--initialise"]));
    let left = fixture.path("volume/data.initdb").exists();
    Command::new("umount").arg(&volume).status().unwrap();
    assert_eq!(outcome.unwrap().0, "NoSpace");
    assert!(!left);
}
