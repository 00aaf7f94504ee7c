//! The files of snapshots, as a pod sees them that mounts their volume.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::namespace::Namespace;
use crate::objects::serves;

/// A pod with a shell at a volume.
pub struct Files<'a> {
    ns: &'a Namespace,
    pod: String,
}

impl<'a> Files<'a> {
    /// Mounts the volume of this PVC.
    pub async fn of(ns: &'a Namespace, claim: &str) -> Self {
        let pod = format!("{claim}-files");
        let confined = json!({
            "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "runAsNonRoot": true, "runAsUser": 999,
            "seccompProfile": { "type": "RuntimeDefault" },
        });
        let spec = json!({
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "shell", "image": "docker.io/library/postgres:17", "command": ["sleep", "3600"],
                "securityContext": confined, "volumeMounts": [{ "name": "files", "mountPath": "/files" }],
            }],
            "volumes": [{ "name": "files", "persistentVolumeClaim": { "claimName": claim } }],
        });
        let manifest = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": pod }, "spec": spec });
        ns.apply(&manifest.to_string()).await;
        ns.until::<Pod, ()>(&pod, "a pod with a shell", |pod| pod.is_some_and(serves).then_some(())).await;
        Self { ns, pod }
    }

    /// The output of a script in the volume's directory.
    ///
    /// # Panics
    /// If it fails.
    pub async fn script(&self, script: &str) -> String {
        let script = format!("cd /files && {script}");
        self.ns.kubectl(&["exec", &self.pod, "--", "bash", "-c", &script]).await.ok().trim().to_owned()
    }

    /// The existing snapshots, by name: the name of a directory also has the beginning of a UID.
    pub async fn snapshots(&self) -> Vec<String> {
        let all = self.script("for it in */manifest.json; do [ ! -e $it ] || dirname $it; done").await;
        all.lines().filter_map(|directory| Some(directory.rsplit_once('-')?.0.to_owned())).collect()
    }
}
