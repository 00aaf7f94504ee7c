//! A database owner who is an attacker, and `agent pg-init`, which runs again whenever init SQL is edited: by then the
//! application has planted in its database, and in the one that the agent enters first, what it can.

use real_postgres::attacker::{STRIKE, TWINS, settings};

use crate::attacks::{Attack, VICTIM, check_roles, database, gained, known, prepare};
use crate::support::{Fixture, Server, stderr};

/// What only this command could trip over. Each is run by the application's role.
static ON_INIT: [Attack; 12] = [
    ("settings of the database", 13, "$SETTINGS"),
    ("twins of all that the server has", 13, "$TWINS; ALTER DATABASE $DATABASE SET search_path = public, pg_catalog"),
    ("twins and settings", 13, "$TWINS; $SETTINGS"),
    (
        "settings of the role",
        13,
        "ALTER ROLE app SET search_path = public, pg_catalog; ALTER ROLE app SET role = 'app'",
    ),
    (
        "settings of the role here",
        13,
        "ALTER ROLE app IN DATABASE $DATABASE SET standard_conforming_strings = off; ALTER ROLE app IN DATABASE $DATABASE SET search_path = public, pg_catalog",
    ),
    (
        "keys in the ledger",
        13,
        "INSERT INTO multi_operator.ledger SELECT 'x''); SELECT public.strike(); --' || n, E'\\\\', now() FROM generate_series(1, 9) n",
    ),
    (
        "another ledger first",
        13,
        "CREATE SCHEMA app; CREATE VIEW app.ledger AS SELECT public.hit(1)::text AS key; CREATE TABLE public.ledger (key text CHECK (public.ok(1)), checksum text, applied_at timestamptz); ALTER DATABASE $DATABASE SET search_path = app, public, pg_catalog",
    ),
    (
        "ledger of its own, by all means",
        13,
        "DO $$ DECLARE step text; BEGIN FOREACH step IN ARRAY ARRAY['DROP SCHEMA multi_operator CASCADE', 'ALTER SCHEMA multi_operator RENAME TO gone', 'ALTER SCHEMA multi_operator OWNER TO app', 'CREATE RULE r AS ON INSERT TO multi_operator.ledger DO ALSO SELECT public.strike()', 'CREATE TRIGGER t BEFORE INSERT ON multi_operator.ledger FOR EACH ROW EXECUTE FUNCTION public.fire()', 'ALTER TABLE multi_operator.ledger ADD CHECK (public.ok(1))', 'CREATE INDEX ON multi_operator.ledger ((public.hit(1)))', 'CREATE TABLE public.child () INHERITS (multi_operator.ledger)', 'ALTER TABLE multi_operator.ledger ENABLE ROW LEVEL SECURITY', 'CREATE TABLE multi_operator.planted (a int)', 'REASSIGN OWNED BY boss TO app', 'DELETE FROM multi_operator.ledger'] LOOP BEGIN EXECUTE step; RAISE 'done: %', step USING ERRCODE = 'ZZ001'; EXCEPTION WHEN SQLSTATE 'ZZ001' THEN RAISE; WHEN OTHERS THEN NULL; END; END LOOP; END $$",
    ),
    (
        "event triggers",
        13,
        "CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); END'; DO $$ BEGIN CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION e(); RAISE 'made' USING ERRCODE = 'ZZ001'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$",
    ),
    (
        "casts",
        13,
        "CREATE TYPE e AS ENUM ('init', 'again'); CREATE FUNCTION c(e) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.strike(); RETURN 1; END'; CREATE CAST (e AS text) WITH FUNCTION c(e) AS IMPLICIT; CREATE FUNCTION d(text) RETURNS e LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.strike(); RETURN ''init''::e; END'; CREATE CAST (text AS e) WITH FUNCTION d(text) AS IMPLICIT",
    ),
    (
        "default privileges",
        13,
        "ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO victim; DO $$ BEGIN ALTER DEFAULT PRIVILEGES FOR ROLE boss GRANT ALL ON TABLES TO app; RAISE 'done' USING ERRCODE = 'ZZ001'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$",
    ),
    (
        "extension whose script could be misled",
        13,
        "CREATE SCHEMA ext; CREATE FUNCTION ext.textcat(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN 1; END'; CREATE OPERATOR ext.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = ext.textcat); CREATE FUNCTION ext.lower(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN 1; END'; ALTER DATABASE $DATABASE SET search_path = ext, public, pg_catalog",
    ),
];

/// What the edited init SQL of a user's does, as a user might write it.
const SQL: &str = "CREATE TABLE init_made (key text PRIMARY KEY, at timestamptz DEFAULT now());
INSERT INTO init_made VALUES ('a' || 'b');
CREATE SCHEMA IF NOT EXISTS ext;
CREATE EXTENSION citext SCHEMA ext;
CREATE EXTENSION hstore SCHEMA ext;";

/// Those with which their owner cannot create anything either: that only has to be reported.
const OF_NO_USE: [&str; 4] =
    ["settings of the database", "twins and settings", "nothing is to be written", "no time is left"];

fn init(fixture: &Fixture, database: &str, more: &[&str]) -> Result<(), String> {
    let arguments = [&["pg-init", "--database", database, "--owner", "app"], more].concat();
    let output = fixture.agent(&arguments).env("OWNER_PASSWORD", "app").output().unwrap();
    output.status.success().then_some(()).ok_or_else(|| stderr(&output))
}

/// The database that the agent enters before the application's: by mistake, it is the attacker's own.
fn plant_in_maintenance(fixture: &Fixture, server: &Server<'_>) {
    server.sql("postgres", "ALTER DATABASE postgres OWNER TO app; GRANT CREATE ON SCHEMA public TO app");
    server.sql("postgres", VICTIM);
    prepare(fixture, server, "postgres", 99, &format!("{TWINS}; {}", settings("postgres"))).unwrap();
}

#[test]
#[ignore = "scripts/test --all servers"]
fn no_attack_gains_anything_from_init_sql_that_is_run_again() {
    let fixture = Fixture::new("attacked-init");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE victim LOGIN PASSWORD 'victim'");
    // A schema of that name is there from the beginning, so this one cannot be planted; it is refused elsewhere.
    let others = known(&fixture).filter(|(_, (name, ..))| *name != "ledger that is none");
    let attacks: Vec<_> = others.map(|(_, attack)| attack).chain(&ON_INIT).enumerate().collect();
    let first = fixture.write("1.sql", "SELECT 1");
    let mut failed = Vec::new();
    for (number, (name, _, sql)) in &attacks {
        let database = database(*number);
        init(&fixture, &database, &["--sql", &first]).unwrap();
        server.sql(&database, "GRANT CREATE ON SCHEMA public TO app");
        server.sql(&database, VICTIM);
        let sql = sql.replace("$TWINS", TWINS).replace("$SETTINGS", &settings(&database));
        failed.extend(prepare(&fixture, &server, &database, *number, &sql).err().map(|why| format!("{name}: {why}")));
    }
    assert_eq!(failed, [""; 0]);
    plant_in_maintenance(&fixture, &server);
    let edited = fixture.write("2.sql", SQL);
    for (number, (name, ..)) in &attacks {
        let outcome = init(&fixture, &database(*number), &["--ledger-key", "edited", "--sql", &edited]);
        match outcome {
            Ok(()) => {}
            // A timeout between two statements is reported as "canceling statement due to user request" of the next one.
            Err(why)
                if OF_NO_USE.contains(name) && (why.contains("canceling statement") || why.contains("read-only")) => {}
            Err(why) => failed.push(format!("{name}: {why}")),
        }
        failed.extend(gained(&server, &database(*number), name));
    }
    failed.extend(gained(&server, "postgres", "the first database"));
    assert_eq!(failed, [""; 0]);
    check_roles(&fixture, &server, &["app", "victim"]);
}

/// Checks the test itself: a superuser who reads such a database without precautions is attacked successfully.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_superuser_without_care_loses_to_twins() {
    let fixture = Fixture::new("attacked-careless");
    let server = fixture.serve();
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE victim");
    server.sql("postgres", "CREATE DATABASE attack_00 OWNER app TEMPLATE template0");
    server.sql("attack_00", &format!("GRANT CREATE ON SCHEMA public TO app; {VICTIM}"));
    assert!(STRIKE.contains("gained_$NUMBER"));
    let sql = format!("{TWINS}; ALTER DATABASE attack_00 SET search_path = public, pg_catalog");
    prepare(&fixture, &server, "attack_00", 0, &sql).unwrap();
    let robbed = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_roles WHERE rolname = 'gained_0'";
    assert_eq!(server.sql("template1", robbed), "0");
    server.sql("attack_00", "SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'x'::name LIMIT 1");
    assert_eq!(server.sql("template1", robbed), "1");
}
