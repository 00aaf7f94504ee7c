//! What runs in containers whose programs a model knows: etcd and its agent, for example.
//!
//! Without such a model, a container starts and gets ready, or fails by the name of its image ([`super::life`]). With one, the
//! kubelet starts init containers one after the other, restarts containers that end, and one whose image changes, and reports
//! what the programs say: whether they are ready, and how they ended.

use std::sync::Arc;

use serde_json::Value;

use super::super::object::{items, text, uid};
use super::super::pod::claims;
use crate::objects::secret_entry;

/// A model of programs.
pub trait Programs: Send {
    /// Whether it knows the programs of a pod.
    fn knows(&self, pod: &Value) -> bool;

    /// Starts the program of a container.
    fn start(&mut self, run: &ContainerRun<'_>) -> ProgramState;

    /// What has become of a program that was started.
    fn state(&mut self, run: &ContainerRun<'_>) -> ProgramState;

    /// Stops a program: its pod is being deleted, or its image has changed, because of a write of `user`.
    fn stop(&mut self, run: &ContainerRun<'_>, user: &str);

    /// A pod is gone, with all that was in it.
    fn forget(&mut self, pod_uid: &str);

    /// Whether its programs stay as they are, as far as it knows. The kubelet looks less often then.
    fn is_steady(&self) -> bool;
}

/// A container of a pod on its node.
pub struct ContainerRun<'a> {
    /// The pod.
    pub pod: &'a Value,
    /// The container in the spec of the pod.
    pub container: &'a Value,
    /// The image that runs.
    pub image: &'a str,
    /// The address of the pod.
    pub address: &'a str,
    /// The object of that plural and name in the namespace of the pod.
    pub object: &'a dyn Fn(&str, &str) -> Option<Arc<Value>>,
}

/// The state of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramState {
    /// It runs; its probes succeed if it is ready.
    Running {
        /// Whether it is ready.
        ready: bool,
    },
    /// It has ended.
    Ended(Exit),
    /// The model lacks that program.
    Unmodelled(String),
}

/// The end of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code.
    pub code: i64,
    /// Its termination message.
    pub message: String,
}

impl ProgramState {
    /// It has ended with success, and that message.
    #[must_use]
    pub fn succeeded(message: impl Into<String>) -> Self {
        Self::Ended(Exit { code: 0, message: message.into() })
    }

    /// It has ended with that code and message.
    #[must_use]
    pub fn failed(code: i64, message: impl Into<String>) -> Self {
        Self::Ended(Exit { code, message: message.into() })
    }
}

impl ContainerRun<'_> {
    /// The words of its command, with the values of variables that refer to fields of the pod, as the kubelet expands them.
    #[must_use]
    pub fn command(&self) -> Vec<String> {
        let words = items(&self.container["command"]).iter().filter_map(Value::as_str);
        words.map(|word| self.expanded(word)).collect()
    }

    /// The volume mounted from a PVC: the uid of the PVC; else the pod itself holds the data.
    #[must_use]
    pub fn volume(&self) -> String {
        let mut claims = claims(self.pod);
        let own = || format!("pod-{}", super::super::object::uid(self.pod));
        claims.next().and_then(|claim| self.claim_uid(claim)).unwrap_or_else(own)
    }

    /// The uid of the PVC behind the volume of that name.
    #[must_use]
    pub fn claim(&self, volume: &str) -> Option<String> {
        self.claim_uid(text(&self.mounted(volume)?["persistentVolumeClaim"]["claimName"]))
    }

    /// A file of the ConfigMap behind the volume of that name.
    #[must_use]
    pub fn file(&self, volume: &str, key: &str) -> Option<String> {
        let map = (self.object)("configmaps", text(&self.mounted(volume)?["configMap"]["name"]))?;
        map["data"][key].as_str().map(str::to_owned)
    }

    /// The value of a variable of its environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let own = items(&self.container["env"]).iter().find(|variable| variable["name"] == name);
        let from = || items(&self.container["envFrom"]).iter().rev().find_map(|from| self.entry_of(from, name));
        own.map(|variable| self.value(variable)).or_else(from)
    }

    fn entry_of(&self, from: &Value, key: &str) -> Option<String> {
        let map = || {
            (self.object)("configmaps", text(&from["configMapRef"]["name"]))?["data"][key].as_str().map(str::to_owned)
        };
        self.secret(&from["secretRef"], key).or_else(map)
    }

    /// An entry of a Secret.
    fn secret(&self, reference: &Value, key: &str) -> Option<String> {
        secret_entry(&*(self.object)("secrets", reference["name"].as_str()?)?, key)
    }

    fn mounted(&self, volume: &str) -> Option<&Value> {
        items(&self.pod["spec"]["volumes"]).iter().find(|of| of["name"] == volume)
    }

    fn claim_uid(&self, claim: &str) -> Option<String> {
        (self.object)("persistentvolumeclaims", claim).map(|claim| uid(&claim).to_owned())
    }

    fn expanded(&self, word: &str) -> String {
        let mut expanded = word.to_owned();
        for variable in items(&self.container["env"]) {
            let reference = format!("$({})", variable["name"].as_str().unwrap_or_default());
            if expanded.contains(&reference) {
                expanded = expanded.replace(&reference, &self.value(variable));
            }
        }
        expanded
    }

    fn value(&self, variable: &Value) -> String {
        let secret = &variable["valueFrom"]["secretKeyRef"];
        if !secret.is_null() {
            return self.secret(secret, text(&secret["key"])).unwrap_or_default();
        }
        let path = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
        let annotation = path.strip_prefix("metadata.annotations['").and_then(|name| name.strip_suffix("']"));
        let value = match annotation {
            Some(name) => &self.pod["metadata"]["annotations"][name],
            None if path == "status.podIP" => return self.address.to_owned(),
            None => &variable["value"],
        };
        value.as_str().unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_has_the_values_of_the_pods_fields() {
        let pod = json!({ "metadata": { "uid": "u", "annotations": { "start": "join" } },
            "spec": { "volumes": [{ "name": "a", "emptyDir": {} }] } });
        let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
        let container = json!({ "command": ["/agent", "--expect=$(START)", "--ip=$(IP)", "$(OTHER)"], "env": [
            { "name": "START", "valueFrom": field("metadata.annotations['start']") },
            { "name": "IP", "valueFrom": field("status.podIP") },
        ] });
        let objects = |_: &str, name: &str| Some(Arc::new(json!({ "metadata": { "uid": format!("uid of {name}") } })));
        let run =
            ContainerRun { pod: &pod, container: &container, image: "a:1", address: "10.0.0.1", object: &objects };
        assert_eq!(run.command(), ["/agent", "--expect=join", "--ip=10.0.0.1", "$(OTHER)"]);
        assert_eq!(run.volume(), "pod-u");
        let claiming =
            json!({ "spec": { "volumes": [{ "name": "a", "persistentVolumeClaim": { "claimName": "data" } }] } });
        assert_eq!(ContainerRun { pod: &claiming, ..run }.volume(), "uid of data");
    }
    #[test]
    fn variables_come_from_secrets_and_config_maps() {
        let pod = json!({ "spec": { "volumes": [{ "name": "conf", "configMap": { "name": "m" } }] } });
        let reference = json!({ "secretKeyRef": { "name": "s", "key": "password" } });
        let container = json!({ "env": [{ "name": "PGPASSWORD", "valueFrom": reference }],
            "envFrom": [{ "configMapRef": { "name": "m" } }, { "secretRef": { "name": "s" } }] });
        let objects = |plural: &str, _: &str| {
            let data = if plural == "secrets" { json!({ "password": "czM=" }) } else { json!({ "PGHOST": "shop-rw" }) };
            Some(Arc::new(json!({ "data": data })))
        };
        let run = ContainerRun { pod: &pod, container: &container, image: "a:1", address: "", object: &objects };
        let variables = ["PGPASSWORD", "password", "PGHOST", "OTHER"].map(|name| run.variable(name));
        assert_eq!(variables, [Some("s3"), Some("s3"), Some("shop-rw"), None].map(|value| value.map(str::to_owned)));
        assert_eq!(run.file("conf", "PGHOST").as_deref(), Some("shop-rw"));
    }
}
