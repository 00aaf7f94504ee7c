//! Pure: the backups that EtcdBackups have of a cluster: the one to begin again from once all volumes are lost, and the last one before
//! the cluster is deleted.

use api::etcd_backup::{BACKUP_NOW, EtcdBackupEntry};
use api::etcd_restore::{BackupRef, EtcdRestoreSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection as _;
use runtime::plan::meta::child_meta;
use runtime::plan::{Apply, Create, Delete, Effect};
use serde_json::{Value, json};

use super::{EtcdAct, Observed};
use crate::{EtcdBackup, EtcdCluster, EtcdRestore};

/// The newest backup of exactly this cluster, and not of an earlier one with its name.
pub(super) fn newest(observed: &Observed) -> Option<(&EtcdBackup, &EtcdBackupEntry)> {
    let id = observed.cluster.status.cluster_id.as_deref()?;
    let backups = observed.backups.iter().map(|backup| &**backup).filter(|backup| !backup.meta.deleting);
    let entries = backups.flat_map(|backup| backup.status.backups.iter().map(move |entry| (backup, entry)));
    let usable = entries.filter(|(backup, entry)| {
        entry.cluster_id == id && backup.spec.source_of(&backup.meta.key.name, entry).is_some()
    });
    // Not by revision: after a recovery, the same cluster may have gone on from an earlier one.
    usable.max_by_key(|(_, entry)| (entry.taken_at, entry.revision))
}

/// An EtcdRestore that may begin this cluster again: one that names it, and has not ended.
pub(super) fn open_restore(observed: &Observed) -> Option<&EtcdRestore> {
    let id = observed.cluster.status.cluster_id.as_ref()?;
    let mut restores = observed.restores.iter().map(|restore| &**restore);
    restores.find(|restore| {
        !restore.meta.deleting && !restore.status.has_ended() && restore.spec.replace_cluster_id.as_ref() == Some(id)
    })
}

/// Whether the operator has created an EtcdRestore, and no user.
pub(super) fn is_of_operator(cluster: &EtcdCluster, restore: &EtcdRestore) -> bool {
    restore.meta.controlled_by(&cluster.meta.uid)
}

/// The EtcdRestore that begins a cluster again from a backup. Its name is that of the cluster's ID: there is one for each.
pub(super) fn restore(cluster: &EtcdCluster, backup: &str, entry: &str) -> Create {
    let id = cluster.status.cluster_id.clone().unwrap_or_default();
    let key = cluster.meta.key.sibling(&format!("recovery-{id}"));
    let metadata = ObjectMeta { ..child_meta(&EtcdCluster::KIND, &cluster.meta) };
    Create::new(EtcdRestore::KIND, key, &json!({ "metadata": metadata, "spec": restore_spec(cluster, backup, entry) }))
}

/// The spec of that EtcdRestore.
fn restore_spec(cluster: &EtcdCluster, backup: &str, entry: &str) -> Value {
    let spec = EtcdRestoreSpec {
        etcd_cluster: api::etcd_backup::ClusterRef { name: cluster.meta.key.name.to_string() },
        etcd_backup: Some(BackupRef { name: backup.to_owned(), backup: Some(entry.to_owned()) }),
        replace_cluster_id: cluster.status.cluster_id.clone(),
        ..EtcdRestoreSpec::default()
    };
    json!(spec)
}

/// The command by which a user creates such an EtcdRestore.
pub(super) fn restore_command(cluster: &EtcdCluster, backup: &str, entry: &str) -> String {
    let key = &cluster.meta.key;
    let object = json!({
        "apiVersion": EtcdRestore::KIND.api_version(),
        "kind": EtcdRestore::KIND.kind,
        "metadata": { "generateName": "restore-", "namespace": &*key.namespace },
        "spec": restore_spec(cluster, backup, entry),
    });
    format!("echo '{object}' | kubectl create -f -")
}

/// How far the last backup before the deletion of a cluster is.
#[derive(Debug)]
pub(super) struct LastBackup {
    /// What it waits for.
    pub(super) message: String,
    /// Whether that needs a user.
    pub(super) stalled: bool,
    /// The request, unless the EtcdBackup has it.
    pub(super) request: Option<Effect<EtcdAct>>,
}

/// The last backup, if the spec asks for one that is not complete.
pub(super) fn last(observed: &Observed) -> Option<LastBackup> {
    let cluster = &*observed.cluster;
    let name = &*cluster.spec.on_delete.as_ref()?.backup;
    let waits = |message, stalled, request| Some(LastBackup { message, stalled, request });
    let Some(backup) = observed.backups.iter().find(|backup| *backup.meta.key.name == *name) else {
        let message =
            format!("there is no EtcdBackup {name} with clusterRef {} that can be read", cluster.meta.key.name);
        return waits(message, true, None);
    };
    let request = format!("last-of-{}", cluster.meta.uid);
    if backup.status.last_request.as_ref() == Some(&request) {
        return None;
    }
    if backup.meta.deleting {
        return waits(format!("the EtcdBackup {name} is being deleted"), true, None);
    }
    if backup.spec.suspend {
        return waits(format!("the EtcdBackup {name} is suspended: set its spec.suspend to false"), true, None);
    }
    let requested = backup.annotations.get(BACKUP_NOW).is_some_and(|value| **value == *request);
    let part = json!({ "metadata": { "annotations": { BACKUP_NOW: request } } });
    let apply = (!requested).then(|| Effect::Apply(Apply::part(EtcdBackup::KIND, &backup.meta, "last-backup", &part)));
    let ready = backup.status.contract.condition(api::condition_type::READY).filter(|_| requested);
    let report = ready.map_or_else(String::new, |ready| format!(": {}: {}", ready.reason, ready.message));
    let stalled = requested && backup.status.contract.is_true(api::condition_type::STALLED);
    waits(format!("the EtcdBackup {name} takes the last backup{report}"), stalled, apply)
}

/// The deletion of the operator's EtcdRestores that must not begin any more: users decide, the cluster has quorum again, or it has begun
/// again in another way.
pub(super) fn withdrawals(observed: &Observed, wanted: bool) -> impl Iterator<Item = Effect<EtcdAct>> {
    let cluster = &*observed.cluster;
    let status = &cluster.status;
    let open = observed.restores.iter().filter(move |restore| {
        let begun = status.restore.as_ref().is_some_and(|last| *last.uid == *restore.meta.uid);
        !begun && !restore.meta.deleting && !restore.status.has_ended() && !cluster.spec.paused
    });
    let of_earlier = move |restore: &EtcdRestore| restore.spec.replace_cluster_id != status.cluster_id;
    open.filter(move |restore| is_of_operator(cluster, restore) && (!wanted || of_earlier(restore)))
        .map(|restore| Effect::Delete(Delete::of(EtcdRestore::KIND, &restore.meta)))
}
