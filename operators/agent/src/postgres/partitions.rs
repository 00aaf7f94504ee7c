//! Partitions that have other rows in another server.

/// The table that a table `c` is filled by way of: itself, or the one that it is a partition of, at the top.
///
/// The number that a value of an enumeration is stored by is another one in each database. Of a table that is partitioned by the
/// hash of such a value, the rows of one partition are another's once they are loaded. Judged as pg_dump does, which then says
/// `COPY` into the table at the top (getPartitioningInfo in src/bin/pg_dump/pg_dump.c).
pub(crate) const FILLED: &str = "CASE WHEN c.relispartition AND EXISTS (SELECT \
FROM pg_catalog.pg_partition_ancestors(c.oid) AS above (oid) JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = above.oid \
JOIN pg_catalog.pg_opclass o ON o.oid = ANY (p.partclass) WHERE p.partstrat = 'h' AND o.opcname = 'enum_ops' \
AND o.opcnamespace = 'pg_catalog'::pg_catalog.regnamespace) THEN pg_catalog.pg_partition_root(c.oid) ELSE c.oid END";
