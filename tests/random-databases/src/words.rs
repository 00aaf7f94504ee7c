//! Types beyond the plainest ones, collations, and the search of texts.

use crate::objects::Object;

pub(crate) const WORDS: [Object; 12] = [
    (
        "owner",
        "CREATE TYPE $S.scale$N AS ENUM ('b', 'd'); ALTER TYPE $S.scale$N ADD VALUE 'c' BEFORE 'd'; ALTER TYPE $S.scale$N ADD VALUE 'a' BEFORE 'b'; ALTER TYPE $S.scale$N RENAME VALUE 'd' TO 'e'; CREATE TABLE $S.scales$N (s $S.scale$N DEFAULT 'b'); INSERT INTO $S.scales$N VALUES ('e'), (DEFAULT)",
    ),
    (
        "owner",
        "CREATE TYPE $S.inner$N AS (x int, y text COLLATE \"C\"); CREATE DOMAIN $S.whole$N AS $S.inner$N CHECK ((VALUE).x > 0); CREATE TYPE $S.outer$N AS (i $S.inner$N, l $S.inner$N[]); CREATE TABLE $S.nested$N (a $S.outer$N, b $S.whole$N[]); INSERT INTO $S.nested$N VALUES (ROW(ROW(1, 'a,b'), ARRAY[ROW(2, NULL)::$S.inner$N]), ARRAY[ROW(1, '\"')::$S.whole$N]); CREATE TABLE $S.typed$N OF $S.inner$N (PRIMARY KEY (x), y WITH OPTIONS DEFAULT 'd'); INSERT INTO $S.typed$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.fits$N(text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length($1) < 30'; CREATE DOMAIN $S.outer_word$N AS text COLLATE \"C\" NOT NULL DEFAULT 'd' CONSTRAINT short CHECK ($S.fits$N(VALUE)); CREATE DOMAIN $S.inner_word$N AS $S.outer_word$N CHECK (VALUE <> ''); CREATE TABLE $S.worded$N (a $S.inner_word$N, b $S.outer_word$N[]); INSERT INTO $S.worded$N SELECT 'w' || n, ARRAY['x', 'y'] FROM generate_series(1, $ROWS) n; ALTER DOMAIN $S.inner_word$N ADD CONSTRAINT late CHECK (VALUE <> 'w1') NOT VALID; COMMENT ON CONSTRAINT short ON DOMAIN $S.outer_word$N IS 'k'",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.gap$N(date, date) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT ($1 - $2)::float8'; CREATE TYPE $S.stay$N AS RANGE (SUBTYPE = date, SUBTYPE_DIFF = $S.gap$N); CREATE TYPE $S.letters$N AS RANGE (SUBTYPE = text, COLLATION = \"C\"); CREATE TABLE $S.stays$N (s $S.stay$N, l $S.letters$N DEFAULT '[a,b)', EXCLUDE USING gist (s WITH &&)); INSERT INTO $S.stays$N SELECT $S.stay$N(date '2020-01-01' + 2 * n, date '2020-01-01' + 2 * n + 1) FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE COLLATION $S.book$N (provider = icu, locale = 'de-u-co-phonebk'); CREATE TABLE $S.books$N (t text COLLATE $S.book$N); INSERT INTO $S.books$N SELECT 'b' || n FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.books$N (t); COMMENT ON COLLATION $S.book$N IS 'c'",
    ),
    (
        "owner",
        "CREATE COLLATION $S.same$N (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TABLE $S.sames$N (t text COLLATE $S.same$N UNIQUE); INSERT INTO $S.sames$N SELECT 's' || n FROM generate_series(1, $ROWS) n; CREATE TABLE $S.alike$N (t text COLLATE $S.same$N) PARTITION BY HASH (t); CREATE TABLE $S.alike$N_0 PARTITION OF $S.alike$N FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE $S.alike$N_1 PARTITION OF $S.alike$N FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO $S.alike$N SELECT t FROM $S.sames$N; CREATE DOMAIN $S.named$N AS text COLLATE $S.same$N CHECK (VALUE <> 'A'); CREATE TABLE $S.names$N (a $S.named$N, b text CHECK (b COLLATE $S.same$N <> 'X')); INSERT INTO $S.names$N VALUES ('b', 'y')",
    ),
    (
        "owner",
        "CREATE COLLATION $S.copy$N FROM \"C\"; CREATE COLLATION $S.mixed$N (LC_COLLATE = 'C', LC_CTYPE = 'POSIX'); CREATE TABLE $S.copied$N (a text COLLATE $S.copy$N, b text COLLATE $S.mixed$N) PARTITION BY RANGE (a); CREATE TABLE $S.copied_m$N PARTITION OF $S.copied$N FOR VALUES FROM (MINVALUE) TO ('m'); CREATE TABLE $S.copied_z$N PARTITION OF $S.copied$N FOR VALUES FROM ('m') TO (MAXVALUE); INSERT INTO $S.copied$N VALUES ('a', 'b'), ('M', 'B'), ('z', NULL)",
    ),
    (
        "owner",
        "CREATE TEXT SEARCH DICTIONARY $S.stem$N (TEMPLATE = snowball, LANGUAGE = english, STOPWORDS = english); CREATE TEXT SEARCH DICTIONARY $S.plain$N (TEMPLATE = simple, ACCEPT = false); CREATE TEXT SEARCH CONFIGURATION $S.search$N (PARSER = \"default\"); ALTER TEXT SEARCH CONFIGURATION $S.search$N ADD MAPPING FOR asciiword, word, numword WITH $S.plain$N, $S.stem$N; COMMENT ON TEXT SEARCH CONFIGURATION $S.search$N IS 's'; COMMENT ON TEXT SEARCH DICTIONARY $S.stem$N IS 'd'; CREATE TABLE $S.found$N (t text, v tsvector GENERATED ALWAYS AS (to_tsvector('$S.search$N'::regconfig, t)) STORED); INSERT INTO $S.found$N SELECT 'the cats of ' || n FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.found$N USING gin (v)",
    ),
    // Parsers and templates are created by superusers only, and have no owner.
    (
        "superuser",
        "CREATE TEXT SEARCH PARSER $S.split$N (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype, HEADLINE = prsd_headline); COMMENT ON TEXT SEARCH PARSER $S.split$N IS 'p'; SET ROLE $OWNER; CREATE TEXT SEARCH CONFIGURATION $S.cut$N (PARSER = $S.split$N); ALTER TEXT SEARCH CONFIGURATION $S.cut$N ADD MAPPING FOR word, asciiword WITH simple",
    ),
    (
        "superuser",
        "CREATE TEXT SEARCH TEMPLATE $S.form$N (INIT = dsimple_init, LEXIZE = dsimple_lexize); SET ROLE $OWNER; CREATE TEXT SEARCH DICTIONARY $S.formed$N (TEMPLATE = $S.form$N)",
    ),
    (
        "owner",
        "CREATE TABLE $S.stats$N (a int, b int, c text); INSERT INTO $S.stats$N SELECT n % 5, n % 5, 'c' || n FROM generate_series(1, $ROWS) n; CREATE STATISTICS $S.differing$N (ndistinct) ON a, b FROM $S.stats$N; CREATE STATISTICS $S.most$N (mcv, dependencies) ON a, b, c FROM $S.stats$N; ALTER STATISTICS $S.most$N SET STATISTICS 500; COMMENT ON STATISTICS $S.differing$N IS 's'; ALTER TABLE $S.stats$N ALTER a SET STATISTICS 7, ALTER b SET (n_distinct = 5)",
    ),
    (
        "superuser",
        "CREATE EXTENSION IF NOT EXISTS hstore SCHEMA public; CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public; SET ROLE $OWNER; CREATE TABLE $S.bags$N (h public.hstore DEFAULT 'a=>1', d int, r int4range, EXCLUDE USING gist (d WITH =, r WITH &&)); INSERT INTO $S.bags$N SELECT public.hstore('k', n::text), n, '[1,5)' FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.bags$N USING gin (h)",
    ),
];

/// What version 14 brought.
pub(crate) const WORDS_14: [Object; 2] = [
    (
        "owner",
        "CREATE TYPE $S.lot$N AS RANGE (SUBTYPE = numeric, MULTIRANGE_TYPE_NAME = $S.lots$N); CREATE TABLE $S.lotted$N (l $S.lots$N, m int4multirange DEFAULT '{[1,2)}', t text COMPRESSION pglz); INSERT INTO $S.lotted$N VALUES ('{[1,2),[5,9]}')",
    ),
    (
        "owner",
        "CREATE TABLE $S.exprs$N (a int, b text); INSERT INTO $S.exprs$N SELECT n, 'B' || n FROM generate_series(1, $ROWS) n; CREATE STATISTICS $S.ex$N ON (a % 3), lower(b) FROM $S.exprs$N; CREATE FUNCTION $S.twice$N(a int) RETURNS int LANGUAGE sql IMMUTABLE RETURN a * 2; CREATE PROCEDURE $S.both$N(INOUT a int) BEGIN ATOMIC SELECT $S.twice$N(a); SELECT 2; END",
    ),
];
