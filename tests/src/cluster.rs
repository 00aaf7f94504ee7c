//! The cluster under test, and the manager that is deployed in it.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::audit::Audit;
use crate::kubectl::kubectl;
use crate::wait::wait_until;

/// Namespace of the manager's Deployment.
pub const SYSTEM: &str = "multi-operator-system";
/// Name of the manager's Deployment, and of its service account.
pub const MANAGER: &str = "multi-operator-manager";
/// The manager as the API server calls it.
pub const MANAGER_USER: &str = "system:serviceaccount:multi-operator-system:multi-operator-manager";

/// A client of the cluster that `KUBECONFIG` names. Each test creates its own, since a client belongs to the runtime of the test
/// that created it.
///
/// # Panics
/// Without a cluster: no test may pass without one.
pub async fn client() -> Client {
    assert!(
        std::env::var_os("KUBECONFIG").is_some_and(|path| !path.is_empty()),
        "these tests need a cluster: run scripts/test, or point KUBECONFIG at one (eval \"$(scripts/cluster env --name e2e)\")"
    );
    let client = Client::try_default().await.unwrap_or_else(|error| panic!("KUBECONFIG cannot be used: {error}"));
    if let Err(error) = client.apiserver_version().await {
        panic!("the cluster of KUBECONFIG does not answer: {error}");
    }
    client
}

/// Tests that share the cluster, against one that needs it alone.
static CLUSTER: RwLock<()> = RwLock::const_new(());

thread_local! {
    /// Whether the test of this thread has a turn: libtest gives each test a thread.
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// A test's turn, by its guard of the lock.
pub struct TurnOf<G> {
    _guard: G,
    _turn: OnlyTurn,
}

/// Held by every test while others may run at the same time.
pub type Shared = TurnOf<RwLockReadGuard<'static, ()>>;
/// Held by a test that measures times, or stops the manager.
pub type Alone = TurnOf<RwLockWriteGuard<'static, ()>>;

/// The only turn of this thread's test.
struct OnlyTurn;

impl OnlyTurn {
    /// A second turn would wait for a test that waits to be alone, which waits for the end of the first: both would hang.
    fn take() -> Self {
        assert!(
            !HAS_TURN.replace(true),
            "this test has a turn already: create further namespaces by Namespace::another"
        );
        Self
    }
}

impl Drop for OnlyTurn {
    fn drop(&mut self) {
        HAS_TURN.set(false);
    }
}

/// Waits while a test needs the cluster alone.
///
/// # Panics
/// If this test has a turn already.
pub async fn shared() -> Shared {
    let turn = OnlyTurn::take();
    TurnOf { _guard: CLUSTER.read().await, _turn: turn }
}

/// Waits until no other test of this binary runs.
///
/// # Panics
/// If this test has a turn already.
pub async fn alone() -> Alone {
    let turn = OnlyTurn::take();
    TurnOf { _guard: CLUSTER.write().await, _turn: turn }
}

/// Makes sure, once for all tests of a binary, that the manager is deployed and ready.
///
/// # Panics
/// If it is not deployed, or does not become ready.
pub async fn manager_is_ready(client: &Client) {
    static READY: OnceCell<()> = OnceCell::const_new();
    READY
        .get_or_init(|| async {
            whole_run();
            let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
            for name in [
                "myapps.example.com",
                "samples.example.com",
                "sampledbs.example.com",
                "sampledbsnapshots.example.com",
                "etcdbackups.etcd.database.coreos.com",
                "etcdclusters.etcd.database.coreos.com",
                "etcdrestores.etcd.database.coreos.com",
            ] {
                let found = crds.get_opt(name).await.unwrap_or_else(|error| panic!("CRDs cannot be read: {error}"));
                assert!(
                    found.is_some(),
                    "the CRD {name} is missing: kubectl apply --server-side -k kustomize/overlays/dev"
                );
            }
            start_manager(client).await;
        })
        .await;
}

/// Gives the manager one replica, and waits until it is ready.
///
/// # Panics
/// If it does not get ready.
pub async fn start_manager(client: &Client) {
    scale_manager(client, 1).await;
}

/// Scales the manager, and waits until there are so many, all ready.
///
/// # Panics
/// If that takes too long.
pub async fn scale_manager(client: &Client, replicas: i32) {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM);
    let live = deployments.get_opt(MANAGER).await.unwrap_or_else(|error| panic!("Deployments cannot be read: {error}"));
    let live = live.unwrap_or_else(|| {
        panic!("the Deployment {MANAGER} is missing in {SYSTEM}: kubectl apply --server-side -k kustomize/overlays/dev")
    });
    if live.spec.and_then(|spec| spec.replicas) != Some(replicas) {
        let scale = json!({ "spec": { "replicas": replicas } });
        let scaled = deployments.patch_scale(MANAGER, &PatchParams::default(), &Patch::Merge(scale)).await;
        scaled.unwrap_or_else(|error| panic!("the manager cannot be scaled: {error}"));
    }
    wait_until(&format!("the manager to have {replicas} ready replicas"), Duration::from_secs(120), || async {
        let live = deployments.get(MANAGER).await.map_err(|error| error.to_string())?;
        let status = live.status.unwrap_or_default();
        let seen = status.observed_generation >= live.metadata.generation;
        let counts = [status.replicas, status.ready_replicas, status.updated_replicas].map(|n| n.unwrap_or(0));
        // A terminating pod still acts, and still holds the Lease.
        let terminating = status.terminating_replicas.unwrap_or(0);
        if seen && counts == [replicas; 3] && terminating == 0 { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
}

/// The end of the manager's log.
pub async fn manager_log(lines: usize) -> String {
    let tail = format!("--tail={lines}");
    let deployment = format!("deployment/{MANAGER}");
    let answer = kubectl(&["logs", "--namespace", SYSTEM, &deployment, &tail]).await;
    if answer.success { answer.stdout } else { format!("(no log: {})", answer.stderr.trim()) }
}

/// The API server's audit log from now on, for the manager's requests.
///
/// # Panics
/// Without an audit log: a test that counts requests may not pass without having counted.
#[must_use]
pub fn audit() -> Audit {
    Audit::from_now(MANAGER_USER).expect(
        "this test counts the manager's requests in the API server's audit log (JSON lines, level Metadata): name it by \
         MULTI_OPERATOR_AUDIT_LOG, as scripts/cluster env does",
    )
}

/// The audit log since the first test of this binary.
///
/// # Panics
/// Without an audit log.
pub fn whole_run() -> &'static Option<Audit> {
    static WHOLE_RUN: OnceLock<Option<Audit>> = OnceLock::new();
    WHOLE_RUN.get_or_init(|| Audit::from_now(MANAGER_USER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_turn_of_a_test_is_refused_and_not_waited_for() {
        let first = shared().await;
        let second = tokio::spawn(async { drop(shared().await) }).await.expect_err("it has one");
        assert!(second.is_panic());
        drop(first);
        drop(alone().await);
        drop(shared().await);
    }
}
