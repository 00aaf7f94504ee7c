//! What is known of a database after one look at the stores and one round of queries.

use std::sync::Arc;

use runtime::Error;
use runtime::cache::{Entry, Projection as _};
use runtime::plan::Key;
use runtime::plan::meta::{INSTANCE, MANAGED_BY};
use runtime::projections::{Claim, Job, Pod, Service, StatefulSet};
use sample_db::database::{Asked, InitSources, Observed, SecretSeen};
use sample_db::snapshot::observed::Volume;
use sample_db::{SampleDB, Snapshot, snapshot};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::boundaries::quiet;
use crate::collector::Propagation;
use crate::faults::Step;
use crate::stories::{settled, usual};

fn database(bench: &Bench) -> Arc<SampleDB> {
    let found = bench.manager.databases.databases.get(&bench.key).and_then(Entry::into_object);
    found.expect("the stores hold it")
}

fn observe(bench: &mut Bench) -> Result<Observed, Error> {
    bench.world.deliver_all();
    let db = database(bench);
    bench.manager.observe(&bench.world, &mut bench.site, &db)
}

fn observed(bench: &mut Bench) -> Observed {
    observe(bench).expect("all can be read")
}

fn observe_snapshot(bench: &mut Bench, key: &Key) -> Result<snapshot::observed::Observed, Error> {
    bench.world.deliver_all();
    let snapshot = bench.manager.snapshots.snapshots.get(key).and_then(Entry::into_object).expect("it is there");
    bench.manager.observe_snapshot(&bench.world, &mut bench.site, &snapshot)
}

/// All that was read lately is read again.
fn forget(bench: &mut Bench) {
    bench.manager.restart(&mut bench.site);
}

fn names<T>(all: &[Arc<T>], name: impl Fn(&T) -> &str) -> Vec<String> {
    all.iter().map(|one| name(one).to_owned()).collect()
}

fn hide(labels: &mut Value) {
    labels["metadata"]["labels"] = json!({});
}

/// The only snapshot.
fn only(bench: &Bench) -> Key {
    bench.world.all(Snapshot::KIND).next().expect("there is one").0.clone()
}

#[test]
fn objects_of_another_namespace_are_not_taken() {
    let mut bench = settled(&usual());
    let elsewhere: Vec<_> = [Claim::KIND, Pod::KIND, Job::KIND, StatefulSet::KIND, Snapshot::KIND, SampleDB::KIND]
        .into_iter()
        .flat_map(|kind| bench.world.all(kind).map(move |(key, object)| (kind, key.clone(), object.clone())))
        .map(|(kind, key, object)| (kind, Key::new("m", &format!("{}-m", key.name)), object))
        .collect();
    for (kind, key, object) in elsewhere {
        bench.world.create(kind, &key, object);
    }
    let observed = observed(&mut bench);
    assert_eq!(names(&observed.claims, |of| &of.meta.key.name), ["data-shop-0", "shop-snapshots"]);
    assert_eq!(names(&observed.pods, |of| &of.meta.key.name), ["shop-0"]);
    assert_eq!(names(&observed.servers, |of| &of.meta.key.name), ["shop"]);
    assert!(observed.snapshots.iter().all(|of| &*of.meta.key.namespace == "n"));
}

#[test]
fn what_cannot_be_read_is_not_taken_for_absent() {
    let mut bench = settled(&usual());
    let key = bench.key.clone();
    let claim = key.sibling("data-shop-0");
    let labels = bench.world.get(Claim::KIND, &claim).expect("it is there")["metadata"]["labels"].clone();
    bench.world.edit(Claim::KIND, &claim, hide);
    let seen = observed(&mut bench);
    assert!(seen.claim("data-shop-0").is_some(), "it is read by its name");
    forget(&mut bench);
    bench.site.held.namespace = true;
    bench.site.faults.blind = true;
    assert!(observe(&mut bench).is_err(), "the claim may exist");
    bench.world.edit(Claim::KIND, &claim, |claim| claim["metadata"]["labels"] = labels);
    let unknown = observed(&mut bench);
    assert!(matches!(unknown.system, SecretSeen::Unknown(_)) && matches!(unknown.app, SecretSeen::Unknown(_)));
    assert!(unknown.catalog.is_err());
    bench.world.edit(Pod::KIND, &key.sibling("shop-0"), hide);
    assert!(observe(&mut bench).is_err(), "the pod may exist");
}

#[test]
fn what_was_read_in_vain_is_not_read_again_at_once_but_before_a_deletion() {
    let mut bench = settled(&usual());
    let pod = bench.key.sibling("shop-0");
    bench.world.edit(Pod::KIND, &pod, hide);
    bench.site.faults.blind = true;
    assert!(observe(&mut bench).is_err());
    bench.site.faults.blind = false;
    assert!(observed(&mut bench).pod().is_some());
    bench.world.remove(Pod::KIND, &pod);
    assert!(observed(&mut bench).pod().is_none());
    bench.site.faults.blind = true;
    assert!(observed(&mut bench).pod().is_none(), "it is known to be gone for some seconds");
    bench.take(&Step::Delete(Propagation::Background));
    assert!(observe(&mut bench).is_err(), "by now it may be back");
}

#[test]
fn a_secret_of_another_owner_is_foreign() {
    let mut bench = settled(&usual());
    for (name, secret) in &mut bench.site.secrets {
        secret.owner = Some("another".to_owned()).filter(|_| name.ends_with("-app"));
    }
    forget(&mut bench);
    let observed = observed(&mut bench);
    assert_eq!((observed.system, observed.app), (SecretSeen::Foreign, SecretSeen::Foreign));
    assert!(matches!(observed.asked, Asked::Nothing));
}

#[test]
fn a_server_that_terminates_is_not_asked_and_gets_no_acts() {
    let mut bench = settled(&usual());
    assert!(observed(&mut bench).asked.answer().is_some());
    let db = database(&bench);
    assert!(bench.manager.access(&bench.world, &mut bench.site, &db).is_ok());
    bench.world.begin_removal(Pod::KIND, &bench.key.sibling("shop-0"));
    assert!(matches!(observed(&mut bench).asked, Asked::Nothing));
    assert!(bench.manager.access(&bench.world, &mut bench.site, &db).is_err());
}

#[test]
fn jobs_of_an_earlier_database_of_the_name_are_left_out() {
    let mut bench = Bench::new(&usual());
    while bench.world.get(Job::KIND, &bench.key.sibling("shop-init")).is_none() {
        bench.round();
    }
    bench.round();
    assert_eq!(observed(&mut bench).jobs.len(), 1);
    bench.world.edit(Job::KIND, &bench.key.sibling("shop-init"), |job| {
        job["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
    });
    let observed = observed(&mut bench);
    assert!(observed.jobs.is_empty());
    assert_eq!(names(&observed.pods, |of| &of.meta.key.name), ["shop-0"]);
}

#[test]
fn a_deletion_sees_the_pods_of_the_final_snapshot_and_a_stateful_set_without_labels() {
    let mut bench = settled(&quiet(usual()));
    assert!(observed(&mut bench).saving.is_empty());
    bench.world.edit(StatefulSet::KIND, &bench.key.sibling("shop"), |set| {
        set["metadata"]["labels"][MANAGED_BY] = json!("edited");
        set["metadata"]["labels"][INSTANCE] = json!("edited");
    });
    bench.take(&Step::Delete(Propagation::Background));
    let mut saved = false;
    for _ in 0..200 {
        bench.round();
        if bench.object().is_none() {
            break;
        }
        let observed = observed(&mut bench);
        saved |= !observed.saving.is_empty();
        let pod = observed.pods.iter().any(|pod| *pod.meta.key.name == *"shop-0" && !pod.meta.deleting);
        assert!(!pod || !observed.servers.is_empty(), "{}", bench.story());
    }
    assert!(saved, "{}", bench.story());
}

#[test]
fn the_claim_of_a_snapshot_is_read_by_its_name_as_far_as_it_matters() {
    let mut bench = settled(&usual());
    let key = only(&bench);
    let claim = bench.key.sibling("shop-snapshots");
    let Ok(Volume::Claim { watched: true, leaving: false, .. }) =
        observe_snapshot(&mut bench, &key).map(|of| of.volume)
    else {
        panic!("the store holds it")
    };
    bench.world.edit(Claim::KIND, &claim, hide);
    let read = |bench: &mut Bench| observe_snapshot(bench, &key).map(|of| of.volume);
    assert!(matches!(read(&mut bench), Ok(Volume::Claim { watched: false, leaving: false, .. })));
    bench.site.faults.blind = true;
    assert!(matches!(read(&mut bench), Ok(Volume::Unknown)));
    bench.world.begin_removal(Snapshot::KIND, &key);
    assert!(read(&mut bench).is_err(), "its files may be there");
    bench.site.faults.blind = false;
    bench
        .world
        .edit(Claim::KIND, &claim, |claim| claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(matches!(read(&mut bench), Ok(Volume::Claim { leaving: true, .. })));
    bench.world.remove(Claim::KIND, &claim);
    assert!(matches!(read(&mut bench), Ok(Volume::Absent)));
}

#[test]
fn a_namespace_that_dictates_users_is_known_to() {
    for dictates in [false, true] {
        let mut bench = Bench::new(&usual());
        bench.site.assigns_uids = dictates;
        bench.settle().unwrap_or_else(|why| panic!("{why}\n{}", bench.story()));
        assert_eq!(observed(&mut bench).namespace_assigns_uids, dictates);
        let key = only(&bench);
        assert_eq!(observe_snapshot(&mut bench, &key).map(|of| of.namespace_assigns_uids).ok(), Some(dictates));
    }
}

#[test]
fn initial_sql_that_cannot_be_read_is_not_taken_for_another() {
    let mut bench = Bench::new(&usual());
    let digest = |bench: &mut Bench| match observed(bench).init_sources {
        InitSources::Digest(digest) => digest,
        other => panic!("{other:?}"),
    };
    let one = digest(&mut bench);
    bench.site.sql.0 = "two".to_owned();
    assert!(!one.is_empty() && digest(&mut bench) != one);
    bench.site.faults.blind = true;
    assert!(matches!(observed(&mut bench).init_sources, InitSources::Unknown(_)));
}

#[test]
fn a_pod_that_its_node_has_evicted_is_known_to_have_failed() {
    let mut bench = settled(&usual());
    let key = bench.key.sibling("shop-0");
    let ready = json!([{ "type": "Ready", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z" }]);
    let status = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory", "conditions": ready });
    bench.world.edit(Pod::KIND, &key, |pod| pod["status"] = status);
    assert_eq!(observed(&mut bench).failed.as_deref(), Some("Evicted: low on memory"));
    bench.site.faults.blind = true;
    assert_eq!(observed(&mut bench).failed, None, "it is not known to have failed");
}

#[test]
fn the_ports_of_a_service_that_is_published_are_known() {
    let mut spec = usual();
    spec["service"] = json!({ "type": "NodePort" });
    let mut bench = settled(&spec);
    bench.world.edit(Service::KIND, &bench.key.sibling("shop-rw"), |service| {
        service["spec"]["ports"][0]["nodePort"] = json!(30001);
    });
    assert_eq!(observed(&mut bench).external, [":30001"]);
    bench.round();
    bench.site.faults.blind = true;
    assert_eq!(observed(&mut bench).external, [":30001"], "what is known stays");
}

#[test]
fn a_manager_knows_since_when_it_observes() {
    let mut bench = settled(&usual());
    let began = observed(&mut bench).began.expect("it observes");
    assert!(began < bench.site.now);
    forget(&mut bench);
    assert_eq!(observed(&mut bench).began, Some(bench.site.now));
}

#[test]
fn a_claim_that_is_known_to_be_gone_is_read_again_before_a_deletion() {
    let mut bench = settled(&usual());
    bench.world.remove(Claim::KIND, &bench.key.sibling("data-shop-0"));
    assert!(observed(&mut bench).claim("data-shop-0").is_none());
    bench.site.faults.blind = true;
    assert!(observed(&mut bench).claim("data-shop-0").is_none(), "it is known to be gone for some seconds");
    bench.take(&Step::Delete(Propagation::Background));
    assert!(observe(&mut bench).is_err(), "by now it may be back");
}

#[test]
fn jobs_of_an_earlier_snapshot_of_the_name_are_left_out() {
    let mut bench = Bench::new(&usual());
    let (snapshot, job) = loop {
        bench.round();
        let of_snapshot = |job: &Value| job["metadata"]["ownerReferences"][0]["kind"] == Snapshot::KIND.kind;
        let job = bench.world.all(Job::KIND).find(|(_, job)| of_snapshot(job)).map(|(key, _)| key.clone());
        if let Some(job) = job {
            break (only(&bench), job);
        }
    };
    let seen = |bench: &mut Bench| {
        let observed = observe_snapshot(bench, &snapshot).expect("all can be read");
        (observed.jobs.len(), observed.pods.len())
    };
    while seen(&mut bench).1 == 0 {
        bench.round();
    }
    bench.world.edit(Job::KIND, &job, |job| job["metadata"]["ownerReferences"][0]["uid"] = json!("earlier"));
    assert_eq!(seen(&mut bench), (0, 0));
}
