//! Pure: which backup an EtcdRestore begins with, if the spec refers to an EtcdBackup.

use api::etcd_restore::{BackupRef, EtcdRestoreReason, ResolvedBackup};

use super::observed::RestoreObserved;
use crate::EtcdBackup;
use crate::referenced::Referenced;

/// The backup that `of` refers to.
///
/// # Errors
/// The reason and message for a user, if there is no such backup.
pub(super) fn backup(
    observed: &RestoreObserved,
    of: &BackupRef,
) -> Result<ResolvedBackup, (EtcdRestoreReason, String)> {
    let missing = |message| Err((EtcdRestoreReason::BackupMissing, message));
    let backup = match &observed.backup {
        Referenced::Found(backup) => &**backup,
        Referenced::Unreadable(error) => {
            let message = format!("the EtcdBackup {} cannot be read: {error}", of.name);
            return Err((EtcdRestoreReason::BackupUnreadable, message));
        }
        Referenced::Missing | Referenced::Nothing => {
            let but =
                "if its backups still exist, set spec.pvc or the field of their store in place of spec.etcdBackup";
            return missing(format!("the EtcdBackup {} does not exist; {but}", of.name));
        }
    };
    let entries = &backup.status.backups;
    let found = match &of.backup {
        Some(name) => entries.iter().find(|entry| entry.name == *name),
        None => entries.iter().max_by_key(|entry| entry.taken_at),
    };
    let Some(entry) = found else { return missing(none_found(backup, of)) };
    match backup.spec.source_of(&backup.meta.key.name, entry) {
        Some(source) => Ok(ResolvedBackup {
            generation: observed.restore.meta.generation,
            name: entry.name.clone(),
            source: api::etcd_cluster::EtcdRestoreSource {
                sha256: observed.restore.spec.sha256.clone().or(source.sha256),
                ..source
            },
        }),
        None => missing(format!(
            "the status of the EtcdBackup {} does not say where its backup {} is: take another one, or set the field of the store in \
             place of spec.etcdBackup",
            of.name, entry.name
        )),
    }
}

fn none_found(backup: &EtcdBackup, of: &BackupRef) -> String {
    let names: Vec<&str> = backup.status.backups.iter().map(|entry| entry.name.as_str()).collect();
    match &of.backup {
        _ if names.is_empty() => format!("the EtcdBackup {} has no verified backup yet", of.name),
        // The status has the newest ones only.
        Some(name) => format!(
            "the status of the EtcdBackup {} has no backup {name}: its newest ones are {}; for an older one, set spec.pvc or the field of \
             its store in place of spec.etcdBackup",
            of.name,
            names.join(", ")
        ),
        None => format!("the EtcdBackup {} has no verified backup", of.name),
    }
}
