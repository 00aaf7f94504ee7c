//! What is told while no linearizable read is answered, and when that is called a lost quorum.

use std::time::Duration;

use api::Contract;
use runtime::status::conditions;

use super::members::three;
use super::*;

/// For so many seconds quorum that does not answer is not called lost.
const LASTS: i64 = 10;

/// Three members that answered a read at second 100, and do not from then on; the status as it was written last.
struct Silent {
    spec: Value,
    seen: Observed,
    status: EtcdClusterStatus,
}

impl Silent {
    fn new(spec: &Value) -> Self {
        let well = three(spec);
        let mut status = plan(&well, Timestamp::from_second(100).unwrap()).status.unwrap();
        let before = Contract::default();
        conditions::merge(&mut status.contract, &before, 1, "m");
        let mut seen = three(spec);
        seen.etcd.members = Err("no leader".to_owned());
        Self { spec: spec.clone(), seen, status }
    }

    /// A look at that second, after which its status is written.
    fn look(&mut self, second: i64) -> EtcdPlan {
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
    plan.events.iter().filter(|event| event.warning).map(|event| &*event.reason).collect()
}

#[test]
fn quorum_that_does_not_answer_is_called_lost_only_after_it_has_lasted() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    assert_eq!(reason(&silent.status, "Ready").0, ConditionStatus::True);
    let last = 200 + LASTS - 1;
    for second in 200..=last {
        let plan = silent.look(second);
        assert_eq!(silent.reasons(), all("QuorumUnconfirmed"), "{second}");
        assert_eq!(reason(&silent.status, "Reconciling"), (ConditionStatus::True, "QuorumUnconfirmed".to_owned()));
        assert!(warnings(&plan).is_empty(), "{second}: {:?}", plan.events);
        let told = &silent.status.contract.condition("Ready").unwrap().message;
        assert!(told.contains("3 of 3 members answer (no leader)") && told.contains("for 10 s"), "{told}");
    }
    let plan = silent.look(last + 1);
    assert_eq!(silent.reasons(), all("QuorumLost"));
    assert_eq!(warnings(&plan), ["QuorumLost"]);
    let since = silent.status.contract.condition("QuorumHealthy").unwrap().last_transition_time;
    assert_eq!(since, Timestamp::from_second(200).unwrap(), "it tells since when");
    assert!(!silent.status.contract.condition("Ready").unwrap().message.contains("for 10 s"));
    assert!(warnings(&silent.look(last + 2)).is_empty(), "it is announced once");
}

#[test]
fn it_is_looked_again_in_time() {
    for spec in [json!({ "size": 3 }), json!({ "size": 3, "paused": true })] {
        let mut silent = Silent::new(&spec);
        // Nothing has changed for long, so it would be looked seldom.
        let old = silent.status.member_statuses.iter_mut();
        old.for_each(|status| status.since = Some(Timestamp::UNIX_EPOCH));
        for second in 300..300 + LASTS {
            let Requeue::After(delay) = silent.look(second).next else { panic!("it is looked again") };
            assert!(delay <= Duration::from_secs(1), "{spec} {second}: {delay:?}");
        }
        silent.look(300 + LASTS);
        assert_eq!(reason(&silent.status, "QuorumHealthy").1, "QuorumLost", "{spec}");
    }
}

#[test]
fn an_answer_in_between_begins_the_wait_anew() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    silent.look(200);
    let members = three(&json!({ "size": 3 })).etcd.members;
    let silence = std::mem::replace(&mut silent.seen.etcd.members, members);
    silent.look(208);
    assert!(silent.status.contract.is_true("Ready"));
    silent.seen.etcd.members = silence;
    silent.look(212);
    assert_eq!(silent.reasons(), all("QuorumUnconfirmed"));
}

#[test]
fn what_counts_begins_now_where_status_is_lost_and_with_no_clock_that_was_ahead() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    silent.look(200);
    silent.look(230);
    assert_eq!(silent.reasons(), all("QuorumLost"));
    silent.status.contract.conditions.clear();
    silent.look(231);
    assert_eq!(silent.reasons(), all("QuorumUnconfirmed"));
    let ahead = silent.status.contract.conditions.iter_mut();
    ahead.for_each(|condition| condition.last_transition_time = Timestamp::from_second(9_000).unwrap());
    silent.look(232);
    assert_eq!(silent.reasons(), all("QuorumLost"));
}

/// A claim and a pod are deleted in one go, and the others elect a leader.
#[test]
fn a_member_that_cannot_come_back_is_no_lost_quorum_while_the_others_may_only_be_late() {
    let mut silent = Silent::new(&json!({ "size": 3 }));
    silent.seen.pods.remove(0);
    silent.seen.claims.remove(0);
    silent.seen.etcd.endpoints.clear();
    silent.look(200);
    assert!(!silent.status.contract.is_true("Stalled"), "{:?}", silent.status);
    assert_eq!((silent.reasons(), silent.status.phase), (all("QuorumUnconfirmed"), Some(Phase::Running)));
    silent.look(200 + LASTS);
    assert_eq!(reason(&silent.status, "Stalled"), (ConditionStatus::True, "QuorumLost".to_owned()));
    assert_eq!(silent.status.phase, Some(Phase::Failed));
}

/// Without a list it is as many as there were last that counts.
#[test]
fn a_resize_that_waits_for_quorum_is_not_done() {
    for (size, last, told) in [
        (5, 3, (ConditionStatus::True, "ScalingUp")),
        (1, 3, (ConditionStatus::True, "ScalingDown")),
        (3, 3, (ConditionStatus::False, "SizeAsDesired")),
        (3, 0, (ConditionStatus::Unknown, "QuorumUnconfirmed")),
    ] {
        let (_, status) = planned(&json!({ "size": size }), &EtcdClusterStatus { size: last, ..made() });
        assert_eq!(reason(&status, "Scaling"), (told.0, told.1.to_owned()), "{last} of {size}");
    }
}

/// What else needs a person is Stalled, and the phase tells of a cluster without quorum only once that is known.
#[test]
fn a_refused_version_does_not_make_a_quorum_lost_that_is_late() {
    let mut silent = Silent::new(&json!({ "size": 3, "version": "3.6.16" }));
    silent.spec["version"] = json!("3.5.35");
    silent.look(200);
    assert_eq!(
        (reason(&silent.status, "Stalled").1, silent.status.phase),
        ("UpgradeRefused".to_owned(), Some(Phase::Running))
    );
    silent.look(200 + LASTS);
    assert_eq!(silent.status.phase, Some(Phase::Failed));
}
