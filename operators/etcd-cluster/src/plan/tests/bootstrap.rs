//! Bootstrap: the token of each cluster, and what PVCs record if status is lost.

use runtime::projections::Pvc;

use super::members::{after, at, pod, three, touches_nothing};
use super::*;
use crate::plan::objects::{CLUSTER_ID, MEMBER_ID, MEMBER_VERSION, RETIRED};

/// A PVC of this object that records the cluster id of its volume.
fn claim(name: &str, cluster_id: &str, retired: bool) -> Arc<Pvc> {
    let mut labels = json!({ "multi-operator.example.com/owner-uid": "u", CLUSTER_ID: cluster_id,
        MEMBER_ID: "7", MEMBER_VERSION: "3.6.16" });
    if retired {
        labels[RETIRED] = json!("true");
    }
    let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": labels },
        "status": { "phase": "Bound" } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

/// The plan for a cluster whose status is lost, and that has these PVCs.
fn without_status(claims: Vec<Arc<Pvc>>) -> (EtcdPlan, Option<String>) {
    let mut seen = observed(&json!({ "size": 3 }), &EtcdClusterStatus::default());
    seen.cluster = recovered::with_recovered_status(&seen.cluster, &claims);
    seen.claims = claims;
    let id = seen.cluster.status.cluster_id.clone();
    if seen.cluster.status.storage.is_none() {
        // Durability is recorded first.
        let status = plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap();
        Arc::get_mut(&mut seen.cluster).unwrap().status = status;
    }
    (plan(&seen, Timestamp::UNIX_EPOCH), id)
}

#[test]
fn claims_of_two_clusters_without_a_status_are_ambiguous() {
    let (stuck, id) = without_status(vec![claim("c-aaaaaaaaaa", "a1", false), claim("c-bbbbbbbbbb", "b2", false)]);
    assert!(touches_nothing(&stuck), "no cluster is created: {:?}", stuck.effects);
    assert_eq!(id, None);
    let status = stuck.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumesAmbiguous".to_owned()));
    let message = &status.contract.condition("Stalled").unwrap().message;
    let command = |id| format!("kubectl label pvc -n n -l etcd_cluster=c,{CLUSTER_ID}={id} {RETIRED}=true");
    assert!(message.contains(&command("a1")) && message.contains(&command("b2")), "it says how to go on: {message}");

    let (goes_on, id) = without_status(vec![claim("c-aaaaaaaaaa", "a1", false), claim("c-bbbbbbbbbb", "b2", true)]);
    assert_eq!(id.as_deref(), Some("a1"), "the one that is not retired");
    let made: Vec<_> = goes_on.effects.iter().filter_map(created).collect();
    assert_eq!(made, ["c-aaaaaaaaaa"], "its member restarts on its volume");
    let status = goes_on.status.unwrap();
    assert!(
        status
            .contract
            .condition("Stalled")
            .is_none_or(|stalled| stalled.reason != EtcdClusterReason::VolumesAmbiguous)
    );
}

fn created(effect: &Effect<EtcdAct>) -> Option<String> {
    match effect {
        Effect::Create(create) if create.kind.kind == "Pod" => Some(create.key.name.to_string()),
        _ => None,
    }
}

/// The pod's address may now belong to a member of another cluster.
#[test]
fn a_cluster_does_not_latch_the_id_of_another_one_at_its_first_pods_address() {
    let latched = |name: Option<&str>| {
        let mut seen = observed(&json!({ "size": 3 }), &decided());
        let first = names::first(&seen.cluster);
        let mut pod = pod(&first, "t", &json!({ "running": { "startedAt": at(0) } }), 0, at(9));
        pod.details.as_mut().unwrap().annotations.insert("multi-operator.example.com/start".into(), "new".into());
        seen.pods.push(Arc::new(pod));
        let endpoint = EndpointStatus { cluster_id: 9, member_id: 7, leader: 7, ..EndpointStatus::default() };
        seen.etcd.endpoints.insert(first.as_str().into(), Ok(endpoint));
        let member = |name: &str| {
            let name = name.replace("FIRST", &first);
            ListedMember { id: 7, peer_urls: vec![format!("http://{name}.c.n.svc:2380")], name, learner: false }
        };
        if let Some(name) = name {
            seen.etcd.members = Ok(vec![member(name)]);
        }
        after(&seen, 60).status.unwrap().cluster_id
    };
    assert_eq!(latched(Some("y-aaaaaaaaaa")), None);
    assert_eq!(latched(None), None, "its list is yet to come");
    assert_eq!(latched(Some("FIRST")).as_deref(), Some("9"));
}

/// etcd derives the ids of a cluster and its members from the token and the members' addresses, which are the same for each
/// cluster of one object.
#[test]
fn each_new_cluster_has_its_own_token() {
    let token = |fresh: &str| {
        let mut seen = observed(&json!({ "size": 3 }), &decided());
        seen.new_member_name = fresh.into();
        let plan = plan(&seen, Timestamp::UNIX_EPOCH);
        let pod = plan.effects.iter().find_map(|effect| match effect {
            Effect::Create(create) if create.kind.kind == "Pod" => Some(create.body.clone()),
            _ => None,
        });
        let pod = pod.expect("the first member's pod");
        let command = pod["spec"]["containers"][0]["command"].as_array().unwrap().clone();
        let token =
            command.iter().filter_map(Value::as_str).find_map(|word| word.strip_prefix("--initial-cluster-token="));
        token.expect("a token").to_owned()
    };
    assert_eq!([token("c-1111111111"), token("c-2222222222")], ["c-1111111111", "c-2222222222"]);
}

#[test]
fn a_lost_status_that_nothing_can_restore_is_stalled_after_two_minutes() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.cluster = observed(&json!({ "size": 3 }), &decided()).cluster;
    seen.etcd = Etcd::default();
    let condition = |plan: &EtcdPlan, type_: &str| plan.status.as_ref().unwrap().contract.condition(type_).cloned();
    let first = after(&seen, 60);
    assert!(condition(&first, "Reconciling").unwrap().reason == EtcdClusterReason::StatusLost);
    Arc::get_mut(&mut seen.cluster).unwrap().status = first.status.unwrap();
    assert!(condition(&after(&seen, 179), "Stalled").is_none());
    let stalled = condition(&after(&seen, 181), "Stalled").unwrap();
    assert!(stalled.reason == EtcdClusterReason::StatusLost);
    let command = "kubectl label pvc -n n -l etcd_cluster=c,multi-operator.example.com/owner-uid=u \
                 multi-operator.example.com/retired=true";
    assert!(stalled.message.contains(command), "{}", stalled.message);
    assert!(stalled.message.contains("kubectl delete pod -n n -l app=etcd,etcd_cluster=c"), "{}", stalled.message);
}

#[test]
fn a_cluster_with_claims_is_durable_even_if_its_status_does_not_record_it() {
    let mut seen = three(&json!({ "size": 3 }));
    let lost = EtcdClusterStatus { storage: None, ..bootstrapped() };
    seen.cluster = observed(&json!({ "size": 3 }), &lost).cluster;
    assert_eq!(after(&seen, 60).status.unwrap().storage, Some(EtcdStorageStatus { durable: true }));
}

/// A first member bootstraps a new cluster, so it must not start on the volume of an earlier one.
#[test]
fn a_new_cluster_does_not_start_on_a_retired_volume() {
    let first = names::first(&observed(&json!({ "size": 3 }), &decided()).cluster);
    let begun = |retired: &[&str]| {
        let mut seen = observed(&json!({ "size": 3 }), &decided());
        seen.claims = retired.iter().map(|name| claim(name, "a1", true)).collect();
        let effects = plan(&seen, Timestamp::UNIX_EPOCH).effects;
        let claims = effects.iter().any(|effect| matches!(effect, Effect::Apply(apply) if apply.kind == Pvc::KIND));
        assert!(claims, "it gets a volume of its own");
        effects.iter().find_map(created).expect("the first member's pod")
    };
    assert_eq!(begun(&["c-bbbbbbbbbb"]), first);
    let second = begun(&["c-bbbbbbbbbb", &first]);
    let cluster = observed(&json!({ "size": 3 }), &decided()).cluster;
    assert!(second != first && names::is_generated(&cluster, &second), "{second}");
    assert_eq!(begun(&["c-bbbbbbbbbb", &first]), second, "to make it twice makes one");
    let third = begun(&[&first, &second]);
    assert!(third != first && third != second, "nor the second time");
}

/// Its pod is one of its own kind until the cluster exists, and is replaced after that: it holds on to the PVC with the snapshot.
#[test]
fn the_first_member_restores_the_snapshot_that_the_cluster_begins_with() {
    let restore = json!({ "claimName": "store", "file": "b/b-1.db" });
    let spec = json!({ "size": 3, "restore": restore });
    let begun = plan(&observed(&spec, &decided()), Timestamp::UNIX_EPOCH);
    let pods: Vec<&Value> = begun
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Create(create) if create.kind.kind == "Pod" => Some(&create.body),
            _ => None,
        })
        .collect();
    let [pod] = &*pods else { panic!("{pods:?}") };
    let step = &pod["spec"]["initContainers"][1];
    assert_eq!((step["name"].as_str(), step["image"].as_str()), (Some("restore"), Some("quay.io/coreos/etcd:v3.6.16")));
    let command = step["command"].to_string();
    for part in [
        "--from=/snapshot/b/b-1.db",
        "--expect=$(MULTI_OPERATOR_START)",
        "--token=c-aaaaaaaaaa",
        "--state=/multi-operator",
    ] {
        assert!(command.contains(part), "{part} is not in {command}");
    }
    assert_eq!(pod["spec"]["volumes"][2]["persistentVolumeClaim"]["claimName"], "store");
    let first = names::first(&observed(&spec, &decided()).cluster);
    let mut seen = observed(&spec, &decided());
    let template = pod["metadata"]["annotations"]["multi-operator.example.com/template"].as_str().unwrap().to_owned();
    let mut live = super::members::pod(&first, &template, &json!({ "running": { "startedAt": at(0) } }), 0, at(9));
    live.details.as_mut().unwrap().annotations.insert("multi-operator.example.com/start".into(), "new".into());
    seen.pods.push(Arc::new(live));
    let waits = plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(
        !waits.effects.iter().any(|effect| created(effect).is_some()),
        "the second member waits: {:?}",
        waits.effects
    );
    let message = waits.status.unwrap().contract.condition("Ready").unwrap().message.clone();
    assert!(message.contains("restoring the snapshot b/b-1.db of the PVC store: "), "{message}");
    let without = observed(&json!({ "size": 3 }), &bootstrapped());
    let latched = observed(&spec, &bootstrapped());
    let templates = [&without, &latched].map(|seen| crate::plan::desired::template(&seen.cluster, false));
    assert_eq!(templates[0], templates[1], "the pods of a cluster that exists do not depend on it");
    assert_ne!(templates[0], template);
}

#[test]
fn the_status_keeps_what_the_cluster_began_with() {
    let spec = json!({ "size": 1, "restore": { "claimName": "store", "file": "b.db" } });
    let (_, status) = planned(&spec, &bootstrapped());
    assert_eq!(status.restored_from, None, "it is recorded only when the cluster begins");
    let mut seen = observed(&spec, &decided());
    let first = names::first(&seen.cluster);
    let endpoint = EndpointStatus { cluster_id: 9, member_id: 7, leader: 7, ..EndpointStatus::default() };
    seen.etcd.endpoints.insert(first.as_str().into(), Ok(endpoint));
    let member = ListedMember {
        id: 7,
        peer_urls: vec![format!("http://{first}.c.n.svc:2380")],
        name: first.clone(),
        learner: false,
    };
    seen.etcd.members = Ok(vec![member]);
    seen.pods.push(Arc::new(pod(&first, "t", &json!({ "running": { "startedAt": at(0) } }), 0, at(9))));
    let status = plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap();
    assert_eq!((status.cluster_id.is_some(), status.restored_from.as_deref()), (true, Some("b.db of the PVC store")));
}
