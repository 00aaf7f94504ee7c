//! Foreign objects are never changed; orphans of the same owner are adopted again.

use api::my_app::{MyApp, MyAppPhase};
use api::sample::Sample;
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::ResourceExt;
use kube::api::ListParams;

use crate::manifest::{my_app, sample};
use crate::running::running;
use crate::writes::{lines, taken_of, to, writes};

#[tokio::test]
async fn foreign_objects_of_the_desired_names_are_left_alone() {
    let ns = Namespace::new("foreign").await;
    let audit = cluster::audit();
    drop(ns.kubectl(&["create", "deployment", "web", "--image=nginx:1.25", "--replicas=0"]).await.ok());
    drop(ns.kubectl(&["create", "service", "clusterip", "srv", "--tcp=80"]).await.ok());
    drop(ns.kubectl(&["create", "configmap", "text", "--from-literal=testString=theirs"]).await.ok());
    let deployment = ns.get::<Deployment>("web").await;
    let service = ns.get::<Service>("srv").await;
    let config_map = ns.get::<ConfigMap>("text").await;

    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.26}")).await;
    ns.apply(&my_app("srv", "{replicas: 0, image: nginx:1.25, port: 80}")).await;
    ns.apply(&sample("text", "owned")).await;
    for (name, kind) in [("web", "Deployment"), ("srv", "Service")] {
        ns.until::<MyApp, ()>(name, "NameTaken", |app| taken(app?, kind).then_some(())).await;
    }
    ns.until::<Sample, ()>("text", "NameTaken", |sample| taken(sample?, "ConfigMap").then_some(())).await;
    let same = |before: &Deployment, after: &Deployment| {
        before.uid() == after.uid()
            && before.metadata.generation == after.metadata.generation
            && after.owner_references().is_empty()
    };
    assert!(same(&deployment, &ns.get("web").await), "the foreign Deployment was touched");
    assert_eq!(ns.get::<Service>("srv").await.resource_version(), service.resource_version());
    assert_eq!(ns.get::<ConfigMap>("text").await.resource_version(), config_map.resource_version());
    let mut written = taken_of(writes(&audit, &ns));
    written.retain(|call| call.subresource.is_empty());
    assert!(written.iter().all(|call| call.resource == "deployments" && call.name == "srv"), "{}", lines(&written));

    // Once its owner has deleted it, the operator takes the name.
    drop(ns.kubectl(&["delete", "deployment/web", "service/srv", "configmap/text"]).await.ok());
    running(&ns, 1).await;
    ns.until::<MyApp, ()>("srv", "it to be ready", |app| app?.is_ready().then_some(())).await;
    ns.until::<Sample, ()>("text", "it to be ready", |sample| sample?.is_ready().then_some(())).await;
    assert_eq!(ns.get::<ConfigMap>("text").await.data.map(|data| data["testString"].clone()), Some("owned".to_owned()));
}

/// References to a Deployment or a Service go by the name alone.
#[tokio::test]
async fn foreign_pods_are_neither_scaled_nor_published() {
    let ns = Namespace::new("foreign-targets").await;
    drop(ns.kubectl(&["create", "deployment", "web", "--image=nginx:1.25", "--replicas=0"]).await.ok());
    drop(ns.kubectl(&["scale", "deployment", "web", "--replicas=3"]).await.ok());
    drop(ns.kubectl(&["create", "service", "clusterip", "srv", "--tcp=80"]).await.ok());
    ns.apply(&my_app("web", "{image: nginx:1.26, autoscaling: {max: 2}}")).await;
    ns.apply(&my_app("srv", "{replicas: 0, image: nginx:1.25, port: 80, route: {host: srv.example.com}}")).await;
    for (name, kind) in [("web", "Deployment"), ("srv", "Service")] {
        ns.until::<MyApp, ()>(name, "NameTaken", |app| taken(app?, kind).then_some(())).await;
    }
    // Children that are applied independently of the failed effect would be applied in the same reconcile that reports it.
    let children = ["get", "hpa,ingress", "--output=name"];
    assert_eq!(ns.kubectl(&children).await.ok().trim(), "");
    assert_eq!(ns.get::<Deployment>("web").await.spec.and_then(|spec| spec.replicas), Some(3));

    drop(ns.kubectl(&["delete", "deployment/web", "service/srv"]).await.ok());
    ns.until::<HorizontalPodAutoscaler, ()>("web", "it once the Deployment is owned", |created| created.map(|_| ()))
        .await;
    ns.until::<Ingress, ()>("srv", "it once the Service is owned", |created| created.map(|_| ())).await;
}

/// While paused, the operator does not restore it.
#[tokio::test]
async fn an_autoscaler_is_deleted_once_its_deployment_is_foreign() {
    let ns = Namespace::new("foreign-later").await;
    let manifest =
        |paused: bool| my_app("web", &format!("{{image: nginx:1.25, paused: {paused}, autoscaling: {{max: 2}}}}"));
    ns.apply(&manifest(false)).await;
    running(&ns, 1).await;
    ns.until::<HorizontalPodAutoscaler, ()>("web", "it to be created", |created| created.map(|_| ())).await;
    ns.apply(&manifest(true)).await;
    let is_paused = |app: Option<&MyApp>| (app?.status.as_ref()?.phase == Some(MyAppPhase::Paused)).then_some(());
    ns.until::<MyApp, ()>("web", "the pause", is_paused).await;
    drop(ns.kubectl(&["delete", "deployment/web", "--cascade=foreground"]).await.ok());
    drop(ns.kubectl(&["create", "deployment", "web", "--image=nginx:1.25", "--replicas=1"]).await.ok());
    let foreign = ns.get::<Deployment>("web").await;
    ns.apply(&manifest(false)).await;
    ns.until::<MyApp, ()>("web", "NameTaken", |app| taken(app?, "Deployment").then_some(())).await;
    ns.until_deleted::<HorizontalPodAutoscaler>("web").await;
    let after = ns.get::<Deployment>("web").await;
    assert_eq!((after.uid(), after.metadata.generation), (foreign.uid(), foreign.metadata.generation));
    assert!(after.owner_references().is_empty(), "{after:#?}");
}

/// Neither the spec nor an autoscaler says how many there are.
#[tokio::test]
async fn pods_that_an_earlier_app_left_stay_as_many() {
    let ns = Namespace::new("orphan-scaled").await;
    ns.apply(&my_app("web", "{replicas: 3, image: nginx:1.25}")).await;
    running(&ns, 3).await;
    let before = pods(&ns).await;
    drop(ns.kubectl(&["delete", "myapp/web", "--cascade=orphan"]).await.ok());
    ns.until::<Deployment, ()>("web", "an orphan", |seen| seen?.owner_references().is_empty().then_some(())).await;
    ns.apply(&my_app("web", "{image: nginx:1.25}")).await;
    running(&ns, 3).await;
    assert_eq!(pods(&ns).await, before, "adopted pods run on");
    // Recreated, it has as many.
    let left = ns.get::<Deployment>("web").await.uid();
    drop(ns.kubectl(&["delete", "deployment/web", "--cascade=orphan"]).await.ok());
    let is_another = |seen: Option<&Deployment>| {
        let seen = seen.filter(|seen| seen.uid() != left && seen.metadata.deletion_timestamp.is_none())?;
        seen.spec.as_ref()?.replicas
    };
    let number = ns.until::<Deployment, i32>("web", "another Deployment", is_another).await;
    assert_eq!(number, 3);
    running(&ns, 3).await;
    assert_eq!(pods(&ns).await, before, "those that were left run on");
}

fn taken(object: &impl ManagedKind, kind: &str) -> bool {
    let said = object.not_ready().is_some_and(|(reason, said)| reason == "NameTaken" && said.contains(kind));
    said && object.condition("Stalled").is_some()
}

/// Uid and restarts of each pod.
async fn pods(ns: &Namespace) -> Vec<(Option<String>, Option<i32>)> {
    let pods = ns.api::<Pod>().list(&ListParams::default()).await.expect("pods can be listed");
    let restarts = |pod: &Pod| Some(pod.status.as_ref()?.container_statuses.as_ref()?.first()?.restart_count);
    pods.items.iter().map(|pod| (pod.uid(), restarts(pod))).collect()
}

#[tokio::test]
async fn an_orphan_is_adopted_without_touching_its_pods() {
    let ns = Namespace::new("orphan").await;
    let manifest = my_app("web", "{replicas: 2, image: nginx:1.25, port: 80}");
    ns.apply(&manifest).await;
    running(&ns, 2).await;
    let (before, deployment) = (pods(&ns).await, ns.get::<Deployment>("web").await);
    drop(ns.kubectl(&["delete", "myapp/web", "--cascade=orphan"]).await.ok());
    ns.until::<Deployment, ()>("web", "an orphan", |seen| seen?.owner_references().is_empty().then_some(())).await;
    ns.until::<Service, ()>("web", "an orphan", |seen| seen?.owner_references().is_empty().then_some(())).await;
    assert_eq!(pods(&ns).await, before, "orphaned pods run on");

    let audit = cluster::audit();
    ns.apply(&manifest).await;
    running(&ns, 2).await;
    let owner = ns.get::<MyApp>("web").await.uid();
    let adopted = ns.get::<Deployment>("web").await;
    assert_eq!(adopted.owner_references().first().map(|reference| reference.uid.clone()), owner);
    let service = ns.get::<Service>("web").await;
    assert_eq!(service.owner_references().first().map(|reference| reference.uid.clone()), owner);
    assert_eq!((adopted.uid(), adopted.metadata.generation), (deployment.uid(), deployment.metadata.generation));
    assert_eq!(pods(&ns).await, before, "adopted pods run on");
    let written = taken_of(writes(&audit, &ns));
    assert_eq!(to(&written, "deployments").len(), 1, "one write adopts:\n{}", lines(&written));
}
