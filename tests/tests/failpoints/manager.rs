//! The deployed manager, and its deaths.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use e2e::cluster::{MANAGER, SYSTEM};
use e2e::wait::wait_until;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerState, Pod};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const SELECTOR: &str = "app.kubernetes.io/name=multi-operator,app.kubernetes.io/component=manager";
/// Which life a pod of the manager is.
const LIFE: &str = "e2e.example.com/life";

/// The deployed manager, in a mode in which one life follows the other at once: by itself it would wait for the Lease of
/// the one that died. Never do two run at a time. When dropped, it is again what it was.
pub struct Manager {
    deployments: Api<Deployment>,
    pods: Api<Pod>,
}

impl Manager {
    pub fn new(client: &Client) -> Self {
        Self { deployments: Api::namespaced(client.clone(), SYSTEM), pods: Api::namespaced(client.clone(), SYSTEM) }
    }

    /// Begins a life that ends after the first effect whose debug text contains this; returns when the one before is over.
    pub async fn lives_until(&self, effect: &str) {
        static LIVES: AtomicUsize = AtomicUsize::new(0);
        let life = format!("{}-{}", std::process::id(), LIVES.fetch_add(1, Ordering::Relaxed));
        let env = json!([{ "name": "FAILPOINT", "value": effect }, { "name": "NO_LEADER_ELECTION", "value": "true" }]);
        let patch = deployment("Recreate", &json!(life), &env);
        let patched = self.deployments.patch(MANAGER, &PatchParams::default(), &Patch::Strategic(patch)).await;
        patched.unwrap_or_else(|error| panic!("the manager's Deployment cannot be changed: {error}"));
        wait_until("the manager's next life", Duration::from_secs(60), || async {
            let pods = self.pods().await?;
            match pods.as_slice() {
                [pod] if pod.annotations().get(LIFE) == Some(&life) => Ok(()),
                _ => Err(format!("{:?}", pods.iter().map(ResourceExt::name_any).collect::<Vec<_>>())),
            }
        })
        .await;
    }

    async fn pods(&self) -> Result<Vec<Pod>, String> {
        let pods = self.pods.list(&ListParams::default().labels(SELECTOR)).await;
        pods.map(|pods| pods.items).map_err(|error| error.to_string())
    }

    /// Whether this life is over.
    pub async fn is_dead(&self) -> bool {
        let died = |state: &Option<ContainerState>| state.as_ref().is_some_and(|state| state.terminated.is_some());
        let pods = self.pods().await.unwrap_or_default();
        let mut containers =
            pods.iter().flat_map(|pod| &pod.status).flat_map(|status| status.container_statuses.iter().flatten());
        containers.any(|container| died(&container.state) || died(&container.last_state))
    }

    /// Whether this life serves.
    pub async fn serves(&self) -> bool {
        let pods = self.pods().await.unwrap_or_default();
        !pods.is_empty() && pods.iter().all(e2e::objects::serves)
    }
}

/// A strategic merge patch of the manager's Deployment.
fn deployment(strategy: &str, life: &Value, env: &Value) -> Value {
    let container = json!({ "name": "manager", "env": env });
    let template = json!({ "metadata": { "annotations": { LIFE: life } }, "spec": { "containers": [container] } });
    json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": strategy }, "template": template } })
}

impl Drop for Manager {
    fn drop(&mut self) {
        let gone = |name: &str| json!({ "name": name, "$patch": "delete" });
        let env = json!([gone("FAILPOINT"), gone("NO_LEADER_ELECTION")]);
        let patch = deployment("RollingUpdate", &Value::Null, &env).to_string();
        let object = format!("deployment/{MANAGER}");
        let restored = std::process::Command::new("kubectl")
            .args(["patch", "--namespace", SYSTEM, &object, "--type=strategic", "--patch", &patch])
            .stdout(std::process::Stdio::null())
            .status();
        if !restored.as_ref().is_ok_and(std::process::ExitStatus::success) {
            eprintln!("the manager's Deployment is left with a failpoint: {restored:?}");
        }
    }
}
