//! `agent pg-verify`, over snapshots that are whole and over damaged ones.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::contents::ROWS;
use crate::support::Place;

fn biggest(place: &Place) -> PathBuf {
    let files = fs::read_dir(place.path("snapshots/one/database-0")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some()).max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap()
}

#[test]
#[ignore = "scripts/test --all servers"]
fn damage_is_found() {
    let place = Place::new("damage");
    let server = place.serve();
    server.fill();
    let result = place.dump("one", &["--database", "app"]);
    let sha256 = result["sha256"].as_str().unwrap();
    let verified = place.verified("one", &["--sha256", sha256, "--jobs", "2"]);
    assert_eq!((&verified["rows"], &verified["tables"]), (&ROWS.into(), &4.into()));
    let file = biggest(&place);
    let whole = fs::read(&file).unwrap();
    for mode in ["checksum", "restore"] {
        let damaged = |bytes: Option<&[u8]>| {
            bytes.map_or_else(|| fs::remove_file(&file), |bytes| fs::write(&file, bytes)).unwrap();
            place.not_verified("one", &["--mode", mode]).0
        };
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        assert_eq!(damaged(Some(&flipped)), "ChecksumMismatch");
        assert_eq!(damaged(Some(&whole[..whole.len() - 1])), "Truncated");
        assert_eq!(damaged(Some(&[&whole[..], b"x"].concat())), "ChecksumMismatch");
        assert_eq!(damaged(None), "FileMissing");
        fs::write(&file, &whole).unwrap();
    }
    let manifest = place.path("snapshots/one/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"rows\": 1000", "\"rows\": 1001", 1)).unwrap();
    assert_eq!(place.not_verified("one", &["--sha256", sha256]).0, "ChecksumMismatch");
    let (reason, message) = place.not_verified("one", &[]);
    assert_eq!(reason, "CountMismatch");
    assert!(message.contains("mine.hidden has 1000 rows instead of 1001"), "{message}");
    fs::write(&manifest, "{").unwrap();
    assert_eq!(place.not_verified("one", &[]).0, "Corrupt");
    fs::remove_file(&manifest).unwrap();
    assert_eq!(place.not_verified("one", &[]).0, "Corrupt");
    assert_eq!(place.not_verified("none", &[]).0, "SnapshotMissing");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn checks_are_run_by_the_owner_who_writes_nothing() {
    let place = Place::new("checks");
    let server = place.serve();
    server.fill();
    server.sql("app", "ALTER TABLE words OWNER TO reader; ALTER ROLE reader NOLOGIN");
    place.dump("one", &["--database", "app"]);
    let outcome = |checks: &str| {
        let file = place.write("checks.json", checks);
        let output = place.verify("one", &["--checks", &file]).output().unwrap();
        if output.status.success() { Ok(()) } else { Err(place.reason()) }
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
    place.dump("one-more", &[]);
    let file = place.write("checks.json", r#"[{"sql":"select 1","database":"postgres"}]"#);
    assert!(place.not_verified("one-more", &["--checks", &file]).1.contains("owned by a superuser"));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_full_scratch_is_told() {
    let place = Place::new("scratch-full");
    let server = place.serve();
    server.sql("postgres", "CREATE TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 100000)");
    place.dump("one", &[]);
    fs::create_dir(place.path("scratch")).unwrap();
    for size in ["20m", "70m"] {
        let options = format!("size={size},mode=777");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(place.path("scratch")).status();
        assert!(mount.unwrap().success());
        let outcome = std::panic::catch_unwind(|| place.not_verified("one", &[]));
        Command::new("umount").arg(place.path("scratch")).status().unwrap();
        let (reason, message) = outcome.unwrap();
        assert_eq!(reason, "NoSpace", "{message}");
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_newer_snapshot_is_not_tried() {
    let place = Place::new("verify-newer");
    let server = place.serve();
    place.dump("one", &[]);
    drop(server);
    let manifest = place.path("snapshots/one/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let line = text.lines().find(|line| line.contains("engineVersion")).unwrap();
    fs::write(&manifest, text.replace(line, "  \"engineVersion\": \"99.1\",")).unwrap();
    assert_eq!(place.not_verified("one", &[]).0, "NewerSnapshot");
}
