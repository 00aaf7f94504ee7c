//! Deletion in all its ways, and names that are used again at once.

use api::my_app::MyApp;
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PostParams};

use crate::manifest::my_app;
use crate::running::running;
use crate::writes::{lines, settled, writes};

async fn left(ns: &Namespace) -> Vec<String> {
    let lists = ListParams::default();
    let sets = ns.api::<ReplicaSet>().list(&lists).await.expect("ReplicaSets can be listed");
    let pods = ns.api::<Pod>().list(&lists).await.expect("pods can be listed");
    let services = ns.api::<Service>().list(&lists).await.expect("Services can be listed");
    let deployments = ns.api::<Deployment>().list(&lists).await.expect("Deployments can be listed");
    let names = sets.items.iter().map(ResourceExt::name_any).chain(pods.items.iter().map(ResourceExt::name_any));
    names
        .chain(services.items.iter().map(ResourceExt::name_any))
        .chain(deployments.items.iter().map(ResourceExt::name_any))
        .collect()
}

async fn deleted_with(purpose: &str, cascade: &str) {
    let ns = Namespace::new(purpose).await;
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25, port: 80}")).await;
    running(&ns, 2).await;
    // The log has a write a moment later than the object.
    settled(&cluster::audit(), &ns).await;
    let (audit, deployments) = (cluster::audit(), ns.record::<Deployment>("web").await);
    drop(ns.kubectl(&["delete", "myapp/web", "--wait=false", cascade]).await.ok());
    ns.until_deleted::<MyApp>("web").await;
    ns.eventually("nothing to be left", || async {
        let left = left(&ns).await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    settled(&audit, &ns).await;
    let written = writes(&audit, &ns);
    assert!(written.is_empty(), "nothing is written for what is deleted:\n{}", lines(&written));
    let uids: std::collections::BTreeSet<_> = deployments.objects().iter().map(ResourceExt::uid).collect();
    assert_eq!(uids.len(), 1, "the Deployment was recreated while its MyApp was being deleted");
}

#[tokio::test]
async fn background_deletion_deletes_everything() {
    deleted_with("background", "--cascade=background").await;
}

#[tokio::test]
async fn foreground_deletion_deletes_everything() {
    deleted_with("foreground", "--cascade=foreground").await;
}

#[tokio::test]
async fn a_name_can_be_reused_at_once() {
    let ns = Namespace::new("again").await;
    let apps = ns.api::<MyApp>();
    for replicas in [0, 1] {
        let app: MyApp =
            serde_yaml_ng::from_str(&my_app("web", &format!("{{replicas: {replicas}, image: nginx:1.25, port: 80}}")))
                .expect("a MyApp");
        apps.create(&PostParams::default(), &app).await.expect("it can be created");
        ns.until::<MyApp, ()>("web", "it to be ready", |app| app?.is_ready().then_some(())).await;
        for _ in 0..5 {
            apps.delete("web", &DeleteParams::background()).await.expect("it can be deleted");
            apps.create(&PostParams::default(), &app).await.expect("it can be recreated at once");
        }
        ns.until::<MyApp, ()>("web", "the last of them to be ready", |app| {
            let ready = app?.is_ready() && app?.status.as_ref()?.ready_replicas == replicas;
            ready.then_some(())
        })
        .await;
        let owner = apps.get("web").await.expect("it is there").uid();
        ns.eventually("children of the last alone", || async {
            let (deployment, service) = (ns.api::<Deployment>().get("web").await, ns.api::<Service>().get("web").await);
            let (deployment, service) =
                deployment.and_then(|d| Ok((d, service?))).map_err(|error| error.to_string())?;
            let of_last = |owners: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference]| {
                owners.len() == 1 && Some(&owners[0].uid) == owner.as_ref()
            };
            let fine = of_last(deployment.owner_references()) && of_last(service.owner_references());
            if fine { Ok(()) } else { Err(format!("{:?}, not {owner:?}", deployment.owner_references())) }
        })
        .await;
        apps.delete("web", &DeleteParams::background()).await.expect("it can be deleted");
        ns.eventually("nothing to be left", || async {
            let left = left(&ns).await;
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    }
}
