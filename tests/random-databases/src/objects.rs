//! The parts of random databases. `$N` is a number of the object's own, `$S` a schema, `$ROWS` the number of rows, `$OWNER` the
//! owner of the database, and `$OTHER` another role.

use crate::code::CODE;
use crate::grants::{GRANTS, GRANTS_15};
use crate::words::{WORDS, WORDS_14};

/// The role that creates it, and the SQL.
pub(crate) type Object = (&'static str, &'static str);

/// All that this major version of the server knows.
pub(crate) fn known(major: u32) -> Vec<Object> {
    let kinds: [(u32, &[Object]); 6] =
        [(0, &OBJECTS), (0, &CODE), (0, &WORDS), (0, &GRANTS), (14, &WORDS_14), (15, &GRANTS_15)];
    kinds.into_iter().filter(|(since, _)| *since <= major).flat_map(|(_, kinds)| kinds).copied().collect()
}

/// Created by the owner, except for what only superusers may create.
const OBJECTS: [Object; 37] = [
    // Values that settings of the session change on their way.
    (
        "owner",
        "CREATE TABLE $S.told$N (a text[] DEFAULT '{NULL,x}', b xml, c interval, d timestamptz, e float8, f bytea, g text); INSERT INTO $S.told$N SELECT ARRAY[NULL, n::text], XML 'a<b/>', make_interval(months => n - 100, days => 50 - n, secs => n), to_timestamp(n * 12345678.5), 1.0::float8 / n, decode(repeat('00ff5c27', n % 9), 'hex'), E'\\\\''x' FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TABLE $S.plain$N (a int PRIMARY KEY, b text DEFAULT 'x'); INSERT INTO $S.plain$N SELECT n, repeat('ab', n) FROM generate_series(1, $ROWS) n",
    ),
    ("owner", "CREATE TABLE $S.none$N ()"),
    (
        "owner",
        "CREATE TABLE $S.\"Q\"\"uote's $N\" (\"sel ect\" int, \"ta\tb\" text); INSERT INTO $S.\"Q\"\"uote's $N\" VALUES (1, E'\\\\.\\n\\t\\\\N'), (2, NULL), (3, '')",
    ),
    (
        "owner",
        "CREATE TABLE $S.ident$N (a bigint GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 7), b int); INSERT INTO $S.ident$N (b) SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TABLE $S.gen$N (a int, b int GENERATED ALWAYS AS (a * 2) STORED); INSERT INTO $S.gen$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TABLE $S.one$N (a int PRIMARY KEY); INSERT INTO $S.one$N SELECT generate_series(1, 50); CREATE TABLE $S.many$N (a int REFERENCES $S.one$N ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED); INSERT INTO $S.many$N SELECT 1 + n % 50 FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TABLE $S.self$N (a int PRIMARY KEY, b int REFERENCES $S.self$N); INSERT INTO $S.self$N SELECT n, nullif(n - 1, 0) FROM generate_series(1, 20) n",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.even$N(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 2 = 0'; CREATE TABLE $S.checked$N (a int CHECK ($S.even$N(a))); INSERT INTO $S.checked$N SELECT 2 * n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TABLE $S.late$N (a int); INSERT INTO $S.late$N VALUES (-1), (1); ALTER TABLE $S.late$N ADD CONSTRAINT pos CHECK (a > 0) NOT VALID",
    ),
    (
        "owner",
        "CREATE TYPE $S.mood$N AS ENUM ('sad', 'ok', 'it''s'); CREATE TABLE $S.moods$N (m $S.mood$N[]); INSERT INTO $S.moods$N VALUES ('{sad,ok}'), (NULL), ('{}')",
    ),
    (
        "owner",
        "CREATE DOMAIN $S.short$N AS text CHECK (length(VALUE) < 9) DEFAULT 'd'; CREATE TABLE $S.shorts$N (s $S.short$N NOT NULL); INSERT INTO $S.shorts$N VALUES ('a'), ('b')",
    ),
    (
        "owner",
        "CREATE TYPE $S.pair$N AS (x int, y text); CREATE TABLE $S.pairs$N (p $S.pair$N); INSERT INTO $S.pairs$N VALUES ((1, 'a,\"b')), ((NULL, NULL))",
    ),
    (
        "owner",
        "CREATE TYPE $S.span$N AS RANGE (subtype = float8, subtype_diff = float8mi); CREATE TABLE $S.spans$N (s $S.span$N); INSERT INTO $S.spans$N VALUES ('[1,2.5)'), ('empty')",
    ),
    (
        "owner",
        "CREATE TABLE $S.numbers$N (a float4, b float8, c numeric, d money); INSERT INTO $S.numbers$N VALUES ('NaN', '-Infinity', 'NaN', 1), (1.1, 0.1, 1e-30, 2), ('-0', '1e300', 123456789012345678901234567890, 0)",
    ),
    (
        "owner",
        "CREATE TABLE $S.times$N (a timestamptz, b interval, c date, d timetz); INSERT INTO $S.times$N VALUES ('infinity', '1 mon -2 days', '4713-01-01 BC', '12:00+05'), ('2024-02-29 23:59:60+00', '1 us', 'infinity', '00:00-12')",
    ),
    (
        "owner",
        "CREATE TABLE $S.texts$N (a text, b bytea, c jsonb, d xml, e varchar(3), f char(5)); INSERT INTO $S.texts$N VALUES ('grüße', '\\x00ff', '{\"a\": [1, null]}', '<a/>', 'abc', 'a')",
    ),
    (
        "owner",
        "CREATE TABLE $S.nets$N (a inet, b uuid, c point, d bit(3), e tsvector, f int4range, g macaddr); INSERT INTO $S.nets$N VALUES ('10.0.0.1/8', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '(1,2)', '101', 'fat cat', '[1,5)', '08:00:2b:01:02:03')",
    ),
    (
        "owner",
        "CREATE TABLE $S.wide$N (a text); INSERT INTO $S.wide$N SELECT string_agg(md5(n::text), '') FROM generate_series(1, 20000) n; ALTER TABLE $S.wide$N ALTER a SET STORAGE external",
    ),
    (
        "owner",
        "CREATE TABLE $S.parts$N (a int, b text) PARTITION BY LIST (b); CREATE TABLE $S.parts$N_x PARTITION OF $S.parts$N FOR VALUES IN ('x') PARTITION BY RANGE (a); CREATE TABLE $S.parts$N_x1 PARTITION OF $S.parts$N_x FOR VALUES FROM (MINVALUE) TO (100); CREATE TABLE $S.parts$N_d PARTITION OF $S.parts$N DEFAULT; INSERT INTO $S.parts$N SELECT n, CASE WHEN n < 50 THEN 'x' ELSE 'y' END FROM generate_series(1, 90) n; CREATE INDEX ON $S.parts$N (a)",
    ),
    (
        "owner",
        "CREATE TABLE $S.parent$N (a int); CREATE TABLE $S.child$N (b int) INHERITS ($S.parent$N); INSERT INTO $S.parent$N VALUES (1); INSERT INTO $S.child$N VALUES (2, 3)",
    ),
    (
        "owner",
        "CREATE TABLE $S.base$N AS SELECT n AS a, n % 3 AS b FROM generate_series(1, $ROWS) n; CREATE VIEW $S.seen$N WITH (security_barrier) AS SELECT a FROM $S.base$N WHERE b = 1; CREATE MATERIALIZED VIEW $S.kept$N AS SELECT b, count(*) FROM $S.base$N GROUP BY b; CREATE UNIQUE INDEX ON $S.kept$N (b)",
    ),
    (
        "owner",
        "CREATE TABLE $S.stale$N (a int); INSERT INTO $S.stale$N VALUES (1); CREATE MATERIALIZED VIEW $S.empty$N AS SELECT * FROM $S.stale$N WITH NO DATA",
    ),
    (
        "owner",
        "CREATE TABLE $S.audit$N (t text); CREATE TABLE $S.watched$N (a int); CREATE FUNCTION $S.note$N() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO $S.audit$N VALUES (TG_OP); RETURN NEW; END'; CREATE TRIGGER note AFTER INSERT ON $S.watched$N FOR EACH ROW EXECUTE FUNCTION $S.note$N(); INSERT INTO $S.watched$N SELECT generate_series(1, 5); ALTER TABLE $S.watched$N DISABLE TRIGGER note",
    ),
    (
        "owner",
        "CREATE TABLE $S.ruled$N (a int); CREATE RULE none AS ON DELETE TO $S.ruled$N DO INSTEAD NOTHING; INSERT INTO $S.ruled$N VALUES (1)",
    ),
    (
        "owner",
        "CREATE TABLE $S.guarded$N (a int, who text); INSERT INTO $S.guarded$N SELECT n, 'nobody' FROM generate_series(1, $ROWS) n; ALTER TABLE $S.guarded$N ENABLE ROW LEVEL SECURITY; ALTER TABLE $S.guarded$N FORCE ROW LEVEL SECURITY; CREATE POLICY own ON $S.guarded$N FOR SELECT TO readers USING (who = current_user)",
    ),
    (
        "owner",
        "CREATE TABLE $S.indexed$N (a int, b text, c int[]); INSERT INTO $S.indexed$N SELECT n, 'T' || n, ARRAY[n] FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.indexed$N (lower(b)) WHERE a > 5; CREATE UNIQUE INDEX ON $S.indexed$N (a DESC NULLS LAST) INCLUDE (b); CREATE INDEX ON $S.indexed$N USING gin (c); CREATE STATISTICS $S.stat$N ON a, b FROM $S.indexed$N; CLUSTER $S.indexed$N USING indexed$N_a_b_idx",
    ),
    (
        "owner",
        "CREATE TABLE $S.apart$N (r int4range, EXCLUDE USING gist (r WITH &&)); INSERT INTO $S.apart$N SELECT int4range(n * 2, n * 2 + 2) FROM generate_series(1, 40) n",
    ),
    (
        "owner",
        "CREATE SEQUENCE $S.seq$N AS smallint INCREMENT -3 MAXVALUE 30000 START 30000 CYCLE; SELECT nextval('$S.seq$N'), nextval('$S.seq$N'); CREATE SEQUENCE $S.unused$N",
    ),
    ("owner", "SELECT lo_from_bytea(0, decode(repeat('00ff', $ROWS), 'hex'))"),
    (
        "owner",
        "CREATE FUNCTION $S.add$N(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 + $2'; CREATE AGGREGATE $S.total$N (int) (SFUNC = $S.add$N, STYPE = int, INITCOND = '0'); CREATE OPERATOR $S.*+* (LEFTARG = int, RIGHTARG = int, FUNCTION = $S.add$N); DROP OPERATOR $S.*+* (int, int); CREATE PROCEDURE $S.act$N() LANGUAGE plpgsql AS 'BEGIN NULL; END'",
    ),
    (
        "owner",
        "CREATE TABLE $S.shared$N (a int, b int); GRANT SELECT (a) ON $S.shared$N TO readers; GRANT ALL ON $S.shared$N TO PUBLIC",
    ),
    (
        "owner",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA $S GRANT SELECT ON TABLES TO readers; COMMENT ON SCHEMA odd IS 'grüße'",
    ),
    (
        "owner",
        "CREATE TEXT SEARCH CONFIGURATION $S.words$N (COPY = simple); CREATE COLLATION $S.c$N (LOCALE = 'C'); CREATE TABLE $S.collated$N (a text COLLATE $S.c$N); INSERT INTO $S.collated$N VALUES ('a'), ('B')",
    ),
    (
        "superuser",
        "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public; CREATE TABLE $S.fold$N (w public.citext UNIQUE); INSERT INTO $S.fold$N VALUES ('Word'), ('other')",
    ),
    (
        "superuser",
        "CREATE TABLE $S.fast$N (a int); INSERT INTO $S.fast$N VALUES (1); CREATE PUBLICATION pub_$S_$N FOR TABLE $S.fast$N",
    ),
    (
        "superuser",
        "CREATE FOREIGN DATA WRAPPER fdw_$S_$N; CREATE SERVER srv_$S_$N FOREIGN DATA WRAPPER fdw_$S_$N OPTIONS (host 'h'); CREATE USER MAPPING FOR app SERVER srv_$S_$N OPTIONS (u 'v')",
    ),
];
