//! What a snapshot or an upgrade leaves out does not make it fail, and is named.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Fixture, PASSWORD, Server, stderr};
use crate::upgrade::Pair;

/// An index that CREATE INDEX CONCURRENTLY failed to make, and one of a partitioned table that waits for its partitions'.
fn plant_unfinished(server: &Server<'_>) {
    server.sql("postgres", "CREATE TABLE t AS SELECT 1 AS a FROM generate_series(1, 2)");
    let failed = server.psql("boss", PASSWORD, "postgres", "CREATE UNIQUE INDEX CONCURRENTLY broken ON t (a)");
    assert!(!failed.status.success());
    server.sql("postgres", "CREATE TABLE p (a int) PARTITION BY RANGE (a)");
    server.sql(
        "postgres",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9); CREATE INDEX waiting ON ONLY p (a)",
    );
    let invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid";
    assert_eq!(server.sql("postgres", invalid), "2");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn an_unfinished_index_fails_no_snapshot() {
    let (fixture, new) = (Fixture::new("unfinished"), Fixture::new("unfinished-restored"));
    let server = fixture.serve();
    plant_unfinished(&server);
    let result = fixture.dump("one", &[]);
    let remarks = result["remarks"].to_string();
    assert!(
        remarks.contains("broken") && remarks.contains("unfinished index") && !remarks.contains("more"),
        "{remarks}"
    );
    // It holds up no deletion: no row is lost.
    assert_eq!(result["notCovered"], serde_json::json!([]));
    fixture.verified("one", &[]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &fixture.text("snapshots/one")]);
    assert_eq!(target.sql("postgres", "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind IN ('i', 'I') AND relnamespace = 'public'::regnamespace"), "waiting");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn an_unfinished_index_fails_no_upgrade() {
    let pair = Pair::new("unfinished-upgrade", "15", "17");
    let old = pair.old.serve();
    plant_unfinished(&old);
    let reported = pair.old.run(&["pg-survey"])["notCovered"].to_string();
    assert!(reported.contains("broken") && reported.contains("unfinished index"), "{reported}");
    let _new = pair.empty();
    let result = pair.upgraded(&[]);
    assert!(result["notCovered"].to_string().contains("broken"), "{result}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_database_without_public_comes_back_without_it() {
    let pair = Pair::new("no-public", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE DATABASE app TEMPLATE template0");
    for database in ["app", "postgres", "template1"] {
        old.sql(database, "DROP SCHEMA public; CREATE SCHEMA mine; CREATE TABLE mine.t AS SELECT 1 AS a");
    }
    let has = "SELECT count(*) FROM pg_namespace WHERE nspname = 'public'";
    let names = pair.old.dump("one", &[])["databaseNames"].clone();
    assert_eq!(names, serde_json::json!(["app", "postgres", "template1"]));
    pair.old.verified("one", &[]);
    let restored = Fixture::of("no-public-restored", "15");
    let target = restored.serve();
    restored.run(&["pg-restore", "--snapshot", &pair.old.text("snapshots/one")]);
    let new = pair.empty();
    pair.upgraded(&[]);
    for database in ["app", "postgres", "template1"] {
        assert_eq!((target.sql(database, has), new.sql(database, has)), ("0".into(), "0".into()), "{database}");
    }
}

/// Programs of the engine, with a psql that reports a release that has the race.
fn raced(fixture: &Fixture) -> String {
    let major = fixture.major();
    fixture.with_psql(&format!("$PSQL \"$@\" | sed -u -E 's/\", {major}[0-9]{{4}}, /\", {major}0001, /'"))
}

/// Such a release is refused while clients work, with what to do; once they are blocked it is dumped.
#[test]
#[ignore = "scripts/test --all servers"]
fn an_old_release_is_dumped_once_it_is_closed() {
    let fixture = Fixture::new("raced");
    if fixture.major() == "17" {
        return;
    }
    fixture.prepared(&["--initialise", "--owner", "uid-1"]);
    // Its worker has no session, and is no client that is still coming.
    fixture.write("conf/worker.conf", "shared_preload_libraries = 'pg_prewarm'\n");
    let server = fixture.start();
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE TABLE t AS SELECT 1 AS a");
    let path = raced(&fixture);
    let to = fixture.text("snapshots/one");
    let dump = || fixture.agent(&["pg-dump", "--to", &to]).env("PATH", &path).output().unwrap();
    let refused = || {
        assert_eq!(dump().status.code(), Some(1));
        let (reason, message) = fixture.reason();
        assert_eq!(reason, "Unsupported", "{message}");
        assert!(message.contains("upgrade.snapshotBefore: false") && message.contains("Physical"), "{message}");
    };
    refused();
    // The file is closed, and the server has not applied it yet.
    let (rules, closed) = (fixture.path("volume/data/pg_hba.conf"), fixture.path("volume/data/pg_hba.closed.conf"));
    std::fs::write(rules, std::fs::read(closed).unwrap()).unwrap();
    refused();
    // It knows, and a session of before is left.
    let mut client = server.client("app", "app", "postgres");
    let mut left = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'";
    while server.sql("postgres", sessions) == "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
    server.sql("postgres", "SELECT pg_reload_conf()");
    while server.psql("app", "app", "postgres", "SELECT 1").status.success() {
        std::thread::sleep(Duration::from_millis(20));
    }
    refused();
    drop(left.stdin.take());
    left.wait().unwrap();
    let output = dump();
    assert!(output.status.success(), "{}", stderr(&output));
    fixture.verified("one", &[]);
}

/// What changes a database that every server has, and how that is taken back.
const CHANGES: [(&str, &str); 10] = [
    ("CREATE SCHEMA s", "DROP SCHEMA s"),
    ("CREATE TYPE e AS ENUM ('a')", "DROP TYPE e"),
    ("CREATE COLLATION c (locale = 'C')", "DROP COLLATION c"),
    ("CREATE PUBLICATION p", "DROP PUBLICATION p"),
    (
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO app",
        "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM app",
    ),
    ("ALTER DATABASE $ SET work_mem = '7MB'", "ALTER DATABASE $ RESET work_mem"),
    ("ALTER DATABASE $ OWNER TO app", "ALTER DATABASE $ OWNER TO boss"),
    ("GRANT CREATE ON SCHEMA public TO app", "REVOKE CREATE ON SCHEMA public FROM app"),
    ("GRANT CREATE ON DATABASE $ TO app", "REVOKE CREATE ON DATABASE $ FROM app"),
    ("ALTER DATABASE $ CONNECTION LIMIT 7", "ALTER DATABASE $ CONNECTION LIMIT -1"),
];

#[test]
#[ignore = "scripts/test --all servers"]
fn a_change_of_the_servers_own_databases_is_noticed() {
    let fixture = Fixture::new("pristine");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app");
    let holding = |name: &str| {
        fixture.dump(name, &["--database", "template1", "--database", "postgres"])["databaseNames"].clone()
    };
    assert_eq!(holding("none"), serde_json::json!([]));
    for (at, (change, back)) in CHANGES.into_iter().enumerate() {
        let database = ["template1", "postgres"][at % 2];
        server.sql(database, &change.replace('$', database));
        assert_eq!(holding(&format!("changed-{at}")), serde_json::json!([database]), "{change}");
        server.sql(database, &back.replace('$', database));
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn changes_of_the_servers_own_databases_come_along() {
    let pair = Pair::new("own-changes", "15", "17");
    let old = pair.old.serve();
    old.sql(
        "postgres",
        "CREATE ROLE app; CREATE ROLE other; ALTER DATABASE postgres OWNER TO app; ALTER DATABASE postgres SET work_mem = '7MB'",
    );
    old.sql("template1", "CREATE TYPE e AS ENUM ('a'); ALTER DATABASE template1 OWNER TO app");
    old.sql("template1", "REVOKE USAGE ON SCHEMA public FROM PUBLIC");
    pair.old.dump("one", &[]);
    pair.old.verified("one", &[]);
    let restored = Fixture::of("own-changes-restored", "15");
    let target = restored.serve();
    restored.run(&["pg-restore", "--snapshot", &pair.old.text("snapshots/one")]);
    let new = pair.empty();
    pair.upgraded(&[]);
    for server in [&target, &new] {
        let owners = "SELECT string_agg(datname || ' ' || pg_get_userbyid(datdba), ' ' ORDER BY datname) FROM pg_database \
                      WHERE datname IN ('postgres', 'template1')";
        assert_eq!(server.sql("template1", owners), "postgres app template1 app");
        assert_eq!(server.sql("template1", "SELECT 'a'::e, has_schema_privilege('other', 'public', 'USAGE')"), "a|f");
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "7MB");
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn rows_of_an_extensions_table_are_named() {
    let fixture = Fixture::new("members");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    let created = server.psql("app", "app", "app", "CREATE EXTENSION hstore");
    assert!(created.status.success());
    let reported = |name: &str| fixture.dump(name, &["--database", "app"]);
    let result = reported("one");
    assert_eq!(result["notCovered"], serde_json::json!([]));
    assert!(result["remarks"].to_string().contains("hstore"), "{result}");
    for table in ["t", "u"] {
        server.sql("app", &format!("CREATE TABLE {table} AS SELECT 1 AS a; ALTER EXTENSION hstore ADD TABLE {table}"));
    }
    let not_covered = reported("two")["notCovered"].to_string();
    assert!(not_covered.contains("(and 1 more): rows of an extension's table are left out"), "{not_covered}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_a_physical_snapshot_has_not_is_named() {
    let fixture = Fixture::new("unlogged");
    let server = fixture.serve();
    server.sql("postgres", "SELECT pg_create_physical_replication_slot('feed')");
    server.sql("postgres", "CREATE UNLOGGED TABLE quick AS SELECT 1 AS a");
    let result = fixture.run(&["pg-basebackup", "--to", &fixture.text("snapshots/base")]);
    let not_covered: Vec<Value> = result["notCovered"].as_array().unwrap().clone();
    let reported = |name: &str| not_covered.iter().any(|sentence| sentence.as_str().unwrap().contains(name));
    assert!(
        not_covered.len() == 2
            && reported("feed")
            && reported("database postgres: \"quick\": rows of an unlogged table"),
        "{result}"
    );
    fixture.verified("base", &[]);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_closed_maintenance_database_is_reported_with_the_statement() {
    let fixture = Fixture::new("no-maintenance");
    let server = fixture.serve();
    server.sql("template1", "ALTER DATABASE postgres ALLOW_CONNECTIONS false");
    let (reason, message) = fixture.fails(&["pg-dump", "--to", &fixture.text("snapshots/one")]);
    assert!(message.contains("run ALTER DATABASE postgres ALLOW_CONNECTIONS true"), "{reason}: {message}");
    server.sql("template1", "ALTER DATABASE postgres ALLOW_CONNECTIONS true; ");
    server.sql("template1", "DROP DATABASE postgres");
    let (reason, message) = fixture.fails(&["pg-dump", "--to", &fixture.text("snapshots/one")]);
    assert_eq!(reason, "DatabaseMissing");
    assert!(message.contains("run CREATE DATABASE postgres TEMPLATE template0"), "{message}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn sequences_stand_where_they_stood() {
    let (old, new) = (Fixture::new("sequences"), Fixture::new("sequences-restored"));
    let source = old.serve();
    source.sql("postgres", "CREATE DATABASE app TEMPLATE template0");
    source.sql(
        "app",
        "CREATE SEQUENCE \"o'd\\\"\"d\"; SELECT setval('\"o''d\\\"\"d\"', 42); CREATE SEQUENCE fresh START 7; CREATE SEQUENCE given; \
         SELECT setval('given', 5000000000, false); CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, b bigserial); \
         INSERT INTO t (b) VALUES (DEFAULT), (DEFAULT)",
    );
    let values = "SELECT string_agg(sequencename || ' ' || coalesce(last_value, -1), ', ' ORDER BY sequencename) FROM pg_sequences";
    old.dump("one", &[]);
    old.verified("one", &[]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    assert_eq!(target.sql("app", values), source.sql("app", values));
    assert_eq!(target.sql("app", "SELECT nextval('given') || ' ' || nextval('fresh')"), "5000000000 7");
}
