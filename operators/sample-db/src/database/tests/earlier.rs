//! What an earlier database of the name left: Jobs and snapshots, which are found by labels and names without a UID.

use runtime::job::earlier;
use runtime::projections::Job;

use super::backups::serving;
use super::*;
use crate::database::backup;
use crate::operand::names;

fn job(name: &str, owner: Option<&str>) -> Arc<Job> {
    let reference = |uid| json!({ "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": uid, "controller": true });
    let owners: Vec<Value> = owner.map(reference).into_iter().collect();
    let job = json!({ "metadata": { "namespace": "n", "name": name, "uid": format!("{name}-{owner:?}"), "ownerReferences": owners },
        "status": { "conditions": [{ "type": "Complete", "status": "True" }] } });
    Arc::new(Job::decode(&job.to_string()).unwrap())
}

fn pod_of(job: &Job) -> Arc<Pod> {
    let name = &job.meta.key.name;
    let owners =
        json!([{ "apiVersion": "batch/v1", "kind": "Job", "name": **name, "uid": *job.meta.uid, "controller": true }]);
    let labels = json!({ "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": **name });
    let pod = json!({ "metadata": { "namespace": "n", "name": *job.meta.uid, "uid": *job.meta.uid, "labels": labels,
        "ownerReferences": owners } });
    Arc::new(Pod::decode(&pod.to_string()).unwrap())
}

#[test]
fn jobs_and_pods_of_an_earlier_object_of_the_name_do_not_count() {
    let (foreign, own, unowned) = (job("restore", Some("u-0")), job("init", Some("u-1")), job("prune", None));
    let all = [&foreign, &own, &unowned];
    let (mut jobs, mut pods) = (all.map(Arc::clone).to_vec(), all.map(|job| pod_of(job)).to_vec());
    earlier::remove_jobs_of_others("u-1", &mut jobs, &mut pods);
    let names = |keys: Vec<&str>| keys.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(jobs.iter().map(|job| job.meta.key.name.to_string()).collect::<Vec<_>>(), names(vec!["init", "prune"]));
    let left = [&own, &unowned].map(|job| job.meta.uid.to_string());
    assert_eq!(pods.iter().map(|pod| pod.meta.uid.to_string()).collect::<Vec<_>>(), left);
}

/// It was deleted and recreated within the minute in which its first snapshot was taken.
#[test]
fn the_first_snapshot_of_an_earlier_database_is_not_mistaken_for_this_ones() {
    let mut seen = serving(&json!({ "backup": { "schedule": "30 * * * *" } }), &json!({}));
    let first = |uid: &str| {
        let snapshot = json!({ "metadata": { "namespace": "n", "name": "shop-2701150800", "uid": "s" },
            "spec": { "sampleDB": "shop", "sampleDBUID": uid, "reason": "Scheduled" }, "status": { "phase": "Ready" } });
        Arc::new(Snapshot::decode(&snapshot.to_string()).unwrap())
    };
    for (uid, taken) in [("u-0", false), ("u-1", true)] {
        seen.snapshots = vec![first(uid)];
        let backups = backup::decide(&seen, now());
        assert_eq!(backup::status(&seen, &backups).last_scheduled.is_some(), taken, "{uid}");
        assert_eq!(matches!(backups.effect, Some(Effect::Create(_))), !taken, "{uid}");
    }
    let mut restored = (*seen.db).clone();
    restored.status.storage.adopted_from = vec!["u-0".to_owned()];
    (seen.db, seen.snapshots) = (Arc::new(restored), vec![first("u-0")]);
    assert!(backup::decide(&seen, now()).effect.is_none(), "its data belongs to this one");
}

/// Nothing starts a snapshot of a deleted database, even if its data was adopted.
#[test]
fn pending_snapshots_of_an_earlier_database_do_not_block_those_of_this_one() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let of = |name: &str, status: Value| {
        let snapshot = json!({ "metadata": { "namespace": "n", "name": name, "uid": name },
            "spec": { "sampleDB": "shop", "sampleDBUID": "u-0", "reason": "Scheduled" }, "status": status });
        Arc::new(Snapshot::decode(&snapshot.to_string()).unwrap())
    };
    let created = |backup: &Value, snapshots: Vec<Arc<Snapshot>>| {
        let mut seen = serving(&hourly, backup);
        let mut adopter = (*seen.db).clone();
        adopter.status.storage.adopted_from = vec!["u-0".to_owned()];
        (seen.db, seen.snapshots) = (Arc::new(adopter), snapshots);
        matches!(backup::decide(&seen, now()).effect, Some(Effect::Create(_)))
    };
    let pending = || vec![of("one", json!({ "phase": "Pending" })), of("two", json!({}))];
    assert!(created(&json!({ "lastScheduled": "2027-01-15T06:30:00Z" }), pending()));
    assert!(created(&json!({}), pending()), "none of them is the first");
    assert!(created(&json!({}), vec![of("bad", json!({ "phase": "Failed", "completedAt": "2027-01-15T06:30:00Z" }))]));
    assert!(!created(&json!({}), vec![of("good", json!({ "phase": "Ready", "completedAt": "2027-01-15T06:30:00Z" }))]));
}

/// By these names no database may have its snapshots on the data of another.
#[test]
fn pvcs_of_data_are_distinguished_from_those_of_snapshots_whatever_the_names() {
    assert!(["data-shop-0", "data-shop-17", "data-data-shop-0"].iter().all(|claim| names::is_data_claim(claim)));
    assert!(
        !["data-shop-snapshots", "shop-snapshots", "data-0", "mine"].iter().any(|claim| names::is_data_claim(claim))
    );
}
