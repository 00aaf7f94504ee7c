//! `agent pg-dump`, `agent pg-basebackup`, `agent pg-prune`.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::contents::ROWS;
use crate::support::{Fixture, PASSWORD, signal, stderr};

#[test]
#[ignore = "scripts/test --all servers"]
fn a_snapshot_counts_what_it_holds() {
    let fixture = Fixture::new("dump");
    let server = fixture.serve();
    server.fill();
    let result = fixture.dump("one", &["--database", "app", "--jobs", "2"]);
    assert_eq!((&result["rows"], &result["tables"]), (&ROWS.into(), &4.into()), "{result}");
    assert_eq!(result["reused"], false);
    let manifest = fs::read_to_string(fixture.path("snapshots/one/manifest.json")).unwrap();
    assert!(manifest.contains("citext") && manifest.contains("Od'd\\nname"), "{manifest}");
    assert!(fs::read_to_string(fixture.path("snapshots/one/globals.sql")).unwrap().contains("SCRAM-SHA-256"));

    server.sql("app", "DELETE FROM words");
    let again = fixture.dump("one", &["--database", "app"]);
    assert_eq!((&again["reused"], &again["sha256"], &again["rows"]), (&true.into(), &result["sha256"], &ROWS.into()));
    fs::write(fixture.path("snapshots/one/globals.sql"), "").unwrap();
    let again = fixture.dump("one", &["--database", "app"]);
    assert_eq!((&again["reused"], &again["rows"]), (&false.into(), &(ROWS - 1).into()));

    let to = fixture.text("snapshots/two");
    assert_eq!(fixture.fails(&["pg-dump", "--to", &to, "--database", "none"]).0, "DatabaseMissing");
    let output = fixture.agent(&["pg-dump", "--to", &to]).env("PGPASSWORD", "wrong").output().unwrap();
    assert_eq!((output.status.code(), fixture.reason().0.as_str()), (Some(1), "AuthenticationFailed"));
    let output =
        fixture.agent(&["pg-dump", "--to", &to, "--connect-timeout", "1"]).env("PGPORT", "1").output().unwrap();
    assert_eq!((output.status.code(), fixture.reason().0.as_str()), (Some(1), "ConnectionFailed"));
    assert!(!fixture.path("snapshots/two").exists() && !fixture.path("snapshots/two.partial").exists());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_dump_that_was_killed_is_taken_again() {
    let fixture = Fixture::new("dump-killed");
    let server = fixture.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT n, repeat(md5(n::text), 20) FROM generate_series(1, 100000) n");
    let to = fixture.text("snapshots/one");
    let mut child = fixture.agent(&["pg-dump", "--to", &to]).spawn().unwrap();
    while !fixture.path("snapshots/one.partial/database-0/toc.dat").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    for pid in fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap().split(' ') {
        signal("-KILL", pid);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!fixture.path("snapshots/one").exists());
    assert_eq!(fixture.dump("one", &[])["rows"], 100_000);
    assert!(!fixture.path("snapshots/one.partial").exists());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn data_without_a_server_is_dumped() {
    let fixture = Fixture::new("offline");
    let mut server = fixture.serve();
    server.fill();
    let data = fixture.text("volume/data");
    let offline = ["--offline", &data, "--run-dir", fixture.directory.to_str().unwrap(), "--lock-timeout", "1"];
    let to = fixture.text("snapshots/busy");
    assert_eq!(fixture.fails(&[&["pg-dump", "--to", &to], &offline[..]].concat()).0, "DataInUse");
    server.sql("app", "INSERT INTO words VALUES ('last')");
    server.kill();
    let of_another = [&["pg-dump", "--to", &to, "--system-identifier", "7"], &offline[..]].concat();
    assert_eq!(fixture.fails(&of_another).0, "ForeignData");
    let result = fixture.dump("dead", &[&["--database", "app"], &offline[..]].concat());
    assert_eq!(result["rows"], ROWS + 1);
    fixture.verified("dead", &[]);
    // It was stopped cleanly, and the data serves on.
    assert!(!fixture.path("volume/data/postmaster.pid").exists());
    fixture.prepared(&[]);
    let server = fixture.start();
    assert!(!fixture.log().contains("not properly shut down"), "{}", fixture.log());
    server.check_contents();
    server.stop();
    // The number of a process that is another one by now: this test's.
    let lock = format!("{}\n{data}\n0\n5432\n\n\n  1 1\nready\n", std::process::id());
    fs::write(fixture.path("volume/data/postmaster.pid"), lock).unwrap();
    fixture.dump("stale", &[&["--database", "app"], &offline[..]].concat());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_volume_is_reported() {
    let fixture = Fixture::new("dump-full");
    let server = fixture.serve();
    // What no compression makes small.
    server.sql("postgres", "CREATE TABLE t AS SELECT md5(n::text)::uuid u FROM generate_series(1, 200000) n");
    let volume = fixture.path("snapshots");
    fs::create_dir(&volume).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs"]).arg(&volume).status();
    assert!(mounted.unwrap().success());
    let to = fixture.text("snapshots/one");
    let outcomes = std::panic::catch_unwind(|| {
        ["pg-dump", "pg-basebackup"].map(|subcommand| {
            (fixture.fails(&[subcommand, "--to", &to]), fixture.path("snapshots/one.partial").exists())
        })
    });
    Command::new("umount").arg(&volume).status().unwrap();
    for ((reason, message), left) in outcomes.unwrap() {
        assert_eq!((reason.as_str(), left), ("NoSpace", false), "{message}");
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_base_backup_is_proved_by_a_server() {
    let fixture = Fixture::new("base");
    let server = fixture.serve();
    server.fill();
    let to = fixture.text("snapshots/base");
    let result = fixture.run(&["pg-basebackup", "--to", &to]);
    assert_eq!(result["kind"], "Physical");
    let checks =
        fixture.write("checks.json", r#"[{"sql":"select count(*) from words","expect":"1","database":"app"}]"#);
    server.sql("app", "GRANT SELECT ON words TO reader");
    let (reason, message) = fixture.not_verified("base", &["--checks", &checks]);
    assert_eq!(reason, "CheckFailed");
    assert!(message.contains("permission denied"), "{message}");
    let result = fixture.verified("base", &[]);
    assert_eq!(result["rows"], ROWS);
    assert_eq!(fixture.run(&["pg-basebackup", "--to", &to])["reused"], true);
    let (reason, _) = fixture.fails(&["pg-restore", "--snapshot", &to]);
    assert_eq!(reason, "BadInput");
    of_a_base_backup(&fixture);
    let file = fixture.path("snapshots/base/base/global/1262");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8000] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_eq!(fixture.not_verified("base", &[]).0, "ChecksumMismatch");
}

/// A new database of it, with passwords of its own.
fn of_a_base_backup(fixture: &Fixture) {
    let new = Fixture::new("of-base");
    let from = fixture.text("snapshots/base");
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
    let fixture = Fixture::new("prune");
    for name in ["a", "b", "c.partial", "d.partial", "e.removed"] {
        fs::create_dir_all(fixture.path("snapshots").join(name).join("x")).unwrap();
    }
    let own = Command::new("chmod").args(["-R", "a+rwX"]).arg(fixture.path("snapshots")).status().unwrap();
    assert!(own.success());
    let dir = fixture.text("snapshots");
    let prune = |more: &[&str]| fixture.run(&[&["pg-prune", "--dir", &dir], more].concat());
    assert_eq!(prune(&["--name", "a", "--name", "none"])["removed"], 1);
    assert_eq!(prune(&["--name", "a"])["absent"], 1);
    assert_eq!(prune(&["--partial-older-than", "3600"])["leftovers"], 1);
    assert_eq!(prune(&["--partial-older-than", "0"])["leftovers"], 2);
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["b"]);
    for wrong in ["../b", "b/x", ".", "..", "", "c.partial"] {
        assert_eq!(fixture.fails(&["pg-prune", "--dir", &dir, "--name", wrong]).0, "BadInput", "{wrong}");
    }
}
