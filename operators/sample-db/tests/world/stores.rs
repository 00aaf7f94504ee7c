//! The object store: the agent's commands for it, and what databases have of it.

use runtime::cache::Projection as _;
use runtime::projections::{Job, Pvc};
use runtime::testing::fault_injection::{ActAnswer, InjectedFault};
use sample_db::Snapshot;
use serde_json::{Value, json};

use crate::agent_commands::result_of;
use crate::collector::Propagation::Background;
use crate::crash_points::without_initial_backup;
use crate::fault_injection::{Scenario, inject_everywhere};
use crate::faults::Step;
use crate::infrastructure::{Infrastructure, claim_uid};
use crate::kubelet::{End, PodState, RETRY_TICKS, failure};
use crate::pods::KubeletPod;
use crate::scenarios::{default_spec, settle, settled};
use crate::settle::{condition, is};
use crate::simulation::Simulation;

impl Infrastructure {
    /// Why a command ends that needs the store, while that does not answer.
    fn store_failure(&self, state: &PodState) -> Option<Option<End>> {
        let gives_up = state.age > RETRY_TICKS;
        self.faults.store_away.then(|| if gives_up { failure("ConnectionFailed", "it does not answer") } else { None })
    }

    /// `pg-upload`.
    pub fn upload(&mut self, pod: &KubeletPod, state: &PodState) -> Option<End> {
        if let Some(end) = self.store_failure(state) {
            return end;
        }
        let snapshot = pod.flag("--snapshot")?;
        let Some(file) = self.file(pod, &snapshot) else { return failure("SnapshotMissing", "there is none") };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return failure("ChecksumMismatch", "it is not what was written");
        }
        let path = format!("{}/{}", pod.flag("--bucket")?, snapshot.rsplit('/').next()?);
        if state.age < 2 {
            return None;
        }
        self.disks.store.insert(path.clone(), file);
        Some((0, json!({ "path": path })))
    }

    /// `pg-download`.
    pub fn download(&mut self, pod: &KubeletPod, state: &PodState) -> Option<End> {
        if let Some(end) = self.store_failure(state) {
            return end;
        }
        let (from, to) = (pod.flag("--bucket")?, pod.flag("--to")?);
        let mut below =
            self.disks.store.iter().filter(|(path, _)| **path == from || path.starts_with(&format!("{from}/")));
        let Some((path, file)) = below.next_back().map(|(path, file)| (path.clone(), file.clone())) else {
            return failure("SnapshotMissing", "there is none");
        };
        if state.age < 2 {
            return None;
        }
        let mut result = result_of(&file);
        let kind = if file.physical { "Physical" } else { "Logical" };
        for (field, value) in
            [("from", json!(path)), ("kind", json!(kind)), ("database", json!("app")), ("verified", json!(true))]
        {
            result[field] = value;
        }
        let volume = self.snapshots.get(&pod.uid).cloned()?;
        self.disks.volume(&volume).files.insert(to.rsplit('/').next()?.to_owned(), file);
        Some((0, result))
    }

    /// The part of `pg-prune` that needs the store.
    pub fn remove_copy(&mut self, pod: &KubeletPod, state: &PodState, name: &str) -> Option<End> {
        if let Some(prefix) = pod.flag("--bucket") {
            if let Some(end) = self.store_failure(state) {
                return end;
            }
            self.disks.store.remove(&format!("{prefix}/{name}"));
        }
        Some((0, json!({ "removed": 1 })))
    }
}

fn store(path: &str) -> Value {
    json!({ "s3": { "path": path, "awsSecret": "aws" } })
}

fn with_store() -> Value {
    let mut spec = without_initial_backup(default_spec());
    spec["backup"]["store"] = store("b/shop");
    spec
}

fn copies(sim: &Simulation) -> Vec<String> {
    sim.cluster.all(Snapshot::KIND).map(|(_, of)| of["status"]["store"]["phase"].to_string()).collect()
}

/// Creates the snapshot `from-store` and the database `copy` that begins with it.
fn import(sim: &mut Simulation) {
    let spec = json!({ "sampleDB": "copy", "fromStore": store("b/shop") });
    let key = sim.key.sibling("from-store");
    sim.cluster.create(Snapshot::KIND, &key, json!({ "metadata": {}, "spec": spec }));
    let rows = sim.infra.disks.store.values().next_back().map(|file| file.data.rows.clone()).unwrap_or_default();
    sim.infra.acked.insert("copy".to_owned(), rows);
    let mut spec = default_spec();
    spec["bootstrap"] = json!({ "fromSnapshot": { "name": "from-store" } });
    sim.create(&sim.key.sibling("copy"), &spec, &json!({}));
}

#[test]
fn a_database_comes_back_from_the_store_alone() {
    let mut sim = settled(&with_store());
    sim.take(&Step::CreateSnapshot { physical: false });
    settle(&mut sim);
    assert_eq!((copies(&sim), sim.infra.disks.store.len()), (vec!["\"Stored\"".to_owned()], 1), "{}", sim.report());
    let uploaded = sim.infra.disks.store.values().next().expect("a copy").data.rows.clone();
    // All that the cluster has of it is lost, but for the object of its final snapshot.
    sim.take(&Step::Delete(Background));
    settle(&mut sim);
    let snapshots: Vec<_> = sim.cluster.all(Snapshot::KIND).map(|(key, _)| key.clone()).collect();
    for key in snapshots {
        sim.cluster.remove(Snapshot::KIND, &key);
    }
    let (last, _) =
        sim.infra.disks.store.iter().next_back().map(|(path, file)| (path.clone(), file.clone())).expect("copies");
    assert_eq!(sim.infra.disks.store.len(), 2, "the final one is uploaded, too\n{}", sim.report());
    sim.cluster.remove(Pvc::KIND, &sim.key.sibling("shop-snapshots"));
    sim.infra.disks.volumes.clear();
    import(&mut sim);
    settle(&mut sim);
    let imported = sim.cluster.get(Snapshot::KIND, &sim.key.sibling("from-store")).expect("it is there");
    assert_eq!(
        imported["status"]["store"],
        json!({ "phase": "Imported", "path": last, "at": imported["status"]["store"]["at"] })
    );
    let copy = sim.cluster.get(sample_db::SampleDB::KIND, &sim.key.sibling("copy")).expect("it is there");
    assert!(is(copy, "Ready"), "{}", sim.report());
    let volume = claim_uid(&sim.cluster, &sim.key.sibling("data-copy-0")).expect("it is there");
    let rows = &sim.infra.disks.data(&volume).expect("it has data").rows;
    assert!(!uploaded.is_empty() && rows.is_superset(&uploaded), "{}", sim.report());
}

#[test]
fn a_store_that_is_away_costs_nothing_and_gets_what_it_missed() {
    let mut sim = settled(&with_store());
    sim.infra.faults.store_away = true;
    sim.take(&Step::CreateSnapshot { physical: false });
    sim.take(&Step::Rounds(60));
    let db = sim.object().expect("it is there");
    assert_eq!(condition(db, "BackupHealthy")["reason"], "UploadFailed", "{}", sim.report());
    assert!(is(db, "Ready") && sim.infra.disks.store.is_empty(), "{}", sim.report());
    let attempts =
        sim.cluster.all(Snapshot::KIND).next().expect("it is there").1["status"]["store"]["failures"].as_i64();
    assert!(attempts.is_some_and(|attempts| (1..6).contains(&attempts)), "it pauses between attempts: {attempts:?}");
    sim.infra.faults.store_away = false;
    settle(&mut sim);
    assert_eq!(copies(&sim), ["\"Stored\""], "{}", sim.report());
    assert!(is(sim.object().expect("it is there"), "BackupHealthy"), "{}", sim.report());

    sim.take(&Step::DeleteSnapshot(0));
    settle(&mut sim);
    assert!(sim.infra.disks.store.is_empty() && sim.cluster.all(Job::KIND).count() == 0, "{}", sim.report());
}

fn scenarios() -> Vec<Scenario> {
    vec![Scenario {
        name: "an upload",
        spec: with_store(),
        before: Some(vec![]),
        steps: vec![Step::CreateSnapshot { physical: true }, Step::UntilSettled, Step::DeleteSnapshot(0)],
    }]
}

#[test]
fn the_manager_crashes_at_every_boundary_of_an_upload() {
    inject_everywhere(scenarios(), InjectedFault::Crash);
}

#[test]
fn an_answer_is_lost_at_every_act_of_an_upload() {
    inject_everywhere(scenarios(), InjectedFault::Answer(ActAnswer::Lost));
}
