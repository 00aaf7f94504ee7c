//! All volumes are lost, and an EtcdBackup has backups of the cluster.

use api::etcd_cluster::MemberRole;

use super::*;
use crate::{EtcdBackup, EtcdRestore};

const ENTRY: &str = "nightly-2";

/// An EtcdBackup that has backups of these clusters, one a day.
fn backup(of: &[&str]) -> Arc<EtcdBackup> {
    let entry = |(index, id): (usize, &&str)| {
        let (name, taken) = (format!("nightly-{}", index + 1), format!("2026-01-0{}T00:00:00Z", index + 1));
        // A recovery may have lost the latest revisions.
        json!({ "name": name, "clusterID": id, "revision": 9 - index, "sha256": "ab", "takenAt": taken })
    };
    let entries: Vec<Value> = of.iter().enumerate().map(entry).rev().collect();
    let object = json!({
        "metadata": { "namespace": "n", "name": "nightly", "uid": "u-b" },
        "spec": { "clusterRef": { "name": "c" }, "pvc": { "claimName": "store" } },
        "status": { "backups": entries },
    });
    Arc::new(EtcdBackup::decode(&object.to_string()).unwrap())
}

/// What the operator has created, as the API server has it, with that status.
fn created(plan: &EtcdPlan, status: &Value) -> Arc<EtcdRestore> {
    let Some(Effect::Create(create)) = plan.effects.last() else { panic!("{:?}", plan.effects) };
    let mut object = create.body.clone();
    object["metadata"]["uid"] = json!("u-r");
    object["metadata"]["generation"] = json!(1);
    object["status"] = status.clone();
    Arc::new(EtcdRestore::decode(&object.to_string()).unwrap())
}

fn verified() -> Value {
    let source = json!({ "claimName": "store", "file": "nightly/nightly-2.db" });
    json!({
        "backup": { "generation": 1, "name": ENTRY, "source": source },
        "verified": { "generation": 1, "revision": 2, "sha256": "ab" },
    })
}

fn automatic() -> Lost {
    let mut lost = Lost::of(&json!({ "size": 3, "recovery": { "policy": "Automatic", "delaySeconds": 120 } }));
    lost.seen.backups = vec![backup(&["1", "1", "other"])];
    lost
}

/// The operator decides, and has created its EtcdRestore, which is verified.
fn requested() -> Lost {
    let mut lost = automatic().without_volumes(&NAMES);
    let plan = lost.reconcile(400);
    lost.seen.restores = vec![created(&plan, &verified())];
    lost
}

#[test]
fn the_condition_has_the_command_for_the_newest_backup_of_this_very_cluster() {
    let mut lost = Lost::new().without_volumes(&NAMES);
    lost.reconcile(LOST);
    assert!(message(&lost.status).contains("no EtcdBackup has a backup of the cluster 1"), "{}", message(&lost.status));
    lost.seen.backups = vec![backup(&["1", "1", "other"])];
    assert!(touched(&lost.reconcile(4000)).is_empty(), "a user decides");
    let message = message(&lost.status);
    let (_, command) = message.split_once("echo '").expect(message);
    let (object, _) = command.split_once("' | kubectl create -f -").expect(message);
    let object: Value = serde_json::from_str(object).unwrap();
    assert_eq!(object["metadata"], json!({ "generateName": "restore-", "namespace": "n" }));
    assert_eq!(object["spec"]["etcdBackup"], json!({ "name": "nightly", "backup": ENTRY }));
    assert_eq!(
        (&object["spec"]["replaceClusterID"], &object["spec"]["etcdCluster"]["name"]),
        (&json!("1"), &json!("c"))
    );
}

#[test]
fn by_policy_the_operator_creates_the_restore_which_waits_for_its_verification() {
    let mut lost = automatic().without_volumes(&NAMES);
    assert!(touched(&lost.reconcile(LOST)).is_empty());
    assert!(message(&lost.status).contains("120 s after the loss of quorum"), "{}", message(&lost.status));
    let plan = lost.reconcile(400);
    assert_eq!(touched(&plan), ["create recovery-1"]);
    let restore = created(&plan, &json!({}));
    assert!(restore.meta.controlled_by("u"), "it is deleted together with the cluster");
    let named = restore.spec.etcd_backup.as_ref().map(|of| (&*of.name, of.backup.as_deref()));
    assert_eq!((named, restore.spec.replace_cluster_id.as_deref()), (Some(("nightly", Some(ENTRY))), Some("1")));
    lost.seen.restores = vec![restore];
    assert!(touched(&lost.reconcile(401)).is_empty());
    assert!(
        message(&lost.status).contains("EtcdRestore recovery-1 begins the cluster again"),
        "{}",
        message(&lost.status)
    );
    lost.seen.restores = vec![created(&plan, &verified())];
    lost.reconcile(402);
    assert_eq!(lost.status.restore.as_ref().map(|of| &*of.name), Some("recovery-1"));
}

#[test]
fn while_any_volume_may_be_left_no_backup_is_restored() {
    let [a, b, _] = NAMES;
    let mut one_left = automatic().without_volumes(&[a, b]);
    assert_eq!((touched(&one_left.reconcile(400)).len(), one_left.recovery().from.as_str()), (0, NAMES[2]));
    let mut silent = automatic().silent(&NAMES);
    assert!(touched(&silent.reconcile(400)).is_empty());
    // A learner may have the only copy.
    let mut learns = requested();
    let learner = NAMES[2];
    learns.status.member_statuses.iter_mut().find(|of| of.name == learner).unwrap().role = MemberRole::Learner;
    learns.seen.claims =
        three(&json!({ "size": 3 })).claims.into_iter().filter(|of| *of.meta.key.name == *learner).collect();
    learns.reconcile(401);
    assert_eq!(learns.status.restore, None);
    // One that was about to join has none.
    let mut joins = learns;
    let joining = joins.status.member_statuses.iter_mut().find(|of| of.name == learner).unwrap();
    (joining.role, joining.id) = (MemberRole::Joining, None);
    joins.reconcile(402);
    assert!(joins.status.restore.is_some());
    let mut ephemeral = automatic().without_volumes(&NAMES);
    ephemeral.status.storage = Some(api::etcd_cluster::EtcdStorageStatus { durable: false });
    assert!(touched(&ephemeral.reconcile(400)).iter().all(|what| !what.contains("recovery-1")));
}

/// All pods were lost together, and the disks behind them. They start one after the other.
#[test]
fn by_policy_the_cluster_continues_only_with_a_member_that_has_started() {
    let [a, b, c] = NAMES;
    let mut late = automatic().without_volumes(&[a, b]);
    late.pod(c, |details| details.containers.iter_mut().for_each(|container| container.running = false));
    late.seen.etcd.endpoints.insert(c.into(), Err("refuses connections".to_owned()));
    late.reconcile(400);
    assert_eq!(late.status.recovery, None, "its volume may be empty, too");
    late.pod(c, |details| details.containers.iter_mut().for_each(|container| container.running = true));
    late.reconcile(401);
    assert_eq!(late.recovery().from, c);
}

/// A user has chosen it, or its disk was replaced since.
#[test]
fn a_recovery_whose_member_has_lost_its_data_is_canceled_and_the_backup_is_next() {
    let [a, b, c] = NAMES;
    let mut lost = automatic().without_volumes(&[a, b]);
    lost.reconcile(400);
    assert_eq!(lost.recovery().from, c);
    lost.pod(c, |details| {
        details.annotations.insert(objects::START.to_owned(), "recover".to_owned());
        let failure = json!({ "reason": "DataMissing", "message": "its data is missing" }).to_string();
        for container in details.containers.iter_mut().filter(|container| *container.name == *objects::ETCD) {
            container.running = false;
            container.terminated = Some(runtime::projections::Terminated { code: 3, message: failure.clone().into() });
        }
    });
    lost.seen.etcd.endpoints.insert(c.into(), Err("refuses connections".to_owned()));
    assert!(touched(&lost.reconcile(401)).is_empty());
    assert_eq!(lost.recovery().outcome, Some(RecoveryOutcome::Canceled));
    assert_eq!(touched(&lost.reconcile(402)), [format!("delete {c}")], "it would continue alone if its data came back");
    lost.pod(c, |details| drop(details.annotations.remove(objects::START)));
    assert_eq!(touched(&lost.reconcile(403)), ["create recovery-1"]);
}

/// It must not begin a cluster again that works.
#[test]
fn the_restore_of_the_operator_is_withdrawn_once_quorum_has_returned_or_users_decide() {
    let mut returned = requested();
    let mut healthy = automatic();
    healthy.seen.etcd.members = three(&json!({ "size": 3 })).etcd.members;
    (returned.seen.etcd, returned.seen.pods, returned.seen.claims) =
        (healthy.seen.etcd, healthy.seen.pods, healthy.seen.claims);
    assert!(touched(&returned.reconcile(401)).contains(&"delete recovery-1".to_owned()));
    assert_eq!(returned.status.restore, None);

    let mut manual = requested();
    manual.spec = json!({ "size": 3 });
    assert!(touched(&manual.reconcile(401)).contains(&"delete recovery-1".to_owned()));
    assert_eq!(manual.status.restore, None);

    // A volume is back, whose member may answer.
    let mut found = requested();
    found.seen.claim_lookups.absent.remove(NAMES[0]);
    assert!(touched(&found.reconcile(401)).is_empty());
    assert_eq!(found.status.restore, None);
}

/// A user has begun the cluster again from another backup, or restores one at the same time.
#[test]
fn the_restore_of_the_operator_is_withdrawn_next_to_those_of_users() {
    let user = || {
        let mut user = EtcdRestore::clone(&requested().seen.restores[0]);
        (user.meta.controller, user.meta.uid, user.meta.key) = (None, "u-a".into(), user.meta.key.sibling("a"));
        Arc::new(user)
    };
    let mut both = requested();
    both.seen.restores.insert(0, user());
    both.spec = json!({ "size": 3 });
    assert!(touched(&both.reconcile(401)).contains(&"delete recovery-1".to_owned()));
    let mut other = requested();
    other.status.cluster_id = Some("2".to_owned());
    assert!(
        touched(&other.reconcile(401)).contains(&"delete recovery-1".to_owned()),
        "it names a cluster that is gone"
    );
    let mut paused = requested();
    paused.spec = json!({ "size": 3, "paused": true });
    assert!(touched(&paused.reconcile(401)).is_empty());
}

/// That one has the consent of a user.
#[test]
fn the_restore_of_a_user_stays() {
    let mut lost = requested();
    let user = Arc::get_mut(&mut lost.seen.restores[0]).unwrap();
    user.meta.controller = None;
    lost.spec = json!({ "size": 3 });
    lost.reconcile(401);
    assert!(lost.status.restore.is_some());
}
