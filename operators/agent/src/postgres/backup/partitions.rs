//! Partitions that have other rows in another server.

use crate::failure::Failure;
use crate::postgres::client::session::Session;

/// The table that a table `c` is filled by way of: itself, or the one that it is a partition of, at the top.
///
/// The number that a value of an enumeration is stored by is another one in each database; so is its hash, and that of what holds such
/// values. Hashes by a collation for which different texts are equal, and the order of texts by any but a few collations, are another
/// library's in another image. What users wrote to hash and to compare may do anything. The rows of such a partition are another's
/// once they are loaded, and are refused by their own. A list asks whether values are equal, which enumerations do not change.
pub(crate) const FILLED: &str = "CASE WHEN c.relispartition AND EXISTS (SELECT \
FROM pg_catalog.pg_partition_ancestors(c.oid) AS above (oid) JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = above.oid \
WHERE (p.partstrat <> 'l' AND EXISTS (SELECT FROM pg_catalog.pg_opclass o WHERE o.oid = ANY (p.partclass) \
  AND (o.opcnamespace <> 'pg_catalog'::pg_catalog.regnamespace \
  OR o.opcname IN ('array_ops', 'enum_ops', 'multirange_ops', 'range_ops', 'record_ops')))) \
OR EXISTS (SELECT FROM pg_catalog.pg_collation l WHERE l.oid = ANY (p.partcollation) AND CASE p.partstrat \
  WHEN 'r' THEN l.collname NOT IN ('C', 'POSIX', 'pg_c_utf8', 'ucs_basic') OR l.collnamespace <> 'pg_catalog'::pg_catalog.regnamespace \
  ELSE NOT l.collisdeterministic END)) THEN pg_catalog.pg_partition_root(c.oid) ELSE c.oid END";

/// Whether there is a partition that is not filled by itself. pg_dump knows those by enumerations alone
/// (getPartitioningInfo in src/bin/pg_dump/pg_dump.c), and can be told to fill all by way of the table at the top.
pub(crate) fn any_moves(session: &mut Session<'_>) -> Result<bool, Failure> {
    let sql = format!("SELECT 1 FROM pg_catalog.pg_class c WHERE c.relkind = 'r' AND {FILLED} <> c.oid LIMIT 1");
    Ok(session.query_one(&sql)?.is_some())
}
