//! `agent pg-dump`, `agent pg-basebackup`, `agent pg-prune`.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::contents::ROWS;
use crate::support::{PASSWORD, Place, signal, stderr};

#[test]
#[ignore = "scripts/test --all servers"]
fn a_snapshot_counts_what_it_holds() {
    let place = Place::new("dump");
    let server = place.serve();
    server.fill();
    let result = place.dump("one", &["--database", "app", "--jobs", "2"]);
    assert_eq!((&result["rows"], &result["tables"]), (&ROWS.into(), &4.into()), "{result}");
    assert_eq!(result["reused"], false);
    let manifest = fs::read_to_string(place.path("snapshots/one/manifest.json")).unwrap();
    assert!(manifest.contains("citext") && manifest.contains("Od'd\\nname"), "{manifest}");
    assert!(fs::read_to_string(place.path("snapshots/one/globals.sql")).unwrap().contains("SCRAM-SHA-256"));

    server.sql("app", "DELETE FROM words");
    let again = place.dump("one", &["--database", "app"]);
    assert_eq!((&again["reused"], &again["sha256"], &again["rows"]), (&true.into(), &result["sha256"], &ROWS.into()));
    fs::write(place.path("snapshots/one/globals.sql"), "").unwrap();
    let anew = place.dump("one", &["--database", "app"]);
    assert_eq!((&anew["reused"], &anew["rows"]), (&false.into(), &(ROWS - 1).into()));

    let to = place.text("snapshots/two");
    assert_eq!(place.fails(&["pg-dump", "--to", &to, "--database", "none"]).0, "DatabaseMissing");
    let output = place.agent(&["pg-dump", "--to", &to]).env("PGPASSWORD", "wrong").output().unwrap();
    assert_eq!((output.status.code(), place.reason().0.as_str()), (Some(1), "AuthenticationFailed"));
    let output = place.agent(&["pg-dump", "--to", &to, "--connect-timeout", "1"]).env("PGPORT", "1").output().unwrap();
    assert_eq!((output.status.code(), place.reason().0.as_str()), (Some(1), "ConnectionFailed"));
    assert!(!place.path("snapshots/two").exists() && !place.path("snapshots/two.partial").exists());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_dump_that_was_killed_is_made_anew() {
    let place = Place::new("dump-killed");
    let server = place.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT n, repeat(md5(n::text), 20) FROM generate_series(1, 100000) n");
    let to = place.text("snapshots/one");
    let mut child = place.agent(&["pg-dump", "--to", &to]).spawn().unwrap();
    while !place.path("snapshots/one.partial/database-0/toc.dat").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    for pid in fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap().split(' ') {
        signal("-KILL", pid);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("snapshots/one").exists());
    assert_eq!(place.dump("one", &[])["rows"], 100_000);
    assert!(!place.path("snapshots/one.partial").exists());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn data_without_a_server_is_dumped() {
    let place = Place::new("offline");
    let mut server = place.serve();
    server.fill();
    let data = place.text("volume/data");
    let offline = ["--offline", &data, "--run-dir", place.directory.to_str().unwrap(), "--lock-timeout", "1"];
    let to = place.text("snapshots/busy");
    assert_eq!(place.fails(&[&["pg-dump", "--to", &to], &offline[..]].concat()).0, "DataInUse");
    server.sql("app", "INSERT INTO words VALUES ('last')");
    server.kill();
    let of_another = [&["pg-dump", "--to", &to, "--system-identifier", "7"], &offline[..]].concat();
    assert_eq!(place.fails(&of_another).0, "ForeignData");
    let result = place.dump("dead", &[&["--database", "app"], &offline[..]].concat());
    assert_eq!(result["rows"], ROWS + 1);
    place.verified("dead", &[]);
    // It was stopped cleanly, and the data serves on.
    assert!(!place.path("volume/data/postmaster.pid").exists());
    place.prepared(&[]);
    let server = place.start();
    assert!(!place.log().contains("not properly shut down"), "{}", place.log());
    server.check_contents();
    server.stop();
    // The number of a process that is somebody else's by now: this test's.
    let lock = format!("{}\n{data}\n0\n5432\n\n\n  1 1\nready\n", std::process::id());
    fs::write(place.path("volume/data/postmaster.pid"), lock).unwrap();
    place.dump("stale", &[&["--database", "app"], &offline[..]].concat());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_volume_is_told() {
    let place = Place::new("dump-full");
    let server = place.serve();
    // What no compression makes small.
    server.sql("postgres", "CREATE TABLE t AS SELECT md5(n::text)::uuid u FROM generate_series(1, 200000) n");
    let volume = place.path("snapshots");
    fs::create_dir(&volume).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs"]).arg(&volume).status();
    assert!(mounted.unwrap().success());
    let to = place.text("snapshots/one");
    let outcomes = std::panic::catch_unwind(|| {
        ["pg-dump", "pg-basebackup"]
            .map(|verb| (place.fails(&[verb, "--to", &to]), place.path("snapshots/one.partial").exists()))
    });
    Command::new("umount").arg(&volume).status().unwrap();
    for ((reason, message), left) in outcomes.unwrap() {
        assert_eq!((reason.as_str(), left), ("NoSpace", false), "{message}");
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_base_backup_is_proved_by_a_server() {
    let place = Place::new("base");
    let server = place.serve();
    server.fill();
    let to = place.text("snapshots/base");
    let result = place.run(&["pg-basebackup", "--to", &to]);
    assert_eq!(result["kind"], "Physical");
    let checks = place.write("checks.json", r#"[{"sql":"select count(*) from words","expect":"1","database":"app"}]"#);
    server.sql("app", "GRANT SELECT ON words TO reader");
    let (reason, message) = place.not_verified("base", &["--checks", &checks]);
    assert_eq!(reason, "CheckFailed");
    assert!(message.contains("permission denied"), "{message}");
    let result = place.verified("base", &[]);
    assert_eq!(result["rows"], ROWS);
    assert_eq!(place.run(&["pg-basebackup", "--to", &to])["reused"], true);
    let (reason, _) = place.fails(&["pg-restore", "--snapshot", &to]);
    assert_eq!(reason, "BadInput");
    of_a_base_backup(&place);
    let file = place.path("snapshots/base/base/global/1262");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8000] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_eq!(place.not_verified("base", &[]).0, "ChecksumMismatch");
}

/// A new database of it, with passwords of its own.
fn of_a_base_backup(place: &Place) {
    let new = Place::new("of-base");
    let from = place.text("snapshots/base");
    let run = new.directory.to_str().unwrap().to_owned();
    let arguments = new.prepare(&["--initialise", "--owner", "uid-2", "--from", &from, "--run-dir", &run]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let output = new.agent(&arguments).env("PGPASSWORD", "another").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(new.prepare_fails(&["--initialise", "--owner", "uid-1"]).0, "ForeignData");
    let wrong = [&arguments[..4], &["12"], &arguments[5..]].concat();
    let data = new.text("volume/data");
    new.write("again", "");
    std::fs::rename(&data, new.path("away")).unwrap();
    assert_eq!(new.fails(&wrong).0, "WrongMajor");
    assert!(!new.path("volume/data.initdb").exists());
    std::fs::rename(new.path("away"), &data).unwrap();
    let server = new.start_as("another");
    assert_eq!(server.psql("boss", PASSWORD, "app", "SELECT 1").status.code(), Some(2));
    let counted = server.psql("boss", "another", "app", "SELECT count(*) FROM mine.hidden");
    assert_eq!(counted.stdout, b"1000\n");
    server.stop();
}

#[test]
#[ignore = "scripts/test --all servers"]
fn snapshots_are_pruned_by_name() {
    let place = Place::new("prune");
    for name in ["a", "b", "c.partial", "d.partial", "e.removed"] {
        fs::create_dir_all(place.path("snapshots").join(name).join("x")).unwrap();
    }
    let own = Command::new("chmod").args(["-R", "a+rwX"]).arg(place.path("snapshots")).status().unwrap();
    assert!(own.success());
    let dir = place.text("snapshots");
    let prune = |more: &[&str]| place.run(&[&["pg-prune", "--dir", &dir], more].concat());
    assert_eq!(prune(&["--name", "a", "--name", "none"])["removed"], 1);
    assert_eq!(prune(&["--name", "a"])["absent"], 1);
    assert_eq!(prune(&["--partial-older-than", "3600"])["leftovers"], 1);
    assert_eq!(prune(&["--partial-older-than", "0"])["leftovers"], 2);
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["b"]);
    for wrong in ["../b", "b/x", ".", "..", "", "c.partial"] {
        assert_eq!(place.fails(&["pg-prune", "--dir", &dir, "--name", wrong]).0, "BadInput", "{wrong}");
    }
}
