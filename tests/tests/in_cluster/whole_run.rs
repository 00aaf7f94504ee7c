//! What must hold for the complete run. The module's name sorts last, and the test waits until all others are done.

use api::my_app::MyApp;
use e2e::call::{Call, lines};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use k8s_openapi::api::core::v1 as core;
use kube::Api;

use crate::manifest::my_app;

#[tokio::test]
async fn no_request_was_forbidden_and_nothing_panicked() {
    let ns = Namespace::alone("whole-run").await;
    // The last in the queue is the last to run.
    ns.apply(&my_app("web", "{replicas: 0, image: nginx:1.25}")).await;
    ns.until::<MyApp, ()>("web", "it to be ready", |app| app?.is_ready().then_some(())).await;
    let audit = cluster::whole_run().as_ref().expect("MULTI_OPERATOR_AUDIT_LOG names the API server's audit log");
    let calls = audit.calls().expect("the audit log can be read");
    assert!(calls.iter().any(Call::is_write), "the log is not that of this cluster");
    // Reads are always allowed; writes are rejected in a terminating namespace, whose objects may be deleted at any moment.
    let refused = |call: &&Call| matches!(call.code, Some(401 | 403));
    let (writes, reads): (Vec<_>, Vec<_>) =
        calls.iter().filter(refused).partition(|call| ["create", "patch", "delete"].contains(&&*call.verb));
    println!("{} requests of the manager in all; refused: {} writes, {} reads", calls.len(), writes.len(), reads.len());
    assert!(reads.is_empty(), "{}", lines(reads));
    let namespaces: Api<core::Namespace> = Api::all(ns.client.clone());
    for call in writes {
        let namespace = namespaces.get_opt(&call.namespace).await.expect("namespaces can be read");
        let terminating = namespace.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some());
        assert!(terminating, "refused: {}", call.line());
    }
    let log = cluster::manager_log(100_000).await;
    // A quota, a terminating namespace and a class whose volumes cannot grow cause Forbidden, too. A missing permission names the
    // user.
    let suspect = |line: &&str| line.contains("panicked") || line.contains("is forbidden: User");
    let suspect: Vec<_> = log.lines().filter(suspect).collect();
    assert!(suspect.is_empty(), "the manager's log says:\n{}", suspect.join("\n"));
}
