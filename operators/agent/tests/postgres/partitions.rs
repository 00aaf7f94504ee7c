//! Partitions whose rows are another partition's in another server, which hashes or orders values in another way.

use crate::support::{Fixture, Server};
use crate::upgrade::Pair;

/// Each has two partitions. Between the versions of ICU in the images of 15 and 17, hashes by a collation for which different
/// texts are equal change, and U+1C89, which ICU 72 does not know, comes to be before U+4E00.
const MADE: [&str; 4] = [
    "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
     CREATE TABLE hashed (t text COLLATE loose, n int) PARTITION BY HASH (t); \
     CREATE TABLE hashed1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
     CREATE TABLE hashed2 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
     INSERT INTO hashed SELECT 'word ' || chr(900 + n), n FROM generate_series(1, 60) n",
    "CREATE TABLE ordered (t text COLLATE \"und-x-icu\", n int) PARTITION BY RANGE (t); CREATE SCHEMA parts; \
     CREATE TABLE parts.ordered1 (n int, t text COLLATE \"und-x-icu\"); \
     ALTER TABLE ordered ATTACH PARTITION parts.ordered1 FOR VALUES FROM (MINVALUE) TO (U&'\\4E00'); \
     CREATE TABLE ordered2 PARTITION OF ordered FOR VALUES FROM (U&'\\4E00') TO (MAXVALUE); \
     INSERT INTO ordered VALUES ('a', 1), (U&'\\1C89', 2), (U&'\\4E01', 3)",
    // Below one that is by numbers.
    "CREATE TABLE below (n int, t text COLLATE loose) PARTITION BY LIST (n); CREATE TABLE below1 PARTITION OF below \
     FOR VALUES IN (1) PARTITION BY HASH (t); CREATE TABLE below11 PARTITION OF below1 FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
     CREATE TABLE below12 PARTITION OF below1 FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
     INSERT INTO below SELECT 1, 'word ' || chr(900 + n) FROM generate_series(1, 60) n",
    "CREATE TYPE hue AS ENUM ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'); \
     CREATE TABLE lists (h hue[]) PARTITION BY HASH (h); \
     CREATE TABLE lists1 PARTITION OF lists FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
     CREATE TABLE lists2 PARTITION OF lists FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
     INSERT INTO lists SELECT ARRAY[h, g] FROM unnest(enum_range(NULL::hue)) h, unnest(enum_range(NULL::hue)) g",
];

const TABLES: [&str; 4] = ["hashed", "ordered", "below", "lists"];

fn create(server: &Server<'_>) {
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "GRANT CREATE ON SCHEMA public TO app");
    MADE.iter().for_each(|sql| drop(server.sql("app", &format!("SET ROLE app; {sql}"))));
    // It may not even use the schema of the tables at the top any more.
    server.sql("app", "REVOKE ALL ON SCHEMA public FROM PUBLIC, app");
}

/// The rows of each table.
fn rows(server: &Server<'_>) -> Vec<String> {
    let of =
        |table: &str| format!("SELECT md5(string_agg(t::text, ' ' ORDER BY t::text COLLATE \"C\")) FROM {table} t");
    TABLES.iter().map(|table| server.sql("app", &of(table))).collect()
}

/// In which partition a row of each table is.
fn fixtures(server: &Server<'_>) -> Vec<String> {
    let of = |table: &str| {
        format!(
            "SELECT md5(string_agg(tableoid::regclass || t::text, ' ' ORDER BY t::text COLLATE \"C\")) FROM {table} t"
        )
    };
    TABLES.iter().map(|table| server.sql("app", &of(table))).collect()
}

fn check(before: &Server<'_>, after: &Server<'_>) {
    assert_eq!(rows(before), rows(after));
    for (at, (then, now)) in fixtures(before).iter().zip(fixtures(after)).enumerate() {
        assert_ne!(*then, now, "all rows of {} are where they were: this proves nothing", TABLES[at]);
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn rows_that_change_partitions_survive_an_upgrade() {
    let pair = Pair::new("moved-upgrade", "15", "17");
    let old = pair.old.serve();
    create(&old);
    let new = pair.empty();
    pair.upgraded(&["--jobs", "2"]);
    check(&old, &new);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn rows_that_change_partitions_come_back_from_a_snapshot() {
    let (old, new) = (Fixture::of("moved", "15"), Fixture::of("moved-restored", "17"));
    let server = old.serve();
    create(&server);
    let dumped = old.dump("one", &[]);
    assert_eq!(dumped["notCovered"], serde_json::json!([]));
    old.verified("one", &["--jobs", "2"]);
    let target = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one"), "--jobs", "2"]);
    check(&server, &target);
}
