//! An operator's life: installed when an administrator approves, upgraded when an administrator approves, removed, and installed
//! again. The objects that it manages keep running through all of that.

use std::time::Duration;

use e2e::cluster;
use e2e::olm::{Approval, Install, Objects, Untouched, get, list, versions};
use e2e::wait::{DEFAULT_TIMEOUT, wait_until};
use serde_json::json;

use crate::needless::nothing_needless_was_written;

/// Longer than an install takes.
const LONGER: Duration = Duration::from_secs(20);

#[tokio::test]
async fn it_is_installed_upgraded_removed_and_installed_again_while_all_runs_on() {
    let _alone = cluster::alone().await;
    let versions = versions();
    let mut install = Install::for_all_namespaces().await;
    let samples = Objects::new("life").await;

    install.subscribe(Approval::Manual, Some(&versions.previous)).await;
    let plan = install.plan_waits(&versions.previous).await;
    // It takes a while to see that a plan without approval has no effect.
    let refused = tokio::time::timeout(LONGER, something_is_installed(&install)).await;
    assert!(refused.is_err(), "the plan did not wait for its approval");
    install.approve(&plan).await;
    let took = install.succeeds(&versions.previous).await;
    println!("{}: Succeeded {took:.1?} after the InstallPlan was approved", versions.previous);
    let (previous, began_with) = (install.manager().await, install.image().await);

    samples.apply_samples().await;
    samples.apply_app_of_the_first_release().await;
    samples.samples_are_ready().await;
    let mut before = samples.untouched().await;
    assert_eq!(
        before.pods.len(),
        3 + 1 + 3 + 1,
        "two applications' pods, etcd's members, a database: {:?}",
        before.pods
    );

    let plan = install.plan_waits(&versions.current).await;
    install.nothing_was_forbidden().await;
    let children = samples.children().await;
    install.marks();
    install.approve(&plan).await;
    let took = install.succeeds(&versions.current).await;
    println!("{} to {}: Succeeded {took:.1?} after approval", versions.previous, versions.current);
    wait_until("another manager's pod", DEFAULT_TIMEOUT, || async {
        let now = install.manager().await;
        if now["metadata"]["uid"] == previous["metadata"]["uid"] { Err("the old one") } else { Ok(()) }
            .map_err(str::to_owned)
    })
    .await;
    assert_ne!(install.image().await, began_with, "another program");
    the_cluster_is_held(&samples, &mut before).await;
    assert_eq!(samples.untouched().await.custom_resources, before.custom_resources);
    nothing_needless_was_written(&install, &samples).await;
    assert_eq!(samples.children().await, children, "an upgrade of the operator changes no child that runs anything");
    every_object_is_reconciled(&samples, 1).await;
    samples.samples_are_ready().await;
    assert_eq!(samples.untouched().await.pods, before.pods, "an upgrade of the operator restarts nothing");
    println!("upgrade: {} pods of operands, 0 restarts, 0 replaced", before.pods.len());
    install.nothing_was_forbidden().await;

    let before = samples.untouched().await;
    install.remove().await;
    for crd in ["myapps.example.com", "sampledbs.example.com", "etcdclusters.etcd.database.coreos.com"] {
        assert!(get("customresourcedefinition", "", crd).await.is_some(), "{crd} stays");
    }
    assert_eq!(samples.untouched().await, before, "what it managed stays");
    all_serve(&samples).await;

    install.subscribe(Approval::Automatic, None).await;
    let took = install.succeeds(&versions.current).await;
    println!(
        "{}: Succeeded {took:.1?} after the Subscription, with the objects of the version before",
        versions.current
    );
    every_object_is_reconciled(&samples, 2).await;
    samples.samples_are_ready().await;
    assert_eq!(samples.untouched().await.pods, before.pods, "adopted as it was");
    install.nothing_was_forbidden().await;

    samples.remove().await;
    install.remove().await;
}

/// What this version adds and the one before did not know: the finalizer of an EtcdCluster.
async fn the_cluster_is_held(samples: &Objects, before: &mut Untouched) {
    const CLUSTER: &str = "etcdcluster/example-etcd-cluster";
    let held = json!(["example.com/etcd-volumes"]);
    wait_until("the finalizer of the EtcdCluster", DEFAULT_TIMEOUT, || async {
        let found = samples.untouched().await.custom_resources[CLUSTER]["finalizers"].clone();
        if found == held { Ok(()) } else { Err(found.to_string()) }
    })
    .await;
    before.custom_resources.get_mut(CLUSTER).expect("it is among the samples")["finalizers"] = held;
}

/// Never comes back unless OLM has continued.
async fn something_is_installed(install: &Install) {
    wait_until("an install without approval", 4 * LONGER, || async {
        let csvs = list("clusterserviceversions", &install.namespace).await;
        let managers = Objects::managers(&install.namespace).await;
        if csvs.is_empty() && managers.is_empty() { Err("nothing, as it should be".to_owned()) } else { Ok(()) }
    })
    .await;
}

/// Changes one thing of each object that replaces no pod, and waits until the manager has seen to it.
async fn every_object_is_reconciled(samples: &Objects, round: u32) {
    let (string, keep) = (format!("round {round}"), 7 + round);
    for (object, patch) in [
        ("sample/sample-resource-1", format!(r#"{{"testString":"{string}"}}"#)),
        ("myapp/sample-app", format!(r#"{{"spec":{{"disruptionBudget":{{"maxUnavailable":{round}}}}}}}"#)),
        ("sampledb/example-database", format!(r#"{{"spec":{{"backup":{{"retention":{{"keepLast":{keep}}}}}}}}}"#)),
        ("etcdcluster/example-etcd-cluster", r#"{"spec":{"paused":true}}"#.to_owned()),
        ("etcdcluster/example-etcd-cluster", r#"{"spec":{"paused":false}}"#.to_owned()),
    ] {
        drop(samples.kubectl(&["patch", object, "--type=merge", "--patch", &patch]).await);
        let (kind, name) = object.split_once('/').expect("kind and name");
        wait_until(&format!("{object} to be reconciled after {patch}"), DEFAULT_TIMEOUT, || async {
            let now = get(kind, &samples.namespace, name).await.expect("it is there");
            if now["status"]["observedGeneration"] == now["metadata"]["generation"] {
                Ok(())
            } else {
                Err(now["status"].to_string())
            }
        })
        .await;
    }
    let map = get("configmap", &samples.namespace, "sample-resource-1").await.expect("the ConfigMap is there");
    assert_eq!(map["data"]["testString"], string);
    let budget = get("poddisruptionbudget", &samples.namespace, "sample-app").await.expect("a budget");
    assert_eq!(budget["spec"]["maxUnavailable"], round);
}

/// Queries the application, the members of etcd and the database, while no manager runs.
async fn all_serve(samples: &Objects) {
    let first = |selector: &'static str| async move {
        let selector = format!("--selector={selector}");
        samples.kubectl(&["get", "pods", &selector, "--output=jsonpath={.items[0].metadata.name}"]).await
    };
    let page = format!(
        "/api/v1/namespaces/{}/pods/{}:80/proxy/",
        samples.namespace,
        first("app.kubernetes.io/name=myapp").await
    );
    assert!(samples.kubectl(&["get", "--raw", &page]).await.contains("nginx"));
    let member = first("app=etcd").await;
    let etcdctl = ["exec", &member, "--container=etcd", "--", "/usr/local/bin/etcdctl"];
    drop(samples.kubectl(&[&etcdctl[..], &["endpoint", "health", "--cluster"]].concat()).await);
    let ready = ["exec", "example-database-0", "--container=postgres", "--", "pg_isready"];
    assert!(samples.kubectl(&ready).await.contains("accepting connections"));
}
