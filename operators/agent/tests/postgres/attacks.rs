//! A database owner who is an attacker. Each attack has a database of its own, in which another role has data, too; then
//! the test does everything to it that the operator does, and no role may have gained a privilege, nor changed another's objects.

use std::fs;

use real_postgres::attacker::STRIKE;

use crate::attacks_by_names::NAMES;
use crate::attacks_by_rows::ROWS;
use crate::attacks_by_types::TYPES;
use crate::support::{Fixture, PASSWORD, Server, stderr};
use crate::upgrade::Pair;

/// A name, the lowest major version that knows the means, and SQL in which `strike()` tries to gain privileges, and `hit(n)` and
/// `ok(n)` call it and claim to be immutable.
pub type Attack = (&'static str, u32, &'static str);

/// What another role has in the same database. Its function does as its owner may, for those whom it lets.
pub const VICTIM: &str = "CREATE SCHEMA victims AUTHORIZATION victim; SET ROLE victim;
CREATE TABLE victims.secrets (value int); INSERT INTO victims.secrets VALUES (100), (18);
CREATE FUNCTION victims.steal() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'UPDATE victims.secrets SET value = 0';
REVOKE ALL ON FUNCTION victims.steal() FROM PUBLIC; GRANT USAGE ON SCHEMA victims TO PUBLIC";

pub fn database(number: usize) -> String {
    format!("attack_{number:02}")
}

pub fn marker(fixture: &Fixture) -> String {
    fixture.text("marker")
}

pub fn known(fixture: &Fixture) -> impl Iterator<Item = (usize, &'static Attack)> {
    let major: u32 = fixture.major().parse().unwrap();
    ROWS.iter().chain(&TYPES).chain(&NAMES).enumerate().filter(move |(_, (_, since, _))| *since <= major)
}

/// What the application and its victim have, attacks and all.
fn plant(fixture: &Fixture, server: &Server<'_>) {
    for role in ["app", "victim"] {
        server.sql("postgres", &format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'"));
    }
    let mut failed = Vec::new();
    for (number, (name, _, sql)) in known(fixture) {
        let database = database(number);
        server.sql("postgres", &format!("CREATE DATABASE {database} OWNER app TEMPLATE template0"));
        server.sql(&database, "GRANT CREATE ON SCHEMA public TO app");
        server.sql(&database, VICTIM);
        failed.extend(prepare(fixture, server, &database, number, sql).err().map(|why| format!("{name}: {why}")));
    }
    assert!(failed.is_empty(), "{failed:#?}");
    check(fixture, server, &["app", "victim"]);
}

/// The application prepares an attack in a database.
pub fn prepare(fixture: &Fixture, server: &Server<'_>, database: &str, number: usize, sql: &str) -> Result<(), String> {
    for text in [STRIKE, sql] {
        let text = text.replace("$DATABASE", database).replace("$MARKER", &marker(fixture));
        let text = text.replace("$NUMBER", &number.to_string());
        // Failures within an attack cause hundreds of warnings before the error that counts.
        let output = server.psql("app", "app", database, &format!("SET client_min_messages = error; {text}"));
        if !output.status.success() {
            return Err(stderr(&output));
        }
    }
    Ok(())
}

/// Nobody gained a right, and nothing of another's was touched.
fn check(fixture: &Fixture, server: &Server<'_>, roles: &[&str]) {
    check_roles(fixture, server, roles);
    let wrong = known(fixture).flat_map(|(number, (name, ..))| gained(server, &database(number), name));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}

/// The same of what all databases share.
pub fn check_roles(fixture: &Fixture, server: &Server<'_>, roles: &[&str]) {
    assert!(!fixture.path("marker").exists(), "a program was run, or a file written");
    let list = |sql: &str| server.sql("postgres", &format!("SET search_path = ''; {sql}"));
    assert_eq!(list("SELECT pg_catalog.string_agg(rolname, ' ') FROM pg_catalog.pg_roles WHERE rolsuper"), "boss");
    let others = "SELECT pg_catalog.string_agg(rolname, ' ' ORDER BY rolname) FROM pg_catalog.pg_roles \
                  WHERE rolname !~ '^pg_' AND rolname <> 'boss'";
    assert_eq!(list(others), roles.join(" "));
    let gained = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_roles WHERE rolname <> 'boss' AND (rolcreaterole OR rolcreatedb \
                  OR rolreplication OR rolbypassrls)";
    assert_eq!(list(gained), "0");
    let members = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles r ON r.oid = m.member \
                   WHERE r.rolname !~ '^pg_'";
    assert_eq!(list(members), "0");
}

/// What an attack has gained in its database, whose owner still gets in.
pub fn gained(server: &Server<'_>, database: &str, name: &str) -> Vec<String> {
    let asked = |sql: &str| server.sql(database, &format!("SET ROLE NONE; SET search_path = ''; {sql}"));
    // By COPY, which evaluates nothing: these tests are no superuser that could be attacked.
    let rows = asked("COPY victims.secrets TO STDOUT");
    // The constructors of a range belong to the first superuser, whichever role creates its type.
    let objects = asked(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
         JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
         WHERE n.nspname = 'victims' OR (n.nspname = 'public' AND p.proowner = 10 AND l.lanname <> 'internal')",
    );
    let owners = asked(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = 'public' AND pg_catalog.pg_get_userbyid(c.relowner) <> 'app'",
    );
    let mut wrong = Vec::new();
    if (rows.as_str(), objects.as_str(), owners.as_str()) != ("100\n18", "1", "0") {
        wrong.push(format!("{name}: {rows:?} {objects} {owners}"));
    }
    let log_in = server.psql("app", "app", database, "SELECT 1");
    if !log_in.status.success() {
        wrong.push(format!("{name}: {}", stderr(&log_in)));
    }
    wrong
}

#[test]
#[ignore = "scripts/test --all servers"]
fn no_attack_gains_anything_from_a_snapshot_its_verification_or_its_restore() {
    let (old, new) = (Fixture::new("attacked"), Fixture::new("attacked-restored"));
    let source = old.serve();
    plant(&old, &source);
    let dumped = old.dump("one", &[]);
    assert_eq!(dumped["databaseNames"].as_array().unwrap().len(), known(&old).count(), "{dumped}");
    check(&old, &source, &["app", "victim"]);
    old.verified("one", &["--jobs", "2"]);
    check(&old, &source, &["app", "victim"]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one"), "--jobs", "2"]);
    assert!(!old.path("marker").exists());
    check(&new, &target, &["app", "victim"]);
    new.run(&["pg-finish", "--major"]);
    check(&new, &target, &["app", "victim"]);
    // Once more, as scheduled snapshots are.
    new.dump("two", &[]);
    check(&new, &target, &["app", "victim"]);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn no_attack_gains_anything_from_an_upgrade() {
    let pair = Pair::new("attacked-upgrade", "15", "17");
    let old = pair.old.serve();
    plant(&pair.old, &old);
    let new = pair.empty();
    pair.upgraded(&["--jobs", "2"]);
    assert!(!pair.old.path("marker").exists());
    check_closed(&pair.old, &new);
    let new = pair.opened(new);
    pair.new.run(&["pg-finish", "--major"]);
    check(&pair.old, &new, &["app", "victim"]);
}

/// The same for a closed server: the roles that it admitted for the load are blocked again.
fn check_closed(fixture: &Fixture, server: &Server<'_>) {
    let refused = server.psql("app", "app", &database(0), "SELECT 1");
    assert!(stderr(&refused).contains("no pg_hba.conf entry"), "{}", stderr(&refused));
    assert_eq!(server.sql("template1", "SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper"), "boss");
    assert!(!fixture.path("marker").exists());
}

/// The canonical function of a range runs for each literal. PostgreSQL takes none in PL/pgSQL, but a superuser can write one
/// into its catalog.
#[test]
#[ignore = "scripts/test --all servers"]
fn what_cannot_be_loaded_safely_is_named() {
    let pair = Pair::new("canonical", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    old.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    let range = "CREATE TYPE r AS RANGE (SUBTYPE = int); ALTER TYPE r OWNER TO app; \
        CREATE FUNCTION c(r) RETURNS r LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END'; ALTER FUNCTION c(r) OWNER TO app; \
        UPDATE pg_catalog.pg_range SET rngcanonical = 'c'::regproc WHERE rngtypid = 'r'::regtype";
    old.sql("app", range);
    let reported = pair.old.dump("one", &[])["notCovered"].to_string();
    assert!(reported.contains("canonical function is not C"), "{reported}");
    let _new = pair.empty();
    assert_eq!(pair.fails(&[]), ("Unsupported".into(), false.into()));
    let survey = pair.old.fails(&["pg-survey"]);
    assert_eq!(survey.0, "Unsupported");
}

/// A superuser's object that calls a user's code runs with the privileges of neither.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_superusers_table_does_not_lend_its_privileges() {
    let (old, new) = (Fixture::new("lent"), Fixture::new("lent-restored"));
    let source = old.serve();
    plant(&old, &source);
    let database = database(0);
    // Harmless while the superuser itself calls it.
    let function = |body: &str| {
        let sql =
            format!("CREATE OR REPLACE FUNCTION public.f(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS '{body}'");
        assert!(source.psql("app", "app", &database, &sql).status.success());
    };
    function("BEGIN RETURN true; END");
    source.sql(&database, "CREATE SCHEMA bosses; CREATE TABLE bosses.t (a int CHECK (public.f(a)))");
    source.sql(&database, "INSERT INTO bosses.t VALUES (1)");
    function("BEGIN PERFORM public.strike(); RETURN true; END");
    old.dump("one", &[]);
    old.verified("one", &[]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    check(&new, &target, &["app", "victim"]);
    assert_eq!(
        target.sql(&database, "SELECT tableowner FROM pg_tables WHERE tablename = 't' AND schemaname = 'bosses'"),
        "boss"
    );
}

/// A row that looks like the end of an answer ends none, and passwords lent for the load are invalid afterward.
#[test]
#[ignore = "scripts/test --all servers"]
fn what_was_lent_is_given_back() {
    let (old, new) = (Fixture::new("given"), Fixture::new("given-back"));
    let source = old.serve();
    source.sql("postgres", "CREATE ROLE app NOLOGIN CONNECTION LIMIT 3 VALID UNTIL '2001-01-01'");
    source.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0 CONNECTION LIMIT 0");
    source.sql("app", "CREATE TABLE t (a int); ALTER TABLE t OWNER TO app; INSERT INTO t VALUES (1)");
    old.dump("one", &[]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    let role = "SELECT rolcanlogin || ' ' || rolconnlimit || ' ' || (rolpassword IS NULL) || ' ' || (rolvaliduntil < now()) \
                FROM pg_authid WHERE rolname = 'app'";
    assert_eq!(target.sql("postgres", role), "false 3 true true");
    assert_eq!(target.sql("postgres", "SELECT datconnlimit FROM pg_database WHERE datname = 'app'"), "0");
    assert_eq!(target.sql("postgres", "SELECT count(*) FROM pg_roles WHERE rolname ~ '^multi_operator'"), "0");
    assert_eq!(target.sql("postgres", "SELECT count(*) FROM multi_operator.lent"), "0");
    let log = fs::read_to_string(new.path("server.log")).unwrap();
    assert!(!log.contains("SCRAM-SHA-256") && !log.contains(PASSWORD));
}
