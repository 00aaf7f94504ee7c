//! What is observed, store by store and query by query.

use std::cell::RefCell;
use std::future::ready;

use futures::FutureExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::{Cache, CacheEntry};
use runtime::plan::{ChildState, Key};
use runtime::projections::{DisruptionBudget, Service};
use serde_json::json;

use super::*;

mod by_name;
mod fixed;

use fixed::Fixed;

/// The first member's name.
fn first() -> String {
    names::first(&cluster(&json!({}), &json!({})))
}

fn cluster(metadata: &Value, status: &Value) -> Arc<EtcdCluster> {
    let mut cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "resourceVersion": "1" },
        "spec": { "size": 1 }, "status": status });
    cluster["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap())
}

/// An object of a cluster named `c`, as watches deliver it.
fn object(namespace: &str, name: &str, owner: &str) -> Value {
    json!({
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("{namespace}-{name}"), "resourceVersion": "1",
            "labels": {
                "app": "etcd", "etcd_cluster": "c", "app.kubernetes.io/managed-by": "multi-operator",
                "app.kubernetes.io/instance": "c", "app.kubernetes.io/name": "etcd",
                "multi-operator.example.com/owner-kind": EtcdCluster::KIND.qualified(),
                "multi-operator.example.com/owner-uid": owner,
            },
            "ownerReferences": [{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "c",
                "uid": owner, "controller": true }],
        },
        "spec": {},
        "status": { "phase": "Running", "podIP": "10.0.0.1" },
    })
}

fn stores() -> Stores {
    Stores::new(&mut Cache::new(&[]))
}

fn put<V: Projection>(store: &runtime::cache::Store<V>, object: &Value) {
    store.apply(CacheEntry::decode(&object.to_string()).unwrap());
}

fn observed(stores: &Stores, queries: &mut Fixed, cluster: &Arc<EtcdCluster>) -> Observed {
    observe(stores, queries, &"agent:1".into(), cluster).now_or_never().expect("fixed answers").expect("no error")
}

fn names_of<V>(all: &[Arc<V>], name: impl Fn(&V) -> &str) -> Vec<String> {
    all.iter().map(|one| name(one).to_owned()).collect()
}

#[test]
fn each_store_is_read_and_only_the_clusters_own_namespace_of_it() {
    let all = stores();
    for (namespace, owner) in [("n", "u"), ("other", "other")] {
        put(&all.pods, &object(namespace, &first(), owner));
        put(&all.claims, &object(namespace, &first(), owner));
        for name in ["c", "c-client"] {
            put::<Service>(&all.services, &object(namespace, name, owner));
        }
        put::<DisruptionBudget>(&all.budgets, &object(namespace, "c", owner));
    }
    let seen = observed(&all, &mut Fixed::new(), &cluster(&json!({}), &json!({})));
    assert_eq!(names_of(&seen.pods, |pod| &pod.meta.uid), [format!("n-{}", first())]);
    assert_eq!(names_of(&seen.claims, |claim| &claim.meta.uid), [format!("n-{}", first())]);
    let services = [&seen.peers, &seen.clients].map(|service| service.owned().is_some());
    assert_eq!((services, seen.budget.owned().is_some()), ([true, true], true));
    let foreign = stores();
    put(&foreign.pods, &object("other", &first(), "u"));
    put(&foreign.claims, &object("other", &first(), "u"));
    put::<Service>(&foreign.services, &object("other", "c", "u"));
    let seen = observed(&foreign, &mut Fixed::new(), &cluster(&json!({}), &json!({})));
    assert!(seen.pods.is_empty() && seen.claims.is_empty() && seen.peers.owned().is_none(), "{seen:?}");
}

#[test]
fn pods_of_another_owner_are_foreign_and_those_of_checks_are_no_members() {
    let all = stores();
    put(&all.pods, &object("n", "c-foreign", "another"));
    let mut selected = object("n", "c-selected", "another");
    selected["metadata"]["labels"]["multi-operator.example.com/owner-uid"] = json!("u");
    put(&all.pods, &selected);
    let mut terminating = selected.clone();
    terminating["metadata"]["name"] = json!("c-terminating");
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    put(&all.pods, &terminating);
    for name in [&*first(), "c-pull", "c-placement", "c-placement-whole"] {
        put(&all.pods, &object("n", name, "u"));
    }
    let seen = observed(&all, &mut Fixed::new(), &cluster(&json!({}), &json!({})));
    assert_eq!(names_of(&seen.pods, |pod| &pod.meta.key.name), [first()]);
    assert_eq!(seen.foreign_selected.iter().map(|name| &**name).collect::<Vec<_>>(), ["c-selected"]);
    assert!(seen.image_check.is_some() && seen.trials.len() == 2, "{seen:?}");
}

#[test]
fn a_terminating_child_does_not_count() {
    let all = stores();
    for name in ["c", "c-client"] {
        let mut service = object("n", name, "u");
        service["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        put::<Service>(&all.services, &service);
    }
    let mut pod = object("n", &first(), "u");
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    put(&all.pods, &pod);
    let mut queries = Fixed::new();
    let seen = observed(&all, &mut queries, &cluster(&json!({}), &json!({})));
    assert!(matches!((&seen.peers, &seen.clients), (ChildState::Terminating, ChildState::Terminating)), "{seen:?}");
    assert!(seen.pods[0].meta.deleting);
    let queries = queries.queries.borrow();
    assert!(queries.contains(&"etcd 0".to_owned()), "its etcd may be another's soon: {queries:?}");
    assert!(queries.contains(&"users".to_owned()), "another pod is about to be created: {queries:?}");
}

/// The address of a pod that has ended may belong to another pod.
#[test]
fn only_running_pods_are_queried() {
    let pod = |phase: &str, deleted: Value| {
        let mut pod = object("n", phase, "u");
        pod["metadata"]["deletionTimestamp"] = deleted;
        pod["status"]["phase"] = json!(phase);
        Arc::new(Pod::decode(&pod.to_string()).unwrap())
    };
    let pods = ["Running", "Failed", "Succeeded"].map(|phase| pod(phase, Value::Null));
    let cluster = cluster(&json!({}), &json!({}));
    let asked: Vec<_> = endpoints(&cluster, &pods, &Identities::new(), None)
        .into_iter()
        .map(|endpoint| endpoint.pod.to_string())
        .collect();
    assert_eq!(asked, ["Running"]);
    assert!(endpoints(&cluster, &[pod("Running", json!("2026-01-01T00:00:00Z"))], &Identities::new(), None).is_empty());
}

/// After status is lost, only etcd names the member.
#[test]
fn foreign_pods_are_listed_only_before_the_first_member() {
    let mut queries = Fixed::new();
    let metadata = |name: &str, uid: &str| {
        serde_json::from_value::<ObjectMeta>(object("n", name, uid)["metadata"].clone()).unwrap()
    };
    let archived = ObjectMeta { labels: None, ..metadata("c-0000", "u") };
    let earlier = metadata("c-earlier", "another");
    queries.pods = Some(vec![metadata(&first(), "u"), archived, earlier]);
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &json!({})));
    let foreign = seen.foreign_pods.expect("listed");
    let foreign: Vec<_> = foreign.iter().map(|pod| (&*pod.name, pod.terminating)).collect();
    assert_eq!(foreign, [("c-0000", false), ("c-earlier", true)]);
    queries.pods = None;
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &json!({})));
    assert!(seen.foreign_pods.is_none(), "unknown is not none");
    let all = stores();
    put(&all.pods, &object("n", &first(), "u"));
    queries.queries.take();
    assert!(observed(&all, &mut queries, &cluster(&json!({}), &json!({}))).foreign_pods.is_none());
    assert!(!queries.queries.borrow().contains(&"labeled pods".to_owned()));
}

#[test]
fn live_systems_are_queried_only_while_a_step_depends_on_them() {
    let queries = |metadata: Value, status: Value, paused: bool| {
        let mut cluster = EtcdCluster::clone(&cluster(&metadata, &status));
        cluster.spec.paused = paused;
        let mut queries = Fixed::new();
        observed(&stores(), &mut queries, &Arc::new(cluster));
        let all = queries.queries.take();
        let mut all: Vec<_> = all.into_iter().filter(|query| !query.contains(&first())).collect();
        all.retain(|query| query != "etcd 0");
        all
    };
    let deleted = || json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let mut held = deleted();
    held["finalizers"] = json!([ETCD_VOLUMES]);
    let latched = || json!({ "clusterID": "1", "storage": { "durable": true } });
    assert_eq!(queries(json!({}), json!({}), false), ["default class", "labeled pods", "users"]);
    assert_eq!(queries(json!({}), latched(), false), ["users"]);
    assert!(queries(json!({}), json!({}), true).is_empty());
    assert!(queries(deleted(), latched(), false).is_empty());
    assert_eq!(queries(held, latched(), false), ["termination", "users"]);
}

#[test]
fn a_cluster_that_had_quorum_is_queried_again_while_its_members_elect_a_leader() {
    let electing = || {
        let endpoints = BTreeMap::from([(first().into(), Ok(plan::EndpointStatus::default()))]);
        Etcd { endpoints, members: Err("no leader".to_owned()), ..Etcd::default() }
    };
    let elected = || Etcd { members: Ok(Vec::new()), ..electing() };
    let all = stores();
    put(&all.pods, &object("n", &first(), "u"));
    let condition = |status: &str| {
        json!({ "clusterID": "1", "storage": { "durable": true }, "conditions": [{ "type": QUORUM_HEALTHY,
            "status": status, "reason": "QuorumAnswers", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] })
    };
    for (had, answers, quorum) in
        [("True", vec![electing(), elected()], true), ("False", vec![electing(), elected()], false)]
    {
        let mut queries = Fixed { etcd: RefCell::new(answers), ..Fixed::new() };
        let seen = observed(&all, &mut queries, &cluster(&json!({}), &condition(had)));
        assert_eq!(seen.etcd.members.is_ok(), quorum, "{had}");
    }
}

#[test]
fn a_quota_that_the_next_pod_exceeds_even_without_the_current_one_rejects_it() {
    let rejected = |message: &str, current: Option<Value>| {
        let mut queries = Fixed { dry_run: DryRun::Rejected(message.to_owned()), ..Fixed::new() };
        queries.unanswered = current.is_none();
        queries.live.extend(current.map(|pod| (("Pod", "c-aaaaaaaaaa".to_owned()), pod)));
        let trial = Create::new(Pod::KIND, Key::new("n", "c-probe"), &json!({ "metadata": {} }));
        rejection(&queries, &trial, Some("c-aaaaaaaaaa")).now_or_never().expect("fixed answers")
    };
    let current = || {
        let resources = json!({ "requests": { "cpu": "500m" } });
        Some(json!({ "spec": { "containers": [{ "resources": resources }] } }))
    };
    let full = |requested| format!("exceeded quota: q, requested: cpu={requested}, used: cpu=500m, limited: cpu=1");
    assert_eq!(rejected(&full("1"), current()), None, "the current pod's share becomes free");
    assert_eq!(rejected(&full("2"), current()), Some(full("2")));
    assert_eq!(rejected(&full("1"), None), Some(full("1")), "it cannot be read");
    assert_eq!(rejected("violates PodSecurity", current()).as_deref(), Some("violates PodSecurity"));
}

/// The token of a new cluster is such a name, too.
/// Until they are issued, their absence is nothing that a user has to correct.
#[test]
fn certificates_that_the_operator_issues_are_due_and_not_missing() {
    let with = |tls: Value| {
        let mut cluster = EtcdCluster::clone(&cluster(&json!({}), &json!({})));
        cluster.spec.tls = Some(serde_json::from_value(tls).unwrap());
        observed(&stores(), &mut Fixed::new(), &Arc::new(cluster)).tls
    };
    let issued = with(json!({ "issued": {} }));
    assert!(issued.unusable.is_none() && issued.issuance.now && !issued.issuance.once_rolled, "{issued:?}");
    let provided = with(json!({ "static": { "member": { "peerSecret": "peer" } } }));
    assert!(provided.unusable.is_some() && !provided.issuance.now, "{provided:?}");
}

#[tokio::test]
async fn new_names_differ() {
    let client = kube::Client::new(
        tower::service_fn(|_: http::Request<kube::client::Body>| {
            ready(Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty())))
        }),
        "n",
    );
    let live = live::LiveSystems::new(client, crate::etcd::GrpcEtcdClient::new());
    let (key, cluster) = (Key::new("n", "c"), cluster(&json!({}), &json!({})));
    let queries = live.queries(&key, "cluster.local");
    let names: BTreeSet<_> = (0..100).map(|_| names::of(&cluster, queries.random())).collect();
    assert_eq!(names.len(), 100);
    assert!(names.iter().all(|name| names::is_generated(&cluster, name)), "{names:?}");
}
