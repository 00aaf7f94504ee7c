//! A place to connect from: a pod of its own, or a container that is added to an existing pod.

use std::time::Duration;

use e2e::cluster::SYSTEM;
use e2e::kubectl::kubectl;
use e2e::namespace::Namespace;
use e2e::objects::serves;
use e2e::wait::wait_until;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// It has a shell, psql and openssl, and is there anyway.
const IMAGE: &str = "docker.io/library/postgres:15";

/// An HTTP request that the server ends by closing.
pub(crate) const VERSION: &str = "GET /version HTTP/1.0\\r\\n\\r\\n";
/// What etcd lists to any client of its peer port.
pub(crate) const MEMBERS: &str = "GET /members HTTP/1.0\\r\\n\\r\\n";
/// The one letter with which a PostgreSQL server answers any client.
pub(crate) const MAY_I_USE_TLS: &str = "\\x00\\x00\\x00\\x08\\x04\\xd2\\x16\\x2f";

/// A container to connect from.
pub(crate) struct Probe {
    namespace: String,
    pod: String,
}

impl Probe {
    /// A pod with these labels.
    pub(crate) async fn new(ns: &Namespace, name: &str, labels: &Value) -> Self {
        let spec = json!({
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 999, "seccompProfile": { "type": "RuntimeDefault" },
            },
            "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0, "containers": [container()],
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": labels }, "spec": spec,
        });
        ns.apply(&pod.to_string()).await;
        ns.until::<Pod, ()>(name, "a pod to ask from", |pod| pod.filter(|pod| serves(pod)).map(|_| ())).await;
        Self { namespace: ns.name.clone(), pod: name.to_owned() }
    }

    /// In the manager's own pod, whose network its containers share.
    pub(crate) async fn in_manager(ns: &Namespace) -> Self {
        let selector = "app.kubernetes.io/component=manager";
        let found = ["get", "pods", "--namespace", SYSTEM, "--selector", selector, "--output=name"];
        let found = kubectl(&found).await.ok();
        Self::within(ns, SYSTEM, found.trim().trim_start_matches("pod/")).await
    }

    /// In a pod that is there: the network that its containers share.
    pub(crate) async fn within(ns: &Namespace, namespace: &str, pod: &str) -> Self {
        let pods: Api<Pod> = Api::namespaced(ns.client.clone(), namespace);
        let there = pods.get(pod).await.expect("a pod of that name").spec.expect("a spec");
        if there.ephemeral_containers.is_none_or(|there| there.is_empty()) {
            let patch = json!({ "spec": { "ephemeralContainers": [container()] } });
            let patched = pods.patch_ephemeral_containers(pod, &PatchParams::default(), &Patch::Strategic(patch)).await;
            drop(patched.expect("the pod takes a container more"));
        }
        wait_until(&format!("a container more in {pod}"), Duration::from_secs(60), || async {
            let status = pods.get(pod).await.map_err(|error| error.to_string())?.status.unwrap_or_default();
            let all = status.ephemeral_container_statuses.unwrap_or_default();
            let runs = all.iter().any(|of| of.state.as_ref().is_some_and(|state| state.running.is_some()));
            if runs { Ok(()) } else { Err(format!("{all:?}")) }
        })
        .await;
        Self { namespace: namespace.to_owned(), pod: pod.to_owned() }
    }

    /// What is answered to a request, up to so many bytes, or why nothing is.
    pub(crate) async fn asks(&self, host: &str, port: u16, request: &str, bytes: usize) -> Result<String, String> {
        let script = r#"exec 3<>"/dev/tcp/$0/$1" && printf '%b' "$2" >&3 && head --bytes="$3" <&3"#;
        let (port, bytes) = (port.to_string(), bytes.to_string());
        self.runs("", &["timeout", "4", "bash", "-c", script, host, &port, request, &bytes]).await
    }

    /// The start of what is answered over TLS.
    pub(crate) async fn asks_by_tls(&self, host: &str, port: u16, request: &str) -> Result<String, String> {
        let at = format!("{host}:{port}");
        self.runs(request, &["timeout", "6", "openssl", "s_client", "-quiet", "-connect", &at]).await
    }

    /// What a command prints in it.
    pub(crate) async fn runs(&self, input: &str, command: &[&str]) -> Result<String, String> {
        let exec = ["exec", "--stdin", "--namespace", &self.namespace, &self.pod, "--container", "probe", "--"];
        let answer = e2e::kubectl::kubectl_with(input, &[&exec[..], command].concat()).await;
        let silent = answer.stdout.trim().is_empty();
        if answer.success && !silent { Ok(answer.stdout) } else { Err(format!("no answer: {}", answer.stderr.trim())) }
    }

    /// Waits until that is answered: rules follow pods within a second or so.
    pub(crate) async fn gets_through(&self, host: &str, port: u16, request: &str) -> String {
        let bytes = if request == MAY_I_USE_TLS { 1 } else { 2000 };
        let what = format!("{} to reach {host}:{port}", self.pod);
        wait_until(&what, Duration::from_secs(30), || self.asks(host, port, request, bytes)).await
    }

    /// Waits until there is no answer, and checks once more that it stays so. How that shows depends on the network: some reject,
    /// some drop.
    pub(crate) async fn is_shut_out(&self, host: &str, port: u16, request: &str) {
        let shut = || async {
            match self.asks(host, port, request, 1).await {
                Ok(answer) => Err(format!("it answers {answer:?}")),
                Err(why) if why.contains("Connection refused") || why.contains("exit code 124") => Ok(()),
                Err(other) => Err(other),
            }
        };
        let what = format!("{} to be kept from {host}:{port} (does this cluster enforce NetworkPolicies?)", self.pod);
        wait_until(&what, Duration::from_secs(30), shut).await;
        shut().await.unwrap_or_else(|why| panic!("{what}: {why}"));
    }

    /// Waits until name servers answer.
    pub(crate) async fn finds_names(&self) {
        let what = format!("{} to be answered by name servers", self.pod);
        drop(wait_until(&what, Duration::from_secs(30), || self.resolve()).await);
    }

    /// Waits until they do not, and checks once more that it stays so.
    pub(crate) async fn finds_no_names(&self) {
        let none = || async { self.resolve().await.err().map_or_else(|| Err("it is answered".to_owned()), |_| Ok(())) };
        let what = format!("{} to be kept from name servers", self.pod);
        wait_until(&what, Duration::from_secs(30), none).await;
        none().await.unwrap_or_else(|why| panic!("{what}: {why}"));
    }

    async fn resolve(&self) -> Result<String, String> {
        self.runs("", &["timeout", "4", "getent", "hosts", "kubernetes.default.svc"]).await
    }
}

fn container() -> Value {
    json!({
        "name": "probe", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sleep", "infinity"],
        "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "runAsUser": 999,
            "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" },
        },
    })
}
