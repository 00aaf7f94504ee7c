//! Initial content of a database.

use jiff::Timestamp;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::storage::{NAME, unchanged};

/// Default name of the database and of its owner.
pub const DEFAULT_DATABASE: &str = "app";

/// Names that an application's database must not have: PostgreSQL owns them, they mean something else where access is
/// granted, or the operator owns them. Names that begin with `pg_` or `sampledb_` are reserved too.
pub const RESERVED_IDENTIFIERS: [&str; 10] =
    ["postgres", "template0", "template1", "public", "none", "all", "sameuser", "samerole", "samegroup", "replication"];

/// Initial content of the database. Cannot be changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// Name of the database and of the role that owns it. Default: app. The encoding is UTF8, the locale C.UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z_][a-z0-9_]{0,62}$')").message(
        "bootstrap.database must be 1 to 63 lower-case letters, digits or '_', and not start with a digit"
    ))]
    #[x_kube(validation = Rule::new(NOT_RESERVED).message(
        "bootstrap.database is a reserved name: use one other than postgres, template0, template1, public, none, \
         all, sameuser, samerole, samegroup, replication, pg_* and sampledb_*"
    ))]
    pub database: Option<String>,

    /// Snapshot to restore into the new database. Default: none, the database starts empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_snapshot: Option<FromSnapshot>,
}

impl Bootstrap {
    /// The name of the database and of its owner.
    #[must_use]
    pub fn database(&self) -> &str {
        self.database.as_deref().unwrap_or(DEFAULT_DATABASE)
    }
}

/// Snapshot in the same namespace: one by its name, or the newest of a SampleDB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.ofSampleDB)").message(
    "bootstrap.fromSnapshot takes exactly one of name (of a SampleDBSnapshot) and ofSampleDB (its newest one)"
))]
#[x_kube(validation = Rule::new("!has(self.before) || has(self.ofSampleDB)").message(
    "bootstrap.fromSnapshot.before selects among the snapshots of ofSampleDB: omit it with name"
))]
pub struct FromSnapshot {
    /// Name of a SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message("fromSnapshot.name must be the name of a SampleDBSnapshot"))]
    pub name: Option<String>,

    /// Name of a SampleDB, which may be deleted: the operator restores its newest Ready snapshot.
    #[serde(default, rename = "ofSampleDB", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message("fromSnapshot.ofSampleDB must be the name of a SampleDB"))]
    pub of_sample_db: Option<String>,

    /// Latest completion time of the snapshot to restore, such as 2026-01-31T06:00:00Z; requires `ofSampleDB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(max = 40), regex(pattern = WITH_OFFSET), extend("format" = crate::ISO_SECONDS))]
    pub before: Option<Timestamp>,
}

/// A time has an offset: without one its meaning is ambiguous, and the API server would accept it.
pub(crate) const WITH_OFFSET: &str = "^[0-9-]{10}T[0-9:.]{8,18}(Z|[+-][0-9]{2}:[0-9]{2})$";

/// SQL that runs once in a new database, before it is Ready for the first time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Init {
    /// SQL from ConfigMaps and Secrets in the same namespace, at most 16. It runs in this order as the database's
    /// owner, in one transaction with the record in the database that it ran. If it fails, PostgreSQL rolls all of it
    /// back, and the operator retries once the SQL changes. After it has run, changes have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub sql_from: Vec<SqlSource>,
}

/// Exactly one source of SQL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.configMapKeyRef) != has(self.secretKeyRef)").message(
    "an entry of init.sqlFrom takes exactly one of configMapKeyRef and secretKeyRef"
))]
pub struct SqlSource {
    /// Key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<SqlKeyRef>,
    /// Key of a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SqlKeyRef>,
}

/// One key of a ConfigMap or Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SqlKeyRef {
    /// Name of the ConfigMap or Secret.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message("name must be the name of a ConfigMap or Secret in the same \
        namespace"))]
    pub name: String,
    /// Name of the key.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[-._a-zA-Z0-9]+$')").message(
        "key must be the key of an entry: letters, digits, '-', '_' and '.'"
    ))]
    pub key: String,
}

const NOT_RESERVED: &str = "!self.startsWith('pg_') && !self.startsWith('sampledb_') && !(self in ['postgres', 'template0', \
    'template1', 'public', 'none', 'all', 'sameuser', 'samerole', 'samegroup', 'replication'])";

pub(super) fn same_database() -> String {
    unchanged(&["bootstrap", "database"], &format!("'{DEFAULT_DATABASE}'"))
}

pub(super) fn same_source() -> String {
    let source = |field| ["bootstrap", "fromSnapshot", field];
    let [name, of] = ["name", "ofSampleDB"].map(|field| unchanged(&source(field), "''"));
    // The format makes it a timestamp; year 1 stands for unset.
    let before = unchanged(&source("before"), "timestamp('0001-01-01T00:00:00Z')");
    format!("{name} && {of} && {before}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_names_every_reserved_name() {
        for name in RESERVED_IDENTIFIERS {
            assert!(NOT_RESERVED.contains(&format!("'{name}'")), "{name}");
        }
    }
}
