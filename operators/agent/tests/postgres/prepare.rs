//! `agent pg-prepare` and `agent pg-run`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{PASSWORD, Place, kill_group, stderr};

#[test]
#[ignore = "scripts/test --all servers"]
fn a_database_is_made_once() {
    let place = Place::new("prepare");
    let first = place.prepared(&["--initialise", "--owner", "uid-1"]);
    assert_eq!(first["initialised"], true);
    assert!(first["version"].as_str().unwrap().starts_with(place.major()), "{first}");
    let identifier = first["systemIdentifier"].as_str().unwrap();
    // The manager was killed before it had noted the number.
    let again = place.prepared(&["--initialise", "--owner", "uid-1"]);
    assert_eq!((&again["initialised"], &again["systemIdentifier"]), (&false.into(), &first["systemIdentifier"]));
    fs::set_permissions(place.path("volume/data"), fs::Permissions::from_mode(0o2770)).unwrap();
    place.prepared(&["--system-identifier", identifier]);
    assert_eq!(fs::metadata(place.path("volume/data")).unwrap().permissions().mode() & 0o777, 0o700);
    let conf = fs::read_to_string(place.path("volume/data/postgresql.conf")).unwrap();
    assert_eq!(conf.matches("include_dir = ").count() - conf.matches("#include_dir = ").count(), 1);

    let server = place.start();
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
fn nothing_is_made_over_something_or_unasked() {
    let place = Place::new("foreign");
    assert_eq!(place.prepare_fails(&[]).0, "DataMissing");
    assert_eq!(place.prepare_fails(&["--system-identifier", "7"]).0, "DataMissing");
    let output = place.agent(&place.prepare(&[]).iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));

    fs::create_dir_all(place.path("volume/data")).unwrap();
    fs::write(place.path("volume/data/photo.jpg"), "").unwrap();
    let (reason, message) = place.prepare_fails(&["--initialise"]);
    assert_eq!(reason, "ForeignData");
    assert!(message.contains("photo.jpg"), "{message}");
    assert!(place.path("volume/data/photo.jpg").exists());
    fs::remove_dir_all(place.path("volume/data")).unwrap();

    place.prepared(&["--initialise", "--owner", "uid-1"]);
    assert_eq!(place.prepare_fails(&["--system-identifier", "7"]).0, "ForeignData");
    assert_eq!(place.prepare_fails(&["--initialise", "--owner", "uid-2"]).0, "ForeignData");
    let mut arguments = place.prepare(&[]);
    arguments[4] = "12".into();
    assert_eq!(place.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).0, "WrongMajor");
    let control = place.path("volume/data/global/pg_control");
    let mut bytes = fs::read(&control).unwrap();
    bytes[100] ^= 1;
    fs::write(&control, &bytes).unwrap();
    assert_eq!(place.prepare_fails(&[]).0, "DataCorrupt");
    fs::remove_file(&control).unwrap();
    assert_eq!(place.prepare_fails(&["--initialise", "--owner", "uid-1"]).0, "DataCorrupt");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn killed_half_way_it_begins_anew() {
    let place = Place::new("killed");
    let arguments = place.prepare(&["--initialise"]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    for moment in [20, 150, 400, 700] {
        let mut child = place.agent(&arguments).process_group(0).spawn().unwrap();
        thread::sleep(Duration::from_millis(moment));
        let ended = child.try_wait().unwrap().is_some();
        kill_group(child);
        assert_eq!(place.path("volume/data").exists(), place.path("volume/data/PG_VERSION").exists());
        if ended {
            break;
        }
    }
    place.prepared(&["--initialise"]);
    assert!(!place.path("volume/data.initdb").exists());
    let server = place.start();
    assert_eq!(server.sql("postgres", "SELECT 1"), "1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_superuser_needs_a_password() {
    let place = Place::new("password");
    for wrong in ["", "a\nb"] {
        let arguments = place.prepare(&["--initialise"]);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = place.agent(&arguments).env("PGPASSWORD", wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(place.reason().0, "BadPassword");
    }
    assert!(!place.path("volume/data").exists());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_new_superuser_may_have_a_password_beyond_ascii() {
    let place = Place::new("prepare-password");
    let password = "p\u{e4}\u{df}wort '\\ \u{1f600}\u{a0}";
    let arguments = place.prepare(&["--initialise"]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let output = place.agent(&arguments).env("PGPASSWORD", password).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let server = place.start_as(password);
    let stored = "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'boss'";
    assert_eq!(server.psql("boss", password, "postgres", stored).stdout, b"t\n");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn closed_is_for_the_superuser() {
    let place = Place::new("closed");
    place.prepared(&["--initialise"]);
    let server = place.start();
    server.sql("postgres", "CREATE ROLE other LOGIN PASSWORD 'x'");
    assert!(server.psql("other", "x", "postgres", "SELECT 1").status.success());
    // The operator replaces the file over a connection, and a restart keeps that.
    let rules = place.text("volume/data/pg_hba.conf");
    let lines = "SELECT regexp_split_to_table(trim(pg_read_file('pg_hba.closed.conf')), chr(10))";
    server.sql("postgres", &format!("COPY ({lines}) TO '{rules}'"));
    server.sql("postgres", "SELECT pg_reload_conf()");
    server.stop();
    place.prepared(&[]);
    let server = place.start();
    let refused = server.psql("other", "x", "postgres", "SELECT 1");
    assert!(stderr(&refused).contains("no pg_hba.conf entry"), "{refused:?}");
    server.stop();
    place.prepared(&["--access", "open"]);
    let server = place.start();
    assert!(server.psql("other", "x", "postgres", "SELECT 1").status.success());
    server.stop();
    // Power was lost while it was replaced.
    std::fs::write(place.path("volume/data/pg_hba.conf"), "").unwrap();
    assert_eq!(place.prepared(&[])["access"], "closed");
    assert_eq!(place.prepared(&["--access", "open"])["access"], "open");
    assert_eq!(place.prepared(&[])["access"], "open");
    place.prepared(&["--closed"]);
    let server = place.start();
    assert!(!server.psql("other", "x", "postgres", "SELECT 1").status.success());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn one_server_at_a_time() {
    let place = Place::new("lock");
    let mut server = place.serve();
    assert_eq!(place.prepare_fails(&["--lock-timeout", "0"]).0, "DataInUse");
    let data = place.text("volume/data");
    assert_eq!(place.fails(&["pg-run", "--pgdata", &data, "--lock-timeout", "1"]).0, "DataInUse");
    // The postmaster alone is killed; a process of its that goes on still writes.
    server.sql("postgres", "SELECT 1");
    let since = Instant::now();
    server.kill();
    place.prepared(&["--lock-timeout", "20"]);
    assert!(since.elapsed() < Duration::from_secs(20));
    let server = place.start();
    assert!(server.sql("postgres", "SELECT count(*) FROM pg_stat_activity").parse::<u32>().unwrap() > 0);
    let environment = fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
    assert!(!environment.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_volume_is_told() {
    let place = Place::new("full");
    let volume = place.path("volume");
    fs::create_dir(&volume).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=20m,mode=777", "tmpfs"]).arg(&volume).status();
    assert!(mounted.unwrap().success());
    let outcome = std::panic::catch_unwind(|| place.prepare_fails(&["--initialise"]));
    let left = place.path("volume/data.initdb").exists();
    Command::new("umount").arg(&volume).status().unwrap();
    assert_eq!(outcome.unwrap().0, "NoSpace");
    assert!(!left);
}
