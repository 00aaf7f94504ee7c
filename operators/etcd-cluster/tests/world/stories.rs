//! Single scenarios, most of them found by random ones.

use runtime::testing::fault_injection::{ActAnswer, ReconcileFaults};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step, VERSIONS, name_of};

/// The index of a version in [`VERSIONS`].
pub fn version(text: &str) -> usize {
    VERSIONS.iter().position(|version| *version == text).expect("it is there")
}

/// Settles the world.
pub fn settle(bench: &mut Bench) {
    if let Err(why) = bench.settle() {
        panic!("{why}\n{}", bench.story());
    }
}

/// A settled cluster with that spec.
fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

/// Takes the steps, and settles the world.
fn then(mut bench: Bench, steps: &[Step]) {
    for step in steps {
        bench.take(step);
        if let Err(why) = bench.check_invariants() {
            panic!("{why}\n{}", bench.story());
        }
    }
    settle(&mut bench);
}

/// A growing cluster of that version, at the moment when a member is listed and has not started.
fn with_an_unborn_member(version: &str) -> (Bench, usize) {
    let mut bench = Bench::new(&json!({ "size": 3, "version": version }));
    for _ in 0..100 {
        bench.round();
        let unborn = bench.cluster().and_then(|cluster| cluster.members.iter().find(|member| member.name.is_empty()));
        if let Some(name) = unborn.map(|member| name_of(member).to_owned()) {
            let place = bench.place_of(&name);
            return (bench, place);
        }
    }
    panic!("no member is listed before it starts");
}

#[test]
fn three_members_start() {
    settled(&json!({ "size": 3 }));
}

/// Its pod has existed for long by then.
#[test]
fn the_time_to_join_starts_when_a_member_is_listed() {
    let (mut bench, unborn) = with_an_unborn_member("3.6.16");
    let first = bench.pods()[unborn].clone();
    bench.etcds.pace.slow = true;
    let listed =
        |bench: &Bench, name: &str| bench.cluster().is_some_and(|of| of.members.iter().any(|m| name_of(m) == name));
    while listed(&bench, &first) {
        bench.now += jiff::SignedDuration::from_secs(30);
        bench.round();
    }
    bench.etcds.pace.slow = false;
    let waiting =
        bench.pods().into_iter().find(|pod| *pod != first && !listed(&bench, pod)).expect("it is created ahead");
    settle(&mut bench);
    assert!(listed(&bench, &waiting), "{}", bench.story());
}

#[test]
fn members_shrink_after_an_upgrade() {
    let mut bench = settled(&json!({ "size": 3, "version": "3.5.35" }));
    bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
    settle(&mut bench);
    then(bench, &[Step::Edit(Edit::Size(1))]);
}

#[test]
fn a_pod_is_deleted_before_its_member_has_started() {
    let (bench, pod) = with_an_unborn_member("3.6.16");
    then(bench, &[Step::Evict(pod)]);
}

#[test]
fn a_pod_is_deleted_before_its_voting_member_has_started() {
    for seen in [false, true] {
        let (bench, pod) = with_an_unborn_member("3.3.27");
        let mut steps = vec![Step::Evict(pod)];
        steps.extend(seen.then(|| Step::Pass(ReconcileFaults::default())));
        then(bench, &steps);
    }
}

#[test]
fn the_first_pods_labels_are_edited_before_any_status_names_it() {
    for storage in [json!({ "ephemeral": true }), json!({})] {
        for label in 0..5 {
            let bench = Bench::new(&json!({ "size": 3, "storage": storage }));
            let passes = [Step::Pass(ReconcileFaults::default()), Step::Pass(ReconcileFaults::default())];
            let edit = [Step::Relabel { pod: 0, label }, Step::Tick];
            then(bench, &[passes.as_slice(), &edit].concat());
        }
    }
}

/// Two pods wait, of which the first crashes because of its options. A user deletes a pod, and the other one with its PVC.
#[test]
fn pods_and_claims_are_deleted_before_there_is_a_cluster() {
    for (one, other) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        for rounds in 0..3 {
            let bench = Bench::new(&json!({ "size": 3, "options": { "max-wals": "many" } }));
            let [first, calm] = [Step::Calm(4), Step::Calm(rounds)];
            then(bench, &[first, Step::Evict(one), calm.clone(), Step::EvictFully(other), calm]);
        }
    }
}

/// The first member answers, and a user's edit keeps status from being written; then the user deletes everything.
#[test]
fn a_cluster_that_clients_never_reached_is_created_again() {
    for rounds in 3..9 {
        let edit = [Step::Edit(Edit::Size(1)), Step::Tick, Step::Pass(ReconcileFaults::default())];
        let steps =
            [&[Step::Calm(rounds)], edit.as_slice(), &[Step::EvictFully(0), Step::Pass(ReconcileFaults::default())]]
                .concat();
        then(Bench::new(&json!({ "size": 1 })), &steps);
    }
}

#[test]
fn a_pod_is_deleted_whose_volume_is_lost() {
    then(settled(&json!({ "size": 3 })), &[Step::Lose(0), Step::Evict(0)]);
}

#[test]
fn a_claim_is_deleted_before_its_pod_has_a_node() {
    let mut bench = settled(&json!({ "size": 1 }));
    let down = |node| Step::Node { node, up: false };
    (0..4).for_each(|node| bench.take(&down(node)));
    (0..4).for_each(|node| bench.take(&Step::Node { node, up: true }));
    bench.take(&Step::Edit(Edit::Size(3)));
    bench.world.deliver_all_events();
    bench.pass(ReconcileFaults::default());
    let new = bench.pods().iter().position(|pod| bench.cluster().is_some_and(|c| c.members[0].name != *pod));
    then(bench, &[Step::DropClaim(new.expect("a pod is created ahead"))]);
}

#[test]
fn a_rolling_update_or_a_smaller_size_does_not_finish_the_deletion_of_a_claim() {
    for claim in 0..3 {
        let steps = [Step::DropClaim(claim), Step::Edit(Edit::Size(1)), Step::Edit(Edit::Restart(1))];
        then(settled(&json!({ "size": 3 })), &steps);
        then(
            settled(&json!({ "size": 3 })),
            &[Step::Lose(claim), Step::Edit(Edit::Size(1)), Step::Edit(Edit::Restart(1))],
        );
    }
}

#[test]
fn a_member_is_removed_by_hand() {
    for member in 0..3 {
        then(settled(&json!({ "size": 3 })), &[Step::Expel(member)]);
    }
}

#[test]
fn the_size_shrinks_just_after_an_image_was_changed() {
    let mut bench = settled(&json!({ "size": 3 }));
    bench.take(&Step::Edit(Edit::Version(version("v3.7.3"))));
    bench.world.deliver_all_events();
    bench.pass(ReconcileFaults::default());
    bench.take(&Step::Edit(Edit::Size(1)));
    bench.world.deliver_all_events();
    then(bench, &[Step::Pass(ReconcileFaults::default())]);
}

#[test]
fn the_version_is_removed_from_the_spec_during_an_upgrade() {
    let mut bench = settled(&json!({ "size": 3, "version": "3.5.35" }));
    bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
    then(bench, &[Step::Calm(3), Step::Edit(Edit::NoVersion)]);
}

#[test]
fn the_first_reconcile_is_repeated_before_its_writes_are_observed() {
    let late = Step::Pass(ReconcileFaults { stale_caches: true, ..ReconcileFaults::default() });
    then(
        Bench::new(&json!({ "size": 3 })),
        &[Step::Pass(ReconcileFaults::default()), Step::Pass(ReconcileFaults::default()), late],
    );
}

#[test]
fn a_reconcile_from_before_the_cluster_was_latched_does_not_undo_that() {
    let pass = || Step::Pass(ReconcileFaults::default());
    let mut bench = Bench::new(&json!({ "size": 3 }));
    for step in [pass(), pass(), pass(), Step::Tick, Step::Tick, Step::Tick] {
        bench.take(&step);
    }
    bench.world.deliver_all_events();
    bench.take(&pass());
    let latched = bench.status()["clusterID"].clone();
    assert!(latched.is_string(), "{}", bench.story());
    bench.take(&Step::Evict(0));
    bench.take(&Step::Tick);
    bench.take(&Step::Pass(ReconcileFaults { stale_caches: true, ..ReconcileFaults::default() }));
    assert_eq!(bench.status()["clusterID"], latched, "{}", bench.story());
    then(bench, &[]);
}

#[test]
fn a_first_member_that_was_killed_and_answers_is_kept_whatever_the_spec() {
    let steps = [Step::Tick, Step::Tick, Step::Edit(Edit::Restart(0)), Step::Tick, Step::Kill(0), Step::Tick];
    let mut bench = Bench::new(&json!({ "size": 3, "storage": { "ephemeral": true } }));
    (0..3).for_each(|_| bench.take(&Step::Pass(ReconcileFaults::default())));
    then(bench, &steps);
}

#[test]
fn no_member_is_removed_while_another_one_loses_its_data_unobserved() {
    let bench = settled(&json!({ "size": 3, "storage": { "ephemeral": true } }));
    let object = Step::See { kind: 4, count: 2 };
    then(bench, &[Step::Edit(Edit::Quota(true)), Step::Evict(2), object, Step::Pass(ReconcileFaults::default())]);
}

#[test]
fn a_first_member_that_was_killed_and_cannot_be_reached_is_kept_whatever_the_spec() {
    let cut = |cut| Step::Cut { pod: 0, cut };
    let steps = [cut(true), Step::Calm(3), Step::Kill(0), Step::Edit(Edit::Version(0)), Step::Calm(2), cut(false)];
    let mut bench = Bench::new(&json!({ "size": 3 }));
    (0..2).for_each(|_| bench.take(&Step::Pass(ReconcileFaults::default())));
    then(bench, &steps);
}

/// Requests another leader with that fault in each reconcile, and returns the number of transfers.
fn lead(mut bench: Bench, which: u8, pass: ReconcileFaults) -> (Bench, usize) {
    let before = bench.guard.led;
    bench.take(&Step::Edit(Edit::Lead(which)));
    bench.world.deliver_all_events();
    (0..4).for_each(|_| bench.take(&Step::Pass(pass)));
    settle(&mut bench);
    let led = bench.guard.led - before;
    (bench, led)
}

#[test]
fn each_new_request_transfers_leadership_once() {
    let leader = |bench: &Bench| bench.status()["leader"].as_str().unwrap().to_owned();
    let reported = |bench: &Bench| bench.events.iter().filter(|reason| *reason == "LeaderMoved").count();
    for lives in [None, Some(0), Some(1), Some(2)] {
        for answer in [ActAnswer::Delivered, ActAnswer::Lost, ActAnswer::RequestLost] {
            let bench = settled(&json!({ "size": 3 }));
            let first = leader(&bench);
            let (bench, led) =
                lead(bench, 1, ReconcileFaults { crash_after: lives, act_answer: answer, stale_caches: false });
            let second = leader(&bench);
            assert!(led == 1 && second != first, "{lives:?} {answer:?}: {led} times\n{}", bench.story());
            let (bench, led) = lead(bench, 1, ReconcileFaults::default());
            assert_eq!((led, leader(&bench)), (0, second), "the same request has no effect\n{}", bench.story());
            let (bench, led) = lead(bench, 2, ReconcileFaults::default());
            assert!(led == 1 && reported(&bench) == 2, "{:?}\n{}", bench.events, bench.story());
        }
    }
}

#[test]
fn a_leadership_request_waits_for_other_steps() {
    let mut bench = settled(&json!({ "size": 3 }));
    let led = bench.guard.led;
    let steps = [Edit::Paused(true), Edit::Lead(1)].map(Step::Edit);
    steps.iter().chain([&Step::Calm(5)]).for_each(|step| bench.take(step));
    let reported = bench.condition("Ready").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(bench.guard.led == led && reported.contains("is pending: the cluster is paused"), "{reported}");
    bench.take(&Step::Edit(Edit::Paused(false)));
    bench.take(&Step::Edit(Edit::Size(1)));
    settle(&mut bench);
    assert!(bench.guard.led == led && bench.events.contains(&"LeaderNotMoved".to_owned()), "{:?}", bench.events);
    bench.take(&Step::Edit(Edit::Size(3)));
    settle(&mut bench);
    assert_eq!(bench.guard.led, led, "it is answered, and not caught up on\n{}", bench.story());
}
