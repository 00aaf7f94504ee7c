//! What is found in place of something else, or is read as something else.

use crate::attacks::Attack;

/// Each is run by the application's role.
pub static NAMES: [Attack; 21] = [
    (
        "operator",
        13,
        "CREATE FUNCTION same(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.ok($1); END'; CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = same); CREATE TABLE t (a int CHECK (a === 1)); INSERT INTO t VALUES (1)",
    ),
    (
        "operator in place of the server's",
        13,
        "CREATE FUNCTION same(name, text) RETURNS bool LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN true; END'; CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = text, FUNCTION = same); ALTER DATABASE $DATABASE SET search_path = public, pg_catalog",
    ),
    (
        "concatenation in place of the server's",
        13,
        "CREATE FUNCTION glue(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN $1; END'; CREATE OPERATOR public.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = glue); ALTER DATABASE $DATABASE SET search_path = public, pg_catalog",
    ),
    (
        "function in place of the server's",
        13,
        "CREATE FUNCTION public.set_config(text, text, bool) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN $2; END'; CREATE FUNCTION public.pg_export_snapshot() RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN 1; END'; ALTER DATABASE $DATABASE SET search_path = public, pg_catalog",
    ),
    (
        "aggregate in place of the server's",
        13,
        "CREATE FUNCTION f(int8) RETURNS int8 LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN 1; END'; CREATE AGGREGATE public.count(*) (SFUNC = f, STYPE = int8, INITCOND = '0'); CREATE TABLE t (a int); INSERT INTO t VALUES (1); ALTER DATABASE $DATABASE SET search_path = public, pg_catalog",
    ),
    (
        "catalog in place of the server's",
        13,
        "CREATE VIEW public.pg_class AS SELECT hit(1)::oid AS oid; CREATE VIEW public.pg_extension AS SELECT hit(1)::text AS extname; ALTER DATABASE $DATABASE SET search_path = public, pg_catalog",
    ),
    (
        "role of the database",
        13,
        "CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1); ALTER DATABASE $DATABASE SET role = 'app'",
    ),
    (
        "nothing is to be written",
        13,
        "CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1); ALTER DATABASE $DATABASE SET default_transaction_read_only = on",
    ),
    (
        "no time is left",
        13,
        "CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1); ALTER DATABASE $DATABASE SET statement_timeout = 50",
    ),
    (
        "ledger that is none",
        13,
        "CREATE SCHEMA multi_operator; CREATE VIEW multi_operator.ledger AS SELECT hit(1)::text AS key, now() AS applied_at",
    ),
    (
        "difference of a range",
        13,
        // It runs while a page of the index is locked, where PostgreSQL gets over no error: it strikes if that may succeed.
        "CREATE FUNCTION f(float8, float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF current_user <> ''app'' OR session_user <> ''app'' THEN PERFORM public.strike(); END IF; RETURN $1 - $2; END'; CREATE TYPE r AS RANGE (SUBTYPE = float8, SUBTYPE_DIFF = f); CREATE TABLE t (a r); INSERT INTO t SELECT r(n, n + 1) FROM generate_series(1, 500) n; CREATE INDEX ON t USING gist (a)",
    ),
    (
        "name that is SQL",
        13,
        "CREATE TABLE \"x\"\"; ALTER ROLE app SUPERUSER; --\" (\"b\"\"); SELECT strike(); --\" int); INSERT INTO \"x\"\"; ALTER ROLE app SUPERUSER; --\" VALUES (1)",
    ),
    (
        "name that is psql's",
        13,
        "CREATE TABLE \"x\n\\! touch $MARKER\n\" (\"\\gexec\" int, \":USER\" int); INSERT INTO \"x\n\\! touch $MARKER\n\" VALUES (1, 2)",
    ),
    (
        "name that is a list's",
        13,
        "CREATE TABLE \"x public boss\n7; 0 0 TABLE x public boss\" (a int CHECK (ok(a))); INSERT INTO \"x public boss\n7; 0 0 TABLE x public boss\" VALUES (1)",
    ),
    ("comment that is psql's", 13, "CREATE TABLE t (a int); COMMENT ON TABLE t IS E'x\n\\\\! touch $MARKER\n\\\\.\n'"),
    (
        "rows that end a copy",
        13,
        "CREATE TABLE t (a text); INSERT INTO t VALUES (E'\\\\.'), (E'x\n\\\\.\n\\\\! touch $MARKER'), ('-- answered 1 --'), ('-- answered 12 --')",
    ),
    (
        "function that is psql's",
        13,
        "SET check_function_bodies = off; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS E'SELECT 1;\n\\\\! touch $MARKER\n'",
    ),
    (
        "function of the standard",
        14,
        "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT public.hit(a) + public.hit(1); END; CREATE TABLE t (a int CHECK (f(a) > 0)); INSERT INTO t VALUES (1)",
    ),
    (
        "row security",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE POLICY p ON t USING (ok(a)) WITH CHECK (ok(a)); ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY",
    ),
    (
        "grants by default",
        13,
        "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC; CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1); REVOKE ALL ON t FROM app",
    ),
    (
        "another's function",
        13,
        "CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1); CREATE FUNCTION f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN BEGIN PERFORM victims.steal(); EXCEPTION WHEN OTHERS THEN NULL; END; RETURN $1; END'; CREATE TABLE u (a int, b int GENERATED ALWAYS AS (f(a)) STORED); INSERT INTO u VALUES (1)",
    ),
];
