//! Who may do what, and what reaches beyond a database: grants, policies, large objects, publications, foreign servers; and tables
//! of parts.

use crate::objects::Object;

pub(crate) const GRANTS: [Object; 21] = [
    (
        "owner",
        "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC; ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO readers; ALTER DEFAULT PRIVILEGES IN SCHEMA $S GRANT USAGE ON TYPES TO readers WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES IN SCHEMA $S GRANT SELECT, UPDATE ON SEQUENCES TO PUBLIC",
    ),
    (
        "superuser",
        "ALTER DEFAULT PRIVILEGES FOR ROLE $OTHER GRANT SELECT ON TABLES TO $OWNER; ALTER DEFAULT PRIVILEGES FOR ROLE $OWNER REVOKE USAGE ON TYPES FROM PUBLIC",
    ),
    (
        "owner",
        "CREATE TABLE $S.lent$N (a int, b int, c text); GRANT SELECT, UPDATE ON $S.lent$N TO readers WITH GRANT OPTION; GRANT UPDATE (a, b), REFERENCES (c) ON $S.lent$N TO $OTHER WITH GRANT OPTION; SET ROLE NONE; SET ROLE readers; GRANT SELECT ON $S.lent$N TO $OTHER; SET ROLE NONE; SET ROLE $OTHER; GRANT UPDATE (a) ON $S.lent$N TO PUBLIC",
    ),
    // Owners may revoke their own privileges: nothing is loaded afterwards that would need them.
    (
        "owner",
        "CREATE TABLE $S.fixed$N (a int PRIMARY KEY, b text); INSERT INTO $S.fixed$N SELECT n, 'f' FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.fixed$N (b); GRANT SELECT ON $S.fixed$N TO readers; CREATE SEQUENCE $S.held$N; REVOKE ALL ON SEQUENCE $S.held$N FROM $OWNER; GRANT USAGE ON SEQUENCE $S.held$N TO readers",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.hidden$N(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1'; REVOKE ALL ON FUNCTION $S.hidden$N FROM PUBLIC; GRANT EXECUTE ON FUNCTION $S.hidden$N TO readers; CREATE PROCEDURE $S.run$N() LANGUAGE sql AS 'SELECT 1'; GRANT ALL ON PROCEDURE $S.run$N TO $OTHER; CREATE TYPE $S.sealed$N AS ENUM ('x'); REVOKE ALL ON TYPE $S.sealed$N FROM PUBLIC; CREATE DOMAIN $S.known$N AS int; GRANT ALL ON DOMAIN $S.known$N TO $OTHER; CREATE TABLE $S.hid$N (a int DEFAULT $S.hidden$N(1), b $S.sealed$N); INSERT INTO $S.hid$N VALUES (DEFAULT, 'x')",
    ),
    (
        "owner",
        "CREATE SCHEMA sub_$S_$N; GRANT USAGE ON SCHEMA sub_$S_$N TO readers; CREATE TABLE sub_$S_$N.inside (a int); GRANT INSERT ON sub_$S_$N.inside TO readers; COMMENT ON TABLE sub_$S_$N.inside IS 't'; COMMENT ON COLUMN sub_$S_$N.inside.a IS 'a'; CREATE VIEW $S.outside$N AS SELECT a FROM sub_$S_$N.inside; GRANT SELECT ON $S.outside$N TO readers",
    ),
    (
        "owner",
        "CREATE TABLE $S.rows$N (a int, who text DEFAULT 'x'); INSERT INTO $S.rows$N SELECT n FROM generate_series(1, $ROWS) n; CREATE FUNCTION $S.mine$N(text) RETURNS bool LANGUAGE sql STABLE AS 'SELECT $1 = current_user'; ALTER TABLE $S.rows$N ENABLE ROW LEVEL SECURITY; ALTER TABLE $S.rows$N FORCE ROW LEVEL SECURITY; CREATE POLICY never ON $S.rows$N AS RESTRICTIVE USING (false); CREATE POLICY put ON $S.rows$N FOR INSERT TO readers WITH CHECK ($S.mine$N(who)); CREATE POLICY swap ON $S.rows$N FOR UPDATE USING (a > 1) WITH CHECK (a > 2); COMMENT ON POLICY never ON $S.rows$N IS 'p'",
    ),
    (
        "owner",
        "SELECT lo_from_bytea(70000$N, '\\x00ff'); GRANT SELECT ON LARGE OBJECT 70000$N TO readers; GRANT ALL ON LARGE OBJECT 70000$N TO $OTHER WITH GRANT OPTION; COMMENT ON LARGE OBJECT 70000$N IS 'l'; SELECT lo_create(80000$N); REVOKE ALL ON LARGE OBJECT 80000$N FROM $OWNER",
    ),
    (
        "superuser",
        "SELECT lo_from_bytea(90000$N, repeat('x', 5000)::bytea); GRANT UPDATE ON LARGE OBJECT 90000$N TO $OWNER; SELECT lo_create(60000$N); ALTER LARGE OBJECT 60000$N OWNER TO $OTHER",
    ),
    (
        "owner",
        "CREATE TABLE $S.news$N (a int NOT NULL, b text); CREATE UNIQUE INDEX news_key$N ON $S.news$N (a); ALTER TABLE $S.news$N REPLICA IDENTITY USING INDEX news_key$N; CREATE TABLE $S.all_of_it$N (a int); ALTER TABLE $S.all_of_it$N REPLICA IDENTITY FULL; CREATE PUBLICATION news_$S_$N FOR TABLE $S.news$N, $S.all_of_it$N WITH (publish = 'insert, truncate', publish_via_partition_root = true); COMMENT ON PUBLICATION news_$S_$N IS 'p'",
    ),
    ("superuser", "CREATE PUBLICATION all_$S_$N FOR ALL TABLES"),
    (
        "superuser",
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw SCHEMA public; CREATE SERVER far_$S_$N TYPE 't' VERSION '1' FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1', fetch_size '7'); CREATE USER MAPPING FOR PUBLIC SERVER far_$S_$N OPTIONS (user 'u', password 'it''s'); CREATE USER MAPPING FOR $OWNER SERVER far_$S_$N OPTIONS (user 'o', password_required 'false'); ALTER SERVER far_$S_$N OWNER TO $OTHER; GRANT USAGE ON FOREIGN SERVER far_$S_$N TO $OWNER; SET ROLE $OWNER; CREATE FOREIGN TABLE $S.far$N (a int OPTIONS (column_name 'b') NOT NULL, b text DEFAULT 'x', CHECK (a > 0)) SERVER far_$S_$N OPTIONS (table_name 't'); CREATE TABLE $S.split$N (a int) PARTITION BY LIST (a); CREATE TABLE $S.near$N PARTITION OF $S.split$N FOR VALUES IN (1); CREATE FOREIGN TABLE $S.away$N PARTITION OF $S.split$N FOR VALUES IN (2) SERVER far_$S_$N; INSERT INTO $S.split$N VALUES (1)",
    ),
    (
        "superuser",
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw SCHEMA public; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO $OWNER; SET ROLE $OWNER; CREATE SERVER own_$S_$N FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'd'); COMMENT ON SERVER own_$S_$N IS 's'; CREATE USER MAPPING FOR $OTHER SERVER own_$S_$N OPTIONS (user 'x'); CREATE USER MAPPING FOR CURRENT_USER SERVER own_$S_$N",
    ),
    (
        "superuser",
        "CREATE EXTENSION IF NOT EXISTS file_fdw SCHEMA public; CREATE SERVER file_$S_$N FOREIGN DATA WRAPPER file_fdw; CREATE FOREIGN TABLE $S.lines$N (line text) SERVER file_$S_$N OPTIONS (filename '/etc/hostname'); GRANT SELECT ON $S.lines$N TO $OWNER",
    ),
    (
        "owner",
        "CREATE TABLE $S.pieces$N (b text, a int, c int DEFAULT 1, PRIMARY KEY (a)) PARTITION BY HASH (a); CREATE TABLE $S.pieces$N_0 PARTITION OF $S.pieces$N FOR VALUES WITH (MODULUS 3, REMAINDER 0) WITH (fillfactor = 70); CREATE TABLE $S.pieces$N_1 (c int, gone int, a int NOT NULL, b text); ALTER TABLE $S.pieces$N_1 DROP gone, ALTER c SET DEFAULT 9; ALTER TABLE $S.pieces$N ATTACH PARTITION $S.pieces$N_1 FOR VALUES WITH (MODULUS 3, REMAINDER 1); CREATE UNLOGGED TABLE $S.pieces$N_2 PARTITION OF $S.pieces$N FOR VALUES WITH (MODULUS 3, REMAINDER 2); INSERT INTO $S.pieces$N SELECT 'b', n FROM generate_series(1, $ROWS) n; CREATE TABLE $S.of_pieces$N (a int REFERENCES $S.pieces$N ON UPDATE CASCADE); INSERT INTO $S.of_pieces$N SELECT a FROM $S.pieces$N",
    ),
    // The number that a value of an enumeration is stored by is another one in each database, and so is its partition.
    (
        "owner",
        "CREATE TYPE $S.hue$N AS ENUM ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'); CREATE TABLE $S.hues$N (h $S.hue$N, n int) PARTITION BY HASH (h); CREATE TABLE $S.hues$N_0 PARTITION OF $S.hues$N FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE $S.hues$N_1 PARTITION OF $S.hues$N FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO $S.hues$N SELECT h, 1 FROM unnest(enum_range(NULL::$S.hue$N)) h",
    ),
    (
        "owner",
        "CREATE TABLE $S.months$N (d date, a int, s serial) PARTITION BY RANGE (d, a); CREATE TABLE $S.months$N_1 PARTITION OF $S.months$N (a DEFAULT 5, CONSTRAINT more CHECK (a > 0)) FOR VALUES FROM ('2020-01-01', MINVALUE) TO ('2020-02-01', 7); CREATE TABLE $S.months$N_r PARTITION OF $S.months$N DEFAULT PARTITION BY LIST (lower(a::text)); CREATE TABLE $S.months$N_rd PARTITION OF $S.months$N_r DEFAULT; INSERT INTO $S.months$N SELECT date '2020-01-15' + n, n FROM generate_series(1, $ROWS) n; CREATE INDEX by_a$N ON ONLY $S.months$N (a); CREATE INDEX by_a1$N ON $S.months$N_1 (a); ALTER INDEX $S.by_a$N ATTACH PARTITION $S.by_a1$N; ALTER TABLE $S.months$N_1 ENABLE ROW LEVEL SECURITY; CREATE FUNCTION $S.on_month$N() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER each AFTER INSERT ON $S.months$N FOR EACH ROW EXECUTE FUNCTION $S.on_month$N(); ALTER TABLE $S.months$N_1 DISABLE TRIGGER each",
    ),
    (
        "owner",
        "CREATE TABLE $S.mother$N (a int DEFAULT 1 CHECK (a > 0), b text NOT NULL); CREATE TABLE $S.father$N (a int, c int, CHECK (c > 0) NO INHERIT); CREATE TABLE $S.kid$N (d int, b text DEFAULT 'k') INHERITS ($S.mother$N, $S.father$N); CREATE TABLE $S.late_kid$N (a int, gone int, c int); ALTER TABLE $S.late_kid$N DROP gone; ALTER TABLE $S.late_kid$N INHERIT $S.father$N; ALTER TABLE $S.kid$N ALTER a SET DEFAULT 2; INSERT INTO $S.kid$N SELECT n, 'b', n, n FROM generate_series(1, $ROWS) n; INSERT INTO $S.late_kid$N VALUES (1, 2)",
    ),
    (
        "owner",
        "CREATE TABLE $S.drawn$N (a int GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME $S.drawing$N MINVALUE -5 START -5 CACHE 3), b serial, c smallserial, d text GENERATED ALWAYS AS (lower(e)) STORED, e text); INSERT INTO $S.drawn$N (e) SELECT 'E' || n FROM generate_series(1, $ROWS) n; CREATE SEQUENCE $S.owned$N AS int OWNED BY $S.drawn$N.e; ALTER TABLE $S.drawn$N ALTER b DROP DEFAULT, ALTER e SET DEFAULT nextval('$S.owned$N')",
    ),
    (
        "owner",
        "CREATE TABLE $S.options$N (a int, gone text, b text) WITH (fillfactor = 50, autovacuum_enabled = false, toast.autovacuum_enabled = false); INSERT INTO $S.options$N SELECT n, 'g', 'b' FROM generate_series(1, $ROWS) n; ALTER TABLE $S.options$N DROP gone; CREATE UNLOGGED TABLE $S.quick$N AS SELECT n AS a FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.options$N USING brin (a) WITH (pages_per_range = 4); CREATE INDEX ON $S.options$N USING hash (b); CREATE INDEX ex$N ON $S.options$N ((a + 1), (b || 'x') text_pattern_ops); ALTER INDEX $S.ex$N ALTER COLUMN 1 SET STATISTICS 9; ALTER TABLE $S.options$N ADD CONSTRAINT uq$N UNIQUE (a) DEFERRABLE; COMMENT ON INDEX $S.ex$N IS 'i'; COMMENT ON CONSTRAINT uq$N ON $S.options$N IS 'k'",
    ),
    (
        "superuser",
        "CREATE TABLE $S.bosses$N (a int PRIMARY KEY, b text); INSERT INTO $S.bosses$N SELECT n, 'b' FROM generate_series(1, $ROWS) n; GRANT SELECT, REFERENCES ON $S.bosses$N TO $OWNER; CREATE VIEW $S.boss_sees$N AS SELECT a FROM $S.bosses$N; CREATE SEQUENCE $S.boss_counts$N; SELECT nextval('$S.boss_counts$N'); SET ROLE $OWNER; CREATE TABLE $S.under_boss$N (a int REFERENCES $S.bosses$N)",
    ),
];

/// What version 15 brought.
pub(crate) const GRANTS_15: [Object; 2] = [
    (
        "owner",
        "CREATE TABLE $S.part_news$N (a int PRIMARY KEY, b text, c int); CREATE PUBLICATION part_$S_$N FOR TABLE $S.part_news$N (a, b) WHERE (a > 5); CREATE TABLE $S.at_most$N (a int UNIQUE NULLS NOT DISTINCT); INSERT INTO $S.at_most$N VALUES (NULL), (1); CREATE VIEW $S.invoked$N WITH (security_invoker) AS SELECT a FROM $S.at_most$N",
    ),
    ("superuser", "CREATE PUBLICATION schema_$S_$N FOR TABLES IN SCHEMA $S"),
];
