//! Pure: the names of a database's children.

use super::kinds::SampleDB;

/// The name of the controller of SampleDBs, also in its metrics.
pub(crate) const CONTROLLER: &str = "sample-db";

/// The PVC of the data, with the name that a StatefulSet's own template would give it.
#[must_use]
pub fn data_claim(db: &SampleDB) -> String {
    format!("data-{}-0", db.meta.key.name)
}

/// The PVC of the data under another major version.
#[must_use]
pub fn upgrade_claim(db: &SampleDB, major: u32) -> String {
    format!("data-{}-{major}", db.meta.key.name)
}

/// The major version that an upgrade created a PVC of the database's data for; 0 for the first PVC; none if it is not for data.
#[must_use]
pub fn data_major(db: &SampleDB, claim: &str) -> Option<u32> {
    claim.strip_prefix("data-")?.strip_prefix(&*db.meta.key.name)?.strip_prefix('-')?.parse().ok()
}

/// Whether a PVC that the operator created holds the data of a database, of any name. The PVC for snapshots of a database whose
/// name begins with `data-` does not end with a number.
#[must_use]
pub fn is_data_claim(claim: &str) -> bool {
    let server = claim.strip_prefix("data-").and_then(|server| server.rsplit_once('-'));
    server.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// The snapshot before an upgrade: a different one for each upgrade of each database.
#[must_use]
pub fn pre_upgrade_snapshot(db: &SampleDB) -> String {
    let of = format!("{} {:?}", db.meta.uid, db.status.upgrade.started_at);
    format!("{}-pre-{:06x}", db.meta.key.name, fingerprint(&of) & 0xff_ffff)
}

/// The PVC for snapshots.
#[must_use]
pub fn snapshot_claim(db: &SampleDB) -> String {
    match &db.spec.backup.storage.existing_claim {
        Some(claim) => claim.clone(),
        None => own_snapshot_claim(db),
    }
}

/// The PVC that the operator creates for snapshots, unless the spec names another.
#[must_use]
pub fn own_snapshot_claim(db: &SampleDB) -> String {
    own_snapshot_claim_of(&db.meta.key.name)
}

/// The same for a SampleDB of that name, which need not exist.
#[must_use]
pub fn own_snapshot_claim_of(sample_db: &str) -> String {
    format!("{sample_db}-snapshots")
}

/// The StatefulSet of the server: another one since a major upgrade.
#[must_use]
pub fn server(db: &SampleDB) -> &str {
    db.status.server.as_deref().unwrap_or(&db.meta.key.name)
}

/// The StatefulSet of the server under another major version.
#[must_use]
pub fn upgrade_server(db: &SampleDB, major: u32) -> String {
    format!("{}-{major}", db.meta.key.name)
}

/// The pod of the current server.
#[must_use]
pub fn pod(db: &SampleDB) -> String {
    pod_of(server(db))
}

/// The pod of a StatefulSet.
#[must_use]
pub fn pod_of(server: &str) -> String {
    format!("{server}-0")
}

/// Whether a pod of the database is a server's, and not a Job's.
#[must_use]
pub fn is_server_pod(db: &SampleDB, pod: &str) -> bool {
    let set = pod.strip_suffix("-0").and_then(|set| set.strip_prefix(&*db.meta.key.name));
    let major = |rest: &str| rest.strip_prefix('-').is_some_and(|major| major.parse::<u32>().is_ok());
    set.is_some_and(|rest| rest.is_empty() || major(rest))
}

/// The pod that mounts a PVC with data.
#[must_use]
pub fn pod_of_data_claim(db: &SampleDB, claim: &str) -> String {
    match claim.strip_prefix("data-") {
        Some(server) if claim != data_claim(db) => pod_of(server),
        _ => pod_of(&db.meta.key.name),
    }
}

/// The Service that applications use.
#[must_use]
pub fn read_write_service(db: &SampleDB) -> String {
    format!("{}-rw", db.meta.key.name)
}

/// The headless Service, which gives the pod its DNS name.
#[must_use]
pub fn headless_service(db: &SampleDB) -> String {
    format!("{}-pods", db.meta.key.name)
}

/// The Secret with the user name and password of applications.
#[must_use]
pub fn app_secret(db: &SampleDB) -> String {
    match &db.spec.credentials.secret_ref {
        Some(secret) => secret.name.clone(),
        None => generated_app_secret(db),
    }
}

/// The Secret that the operator generates for applications, unless the spec names another.
#[must_use]
pub fn generated_app_secret(db: &SampleDB) -> String {
    format!("{}-app", db.meta.key.name)
}

/// The Secret with the superuser's password.
#[must_use]
pub fn superuser_secret(db: &SampleDB) -> String {
    format!("{}-system", db.meta.key.name)
}

/// The ConfigMap with the connection details.
#[must_use]
pub fn connection_config_map(db: &SampleDB) -> String {
    format!("{}-connection", db.meta.key.name)
}

/// The ConfigMap with the server's parameters.
#[must_use]
pub fn server_config_map(db: &SampleDB) -> String {
    format!("{}-configuration", db.meta.key.name)
}

/// The Job of the initial configuration.
#[must_use]
pub fn init_job(db: &SampleDB) -> String {
    format!("{}-init", db.meta.key.name)
}

/// The trial Jobs, which find out whether a pod with the current spec would start: next to the present pod, and after that pod
/// has released its resources.
#[must_use]
pub fn trial_jobs(db: &SampleDB) -> [String; 2] {
    ["trial", "whole"].map(|part| format!("{}-{part}", db.meta.key.name))
}

/// The database that applications use; its owner has the same name.
#[must_use]
pub fn database(db: &SampleDB) -> &str {
    db.spec.bootstrap.database()
}

/// The server's host name within the cluster.
#[must_use]
pub fn host(db: &SampleDB) -> String {
    format!("{}.{}.svc", read_write_service(db), db.meta.key.namespace)
}

/// The port of the server.
pub(crate) const PORT: i32 = 5432;
/// The superuser that initdb creates.
pub(crate) const SUPERUSER: &str = "postgres";

/// The container of the server.
pub(crate) const SERVER: &str = "postgres";

/// FNV-1a, 64 bits: stable across versions, unlike Rust's hashes.
/// Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
pub(crate) fn fingerprint(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
