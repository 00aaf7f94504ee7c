//! Recovery of a cluster that has lost quorum for good: in which steps.

use api::etcd_cluster::{EtcdRecoveryStatus, RECOVER_WITHOUT, RecoveryOutcome};

use super::members::{NAMES, message, three};
use super::*;

/// The second from which on quorum counts as lost.
const LOST: i64 = 200;

/// Three members that answered until second 100. No linearizable read is answered since.
struct Lost {
    spec: Value,
    annotation: Option<String>,
    seen: Observed,
    status: EtcdClusterStatus,
}

impl Lost {
    fn new() -> Self {
        Self::of(&json!({ "size": 3 }))
    }

    fn of(spec: &Value) -> Self {
        let mut seen = three(spec);
        for (id, claim) in (1..).zip(&mut seen.claims) {
            let facts = [(objects::CLUSTER_ID, "1".to_owned()), (objects::MEMBER_ID, format!("{id}"))];
            let labels = &mut Arc::get_mut(claim).unwrap().labels;
            labels.extend(facts.map(|(label, value)| (label.to_owned(), value)));
            labels.insert(objects::MEMBER_VERSION.to_owned(), "3.6.16".to_owned());
        }
        for (index, endpoint) in (10..).zip(seen.etcd.endpoints.values_mut()) {
            endpoint.as_mut().unwrap().raft_index = index;
        }
        let status = plan(&seen, Timestamp::from_second(100).unwrap()).status.unwrap();
        seen.etcd.members = Err("no leader".to_owned());
        let mut lost = Self { spec: spec.clone(), annotation: None, seen, status };
        for second in [100, LOST - 1] {
            lost.reconcile(second);
        }
        lost
    }

    /// Reconciles at that second, and writes the status.
    fn reconcile(&mut self, second: i64) -> EtcdPlan {
        let mut annotations = json!({});
        if let Some(value) = &self.annotation {
            annotations[RECOVER_WITHOUT] = json!(value);
        }
        let cluster = json!({
            "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES],
                "annotations": annotations },
            "spec": self.spec, "status": self.status,
        });
        self.seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
        let mut plan = plan(&self.seen, Timestamp::from_second(second).unwrap());
        let status = plan.status.as_mut().unwrap();
        runtime::status::conditions::merge(&mut status.contract, &self.status.contract, 1, "m");
        self.status = status.clone();
        plan
    }

    /// The volumes of these members are gone, and their pods.
    fn without_volumes(mut self, lost: &[&str]) -> Self {
        for name in lost {
            self.delete_pod(name);
            self.seen.claims.retain(|claim| *claim.meta.key.name != **name);
            self.seen.claim_lookups.absent.insert((*name).into());
        }
        self
    }

    /// The nodes of these members are down.
    fn silent(mut self, silent: &[&str]) -> Self {
        for name in silent {
            self.seen.etcd.endpoints.insert((*name).into(), Err("cannot be reached".to_owned()));
            self.pod(name, |details| details.ready = false);
        }
        self
    }

    fn requested(mut self, value: &str) -> Self {
        self.annotation = Some(value.to_owned());
        self
    }

    fn pod(&mut self, name: &str, change: impl FnOnce(&mut PodDetails)) {
        let pod = self.seen.pods.iter_mut().find(|pod| *pod.meta.key.name == *name).unwrap();
        let pod = Arc::get_mut(pod).unwrap();
        let mut details = PodDetails::clone(pod.details.as_ref().unwrap());
        change(&mut details);
        pod.details = Some(Box::new(details));
    }

    fn terminate_pod(&mut self, name: &str) {
        let pod = self.seen.pods.iter_mut().find(|pod| *pod.meta.key.name == *name).unwrap();
        Arc::get_mut(pod).unwrap().meta.deleting = true;
    }

    fn delete_pod(&mut self, name: &str) {
        self.seen.pods.retain(|pod| *pod.meta.key.name != *name);
        self.seen.etcd.endpoints.remove(name);
    }

    fn mark_claim(&mut self, name: &str) {
        let claim = self.seen.claims.iter_mut().find(|claim| *claim.meta.key.name == *name).unwrap();
        Arc::get_mut(claim).unwrap().labels.insert(objects::RETIRING.to_owned(), "true".to_owned());
    }

    fn recovery(&self) -> &EtcdRecoveryStatus {
        self.status.recovery.as_ref().expect("a recovery")
    }
}

/// What a plan does to pods and PVCs: a letter for what, and the name.
fn touched(plan: &EtcdPlan) -> Vec<String> {
    let of = |effect: &Effect<EtcdAct>| match effect {
        Effect::Apply(apply) if apply.kind.kind == "PersistentVolumeClaim" => Some(format!("mark {}", apply.key.name)),
        Effect::Create(create) => Some(format!("create {}", create.key.name)),
        Effect::Delete(delete) => Some(format!("delete {}", delete.key.name)),
        _ => None,
    };
    plan.effects.iter().filter_map(of).collect()
}

fn warnings(plan: &EtcdPlan) -> Vec<String> {
    plan.events_after_status.iter().filter(|event| event.warning).map(|event| event.reason.to_string()).collect()
}

#[test]
fn the_condition_has_the_command_once_volumes_of_a_majority_are_gone() {
    let mut lost = Lost::new().without_volumes(&NAMES[1..]);
    let plan = lost.reconcile(LOST);
    assert!(touched(&plan).is_empty());
    assert_eq!(reason(&lost.status, "Stalled"), (ConditionStatus::True, "QuorumLost".to_owned()));
    let [a, b, c] = NAMES;
    let command = format!("kubectl annotate etcd -n n c {RECOVER_WITHOUT}={b},{c} --overwrite");
    let message = message(&lost.status);
    assert!(message.contains(&format!("continue with what {a} holds")) && message.contains(&command), "{message}");
}

/// Their nodes may come back.
#[test]
fn for_members_that_may_return_the_command_comes_after_two_minutes() {
    let mut lost = Lost::new().silent(&NAMES[1..]);
    let has_command = |lost: &Lost| message(&lost.status).contains(RECOVER_WITHOUT);
    lost.reconcile(LOST);
    assert!(!has_command(&lost), "{}", message(&lost.status));
    lost.reconcile(230);
    assert!(has_command(&lost) && message(&lost.status).contains("if the others never return"));
    // The one that is left was restarted, too, and does not answer without quorum.
    let mut restarted = Lost::new().silent(&NAMES);
    for name in &NAMES[1..] {
        restarted.terminate_pod(name);
    }
    restarted.reconcile(230);
    let command = format!("{RECOVER_WITHOUT}={},{} --overwrite", NAMES[1], NAMES[2]);
    assert!(message(&restarted.status).contains(&command), "{}", message(&restarted.status));
    let mut one = Lost::new().silent(&NAMES[2..]);
    one.reconcile(230);
    assert!(!has_command(&one), "two of three answer");
}

#[test]
fn on_request_the_cluster_continues_with_the_member_that_is_left() {
    let [a, b, c] = NAMES;
    let mut lost = Lost::new().without_volumes(&[b, c]).requested(&format!("{c},{b}"));
    let plan = lost.reconcile(LOST);
    assert!(touched(&plan).is_empty(), "the status comes first");
    assert_eq!((lost.recovery().from.as_str(), &*lost.recovery().without), (a, &[b.to_owned(), c.to_owned()][..]));
    assert_eq!(warnings(&plan), ["RecoveryStarted"]);
    assert_eq!(touched(&lost.reconcile(201)), [format!("delete {a}")]);
    assert_eq!(reason(&lost.status, "Ready").1, "Recovering");
    lost.terminate_pod(a);
    assert!(touched(&lost.reconcile(202)).is_empty());
    lost.delete_pod(a);
    let plan = lost.reconcile(203);
    assert_eq!(touched(&plan), [format!("create {a}")]);
    let created = plan.effects.iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create.body.clone()),
        _ => None,
    });
    let created = created.unwrap();
    assert_eq!(created["metadata"]["annotations"]["multi-operator.example.com/start"], "recover");
    let steps = created["spec"]["initContainers"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step["name"].as_str().unwrap()).collect::<Vec<_>>(), ["wait", "recover"]);
    assert!(!created["spec"]["containers"][0].to_string().contains("recover"), "etcd itself starts as always");
}

#[test]
fn a_recovery_ends_with_the_list_of_one_and_the_cluster_grows_again() {
    let [a, b, c] = NAMES;
    let mut lost = Lost::new();
    let healthy = three(&json!({ "size": 3 }));
    lost = lost.without_volumes(&[b, c]).requested(&format!("{b},{c}"));
    lost.reconcile(LOST);
    lost.pod(a, |details| {
        details.annotations.insert(objects::START.to_owned(), "recover".to_owned());
    });
    let waiting = lost.reconcile(203);
    assert!(touched(&waiting).is_empty());
    let mut list = healthy.etcd.members.unwrap();
    list.truncate(1);
    lost.seen.etcd.members = Ok(list);
    lost.seen.etcd.endpoints.get_mut(a).unwrap().as_mut().unwrap().leader = 1;
    let plan = lost.reconcile(210);
    assert_eq!(lost.recovery().outcome, Some(RecoveryOutcome::Recovered));
    let begun = plan.independent.iter().filter(|apply| apply.kind.kind == "Pod").map(|apply| apply.body.to_string());
    assert!(begun.into_iter().any(|apply| apply.contains("\"multi-operator.example.com/start\":\"data\"")));
    assert!(touched(&plan).iter().any(|effect| effect.starts_with("create")), "{:?}", touched(&plan));
    assert_eq!(lost.status.listed().count(), 1);
    // The annotation stays.
    lost.seen.etcd.members = Err("no leader".to_owned());
    let before = lost.recovery().clone();
    lost.reconcile(300);
    lost.reconcile(400);
    assert_eq!(*lost.recovery(), before);
    assert!(!message(&lost.status).contains("names"), "{}", message(&lost.status));
}

#[test]
fn members_that_are_given_up_are_stopped_before_another_one_goes_on() {
    let [a, b, c] = NAMES;
    let mut lost = Lost::new().silent(&[b, c]).requested(&format!("{b},{c}"));
    lost.reconcile(LOST);
    for name in [b, c] {
        assert_eq!(touched(&lost.reconcile(201)), [format!("mark {name}"), format!("delete {name}")], "one at a time");
        lost.mark_claim(name);
        lost.terminate_pod(name);
    }
    lost.delete_pod(c);
    lost.pod(b, |details| details.node = Some("node-2".into()));
    assert!(touched(&lost.reconcile(202)).is_empty());
    let message = message(&lost.status);
    assert!(message.contains(&format!("{b} on node node-2")) && message.contains("--grace-period=0"), "{message}");
    lost.delete_pod(b);
    assert_eq!(touched(&lost.reconcile(203)), [format!("delete {a}")]);
}

/// Months later, nodes restart.
/// It may hold writes that no other volume has.
#[test]
fn the_volume_of_a_member_that_was_given_up_is_kept_whatever_the_policy() {
    let [_, b, c] = NAMES;
    let delete = json!({ "size": 3, "storage": { "onDelete": "Delete" } });
    let mut lost = Lost::of(&delete).silent(&[b, c]).requested(&format!("{b},{c}"));
    lost.reconcile(LOST);
    for name in [b, c] {
        lost.mark_claim(name);
        lost.delete_pod(name);
    }
    let mut list = three(&delete).etcd.members.unwrap();
    list.truncate(1);
    lost.seen.etcd.members = Ok(list);
    let plan = lost.reconcile(210);
    assert_eq!(lost.recovery().outcome, Some(RecoveryOutcome::Recovered));
    let applied = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) => Some(apply.body.to_string()),
        _ => None,
    });
    let retired = lost.reconcile(211);
    let all: Vec<String> = applied.chain(touched(&retired)).collect();
    assert!(
        all.iter().any(|effect| effect.contains(objects::RETIRED)) && !all.iter().any(|of| of.contains("delete")),
        "{all:?}"
    );
}

mod from_backup;
mod requests;
