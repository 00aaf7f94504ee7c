//! Foreign tables: of files, which only some roles may name, and of servers that do not answer.

use crate::support::{Fixture, Server, stderr};
use crate::upgrade::Pair;

/// Of a server that is not there: a view that was filled, one of that one, and one that needs no server.
const UNANSWERED: &str = "CREATE EXTENSION postgres_fdw; CREATE SERVER gone FOREIGN DATA WRAPPER postgres_fdw \
    OPTIONS (host '127.0.0.1', port '1'); CREATE USER MAPPING FOR PUBLIC SERVER gone OPTIONS (password 'x'); \
    GRANT USAGE ON FOREIGN SERVER gone TO app; SET ROLE app; CREATE FOREIGN TABLE far (a int) SERVER gone; \
    CREATE MATERIALIZED VIEW a_far AS SELECT a FROM far WITH NO DATA; \
    CREATE MATERIALIZED VIEW b_near AS SELECT 7 AS a; \
    CREATE MATERIALIZED VIEW c_farther AS SELECT a FROM a_far WITH NO DATA; CREATE UNIQUE INDEX ON c_farther (a); \
    RESET ROLE; UPDATE pg_class SET relispopulated = true WHERE relname IN ('a_far', 'c_farther')";

fn create(server: &Server<'_>, sql: &str) {
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "GRANT CREATE ON SCHEMA public TO app");
    server.sql("app", sql);
}

fn check_unfilled(server: &Server<'_>) {
    let filled = "SELECT string_agg(concat_ws(' ', relname, relispopulated, relowner::regrole), ', ' ORDER BY relname) \
                  FROM pg_class WHERE relkind = 'm'";
    assert_eq!(server.sql("app", filled), "a_far f app, b_near t app, c_farther f app");
    assert_eq!(server.sql("app", "SELECT a FROM b_near"), "7");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_view_of_a_server_that_does_not_answer_comes_back_unfilled() {
    let (old, new) = (Fixture::new("unanswered"), Fixture::new("unanswered-restored"));
    let server = old.serve();
    create(&server, UNANSWERED);
    old.dump("one", &[]);
    let verified = old.verify("one", &["--jobs", "2"]).output().unwrap();
    let output = stderr(&verified);
    assert!(
        verified.status.success() && output.contains("stay unfilled") && output.contains("public.a_far (and 1 more)"),
        "{output}"
    );
    let target = new.serve();
    let restored = new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    let reported = restored["warnings"].to_string();
    assert!(
        reported.contains("stay unfilled") && reported.contains("a_far") && reported.contains("and 1 more"),
        "{reported}"
    );
    check_unfilled(&target);
}

/// The old server still has the contents of the view: the upgrade is rolled back, and reports the view.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_view_of_a_server_that_does_not_answer_is_lost_by_no_upgrade() {
    let pair = Pair::new("unanswered-upgrade", "15", "17");
    let old = pair.old.serve();
    create(&old, UNANSWERED);
    let _new = pair.empty();
    assert_eq!(pair.fails(&[]), ("RestoreFailed".into(), true.into()));
    let message = pair.new.reason().1;
    assert!(message.contains("REFRESH MATERIALIZED VIEW \"public\".\"a_far\""), "{message}");
}

const FILES: &str = "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; \
    CREATE FOREIGN TABLE lines (line text CHECK (line <> '')) SERVER files OPTIONS (filename '/etc/hostname'); \
    CREATE FOREIGN TABLE said (line text) SERVER files OPTIONS (program 'echo said'); \
    ALTER FOREIGN TABLE lines OWNER TO app; ALTER FOREIGN TABLE said OWNER TO app; \
    SET ROLE app; CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
    CREATE TRIGGER fires AFTER INSERT ON lines EXECUTE FUNCTION fire()";

fn check_files(server: &Server<'_>) {
    let there = "SELECT concat_ws(' ', (SELECT count(*) FROM lines), (SELECT line FROM said), (SELECT string_agg(relowner::regrole::text, \
                 ' ') FROM pg_class WHERE relkind = 'f'), (SELECT count(*) FROM pg_trigger), pg_has_role('app', \
                 'pg_read_server_files', 'MEMBER'))";
    assert_eq!(server.sql("app", there), "1 said app app 1 f");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_table_of_a_file_that_its_owner_may_not_name_comes_along() {
    let pair = Pair::new("files", "15", "17");
    let old = pair.old.serve();
    create(&old, FILES);
    check_files(&old);
    assert_eq!(pair.old.dump("one", &[])["notCovered"], serde_json::json!([]));
    pair.old.verified("one", &[]);
    let restored = Fixture::of("files-restored", "15");
    let target = restored.serve();
    restored.run(&["pg-restore", "--snapshot", &pair.old.text("snapshots/one")]);
    check_files(&target);
    let new = pair.empty();
    pair.upgraded(&[]);
    check_files(&new);
}

/// Tables of files that no role may make for the load: with something in them that the application wrote.
const NAMED: [(&str, &str); 4] = [
    (
        "CREATE DOMAIN d AS text; ALTER DOMAIN d OWNER TO app; CREATE FOREIGN TABLE odd (line d) SERVER files \
         OPTIONS (filename '/etc/hostname'); ALTER FOREIGN TABLE odd OWNER TO app",
        "odd",
    ),
    (
        "CREATE DOMAIN d AS text; ALTER DOMAIN d OWNER TO app; CREATE FOREIGN TABLE bosses (line d) SERVER files \
         OPTIONS (filename '/etc/hostname')",
        "bosses",
    ),
    (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE FOREIGN TABLE fired (line text) \
         SERVER files OPTIONS (program 'true'); CREATE TRIGGER t AFTER INSERT ON fired EXECUTE FUNCTION f()",
        "fired",
    ),
    (
        "CREATE TABLE whole (line text) PARTITION BY LIST (line); ALTER TABLE whole OWNER TO app; CREATE FOREIGN TABLE part PARTITION OF \
         whole DEFAULT SERVER files OPTIONS (filename '/etc/hostname'); ALTER FOREIGN TABLE part OWNER TO app",
        "part",
    ),
];

#[test]
#[ignore = "scripts/test --all servers"]
fn a_table_of_a_file_that_no_load_makes_is_named_and_refused() {
    let pair = Pair::new("files-named", "15", "17");
    let old = pair.old.serve();
    old.sql(
        "postgres",
        "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE reader; GRANT pg_read_server_files TO reader",
    );
    let _new = pair.empty();
    let create = |database: &str, sql: &str| {
        old.sql("postgres", &format!("CREATE DATABASE {database} OWNER app TEMPLATE template0"));
        old.sql(database, "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw");
        old.sql(database, sql);
    };
    for (number, (sql, name)) in NAMED.into_iter().enumerate() {
        let database = format!("app{number}");
        create(&database, sql);
        let reported = pair.old.dump(&database, &[])["notCovered"].to_string();
        assert!(reported.contains(&format!("\\\"{name}\\\"")), "{name}: {reported}");
        let (reason, message) = pair.old.fails(&["pg-survey"]);
        assert!(reason == "Unsupported" && message.contains(name), "{name}: {message}");
        assert_eq!(pair.fails(&[]), ("Unsupported".into(), false.into()));
        old.sql("postgres", &format!("DROP DATABASE {database}"));
    }
    // Who may name files makes its own, whatever is in them.
    create(
        "readers",
        "CREATE DOMAIN d AS text; ALTER DOMAIN d OWNER TO app; GRANT USAGE ON FOREIGN SERVER files TO reader; \
         GRANT CREATE ON SCHEMA public TO reader; SET ROLE reader; CREATE FOREIGN TABLE mine (line d) SERVER files \
         OPTIONS (filename '/etc/hostname')",
    );
    assert_eq!(pair.old.dump("readers", &[])["notCovered"], serde_json::json!([]));
    pair.upgraded(&[]);
}
