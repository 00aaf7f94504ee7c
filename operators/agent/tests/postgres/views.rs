//! A table, or a sequence, that is a view by the time when a superuser reads it: its owner's functions would run as the superuser
//! (CVE-2024-7348).

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::attacks::{VICTIM, check_roles, gained, prepare};
use crate::support::{Fixture, Server, stderr};

/// Why a server reads no view that is none of its own.
const FORBIDDEN: &str = "view, foreign-table";

/// A database whose owner is an attacker: it has a table that is read first, and what is swapped while that is waited for.
fn attacked<'a>(fixture: &'a Fixture, server: &Server<'a>) {
    for role in ["app", "victim"] {
        server.sql("postgres", &format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'"));
    }
    server.sql("postgres", "CREATE DATABASE shop OWNER app TEMPLATE template0");
    server.sql("shop", "GRANT CREATE ON SCHEMA public TO app");
    server.sql("shop", VICTIM);
    let objects =
        "CREATE TABLE a_first AS SELECT 1 AS a; CREATE TABLE swapped AS SELECT 1 AS a; CREATE SEQUENCE counter";
    prepare(fixture, server, "shop", 1, objects).unwrap();
}

/// The database and the setting of each session of a superuser, as the session itself reports them at its end.
fn reported(fixture: &Fixture, arguments: &[&str]) -> Vec<String> {
    let recorded = fixture.text("sessions");
    let asks = "SELECT pg_catalog.current_database() || ': ' || pg_catalog.current_setting('restrict_nonsystem_relation_kind') \
                WHERE session_user = 'boss';";
    let path = fixture
        .with_psql(&format!("{{ cat; printf '%s\\n' '\\o | cat >> {recorded}' \"{asks}\" '\\o'; }} | $PSQL \"$@\""));
    let output = fixture.agent(arguments).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read_to_string(recorded).unwrap().lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

fn check_reported(reported: &[String]) {
    for database in ["postgres", "shop"] {
        assert!(reported.contains(&format!("{database}: {FORBIDDEN}")), "{reported:?}");
    }
    assert!(reported.iter().all(|line| line.ends_with(&format!(": {FORBIDDEN}"))), "{reported:?}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn no_session_of_a_snapshot_or_a_restore_reads_a_users_view() {
    let (old, new) = (Fixture::new("no-views"), Fixture::new("no-views-restored"));
    let source = old.serve();
    attacked(&old, &source);
    check_reported(&reported(&old, &["pg-dump", "--to", &old.text("snapshots/one")]));
    // What that setting means to a server.
    source.sql("shop", "CREATE VIEW v AS SELECT 1 AS a");
    let read = format!("SET restrict_nonsystem_relation_kind = '{FORBIDDEN}'; SELECT a FROM v");
    let refused = source.psql("boss", crate::support::PASSWORD, "shop", &read);
    assert!(stderr(&refused).contains("access to non-system view \"v\" is restricted"), "{refused:?}");
    let _target = new.serve();
    check_reported(&reported(&new, &["pg-restore", "--snapshot", &old.text("snapshots/one")]));
}

/// While the dump waits for a table, others that it is going to read make way to views that strike.
#[test]
#[ignore = "scripts/test --all servers"]
fn what_is_swapped_for_a_view_while_it_is_dumped_is_not_read() {
    for (kind, name, columns) in [
        ("TABLE", "swapped", "public.hit(1) AS a"),
        ("SEQUENCE", "counter", "public.hit(1) AS last_value, true AS is_called"),
    ] {
        let fixture = Fixture::new(&format!("swapped-{name}"));
        let server = fixture.serve();
        attacked(&fixture, &server);
        let mut owner = server.client("app", "app", "shop").stdin(Stdio::piped()).spawn().unwrap();
        let mut says = owner.stdin.take().unwrap();
        writeln!(says, "BEGIN; LOCK TABLE a_first IN ACCESS EXCLUSIVE MODE;").unwrap();
        let locks = "SELECT count(*) FROM pg_locks WHERE relation = 'a_first'::regclass AND";
        until(&server, &format!("{locks} granted"), "1");
        let mut dump = fixture.agent(&["pg-dump", "--to", &fixture.text("snapshots/one")]).spawn().unwrap();
        // The agent's own session, which counts, and that of pg_dump.
        until(&server, &format!("{locks} NOT granted"), "2");
        writeln!(says, "DROP {kind} {name}; CREATE VIEW {name} AS SELECT {columns}; COMMIT;").unwrap();
        drop(says);
        assert!(owner.wait().unwrap().success());
        assert_eq!(dump.wait().unwrap().code(), Some(1));
        let (_, message) = fixture.reason();
        assert!(message.contains(name), "{message}");
        check_roles(&fixture, &server, &["app", "victim"]);
        assert_eq!(gained(&server, "shop", name), [""; 0]);
        // A superuser who is less careful is struck.
        server.sql("shop", &format!("SELECT * FROM {name}"));
        assert!(fixture.path("marker").exists());
    }
}

fn until(server: &Server<'_>, sql: &str, answer: &str) {
    let since = Instant::now();
    while server.sql("shop", sql) != answer {
        assert!(since.elapsed() < Duration::from_secs(30), "{sql}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
