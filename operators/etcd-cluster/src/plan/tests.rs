//! First decisions, said one by one. What a cluster goes through later, `tests/world` plays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::ConditionStatus;
use api::etcd_cluster::{ETCD_VOLUMES, EtcdClusterEvent, EtcdClusterReason, EtcdClusterStatus, Phase, StorageStatus};
use jiff::Timestamp;
use runtime::cache::Projection as _;
use runtime::plan::{Apply, ChildState, Effect, Requeue};
use serde_json::{Value, json};

use super::*;
use crate::EtcdCluster;

/// A cluster of that spec, with that status.
fn observed(spec: &Value, status: &EtcdClusterStatus) -> Observed {
    let cluster = json!({
        "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES] },
        "spec": spec, "status": status,
    });
    Observed {
        cluster: Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap()),
        peers: ChildState::Absent,
        clients: ChildState::Absent,
        budget: ChildState::Absent,
        pods: Vec::new(),
        pull: None,
        pull_refused: false,
        trials: Vec::new(),
        beside: None,
        claims: Vec::new(),
        etcd: Etcd { endpoints: BTreeMap::new(), ..Etcd::default() },
        published: Vec::new(),
        taken: BTreeSet::new(),
        leaving: BTreeSet::new(),
        receiving: BTreeSet::new(),
        foreign: BTreeSet::new(),
        found: unlabeled::claims::Found::default(),
        proven: BTreeMap::new(),
        refused: None,
        options_refused: None,
        cluster_version: None,
        fresh_name: "c-aaaaaaaaaa".into(),
        default_class: Some(Ok(true)),
        strangers: Some(Vec::new()),
        termination: None,
        namespace_assigns_uids: false,
        agent_image: "agent:1".into(),
    }
}

fn decided() -> EtcdClusterStatus {
    EtcdClusterStatus { storage: Some(StorageStatus { durable: true }), ..EtcdClusterStatus::default() }
}

fn made() -> EtcdClusterStatus {
    EtcdClusterStatus { cluster_id: Some("1".into()), size: 3, ..decided() }
}

fn planned(spec: &Value, status: &EtcdClusterStatus) -> (Vec<&'static str>, EtcdClusterStatus) {
    let plan = plan(&observed(spec, status), Timestamp::UNIX_EPOCH);
    let kind = |effect: &Effect<EtcdAct>| match effect {
        Effect::Apply(apply) => apply.kind.kind,
        Effect::Create(create) => create.kind.kind,
        Effect::Delete(delete) => delete.kind.kind,
        Effect::Act(_) => "act",
    };
    let aside = plan.independent.iter().map(|apply| apply.kind.kind);
    (plan.effects.iter().map(kind).chain(aside).collect(), plan.status.unwrap())
}

fn reason(status: &EtcdClusterStatus, type_: &str) -> (ConditionStatus, String) {
    let condition = status.contract.condition(type_).unwrap_or_else(|| panic!("there is no condition {type_}"));
    (condition.status, condition.reason.to_string())
}

#[test]
fn where_data_goes_is_written_down_before_the_first_member() {
    let (effects, status) = planned(&json!({ "size": 3 }), &EtcdClusterStatus::default());
    assert!(effects.is_empty());
    assert_eq!((status.storage, status.phase), (Some(StorageStatus { durable: true }), Some(Phase::Creating)));
    let (effects, _) = planned(&json!({ "size": 3 }), &decided());
    assert_eq!(effects, ["Service", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget"]);
}

#[test]
fn without_a_default_class_data_is_not_durable_and_that_is_told_once() {
    let mut seen = observed(&json!({ "size": 1 }), &EtcdClusterStatus::default());
    seen.default_class = Some(Ok(false));
    let plan = plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(plan.events.iter().any(|event| event.warning && event.reason == EtcdClusterEvent::NotDurable));
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Durable"), (ConditionStatus::False, "NoDefaultStorageClass".to_owned()));
    seen.default_class = Some(Err("no".into()));
    assert_eq!(super::plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap().storage, None, "unknown is not absent");
}

#[test]
fn the_first_members_name_follows_from_the_cluster() {
    let seen = observed(&json!({ "size": 3 }), &decided());
    let name = names::first(&seen.cluster);
    assert!(names::is_ours(&seen.cluster, &name) && name == names::first(&seen.cluster));
}

#[test]
fn tls_is_refused_and_nothing_is_made() {
    let spec = json!({ "size": 3, "TLS": { "static": { "member": { "peerSecret": "p" } } } });
    let (effects, status) = planned(&spec, &decided());
    assert!(effects.is_empty());
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "TLSNotSupported".to_owned()));
}

#[test]
fn paused_does_nothing_and_says_so() {
    for before in [EtcdClusterStatus::default(), decided(), made()] {
        let (effects, status) = planned(&json!({ "size": 3, "paused": true }), &before);
        assert!(effects.is_empty() && status.control_paused);
        assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "Paused".to_owned()));
    }
}

#[test]
fn old_conditions_are_false_instead_of_gone_and_have_both_times() {
    let (_, status) = planned(&json!({ "size": 3 }), &made());
    for type_ in ["Available", "Recovering", "Scaling", "Upgrading"] {
        let condition = status.contract.condition(type_).unwrap();
        assert_eq!(condition.last_update_time, Some(condition.last_transition_time), "{type_}");
    }
    assert_eq!(reason(&status, "Available"), (ConditionStatus::False, "QuorumUnconfirmed".to_owned()));
    assert_eq!(reason(&status, "QuorumHealthy").0, ConditionStatus::False);
    assert_eq!(reason(&status, "Scaling").0, ConditionStatus::False);
}

#[test]
fn an_even_size_is_warned_of() {
    let (_, status) = planned(&json!({ "size": 4 }), &decided());
    assert_eq!(reason(&status, "Warning"), (ConditionStatus::True, "EvenSize".to_owned()));
}

#[test]
fn there_is_no_second_cluster_over_strangers_pods() {
    let mut seen = observed(&json!({ "size": 3 }), &decided());
    let stranger = |leaving| Some(vec![Stranger { name: "c-0001".into(), leaving }]);
    seen.strangers = stranger(false);
    let plan = super::plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(!plan.effects.iter().any(|effect| matches!(effect, Effect::Create(_))), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignPods".to_owned()));
    assert!(status.contract.condition("Ready").unwrap().message.contains("c-0001"));
    for (strangers, why) in [(stranger(true), "WaitingForDeletion"), (None, "PodsUnknown")] {
        seen.strangers = strangers;
        let plan = super::plan(&seen, Timestamp::UNIX_EPOCH);
        assert!(!plan.effects.iter().any(|effect| matches!(effect, Effect::Create(_))));
        assert_eq!(reason(&plan.status.unwrap(), "Ready").1, why);
    }
}

#[test]
fn a_headless_service_that_is_unreadable_takes_a_person_and_one_that_is_terminating_does_not() {
    let stalls = |peers| {
        let seen = Observed { peers, ..observed(&json!({ "size": 3 }), &decided()) };
        let plan = plan(&seen, Timestamp::UNIX_EPOCH);
        assert!(plan.effects.is_empty(), "{:?}", plan.effects);
        let status = plan.status.unwrap();
        (status.contract.is_true("Stalled"), reason(&status, "Ready").1)
    };
    assert_eq!(stalls(ChildState::Undecodable("spec: no".to_owned())), (true, "Unreadable".to_owned()));
    assert_eq!(stalls(ChildState::Terminating), (false, "WaitingForDeletion".to_owned()));
}

#[test]
fn why_storage_is_undecided_is_told() {
    let mut seen = observed(&json!({ "size": 3 }), &EtcdClusterStatus::default());
    seen.default_class = Some(Err("exceeded quota".to_owned()));
    let status = plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap();
    let message = &status.contract.condition("Ready").unwrap().message;
    assert!(message.contains("exceeded quota"));
    let way = "create it again with spec.storage.ephemeral: true";
    assert!(message.ends_with(way), "the API server refuses an update of it: {message}");
    let spec = json!({ "size": 3, "storage": { "onDelete": "Delete" } });
    let mut seen = observed(&spec, &EtcdClusterStatus::default());
    seen.default_class = Some(Ok(false));
    let status = plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap();
    assert_eq!(status.storage, Some(StorageStatus { durable: false }), "what becomes of volumes asks for none");
}

mod bootstrap;
mod claim_copies;
mod claims;
mod clocks;
mod corrupt;
mod deletion;
mod leading;
mod learners;
mod leaving_3_6;
mod list_of_one;
mod members;
mod options;
mod paused;
mod placement;
mod pull;
mod pull_agent;
mod quorum;
mod refused;
mod restored_volumes;
mod retries;
mod space;
mod unreached;
mod unreadable;
mod volumes;
