//! Names that several kinds share: their groups and a finalizer.

/// Group of the etcd kinds.
pub const ETCD_GROUP: &str = "etcd.database.coreos.com";
/// The finalizer that keeps the PVC of a database or an etcd member until the data is saved or given up.
pub const UNSAVED_DATA: &str = "example.com/unsaved-data";
/// Group of MyApp, Sample and the databases.
pub const GROUP: &str = "example.com";
