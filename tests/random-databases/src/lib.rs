//! Random databases for tests: created in a real server, and read back, so that the result of a snapshot, a restore or an upgrade
//! can be compared with the original.

use std::process::Output;

use proptest::prelude::Rng;
use proptest::test_runner::TestRng;

mod code;
mod contents;
mod grants;
mod objects;
mod words;

pub use contents::{Contents, Totals, contents, difference};
use objects::{Object, known};

/// Who owns databases and what is in them.
const ROLES: [&str; 4] = [APPLICATION, "\"O'dd \"\"role\"\"\"", "\"ünï\"", "\"select\""];
/// In a server of the operator's, this role exists from the beginning.
const APPLICATION: &str = "app";
/// How a database is created, and what is set of it.
const ENCODINGS: [&str; 6] = [
    "",
    UTF8,
    " ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'",
    LATIN1,
    ICU,
    " LOCALE_PROVIDER icu ICU_LOCALE 'und'",
];
const UTF8: &str = " ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'";
/// Not for names of databases and roles beyond ASCII: all databases share the bytes of these, so that a dump in another
/// encoding names what does not exist (`role "ünï" does not exist`), and is found to be of no use.
const LATIN1: &str = " ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'";
/// Version 15 brought what begins with this.
const ICU: &str = " LOCALE_PROVIDER icu ICU_LOCALE 'de-u-co-phonebk'";
/// What makes a session read or write otherwise, fail, or end is in it: settings hold from the first moment of each.
const SETTINGS: [&str; 25] = [
    "SET work_mem = '5MB'",
    "SET search_path = odd, public",
    "SET default_transaction_read_only = on",
    "SET \"my.own\" = 'it''s'",
    "IS_TEMPLATE true",
    "CONNECTION LIMIT 3",
    "ALLOW_CONNECTIONS false",
    "SET array_nulls = off",
    "SET xmloption = document",
    "SET bytea_output = escape",
    "SET IntervalStyle = sql_standard",
    "SET DateStyle = 'German, DMY'",
    "SET TimeZone = 'Asia/Kathmandu'",
    "SET extra_float_digits = -5",
    "SET standard_conforming_strings = off",
    "SET backslash_quote = off",
    "SET transform_null_equals = on",
    "SET quote_all_identifiers = on",
    "SET row_security = off",
    "SET default_transaction_isolation = serializable",
    "SET statement_timeout = '1ms'",
    "SET lock_timeout = '1ms'",
    "SET idle_in_transaction_session_timeout = '1ms'",
    "SET exit_on_error = on",
    "SET client_min_messages = error",
];
/// The database from which others are created and altered.
const MAINTENANCE: &str = "postgres";

/// A PostgreSQL server, as its superuser reaches it.
pub trait Server {
    /// Runs `psql` in a database: each text is a transaction of its own, and those after one that fails run all the same.
    fn psql(&self, database: &str, texts: &[String]) -> Output;

    /// Runs `pg_dump` of a database.
    fn pg_dump(&self, database: &str, options: &[&str]) -> Output;

    /// What one text prints.
    ///
    /// # Panics
    /// If it fails.
    fn sql(&self, database: &str, text: &str) -> String {
        let output = self.psql(database, &[text.to_owned()]);
        assert!(output.status.success(), "{database:?}: {text}: {}", stderr(&output));
        printed(&output)
    }
}

/// What draws, always the same for the same seed.
#[derive(Debug)]
pub struct Dice(TestRng);

impl Dice {
    /// Draws by these random numbers.
    #[must_use]
    pub fn new(rng: TestRng) -> Self {
        Self(rng)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % end as u64).expect("it is below a usize")
    }

    fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

/// Creates the roles that databases belong to. An application's role that exists keeps its password and attributes: a restore
/// does not change them either.
pub fn make_roles(server: &impl Server) {
    let exists = format!("SELECT count(*) FROM pg_roles WHERE rolname = '{APPLICATION}'");
    let exists = server.sql(MAINTENANCE, &exists) == "1";
    for role in ROLES {
        if !(exists && role == APPLICATION) {
            server.sql(MAINTENANCE, &format!("CREATE ROLE {role} LOGIN PASSWORD 'p' CREATEDB"));
        }
        server.sql(MAINTENANCE, &format!("COMMENT ON ROLE {role} IS 'r'"));
    }
    let readers = "CREATE ROLE readers NOLOGIN; GRANT readers TO app; ALTER ROLE app SET lock_timeout = '7s'";
    server.sql(MAINTENANCE, readers);
}

/// Creates a database, and what is in it; returns what was drawn, for the message of a failure.
pub fn make(server: &impl Server, dice: &mut Dice, number: usize) -> String {
    let major = server.sql(MAINTENANCE, "SELECT current_setting('server_version_num')::int / 10000");
    let major = major.parse().expect("a server has a version");
    let encodings = if major < 15 { &ENCODINGS[..4] } else { &ENCODINGS };
    let (name, owner, drawn) = (name(number), *dice.of(&ROLES), *dice.of(encodings));
    let encoding = if drawn == LATIN1 && !(name.is_ascii() && owner.is_ascii()) { UTF8 } else { drawn };
    let quoted = identifier(&name);
    server.sql(MAINTENANCE, &format!("CREATE DATABASE {quoted} OWNER {owner} TEMPLATE template0{encoding}"));
    server.sql(&name, &format!("GRANT CREATE ON SCHEMA public TO {owner}; CREATE SCHEMA odd AUTHORIZATION {owner}"));
    // In every encoding there are these, and one of them is not the owner.
    let other = if owner == ROLES[3] { APPLICATION } else { ROLES[3] };
    server.sql(&name, &format!("GRANT USAGE ON SCHEMA odd TO readers, {other}"));
    let (kinds, texts) = objects(dice, &known(major), (owner, other));
    let mut story = format!("{name} of {owner}{encoding}:{kinds}");
    refuse_failures(&story, &texts, &server.psql(&name, &texts));
    for _ in 0..dice.below(3) {
        let setting = dice.of(&SETTINGS);
        server.sql(MAINTENANCE, &format!("ALTER DATABASE {quoted} {setting}"));
        story.push_str(&format!(", {setting}"));
    }
    server.sql(MAINTENANCE, &format!("COMMENT ON DATABASE {quoted} IS 'number {number}'"));
    story
}

fn name(number: usize) -> String {
    match number % 5 {
        0 => format!("Odd \"{number}'s"),
        1 => format!("ünï {number}"),
        _ => format!("db_{number}"),
    }
}

/// The objects of a database: their kinds, and a text for each.
fn objects(dice: &mut Dice, known: &[Object], (owner, other): (&str, &str)) -> (String, Vec<String>) {
    let (mut kinds, mut texts) = (String::new(), Vec::new());
    for object in 0..8 + dice.below(17) {
        let kind = dice.below(known.len());
        let (creator, sql) = known[kind];
        let (rows, schema) = (dice.below(200), *dice.of(&["public", "odd"]));
        let sql = sql.replace("$ROWS", &rows.to_string()).replace("$OWNER", owner).replace("$OTHER", other);
        let sql = sql.replace("$N", &object.to_string()).replace("$S", schema);
        // All texts share a session.
        let role = if creator == "owner" { owner } else { "NONE" };
        texts.push(format!("SET ROLE {role}; {sql}"));
        kinds.push_str(&format!(" {kind}"));
    }
    (kinds, texts)
}

/// Not every encoding has each letter; nothing else may fail.
fn refuse_failures(story: &str, texts: &[String], output: &Output) {
    let complaints = stderr(output);
    let failed = |line: &&str| ["ERROR:", "FATAL:", "error:"].iter().any(|word| line.contains(word));
    let (excused, others): (Vec<&str>, Vec<&str>) =
        complaints.lines().filter(failed).partition(|line| line.contains("encoding"));
    let explained = output.status.success() || !excused.is_empty();
    assert!(others.is_empty() && explained, "{story}: {complaints}{texts:#?}");
}

/// The databases that take no connections, which a major upgrade refuses.
#[must_use]
pub fn closed(server: &impl Server) -> Vec<String> {
    let closed = "SELECT datname FROM pg_database WHERE NOT datallowconn AND datname <> 'template0' ORDER BY datname COLLATE \"C\"";
    server.sql(MAINTENANCE, closed).lines().map(str::to_owned).collect()
}

/// Opens a database, or closes it again.
pub fn allow_connections(server: &impl Server, database: &str, allowed: bool) {
    server.sql(MAINTENANCE, &format!("ALTER DATABASE {} ALLOW_CONNECTIONS {allowed}", identifier(database)));
}

/// A name in SQL.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn printed(output: &Output) -> String {
    // The bytes of databases of other encodings are no UTF-8, and what is lost of them is lost each time.
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
