//! Somebody deletes the object, its claims and its pods, in every order: nothing goes that is not saved.

use runtime::cache::Projection as _;
use runtime::projections::Claim;
use sample_db::SampleDB;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::boundaries::quiet;
use crate::collector::Propagation::{self, Background, Foreground};
use crate::collector::delete;
use crate::faults::{Edit, Step};
use crate::settle::{condition, is};
use crate::stories::{settle, settled, usual};

/// The four in every order.
fn orders(of: Propagation) -> Vec<Vec<Step>> {
    let all = || vec![Step::Delete(of), Step::DropClaim(0), Step::Evict(0), Step::DropSnapshots];
    let mut orders: Vec<Vec<Step>> = vec![Vec::new()];
    for _ in all() {
        let longer = |begun: Vec<Step>| {
            let said = |step: &Step| format!("{step:?}");
            let rest =
                all().into_iter().filter(|step| !begun.iter().any(|of| said(of) == said(step))).collect::<Vec<_>>();
            rest.into_iter().map(move |step| [begun.clone(), vec![step]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

/// That the data are saved, or still there and a person is told what to do.
pub fn judge(bench: &Bench, order: &[Step], rounds: u8) {
    let story = || format!("{order:?}, {rounds} rounds between\n{}", bench.story());
    assert!(bench.innocent().is_ok(), "{:?}: {}", bench.innocent(), story());
    let Some(db) = bench.object() else { return };
    assert!(is(db, "DeletionBlocked"), "it neither goes nor says why: {}", story());
    let claim = bench.world.get(Claim::KIND, &bench.key.sibling("data-shop-0"));
    let uid = claim.and_then(|claim| claim["metadata"]["uid"].as_str()).unwrap_or_default();
    let data = bench.site.disks.data(uid);
    let whole = data.is_some_and(|data| data.rows.is_superset(&bench.site.acked["shop"]));
    assert!(whole, "the data are gone, and not saved: {}", story());
}

fn in_every_order(of: Propagation) {
    let begun = settled(&quiet(usual()));
    for order in orders(of) {
        for rounds in [0, 1, 4] {
            let mut bench = begun.fork();
            for step in &order {
                bench.take(step);
                bench.take(&Step::Calm(rounds));
            }
            bench.take(&Step::Calm(120));
            judge(&bench, &order, rounds);
        }
    }
}

#[test]
fn in_every_order_in_the_background() {
    in_every_order(Background);
}

#[test]
fn in_every_order_in_the_foreground() {
    in_every_order(Foreground);
}

/// That retained data stay, whatever else is deleted within the time that claims are waited for.
fn in_every_order_with_retain(of: Propagation) {
    let mut begun = settled(&quiet(usual()));
    begun.take(&Step::Edit(Edit::Policy("Retain")));
    begun.take(&Step::Calm(2));
    for order in orders(of) {
        for rounds in [0, 1] {
            let mut bench = begun.fork();
            for step in &order {
                bench.take(step);
                bench.take(&Step::Calm(rounds));
            }
            bench.take(&Step::Calm(120));
            judge_retained(&bench, &order);
        }
    }
}

fn judge_retained(bench: &Bench, order: &[Step]) {
    let story = || format!("{order:?}\n{}", bench.story());
    assert!(bench.innocent().is_ok(), "{:?}: {}", bench.innocent(), story());
    let claim = bench.world.get(Claim::KIND, &bench.key.sibling("data-shop-0"));
    let Some(claim) = claim else { panic!("the data are gone: {}", story()) };
    let data = bench.site.disks.data(claim["metadata"]["uid"].as_str().unwrap_or_default());
    assert!(data.is_some_and(|data| data.rows.is_superset(&bench.site.acked["shop"])), "rows are gone: {}", story());
    let going = !claim["metadata"]["deletionTimestamp"].is_null();
    let blocked = bench.object().is_some_and(|db| is(db, "DeletionBlocked"));
    assert_eq!(going, blocked, "a claim that is going is reported, and another stays: {}", story());
}

#[test]
fn in_every_order_with_retain_in_the_background() {
    in_every_order_with_retain(Background);
}

#[test]
fn in_every_order_with_retain_in_the_foreground() {
    in_every_order_with_retain(Foreground);
}

/// As the message says that the data can be saved.
#[test]
fn a_claim_that_cannot_be_retained_is_saved_once_the_policy_is_snapshot() {
    for rounds in [0, 1, 2, 4] {
        let mut bench = settled(&quiet(json!({ "deletion": { "policy": "Retain" } })));
        for step in [Step::Delete(Background), Step::Calm(rounds), Step::DropClaim(0), Step::Calm(20)] {
            bench.take(&step);
        }
        let blocked = condition(bench.object().expect("it is there"), "DeletionBlocked").clone();
        assert!(blocked["message"].to_string().contains("set deletion.policy to Snapshot"), "{}", bench.story());
        bench.take(&Step::Edit(Edit::Policy("Snapshot")));
        settle(&mut bench);
        assert!(bench.object().is_none(), "{}", bench.story());
        let saved = bench.world.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::guard::is_proved(of));
        assert!(saved, "{}", bench.story());
    }
}

/// `kubectl delete sdb,pvc -l app.kubernetes.io/instance=shop`.
#[test]
fn the_object_and_its_claims_at_once_are_saved_and_gone() {
    for rounds in [0, 1, 2] {
        let mut bench = settled(&quiet(usual()));
        for step in [Step::Delete(Background), Step::DropClaim(0), Step::DropSnapshots] {
            bench.take(&step);
            bench.take(&Step::Calm(rounds));
        }
        settle(&mut bench);
        assert!(bench.object().is_none(), "{}", bench.story());
        let saved = bench.world.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::guard::is_proved(of));
        assert!(saved, "{}", bench.story());
    }
}

/// Before it is configured the server answers, too; once the claim is going, nothing else has the data.
#[test]
fn a_database_that_is_not_configured_yet_is_not_waited_for_forever() {
    for rounds in 1..15 {
        let mut bench = Bench::new(&quiet(usual()));
        for step in [Step::Calm(rounds), Step::DropClaim(0), Step::Calm(1), Step::Delete(Background)] {
            bench.take(&step);
        }
        settle(&mut bench);
        assert!(bench.object().is_none(), "{}", bench.story());
    }
}

/// An upgrade leads to another claim, which a user may delete as well, at any moment. Then the node goes.
#[test]
fn a_claim_that_is_deleted_during_an_upgrade_takes_nothing_away() {
    for which in [0, 1] {
        for rounds in 0..30 {
            let mut bench = settled(&quiet(json!({ "engine": { "version": "15" } })));
            bench.take(&Step::Edit(Edit::Version(3)));
            for step in [Step::Calm(rounds), Step::DropClaim(which), Step::Calm(20), Step::Evict(0), Step::Calm(5)] {
                bench.take(&step);
            }
            // The claim of before is gone, if it was that one.
            let ended = bench.settle().or_else(|why| if why.starts_with("claims") { Ok(()) } else { Err(why) });
            ended.unwrap_or_else(|why| panic!("claim {which} after {rounds}: {why}\n{}", bench.story()));
        }
    }
}

#[test]
fn a_deleted_claim_of_a_serving_database_is_reported_and_its_pod_stays() {
    let mut bench = settled(&quiet(usual()));
    bench.take(&Step::DropClaim(0));
    // What would replace the pod does not.
    bench.take(&Step::Edit(Edit::Restart(1)));
    bench.take(&Step::Calm(10));
    let db = bench.object().expect("it is there");
    assert!(is(db, "Ready") && is(db, "Stalled"), "{}", bench.story());
    assert_eq!(condition(db, "Stalled")["reason"], "ClaimTerminating");
    assert_eq!(condition(db, "StorageHealthy")["reason"], "ClaimTerminating");
    // It is still backed up.
    bench.take(&Step::Backup { physical: false });
    bench.take(&Step::Calm(20));
    assert!(bench.world.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::guard::is_proved(of)), "{}", bench.story());
    bench.take(&Step::Delete(Background));
    settle(&mut bench);
    assert!(bench.object().is_none(), "{}", bench.story());
}

#[test]
fn a_claim_whose_server_is_gone_is_kept_until_its_data_are_given_up() {
    let mut bench = settled(&quiet(usual()));
    for step in [Step::DropClaim(0), Step::Evict(0), Step::Calm(5), Step::Delete(Background), Step::Calm(20)] {
        bench.take(&step);
    }
    let db = bench.object().expect("it is there");
    assert_eq!(condition(db, "DeletionBlocked")["reason"], "ClaimTerminating", "{}", bench.story());
    bench.take(&Step::Edit(Edit::Skip));
    settle(&mut bench);
    assert!(bench.object().is_none(), "{}", bench.story());
}

#[test]
fn nothing_is_held_in_a_namespace_that_goes() {
    let mut bench = settled(&json!({}));
    let held = |claim: &Value| claim["metadata"]["finalizers"][0] == api::sample_db::UNSAVED_DATA;
    assert!(bench.world.all(Claim::KIND).any(|(_, claim)| held(claim)), "{}", bench.story());
    bench.take(&Step::DropClaim(0));
    bench.take(&Step::End);
    settle(&mut bench);
    assert_eq!(bench.world.all(SampleDB::KIND).count() + bench.world.all(Claim::KIND).count(), 0);
}

/// The user's own claim for snapshots, which no finalizer holds, is deleted at each moment of a deletion.
#[test]
fn data_stay_if_the_users_claim_with_the_final_snapshot_is_deleted() {
    let mut spec = quiet(usual());
    spec["backup"]["storage"] = json!({ "existingClaim": "mine" });
    let mut begun = Bench::new(&spec);
    let mine = begun.key.sibling("mine");
    begun.world.create(Claim::KIND, &mine, json!({ "metadata": {} }));
    begun.guard.kept.insert("mine".to_owned());
    settle(&mut begun);
    let mut gone = 0;
    for rounds in 0..25 {
        let mut bench = begun.fork();
        bench.take(&Step::Delete(Background));
        bench.take(&Step::Calm(rounds));
        let before = bench.object().is_some();
        delete(&mut bench.world, Claim::KIND, &mine, Background);
        bench.take(&Step::Calm(60));
        assert!(bench.innocent().is_ok(), "{:?} after {rounds}: {}", bench.innocent(), bench.story());
        gone += u8::from(bench.object().is_none());
        let data = bench.world.get(Claim::KIND, &bench.key.sibling("data-shop-0"));
        assert!(!before || data.is_some() || bench.object().is_none(), "after {rounds}: {}", bench.story());
    }
    assert!(gone > 0, "it is saved if the claim is deleted afterwards");
}

/// A server with a parameter that it does not take has the volume, and may never start.
#[test]
fn a_claim_whose_server_does_not_start_is_reported_and_its_data_saved_once_it_does() {
    let mut begun = Bench::new(&quiet(json!({})));
    for step in [Step::Edit(Edit::Parameter(3)), Step::Calm(25), Step::DropClaim(0), Step::Calm(3)] {
        begun.take(&step);
    }
    begun.take(&Step::Delete(Background));
    begun.take(&Step::Calm(20));
    let blocked = condition(begun.object().expect("it is there"), "DeletionBlocked");
    assert_eq!(blocked["reason"], "ClaimTerminating", "{}", begun.story());
    let message = blocked["message"].to_string();
    for said in ["does not start: FATAL", "spec.engine.parameters", api::sample_db::SKIP_FINAL_SNAPSHOT] {
        assert!(message.contains(said), "{said}: {message}");
    }
    // Both ways that the message tells of.
    let mut mended = begun.fork();
    mended.take(&Step::Edit(Edit::Parameter(0)));
    mended.take(&Step::Calm(60));
    let saved = mended.world.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::guard::is_proved(of));
    assert!(mended.object().is_none() && saved, "{}", mended.story());
    begun.take(&Step::Edit(Edit::Skip));
    settle(&mut begun);
    assert!(begun.object().is_none(), "{}", begun.story());
}

/// A server that somebody has stopped by a signal may be set going again, so that is waited for, and said.
#[test]
fn a_claim_whose_server_does_not_answer_for_long_is_reported() {
    let mut bench = settled(&quiet(usual()));
    for step in [Step::DropClaim(0), Step::Stop, Step::Delete(Background), Step::Calm(5)] {
        bench.take(&step);
    }
    assert!(!is(bench.object().expect("it is there"), "DeletionBlocked"), "{}", bench.story());
    bench.take(&Step::Calm(70));
    let blocked = condition(bench.object().expect("it is there"), "DeletionBlocked");
    assert_eq!(blocked["reason"], "ClaimTerminating", "{}", bench.story());
    assert!(blocked["message"].to_string().contains(api::sample_db::SKIP_FINAL_SNAPSHOT), "{blocked}");
    bench.take(&Step::Kill(0));
    bench.take(&Step::Calm(60));
    assert!(bench.object().is_none(), "{}", bench.story());
    let saved = bench.world.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::guard::is_proved(of));
    assert!(saved, "{}", bench.story());
}
