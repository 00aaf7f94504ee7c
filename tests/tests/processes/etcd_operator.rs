//! The command `etcd-operator` in pods, from the archived project's example manifests; and which EtcdClusters are whose.

use std::time::Duration;

use api::Contract;
use api::etcd_cluster::EtcdCluster;
use api::my_app::MyApp;
use e2e::etcd::OLD_EXAMPLE;
use e2e::objects::serves;
use e2e::process::install::apply;
use e2e::process::{Install, Launch};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

/// example/deployment.yaml of coreos/etcd-operator. Changed: the image and the service account, and what `apps/v1` requires,
/// which are the version and the selector.
const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: etcd-operator
spec:
  replicas: 1
  selector:
    matchLabels:
      name: etcd-operator
  template:
    metadata:
      labels:
        name: etcd-operator
    spec:
      serviceAccountName: manager
      containers:
      - name: etcd-operator
        image: localhost/multi-operator:dev
        command:
        - etcd-operator
        # Uncomment to act for resources in all namespaces. More information in doc/user/clusterwide.md
        #- -cluster-wide
        env:
        - name: MY_POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: MY_POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
";

/// Name and spec of the old example.
const NAME: &str = "example-etcd-cluster";
const IMAGE: &str = "quay.io/coreos/etcd:v3.2.13";

/// A pod is scheduled and started while other tests run.
const STARTED: Duration = Duration::from_secs(60);
/// The kubelet gives up on a pull only when the network does.
const PULLED: Duration = Duration::from_secs(240);
/// In which a manager would have written to an object that is its business.
const A_WHILE: Duration = Duration::from_secs(3);

/// One after the other, since a cluster-wide operator takes every annotated EtcdCluster that is there.
pub async fn old_manifests_work_and_each_scope_has_its_own(stage: Stage) -> Result<(), Failure> {
    single_namespaces(&stage.another("auto").await?).await?;
    old_manifests(&stage).await?;
    cluster_wide(&stage, &stage.another("wide").await?).await
}

/// The manager itself: one that watches single namespaces leaves annotated clusters alone, unless a flag says otherwise.
async fn single_namespaces(stage: &Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let lease = format!("{}/manager", stage.name);
    paused(stage, "plain", false).await?;
    paused(stage, "annotated", true).await?;
    let mut manager = Launch::default().start(&install)?;
    until_managed(stage, "plain", &lease).await?;
    untouched(stage, "annotated").await?;
    manager.signal("TERM").await?;
    manager.ends(DEFAULT_TIMEOUT).await?;

    let mut manager = Launch::default().flag("--etcd-scope=clusterwide").start(&install)?;
    until_managed(stage, "annotated", &lease).await?;
    paused(stage, "later", false).await?;
    untouched(stage, "later").await?;
    stage.delete::<EtcdCluster>("annotated").await?;
    stage
        .until::<EtcdCluster, _>("annotated", "deleted", DEFAULT_TIMEOUT, |cluster| cluster.is_none().then_some(()))
        .await?;
    manager.signal("TERM").await?;
    manager.ends(DEFAULT_TIMEOUT).await?;
    Ok(())
}

/// The Deployment and the EtcdCluster of the archived project's examples.
async fn old_manifests(stage: &Stage) -> Result<(), Failure> {
    Install::namespaced(&stage.client, &stage.name, &[&stage.name]).await?;
    deploy(stage, None).await?;
    let pod = runs(stage).await?;
    answers(stage, &pod).await?;
    let log = stage.api::<Pod>().logs(&pod, &LogParams::default()).await?;
    ensure(!log.contains("own pod is unknown"), || format!("it does not know its own image: {log}"))?;

    paused(stage, "annotated", true).await?;
    stage.app("web").await?;
    apply(&stage.client, Some(&stage.name), serde_yaml_ng::from_str(OLD_EXAMPLE)?).await?;
    until_managed(stage, NAME, &format!("{}/etcd-operator", stage.name)).await?;
    asks_for_the_image(stage).await?;
    says_what_became_of_the_image(stage).await?;
    untouched(stage, "annotated").await?;
    let app = stage.api::<MyApp>().get("web").await?.status.map(|status| status.contract.observed_generation);
    ensure(app == Some(-1), || format!("it runs more than the controller of EtcdClusters: {app:?}"))?;
    grows_and_shrinks(stage).await
}

/// The permissions for single namespaces are enough for members that run, too.
async fn grows_and_shrinks(stage: &Stage) -> Result<(), Failure> {
    for size in [1, 2, 1] {
        let cluster = json!({ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
                              "metadata": { "name": "real" },
                              "spec": { "size": size, "storage": { "onDelete": "Delete" } } });
        apply(&stage.client, Some(&stage.name), cluster).await?;
        stage
            .until::<EtcdCluster, _>("real", &format!("{size} members"), STARTED, |cluster| {
                let (generation, status) = (cluster?.metadata.generation?, cluster?.status.as_ref()?);
                let all = status.ready == Some(format!("{size}/{size}")) && status.size == size;
                let done = status.contract.observed_generation == generation && status.contract.is_true("Ready");
                (all && done).then_some(())
            })
            .await?;
    }
    Ok(())
}

/// With `-cluster-wide`, in a namespace of its own, it takes what the other has left, and leaves what the other has.
async fn cluster_wide(stage: &Stage, wide: &Stage) -> Result<(), Failure> {
    let install = Install::namespaced(&stage.client, &wide.name, &[]).await?;
    install.bind_cluster_role("manager_cluster_role.yaml").await?;
    paused(wide, "plain", false).await?;
    deploy(wide, Some("-cluster-wide")).await?;
    runs(wide).await?;
    until_managed(stage, "annotated", &format!("{}/etcd-operator", wide.name)).await?;
    untouched(wide, "plain").await?;
    until_managed(stage, NAME, &format!("{}/etcd-operator", stage.name)).await
}

/// Applies the old Deployment, with that flag.
async fn deploy(stage: &Stage, flag: Option<&str>) -> Result<(), Failure> {
    let mut deployment: Value = serde_yaml_ng::from_str(DEPLOYMENT)?;
    if let Some(flag) = flag {
        deployment["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["etcd-operator", flag]);
    }
    apply(&stage.client, Some(&stage.name), deployment).await
}

/// Waits until the Deployment is available and its pod leads; returns the pod's name.
async fn runs(stage: &Stage) -> Result<String, Failure> {
    stage
        .until::<Deployment, _>("etcd-operator", "Available", STARTED, |deployment| {
            let conditions = deployment?.status.as_ref()?.conditions.as_deref()?;
            conditions.iter().any(|c| c.type_ == "Available" && c.status == "True").then_some(())
        })
        .await?;
    let pods = stage.api::<Pod>().list(&ListParams::default().labels("name=etcd-operator")).await?;
    let pod = pods.items.into_iter().find(serves).and_then(|pod| pod.metadata.name).ok_or("no pod of it serves")?;
    stage
        .until::<Lease, _>("etcd-operator", "held by the pod", DEFAULT_TIMEOUT, |lease| {
            let holder = lease?.spec.as_ref()?.holder_identity.as_deref()?;
            holder.starts_with(&format!("{pod}_")).then_some(())
        })
        .await?;
    Ok(pod)
}

/// Readiness and metrics, plain and where they have always been.
async fn answers(stage: &Stage, pod: &str) -> Result<(), Failure> {
    for (path, expected) in [("readyz", "ok"), ("metrics", "\nleader_election_master_status{name=\"etcd-operator\"} 1")]
    {
        let url = format!("/api/v1/namespaces/{}/pods/{pod}:8080/proxy/{path}", stage.name);
        eventually(&format!("an answer at /{path}"), DEFAULT_TIMEOUT, || async {
            let request = http::Request::get(&url).body(Vec::new()).map_err(|error| error.to_string())?;
            let text = stage.client.request_text(request).await.map_err(|error| error.to_string())?;
            if text.contains(expected) { Ok(()) } else { Err(text) }
        })
        .await?;
    }
    Ok(())
}

async fn asks_for_the_image(stage: &Stage) -> Result<(), Failure> {
    let members = ListParams::default().labels(&format!("app=etcd,etcd_cluster={NAME}"));
    let pods = stage.api::<Pod>();
    eventually(&format!("a pod that asks for {IMAGE}"), DEFAULT_TIMEOUT, || async {
        let pods = pods.list(&members).await.map_err(|error| error.to_string())?;
        let containers = pods.items.iter().filter_map(|pod| pod.spec.as_ref()).flat_map(|spec| &spec.containers);
        let images: Vec<&str> = containers.filter_map(|container| container.image.as_deref()).collect();
        if images.contains(&IMAGE) { Ok(()) } else { Err(format!("{} pods, of {images:?}", pods.items.len())) }
    })
    .await
}

/// Where the image cannot be pulled, a condition says so; where it can, there is nothing to say.
async fn says_what_became_of_the_image(stage: &Stage) -> Result<(), Failure> {
    let said = stage
        .until::<EtcdCluster, _>(NAME, "a word about its image", PULLED, |cluster| {
            let contract = &cluster?.status.as_ref()?.contract;
            let names_image = |message: &str| message.contains(IMAGE) && message.contains("cannot be pulled");
            let reported = contract.conditions.iter().find(|condition| names_image(&condition.message));
            let reported = reported.map(|condition| format!("{}: {}", condition.type_, condition.message));
            reported.or_else(|| contract.is_true("Ready").then(|| "it could be pulled, and runs".to_owned()))
        })
        .await?;
    println!("etcd-operator: {said}");
    Ok(())
}

/// Applies an EtcdCluster of which nothing is created, annotated for cluster-wide operators or not.
async fn paused(stage: &Stage, name: &str, annotated: bool) -> Result<(), Failure> {
    let mut metadata = json!({ "name": name });
    if annotated {
        metadata["annotations"] = json!({ "etcd.database.coreos.com/scope": "clusterwide" });
    }
    let spec = json!({ "size": 3, "paused": true });
    let cluster = json!({ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
                          "metadata": metadata, "spec": spec });
    apply(&stage.client, Some(&stage.name), cluster).await
}

async fn until_managed(stage: &Stage, name: &str, lease: &str) -> Result<(), Failure> {
    stage
        .until::<EtcdCluster, _>(name, &format!("managed by {lease}"), DEFAULT_TIMEOUT, |cluster| {
            (cluster?.status.as_ref()?.contract.managed_by.as_deref() == Some(lease)).then_some(())
        })
        .await
}

/// No manager writes to this EtcdCluster, given time.
async fn untouched(stage: &Stage, name: &str) -> Result<(), Failure> {
    sleep(A_WHILE).await;
    let status = stage.api::<EtcdCluster>().get(name).await?.status;
    let contract = status.map(|status| status.contract).unwrap_or_default();
    ensure(contract == Contract::default(), || format!("{name} was touched: {}", json!(contract)))
}
