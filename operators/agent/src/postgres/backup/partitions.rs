//! Partitions that have other rows in another server.

use crate::failure::CommandFailure;
use crate::postgres::client::session::Session;

/// The table through which a load fills a table `c`: itself, or the topmost table that it is a partition of.
///
/// A server stores a value of an enumeration by a number that differs between databases; so does its hash, and that of types with
/// such values. Hashes by a nondeterministic collation, and the order of texts by any but a few collations, depend on a library
/// of the image. Functions of users that hash or compare may do anything. Once loaded, rows of such a partition belong to another
/// one, and their old partition rejects them. A list compares values for equality, which does not depend on numbers of
/// enumerations.
pub(crate) const FILLED: &str = "CASE WHEN c.relispartition AND EXISTS (SELECT \
FROM pg_catalog.pg_partition_ancestors(c.oid) AS above (oid) JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = above.oid \
WHERE (p.partstrat <> 'l' AND EXISTS (SELECT FROM pg_catalog.pg_opclass o WHERE o.oid = ANY (p.partclass) \
  AND (o.opcnamespace <> 'pg_catalog'::pg_catalog.regnamespace \
  OR o.opcname IN ('array_ops', 'enum_ops', 'multirange_ops', 'range_ops', 'record_ops')))) \
OR EXISTS (SELECT FROM pg_catalog.pg_collation l WHERE l.oid = ANY (p.partcollation) AND CASE p.partstrat \
  WHEN 'r' THEN l.collname NOT IN ('C', 'POSIX', 'pg_c_utf8', 'ucs_basic') OR l.collnamespace <> 'pg_catalog'::pg_catalog.regnamespace \
  ELSE NOT l.collisdeterministic END)) THEN pg_catalog.pg_partition_root(c.oid) ELSE c.oid END";

/// Whether there is a partition that a load fills through another table. pg_dump by itself detects enumerations only
/// (getPartitioningInfo in src/bin/pg_dump/pg_dump.c), and has a flag to fill all through the topmost table.
pub(crate) fn any_moves(session: &mut Session<'_>) -> Result<bool, CommandFailure> {
    let sql = format!("SELECT 1 FROM pg_catalog.pg_class c WHERE c.relkind = 'r' AND {FILLED} <> c.oid LIMIT 1");
    Ok(session.query_one(&sql)?.is_some())
}
