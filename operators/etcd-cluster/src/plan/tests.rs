//! The decisions of single reconciles. `tests/world` tests sequences of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::ConditionStatus;
use api::etcd_cluster::{
    ETCD_VOLUMES, EtcdClusterEvent, EtcdClusterPhase, EtcdClusterReason, EtcdClusterStatus, EtcdStorageStatus,
};
use jiff::Timestamp;
use runtime::cache::Projection as _;
use runtime::plan::{Apply, ChildState, Effect, Requeue};
use serde_json::{Value, json};

use super::*;
use crate::EtcdCluster;

/// A cluster with that spec and status.
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
        image_check: None,
        image_check_rejected: false,
        trials: Vec::new(),
        trial_feasibility: None,
        claims: Vec::new(),
        restores: Vec::new(),
        restore_unreadable: false,
        backups: Vec::new(),
        etcd: Etcd { endpoints: BTreeMap::new(), ..Etcd::default() },
        dns_addresses: Vec::new(),
        names_taken: BTreeSet::new(),
        names_terminating: BTreeSet::new(),
        receiving_snapshot: BTreeSet::new(),
        foreign_selected: BTreeSet::new(),
        claim_lookups: unlabeled::claims::ClaimLookups::default(),
        known_good: BTreeMap::new(),
        pod_rejected: None,
        options_refused: None,
        tls: ObservedTls::default(),
        root_unusable: None,
        takeover: ObservedTakeover::default(),
        cluster_version: None,
        new_member_name: "c-aaaaaaaaaa".into(),
        default_class: Some(Ok(true)),
        foreign_pods: Some(Vec::new()),
        termination: None,
        namespace_assigns_uids: false,
        agent_image: "agent:1".into(),
    }
}

fn decided() -> EtcdClusterStatus {
    EtcdClusterStatus { storage: Some(EtcdStorageStatus { durable: true }), ..EtcdClusterStatus::default() }
}

fn bootstrapped() -> EtcdClusterStatus {
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
    let independent = plan.independent.iter().map(|apply| apply.kind.kind);
    (plan.effects.iter().map(kind).chain(independent).collect(), plan.status.unwrap())
}

fn reason(status: &EtcdClusterStatus, type_: &str) -> (ConditionStatus, String) {
    let condition = status.contract.condition(type_).unwrap_or_else(|| panic!("there is no condition {type_}"));
    (condition.status, condition.reason.to_string())
}

#[test]
fn durability_is_recorded_before_the_first_member() {
    let (effects, status) = planned(&json!({ "size": 3 }), &EtcdClusterStatus::default());
    assert!(effects.is_empty());
    assert_eq!(
        (status.storage, status.phase),
        (Some(EtcdStorageStatus { durable: true }), Some(EtcdClusterPhase::Creating))
    );
    let (effects, _) = planned(&json!({ "size": 3 }), &decided());
    assert_eq!(effects, ["Service", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget"]);
}

#[test]
fn without_a_default_class_data_is_not_durable_and_one_event_reports_it() {
    let mut seen = observed(&json!({ "size": 1 }), &EtcdClusterStatus::default());
    seen.default_class = Some(Ok(false));
    let plan = plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(plan.events_after_status.iter().any(|event| event.warning && event.reason == EtcdClusterEvent::NotDurable));
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Durable"), (ConditionStatus::False, "NoDefaultStorageClass".to_owned()));
    seen.default_class = Some(Err("no".into()));
    assert_eq!(super::plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap().storage, None, "unknown is not absent");
}

#[test]
fn the_first_members_name_follows_from_the_cluster() {
    let seen = observed(&json!({ "size": 3 }), &decided());
    let name = names::first(&seen.cluster);
    assert!(names::is_generated(&seen.cluster, &name) && name == names::first(&seen.cluster));
}

#[test]
fn a_paused_cluster_is_not_changed_and_reports_it() {
    for before in [EtcdClusterStatus::default(), decided(), bootstrapped()] {
        let (effects, status) = planned(&json!({ "size": 3, "paused": true }), &before);
        assert!(effects.is_empty() && status.control_paused);
        assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "Paused".to_owned()));
    }
}

#[test]
fn legacy_conditions_are_false_instead_of_absent_and_have_both_times() {
    let (_, status) = planned(&json!({ "size": 3 }), &bootstrapped());
    for type_ in ["Available", "Recovering", "Scaling", "Upgrading"] {
        let condition = status.contract.condition(type_).unwrap();
        assert_eq!(condition.last_update_time, Some(condition.last_transition_time), "{type_}");
    }
    assert_eq!(reason(&status, "Available"), (ConditionStatus::False, "QuorumUnconfirmed".to_owned()));
    assert_eq!(reason(&status, "QuorumHealthy").0, ConditionStatus::False);
    assert_eq!(reason(&status, "Scaling").0, ConditionStatus::False);
}

#[test]
fn an_even_size_is_a_warning() {
    let (_, status) = planned(&json!({ "size": 4 }), &decided());
    assert_eq!(reason(&status, "Warning"), (ConditionStatus::True, "EvenSize".to_owned()));
}

#[test]
fn no_cluster_is_created_while_foreign_pods_have_its_labels() {
    let mut seen = observed(&json!({ "size": 3 }), &decided());
    let foreign = |terminating| Some(vec![ForeignPod { name: "c-0001".into(), terminating }]);
    seen.foreign_pods = foreign(false);
    let plan = super::plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(!plan.effects.iter().any(|effect| matches!(effect, Effect::Create(_))), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignPods".to_owned()));
    assert!(status.contract.condition("Ready").unwrap().message.contains("c-0001"));
    for (foreign_pods, why) in [(foreign(true), "WaitingForDeletion"), (None, "PodsUnknown")] {
        seen.foreign_pods = foreign_pods;
        let plan = super::plan(&seen, Timestamp::UNIX_EPOCH);
        assert!(!plan.effects.iter().any(|effect| matches!(effect, Effect::Create(_))));
        assert_eq!(reason(&plan.status.unwrap(), "Ready").1, why);
    }
}

#[test]
fn an_unreadable_headless_service_is_stalled_and_a_terminating_one_is_not() {
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
fn undecided_storage_is_reported_with_its_reason() {
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
    assert_eq!(status.storage, Some(EtcdStorageStatus { durable: false }), "what becomes of volumes asks for none");
}

mod authentication;
mod bootstrap;
mod claim_copies;
mod claims;
mod clocks;
mod corrupt;
mod defragmentation;
mod deletion;
mod hibernation;
mod image_check;
mod image_check_agent;
mod leading;
mod learners;
mod leaving_3_6;
mod list_of_one;
mod lost_node;
mod members;
mod options;
mod paused;
mod placement;
mod quorum;
mod reclaim;
mod recovery;
mod refused;
mod restore;
mod restored_volumes;
mod retries;
mod service;
mod space;
mod takeover;
mod tls;
mod unreached;
mod unreadable;
mod volumes;
