//! What calls functions, or is called: casts, operators and their classes, aggregates, rules, triggers of events, languages.

use crate::objects::Object;

pub(crate) const CODE: [Object; 20] = [
    (
        "owner",
        "CREATE TYPE $S.coin$N AS (n int); CREATE FUNCTION $S.coined$N(int) RETURNS $S.coin$N LANGUAGE sql IMMUTABLE AS 'SELECT ROW($1)::$S.coin$N'; CREATE CAST (int AS $S.coin$N) WITH FUNCTION $S.coined$N(int) AS ASSIGNMENT; COMMENT ON CAST (int AS $S.coin$N) IS 'c'; CREATE TABLE $S.coins$N (c $S.coin$N DEFAULT 3::$S.coin$N); INSERT INTO $S.coins$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TYPE $S.level$N AS ENUM ('low', 'high'); CREATE CAST ($S.level$N AS text) WITH INOUT AS IMPLICIT; CREATE CAST (text AS $S.level$N) WITH INOUT; CREATE TABLE $S.levels$N (a text DEFAULT ('high'::$S.level$N)::text, b $S.level$N DEFAULT (lower('LOW'))::$S.level$N); INSERT INTO $S.levels$N DEFAULT VALUES",
    ),
    // A type of its own, and one that is the same as another in bits.
    (
        "superuser",
        "CREATE TYPE $S.id$N; CREATE FUNCTION $S.id_in$N(cstring) RETURNS $S.id$N LANGUAGE internal IMMUTABLE STRICT AS 'int4in'; CREATE FUNCTION $S.id_out$N($S.id$N) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out'; CREATE TYPE $S.id$N (INPUT = $S.id_in$N, OUTPUT = $S.id_out$N, LIKE = int4, CATEGORY = 'X', DEFAULT = '7'); CREATE CAST ($S.id$N AS int) WITHOUT FUNCTION AS IMPLICIT; CREATE CAST (int AS $S.id$N) WITHOUT FUNCTION AS ASSIGNMENT; SET ROLE $OWNER; CREATE TABLE $S.ids$N (a $S.id$N, b $S.id$N[] DEFAULT '{1,2}', c int GENERATED ALWAYS AS (a + 1) STORED); INSERT INTO $S.ids$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE TYPE $S.key$N AS ENUM ('a', 'b'); CREATE FUNCTION $S.below$N($S.key$N, $S.key$N) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 < $2'; CREATE FUNCTION $S.above$N($S.key$N, $S.key$N) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > $2'; CREATE FUNCTION $S.least$N($S.key$N, $S.key$N) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 >= $2'; CREATE OPERATOR $S.<<< (LEFTARG = $S.key$N, RIGHTARG = $S.key$N, FUNCTION = $S.below$N, COMMUTATOR = OPERATOR($S.>>>), NEGATOR = OPERATOR($S.>>=), RESTRICT = scalarltsel, JOIN = scalarltjoinsel); CREATE OPERATOR $S.>>> (LEFTARG = $S.key$N, RIGHTARG = $S.key$N, FUNCTION = $S.above$N, COMMUTATOR = OPERATOR($S.<<<)); CREATE OPERATOR $S.>>= (LEFTARG = $S.key$N, RIGHTARG = $S.key$N, FUNCTION = $S.least$N, NEGATOR = OPERATOR($S.<<<)); COMMENT ON OPERATOR $S.>>> ($S.key$N, $S.key$N) IS 'o'; CREATE TABLE $S.keys$N (a $S.key$N, b $S.key$N, CHECK (a OPERATOR($S.<<<) b)); INSERT INTO $S.keys$N VALUES ('a', 'b')",
    ),
    (
        "owner",
        "CREATE TYPE $S.sign$N AS ENUM ('plus', 'minus'); CREATE FUNCTION $S.flip$N($S.sign$N) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN CASE WHEN $1 = ''plus'' THEN -1 ELSE 1 END; END'; CREATE FUNCTION $S.same$N($S.sign$N, $S.sign$N) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2'; CREATE OPERATOR $S.!~! (RIGHTARG = $S.sign$N, FUNCTION = $S.flip$N); CREATE OPERATOR $S.=== (LEFTARG = $S.sign$N, RIGHTARG = $S.sign$N, FUNCTION = $S.same$N, COMMUTATOR = OPERATOR($S.===), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES); CREATE TABLE $S.signs$N (a $S.sign$N, b int GENERATED ALWAYS AS (OPERATOR($S.!~!) a) STORED); INSERT INTO $S.signs$N VALUES ('plus'), ('minus')",
    ),
    // Operator classes are created by superusers only, and may be handed over; the functions that they call are the owner's.
    (
        "superuser",
        "SET ROLE $OWNER; CREATE FUNCTION $S.upside$N(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)'; SET ROLE NONE; CREATE OPERATOR CLASS $S.upside$N FOR TYPE int USING btree AS OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 $S.upside$N(int, int); ALTER OPERATOR CLASS $S.upside$N USING btree OWNER TO $OWNER; ALTER OPERATOR FAMILY $S.upside$N USING btree OWNER TO $OWNER; COMMENT ON OPERATOR CLASS $S.upside$N USING btree IS 'u'; SET ROLE $OWNER; CREATE TABLE $S.upsides$N (a int); INSERT INTO $S.upsides$N SELECT n FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.upsides$N (a $S.upside$N)",
    ),
    (
        "superuser",
        "CREATE OPERATOR FAMILY $S.loose$N USING btree; ALTER OPERATOR FAMILY $S.loose$N USING btree ADD OPERATOR 1 < (int4, int8), OPERATOR 3 = (int4, int8), FUNCTION 1 (int4, int8) btint48cmp(int4, int8); CREATE OPERATOR CLASS $S.ints$N FOR TYPE int4 USING btree FAMILY $S.loose$N AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int4, int4)",
    ),
    (
        "superuser",
        "SET ROLE $OWNER; CREATE FUNCTION $S.hash$N(int, int8) RETURNS int8 LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2'; SET ROLE NONE; CREATE OPERATOR CLASS $S.hashed$N FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 2 $S.hash$N(int, int8); SET ROLE $OWNER; CREATE TABLE $S.spread$N (a int) PARTITION BY HASH (a $S.hashed$N); CREATE TABLE $S.spread$N_0 PARTITION OF $S.spread$N FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE $S.spread$N_1 PARTITION OF $S.spread$N FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO $S.spread$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.push$N(int[], int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT $1 || $2'; CREATE FUNCTION $S.pop$N(int[], int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT $1[2:]'; CREATE FUNCTION $S.first$N(int[]) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1[1]'; CREATE AGGREGATE $S.first_of$N (int) (SFUNC = $S.push$N, STYPE = int[], INITCOND = '{}', FINALFUNC = $S.first$N, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = $S.push$N, MINVFUNC = $S.pop$N, MSTYPE = int[], MINITCOND = '{}', MFINALFUNC = $S.first$N, PARALLEL = SAFE); COMMENT ON AGGREGATE $S.first_of$N (int) IS 'a'; REVOKE ALL ON FUNCTION $S.first_of$N FROM PUBLIC; GRANT EXECUTE ON FUNCTION $S.first_of$N TO readers; CREATE TABLE $S.firsts$N AS SELECT n AS a FROM generate_series(1, $ROWS) n; CREATE VIEW $S.first_seen$N AS SELECT $S.first_of$N(a) AS a FROM $S.firsts$N",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.add_to$N(float8[], float8) RETURNS float8[] LANGUAGE sql IMMUTABLE AS 'SELECT $1 || $2'; CREATE FUNCTION $S.nth$N(float8[], int) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT $1[$2]'; CREATE AGGREGATE $S.ranked$N (int ORDER BY float8) (SFUNC = $S.add_to$N, STYPE = float8[], INITCOND = '{}', FINALFUNC = $S.nth$N); CREATE AGGREGATE $S.highest$N (float8) (SFUNC = float8larger, STYPE = float8, SORTOP = >, COMBINEFUNC = float8larger)",
    ),
    (
        "superuser",
        "CREATE AGGREGATE $S.joined$N (text, text) (SFUNC = string_agg_transfn, STYPE = internal, FINALFUNC = string_agg_finalfn)",
    ),
    (
        "owner",
        "CREATE TABLE $S.under$N (a int, b text DEFAULT 'x'); CREATE VIEW $S.over$N AS SELECT a, b FROM $S.under$N; CREATE RULE add AS ON INSERT TO $S.over$N DO INSTEAD INSERT INTO $S.under$N VALUES (new.a + 1, new.b); CREATE RULE change AS ON UPDATE TO $S.over$N WHERE old.a > 3 DO INSTEAD NOTHING; CREATE TABLE $S.log$N (a int); CREATE RULE log AS ON UPDATE TO $S.under$N WHERE new.a <> old.a DO ALSO INSERT INTO $S.log$N VALUES (old.a); CREATE RULE late AS ON DELETE TO $S.under$N DO ALSO NOTIFY gone; ALTER TABLE $S.under$N DISABLE RULE late; ALTER TABLE $S.under$N ENABLE ALWAYS RULE log; COMMENT ON RULE add ON $S.over$N IS 'r'; INSERT INTO $S.over$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    // Both are there only once everything else is.
    (
        "superuser",
        "CREATE FUNCTION $S.seen$N() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN NULL; END'; CREATE EVENT TRIGGER et_$S_$N ON ddl_command_start WHEN TAG IN ('CREATE TABLE', 'DROP FUNCTION') EXECUTE FUNCTION $S.seen$N(); COMMENT ON EVENT TRIGGER et_$S_$N IS 'e'; CREATE EVENT TRIGGER off_$S_$N ON ddl_command_end EXECUTE FUNCTION $S.seen$N(); ALTER EVENT TRIGGER off_$S_$N DISABLE",
    ),
    (
        "superuser",
        "SET ROLE $OWNER; CREATE FUNCTION $S.keep$N() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''kept''; END'; SET ROLE NONE; CREATE EVENT TRIGGER keep_$S_$N ON sql_drop WHEN TAG IN ('DROP TABLE', 'DROP SCHEMA') EXECUTE FUNCTION $S.keep$N(); ALTER EVENT TRIGGER keep_$S_$N ENABLE ALWAYS",
    ),
    (
        "superuser",
        "CREATE FUNCTION $S.pl_call$N() RETURNS language_handler LANGUAGE c AS '$libdir/plpgsql', 'plpgsql_call_handler'; CREATE FUNCTION $S.pl_inline$N(internal) RETURNS void LANGUAGE c STRICT AS '$libdir/plpgsql', 'plpgsql_inline_handler'; CREATE FUNCTION $S.pl_check$N(oid) RETURNS void LANGUAGE c STRICT AS '$libdir/plpgsql', 'plpgsql_validator'; CREATE TRUSTED LANGUAGE pl_$S_$N HANDLER $S.pl_call$N INLINE $S.pl_inline$N VALIDATOR $S.pl_check$N; COMMENT ON LANGUAGE pl_$S_$N IS 'l'; REVOKE USAGE ON LANGUAGE pl_$S_$N FROM PUBLIC; GRANT USAGE ON LANGUAGE pl_$S_$N TO $OWNER; SET ROLE $OWNER; CREATE FUNCTION $S.spoken$N(int) RETURNS int LANGUAGE pl_$S_$N IMMUTABLE AS 'BEGIN RETURN $1; END'; CREATE TABLE $S.speech$N (a int CHECK ($S.spoken$N(a) > 0)); INSERT INTO $S.speech$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "superuser",
        "CREATE OR REPLACE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION prsd_lextype(internal), TO SQL WITH FUNCTION int4recv(internal)); CREATE ACCESS METHOD heap_$S_$N TYPE TABLE HANDLER heap_tableam_handler; SET ROLE $OWNER; CREATE TABLE $S.heap$N (a int) USING heap_$S_$N; INSERT INTO $S.heap$N SELECT n FROM generate_series(1, $ROWS) n",
    ),
    (
        "owner",
        "CREATE FUNCTION $S.all_of$N(VARIADIC a int[] DEFAULT '{1,2}', OUT b int, OUT c text) LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER COST 7 SET search_path = pg_catalog, pg_temp AS 'BEGIN b := 1; c := ''x''; END'",
    ),
    (
        "owner",
        "CREATE TABLE $S.stock$N (a int, b int); CREATE FUNCTION $S.count$N() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER each AFTER UPDATE ON $S.stock$N REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION $S.count$N('it''s', '2'); CREATE CONSTRAINT TRIGGER late AFTER INSERT ON $S.stock$N DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.a > 1) EXECUTE FUNCTION $S.count$N(); ALTER TABLE $S.stock$N ENABLE REPLICA TRIGGER late; COMMENT ON TRIGGER each ON $S.stock$N IS 't'",
    ),
    // Of another owner, to whom the table's owner grants access.
    (
        "superuser",
        "GRANT USAGE, CREATE ON SCHEMA $S TO $OTHER; SET ROLE $OTHER; CREATE FUNCTION $S.theirs$N(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0'; CREATE TYPE $S.their$N AS (a int); CREATE TABLE $S.them$N (a int PRIMARY KEY); INSERT INTO $S.them$N SELECT generate_series(1, 50); REVOKE ALL ON FUNCTION $S.theirs$N FROM PUBLIC; GRANT EXECUTE ON FUNCTION $S.theirs$N TO $OWNER; REVOKE ALL ON TYPE $S.their$N FROM PUBLIC; GRANT USAGE ON TYPE $S.their$N TO $OWNER; GRANT REFERENCES, SELECT ON $S.them$N TO $OWNER; SET ROLE $OWNER; CREATE TABLE $S.ours$N (a int CHECK ($S.theirs$N(a)) REFERENCES $S.them$N, b $S.their$N); INSERT INTO $S.ours$N SELECT n % 49 + 1, ROW(n)::$S.their$N FROM generate_series(1, $ROWS) n; CREATE VIEW $S.both$N AS SELECT a FROM $S.them$N; SET ROLE NONE; REVOKE CREATE ON SCHEMA $S FROM $OTHER",
    ),
    (
        "superuser",
        "CREATE FUNCTION $S.raise$N(int) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'int4inc'; REVOKE ALL ON FUNCTION $S.raise$N FROM PUBLIC; GRANT EXECUTE ON FUNCTION $S.raise$N TO $OWNER; SET ROLE $OWNER; CREATE TABLE $S.raised$N (a int, b int GENERATED ALWAYS AS ($S.raise$N(a)) STORED); INSERT INTO $S.raised$N SELECT n FROM generate_series(1, $ROWS) n; CREATE INDEX ON $S.raised$N ($S.raise$N(b))",
    ),
];
