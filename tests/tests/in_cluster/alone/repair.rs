//! A Deployment of the operator that was edited or deleted by hand is restored at once, by one write.

use std::time::Duration;

use e2e::audit::{Audit, Entry};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{image, replicas};
use e2e::patience::{Bar, Moment};
use e2e::timing::Timing;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::manifest::my_app;
use crate::running::running;
use crate::writes::{lines, settled, taken_of, to, writes};

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// From the edit until a watch shows the restored object: this includes the cluster's work.
const BACK: Bar = Bar::work(Duration::from_secs(5));
/// From the edit until the API server has the manager's request, by its own log.
const ASKED: Bar = Bar::work(Duration::from_secs(1));

/// Prints how slow the machine is.
fn back_in_time(what: &str, begun: Moment) -> f64 {
    let passed = begun.passed();
    println!("{what}: back after {passed} (bar: 1 s)");
    BACK.holds(what, passed.real, passed.slowness()).unwrap_or_else(|missed| panic!("{missed}"));
    passed.slowness()
}

/// Asserts that the manager's only write to the Deployment came in time after that moment; the audit log has the same clock.
fn asked_in_time(what: &str, mark: &Audit, ns: &Namespace, edited: Timestamp, slowness: f64) {
    let entries = mark.entries().expect("the audit log can be read");
    let is_it = |entry: &&Entry| {
        entry.call.namespace == ns.name && entry.call.is_write() && entry.call.target() == "deployments"
    };
    let first = entries.iter().find(is_it).expect("it has been written to").received;
    // It may be there before the answer to the edit is here.
    let delay = Duration::try_from(first.duration_since(edited)).unwrap_or_default();
    println!("{what}: the manager's request came after {delay:.2?}");
    ASKED.holds(what, delay, slowness).unwrap_or_else(|missed| panic!("{missed}"));
}

/// The desired image, number of replicas and labels.
fn as_asked(deployment: &Deployment) -> bool {
    let label = |key: &str| deployment.labels().get(key).map(String::as_str);
    image(deployment) == "nginx:1.25"
        && replicas(deployment) == Some(1)
        && label(MANAGED_BY) == Some("multi-operator")
        && label("app.kubernetes.io/instance") == Some("web")
}

fn template(container: &Value) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": [container] } } } })
}

#[tokio::test]
async fn an_edited_or_deleted_deployment_is_back_at_once_by_one_write() {
    let ns = Namespace::alone("repair").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25}")).await;
    running(&ns, 1).await;
    settled(&audit, &ns).await;
    let deployments = ns.api::<Deployment>();
    let edits = [
        ("its image", template(&json!({ "name": "app", "image": "nginx:1.26" }))),
        ("its number of pods", json!({ "spec": { "replicas": 3 } })),
        ("a label", json!({ "metadata": { "labels": { "app.kubernetes.io/instance": "mine" } } })),
        ("the label by which we see it", json!({ "metadata": { "labels": { MANAGED_BY: null } } })),
        ("its owner", json!({ "metadata": { "ownerReferences": null } })),
    ];
    for (what, edit) in edits {
        let mark = audit.mark().expect("the audit log is there");
        let (timing, begun) = (Timing::exclusive().await, Moment::now());
        let edited = deployments.patch("web", &PatchParams::default(), &Patch::Strategic(edit)).await;
        let (edited, at) = (edited.expect("an administrator may edit it"), Timestamp::now());
        let wanted = format!("{what} to be back");
        let back = ns.until::<Deployment, _>("web", &wanted, |deployment| {
            let owned = !deployment?.owner_references().is_empty();
            let newer = deployment?.resource_version() != edited.resource_version();
            (newer && owned && as_asked(deployment?)).then_some(())
        });
        back.await;
        let slowness = back_in_time(&format!("{what} edited by hand"), begun);
        drop(timing);
        settled(&mark, &ns).await;
        asked_in_time(what, &mark, &ns, at, slowness);
        let written = taken_of(writes(&mark, &ns));
        println!("{}", lines(&written));
        assert_eq!(to(&written, "deployments").len(), 1, "{what} by one write:\n{}", lines(&written));
    }

    let mark = audit.mark().expect("the audit log is there");
    let uid = ns.get::<Deployment>("web").await.uid();
    let (timing, begun) = (Timing::exclusive().await, Moment::now());
    deployments.delete("web", &DeleteParams::background()).await.expect("an administrator may delete it");
    let at = Timestamp::now();
    let back = ns.until::<Deployment, _>("web", "another Deployment", |deployment| {
        (deployment?.uid() != uid && as_asked(deployment?)).then_some(())
    });
    back.await;
    let slowness = back_in_time("deleted by hand", begun);
    drop(timing);
    running(&ns, 1).await;
    settled(&mark, &ns).await;
    asked_in_time("a deletion", &mark, &ns, at, slowness);
    let written = taken_of(writes(&mark, &ns));
    println!("{}", lines(&written));
    assert_eq!(to(&written, "deployments").len(), 1, "by one write:\n{}", lines(&written));
}
