//! What belongs to a database, by name. Pure.

use super::objects::fingerprint;
use crate::SampleDB;

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
        None => format!("{}-snapshots", db.meta.key.name),
    }
}

/// The pod of the one server.
#[must_use]
pub fn pod(db: &SampleDB) -> String {
    format!("{}-0", db.meta.key.name)
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
        None => format!("{}-app", db.meta.key.name),
    }
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
