//! Random databases, many to a server, through all that the operator does to them: what pg_dump says of their definitions, and
//! the sums of their rows, are the same afterwards.

use std::collections::BTreeMap;

use proptest::prelude::Rng;
use proptest::test_runner::TestRng;

use crate::random_objects::OBJECTS;
use crate::support::{Place, Server, stderr};
use crate::upgrade::Pair;

/// How many databases a server has.
const A_SERVER: usize = 25;
/// How many servers there are: with `PROPTEST_CASES`, for a thousand databases in all.
const SERVERS: usize = 2;
const THOROUGH: usize = 40;
/// Who owns databases and what is in them.
const ROLES: [&str; 4] = ["app", "\"O'dd \"\"role\"\"\"", "\"ünï\"", "\"select\""];
/// How a database begins, and what is set of it.
const ENCODINGS: [&str; 4] = [
    "",
    " ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
    " ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'",
    " ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
];
const SETTINGS: [&str; 7] = [
    "SET work_mem = '5MB'",
    "SET search_path = odd, public",
    "SET default_transaction_read_only = on",
    "SET \"my.own\" = 'it''s'",
    "IS_TEMPLATE true",
    "CONNECTION LIMIT 3",
    "ALLOW_CONNECTIONS false",
];

/// What draws, always the same for the same seed.
pub struct Dice(TestRng);

impl Dice {
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % end as u64).unwrap()
    }

    fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

/// The name of a database in SQL, and as it is.
fn name(number: usize) -> (String, String) {
    let plain = match number % 5 {
        0 => format!("Odd \"{number}'s"),
        1 => format!("ünï {number}"),
        _ => format!("db_{number}"),
    };
    (format!("\"{}\"", plain.replace('"', "\"\"")), plain)
}

fn roles(server: &Server<'_>) {
    for role in ROLES {
        server
            .sql("postgres", &format!("CREATE ROLE {role} LOGIN PASSWORD 'p' CREATEDB; COMMENT ON ROLE {role} IS 'r'"));
    }
    server.sql("postgres", "CREATE ROLE readers NOLOGIN; GRANT readers TO app; ALTER ROLE app SET lock_timeout = '7s'");
}

/// Makes one database; returns what was made, for the message of a failure.
fn make(server: &Server<'_>, dice: &mut Dice, number: usize) -> String {
    let ((quoted, plain), owner) = (name(number), *dice.of(&ROLES));
    let encoding = dice.of(&ENCODINGS);
    server.sql("postgres", &format!("CREATE DATABASE {quoted} OWNER {owner} TEMPLATE template0{encoding}"));
    server.sql(&plain, &format!("GRANT CREATE ON SCHEMA public TO {owner}; CREATE SCHEMA odd AUTHORIZATION {owner}"));
    let mut story = format!("{plain} of {owner}{encoding}:");
    for object in 0..6 + dice.below(12) {
        let kind = dice.below(OBJECTS.len());
        let (rights, sql) = OBJECTS[kind];
        let (rows, schema) = (dice.below(200), *dice.of(&["public", "odd"]));
        let sql = sql.replace("$N", &object.to_string()).replace("$ROWS", &rows.to_string()).replace("$S", schema);
        let role = if rights == "owner" { format!("SET ROLE {owner}; ") } else { String::new() };
        let output = server.psql("boss", crate::support::PASSWORD, &plain, &format!("{role}{sql}"));
        // Not every encoding has each letter.
        let excused = stderr(&output).contains("encoding");
        assert!(output.status.success() || excused, "{story} {sql}: {}", stderr(&output));
        story.push_str(&format!(" {kind}"));
    }
    for _ in 0..dice.below(3) {
        let setting = dice.of(&SETTINGS);
        server.sql("postgres", &format!("ALTER DATABASE {quoted} {setting}"));
        story.push_str(&format!(", {setting}"));
    }
    server.sql("postgres", &format!("COMMENT ON DATABASE {quoted} IS 'number {number}'"));
    story
}

/// What databases hold: settings, definitions, and sums of rows, by the name of the database.
fn content(place: &Place, server: &Server<'_>) -> BTreeMap<String, Vec<String>> {
    let databases = server.sql("postgres", "SELECT datname FROM pg_database WHERE datname !~ '^template' ORDER BY 1");
    let mut all = BTreeMap::new();
    for database in databases.lines() {
        all.insert(database.to_owned(), of(place, server, database));
    }
    let globals = "SELECT string_agg(concat_ws(' ', rolname, rolcanlogin, rolcreatedb, rolconfig, rolpassword IS NULL, \
                   shobj_description(oid, 'pg_authid')), ';' ORDER BY rolname) FROM pg_authid WHERE rolname !~ '^pg_'";
    all.insert(String::new(), vec![server.sql("postgres", globals)]);
    all
}

fn of(place: &Place, server: &Server<'_>, database: &str) -> Vec<String> {
    let literal = database.replace('\'', "''");
    let own = format!(
        "SELECT concat_ws(' ', pg_get_userbyid(datdba), encoding, datcollate, datctype, datistemplate, datallowconn, datconnlimit, \
         shobj_description(oid, 'pg_database'), (SELECT string_agg(setconfig::text, ' ' ORDER BY setrole) \
         FROM pg_db_role_setting WHERE setdatabase = d.oid)) FROM pg_database d WHERE datname = '{literal}'"
    );
    let own = server.sql("postgres", &own);
    let quoted = format!("\"{}\"", database.replace('"', "\"\""));
    let closed =
        server.sql("postgres", &format!("SELECT datallowconn FROM pg_database WHERE datname = '{literal}'")) == "f";
    let allow = |on: bool| server.sql("postgres", &format!("ALTER DATABASE {quoted} ALLOW_CONNECTIONS {on}"));
    if closed {
        allow(true);
    }
    let mut told = vec![own];
    told.extend(definitions(place, database));
    told.extend(sums(server, database));
    if closed {
        allow(false);
    }
    told
}

/// What pg_dump says, without what differs each time, or by the version of the server.
fn definitions(place: &Place, database: &str) -> Vec<String> {
    let mut dump = place.program("pg_dump");
    dump.args(["--schema-only", "-h", &place.host, "-U", "boss", "-d"])
        .arg(format!("dbname='{}'", database.replace('\'', "\\'")));
    let output = dump.env("PGPASSWORD", crate::support::PASSWORD).output().unwrap();
    assert!(output.status.success(), "{database}: {}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = |line: &&str| {
        !(line.is_empty() || line.starts_with("--") || line.starts_with('\\') || line.starts_with("SET "))
    };
    text.lines().filter(told).map(str::to_owned).collect()
}

fn sums(server: &Server<'_>, database: &str) -> Vec<String> {
    let tables = "SET search_path = ''; SELECT format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c \
                  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm', 'S') \
                  AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'multi_operator') ORDER BY 1";
    let tables = server.sql(database, tables);
    let large = "SELECT 'large objects', count(*), md5(string_agg(encode(lo_get(oid), 'hex'), ' ' ORDER BY oid)) \
                 FROM pg_largeobject_metadata";
    let of = |table: &str| {
        format!(
            "SELECT '{}', count(*), md5(string_agg(t::text, '|' ORDER BY t::text COLLATE \"C\")) FROM ONLY {table} t",
            table.replace('\'', "''")
        )
    };
    let all: Vec<String> = tables.lines().map(of).chain([large.to_owned()]).collect();
    server.sql(database, &all.join("; ")).lines().map(str::to_owned).collect()
}

fn equal(before: &BTreeMap<String, Vec<String>>, after: &BTreeMap<String, Vec<String>>, stories: &[String]) {
    for (database, told) in before {
        let now = after.get(database).unwrap_or_else(|| panic!("{database} is missing"));
        let gone: Vec<_> = told.iter().filter(|line| !now.contains(line)).collect();
        let new: Vec<_> = now.iter().filter(|line| !told.contains(line)).collect();
        let story = stories.iter().find(|story| story.starts_with(&format!("{database} of")));
        assert!(gone.is_empty() && new.is_empty(), "{database}: gone {gone:#?}, new {new:#?}; {story:?}");
    }
}

fn servers() -> usize {
    if seed::is_thorough() { THOROUGH } else { SERVERS }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn random_databases_come_back_from_a_snapshot() {
    let mut dice = Dice(seed::rng!());
    for round in 0..servers() {
        let (old, new) = (Place::new(&format!("random-{round}")), Place::new(&format!("random-{round}-restored")));
        let source = old.serve();
        roles(&source);
        let stories: Vec<String> = (0..A_SERVER).map(|number| make(&source, &mut dice, number)).collect();
        let before = content(&old, &source);
        let dumped = old.dump("one", &[]);
        assert_eq!(dumped["notCovered"].as_array().map_or(0, Vec::len), 0, "{dumped}");
        old.verified("one", &["--jobs", "2"]);
        let target = new.serve();
        new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one"), "--jobs", "2"]);
        equal(&before, &content(&new, &target), &stories);
    }
    println!("{} databases came back", servers() * A_SERVER);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn random_databases_survive_an_upgrade() {
    let mut dice = Dice(seed::rng!());
    for round in 0..servers() {
        let pair = Pair::new(&format!("random-upgrade-{round}"), "15", "17");
        let old = pair.old.serve();
        roles(&old);
        let stories: Vec<String> = (0..A_SERVER).map(|number| make(&old, &mut dice, number)).collect();
        // Both as the newer pg_dump says it.
        let mut reader = Place::of(&format!("random-reader-{round}"), "17");
        reader.host.clone_from(&pair.old.host);
        let before = content(&reader, &old);
        let new = pair.empty();
        pair.upgraded(&["--jobs", "2"]);
        new.stop();
        pair.new.prepared(&["--access", "open"]);
        let new = pair.new.start();
        pair.new.run(&["pg-finish", "--major"]);
        equal(&before, &content(&pair.new, &new), &stories);
    }
    println!("{} databases were upgraded", servers() * A_SERVER);
}
