//! Languages that only superusers write in, and those that are closed to the owners of functions.

use crate::attacks;
use crate::support::{Fixture, Server};
use crate::upgrade::Pair;

/// Two languages in addition to PL/pgSQL, with its handler: only superusers may write in one of them.
const LANGUAGES: &str = "CREATE FUNCTION handle() RETURNS language_handler LANGUAGE c AS '$libdir/plpgsql', 'plpgsql_call_handler'; \
    CREATE FUNCTION look(oid) RETURNS void LANGUAGE c AS '$libdir/plpgsql', 'plpgsql_validator'; \
    CREATE LANGUAGE wild HANDLER handle VALIDATOR look; CREATE TRUSTED LANGUAGE \"Tame\" HANDLER handle VALIDATOR look";

fn create(server: &Server<'_>, database: &str) {
    server.sql("postgres", &format!("CREATE DATABASE {database} OWNER app TEMPLATE template0"));
    server.sql(database, "GRANT CREATE ON SCHEMA public TO app");
    server.sql(database, LANGUAGES);
    server.sql(database, "SET ROLE app; CREATE DOMAIN d AS int CHECK (VALUE > 0); CREATE TABLE rows (a d)");
}

/// What a superuser built on a user's object in another language: a constant is checked when it is created. And an aggregate
/// whose state is the server's own, which has no constant.
const OF_A_USERS: [&str; 5] = [
    "CREATE FUNCTION f(a d) RETURNS SETOF rows LANGUAGE wild AS 'BEGIN /* no DEFAULT */ RETURN QUERY SELECT a; END'",
    "CREATE FUNCTION g(\"DEFAULT\" d, b text DEFAULT 'LANGUAGE') RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
    "CREATE FUNCTION h(a d) RETURNS bool IMMUTABLE LANGUAGE wild AS 'BEGIN\n    RETURN true; END'; \
     CREATE TABLE checked (a d DEFAULT 1 CHECK (h(a))); INSERT INTO checked VALUES (2); CREATE INDEX ON checked (h(a))",
    "CREATE FUNCTION add(internal, d) RETURNS internal LANGUAGE internal AS 'array_agg_transfn'; \
     CREATE FUNCTION ends(internal, d) RETURNS d[] LANGUAGE internal AS 'array_agg_finalfn'; \
     CREATE AGGREGATE gather(d) (SFUNC = add, STYPE = internal, FINALFUNC = ends, FINALFUNC_EXTRA)",
    "CREATE FUNCTION k(a int DEFAULT 1) RETURNS int LANGUAGE wild AS 'BEGIN RETURN a; END'",
];

fn check(server: &Server<'_>) {
    let found = "SELECT concat_ws(' ', (SELECT a FROM f(3)), g(1), (SELECT a FROM checked), (SELECT gather(a) FROM checked), k(), \
                 (SELECT string_agg(DISTINCT proowner::regrole::text, ' ') FROM pg_proc WHERE pronamespace = 'public'::regnamespace))";
    assert_eq!(server.sql("app", found), "3 1 2 {2} 1 boss");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_superusers_wrote_of_a_users_types_comes_along() {
    let pair = Pair::new("wild", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    create(&old, "app");
    OF_A_USERS.iter().for_each(|sql| drop(old.sql("app", sql)));
    check(&old);
    assert_eq!(pair.old.dump("one", &[])["notCovered"], serde_json::json!([]));
    pair.old.verified("one", &[]);
    let restored = Fixture::of("wild-restored", "15");
    let target = restored.serve();
    restored.run(&["pg-restore", "--snapshot", &pair.old.text("snapshots/one")]);
    check(&target);
    let new = pair.empty();
    pair.upgraded(&[]);
    check(&new);
}

/// When it is created, the application's code checks the constant; and only a superuser may create it.
const NAMED: [(&str, &str); 4] = [
    ("CREATE FUNCTION one(a d[] DEFAULT '{1}'::d[]) RETURNS int LANGUAGE wild AS 'BEGIN RETURN 1; END'", "one"),
    ("CREATE PROCEDURE two(a int DEFAULT 1::d) LANGUAGE wild AS 'BEGIN END'", "two"),
    // By way of a type that is no user's.
    (
        "CREATE DOMAIN e AS d[]; CREATE FUNCTION three(a e DEFAULT '{1}'::e) RETURNS int LANGUAGE wild AS 'BEGIN RETURN 1; END'",
        "three",
    ),
    (
        "CREATE DOMAIN e AS int CHECK (VALUE < 9 AND ok(VALUE)); \
         CREATE FUNCTION four(a e[] DEFAULT '{1}'::e[]) RETURNS int LANGUAGE wild AS 'BEGIN RETURN 1; END'",
        "four",
    ),
];

#[test]
#[ignore = "scripts/test --all servers"]
fn a_constant_that_no_load_may_check_is_named_and_refused() {
    let pair = Pair::new("wild-named", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE victim");
    let _new = pair.empty();
    for (number, (sql, name)) in NAMED.into_iter().enumerate() {
        let database = format!("app{number}");
        create(&old, &database);
        let ok = |body: &str| {
            let sql = format!("CREATE OR REPLACE FUNCTION ok(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS '{body}'");
            assert!(old.psql("app", "app", &database, &sql).status.success());
        };
        ok("BEGIN RETURN true; END");
        old.sql(&database, sql);
        let marker = attacks::marker(&pair.old);
        ok(&format!("BEGIN EXECUTE ''COPY (SELECT 1) TO ''''{marker}''''''; RETURN true; END"));
        let reported = pair.old.dump(&database, &[])["notCovered"].to_string();
        assert!(reported.contains(&format!("\\\"{name}\\\"")), "{name}: {reported}");
        pair.old.not_verified(&database, &[]);
        attacks::check_roles(&pair.old, &old, &["app", "victim"]);
        let (reason, message) = pair.old.fails(&["pg-survey"]);
        assert!(reason == "Unsupported" && message.contains(name), "{name}: {message}");
        assert_eq!(pair.fails(&[]), ("Unsupported".into(), false.into()));
        old.sql("postgres", &format!("DROP DATABASE {database}"));
    }
}

/// In each language that was closed since, its own language included: one that it owns, and may not write in any more. That SQL
/// is closed is in no dump.
const CLOSED: &str = "SET ROLE app; CREATE FUNCTION a() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; \
    CREATE FUNCTION b() RETURNS int LANGUAGE sql AS 'SELECT 2'; \
    CREATE FUNCTION c() RETURNS int LANGUAGE \"Tame\" AS 'BEGIN RETURN 3; END'; \
    CREATE PROCEDURE p(INOUT a int) LANGUAGE \"Tame\" AS 'BEGIN a := 4; END'; \
    CREATE FUNCTION fire() RETURNS trigger LANGUAGE \"Tame\" AS 'BEGIN RETURN NEW; END'; \
    CREATE TRIGGER fires BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION fire(); \
    CREATE VIEW v AS SELECT c() AS a; CREATE MATERIALIZED VIEW m AS SELECT a() + b() + c() AS a; \
    CREATE FUNCTION own() RETURNS int LANGUAGE \"Own\" AS 'BEGIN RETURN 5; END'; \
    RESET ROLE; REVOKE USAGE ON LANGUAGE plpgsql, sql, \"Tame\", \"Own\" FROM PUBLIC; \
    REVOKE USAGE ON LANGUAGE \"Own\" FROM app";

fn check_closed(server: &Server<'_>) {
    let found = "SELECT concat_ws(' ', a(), b(), (SELECT a FROM v), (SELECT a FROM m), own(), (SELECT string_agg(lanname || '=' || \
                 coalesce(lanacl::text, ''), ' ' ORDER BY lanname) FROM pg_language WHERE lanispl AND lanpltrusted AND has_language_privilege('app', oid, 'USAGE')))";
    assert_eq!(server.sql("app", found), "1 2 3 6 5");
    server.sql("app", "INSERT INTO rows VALUES (1); DELETE FROM rows; CALL p(1)");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn functions_in_a_language_that_was_closed_since_come_along() {
    let pair = Pair::new("closed-languages", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    create(&old, "app");
    let own = "CREATE TRUSTED LANGUAGE \"Own\" HANDLER handle VALIDATOR look; ALTER LANGUAGE \"Own\" OWNER TO app";
    old.sql("app", own);
    old.sql("app", CLOSED);
    check_closed(&old);
    assert_eq!(pair.old.dump("one", &[])["notCovered"], serde_json::json!([]));
    pair.old.verified("one", &[]);
    let restored = Fixture::of("closed-languages-restored", "15");
    let target = restored.serve();
    restored.run(&["pg-restore", "--snapshot", &pair.old.text("snapshots/one")]);
    check_closed(&target);
    let new = pair.empty();
    pair.upgraded(&[]);
    check_closed(&new);
}
