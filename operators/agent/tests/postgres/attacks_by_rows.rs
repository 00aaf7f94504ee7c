//! What runs for each row, or while an expression is folded.

use crate::attacks::Attack;

/// Each is run by the application's role.
pub static ROWS: [Attack; 21] = [
    ("check of a column", 13, "CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1)"),
    ("check of a table", 13, "CREATE TABLE t (a int, b int, CHECK (ok(a + b))); INSERT INTO t VALUES (1, 2)"),
    (
        "check that is not valid",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); ALTER TABLE t ADD CHECK (ok(a)) NOT VALID",
    ),
    ("check with a constant", 13, "CREATE TABLE t (a int CHECK (a < 5 + hit(1))); INSERT INTO t VALUES (1)"),
    (
        "check inherited",
        13,
        "CREATE TABLE p (a int CHECK (ok(a))); CREATE TABLE t () INHERITS (p); INSERT INTO t VALUES (1)",
    ),
    (
        "check by a definer",
        13,
        "ALTER FUNCTION strike() SECURITY DEFINER; CREATE TABLE t (a int CHECK (ok(a))); INSERT INTO t VALUES (1)",
    ),
    (
        "generated column",
        13,
        "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (hit(a)) STORED); INSERT INTO t VALUES (1)",
    ),
    (
        "generated constant",
        13,
        "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + hit(1)) STORED); INSERT INTO t VALUES (1)",
    ),
    ("default", 13, "CREATE TABLE t (a int, b int DEFAULT hit(1)); INSERT INTO t VALUES (1)"),
    ("index", 13, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX ON t (hit(a))"),
    ("index with a constant", 13, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX ON t ((a + hit(1)))"),
    ("partial index", 13, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX ON t (a) WHERE ok(a)"),
    (
        "partial index with a constant",
        13,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX ON t (a) WHERE a < 5 + hit(1)",
    ),
    ("unique index", 13, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE UNIQUE INDEX ON t (hit(a))"),
    ("exclusion", 13, "CREATE TABLE t (a int, EXCLUDE ((hit(a)) WITH =)); INSERT INTO t VALUES (1)"),
    (
        "inlined function in an index",
        13,
        "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT public.hit($1)'; CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX ON t (f(a))",
    ),
    (
        "statistics",
        14,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); CREATE STATISTICS s ON (hit(a)), (a + hit(1)) FROM t; ANALYZE t",
    ),
    (
        "partition key",
        13,
        "CREATE TABLE t (a int) PARTITION BY RANGE (hit(a)); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (9); INSERT INTO t VALUES (1)",
    ),
    (
        "partition key with a constant",
        13,
        "CREATE TABLE t (a int) PARTITION BY RANGE ((a + hit(1))); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (9); INSERT INTO t VALUES (1)",
    ),
    (
        "list of partitions and the rest",
        13,
        "CREATE TABLE t (a int) PARTITION BY LIST ((hit(a))); CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE t2 PARTITION OF t DEFAULT; INSERT INTO t VALUES (1), (2)",
    ),
    (
        "hash partition",
        13,
        "CREATE TABLE t (a int) PARTITION BY HASH ((hit(a))); CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0); INSERT INTO t VALUES (1)",
    ),
];
