//! A cluster begins again from a snapshot: in which steps, and what is taken back.

use api::etcd_cluster::{EtcdRestoreProgress, RestoreOutcome, RestoreStage};
use runtime::plan::Effect;

use super::members::three;
use super::*;
use crate::EtcdRestore;

/// An EtcdRestore of the cluster.
fn restore(verified: bool, replace: bool) -> Arc<EtcdRestore> {
    let snapshot = json!({ "generation": 1, "revision": 9, "sha256": "ab" });
    let object = json!({
        "metadata": { "namespace": "n", "name": "r", "uid": "u-r", "generation": 1 },
        "spec": { "etcdCluster": { "name": "c" }, "replaceClusterID": replace.then_some("1"), "pvc": { "claimName": "store", "file": "b.db" } },
        "status": { "verified": if verified { snapshot } else { Value::Null } },
    });
    Arc::new(EtcdRestore::decode(&object.to_string()).unwrap())
}

/// Three healthy members whose PVCs record what they hold, and the status of their cluster.
struct Replaced {
    seen: Observed,
    status: EtcdClusterStatus,
}

impl Replaced {
    fn new(restore: Arc<EtcdRestore>) -> Self {
        let mut seen = three(&json!({ "size": 3 }));
        for (id, claim) in (1..).zip(&mut seen.claims) {
            let facts = [(objects::CLUSTER_ID, "1".to_owned()), (objects::MEMBER_ID, format!("{id}"))];
            let labels = &mut Arc::get_mut(claim).unwrap().labels;
            labels.extend(facts.map(|(label, value)| (label.to_owned(), value)));
            labels.insert(objects::MEMBER_VERSION.to_owned(), "3.6.16".to_owned());
        }
        seen.restores = vec![restore];
        let status = seen.cluster.status.clone();
        Self { seen, status }
    }

    /// Reconciles, and writes the status and the labels of PVCs.
    fn reconcile(&mut self, second: i64) -> EtcdPlan {
        let cluster = json!({
            "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES] },
            "spec": { "size": 3 }, "status": self.status,
        });
        let cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
        let cluster = crate::plan::restore::effective(&cluster, &self.seen.restores);
        self.seen.cluster = recovered::with_recovered_status(&cluster, &self.seen.claims);
        let plan = plan(&self.seen, Timestamp::from_second(second).unwrap());
        self.status = plan.status.clone().unwrap();
        for effect in &plan.effects {
            let Effect::Apply(apply) = effect else { continue };
            let claim = self.seen.claims.iter_mut().find(|claim| claim.meta.key.name == apply.key.name);
            let Some(claim) = claim.filter(|_| apply.kind.kind == "PersistentVolumeClaim") else { continue };
            let labels = &mut Arc::get_mut(claim).unwrap().labels;
            let sent = apply.body["metadata"]["labels"].as_object().cloned().unwrap_or_default();
            for label in [objects::RETIRED, objects::RETIRED_BY, objects::REPLACED_BY] {
                labels.remove(label);
            }
            labels.extend(sent.iter().map(|(label, value)| (label.clone(), value.as_str().unwrap().to_owned())));
        }
        plan
    }

    fn stop(&mut self) {
        self.seen.pods.clear();
        self.seen.etcd = Etcd { members: Err("no member".to_owned()), ..Etcd::default() };
    }

    fn progress(&self) -> &EtcdRestoreProgress {
        self.status.restore.as_ref().expect("a restore")
    }

    /// Up to the first member.
    fn stopped(mut self) -> Self {
        self.reconcile(1);
        self.stop();
        (2..5).for_each(|second| drop(self.reconcile(second)));
        self
    }

    fn retired(&self) -> usize {
        self.seen.claims.iter().filter(|claim| claim.labels.contains_key(objects::RETIRED)).count()
    }
}

fn touched(plan: &EtcdPlan) -> Vec<String> {
    let of = |effect: &Effect<EtcdAct>| match effect {
        Effect::Apply(apply) => format!("apply {}", apply.kind.kind),
        Effect::Create(create) => format!("create {}", create.kind.kind),
        Effect::Delete(delete) => format!("delete {}", delete.kind.kind),
        Effect::Act(act) => format!("{act:?}"),
    };
    plan.effects.iter().map(of).filter(|what| what != "apply Service").collect()
}

#[test]
fn a_healthy_cluster_is_untouched_without_consent_or_proof() {
    for (verified, replace) in [(false, true), (true, false), (false, false)] {
        let mut cluster = Replaced::new(restore(verified, replace));
        assert!(touched(&cluster.reconcile(1)).is_empty());
        assert_eq!((cluster.status.restore.clone(), reason(&cluster.status, "Ready").1), (None, "Running".to_owned()));
    }
}

#[test]
fn members_are_stopped_and_forgotten_before_their_volumes_are_retired() {
    let mut cluster = Replaced::new(restore(true, true));
    assert!(touched(&cluster.reconcile(1)).is_empty(), "the status comes first");
    assert_eq!(
        (cluster.progress().stage, cluster.progress().previous_cluster_id.as_deref()),
        (RestoreStage::Stopping, Some("1"))
    );
    assert_eq!(touched(&cluster.reconcile(2)), ["delete Pod", "delete Pod", "delete Pod"]);
    for pod in &mut cluster.seen.pods {
        Arc::get_mut(pod).unwrap().meta.deleting = true;
    }
    let plan = cluster.reconcile(3);
    assert!(touched(&plan).is_empty() && cluster.retired() == 0, "a pod that is terminating may still serve");
    let ready = cluster.status.contract.condition("Ready").unwrap();
    assert!(ready.reason == EtcdClusterReason::Restoring && ready.message.contains("--force"), "{}", ready.message);

    cluster.stop();
    cluster.reconcile(4);
    assert_eq!((cluster.progress().stage, cluster.status.cluster_id.clone()), (RestoreStage::Keeping, None));
    assert!(cluster.status.member_statuses.is_empty());
    assert_eq!(touched(&cluster.reconcile(5)), ["apply PersistentVolumeClaim"; 3]);
    cluster.reconcile(6);
    assert_eq!((cluster.progress().stage, cluster.retired()), (RestoreStage::Beginning, 3));

    let plan = cluster.reconcile(7);
    let pod = plan.effects.iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create),
        _ => None,
    });
    let pod = pod.expect("a first member");
    assert!(cluster.seen.claims.iter().all(|claim| claim.meta.key.name != pod.key.name), "on a volume of its own");
    let init = pod.body["spec"]["initContainers"].to_string();
    assert!(init.contains("--from=/snapshot/b.db") && init.contains("--sha256=ab"), "what was verified: {init}");
}

#[test]
fn it_ends_once_the_cluster_is_latched_again() {
    let mut cluster = Replaced::new(restore(true, true)).stopped();
    cluster.status.cluster_id = Some("2".to_owned());
    let plan = cluster.reconcile(9);
    assert_eq!(cluster.progress().outcome, Some(RestoreOutcome::Restored));
    assert!(plan.events_after_status.iter().any(|event| event.reason == EtcdClusterEvent::Restored));
    let before = cluster.status.restore.clone();
    cluster.reconcile(10);
    assert_eq!(cluster.status.restore, before, "the EtcdRestore that is still there begins nothing again");
}

#[test]
fn a_deleted_restore_returns_the_cluster_to_its_volumes() {
    // While members are being stopped.
    let mut cluster = Replaced::new(restore(true, true));
    cluster.reconcile(1);
    cluster.seen.restores.clear();
    cluster.reconcile(2);
    assert_eq!(
        (cluster.progress().outcome, cluster.status.cluster_id.as_deref()),
        (Some(RestoreOutcome::Canceled), Some("1"))
    );

    // After their volumes were retired.
    let mut cluster = Replaced::new(restore(true, true)).stopped();
    assert_eq!((cluster.progress().stage, cluster.retired()), (RestoreStage::Beginning, 3));
    cluster.seen.restores.clear();
    assert_eq!(touched(&cluster.reconcile(6)), ["apply PersistentVolumeClaim"; 3]);
    assert_eq!(cluster.retired(), 0);
    cluster.reconcile(7);
    assert_eq!(cluster.progress().outcome, Some(RestoreOutcome::Canceled));
    let plan = cluster.reconcile(8);
    assert_eq!(cluster.seen.cluster.status.cluster_id.as_deref(), Some("1"), "recovered from the PVCs");
    assert_eq!(touched(&plan), ["create Pod"], "a member restarts on its volume");
}

#[test]
fn a_volume_that_is_terminating_keeps_its_finalizer() {
    let mut cluster = Replaced::new(restore(true, true));
    for (number, claim) in (0..).zip(&mut cluster.seen.claims) {
        let meta = &mut Arc::get_mut(claim).unwrap().meta;
        meta.finalizers = [api::UNSAVED_DATA.into()].into();
        meta.deleting = number == 0;
    }
    let mut cluster = cluster.stopped();
    assert_eq!(cluster.retired(), 3);
    let plan = cluster.reconcile(6);
    let released: Vec<&str> = plan
        .independent
        .iter()
        .filter(|apply| apply.manager_prefix == Some("held"))
        .map(|apply| &*apply.key.name)
        .collect();
    let others: Vec<&str> = cluster.seen.claims[1..].iter().map(|claim| &*claim.meta.key.name).collect();
    assert_eq!(released, others);
}

#[test]
fn an_edited_restore_waits_for_its_proof() {
    let mut cluster = Replaced::new(restore(true, true)).stopped();
    cluster.seen.restores = vec![restore(false, true)];
    assert!(touched(&cluster.reconcile(6)).is_empty());
    assert!(cluster.status.contract.condition("Ready").unwrap().message.contains("verified its snapshot again"));
}

#[test]
fn a_new_cluster_waits_for_the_restore_that_names_it() {
    let mut seen = observed(&json!({ "size": 3 }), &decided());
    seen.restores = vec![restore(false, false)];
    let plan = super::plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(touched(&plan).is_empty());
    assert_eq!(reason(&plan.status.unwrap(), "Ready").1, "Restoring");
    seen.restores = vec![restore(true, false)];
    let status = super::plan(&seen, Timestamp::UNIX_EPOCH).status.unwrap();
    assert_eq!(status.restore.map(|of| of.name), Some("r".to_owned()), "there is nothing to consent to");
}
