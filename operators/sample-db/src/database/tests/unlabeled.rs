//! Pods whose labels were edited, and foreign pods with such labels.

use std::collections::BTreeMap;

use runtime::plan::meta::{INSTANCE, KEEP_DETAILS, MANAGED_BY};
use runtime::projections::{Service, StatefulSet};

use super::server::{live, settled, standing, terminating_pod};
use super::*;
use crate::database::unlabeled::{NamedPod, merge, unwatched_pods};
use crate::operand::labels::OWNER_UID;

const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// A pod with that change of its labels.
fn pod(of: &Pod, name: &str, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Arc<Pod> {
    let meta = json!({ "metadata": { "namespace": "n", "name": name, "uid": format!("uid of {name}") } });
    let mut pod = Pod::with_details(&meta.to_string()).unwrap();
    let mut running = of.details.clone().unwrap();
    change(&mut running.labels);
    pod.details = Some(running);
    Arc::new(pod)
}

/// The selector of a Service as a plan applies it.
fn selector(plan: &DbPlan, service: &str) -> Value {
    let is = |effect: &&Effect<DbAct>| matches!(effect, Effect::Apply(apply) if *apply.key.name == *service);
    match plan.effects.iter().find(is) {
        Some(Effect::Apply(apply)) => apply.body["spec"]["selector"].clone(),
        _ => panic!("the plan does not apply {service}: {:?}", done(plan)),
    }
}

/// The labels that a plan gives the server's pod.
fn relabeled(plan: &DbPlan) -> Option<Value> {
    let apply = plan.independent.iter().find(|apply| apply.kind == Pod::KIND)?;
    assert_eq!((apply.manager_prefix, apply.seen.is_some()), (Some("labels"), true));
    assert_eq!(apply.body["metadata"].as_object().unwrap().len(), 3, "labels, and who it is");
    Some(apply.body["metadata"]["labels"].clone())
}

#[test]
fn edited_labels_are_repaired_while_the_pod_runs() {
    let mut seen = standing(&json!({}), &settled());
    assert_eq!(relabeled(&plan(&seen, now())), None);
    let original = seen.pods[0].clone();
    for label in [MANAGED_BY, INSTANCE, OWNER_UID, KEEP_DETAILS, POD_NAME] {
        seen.pods = vec![pod(&original, "shop-0", |labels| drop(labels.remove(label)))];
        let repaired = plan(&seen, now());
        assert!(!done(&repaired).iter().any(|effect| effect.starts_with("delete")), "{label}: {:?}", done(&repaired));
        assert_eq!(relabeled(&repaired).unwrap()[label], original.details.as_ref().unwrap().labels[label]);
    }
    seen.pods = vec![pod(&original, "shop-0", |labels| drop(labels.insert(INSTANCE.to_owned(), "x".to_owned())))];
    assert_eq!(relabeled(&plan(&seen, now())).unwrap()[INSTANCE], "shop");
    seen.pods = vec![terminating_pod(&seen)];
    assert_eq!(relabeled(&plan(&seen, now())), None, "it is deleted anyway");
}

#[test]
fn a_paused_databases_labels_are_not_repaired_and_those_of_a_deleted_one_are() {
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2027-01-15T07:59:58Z" });
    let standing = standing(&json!({}), &settled());
    let unlabeled = || vec![pod(&standing.pods[0], "shop-0", |labels| drop(labels.remove(MANAGED_BY)))];
    let mut paused = observed(&json!({ "paused": true }), &settled());
    paused.pods = unlabeled();
    assert!(plan(&paused, now()).independent.is_empty());
    let mut deleted = with(&meta, &json!({ "paused": true }), &settled());
    (deleted.pods, deleted.claims) = (unlabeled(), vec![claim("u-1", "c-1")]);
    assert!(relabeled(&plan(&deleted, now())).is_some(), "the Service leads the last snapshot to it");
}

#[test]
fn services_select_by_the_owner_once_the_pod_of_an_earlier_manager_has_the_label() {
    let mut seen = standing(&json!({}), &settled());
    let original = seen.pods[0].clone();
    seen.pods = vec![pod(&original, "shop-0", |labels| drop(labels.remove(OWNER_UID)))];
    let before = plan(&seen, now());
    assert_eq!(done(&before), ["apply Service shop-pods", "apply Service shop-rw"]);
    assert!(["shop-pods", "shop-rw"].iter().all(|service| selector(&before, service)[OWNER_UID].is_null()));
    assert_eq!(relabeled(&before).unwrap()[OWNER_UID], "u-1");
    (seen.peers, seen.read_write) = (live::<Service>(&before, "shop-pods"), live::<Service>(&before, "shop-rw"));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "no client loses the pod meanwhile");
    seen.pods = vec![original];
    let after = plan(&seen, now());
    assert_eq!(done(&after), ["apply Service shop-pods", "apply Service shop-rw"]);
    assert!(["shop-pods", "shop-rw"].iter().all(|service| selector(&after, service)[OWNER_UID] == "u-1"));
}

/// A pod as the StatefulSet of a plan creates it, with that UID of its owner.
fn created(set: Option<(&str, &str)>, change: impl FnOnce(&mut Value)) -> Value {
    let fresh = plan(&observed_with_claim(), now());
    let is = |effect: &&Effect<DbAct>| matches!(effect, Effect::Apply(apply) if apply.kind == StatefulSet::KIND);
    let Some(Effect::Apply(apply)) = fresh.effects.iter().find(is) else { panic!("no StatefulSet") };
    let mut pod = apply.body["spec"]["template"].clone();
    pod["metadata"]["name"] = json!("shop-0");
    pod["metadata"]["namespace"] = json!("n");
    pod["metadata"]["ownerReferences"] = match set {
        Some((name, uid)) => json!([{ "apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": uid,
            "controller": true }]),
        None => json!([]),
    };
    change(&mut pod);
    pod
}

fn observed_with_claim() -> Observed {
    let mut seen = observed(&json!({}), &settled());
    seen.claims = vec![claim("u-1", "c-1")];
    seen
}

fn is_own(live: &Value) -> bool {
    matches!(NamedPod::of(&observed_with_claim().db, Some(live)), NamedPod::Own(_))
}

#[test]
fn a_pod_belongs_to_a_database_by_its_owner_and_its_init_container() {
    let bare = |pod: &mut Value| pod["metadata"]["labels"] = json!({});
    assert!(is_own(&created(Some(("shop", "s-1")), bare)));
    assert!(is_own(&created(None, bare)), "the StatefulSet has given it up");
    assert!(!is_own(&created(Some(("other", "s-2")), |_| ())), "it is another StatefulSet's");
    let of_others = |pod: &mut Value| {
        let arguments = pod["spec"]["initContainers"][1]["command"].as_array_mut().unwrap();
        arguments
            .iter_mut()
            .for_each(|argument| *argument = json!(argument.as_str().unwrap().replace("--owner=u-1", "--owner=u-9")));
    };
    assert!(!is_own(&created(None, of_others)), "it was created for other data");
    assert!(!is_own(&created(None, |pod| pod["spec"] = json!({ "containers": [{ "name": "postgres" }] }))));
}

#[test]
fn a_foreign_pod_of_the_servers_name_is_left_alone_and_the_status_says_what_to_do() {
    let mut seen = standing(&json!({}), &settled());
    seen.servers = vec![Arc::new(
        StatefulSet::decode(
            &json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "s-1", "ownerReferences": [{
                "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": "u-1", "controller": true }] } })
            .to_string(),
        )
        .unwrap(),
    )];
    assert_eq!(unwatched_pods(&seen), ["shop-0"], "no StatefulSet of the database controls that pod");
    merge(&mut seen, "shop-0".to_owned(), NamedPod::Foreign);
    seen.probe = ServerProbe::Skipped;
    let planned = plan(&seen, now());
    assert_eq!((done(&planned), relabeled(&planned)), (Vec::new(), None));
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "NameTaken".to_owned()));
    let message = &status.contract.condition("Ready").unwrap().message;
    assert!(message.contains("Pod shop-0 exists and does not belong to this SampleDB: delete it"), "{message}");
    let pod = created(Some(("shop", "s-1")), |_| ());
    seen.taken_names.clear();
    seen.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    assert_eq!(unwatched_pods(&seen), Vec::<String>::new());
}

#[test]
fn a_foreign_pod_with_all_labels_of_the_server_is_reported() {
    let mut seen = standing(&json!({}), &settled());
    seen.pods.push(pod(&seen.pods[0], "copy", |_| ()));
    let planned = plan(&seen, now());
    assert_eq!((done(&planned), relabeled(&planned)), (Vec::new(), None));
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
    let (stalled, why) = reason(&status, "Stalled");
    assert_eq!((stalled, &*why), (ConditionStatus::True, "ForeignPod"));
    assert!(status.contract.condition("Stalled").unwrap().message.starts_with("Pod copy bears all labels"));
    seen.pods[1] = pod(&seen.pods[0], "copy", |labels| drop(labels.remove(OWNER_UID)));
    assert!(plan(&seen, now()).status.unwrap().contract.condition("Stalled").is_none(), "no Service finds it");
}

#[test]
fn no_service_finds_the_pod_of_a_job() {
    let seen = observed_with_claim();
    let created = plan(&seen, now());
    let job = agent_job::job(init::job(&seen.db), &seen.pod_context("postgres:17"));
    let labels = job.body["spec"]["template"]["metadata"]["labels"].as_object().unwrap();
    for service in ["shop-pods", "shop-rw"] {
        let selector = selector(&created, service);
        let finds = selector.as_object().unwrap().iter().all(|(key, value)| labels.get(key) == Some(value));
        assert!(!finds, "{service}: {selector} {labels:?}");
        assert_eq!(selector["app.kubernetes.io/component"], "server", "which no Job of a database or a snapshot has");
    }
}

/// While a database is deleted, its StatefulSet recreates a deleted pod.
#[test]
fn the_statefulset_of_a_pod_is_read_if_the_watch_does_not_show_it() {
    let owner =
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "shop", "uid": "set", "controller": true });
    let pod = |name: &str, more: &Value| {
        let mut meta = json!({ "namespace": "n", "name": name, "uid": name, "ownerReferences": [owner] });
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Arc::new(Pod::decode(&json!({ "metadata": meta }).to_string()).unwrap())
    };
    let mut seen = observed(&json!({ "deletion": { "policy": "Delete" } }), &initialised());
    seen.pods = vec![pod("shop-0", &json!({}))];
    assert_eq!(super::super::unlabeled::unwatched_set(&seen).map(|key| key.name.to_string()).as_deref(), Some("shop"));
    let set = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "set" } });
    seen.servers = vec![Arc::new(runtime::projections::StatefulSet::decode(&set.to_string()).unwrap())];
    assert_eq!(super::super::unlabeled::unwatched_set(&seen), None);
    seen.servers = Vec::new();
    seen.pods =
        vec![pod("shop-0", &json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" })), pod("shop-init-x", &json!({}))];
    assert_eq!(super::super::unlabeled::unwatched_set(&seen), None, "nothing is there that it would make again");
}
