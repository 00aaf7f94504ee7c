//! Snapshots that contain everything, and list what they leave out.

use crate::support::{Fixture, PASSWORD, Server};
use crate::upgrade::Pair;

#[test]
#[ignore = "scripts/test --all servers"]
fn templates_closed_databases_and_those_of_the_server_come_back() {
    let (old, new) = (Fixture::new("all"), Fixture::new("all-restored"));
    let source = old.serve();
    source.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app' CREATEDB");
    for (name, more) in
        [("app", "IS_TEMPLATE true"), ("closed", "ALLOW_CONNECTIONS false CONNECTION LIMIT 7"), ("other", "")]
    {
        source.sql("postgres", &format!("CREATE DATABASE {name} OWNER app TEMPLATE template0"));
        source.sql(name, "CREATE TABLE t AS SELECT n FROM generate_series(1, 10) n");
        if !more.is_empty() {
            source.sql("postgres", &format!("ALTER DATABASE {name} {more}"));
        }
    }
    source.sql("postgres", "CREATE TABLE loose AS SELECT 1 AS a");
    source.sql("template1", "CREATE TABLE of_template AS SELECT 1 AS a");
    source.sql("postgres", "ALTER DATABASE app SET work_mem = '7MB'");
    source.sql("postgres", "ALTER ROLE app SET work_mem = '8MB'");
    source.sql("postgres", "ALTER ROLE app IN DATABASE other SET work_mem = '9MB'");
    source.sql("postgres", "ALTER ROLE ALL SET lock_timeout = '11s'");
    source.sql("postgres", "COMMENT ON DATABASE app IS 'about'; COMMENT ON ROLE app IS 'who'");
    let result = old.dump("one", &[]);
    assert_eq!(result["databaseNames"], serde_json::json!(["app", "closed", "other", "postgres", "template1"]));
    let closed = "SELECT datallowconn || ' ' || datconnlimit FROM pg_database WHERE datname = 'closed'";
    assert_eq!(source.sql("postgres", closed), "false 7");
    assert_eq!(old.verified("one", &[])["tables"], 5);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    for (database, table, rows) in
        [("app", "t", "10"), ("other", "t", "10"), ("postgres", "loose", "1"), ("template1", "of_template", "1")]
    {
        assert_eq!(target.sql(database, &format!("SELECT count(*) FROM {table}")), rows, "{database}");
    }
    assert_eq!(target.sql("postgres", closed), "false 7");
    assert_eq!(target.sql("postgres", "SELECT datistemplate FROM pg_database WHERE datname = 'app'"), "t");
    assert_eq!(target.sql("app", "SHOW work_mem"), "7MB");
    assert_eq!(target.sql("other", "SHOW lock_timeout"), "11s");
    let settings = "SELECT string_agg(array_to_string(setconfig, ' '), ' ' ORDER BY setconfig) FROM pg_db_role_setting";
    assert_eq!(target.sql("postgres", settings), source.sql("postgres", settings));
    let comment = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'app'";
    assert_eq!(target.sql("postgres", comment), "about");
    assert_eq!(new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")])["reused"], true);
}

/// The last snapshot of a deleted server does not depend on which connections its databases accepted.
#[test]
#[ignore = "scripts/test --all servers"]
fn templates_and_closed_databases_are_in_a_snapshot_without_a_server() {
    let (old, new) = (Fixture::new("all-offline"), Fixture::new("all-offline-restored"));
    let mut source = old.serve();
    for (name, more) in [
        ("template", "IS_TEMPLATE true"),
        ("closed", "ALLOW_CONNECTIONS false CONNECTION LIMIT 7"),
        ("shut", "IS_TEMPLATE true ALLOW_CONNECTIONS false"),
        ("zoo", "CONNECTION LIMIT 0"),
    ] {
        source.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        source.sql(name, &format!("CREATE TABLE t AS SELECT '{name}' AS a FROM generate_series(1, 10)"));
        source.sql("postgres", &format!("ALTER DATABASE {name} {more}"));
    }
    for (name, more) in [("template1", "ALLOW_CONNECTIONS false"), ("postgres", "CONNECTION LIMIT 0")] {
        source.sql(name, "CREATE TABLE of_all AS SELECT 1 AS a");
        source.sql("postgres", &format!("ALTER DATABASE {name} {more}"));
    }
    let output = "SELECT string_agg(format('%s %s %s %s', datname, datistemplate, datallowconn, datconnlimit), ', ' ORDER BY datname) \
                FROM pg_database WHERE datname <> 'template0'";
    let before = source.sql("postgres", output);
    source.kill();
    let (data, run) = (old.text("volume/data"), old.text(""));
    let dump = |name: &str| old.dump(name, &["--offline", &data, "--run-dir", run.trim_end_matches('/')]);
    let all = serde_json::json!(["closed", "postgres", "shut", "template", "template1", "zoo"]);
    let taken = dump("one");
    assert_eq!((&taken["databaseNames"], &taken["notCovered"]), (&all, &serde_json::json!([])), "{taken}");
    assert_eq!(taken["rows"], 42);
    assert_eq!(old.verified("one", &[])["tables"], 6);
    // What was opened for it is closed again, and another one has all as it was.
    old.prepared(&[]);
    let mut source = old.start();
    assert_eq!(source.sql("postgres", output), before);
    source.kill();
    assert_eq!(dump("two")["databaseNames"], all);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/two")]);
    assert_eq!(target.sql("postgres", output), before);
    for name in ["closed", "shut", "template1"] {
        target.sql("postgres", &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    }
    for name in ["template", "closed", "shut", "zoo"] {
        let rows = format!("SELECT count(*) FROM t WHERE a = '{name}'");
        assert_eq!(target.sql(name, &rows), "10", "{name}");
    }
    for name in ["template1", "postgres"] {
        assert_eq!(target.sql(name, "SELECT a FROM of_all"), "1", "{name}");
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn other_values_in_as_many_rows_are_found() {
    let fixture = Fixture::new("values");
    let server = fixture.serve();
    server.fill();
    fixture.dump("one", &["--database", "app"]);
    let manifest = fixture.path("snapshots/one/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let at = text.find("\"checksum\": \"").unwrap() + 13;
    let changed = if text.as_bytes()[at] == b'0' { "1" } else { "0" };
    std::fs::write(&manifest, format!("{}{changed}{}", &text[..at], &text[at + 1..])).unwrap();
    let (reason, message) = fixture.not_verified("one", &[]);
    assert_eq!(reason, "CountMismatch", "{message}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_superusers_write_during_an_upgrade_is_found() {
    let pair = Pair::new("superuser-writes", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE TABLE t AS SELECT 118 AS a");
    old.sql("postgres", "CREATE TABLE much AS SELECT n, repeat('x', 500) AS x FROM generate_series(1, 400000) n");
    let _new = pair.empty();
    let mut child = pair.upgrade(&[]).spawn().unwrap();
    // Another superuser's session is admitted, and overrides the read-only default. It writes until the end: what it writes
    // before rows are read is copied like all else.
    let read = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query ~ '^COPY .*much'";
    while old.sql("postgres", read) == "0" {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was seen to read");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    while child.try_wait().unwrap().is_none() {
        old.sql("postgres", "SET transaction_read_only = off; UPDATE t SET a = a + 1");
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(pair.new.reason().0, "CountMismatch");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_an_upgrade_leaves_behind_is_reported_before() {
    let fixture = Fixture::new("survey");
    std::fs::create_dir_all(fixture.path("conf")).unwrap();
    fixture.write("conf/more.conf", "wal_level = logical\nmax_connections = 20\nmax_locks_per_transaction = 10\n");
    let server = fixture.serve();
    server.sql("postgres", "SELECT pg_create_logical_replication_slot('feed', 'pgoutput')");
    let reported = fixture.run(&["pg-survey"])["notCovered"].to_string();
    assert!(reported.contains("feed") && reported.contains("replication slot"), "{reported}");
    server.sql(
        "postgres",
        "DO $$ BEGIN FOR n IN 1..300 LOOP EXECUTE 'CREATE TABLE t' || n || ' (a int)'; COMMIT; END LOOP; END $$",
    );
    let (reason, message) = fixture.fails(&["pg-survey"]);
    assert_eq!(reason, "Unsupported");
    assert!(message.contains("max_locks_per_transaction"), "{message}");
}

/// An owner may set a database to load a missing library: no session with that setting starts. Other settings change how values
/// are read.
fn fill_with_settings(server: &Server<'_>) {
    server.sql("postgres", "CREATE ROLE owner LOGIN PASSWORD 'x'");
    server.sql("postgres", "CREATE DATABASE shop OWNER owner");
    server.sql("shop", "SET ROLE owner; CREATE TABLE t AS SELECT 7 AS a, ARRAY[NULL, 'x'] AS b, XML 'c<d/>' AS c");
    for setting in
        ["local_preload_libraries = 'nothere'", "array_nulls = off", "xmloption = document", "bytea_output = escape"]
    {
        server.sql("postgres", &format!("SET ROLE owner; ALTER DATABASE shop SET {setting}"));
    }
    server.sql("postgres", "ALTER ROLE owner SET local_preload_libraries = 'nothere'");
    assert!(!server.psql("owner", "x", "shop", "SELECT 1").status.success(), "the setting is of effect");
}

fn has_rows(server: &Server<'_>) {
    let mut client = server.client("boss", PASSWORD, "shop");
    client.env("PGOPTIONS", "-c local_preload_libraries=").args(["-c", "SELECT a, b[1] IS NULL, c FROM t"]);
    let output = client.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "7|t|c<d/>", "{output:?}");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn settings_of_an_owners_keep_no_database_from_being_saved() {
    let (old, new) = (Fixture::new("settings"), Fixture::new("settings-restored"));
    let server = old.serve();
    fill_with_settings(&server);
    old.dump("one", &[]);
    old.verified("one", &[]);
    let server = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    has_rows(&server);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn settings_of_an_owners_keep_no_upgrade_from_being_done() {
    let pair = Pair::new("settings-upgrade", "15", "17");
    let old = pair.old.serve();
    fill_with_settings(&old);
    let new = pair.empty();
    pair.upgraded(&[]);
    let new = pair.opened(new);
    pair.new.run(&["pg-finish", "--major"]);
    has_rows(&new);
}
