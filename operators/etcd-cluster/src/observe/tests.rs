//! What is observed, store by store and query by query.

use std::cell::RefCell;
use std::future::ready;

use futures::FutureExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::{Cache, Entry};
use runtime::plan::{ChildState, Key};
use runtime::projections::{DisruptionBudget, Service};
use serde_json::json;

use super::*;

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
    store.apply(Entry::decode(&object.to_string()).unwrap());
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
    assert_eq!(seen.foreign.iter().map(|name| &**name).collect::<Vec<_>>(), ["c-selected"]);
    assert!(seen.pull.is_some() && seen.trials.len() == 2, "{seen:?}");
}

#[test]
fn a_terminating_child_is_not_there_to_stay() {
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

/// The address of a pod that has ended for good may be another pod's by now.
#[test]
fn only_pods_that_are_there_to_stay_are_queried() {
    let pod = |phase: &str, deleted: Value| {
        let mut pod = object("n", phase, "u");
        pod["metadata"]["deletionTimestamp"] = deleted;
        pod["status"]["phase"] = json!(phase);
        Arc::new(Pod::decode(&pod.to_string()).unwrap())
    };
    let pods = ["Running", "Failed", "Succeeded"].map(|phase| pod(phase, Value::Null));
    let asked: Vec<_> = endpoints(&pods).into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(asked, ["Running"]);
    assert!(endpoints(&[pod("Running", json!("2026-01-01T00:00:00Z"))]).is_empty());
}

#[test]
fn a_members_pod_and_claim_that_no_watch_delivers_are_read_by_name() {
    let status = json!({ "clusterID": "1", "storage": { "durable": true } });
    let cluster = cluster(&json!({}), &status);
    let all = stores();
    put(&all.pods, &object("n", &first(), "u"));
    let mut queries = Fixed::new();
    let seen = observed(&all, &mut queries, &cluster);
    assert!(seen.found.gone.contains(&*first()) && seen.claims.is_empty(), "{seen:?}");
    queries.unanswered = true;
    let seen = observed(&all, &mut queries, &cluster);
    assert!(seen.found.gone.is_empty(), "unknown is not absent: {seen:?}");
    queries.unanswered = false;
    queries.live.insert(("PersistentVolumeClaim", first()), object("n", &first(), "u"));
    let seen = observed(&all, &mut queries, &cluster);
    assert_eq!(names_of(&seen.claims, |claim| &claim.meta.key.name), [first()]);
    queries.live.insert(
        ("PersistentVolumeClaim", first()),
        json!({ "metadata": { "namespace": "n", "name": first(),
        "uid": "x", "labels": { "multi-operator.example.com/owner-uid": "another",
        "multi-operator.example.com/cluster-id": "2" } }, "spec": {} }),
    );
    let seen = observed(&all, &mut queries, &cluster);
    assert!(seen.found.taken.contains(&*first()) && seen.claims.is_empty(), "{seen:?}");
}

/// As where status is lost: nothing but etcd's answer names the member.
#[test]
fn the_claim_of_a_member_that_etcd_alone_lists_is_read_by_name() {
    let second = "c-bbbbbbbbbb";
    let status = json!({ "clusterID": "1", "storage": { "durable": true } });
    let etcd = || {
        let members = vec![plan::Member { name: second.to_owned(), ..plan::Member::default() }];
        RefCell::new(vec![Etcd { members: Ok(members), ..Etcd::default() }])
    };
    let mut queries = Fixed { etcd: etcd(), ..Fixed::new() };
    queries.live.insert(("PersistentVolumeClaim", second.to_owned()), object("n", second, "u"));
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &status));
    assert_eq!(names_of(&seen.claims, |claim| &claim.meta.key.name), [second]);
    let mut queries = Fixed { etcd: etcd(), ..Fixed::new() };
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &status));
    assert!(seen.found.gone.contains(second), "{seen:?}");
}

#[test]
fn a_foreign_pod_under_a_members_name_is_not_the_members() {
    let cluster = cluster(&json!({}), &json!({}));
    let mut queries = Fixed::new();
    queries.live.insert(("Pod", first()), object("n", &first(), "u"));
    let seen = observed(&stores(), &mut queries, &cluster);
    assert_eq!((names_of(&seen.pods, |pod| &pod.meta.key.name), seen.taken.len()), (vec![first()], 0));
    let earlier = object("n", &first(), "another");
    queries.live.insert(("Pod", first()), earlier.clone());
    let seen = observed(&stores(), &mut queries, &cluster);
    assert!(seen.pods.is_empty() && seen.taken.is_empty() && seen.leaving.contains(&*first()), "{seen:?}");
    let mut stranger = earlier;
    stranger["metadata"]["ownerReferences"] = json!([]);
    queries.live.insert(("Pod", first()), stranger.clone());
    let seen = observed(&stores(), &mut queries, &cluster);
    assert!(seen.pods.is_empty() && seen.leaving.is_empty() && seen.taken.contains(&*first()), "{seen:?}");
    stranger["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    queries.live.insert(("Pod", first()), stranger);
    let seen = observed(&stores(), &mut queries, &cluster);
    assert!(seen.pods.is_empty() && seen.taken.is_empty() && seen.leaving.contains(&*first()), "{seen:?}");
}

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
    let foreign = seen.strangers.expect("listed");
    let foreign: Vec<_> = foreign.iter().map(|pod| (&*pod.name, pod.leaving)).collect();
    assert_eq!(foreign, [("c-0000", false), ("c-earlier", true)]);
    queries.pods = None;
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &json!({})));
    assert!(seen.strangers.is_none(), "unknown is not none");
    let all = stores();
    put(&all.pods, &object("n", &first(), "u"));
    queries.queries.take();
    assert!(observed(&all, &mut queries, &cluster(&json!({}), &json!({}))).strangers.is_none());
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
        let endpoints = BTreeMap::from([(first().into(), Ok(plan::Endpoint::default()))]);
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
fn a_quota_that_the_next_pod_exceeds_even_without_the_present_one_refuses_it() {
    let said = |message: &str, present: Option<Value>| {
        let mut queries = Fixed { dry_run: DryRun::Rejected(message.to_owned()), ..Fixed::new() };
        queries.unanswered = present.is_none();
        queries.live.extend(present.map(|pod| (("Pod", "c-aaaaaaaaaa".to_owned()), pod)));
        let trial = Create::new(Pod::KIND, Key::new("n", "c-probe"), &json!({ "metadata": {} }));
        refused(&queries, &trial, Some("c-aaaaaaaaaa")).now_or_never().expect("fixed answers")
    };
    let present = || {
        let resources = json!({ "requests": { "cpu": "500m" } });
        Some(json!({ "spec": { "containers": [{ "resources": resources }] } }))
    };
    let full = |requested| format!("exceeded quota: q, requested: cpu={requested}, used: cpu=500m, limited: cpu=1");
    assert_eq!(said(&full("1"), present()), None, "the present one makes room");
    assert_eq!(said(&full("2"), present()), Some(full("2")));
    assert_eq!(said(&full("1"), None), Some(full("1")), "it cannot be read");
    assert_eq!(said("violates PodSecurity", present()).as_deref(), Some("violates PodSecurity"));
}

/// Each new cluster's token is such a name, too.
#[tokio::test]
async fn a_fresh_name_is_another_each_time() {
    let live = live::LiveSystems::new(kube::Client::new(
        tower::service_fn(|_: http::Request<kube::client::Body>| {
            ready(Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty())))
        }),
        "n",
    ));
    let (key, cluster) = (Key::new("n", "c"), cluster(&json!({}), &json!({})));
    let queries = live.queries(&key);
    let names: BTreeSet<_> = (0..100).map(|_| names::of(&cluster, queries.random())).collect();
    assert_eq!(names.len(), 100);
    assert!(names.iter().all(|name| names::is_ours(&cluster, name)), "{names:?}");
}
