//! The four install modes: objects in watched namespaces are reconciled, with the permissions that OLM grants for that mode, and
//! objects in others are not touched.

use e2e::cluster;
use e2e::kubectl::kubectl_within;
use e2e::olm::{Approval, Install, Objects, PACKAGE, apply_in, condition, get, list, versions};
use e2e::wait::{DEFAULT_TIMEOUT, wait_until};
use futures::future::join_all;
use serde_json::Value;

/// One object of each kind, small.
const OF_EACH_KIND: &str = r#"
apiVersion: example.com/v1
kind: MyApp
metadata: {name: web}
spec: {replicas: 1, image: "nginx:1.25"}
---
apiVersion: example.com/v1alpha1
kind: Sample
metadata: {name: text}
testString: kept
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: keys}
spec: {size: 1, version: "3.6.16"}
---
apiVersion: example.com/v1alpha1
kind: SampleDB
metadata: {name: data}
spec: {backup: {schedule: ""}, deletion: {policy: Delete}}
"#;
const KINDS: [(&str, &str); 4] = [("myapp", "web"), ("sample", "text"), ("etcdcluster", "keys"), ("sampledb", "data")];

#[tokio::test]
async fn all_namespaces() {
    let _alone = cluster::alone().await;
    let watched = spaces(["a", "b"]).await;
    let install = Install::for_all_namespaces().await;
    shows(install, "AllNamespaces", &watched, &[]).await;
}

#[tokio::test]
async fn own_namespace() {
    let _alone = cluster::alone().await;
    let [home, other] = spaces(["home", "a"]).await;
    let install = Install::for_namespaces(&home, &[&home]).await;
    shows(install, "OwnNamespace", &[home], &[other]).await;
}

#[tokio::test]
async fn single_namespace() {
    let _alone = cluster::alone().await;
    let [home, watched, other] = spaces(["home", "a", "b"]).await;
    let install = Install::for_namespaces(&home, &[&watched]).await;
    shows(install, "SingleNamespace", &[watched], &[home, other]).await;
}

#[tokio::test]
async fn multi_namespace() {
    let _alone = cluster::alone().await;
    let [home, first, second, other] = spaces(["home", "a", "b", "c"]).await;
    let install = Install::for_namespaces(&home, &[&first, &second]).await;
    shows(install, "MultiNamespace", &[first, second], &[home, other]).await;
}

/// Creates namespaces of these purposes.
async fn spaces<const N: usize>(purposes: [&str; N]) -> [String; N] {
    let created = join_all(purposes.map(Objects::new)).await.into_iter().map(|created| created.namespace);
    created.collect::<Vec<_>>().try_into().expect("as many as asked for")
}

async fn shows(mut install: Install, mode: &str, watched: &[String], others: &[String]) {
    let versions = versions();
    install.subscribe(Approval::Automatic, None).await;
    let took = install.succeeds(&versions.current).await;
    // Namespaces that are not watched come first: a manager that reconciles the later ones has had the time to reconcile these.
    for namespace in others.iter().chain(watched) {
        apply_in(namespace, OF_EACH_KIND).await;
    }
    for namespace in watched {
        for (kind, name) in KINDS {
            is_ready(namespace, kind, name).await;
        }
    }
    for namespace in others {
        is_untouched(namespace).await;
    }
    println!("{mode}: Succeeded after {took:.1?}; served {watched:?}, not {others:?}");
    install.nothing_was_forbidden().await;

    // While a manager runs that respects finalizers.
    let all = KINDS.map(|(kind, _)| kind).join(",");
    let namespaces: Vec<&str> = watched.iter().chain(others).map(String::as_str).collect();
    join_all(namespaces.iter().map(async |namespace| {
        let delete = ["delete", &all, "--namespace", namespace, "--all"];
        drop(kubectl_within(DEFAULT_TIMEOUT, &delete).await.ok());
    }))
    .await;
    install.remove().await;
    let delete = ["delete", "namespace"];
    drop(kubectl_within(2 * DEFAULT_TIMEOUT, &[&delete[..], &namespaces].concat()).await.ok());
}

async fn is_ready(namespace: &str, kind: &str, name: &str) {
    wait_until(&format!("{kind}/{name} in {namespace} to be Ready"), 2 * DEFAULT_TIMEOUT, || async {
        let object = get(kind, namespace, name).await.expect("it was created");
        if condition(&object, "Ready") == "True" { Ok(()) } else { Err(object["status"].to_string()) }
    })
    .await;
}

/// Nothing has written to any of them, or created anything for them. (The objects of the install itself may be there.)
async fn is_untouched(namespace: &str) {
    for (kind, name) in KINDS {
        let object = get(kind, namespace, name).await.expect("it was created");
        assert_eq!(object["status"]["observedGeneration"], -1, "{kind} in {namespace}: {}", object["status"]);
        assert_eq!(object["metadata"]["finalizers"], Value::Null, "{kind} in {namespace}");
    }
    for kind in ["deployments", "statefulsets", "services", "persistentvolumeclaims"] {
        let created: Vec<String> =
            list(kind, namespace).await.iter().map(|one| one["metadata"]["name"].to_string()).collect();
        let created: Vec<&String> = created.iter().filter(|name| !name.contains(PACKAGE)).collect();
        assert!(created.is_empty(), "{kind} in {namespace}: {created:?}");
    }
}
