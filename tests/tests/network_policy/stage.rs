//! The manager with its policies, and namespaces with those of databases and etcd.

use std::path::PathBuf;

use e2e::cluster;
use e2e::kubectl::kubectl;
use e2e::namespace::{Namespace, RESTRICTED};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Tests that run side by side, against the one that changes the manager's policies. Taken once per test, before anything else: a
/// test with two namespaces must not wait for its second one behind a test that waits for the first.
static TURN: RwLock<()> = RwLock::const_new(());

/// Held by a test while others may run.
pub(crate) async fn shared() -> RwLockReadGuard<'static, ()> {
    TURN.read().await
}

/// Held by a test that changes what others rely on.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().await
}

/// A directory of this checkout.
pub(crate) fn directory(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(path).canonicalize().unwrap_or_else(|error| panic!("{path}: {error}")).display().to_string()
}

/// The manager as it is deployed with the component, once for all tests.
pub(crate) async fn manager() {
    static DEPLOYED: OnceCell<()> = OnceCell::const_new();
    DEPLOYED
        .get_or_init(|| async {
            let with_policies = directory("tests/tests/network_policy/manifests");
            let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", &with_policies];
            drop(kubectl(&apply).await.ok());
        })
        .await;
}

/// A namespace in which nothing is guarded but by its policies, if it gets any.
pub(crate) async fn namespace(purpose: &str, labels: &[(&str, &str)]) -> Namespace {
    manager().await;
    Namespace::labelled(purpose, labels).await
}

/// A namespace for databases and etcd, as a platform team creates it.
pub(crate) async fn guarded(purpose: &str) -> Namespace {
    let ns = namespace(purpose, &[RESTRICTED]).await;
    guard(&ns).await;
    ns
}

/// Gives a namespace the policies of databases and etcd.
pub(crate) async fn guard(ns: &Namespace) {
    guard_with(ns, "kustomize/instances-network-policy").await;
}

/// A namespace in which a Job reaches the server of its own database alone, once that has its policy.
pub(crate) async fn kept_apart(purpose: &str) -> Namespace {
    let ns = namespace(purpose, &[RESTRICTED]).await;
    guard_with(&ns, "kustomize/instances-network-policy-own-jobs").await;
    ns
}

/// Gives a database of such a namespace the policy that the docs have for `shop`, verbatim.
pub(crate) async fn let_own_jobs_in(ns: &Namespace, database: &str) {
    let docs = std::fs::read_to_string(directory("docs/network-policy.md")).expect("the page is there");
    let (_, section) = docs.split_once("### One policy for each database").expect("the section is there");
    let blocks = section.split("```yaml\n").filter_map(|block| Some(block.split_once("```")?.0));
    let policy = blocks.into_iter().find(|block| block.contains("name: shop-jobs")).expect("shop's policy is there");
    ns.apply(&policy.replace("shop", database)).await;
}

async fn guard_with(ns: &Namespace, policies: &str) {
    drop(ns.kubectl(&["apply", "--kustomize", &directory(policies)]).await.ok());
    names(ns).await;
}

/// Policies allow pods to reach the name servers in kube-system. `scripts/cluster` has its own on the node, which is no pod: so
/// this policy is added, as docs/network-policy.md says.
async fn names(ns: &Namespace) {
    let nodes: Api<Node> = Api::all(cluster::client().await);
    let nodes = nodes.list(&ListParams::default()).await.expect("nodes can be listed");
    let addresses = nodes.items.into_iter().filter_map(|node| node.status?.addresses).flatten();
    let internal = addresses.filter(|address| address.type_ == "InternalIP" && !address.address.contains(':'));
    let to: Vec<_> = internal.map(|of| json!({ "ipBlock": { "cidr": format!("{}/32", of.address) } })).collect();
    let ports = json!([{ "protocol": "UDP", "port": 53 }, { "protocol": "TCP", "port": 53 }]);
    let policy = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": { "name": "name-server-on-node" },
        "spec": {
            "podSelector": {
                "matchLabels": { "app.kubernetes.io/managed-by": "multi-operator" },
                "matchExpressions": [
                    { "key": "app.kubernetes.io/component", "operator": "NotIn", "values": ["server"] },
                    { "key": "multi-operator.example.com/isolated", "operator": "DoesNotExist" },
                ],
            },
            "policyTypes": ["Egress"], "egress": [{ "to": to, "ports": ports }],
        },
    });
    ns.apply(&policy.to_string()).await;
}
