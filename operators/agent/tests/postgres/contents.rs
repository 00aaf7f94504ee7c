//! What the tests save and restore.

use crate::support::Server;

/// A database with all that lesser dumps lose: rows that row security hides, a large object, a role with a password, an
/// extension, partitions, odd names.
const CONTENTS: &str = "
CREATE ROLE reader LOGIN PASSWORD 'reader''s';
CREATE ROLE \"o\"\"dd\" NOLOGIN; GRANT reader TO \"o\"\"dd\";
CREATE DATABASE app OWNER reader TEMPLATE template0";

const TABLES: &str = "
SET ROLE reader; CREATE SCHEMA mine; CREATE TABLE mine.hidden (id int PRIMARY KEY, who text);
ALTER TABLE mine.hidden ENABLE ROW LEVEL SECURITY; ALTER TABLE mine.hidden FORCE ROW LEVEL SECURITY;
CREATE POLICY none ON mine.hidden USING (who = 'nobody');
RESET ROLE;
INSERT INTO mine.hidden SELECT n, 'somebody' FROM generate_series(1, 1000) n;
CREATE TABLE \"Od'd\nname\" (\"sel ect\" int); INSERT INTO \"Od'd\nname\" VALUES (1), (2);
CREATE TABLE parts (id int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10); INSERT INTO parts VALUES (1), (2), (3);
CREATE EXTENSION citext; CREATE TABLE words (word citext); INSERT INTO words VALUES ('Word');
SELECT lo_from_bytea(4711, 'large as life')";

pub const ROWS: u64 = 1000 + 2 + 3 + 1;

impl Server<'_> {
    pub fn fill(&self) {
        for statement in CONTENTS.split(';') {
            self.sql("postgres", statement);
        }
        self.sql("app", TABLES);
    }

    pub fn check_contents(&self) {
        assert_eq!(self.sql("app", "SELECT count(*) FROM mine.hidden"), "1000");
        assert_eq!(self.sql("app", "SELECT convert_from(lo_get(4711), 'UTF8')"), "large as life");
        assert_eq!(self.sql("app", "SELECT count(*) FROM words WHERE word = 'wORD'"), "1");
        let seen = self.psql("reader", "reader's", "app", "SELECT count(*) FROM mine.hidden");
        assert_eq!(String::from_utf8(seen.stdout).unwrap().trim(), "0", "{}", String::from_utf8_lossy(&seen.stderr));
        assert_eq!(self.sql("app", "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'app'"), "reader");
    }
}
