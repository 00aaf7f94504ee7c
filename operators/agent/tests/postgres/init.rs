//! `agent pg-init`.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::support::{Fixture, PASSWORD, signal, stderr};

const OWNER: &str = "app's \\ \"password\"";

fn init(fixture: &Fixture, more: &[&str]) -> std::process::Output {
    let arguments = [&["pg-init", "--database", "app", "--owner", "app"], more].concat();
    fixture.agent(&arguments).env("OWNER_PASSWORD", OWNER).output().unwrap()
}

fn done(fixture: &Fixture, more: &[&str]) -> serde_json::Value {
    let output = init(fixture, more);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn fails(fixture: &Fixture, more: &[&str]) -> (String, String) {
    let output = init(fixture, more);
    let reason = fixture.reason();
    // The operator recognizes an error in SQL, which a user has to correct, by the code.
    let code = if reason.0 == "SqlFailed" { 5 } else { 1 };
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    reason
}

#[test]
#[ignore = "scripts/test --all servers"]
fn sql_is_run_once() {
    let fixture = Fixture::new("init");
    let server = fixture.serve();
    let first = fixture.write("1.sql", "CREATE TABLE t (a int);\nINSERT INTO t VALUES (1);\nSET search_path = '';");
    let second = fixture.write(
        "2.sql",
        "INSERT INTO t VALUES (2); SELECT * FROM t; -- of the first\n\
         CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$BEGIN RETURN 1; END$$;",
    );
    let result = done(&fixture, &["--sql", &first, "--secret-sql", &second]);
    assert_eq!((&result["ran"], &result["statements"]), (&true.into(), &6.into()), "{result}");
    assert_eq!(result["created"], serde_json::json!({"role": true, "database": true}));
    let again = done(&fixture, &["--sql", &first, "--secret-sql", &second]);
    assert_eq!((&again["ran"], &again["created"]["role"]), (&false.into(), &false.into()));
    assert_eq!(server.sql("app", "SELECT count(*) FROM t"), "2");
    assert_eq!(server.sql("app", "SELECT tableowner FROM pg_tables WHERE tablename = 't'"), "app");
    assert_eq!(server.sql("app", "SELECT key, length(checksum) FROM multi_operator.ledger"), "init|64");
    assert_eq!(server.sql("app", "SELECT count(*) FROM pg_db_role_setting"), "0");
    assert!(server.psql("app", OWNER, "app", "INSERT INTO t VALUES (3)").status.success());
    assert!(!server.psql("app", OWNER, "app", "DELETE FROM multi_operator.ledger").status.success());
    assert_eq!(server.sql("app", "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = 'app'"), "f");
    let third = fixture.write("3.sql", "INSERT INTO t VALUES (3)");
    let third = done(&fixture, &["--ledger-key", "more", "--sql", &third]);
    assert_eq!(third["ran"], true);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn sql_that_fails_leaves_nothing_and_runs_when_it_is_right() {
    let fixture = Fixture::new("init-fails");
    let server = fixture.serve();
    let begin = "CREATE TABLE t (a int PRIMARY KEY);\n\nINSERT INTO t VALUES (1);\n";
    for (wrong, line, reported) in [
        ("INSERT INTO\n  t VALUES (1)", 4, "duplicate key"),
        ("SELECT 1,\n  2 FROM\n  nowhere", 6, "relation \"nowhere\" does not exist"),
        ("CREATE ROLE boss2 SUPERUSER", 4, ""),
        ("COPY t TO PROGRAM 'true'", 4, ""),
        ("RESET SESSION AUTHORIZATION; CREATE ROLE x", 4, "permission denied"),
        ("COMMIT; SELECT 1", 4, "in a transaction already"),
        ("\\! touch /tmp/hacked", 4, "psql commands"),
        ("COPY t FROM STDIN;\n2\n\\.", 4, "COPY FROM STDIN"),
        ("SELECT 'open", 4, "does not end"),
        ("DO $$BEGIN RAISE 'of mine'; END$$", 4, "of mine"),
    ] {
        let file = fixture.write("1.sql", &format!("{begin}{wrong}"));
        let (reason, message) = fails(&fixture, &["--sql", &file]);
        assert_eq!(reason, "SqlFailed", "{wrong}: {message}");
        assert!(
            message.starts_with(&format!("1.sql, line {line}: ")) && message.contains(reported),
            "{wrong}: {message}"
        );
        assert_eq!(server.sql("app", "SELECT to_regclass('public.t') IS NULL"), "t", "{wrong}");
    }
    let file = fixture.write("1.sql", begin);
    assert_eq!(done(&fixture, &["--sql", &file])["ran"], true);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn whatever_is_killed_it_runs_once() {
    let fixture = Fixture::new("init-killed");
    let server = fixture.serve();
    let file = fixture.write("1.sql", "CREATE TABLE t (a int); INSERT INTO t VALUES (1); SELECT pg_sleep(0.7)");
    let arguments = ["pg-init", "--database", "app", "--owner", "app", "--sql", &file];
    let start = || fixture.agent(&arguments).env("OWNER_PASSWORD", OWNER).spawn().unwrap();
    let mut first = start();
    let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app' AND wait_event = 'PgSleep'";
    while server.sql("postgres", sleeps) == "0" {
        thread::sleep(Duration::from_millis(10));
    }
    let arguments_of_all: Vec<u8> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok())
        .flatten()
        .collect();
    for secret in [OWNER, PASSWORD] {
        assert!(!arguments_of_all.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
    for pid in fs::read_to_string(format!("/proc/{0}/task/{0}/children", first.id())).unwrap().split(' ') {
        signal("-KILL", pid);
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(server.sql("app", "SELECT to_regclass('public.t') IS NULL"), "t");
    // Several at once, as when a pod is taken for lost and is not.
    let results: Vec<serde_json::Value> = [(); 5]
        .map(|()| start())
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            serde_json::from_slice(&output.stdout).unwrap()
        })
        .collect();
    assert_eq!(results.iter().filter(|result| result["ran"] == true).count(), 1, "{results:?}");
    assert_eq!(server.sql("app", "SELECT count(*) FROM t"), "1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn much_sql_is_no_trouble() {
    let fixture = Fixture::new("init-much");
    let server = fixture.serve();
    let rows: Vec<String> = (0..30_000).map(|n| format!("({n}, 'row {n} of ''many'', with \\ and \u{e4}')")).collect();
    let inserts: String = (0..2000).map(|n| format!("INSERT INTO t VALUES (-{n} - 1, ':x');\n")).collect();
    let sql = format!("CREATE TABLE t (a int, b text);\nINSERT INTO t VALUES {};\n{inserts}", rows.join(",\n"));
    let file = fixture.write("1.sql", &sql);
    assert_eq!(done(&fixture, &["--sql", &file])["statements"], 2002);
    assert_eq!(server.sql("app", "SELECT count(*), max(length(b)) FROM t"), "32000|33");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn secrets_are_not_shown() {
    let fixture = Fixture::new("init-secret");
    let server = fixture.serve();
    server.sql("postgres", "ALTER SYSTEM SET log_min_duration_statement = -1");
    let file = fixture.write("s.sql", "CREATE TABLE t (a int);\nINSERT INTO t VALUES ('hunter2'::text::int)");
    let (_, message) = fails(&fixture, &["--secret-sql", &file]);
    assert_eq!(message, "s.sql, line 2: ERROR:  22P02");
    assert!(fails(&fixture, &["--sql", &file]).1.contains("invalid input syntax"));
    let log = fixture.log();
    assert!(!log.contains("INSERT INTO t") && !log.contains("SCRAM") && !log.contains("password"), "{log}");
    // The server's message has the value; the statement is not there.
    assert!(log.contains("invalid input syntax"), "{log}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn passwords_of_all_kinds() {
    let fixture = Fixture::new("init-password");
    let server = fixture.serve();
    let long = "x".repeat(900);
    for password in ["p\u{e4}\u{df}wort \u{1f600}\u{a0}", "a\nb", "'", "\\", "$$", long.as_str()] {
        let output = fixture.agent(&["pg-init", "--database", "app", "--owner", "app"]);
        let output = { output }.env("OWNER_PASSWORD", password).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let login = server.psql("app", password, "app", "SELECT 1");
        assert!(login.status.success(), "{password}: {}", stderr(&login));
        assert!(!fixture.log().contains(password));
    }
    let output = fixture.agent(&["pg-init", "--database", "app", "--owner", "app"]).output().unwrap();
    assert_eq!((output.status.code(), fixture.reason().0.as_str()), (Some(1), "BadPassword"));
    assert_eq!(fails_as(&fixture, "boss"), "BadInput");
    server.sql("postgres", "CREATE ROLE other SUPERUSER");
    assert_eq!(fails_as(&fixture, "other"), "BadInput");
}

fn fails_as(fixture: &Fixture, owner: &str) -> String {
    let arguments = ["pg-init", "--database", "app", "--owner", owner];
    let output = fixture.agent(&arguments).env("OWNER_PASSWORD", "x").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    fixture.reason().0
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_ledger_of_the_applications_own_is_not_used() {
    let fixture = Fixture::new("init-foreign");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app LOGIN");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    server.sql("app", "SET ROLE app; CREATE SCHEMA multi_operator");
    assert_eq!(fails(&fixture, &[]).0, "ForeignData");
}
