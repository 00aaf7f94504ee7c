//! What runs for a constant of a type, for a trigger, or for a materialized view.

use crate::attacks::Attack;

/// Each is run by the application's role.
pub static TYPES: [Attack; 24] = [
    (
        "bound of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a d) PARTITION BY LIST (a); CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); INSERT INTO t VALUES (1)",
    ),
    ("domain", 13, "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a d); INSERT INTO t VALUES (1)"),
    (
        "domain of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE DOMAIN e AS d CHECK (VALUE > 0); CREATE TABLE t (a e); INSERT INTO t VALUES (1)",
    ),
    (
        "domain that is not valid",
        13,
        "CREATE DOMAIN d AS int; CREATE TABLE t (a d); INSERT INTO t VALUES (1); ALTER DOMAIN d ADD CHECK (ok(VALUE)) NOT VALID",
    ),
    (
        "array of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a d[]); INSERT INTO t VALUES ('{1,2}')",
    ),
    (
        "default of an array of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a d[] DEFAULT '{1}'::d[]); INSERT INTO t DEFAULT VALUES",
    ),
    (
        "composite of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TYPE c AS (x d); CREATE TABLE t (a c DEFAULT '(1)'::c); INSERT INTO t DEFAULT VALUES",
    ),
    (
        "view with a constant of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE VIEW v AS SELECT '{1}'::d[] AS a",
    ),
    (
        "argument with a constant of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE FUNCTION z(a d[] DEFAULT '{1}'::d[]) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ),
    (
        "aggregate with a constant of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE FUNCTION f(d[], int) RETURNS d[] LANGUAGE sql AS 'SELECT $1'; CREATE AGGREGATE g(int) (SFUNC = f, STYPE = d[], INITCOND = '{1}')",
    ),
    (
        "policy with a constant of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a int); CREATE POLICY p ON t USING (a = ANY ('{1}'::d[]::int[]))",
    ),
    (
        "index with a constant of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX ON t (a) WHERE a = ANY ('{1}'::d[]::int[])",
    ),
    (
        "condition of a trigger",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a int); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.a = ANY ('{1}'::d[]::int[])) EXECUTE FUNCTION fire()",
    ),
    (
        "rule with a constant of a domain",
        13,
        "CREATE DOMAIN d AS int CHECK (ok(VALUE)); CREATE TABLE t (a int); CREATE RULE r AS ON INSERT TO t WHERE NEW.a = ANY ('{1}'::d[]::int[]) DO ALSO NOTHING",
    ),
    (
        "materialized view",
        13,
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN 1; END'; CREATE MATERIALIZED VIEW m AS SELECT f()",
    ),
    (
        "index of a materialized view",
        13,
        "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; CREATE UNIQUE INDEX ON m ((a + hit(1)))",
    ),
    (
        "materialized view of a materialized view",
        13,
        "CREATE MATERIALIZED VIEW m AS SELECT hit(1) AS a; CREATE MATERIALIZED VIEW n AS SELECT hit(a) FROM m",
    ),
    (
        "trigger",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fire()",
    ),
    (
        "trigger that always fires",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TRIGGER g AFTER INSERT ON t EXECUTE FUNCTION fire(); ALTER TABLE t ENABLE ALWAYS TRIGGER g",
    ),
    (
        "trigger of replicas",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TRIGGER g AFTER INSERT ON t EXECUTE FUNCTION fire(); ALTER TABLE t ENABLE REPLICA TRIGGER g",
    ),
    (
        "deferred trigger",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE CONSTRAINT TRIGGER g AFTER INSERT OR UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fire()",
    ),
    (
        "trigger on truncation",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TRIGGER g BEFORE TRUNCATE ON t EXECUTE FUNCTION fire()",
    ),
    (
        "cast in a foreign key",
        13,
        "CREATE TYPE e AS ENUM ('a'); CREATE FUNCTION f(e) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.hit(1); RETURN ''a''; END'; CREATE CAST (e AS text) WITH FUNCTION f(e) AS IMPLICIT; CREATE TABLE p (a text PRIMARY KEY); INSERT INTO p VALUES ('a'); CREATE TABLE t (a e REFERENCES p); INSERT INTO t VALUES ('a')",
    ),
    (
        "cascade with a trigger",
        13,
        "CREATE TABLE p (a int PRIMARY KEY CHECK (ok(a))); CREATE TABLE t (a int REFERENCES p ON UPDATE CASCADE); INSERT INTO p VALUES (1); INSERT INTO t VALUES (1); CREATE TRIGGER g AFTER UPDATE ON t EXECUTE FUNCTION fire()",
    ),
];
