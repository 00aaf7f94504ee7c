//! Kinds of objects that are created in unusual ways: a snapshot and an upgrade restore them, or name them.

use crate::attacks;
use crate::support::{Fixture, Server};
use crate::upgrade::Pair;

/// Objects without an owner in a dump, or with a form of their own; and those that only a superuser may create, without anything
/// of users.
const MADE: [&str; 8] = [
    "CREATE TEXT SEARCH PARSER split (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype)",
    "CREATE TEXT SEARCH TEMPLATE form (INIT = dsimple_init, LEXIZE = dsimple_lexize)",
    "CREATE TYPE id; CREATE FUNCTION id_in(cstring) RETURNS id LANGUAGE internal IMMUTABLE STRICT AS 'int4in'; \
     CREATE FUNCTION id_out(id) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out'; \
     CREATE TYPE id (INPUT = id_in, OUTPUT = id_out, LIKE = int4); SET ROLE app; CREATE TABLE ids AS SELECT '7'::id AS a",
    "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; \
     CREATE FOREIGN TABLE lines (line text) SERVER files OPTIONS (filename '/etc/hostname')",
    "CREATE FUNCTION seen() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; \
     CREATE EVENT TRIGGER seen ON ddl_command_end EXECUTE FUNCTION seen(); COMMENT ON EVENT TRIGGER seen IS 'why'",
    "CREATE FUNCTION \"fits (in)\"(\"the value\" int, \"as\" text) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT $1 > 0'; SET ROLE app; \
     CREATE TABLE fitted (a int CHECK (\"fits (in)\"(a, 'x'))); INSERT INTO fitted VALUES (5)",
    "SET ROLE app; CREATE FUNCTION written() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; RESET ROLE; \
     REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC",
    // The numbers of the values are others in each database, and so are the partitions that rows belong to.
    "SET ROLE app; CREATE TYPE hue AS ENUM ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'); CREATE SCHEMA parts; \
     CREATE TABLE hues (n int, h hue) PARTITION BY LIST (n); CREATE TABLE hues1 PARTITION OF hues FOR VALUES IN (1) \
     PARTITION BY HASH (h); CREATE TABLE parts.one (h hue, n int); ALTER TABLE hues1 \
     ATTACH PARTITION parts.one FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE parts.two PARTITION OF hues1 \
     FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO hues SELECT 1, h FROM unnest(enum_range(NULL::hue)) h",
];

fn create(server: &Server<'_>) {
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "GRANT CREATE ON SCHEMA public TO app");
    MADE.iter().for_each(|sql| drop(server.sql("app", sql)));
}

fn is_there(server: &Server<'_>) {
    let there = "SELECT concat_ws(' ', (SELECT prsname FROM pg_ts_parser WHERE oid > 16383), (SELECT tmplname FROM pg_ts_template \
                 WHERE oid > 16383), (SELECT a FROM ids), (SELECT a FROM fitted), (SELECT count(*) FROM lines), \
                 (SELECT obj_description(oid, 'pg_event_trigger') FROM pg_event_trigger), (SELECT string_agg(h::text, '' ORDER BY h) \
                 FROM hues), (SELECT relowner::regrole FROM pg_class WHERE relname = 'lines'), \
                 (SELECT proowner::regrole FROM pg_proc WHERE proname = 'written'), has_language_privilege('app', 'plpgsql', 'USAGE'))";
    assert_eq!(server.sql("app", there), "split form 7 5 1 why abcdefghijkl boss app f");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn each_kind_comes_back_from_a_snapshot() {
    let (old, new) = (Fixture::new("kinds"), Fixture::new("kinds-restored"));
    let server = old.serve();
    create(&server);
    is_there(&server);
    let dumped = old.dump("one", &[]);
    assert_eq!(dumped["notCovered"], serde_json::json!([]));
    old.verified("one", &["--jobs", "2"]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    is_there(&target);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn each_kind_survives_an_upgrade() {
    let pair = Pair::new("kinds-upgrade", "15", "17");
    let old = pair.old.serve();
    create(&old);
    let new = pair.empty();
    pair.upgraded(&["--jobs", "2"]);
    is_there(&pair.opened(new));
}

/// A dump of definitions has them until 16, and one of data since 17.
#[test]
#[ignore = "scripts/test --all servers"]
fn what_is_granted_of_large_objects_survives_an_upgrade() {
    for (from, to) in [("13", "15"), ("15", "17")] {
        let pair = Pair::new(&format!("large-grants-{from}"), from, to);
        let old = pair.old.serve();
        old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE reader");
        old.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
        let granted = "SET ROLE app; SELECT lo_from_bytea(70001, '\\x00ff'); GRANT SELECT ON LARGE OBJECT 70001 TO reader; \
                       COMMENT ON LARGE OBJECT 70001 IS 'why'; SELECT lo_create(70002); REVOKE ALL ON LARGE OBJECT 70002 FROM app";
        old.sql("app", granted);
        let all = "SELECT string_agg(concat_ws(' ', oid, lomowner::regrole, lomacl, lo_get(oid), obj_description(oid, 'pg_largeobject')), \
                   ', ' ORDER BY oid) FROM pg_largeobject_metadata";
        let before = old.sql("app", all);
        assert_eq!(before, "70001 app {app=rw/app,reader=r/app} \\x00ff why, 70002 app {} \\x");
        let new = pair.empty();
        pair.upgraded(&[]);
        assert_eq!(pair.opened(new).sql("app", all), before, "{from}");
    }
}

/// What only a superuser can create, and what runs when a superuser creates something: SQL to create it, and the message.
const NAMED: [(&str, &str); 5] = [
    ("CREATE FUNCTION c(int) RETURNS int LANGUAGE internal AS 'int4inc'; ALTER FUNCTION c OWNER TO app", "\"c\""),
    (
        "CREATE AGGREGATE j(text, text) (SFUNC = string_agg_transfn, STYPE = internal, FINALFUNC = string_agg_finalfn); \
         ALTER AGGREGATE j(text, text) OWNER TO app",
        "\"j\"",
    ),
    ("CREATE TYPE t; ALTER TYPE t OWNER TO app", "\"t\""),
    ("CREATE FOREIGN DATA WRAPPER w VALIDATOR check_it", "\"w\""),
    ("CREATE TRUSTED LANGUAGE l HANDLER plpgsql_call_handler VALIDATOR check_of", "\"l\""),
];

#[test]
#[ignore = "scripts/test --all servers"]
fn what_a_load_does_not_make_is_named_and_refused() {
    let pair = Pair::new("kinds-named", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    let _new = pair.empty();
    for (number, (sql, name)) in NAMED.into_iter().enumerate() {
        let database = format!("app{number}");
        old.sql("postgres", &format!("CREATE DATABASE {database} OWNER app TEMPLATE template0"));
        let validators = "CREATE FUNCTION check_it(text[], oid) RETURNS void LANGUAGE plpgsql AS 'BEGIN END'; \
                          CREATE FUNCTION check_of(oid) RETURNS void LANGUAGE plpgsql AS 'BEGIN END'";
        old.sql(&database, validators);
        old.sql(&database, sql);
        let reported = pair.old.dump(&database, &[])["notCovered"].to_string();
        assert!(reported.contains(&name.replace('"', "\\\"")), "{name}: {reported}");
        let (reason, message) = pair.old.fails(&["pg-survey"]);
        assert!(reason == "Unsupported" && message.contains(name), "{name}: {message}");
        assert_eq!(pair.fails(&[]), ("Unsupported".into(), false.into()));
        old.sql("postgres", &format!("DROP DATABASE {database}"));
    }
}

/// A validator that the application has changed since runs without the superuser's privileges.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_validator_is_not_called_by_a_load() {
    let fixture = Fixture::new("validator");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE victim");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "GRANT CREATE ON SCHEMA public TO app");
    let validator = |body: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION public.check_it(text[], oid) RETURNS void LANGUAGE plpgsql AS 'BEGIN {body} END'"
        )
    };
    attacks::prepare(&fixture, &server, "app", 0, &validator("")).unwrap();
    server
        .sql("app", "CREATE FOREIGN DATA WRAPPER w VALIDATOR public.check_it; CREATE SERVER s FOREIGN DATA WRAPPER w");
    let changed = server.psql("app", "app", "app", &validator("PERFORM public.strike();"));
    assert!(changed.status.success(), "{changed:?}");
    fixture.dump("one", &[]);
    let (reason, message) = fixture.not_verified("one", &[]);
    attacks::check_roles(&fixture, &server, &["app", "victim"]);
    assert!(reason == "RestoreFailed" && message.contains("FOREIGN DATA WRAPPER w of the dump"), "{reason}: {message}");
}

/// What a superuser built on a user's domain: when it is created, the user's current code checks a constant in it.
const OF_A_DOMAIN: [(&str, u32); 5] = [
    ("CREATE AGGREGATE made(int) (SFUNC = add, STYPE = d[], INITCOND = '{1}')", 13),
    ("CREATE FUNCTION made(a d[] DEFAULT '{1}'::d[]) RETURNS int LANGUAGE sql AS 'SELECT 1'", 13),
    ("CREATE DOMAIN made AS int CHECK (VALUE = ANY ('{1}'::d[]::int[]))", 13),
    ("CREATE DOMAIN made AS d[] DEFAULT '{1}'::d[]", 13),
    ("CREATE FUNCTION made() RETURNS int[] LANGUAGE sql RETURN '{1}'::d[]", 14),
];

#[test]
#[ignore = "scripts/test --all servers"]
fn a_superusers_constant_of_a_users_domain_is_not_checked_by_a_superuser() {
    let (fixture, new) = (Fixture::new("constants"), Fixture::new("constants-restored"));
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE victim");
    let (marker, major) = (attacks::marker(&fixture), fixture.major().parse::<u32>().unwrap());
    for (number, (sql, _)) in OF_A_DOMAIN.into_iter().filter(|(_, since)| *since <= major).enumerate() {
        let database = format!("app{number}");
        server.sql("postgres", &format!("CREATE DATABASE {database} OWNER app TEMPLATE template0"));
        server.sql(&database, "GRANT CREATE ON SCHEMA public TO app");
        let checks = |step: &str| {
            let sql = format!(
                "CREATE OR REPLACE FUNCTION ok(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS \
                 $$ BEGIN EXECUTE '{step}'; RETURN true; EXCEPTION WHEN OTHERS THEN RETURN true; END $$"
            );
            let output = server.psql("app", "app", &database, &sql);
            assert!(output.status.success(), "{output:?}");
        };
        // Harmless while the superuser itself calls it.
        checks("SELECT 1");
        let domain = "SET ROLE app; CREATE DOMAIN d AS int CHECK (ok(VALUE)); \
                      CREATE FUNCTION add(d[], int) RETURNS d[] LANGUAGE sql AS 'SELECT $1'";
        server.sql(&database, domain);
        server.sql(&database, sql);
        checks(&format!("COPY (SELECT 1) TO ''{marker}''"));
    }
    assert_eq!(fixture.dump("one", &[])["notCovered"], serde_json::json!([]));
    fixture.verified("one", &[]);
    attacks::check_roles(&fixture, &server, &["app", "victim"]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &fixture.text("snapshots/one")]);
    assert!(!fixture.path("marker").exists());
    attacks::check_roles(&new, &target, &["app", "victim"]);
    let owners = "SELECT string_agg(DISTINCT proowner::regrole::text, ' ') FROM pg_proc WHERE proname = 'made'";
    assert_eq!(target.sql("app0", owners), "boss");
}
