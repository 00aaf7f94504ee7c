//! An application that may create in database `postgres`, where the agent has its marker tables: it creates them first, in a way
//! that a superuser who reads or writes them executes its code, or closes a database of another's.

use crate::attacks::{VICTIM, check_roles, gained, prepare};
use crate::support::{Fixture, Server, stderr};

/// A name, and SQL that creates the marker table of databases that were opened. The last one was taken over by a superuser.
const PLANTED: [(&str, &str); 6] = [
    (
        "index with a constant",
        "CREATE TABLE multi_operator.opened (database text PRIMARY KEY, connection_limit int NOT NULL); \
         CREATE INDEX ON multi_operator.opened ((connection_limit + public.hit(1)))",
    ),
    (
        "view",
        "CREATE VIEW multi_operator.opened AS SELECT 'victims'::text AS database, public.hit(0) AS connection_limit",
    ),
    (
        "trigger",
        "CREATE TABLE multi_operator.opened (database text PRIMARY KEY, connection_limit int NOT NULL); \
         CREATE FUNCTION public.gone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN OLD; END'; \
         CREATE TRIGGER t BEFORE DELETE ON multi_operator.opened FOR EACH ROW EXECUTE FUNCTION public.gone(); \
         INSERT INTO multi_operator.opened VALUES ('attack_00', 0)",
    ),
    (
        "rule",
        "CREATE TABLE multi_operator.opened (database text PRIMARY KEY, connection_limit int NOT NULL); \
         CREATE RULE r AS ON DELETE TO multi_operator.opened DO ALSO SELECT public.strike()",
    ),
    (
        "row on another's database",
        "CREATE TABLE multi_operator.opened (database text PRIMARY KEY, connection_limit int NOT NULL); \
         INSERT INTO multi_operator.opened VALUES ('attack_00', 0)",
    ),
    (
        "taken over",
        "CREATE TABLE multi_operator.opened (database text PRIMARY KEY, connection_limit int NOT NULL); \
         CREATE INDEX ON multi_operator.opened ((connection_limit + public.hit(1)))",
    ),
];

/// A server whose database `postgres` is an attacker's, and a closed database whose dump needs a marker.
fn serve(fixture: &Fixture) -> Server<'_> {
    let server = fixture.serve();
    for role in ["app", "victim"] {
        server.sql("postgres", &format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'"));
    }
    server.sql("postgres", "ALTER DATABASE postgres OWNER TO app; GRANT CREATE ON SCHEMA public TO app");
    server.sql("postgres", VICTIM);
    server.sql("postgres", "CREATE DATABASE attack_00 OWNER victim TEMPLATE template0");
    server.sql("postgres", "CREATE DATABASE closed OWNER victim TEMPLATE template0 ALLOW_CONNECTIONS false");
    prepare(fixture, &server, "postgres", 99, "SELECT 1").unwrap();
    server
}

fn plant(server: &Server<'_>, sql: &str) {
    let planted = server.psql("app", "app", "postgres", &format!("CREATE SCHEMA multi_operator; {sql}"));
    assert!(planted.status.success(), "{}", stderr(&planted));
}

fn check(fixture: &Fixture, server: &Server<'_>) {
    check_roles(fixture, server, &["app", "victim"]);
    assert_eq!(gained(server, "postgres", "markers"), [""; 0]);
    let open = "SELECT datallowconn || ' ' || datconnlimit FROM pg_catalog.pg_database WHERE datname = 'attack_00'";
    assert_eq!(server.sql("template1", open), "true -1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn planted_markers_are_neither_read_nor_written() {
    let fixture = Fixture::new("attacked-markers");
    let server = serve(&fixture);
    for (name, sql) in PLANTED {
        plant(&server, sql);
        if name == "taken over" {
            server.sql("postgres", "ALTER SCHEMA multi_operator OWNER TO boss");
            server.sql("postgres", "ALTER TABLE multi_operator.opened OWNER TO boss");
        }
        let (reason, message) = fixture.fails(&["pg-dump", "--to", &fixture.text("snapshots/one")]);
        assert_eq!(reason, "ForeignData", "{name}: {message}");
        assert!(message.contains("rename the schema, or drop it"), "{message}");
        check(&fixture, &server);
        server.sql("template1", "ALTER DATABASE postgres SET client_min_messages = error");
        server.sql("postgres", "DROP SCHEMA multi_operator CASCADE");
    }
    // What is in the schema is a user's: it is not left out in silence.
    plant(&server, "CREATE TABLE multi_operator.mine (a int)");
    assert_eq!(fixture.fails(&["pg-dump", "--to", &fixture.text("snapshots/one")]).0, "ForeignData");
    server.sql("postgres", "DROP SCHEMA multi_operator CASCADE");
    fixture.dump("one", &[]);
    check(&fixture, &server);
    // The agent's own, which it has created by now, work again.
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM multi_operator.opened"), "0");
    fixture.dump("two", &[]);
    fixture.verified("two", &[]);
}

/// What is in the way is named, and what to do about it.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_schema_of_that_name_is_named_or_what_is_left_out_with_it() {
    let fixture = Fixture::new("named-markers");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app; CREATE SCHEMA multi_operator AUTHORIZATION app");
    let refused = |reported: &str| {
        let (reason, message) = fixture.fails(&["pg-dump", "--to", &fixture.text("snapshots/one")]);
        assert_eq!(reason, "ForeignData", "{message}");
        for reported in [reported, "ALTER SCHEMA multi_operator RENAME TO", "connect to database \"postgres\""] {
            assert!(message.contains(reported), "{message}");
        }
        server.sql("postgres", "SET client_min_messages = error; DROP SCHEMA multi_operator CASCADE");
    };
    refused("the schema multi_operator of database \"postgres\" belongs to the role \"app\"");
    // Of a table without columns the catalogs say nothing, which is no yes.
    server.sql("postgres", "CREATE SCHEMA multi_operator; CREATE TABLE multi_operator.opened ()");
    refused("the table multi_operator.opened of database \"postgres\" differs from the one that the operator creates");
    // A superuser's own would be taken for the operator's, and left out.
    server.sql("postgres", "CREATE SCHEMA multi_operator; CREATE TABLE multi_operator.mine (a int)");
    let reported = fixture.dump("one", &[])["notCovered"].to_string();
    assert!(reported.contains("mine") && reported.contains("is in schema multi_operator"), "{reported}");
    server.sql("postgres", "DROP TABLE multi_operator.mine");
    server.sql("postgres", "CREATE DATABASE closed TEMPLATE template0 ALLOW_CONNECTIONS false");
    assert_eq!(fixture.dump("two", &[])["notCovered"], serde_json::json!([]), "the marker tables are the operator's");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_superusers_grant_by_default_is_not_granted_on_markers() {
    let fixture = Fixture::new("granted-markers");
    let server = serve(&fixture);
    server.sql("postgres", "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO app, PUBLIC");
    server.sql("postgres", "ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO app");
    fixture.dump("one", &[]);
    let written = server.psql("app", "app", "postgres", "INSERT INTO multi_operator.opened VALUES ('attack_00', 0)");
    assert!(stderr(&written).contains("permission denied"), "{}", stderr(&written));
    fixture.dump("two", &[]);
    check(&fixture, &server);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_physical_verification_does_not_write_planted_markers() {
    let fixture = Fixture::new("attacked-physical");
    let server = serve(&fixture);
    for (at, (name, sql)) in PLANTED.into_iter().enumerate() {
        if name == "view" {
            continue;
        }
        plant(&server, sql);
        server.sql("postgres", "CREATE RULE i AS ON INSERT TO multi_operator.opened DO ALSO SELECT public.strike()");
        let name = format!("base-{at}");
        fixture.run(&["pg-basebackup", "--to", &fixture.text(&format!("snapshots/{name}"))]);
        fixture.verified(&name, &[]);
        check(&fixture, &server);
        server.sql("postgres", "SET client_min_messages = error; DROP SCHEMA multi_operator CASCADE");
    }
}

/// What a restore reads there it even executes.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_restore_does_not_execute_planted_markers() {
    let (old, new) = (Fixture::new("markers-source"), Fixture::new("markers-target"));
    let source = old.serve();
    source.sql("postgres", "CREATE DATABASE other TEMPLATE template0");
    old.dump("one", &["--database", "other"]);
    let target = serve(&new);
    for sql in [
        "CREATE TABLE multi_operator.lent (role text PRIMARY KEY, undo text NOT NULL); \
         INSERT INTO multi_operator.lent VALUES ('app', 'ALTER ROLE app SUPERUSER')",
        "CREATE TABLE multi_operator.restore (database text PRIMARY KEY, snapshot text NOT NULL, finished boolean NOT NULL, \
         at timestamptz NOT NULL DEFAULT now()); CREATE INDEX ON multi_operator.restore ((length(snapshot) + public.hit(1)))",
    ] {
        plant(&target, sql);
        let (reason, message) = new.fails(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
        assert_eq!(reason, "ForeignData", "{message}");
        check(&new, &target);
        target.sql("postgres", "SET client_min_messages = error; DROP SCHEMA multi_operator CASCADE");
    }
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    check(&new, &target);
}

/// A ledger that a superuser took over from the application keeps what the application attached to it.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_ledger_that_was_taken_over_is_not_read() {
    let fixture = Fixture::new("attacked-ledger");
    let server = serve(&fixture);
    plant(
        &server,
        "CREATE TABLE multi_operator.ledger (key text PRIMARY KEY, checksum text NOT NULL, \
         applied_at timestamptz NOT NULL DEFAULT now()); INSERT INTO multi_operator.ledger VALUES ('a', 'b'); \
         CREATE INDEX ON multi_operator.ledger ((length(key) + public.hit(1)))",
    );
    server.sql("postgres", "ALTER SCHEMA multi_operator OWNER TO boss");
    server.sql("postgres", "ALTER TABLE multi_operator.ledger OWNER TO boss");
    fixture.run(&["pg-basebackup", "--to", &fixture.text("snapshots/base")]);
    check(&fixture, &server);
}
