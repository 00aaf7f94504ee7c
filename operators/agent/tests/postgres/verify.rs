//! `agent pg-verify`, of intact and of damaged snapshots.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::contents::ROWS;
use crate::support::Fixture;

fn biggest(fixture: &Fixture) -> PathBuf {
    let files = fs::read_dir(fixture.path("snapshots/one/database-0")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some()).max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap()
}

#[test]
#[ignore = "scripts/test --all servers"]
fn damage_is_found() {
    let fixture = Fixture::new("damage");
    let server = fixture.serve();
    server.fill();
    let result = fixture.dump("one", &["--database", "app"]);
    let sha256 = result["sha256"].as_str().unwrap();
    let verified = fixture.verified("one", &["--sha256", sha256, "--jobs", "2"]);
    assert_eq!((&verified["rows"], &verified["tables"]), (&ROWS.into(), &4.into()));
    let file = biggest(&fixture);
    let complete = fs::read(&file).unwrap();
    for mode in ["checksum", "restore"] {
        let damaged = |bytes: Option<&[u8]>| {
            bytes.map_or_else(|| fs::remove_file(&file), |bytes| fs::write(&file, bytes)).unwrap();
            fixture.not_verified("one", &["--mode", mode]).0
        };
        let mut flipped = complete.clone();
        flipped[complete.len() / 2] ^= 1;
        assert_eq!(damaged(Some(&flipped)), "ChecksumMismatch");
        assert_eq!(damaged(Some(&complete[..complete.len() - 1])), "Truncated");
        assert_eq!(damaged(Some(&[&complete[..], b"x"].concat())), "ChecksumMismatch");
        assert_eq!(damaged(None), "FileMissing");
        fs::write(&file, &complete).unwrap();
    }
    let manifest = fixture.path("snapshots/one/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"rows\": 1000", "\"rows\": 1001", 1)).unwrap();
    assert_eq!(fixture.not_verified("one", &["--sha256", sha256]).0, "ChecksumMismatch");
    let (reason, message) = fixture.not_verified("one", &[]);
    assert_eq!(reason, "CountMismatch");
    assert!(message.contains("mine.hidden has 1000 rows instead of 1001"), "{message}");
    fs::write(&manifest, "{").unwrap();
    assert_eq!(fixture.not_verified("one", &[]).0, "Corrupt");
    fs::remove_file(&manifest).unwrap();
    assert_eq!(fixture.not_verified("one", &[]).0, "Corrupt");
    assert_eq!(fixture.not_verified("none", &[]).0, "SnapshotMissing");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn checks_are_run_by_the_owner_who_writes_nothing() {
    let fixture = Fixture::new("checks");
    let server = fixture.serve();
    server.fill();
    server.sql("app", "ALTER TABLE words OWNER TO reader; ALTER ROLE reader NOLOGIN");
    fixture.dump("one", &["--database", "app"]);
    let outcome = |checks: &str| {
        let file = fixture.write("checks.json", checks);
        let output = fixture.verify("one", &["--checks", &file]).output().unwrap();
        if output.status.success() { Ok(()) } else { Err(fixture.reason()) }
    };
    assert_eq!(
        outcome(r#"[{"sql":"select word, 2 from words","expect":"Word|2"},{"sql":"select 1;select 2"}]"#),
        Ok(())
    );
    assert_eq!(
        outcome(r#"[{"sql":"select null","expect":""},{"sql":"select count(*) from words","expect":"1"}]"#),
        Ok(())
    );
    let refused = |checks: &str| outcome(checks).unwrap_err();
    let (reason, message) = refused(r#"[{"sql":"select count(*) from words","expect":"2"}]"#);
    assert_eq!((reason.as_str(), message.as_str()), ("CheckFailed", "check 1: the result is \"1\", not \"2\""));
    for wrong in
        ["delete from words", "copy words to program 'true'", "select pg_sleep(", "\\\\! touch hacked", "\\\\c - boss"]
    {
        let (reason, message) = refused(&format!(r#"[{{"sql":"{wrong}"}}]"#));
        assert_eq!(reason, "CheckFailed", "{wrong}: {message}");
    }
    assert_eq!(refused("{").0, "BadInput");
    assert_eq!(refused(r#"[{"sql":"select 1","database":"none"}]"#).0, "CheckFailed");
    fixture.dump("one-more", &[]);
    let file = fixture.write("checks.json", r#"[{"sql":"select 1","database":"postgres"}]"#);
    assert!(fixture.not_verified("one-more", &["--checks", &file]).1.contains("owned by a superuser"));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_scratch_is_reported() {
    let fixture = Fixture::new("scratch-full");
    let server = fixture.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 100000)");
    fixture.dump("one", &[]);
    fs::create_dir(fixture.path("scratch")).unwrap();
    for size in ["20m", "70m"] {
        let options = format!("size={size},mode=777");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(fixture.path("scratch")).status();
        assert!(mount.unwrap().success());
        let outcome = std::panic::catch_unwind(|| fixture.not_verified("one", &[]));
        Command::new("umount").arg(fixture.path("scratch")).status().unwrap();
        let (reason, message) = outcome.unwrap();
        assert_eq!(reason, "NoSpace", "{message}");
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_newer_snapshot_is_not_tried() {
    let fixture = Fixture::new("verify-newer");
    let server = fixture.serve();
    fixture.dump("one", &[]);
    drop(server);
    let manifest = fixture.path("snapshots/one/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let line = text.lines().find(|line| line.contains("engineVersion")).unwrap();
    fs::write(&manifest, text.replace(line, "  \"engineVersion\": \"99.1\",")).unwrap();
    assert_eq!(fixture.not_verified("one", &[]).0, "NewerSnapshot");
}
