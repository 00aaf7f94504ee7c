//! The nodes under test, and `scripts/cluster` as a user runs it.

use std::path::PathBuf;
use std::time::Duration;

use e2e::cluster;
use e2e::kubectl::{Answer, run};
use e2e::wait::wait_until;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::Api;
use tokio::sync::{Mutex, MutexGuard};

/// The node controller gives a silent node 50 s; a busy machine gets as much again, and more.
pub(crate) const NODE_IS_GIVEN_UP: Duration = Duration::from_secs(180);
/// How long a node may take to be Ready again.
pub(crate) const NODE_COMES_BACK: Duration = Duration::from_secs(120);

/// Held by a test that changes the node, or needs it as it is.
pub(crate) struct Turn {
    /// Its name.
    pub(crate) node: String,
    _held: MutexGuard<'static, ()>,
}

static SECOND: Mutex<()> = Mutex::const_new(());
static THIRD: Mutex<()> = Mutex::const_new(());

/// The first node, which always runs.
pub(crate) fn first() -> String {
    format!("{}-node", name())
}

/// Waits for the second node, and brings it into order: the test before may have failed halfway.
pub(crate) async fn second() -> Turn {
    turn(&SECOND, 2).await
}

/// The same for the third node. A test that needs both takes the second one first.
pub(crate) async fn third() -> Turn {
    turn(&THIRD, 3).await
}

async fn turn(lock: &'static Mutex<()>, number: u8) -> Turn {
    let held = lock.lock().await;
    let node = format!("{}-{number}", first());
    let started = act(&node, "start").await;
    if !started.success && started.stderr.contains("is isolated") {
        drop(act(&node, "rejoin").await.ok());
    } else {
        drop(started.ok());
    }
    until_ready(&node, "True", NODE_COMES_BACK).await;
    until_untainted(&node).await;
    Turn { node, _held: held }
}

/// The cluster's name.
///
/// # Panics
/// On a cluster that `scripts/cluster` did not start: its nodes cannot be stopped.
pub(crate) fn name() -> String {
    std::env::var("MULTI_OPERATOR_CLUSTER").expect(
        "these tests stop nodes of scripts/cluster up --name nodes --nodes 3: eval \"$(scripts/cluster env --name nodes)\"",
    )
}

/// `scripts/cluster` on the cluster under test.
pub(crate) async fn scripts_cluster(arguments: &[&str]) -> Answer {
    let name = name();
    on_cluster(&name, arguments).await
}

/// `scripts/cluster` on any cluster.
pub(crate) async fn on_cluster(name: &str, arguments: &[&str]) -> Answer {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scripts/cluster");
    run("", &program.display().to_string(), &[arguments, &["--name", name]].concat()).await
}

/// `scripts/cluster node NODE ACTION`.
pub(crate) async fn act(node: &str, action: &str) -> Answer {
    scripts_cluster(&["node", node, action]).await
}

/// All nodes.
pub(crate) async fn nodes() -> Api<Node> {
    Api::all(cluster::client().await)
}

/// The Ready condition of a node.
pub(crate) async fn ready(node: &str) -> Result<NodeCondition, String> {
    let live = nodes().await.get(node).await.map_err(|error| error.to_string())?;
    let conditions = live.status.and_then(|status| status.conditions).unwrap_or_default();
    conditions.into_iter().find(|condition| condition.type_ == "Ready").ok_or_else(|| "no condition Ready".to_owned())
}

/// Waits until the Ready condition of a node has that status.
pub(crate) async fn until_ready(node: &str, status: &str, deadline: Duration) {
    wait_until(&format!("node {node} to have Ready={status}"), deadline, || async {
        let ready = ready(node).await?;
        if ready.status == status { Ok(()) } else { Err(format!("{ready:?}")) }
    })
    .await;
}

/// Waits until pods may be placed on a node: the taint of one that was down is removed after its condition.
async fn until_untainted(node: &str) {
    wait_until(&format!("node {node} to have no taints"), NODE_COMES_BACK, || async {
        let there = nodes().await.get(node).await.map_err(|error| error.to_string())?;
        let taints = there.spec.and_then(|spec| spec.taints).unwrap_or_default();
        if taints.is_empty() { Ok(()) } else { Err(format!("{taints:?}")) }
    })
    .await;
}
