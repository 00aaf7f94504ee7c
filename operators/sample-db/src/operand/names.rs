//! Pure: what belongs to a database, by name.

use super::kinds::SampleDB;

/// The name of the controller of SampleDBs, as its metrics bear it.
pub(crate) const CONTROLLER: &str = "sample-db";

/// The data volume's claim: what a StatefulSet's own template would call it.
#[must_use]
pub fn data_claim(db: &SampleDB) -> String {
    format!("data-{}-0", db.meta.key.name)
}

/// The claim of the data under another major version.
#[must_use]
pub fn upgrade_claim(db: &SampleDB, major: u32) -> String {
    format!("data-{}-{major}", db.meta.key.name)
}

/// The major version that a claim of the database's data was made for by an upgrade, 0 for the first one; nothing for a
/// claim of anything else.
#[must_use]
pub fn data_major(db: &SampleDB, claim: &str) -> Option<u32> {
    claim.strip_prefix("data-")?.strip_prefix(&*db.meta.key.name)?.strip_prefix('-')?.parse().ok()
}

/// Whether a claim that the operator has made holds the data of a database, of whichever name; that of the snapshots of one whose name
/// begins with `data-` has no number at its end.
#[must_use]
pub fn is_data(claim: &str) -> bool {
    let server = claim.strip_prefix("data-").and_then(|server| server.rsplit_once('-'));
    server.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// The snapshot that is taken before an upgrade: another one for each upgrade of each database.
#[must_use]
pub fn pre_snapshot(db: &SampleDB) -> String {
    let of = format!("{} {:?}", db.meta.uid, db.status.upgrade.started_at);
    format!("{}-pre-{:06x}", db.meta.key.name, fingerprint(&of) & 0xff_ffff)
}

/// The snapshots' volume's claim.
#[must_use]
pub fn snapshot_claim(db: &SampleDB) -> String {
    match &db.spec.backup.storage.existing_claim {
        Some(claim) => claim.clone(),
        None => own_snapshot_claim(db),
    }
}

/// The claim that the operator makes for snapshots, unless it is told to use one of the user's.
#[must_use]
pub fn own_snapshot_claim(db: &SampleDB) -> String {
    format!("{}-snapshots", db.meta.key.name)
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

/// The pod of the server that serves.
#[must_use]
pub fn pod(db: &SampleDB) -> String {
    pod_of(server(db))
}

/// The one pod of a StatefulSet.
#[must_use]
pub fn pod_of(server: &str) -> String {
    format!("{server}-0")
}

/// Whether a pod of the database's is a server's, and not a Job's.
#[must_use]
pub fn is_server(db: &SampleDB, pod: &str) -> bool {
    let set = pod.strip_suffix("-0").and_then(|set| set.strip_prefix(&*db.meta.key.name));
    let major = |rest: &str| rest.strip_prefix('-').is_some_and(|major| major.parse::<u32>().is_ok());
    set.is_some_and(|rest| rest.is_empty() || major(rest))
}

/// The pod that a claim of data is for.
#[must_use]
pub fn pod_on(db: &SampleDB, claim: &str) -> String {
    match claim.strip_prefix("data-") {
        Some(server) if claim != data_claim(db) => pod_of(server),
        _ => pod_of(&db.meta.key.name),
    }
}

/// The Service that applications use.
#[must_use]
pub fn read_write(db: &SampleDB) -> String {
    format!("{}-rw", db.meta.key.name)
}

/// The headless Service, by which the pod has a name.
#[must_use]
pub fn peers(db: &SampleDB) -> String {
    format!("{}-pods", db.meta.key.name)
}

/// The Secret with the applications' name and password.
#[must_use]
pub fn app_secret(db: &SampleDB) -> String {
    match &db.spec.credentials.secret_ref {
        Some(secret) => secret.name.clone(),
        None => made_app_secret(db),
    }
}

/// The Secret with the applications' name and password that the operator makes, unless the spec names another.
#[must_use]
pub fn made_app_secret(db: &SampleDB) -> String {
    format!("{}-app", db.meta.key.name)
}

/// The Secret with the superuser's password.
#[must_use]
pub fn system_secret(db: &SampleDB) -> String {
    format!("{}-system", db.meta.key.name)
}

/// The ConfigMap with the connection details.
#[must_use]
pub fn connection(db: &SampleDB) -> String {
    format!("{}-connection", db.meta.key.name)
}

/// The ConfigMap with the server's parameters.
#[must_use]
pub fn configuration(db: &SampleDB) -> String {
    format!("{}-configuration", db.meta.key.name)
}

/// The Job of the initial configuration.
#[must_use]
pub fn init_job(db: &SampleDB) -> String {
    format!("{}-init", db.meta.key.name)
}

/// The Jobs that try whether a pod as the spec has it would start: beside the present pod, and where that one has nothing to give.
#[must_use]
pub fn trial_jobs(db: &SampleDB) -> [String; 2] {
    ["trial", "whole"].map(|part| format!("{}-{part}", db.meta.key.name))
}

/// The database that applications use, which is also its owner's name.
#[must_use]
pub fn database(db: &SampleDB) -> &str {
    db.spec.bootstrap.database()
}

/// Where the server is found within the cluster.
#[must_use]
pub fn host(db: &SampleDB) -> String {
    format!("{}.{}.svc", read_write(db), db.meta.key.namespace)
}

/// The port that the server listens at.
pub(crate) const PORT: i32 = 5432;
/// The superuser, as initdb makes it.
pub(crate) const SUPERUSER: &str = "postgres";

/// The container of the server.
pub(crate) const SERVER: &str = "postgres";

/// FNV-1a, 64 bits: the same for ever, as a hash of Rust's own is not.
/// Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
pub(crate) fn fingerprint(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
