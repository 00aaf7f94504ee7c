//! The volumes of PVCs: the binder, the resizer, and the controller that protects PVCs in use.
//!
//! A PVC whose StorageClass exists is bound at once, whatever the binding mode of the class is, and its volume grows with its
//! request. A pod on a node that has not ended uses its PVCs: they stay, terminating, until it is gone. Not modelled:
//! PersistentVolumes as objects, volumes that are lost or full, and classes that refuse expansion. The real API server adds the
//! finalizer of the protection already when a PVC is created.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client, is_outdated};
use super::object::{has_finalizer, is_deleting, items, name, namespace, set, text, uid};
use super::pod::{self, is_ended};
use crate::api_server::kinds::KindId;
use crate::api_server::request::ApiError;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

/// The finalizer of PVCs that a pod may use.
const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// The controllers of PVCs.
pub struct ClaimControllers;

impl Actor for ClaimControllers {
    fn name(&self) -> &'static str {
        "claim-controllers"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["persistentvolumeclaims", "pods", "storageclasses"]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let kind = client.kind("persistentvolumeclaims")?;
        let (pods, classes) = (client.kind("pods")?, client.kind("storageclasses")?);
        let pods = client.list(pods);
        let mut failed = false;
        for claim in client.list(kind) {
            let is_used = pods.iter().any(|pod| uses(pod, &claim));
            let has_class = client.get(classes, "", text(&claim["spec"]["storageClassName"])).is_some();
            let done = bring_up(&client, kind, &claim, is_used, has_class);
            failed |= done.is_err_and(|refused| !is_outdated(&refused));
        }
        failed.then_some(RETRY)
    }
}

/// Brings a PVC up to the present state. One write at a time: it reacts to its own.
fn bring_up(client: &Client<'_>, kind: KindId, claim: &Value, is_used: bool, has_class: bool) -> Result<(), ApiError> {
    if is_deleting(claim) && !is_used && has_finalizer(claim, PROTECTION) {
        let rest = items(&claim["metadata"]["finalizers"]).iter().filter(|one| *one != PROTECTION).cloned();
        return with(client, kind, claim, &["metadata", "finalizers"], rest.collect());
    }
    if !is_deleting(claim) && !has_finalizer(claim, PROTECTION) {
        let all = items(&claim["metadata"]["finalizers"]).iter().cloned().chain([json!(PROTECTION)]);
        return with(client, kind, claim, &["metadata", "finalizers"], all.collect());
    }
    if !has_class || (is_deleting(claim) && claim["status"]["phase"] != "Bound") {
        return Ok(());
    }
    if text(&claim["spec"]["volumeName"]).is_empty() {
        return with(client, kind, claim, &["spec", "volumeName"], json!(format!("pvc-{}", uid(claim))));
    }
    let requested = &claim["spec"]["resources"]["requests"]["storage"];
    let status = json!({
        "phase": "Bound", "accessModes": claim["spec"]["accessModes"], "capacity": { "storage": requested },
    });
    let is_reported = status.as_object().into_iter().flatten().all(|(field, value)| claim["status"][field] == *value);
    if is_reported {
        return Ok(());
    }
    let mut reported = claim.clone();
    set(&mut reported, &["status"], status);
    client.update_status(kind, reported).map(drop)
}

fn with(client: &Client<'_>, kind: KindId, claim: &Value, path: &[&str], value: Value) -> Result<(), ApiError> {
    let mut changed = claim.clone();
    set(&mut changed, path, value);
    client.update(kind, changed).map(drop)
}

/// Whether a pod uses a PVC: it has a node, and has not ended.
fn uses(pod: &Value, claim: &Value) -> bool {
    namespace(pod) == namespace(claim)
        && !text(&pod["spec"]["nodeName"]).is_empty()
        && !is_ended(pod)
        && pod::claims(pod).any(|used| used == name(claim))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, NAMESPACE};
    use super::*;
    use crate::api_server::request::DeleteOptions;

    fn claim(class: Option<&str>) -> Value {
        let mut claim = json!({
            "metadata": { "name": "data", "namespace": NAMESPACE },
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        });
        if let Some(class) = class {
            set(&mut claim, &["spec", "storageClassName"], json!(class));
        }
        claim
    }

    fn world() -> (SimulatedApiServer, Vec<Box<dyn Actor>>) {
        let server = testing::server();
        let default = json!({ "storageclass.kubernetes.io/is-default-class": "true" });
        testing::create(
            &server,
            "storageclasses",
            json!({
                "metadata": { "name": "standard", "annotations": default }, "provisioner": "example.com/disk",
            }),
        );
        (server, super::super::all(Vec::new()))
    }

    fn live(server: &SimulatedApiServer) -> Value {
        testing::get(server, "persistentvolumeclaims", "data").map_or(Value::Null, |claim| Value::clone(&claim))
    }

    #[test]
    fn a_claim_of_the_default_class_is_bound_and_grows() {
        let (server, mut actors) = world();
        testing::create(&server, "persistentvolumeclaims", claim(None));
        let now = testing::settle(&server, &mut actors, runtime::clock::now());
        let bound = live(&server);
        assert_eq!(bound["spec"]["storageClassName"], "standard");
        assert_eq!(bound["spec"]["volumeName"], format!("pvc-{}", uid(&bound)));
        assert_eq!(
            (&bound["status"]["phase"], &bound["status"]["capacity"]["storage"]),
            (&json!("Bound"), &json!("1Gi"))
        );
        let larger = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
        testing::merge(&server, "persistentvolumeclaims", "data", larger);
        testing::settle(&server, &mut actors, now);
        assert_eq!(live(&server)["status"]["capacity"]["storage"], "2Gi");
    }

    #[test]
    fn a_claim_without_an_existing_class_stays_pending_and_its_pod_has_no_node() {
        let (server, mut actors) = world();
        testing::create(&server, "persistentvolumeclaims", claim(Some("other")));
        let volumes = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": "data" } }]);
        let spec = json!({ "containers": [{ "name": "app", "image": "app:1" }], "volumes": volumes });
        testing::create(&server, "pods", json!({ "metadata": { "name": "a", "namespace": NAMESPACE }, "spec": spec }));
        testing::settle(&server, &mut actors, runtime::clock::now());
        assert_ne!(live(&server)["status"]["phase"], "Bound");
        let pod = testing::get(&server, "pods", "a").unwrap();
        assert_eq!(pod["spec"]["nodeName"], Value::Null);
        let why = text(&pod["status"]["conditions"][0]["message"]).to_owned();
        assert!(why.contains("unbound immediate PersistentVolumeClaims"), "{why}");
    }

    #[test]
    fn a_claim_in_use_is_terminating_until_its_pod_is_gone() {
        let (server, mut actors) = world();
        testing::create(&server, "persistentvolumeclaims", claim(None));
        let volumes = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": "data" } }]);
        let spec = json!({ "containers": [{ "name": "app", "image": "app:1" }], "volumes": volumes });
        let pod = json!({ "metadata": { "name": "a", "namespace": NAMESPACE }, "spec": spec });
        testing::create(&server, "pods", pod);
        let now = testing::settle(&server, &mut actors, runtime::clock::now());
        testing::delete(&server, "persistentvolumeclaims", &live(&server), DeleteOptions::default());
        let now = testing::settle(&server, &mut actors, now);
        assert!(is_deleting(&live(&server)), "the pod uses it");
        let pod = testing::get(&server, "pods", "a").unwrap();
        assert_eq!(pod["status"]["phase"], "Running");
        testing::delete(&server, "pods", &pod, DeleteOptions::default());
        testing::settle(&server, &mut actors, now);
        assert_eq!(live(&server), Value::Null);
        assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
    }
}
