//! An EtcdBackup in a test's namespace, as a person with kubectl sees it.

use std::collections::BTreeSet;

use api::etcd_backup::{EtcdBackup, EtcdBackupEntry, EtcdBackupStatus};
use api::{Condition, Contract};
use serde_json::{Value, json};

use crate::etcd::run_on_volume;
use crate::namespace::Namespace;
use crate::objects::ManagedKind;

impl ManagedKind for EtcdBackup {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

/// An EtcdBackup with that spec, in YAML's short form.
#[must_use]
pub fn manifest(name: &str, spec: &str) -> String {
    format!("apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdBackup\nmetadata:\n  name: {name}\nspec: {spec}\n")
}

/// Creates a PVC for backups, whose size is enforced.
pub async fn volume(ns: &Namespace, name: &str, size: &str) {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "sized", "resources": { "requests": { "storage": size } } });
    let claim =
        json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name }, "spec": spec });
    ns.apply(&claim.to_string()).await;
}

/// One EtcdBackup.
#[derive(Clone, Copy)]
pub struct Backup<'a> {
    /// Where it is.
    pub ns: &'a Namespace,
    /// Its name.
    pub name: &'a str,
}

impl<'a> Backup<'a> {
    /// Applies one with that spec, in YAML's short form.
    pub async fn apply(ns: &'a Namespace, name: &'a str, spec: &str) -> Self {
        ns.apply(&manifest(name, spec)).await;
        Self { ns, name }
    }

    /// Merges this into it, as `kubectl patch` does.
    pub async fn patch(&self, patch: Value) {
        self.ns.patch(&format!("etcdbackup/{}", self.name), &patch).await;
    }

    /// Requests a backup, as `kubectl annotate` does.
    pub async fn request(&self, value: &str) {
        self.patch(json!({ "metadata": { "annotations": { api::etcd_backup::BACKUP_NOW: value } } })).await;
    }

    /// Waits until `judge` returns a value.
    pub async fn until<T>(&self, what: &str, mut judge: impl FnMut(&EtcdBackup) -> Option<T>) -> T {
        self.ns.until::<EtcdBackup, T>(self.name, what, |seen| judge(seen?)).await
    }

    /// Waits until Ready is True with that many backups in the store; returns the status.
    pub async fn has(&self, count: i64) -> EtcdBackupStatus {
        self.until(&format!("{count} backups"), |backup| {
            let status = backup.status.as_ref().filter(|status| status.count == count && status.running.is_none())?;
            backup.is_ready().then(|| status.clone())
        })
        .await
    }

    /// Waits until Ready is not True, for that reason and with these parts in its message.
    pub async fn reports(&self, reason: &str, parts: &[&str]) -> Condition {
        self.until(&format!("Ready=False {reason} with {parts:?}"), |backup| {
            let ready = backup.condition("Ready").filter(|ready| ready.status != api::ConditionStatus::True)?;
            let told = *ready.reason == *reason && parts.iter().all(|part| ready.message.contains(part));
            told.then(|| ready.clone())
        })
        .await
    }

    /// Waits until it has taken that many, of which `kept` are left.
    pub async fn has_kept(&self, taken: usize, kept: usize) -> EtcdBackupStatus {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let status = self
            .until(&format!("{taken} backups to be taken"), |backup| {
                let status = backup.status.as_ref()?;
                seen.extend(status.backups.iter().map(|of| of.name.clone()));
                (seen.len() >= taken && status.running.is_none()).then(|| status.clone())
            })
            .await;
        assert_eq!((usize::try_from(status.count), status.backups.len()), (Ok(kept), kept));
        status
    }

    /// Checks that a backup is on the volume as the status says, and intact.
    pub async fn is_on(&self, claim: &str, backup: &EtcdBackupEntry) {
        let file = format!("/data/{}/{}", self.name, backup.name);
        let script = format!(
            "echo '{}  {file}.db' | sha256sum -c; test $(stat -c %s {file}.db) = {}; test -s {file}.json",
            backup.sha256, backup.bytes
        );
        run_on_volume(self.ns, claim, &script).await;
    }
}
