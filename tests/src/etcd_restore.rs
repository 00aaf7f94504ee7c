//! An EtcdRestore in a test's namespace, as a person with kubectl sees it.

use api::Contract;
use api::etcd_restore::{EtcdRestore, EtcdRestoreStatus};
use serde_json::Value;

use crate::namespace::Namespace;
use crate::objects::ManagedKind;

impl ManagedKind for EtcdRestore {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

/// One EtcdRestore.
#[derive(Clone, Copy)]
pub struct Restore<'a> {
    /// Where it is.
    pub ns: &'a Namespace,
    /// Its name.
    pub name: &'a str,
}

impl<'a> Restore<'a> {
    /// Applies one with that spec, in YAML's short form.
    pub async fn apply(ns: &'a Namespace, name: &'a str, spec: &str) -> Self {
        ns.apply(&format!(
            "apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdRestore\nmetadata:\n  name: {name}\nspec: {spec}\n"
        ))
        .await;
        Self { ns, name }
    }

    /// Merges this into it, as `kubectl patch` does.
    pub async fn patch(&self, patch: Value) {
        self.ns.patch(&format!("etcdrestore/{}", self.name), &patch).await;
    }

    /// Deletes it.
    pub async fn delete(&self) {
        drop(self.ns.kubectl(&["delete", "etcdrestore", self.name]).await.ok());
    }

    /// Waits until Ready has that reason, of the present generation, and these parts in its message; returns the status.
    pub async fn reports(&self, reason: &str, parts: &[&str]) -> EtcdRestoreStatus {
        self.ns
            .until::<EtcdRestore, _>(self.name, &format!("{reason} with {parts:?}"), |seen| {
                let status = seen?.status.as_ref()?;
                let current = Some(status.contract.observed_generation) == seen?.metadata.generation;
                let ready = status.contract.condition("Ready").filter(|ready| current && *ready.reason == *reason)?;
                parts.iter().all(|part| ready.message.contains(part)).then(|| status.clone())
            })
            .await
    }
}
