//! The operator is removed before the objects that it manages: what finalizers then hold, and each remedy in docs/uninstall.md.

use std::path::Path;

use e2e::cluster;
use e2e::kubectl::{kubectl, kubectl_within, run};
use e2e::olm::{Approval, Install, Objects, apply_in, get, list, versions};
use e2e::wait::{DEFAULT_TIMEOUT, wait_until};
use serde_json::{Value, json};

/// Of a database, of its snapshot, and of an etcd cluster.
const HELD: [(&str, &str, &str); 3] = [
    ("etcdcluster", "example-etcd-cluster", "example.com/etcd-volumes"),
    ("sampledb", "example-database", "example.com/final-snapshot"),
    ("sampledbsnapshot", "example-database-by-hand", "example.com/snapshot-files"),
];

/// A database that is not deleted, next to one that is.
const LIVE: &str = r#"
apiVersion: example.com/v1alpha1
kind: SampleDB
metadata: {name: live}
spec: {}
"#;

#[tokio::test]
async fn what_finalizers_hold_goes_by_installing_it_again_or_by_hand() {
    let _alone = cluster::alone().await;
    let versions = versions();
    let mut install = Install::for_all_namespaces().await;
    let samples = Objects::new("removed").await;
    let namespace = samples.namespace.as_str();
    install.subscribe(Approval::Automatic, None).await;
    install.succeeds(&versions.current).await;
    samples.apply_samples().await;
    samples.samples_are_ready().await;
    install.nothing_was_forbidden().await;
    let etcd = get("etcdcluster", namespace, "example-etcd-cluster").await.expect("it is ready");

    install.remove().await;
    delete_all(&samples).await;
    let held = held_by_finalizers(&samples).await;
    let waits = |one: &String| one.starts_with("sampledb") || one.starts_with("etcdcluster");
    assert!(held.iter().all(waits), "nothing holds the other kinds: {held:?}");
    for (kind, name, finalizer) in HELD {
        let object = get(kind, namespace, name).await.expect("it is held");
        assert_eq!(object["metadata"]["finalizers"], json!([finalizer]));
        assert_ne!(object["metadata"]["deletionTimestamp"], Value::Null);
    }
    assert!(get("pod", namespace, "example-database-0").await.is_some(), "the database serves on");

    // The way that loses nothing.
    install.subscribe(Approval::Automatic, None).await;
    install.succeeds(&versions.current).await;
    for (kind, name, _) in HELD {
        until_deleted(namespace, kind, name).await;
    }
    let last = list("sampledbsnapshots", namespace).await;
    assert!(
        last.iter().any(|one| one["spec"]["reason"] == "Final" && one["status"]["phase"] == "Ready"),
        "the database was saved once more: {last:?}"
    );

    // The remedy without an operator: data and Secrets stay, for an administrator to delete. The volumes of etcd stayed, too, and
    // are taken over if an administrator says so.
    samples.apply_samples().await;
    apply_in(namespace, LIVE).await;
    let adopt = format!("example.com/adopt={}", etcd["metadata"]["uid"].as_str().expect("the API server gives it"));
    drop(samples.kubectl(&["annotate", "etcdcluster/example-etcd-cluster", &adopt]).await);
    samples.samples_are_ready().await;
    let wait = ["wait", "--namespace", namespace, "--for=condition=Ready", "sampledb/live"];
    drop(kubectl_within(2 * DEFAULT_TIMEOUT, &wait).await.ok());
    install.remove().await;
    drop(samples.kubectl(&["delete", "sampledb/example-database", "--wait=false"]).await);
    drop(samples.kubectl(&["delete", "pvc/data-live-0", "--wait=false"]).await);
    release(namespace).await;
    until_deleted(namespace, "sampledb", "example-database").await;
    let data = get("pvc", namespace, "data-live-0").await.expect("a database that is not deleted keeps its data");
    let finalizers = data["metadata"]["finalizers"].to_string();
    assert!(finalizers.contains("example.com/unsaved-data"), "{data}");
    let claims = names(&list("persistentvolumeclaims", namespace).await);
    for claim in ["data-example-database-0", "example-database-snapshots"] {
        assert!(claims.iter().any(|one| one == claim), "{claim} stays: {claims:?}");
    }
    let secrets = names(&list("secrets", namespace).await);
    for secret in ["example-database-app", "example-database-system"] {
        assert!(secrets.iter().any(|one| one == secret), "{secret} stays: {secrets:?}");
    }

    // Snapshots outlive their database, and hold the namespace, as does the PVC of data that is not saved.
    drop(kubectl(&["delete", "namespace", namespace, "--wait=false"]).await.ok());
    wait_until("the namespace to say what holds it", DEFAULT_TIMEOUT, || async {
        let namespace = get("namespace", "", namespace).await.ok_or("it is deleted")?;
        let says = namespace["status"]["conditions"].to_string();
        let all = ["final-snapshot", "snapshot-files", "unsaved-data", "etcd-volumes"];
        let all = all.map(|held| format!("example.com/{held}"));
        let all = all.iter().all(|held| says.contains(held.as_str()));
        if all { Ok(()) } else { Err(says) }
    })
    .await;
    release(namespace).await;
    until_deleted("", "namespace", namespace).await;
}

/// The block of docs/uninstall.md for all that waits in a namespace.
async fn release(namespace: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/uninstall.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let block = page.split("or all that waits in a namespace").nth(1).expect("the page has the sentence");
    let block = block.split("```").nth(1).expect("commands follow it");
    drop(run("", "bash", &["-c", &block.replace("NAMESPACE", namespace)]).await.ok());
}

/// Deletes all of this project's objects without waiting; then waits until only held ones are left.
async fn delete_all(samples: &Objects) {
    let kinds = "myapps,samples,etcdclusters,sampledbs,sampledbsnapshots";
    drop(samples.kubectl(&["delete", kinds, "--all", "--wait=false"]).await);
    for (kind, name) in [("myapp", "sample-app"), ("sample", "sample-resource-1")] {
        until_deleted(&samples.namespace, kind, name).await;
    }
}

async fn until_deleted(namespace: &str, kind: &str, name: &str) {
    wait_until(&format!("{kind}/{name} to be deleted"), 2 * DEFAULT_TIMEOUT, || async {
        match get(kind, namespace, name).await {
            None => Ok(()),
            Some(object) => Err(object.to_string()),
        }
    })
    .await;
}

/// What is being deleted and held, by kind and name.
async fn held_by_finalizers(samples: &Objects) -> Vec<String> {
    let mut held = Vec::new();
    for kind in ["myapp", "sample", "etcdcluster", "sampledb", "sampledbsnapshot"] {
        let terminating = list(kind, &samples.namespace).await.into_iter().filter(|one| {
            one["metadata"]["deletionTimestamp"] != Value::Null && one["metadata"]["finalizers"] != Value::Null
        });
        held.extend(names(&terminating.collect::<Vec<_>>()).iter().map(|name| format!("{kind}/{name}")));
    }
    held
}

fn names(objects: &[Value]) -> Vec<String> {
    objects.iter().filter_map(|one| one["metadata"]["name"].as_str()).map(str::to_owned).collect()
}
