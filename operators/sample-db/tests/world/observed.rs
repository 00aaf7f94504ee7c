//! What is observed of a database after one read of the stores and one round of queries.

use std::sync::Arc;

use runtime::Error;
use runtime::cache::{CacheEntry, Projection as _};
use runtime::plan::Key;
use runtime::plan::meta::{INSTANCE, MANAGED_BY};
use runtime::projections::{Job, Pod, Pvc, Service, StatefulSet};
use sample_db::database::{InitSources, Observed, SecretState, ServerProbe};
use sample_db::snapshot::observed::Volume;
use sample_db::{SampleDB, Snapshot, snapshot};
use serde_json::{Value, json};

use crate::collector::Propagation;
use crate::crash_points::without_initial_backup;
use crate::faults::Step;
use crate::scenarios::{default_spec, settled};
use crate::simulation::Simulation;

fn database(sim: &Simulation) -> Arc<SampleDB> {
    let found = sim.manager.databases.databases.get(&sim.key).and_then(CacheEntry::into_object);
    found.expect("the stores hold it")
}

fn observe(sim: &mut Simulation) -> Result<Observed, Error> {
    sim.cluster.deliver_all_events();
    let db = database(sim);
    sim.manager.observe(&sim.cluster, &mut sim.infra, &db)
}

fn observed(sim: &mut Simulation) -> Observed {
    observe(sim).expect("all can be read")
}

fn observe_snapshot(sim: &mut Simulation, key: &Key) -> Result<snapshot::observed::Observed, Error> {
    sim.cluster.deliver_all_events();
    let snapshot = sim.manager.snapshots.snapshots.get(key).and_then(CacheEntry::into_object).expect("it is there");
    sim.manager.observe_snapshot(&sim.cluster, &mut sim.infra, &snapshot)
}

/// Drops everything that was read lately.
fn forget(sim: &mut Simulation) {
    sim.manager.restart(&mut sim.infra);
}

fn names<T>(all: &[Arc<T>], name: impl Fn(&T) -> &str) -> Vec<String> {
    all.iter().map(|one| name(one).to_owned()).collect()
}

fn hide(labels: &mut Value) {
    labels["metadata"]["labels"] = json!({});
}

/// The only snapshot.
fn only(sim: &Simulation) -> Key {
    sim.cluster.all(Snapshot::KIND).next().expect("there is one").0.clone()
}

#[test]
fn objects_of_another_namespace_are_not_taken() {
    let mut sim = settled(&default_spec());
    let elsewhere: Vec<_> = [Pvc::KIND, Pod::KIND, Job::KIND, StatefulSet::KIND, Snapshot::KIND, SampleDB::KIND]
        .into_iter()
        .flat_map(|kind| sim.cluster.all(kind).map(move |(key, object)| (kind, key.clone(), object.clone())))
        .map(|(kind, key, object)| (kind, Key::new("m", &format!("{}-m", key.name)), object))
        .collect();
    for (kind, key, object) in elsewhere {
        sim.cluster.create(kind, &key, object);
    }
    let observed = observed(&mut sim);
    assert_eq!(names(&observed.claims, |of| &of.meta.key.name), ["data-shop-0", "shop-snapshots"]);
    assert_eq!(names(&observed.pods, |of| &of.meta.key.name), ["shop-0"]);
    assert_eq!(names(&observed.servers, |of| &of.meta.key.name), ["shop"]);
    assert!(observed.snapshots.iter().all(|of| &*of.meta.key.namespace == "n"));
}

#[test]
fn what_cannot_be_read_is_not_taken_for_absent() {
    let mut sim = settled(&default_spec());
    let key = sim.key.clone();
    let claim = key.sibling("data-shop-0");
    let labels = sim.cluster.get(Pvc::KIND, &claim).expect("it is there")["metadata"]["labels"].clone();
    sim.cluster.edit(Pvc::KIND, &claim, hide);
    let observed_now = observed(&mut sim);
    assert!(observed_now.claim("data-shop-0").is_some(), "it is read by its name");
    forget(&mut sim);
    sim.infra.manager_memory.namespace = true;
    sim.infra.faults.reads_fail = true;
    assert!(observe(&mut sim).is_err(), "the claim may exist");
    sim.cluster.edit(Pvc::KIND, &claim, |claim| claim["metadata"]["labels"] = labels);
    let unknown = observed(&mut sim);
    assert!(
        matches!(unknown.superuser_secret, SecretState::Unknown(_))
            && matches!(unknown.app_secret, SecretState::Unknown(_))
    );
    assert!(unknown.catalog.is_err());
    sim.cluster.edit(Pod::KIND, &key.sibling("shop-0"), hide);
    assert!(observe(&mut sim).is_err(), "the pod may exist");
}

#[test]
fn an_absent_pod_is_not_read_again_at_once_except_before_a_deletion() {
    let mut sim = settled(&default_spec());
    let pod = sim.key.sibling("shop-0");
    sim.cluster.edit(Pod::KIND, &pod, hide);
    sim.infra.faults.reads_fail = true;
    assert!(observe(&mut sim).is_err());
    sim.infra.faults.reads_fail = false;
    assert!(observed(&mut sim).pod().is_some());
    sim.cluster.remove(Pod::KIND, &pod);
    assert!(observed(&mut sim).pod().is_none());
    sim.infra.faults.reads_fail = true;
    assert!(observed(&mut sim).pod().is_none(), "its absence is remembered for some seconds");
    sim.take(&Step::Delete(Propagation::Background));
    assert!(observe(&mut sim).is_err(), "by now it may be back");
}

#[test]
fn a_secret_of_another_owner_is_foreign() {
    let mut sim = settled(&default_spec());
    for (name, secret) in &mut sim.infra.secrets {
        secret.owner = Some("another".to_owned()).filter(|_| name.ends_with("-app"));
    }
    forget(&mut sim);
    let observed = observed(&mut sim);
    assert_eq!((observed.superuser_secret, observed.app_secret), (SecretState::Foreign, SecretState::Foreign));
    assert!(matches!(observed.probe, ServerProbe::Skipped));
}

#[test]
fn a_terminating_server_is_not_queried_and_gets_no_acts() {
    let mut sim = settled(&default_spec());
    assert!(observed(&mut sim).probe.info().is_some());
    let db = database(&sim);
    assert!(sim.manager.access(&sim.cluster, &mut sim.infra, &db).is_ok());
    sim.cluster.delete(Pod::KIND, &sim.key.sibling("shop-0"));
    assert!(matches!(observed(&mut sim).probe, ServerProbe::Skipped));
    assert!(sim.manager.access(&sim.cluster, &mut sim.infra, &db).is_err());
}

#[test]
fn jobs_of_an_earlier_database_of_the_name_are_left_out() {
    let mut sim = Simulation::new(&default_spec());
    while sim.cluster.get(Job::KIND, &sim.key.sibling("shop-init")).is_none() {
        sim.round();
    }
    sim.round();
    assert_eq!(observed(&mut sim).jobs.len(), 1);
    sim.cluster.edit(Job::KIND, &sim.key.sibling("shop-init"), |job| {
        job["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
    });
    let observed = observed(&mut sim);
    assert!(observed.jobs.is_empty());
    assert_eq!(names(&observed.pods, |of| &of.meta.key.name), ["shop-0"]);
}

#[test]
fn a_deletion_sees_the_pods_of_the_final_snapshot_and_a_stateful_set_without_labels() {
    let mut sim = settled(&without_initial_backup(default_spec()));
    assert!(observed(&mut sim).final_snapshot_pods.is_empty());
    sim.cluster.edit(StatefulSet::KIND, &sim.key.sibling("shop"), |set| {
        set["metadata"]["labels"][MANAGED_BY] = json!("edited");
        set["metadata"]["labels"][INSTANCE] = json!("edited");
    });
    sim.take(&Step::Delete(Propagation::Background));
    let mut saved = false;
    for _ in 0..200 {
        sim.round();
        if sim.object().is_none() {
            break;
        }
        let observed = observed(&mut sim);
        saved |= !observed.final_snapshot_pods.is_empty();
        let pod = observed.pods.iter().any(|pod| *pod.meta.key.name == *"shop-0" && !pod.meta.deleting);
        assert!(!pod || !observed.servers.is_empty(), "{}", sim.report());
    }
    assert!(saved, "{}", sim.report());
}

#[test]
fn the_pvc_of_a_snapshot_is_read_by_its_name_as_far_as_it_matters() {
    let mut sim = settled(&default_spec());
    let key = only(&sim);
    let claim = sim.key.sibling("shop-snapshots");
    let Ok(Volume::Claim { watched: true, terminating: false, .. }) =
        observe_snapshot(&mut sim, &key).map(|of| of.volume)
    else {
        panic!("the store holds it")
    };
    sim.cluster.edit(Pvc::KIND, &claim, hide);
    let read = |sim: &mut Simulation| observe_snapshot(sim, &key).map(|of| of.volume);
    assert!(matches!(read(&mut sim), Ok(Volume::Claim { watched: false, terminating: false, .. })));
    sim.infra.faults.reads_fail = true;
    assert!(matches!(read(&mut sim), Ok(Volume::Unknown)));
    sim.cluster.delete(Snapshot::KIND, &key);
    assert!(read(&mut sim).is_err(), "its files may be there");
    sim.infra.faults.reads_fail = false;
    sim.cluster.edit(Pvc::KIND, &claim, |claim| claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(matches!(read(&mut sim), Ok(Volume::Claim { terminating: true, .. })));
    sim.cluster.remove(Pvc::KIND, &claim);
    assert!(matches!(read(&mut sim), Ok(Volume::Absent)));
}

#[test]
fn a_namespace_that_assigns_users_is_known_to() {
    for dictates in [false, true] {
        let mut sim = Simulation::new(&default_spec());
        sim.infra.assigns_uids = dictates;
        sim.settle().unwrap_or_else(|why| panic!("{why}\n{}", sim.report()));
        assert_eq!(observed(&mut sim).namespace_assigns_uids, dictates);
        let key = only(&sim);
        assert_eq!(observe_snapshot(&mut sim, &key).map(|of| of.namespace_assigns_uids).ok(), Some(dictates));
    }
}

#[test]
fn initial_sql_that_cannot_be_read_is_not_taken_for_another() {
    let mut sim = Simulation::new(&default_spec());
    let digest = |sim: &mut Simulation| match observed(sim).init_sources {
        InitSources::Digest(digest) => digest,
        other => panic!("{other:?}"),
    };
    let one = digest(&mut sim);
    sim.infra.sql.0 = "two".to_owned();
    assert!(!one.is_empty() && digest(&mut sim) != one);
    sim.infra.faults.reads_fail = true;
    assert!(matches!(observed(&mut sim).init_sources, InitSources::Unknown(_)));
}

#[test]
fn a_pod_that_its_node_has_evicted_is_known_to_have_failed() {
    let mut sim = settled(&default_spec());
    let key = sim.key.sibling("shop-0");
    let ready = json!([{ "type": "Ready", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z" }]);
    let status = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory", "conditions": ready });
    sim.cluster.edit(Pod::KIND, &key, |pod| pod["status"] = status);
    assert_eq!(observed(&mut sim).pod_failure.as_deref(), Some("Evicted: low on memory"));
    sim.infra.faults.reads_fail = true;
    assert_eq!(observed(&mut sim).pod_failure, None, "it is not known to have failed");
}

#[test]
fn the_ports_of_a_service_that_is_published_are_known() {
    let mut spec = default_spec();
    spec["service"] = json!({ "type": "NodePort" });
    let mut sim = settled(&spec);
    sim.cluster.edit(Service::KIND, &sim.key.sibling("shop-rw"), |service| {
        service["spec"]["ports"][0]["nodePort"] = json!(30001);
    });
    assert_eq!(observed(&mut sim).external, [":30001"]);
    sim.round();
    sim.infra.faults.reads_fail = true;
    assert_eq!(observed(&mut sim).external, [":30001"], "what is known stays");
}

#[test]
fn a_manager_knows_since_when_it_observes() {
    let mut sim = settled(&default_spec());
    let began = observed(&mut sim).observing_since.expect("it observes");
    assert!(began < sim.infra.now);
    forget(&mut sim);
    assert_eq!(observed(&mut sim).observing_since, Some(sim.infra.now));
}

#[test]
fn a_pvc_that_is_known_to_be_absent_is_read_again_before_a_deletion() {
    let mut sim = settled(&default_spec());
    sim.cluster.remove(Pvc::KIND, &sim.key.sibling("data-shop-0"));
    assert!(observed(&mut sim).claim("data-shop-0").is_none());
    sim.infra.faults.reads_fail = true;
    assert!(observed(&mut sim).claim("data-shop-0").is_none(), "its absence is remembered for some seconds");
    sim.take(&Step::Delete(Propagation::Background));
    assert!(observe(&mut sim).is_err(), "by now it may be back");
}

#[test]
fn jobs_of_an_earlier_snapshot_of_the_name_are_left_out() {
    let mut sim = Simulation::new(&default_spec());
    let (snapshot, job) = loop {
        sim.round();
        let of_snapshot = |job: &Value| job["metadata"]["ownerReferences"][0]["kind"] == Snapshot::KIND.kind;
        let job = sim.cluster.all(Job::KIND).find(|(_, job)| of_snapshot(job)).map(|(key, _)| key.clone());
        if let Some(job) = job {
            break (only(&sim), job);
        }
    };
    let observed_now = |sim: &mut Simulation| {
        let observed = observe_snapshot(sim, &snapshot).expect("all can be read");
        (observed.jobs.len(), observed.pods.len())
    };
    while observed_now(&mut sim).1 == 0 {
        sim.round();
    }
    sim.cluster.edit(Job::KIND, &job, |job| job["metadata"]["ownerReferences"][0]["uid"] = json!("earlier"));
    assert_eq!(observed_now(&mut sim), (0, 0));
}
