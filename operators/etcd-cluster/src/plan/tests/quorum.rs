//! The status without an answered linearizable read, and when it reports quorum as lost.

use std::time::Duration;

use api::Contract;
use runtime::status::conditions;

use super::members::three;
use super::*;

/// The seconds before missing quorum is reported as lost.
const LASTS: i64 = 10;

/// Three members that answered a read at second 100, and not since; and the last written status.
struct Silent {
    spec: Value,
    seen: Observed,
    status: EtcdClusterStatus,
}

impl Silent {
    fn new(spec: &Value) -> Self {
        let healthy = three(spec);
        let mut status = plan(&healthy, Timestamp::from_second(100).unwrap()).status.unwrap();
        let before = Contract::default();
        conditions::merge(&mut status.contract, &before, 1, "m");
        let mut seen = three(spec);
        seen.etcd.members = Err("no leader".to_owned());
        Self { spec: spec.clone(), seen, status }
    }

    /// Reconciles at that second, and writes the status.
    fn reconcile(&mut self, second: i64) -> EtcdPlan {
        let cluster = json!({
            "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES] },
            "spec": self.spec, "status": self.status,
        });
        self.seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
        let mut plan = plan(&self.seen, Timestamp::from_second(second).unwrap());
        let status = plan.status.as_mut().unwrap();
        conditions::merge(&mut status.contract, &self.status.contract, 1, "m");
        self.status = status.clone();
        plan
    }

    fn reasons(&self) -> [(ConditionStatus, String); 3] {
        ["Ready", "QuorumHealthy", "Available"].map(|type_| reason(&self.status, type_))
    }
}

fn all(reason: &str) -> [(ConditionStatus, String); 3] {
    [(); 3].map(|()| (ConditionStatus::False, reason.to_owned()))
}

fn warnings(plan: &EtcdPlan) -> Vec<&str> {
    plan.events_after_status.iter().filter(|event| event.warning).map(|event| &*event.reason).collect()
}

#[test]
fn quorum_is_reported_lost_only_after_a_while() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    assert_eq!(reason(&silent.status, "Ready").0, ConditionStatus::True);
    let last = 200 + LASTS - 1;
    for second in 200..=last {
        let plan = silent.reconcile(second);
        assert_eq!(silent.reasons(), all("QuorumUnconfirmed"), "{second}");
        assert_eq!(reason(&silent.status, "Reconciling"), (ConditionStatus::True, "QuorumUnconfirmed".to_owned()));
        assert!(warnings(&plan).is_empty(), "{second}: {:?}", plan.events_after_status);
        let message = &silent.status.contract.condition("Ready").unwrap().message;
        assert!(message.contains("3 of 3 members answer (no leader)") && message.contains("for 10 s"), "{message}");
    }
    let plan = silent.reconcile(last + 1);
    assert_eq!(silent.reasons(), all("QuorumLost"));
    assert_eq!(warnings(&plan), ["QuorumLost"]);
    let since = silent.status.contract.condition("QuorumHealthy").unwrap().last_transition_time;
    assert_eq!(since, Timestamp::from_second(200).unwrap(), "since then");
    assert!(!silent.status.contract.condition("Ready").unwrap().message.contains("for 10 s"));
    assert!(warnings(&silent.reconcile(last + 2)).is_empty(), "it is announced once");
}

#[test]
fn the_next_reconcile_is_in_time() {
    for spec in [json!({ "size": 3 }), json!({ "size": 3, "paused": true })] {
        let mut silent = Silent::new(&spec);
        // Nothing has changed for long, so reconciles would be rare.
        let old = silent.status.member_statuses.iter_mut();
        old.for_each(|status| status.since = Some(Timestamp::UNIX_EPOCH));
        for second in 300..300 + LASTS {
            let Requeue::After(delay) = silent.reconcile(second).next else { panic!("it is requeued") };
            assert!(delay <= Duration::from_secs(1), "{spec} {second}: {delay:?}");
        }
        silent.reconcile(300 + LASTS);
        assert_eq!(reason(&silent.status, "QuorumHealthy").1, "QuorumLost", "{spec}");
    }
}

#[test]
fn an_answer_in_between_restarts_the_wait() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    silent.reconcile(200);
    let members = three(&json!({ "size": 3 })).etcd.members;
    let endpoint_error = std::mem::replace(&mut silent.seen.etcd.members, members);
    silent.reconcile(208);
    assert!(silent.status.contract.is_true("Ready"));
    silent.seen.etcd.members = endpoint_error;
    silent.reconcile(212);
    assert_eq!(silent.reasons(), all("QuorumUnconfirmed"));
}

#[test]
fn the_wait_starts_now_if_status_is_lost_or_a_clock_was_ahead() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    silent.reconcile(200);
    silent.reconcile(230);
    assert_eq!(silent.reasons(), all("QuorumLost"));
    silent.status.contract.conditions.clear();
    silent.reconcile(231);
    assert_eq!(silent.reasons(), all("QuorumUnconfirmed"));
    let ahead = silent.status.contract.conditions.iter_mut();
    ahead.for_each(|condition| condition.last_transition_time = Timestamp::from_second(9_000).unwrap());
    silent.reconcile(232);
    assert_eq!(silent.reasons(), all("QuorumLost"));
}

/// A PVC and its pod are deleted together, and the others elect a leader.
#[test]
fn a_member_that_cannot_restart_is_no_lost_quorum_while_the_others_may_be_late() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    silent.seen.pods.remove(0);
    silent.seen.claims.remove(0);
    silent.seen.etcd.endpoints.clear();
    silent.reconcile(200);
    assert!(!silent.status.contract.is_true("Stalled"), "{:?}", silent.status);
    assert_eq!((silent.reasons(), silent.status.phase), (all("QuorumUnconfirmed"), Some(EtcdClusterPhase::Running)));
    silent.reconcile(200 + LASTS);
    assert_eq!(reason(&silent.status, "Stalled"), (ConditionStatus::True, "QuorumLost".to_owned()));
    assert_eq!(silent.status.phase, Some(EtcdClusterPhase::Failed));
}

/// Without a list, the last known number of members counts.
#[test]
fn a_resize_that_waits_for_quorum_is_not_done() {
    for (size, last, expected) in [
        (5, 3, (ConditionStatus::True, "ScalingUp")),
        (1, 3, (ConditionStatus::True, "ScalingDown")),
        (3, 3, (ConditionStatus::False, "SizeAsDesired")),
        (3, 0, (ConditionStatus::Unknown, "QuorumUnconfirmed")),
    ] {
        let (_, status) = planned(&json!({ "size": size }), &EtcdClusterStatus { size: last, ..bootstrapped() });
        assert_eq!(reason(&status, "Scaling"), (expected.0, expected.1.to_owned()), "{last} of {size}");
    }
}

/// Other reasons are Stalled, and the phase reports a cluster without quorum only once quorum counts as lost.
#[test]
fn a_rejected_version_does_not_turn_late_answers_into_lost_quorum() {
    let mut silent = Silent::new(&json!({ "size": 3, "version": "3.6.16" }));
    silent.spec["version"] = json!("3.5.35");
    silent.reconcile(200);
    assert_eq!(
        (reason(&silent.status, "Stalled").1, silent.status.phase),
        ("UpgradeRefused".to_owned(), Some(EtcdClusterPhase::Running))
    );
    silent.reconcile(200 + LASTS);
    assert_eq!(silent.status.phase, Some(EtcdClusterPhase::Failed));
}
