//! A cluster of etcd that runs already, as a StatefulSet, is taken over while clients write.

use std::time::Duration;

use api::ConditionStatus;
use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{Etcd, Writer, cluster_id, namespace, status};
use e2e::namespace::Namespace;
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::json;

/// The bar of the issue for writes while members come and leave.
const LONGEST_REFUSAL: Duration = Duration::from_secs(5);

/// Three members of etcd without an operator, with a Service for clients, which selects pods of the EtcdCluster as well.
async fn runs_without_operator(ns: &Namespace) {
    let namespace = &ns.name;
    let peers: Vec<_> = (0..3).map(|i| format!("old-{i}=http://old-{i}.old.{namespace}.svc:2380")).collect();
    ns.apply(&format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: old}}
spec: {{clusterIP: None, publishNotReadyAddresses: true, selector: {{run: old}}, ports: [{{name: peer, port: 2380}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: old-client}}
spec: {{selector: {{clients: of-etcd}}, ports: [{{name: client, port: 2379}}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: old}}
spec:
  replicas: 3
  serviceName: old
  podManagementPolicy: Parallel
  selector: {{matchLabels: {{run: old}}}}
  template:
    metadata: {{labels: {{run: old, clients: of-etcd}}}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 5
      securityContext: {{runAsUser: 1000, fsGroup: 1000, runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}
      containers:
      - name: etcd
        image: quay.io/coreos/etcd:v3.6.16
        command:
        - /usr/local/bin/etcd
        - --name=$(NAME)
        - --data-dir=/data/etcd
        - --listen-peer-urls=http://0.0.0.0:2380
        - --listen-client-urls=http://0.0.0.0:2379
        - --initial-advertise-peer-urls=http://$(NAME).old.{namespace}.svc:2380
        - --advertise-client-urls=http://$(NAME).old.{namespace}.svc:2379
        - --listen-metrics-urls=http://0.0.0.0:2381
        - --initial-cluster={peers}
        env: [{{name: NAME, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}]
        readinessProbe: {{httpGet: {{path: /readyz, port: 2381}}, periodSeconds: 1}}
        resources: {{requests: {{cpu: 20m, memory: 64Mi}}, limits: {{memory: 256Mi}}}}
        securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}, readOnlyRootFilesystem: true}}
        volumeMounts: [{{name: data, mountPath: /data}}]
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], storageClassName: sized, resources: {{requests: {{storage: 256Mi}}}}}}
",
        peers = peers.join(","),
    ))
    .await;
    let ready = |set: Option<&StatefulSet>| (set?.status.as_ref()?.ready_replicas == Some(3)).then_some(());
    ns.until::<StatefulSet, ()>("old", "three members", ready).await;
}

fn spec(ns: &Namespace, size: usize, endpoints: std::ops::Range<usize>) -> String {
    let urls: Vec<_> = endpoints.map(|i| format!("'http://old-{i}.old.{}.svc:2379'", ns.name)).collect();
    let with = "storage: {size: 1Gi, storageClassName: sized}, pod: {labels: {clients: of-etcd}}";
    format!("{{size: {size}, version: 3.6.16, {with}, takeover: {{endpoints: [{}]}}}}", urls.join(", "))
}

/// What etcdctl says in a member of the StatefulSet.
async fn old(ns: &Namespace, arguments: &[&str]) -> String {
    let etcdctl = ["exec", "old-0", "--", "/usr/local/bin/etcdctl"];
    ns.kubectl(&[&etcdctl, arguments].concat()).await.ok()
}

fn earlier(cluster: &EtcdCluster) -> Option<&[String]> {
    Some(&status(cluster)?.earlier_members)
}

#[tokio::test]
async fn a_cluster_that_runs_already_is_taken_over_under_writes() {
    let ns = namespace("etcd-takeover").await;
    runs_without_operator(&ns).await;
    old(&ns, &["put", "kept", "one"]).await;
    let writer = Writer::start(&Etcd { ns: &ns, name: "old" }).await;

    // An endpoint is missing: nothing is created.
    let web = Etcd::apply(&ns, "web", &spec(&ns, 3, 0..2)).await;
    let why = web.says("Stalled", ConditionStatus::True, "TakeoverRefused").await;
    assert!(why.contains("2 of 3 members answer") && why.contains("member old-2"), "{why}");
    assert!(web.pods().await.is_empty() && web.claims().await.is_empty(), "{why}");
    ns.apply(&e2e::etcd::manifest("web", &spec(&ns, 3, 0..3))).await;
    web.announces("TakeoverStarted").await;

    // All six vote, and both Services serve.
    web.says("Warning", ConditionStatus::True, "EarlierMembers").await;
    let joined = web.says("Ready", ConditionStatus::True, "Running").await;
    assert!(joined.contains("3 of 3 members are ready, beside the earlier members old-0, old-1, old-2"), "{joined}");
    let cluster = web.now().await;
    assert_eq!(earlier(&cluster).map(<[_]>::len), Some(3), "{cluster:?}");
    assert_eq!(old(&ns, &["member", "list"]).await.lines().count(), 6);
    writer.verdict(&cluster).await.never_refused_for(LONGEST_REFUSAL);

    web.patch(json!({ "takeover": { "earlierMembers": "Remove" } })).await;
    let after = web.runs(3).await;
    writer.writes(20).await;
    writer.verdict(&web.now().await).await.never_refused_for(LONGEST_REFUSAL);
    web.announces("TakenOver").await;
    assert_eq!(cluster_id(&after), cluster_id(&cluster), "it is the same cluster of etcd");
    assert_eq!((web.value("kept").await, earlier(&after)), ("one".to_owned(), Some(&[][..])));
    drop(ns.kubectl(&["delete", "statefulset", "old"]).await.ok());

    // From then on it is as any other: without the field, and on its own.
    web.patch(json!({ "takeover": null })).await;
    web.lose_pods(&web.pods().await.keys().collect::<Vec<_>>()).await;
    web.runs(3).await;
    assert_eq!(web.value("kept").await, "one");
}

#[tokio::test]
async fn a_takeover_that_is_taken_back_leaves_the_cluster_as_it_was() {
    let ns = namespace("etcd-takeover-back").await;
    runs_without_operator(&ns).await;
    let writer = Writer::start(&Etcd { ns: &ns, name: "old" }).await;
    let web = Etcd::apply(&ns, "web", &spec(&ns, 3, 0..3)).await;
    web.says("Warning", ConditionStatus::True, "EarlierMembers").await;
    web.says("Ready", ConditionStatus::True, "Running").await;
    drop(ns.kubectl(&["delete", "etcdcluster", "web"]).await.ok());
    assert_eq!(old(&ns, &["member", "list"]).await.lines().count(), 3);
    writer.writes(20).await;
    let progress = writer.progress().await;
    progress.never_refused_for(LONGEST_REFUSAL);
    assert!(progress.wrong.is_empty(), "{progress:#?}");
}
