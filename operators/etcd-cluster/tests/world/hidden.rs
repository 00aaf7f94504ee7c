//! Members that are ready and reach each other, but that the operator cannot reach.

use std::collections::BTreeSet;

use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::json;

use crate::bench::Bench;
use crate::faults::{Edit, Step, name_of};
use crate::isolated::settled_at;
use crate::kubelet::seen;
use crate::stories::{settle, version};

const LONG: u8 = 80; // rounds: more than two minutes

fn uids(bench: &Bench) -> BTreeSet<String> {
    seen(&bench.world).into_iter().map(|pod| pod.uid).collect()
}

/// The index of a pod that a rolling update, which has hidden its first one, has not reached.
fn other_than_the_hidden_one(bench: &Bench) -> usize {
    let hidden = seen(&bench.world).into_iter().find(|pod| pod.hidden).expect("a roll begins").name;
    bench.pods().iter().position(|pod| *pod != hidden).expect("there are others")
}

/// Advances that many rounds, and checks the invariants.
fn advance(bench: &mut Bench, rounds: usize) {
    for _ in 0..rounds {
        bench.round();
        assert_eq!(bench.check_invariants(), Ok(()), "{}", bench.story());
    }
}

fn stalled(bench: &Bench) -> Option<&str> {
    bench.condition("Stalled").filter(|_| bench.is("Stalled")).and_then(|stalled| stalled["reason"].as_str())
}

fn message(bench: &Bench) -> &str {
    bench.condition("Ready").and_then(|ready| ready["message"].as_str()).expect("a message")
}

/// A network policy allows the operator to reach only pods with a label that none has.
fn cut_off(size: u8, version: &str) -> Bench {
    let mut bench = settled_at(size, version);
    bench.policy = true;
    bench.take(&Step::Calm(LONG));
    bench
}

/// Sets the label by which that policy allows it.
fn allow(bench: &mut Bench) {
    bench.edit(|object| object["spec"]["pod"]["labels"]["allowed"] = json!("yes"));
}

fn is_well(bench: &mut Bench, members: &[u64]) {
    bench.take(&Step::Calm(60));
    assert!(bench.is("Ready"), "{}", bench.story());
    settle(bench);
    assert_eq!(bench.ids(), members, "{}", bench.story());
}

#[test]
fn members_that_only_the_operator_cannot_reach_are_reported_and_not_changed() {
    for size in [1, 2, 3] {
        let mut bench = settled_at(size, "3.6.16");
        let (members, pods) = (bench.ids(), uids(&bench));
        bench.policy = true;
        bench.take(&Step::Calm(20));
        assert!(!bench.is("Ready") && stalled(&bench).is_none(), "{}", bench.story());
        bench.take(&Step::Calm(LONG));
        assert_eq!(stalled(&bench), Some("MembersUnreachable"), "{}", bench.story());
        assert!(bench.events.iter().any(|reason| reason == "QuorumLost"), "{:?}", bench.events);
        let reported = message(&bench);
        assert!(reported.contains("ready") && reported.contains("port 2379"), "{reported}");
        assert_eq!(uids(&bench), pods, "{}", bench.story());
        bench.policy = false;
        is_well(&mut bench, &members);
        assert_eq!(uids(&bench), pods, "{}", bench.story());
    }
}

#[test]
fn two_of_three_unreachable_members_are_reported() {
    let mut bench = settled_at(3, "3.6.16");
    (0..2).for_each(|pod| bench.take(&Step::Cut { pod, cut: true }));
    bench.take(&Step::Calm(LONG));
    // With the third one there is quorum, which the operator knows.
    assert!(bench.is("QuorumHealthy") && !bench.is("Ready"), "{}", bench.story());
}

#[test]
fn an_unreachable_member_is_not_reported_as_restarting_for_ever() {
    let mut bench = settled_at(1, "3.6.16");
    let members = bench.ids();
    bench.take(&Step::Edit(Edit::Hidden(true)));
    bench.take(&Step::Calm(LONG));
    assert_eq!(stalled(&bench), Some("MembersUnreachable"), "{}", bench.story());
    let quorum = bench.condition("QuorumHealthy").expect("a condition")["status"].clone();
    assert_eq!(quorum, "False", "{}", bench.story());
    bench.take(&Step::Edit(Edit::Hidden(false)));
    is_well(&mut bench, &members);
}

#[test]
fn a_single_unreachable_member_gets_a_corrected_spec() {
    let mut bench = cut_off(1, "3.6.16");
    let members = bench.ids();
    allow(&mut bench);
    bench.take(&Step::Calm(60));
    assert!(bench.is("Ready"), "{}", bench.story());
    assert_eq!(bench.ids(), members, "{}", bench.story());
    is_well(&mut bench, &members);
}

#[test]
fn a_single_unreachable_member_keeps_its_pod_until_the_next_one_is_checked() {
    let mut bench = cut_off(1, "3.6.16");
    let (members, pods) = (bench.ids(), uids(&bench));
    bench.refuses = Some("violates PodSecurity".to_owned());
    allow(&mut bench);
    bench.take(&Step::Calm(20));
    assert_eq!((stalled(&bench), uids(&bench)), (Some("PodRefused"), pods.clone()), "{}", bench.story());
    bench.refuses = None;
    bench.take(&Step::Image { version: version("3.6.99"), there: false });
    bench.take(&Step::Edit(Edit::Version(version("3.6.99"))));
    bench.take(&Step::Calm(20));
    assert_eq!((stalled(&bench), uids(&bench)), (Some("ImageUnavailable"), pods), "{}", bench.story());
    bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
    is_well(&mut bench, &members);
}

/// The change that lets the operator reach the member comes first.
#[test]
fn a_single_unreachable_member_changes_its_minor_version_after_it_is_reached() {
    for (from, to) in [("3.6.16", "v3.7.3"), ("3.5.35", "3.6.16"), ("3.4.40", "3.5.35")] {
        let mut bench = cut_off(1, from);
        let members = bench.ids();
        allow(&mut bench);
        bench.take(&Step::Edit(Edit::Version(version(to))));
        is_well(&mut bench, &members);
        let runs = bench.etcds.processes.values().next().expect("it runs").version.to_string();
        assert_eq!(runs, to.trim_start_matches('v'), "{}", bench.story());
    }
}

/// Of four members three are needed, and it is one of them.
#[test]
fn an_unreachable_member_keeps_its_pod_while_quorum_needs_it() {
    let mut bench = settled_at(4, "3.6.16");
    let members = bench.ids();
    bench.take(&Step::Edit(Edit::Hidden(true)));
    bench.take(&Step::Calm(40));
    let pod = other_than_the_hidden_one(&bench);
    bench.take(&Step::Spoil { pod, wiped: false });
    bench.take(&Step::Edit(Edit::Hidden(false)));
    advance(&mut bench, 120);
    assert!(bench.is("Ready"), "{}", bench.story());
    settle(&mut bench);
    assert_eq!(bench.ids().iter().filter(|id| members.contains(id)).count(), 3, "{}", bench.story());
}

/// The second one lost its pod before any spec was known to run in it, so it restarted with the current spec.
#[test]
fn two_of_three_unreachable_members_recover_one_after_the_other() {
    let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16" }));
    bench.take(&Step::Calm(13));
    bench.take(&Step::Pass(ReconcileFaults::default()));
    bench.take(&Step::Edit(Edit::Hidden(true)));
    bench.take(&Step::Calm(6));
    bench.take(&Step::Evict(2));
    bench.take(&Step::Calm(2));
    let members = bench.ids();
    bench.take(&Step::Calm(4));
    assert_eq!(seen(&bench.world).iter().filter(|pod| pod.hidden).count(), 2, "{}", bench.story());
    bench.take(&Step::Edit(Edit::Hidden(false)));
    advance(&mut bench, 240);
    assert!(bench.is("Ready") && bench.ids() == members, "{}", bench.story());
}

/// The second one has its data in its pod. Before 3.4 it votes at once; from 3.4 on it is replaced after ten minutes.
#[test]
fn an_unreachable_member_without_a_volume_is_replaced_once_the_spec_changes() {
    for version in ["3.3.27", "3.6.16"] {
        let mut bench = Bench::new(&json!({ "size": 3, "version": version, "storage": { "ephemeral": true } }));
        bench.take(&Step::Calm(2));
        bench.take(&Step::Edit(Edit::Hidden(true)));
        bench.take(&Step::Calm(LONG));
        settle(&mut bench);
    }
}

/// A read is answered, and the third one has no pod, so it is the hidden one that holds quorum with the first.
#[test]
fn a_lost_member_is_replaced_if_an_unreachable_one_holds_quorum() {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    bench.take(&Step::Calm(14));
    bench.take(&Step::Edit(Edit::Hidden(true)));
    bench.take(&Step::Calm(7));
    let before = bench.ids();
    bench.take(&Step::EvictFully(1));
    bench.take(&Step::Calm(5));
    assert!(bench.is("QuorumHealthy") && !bench.is("Ready") && !bench.is("Stalled"), "{}", bench.story());
    assert_eq!(bench.ids(), before, "the hidden one may only be late: {}", bench.story());
    bench.take(&Step::Calm(LONG));
    assert!(bench.is("QuorumHealthy"), "{}", bench.story());
    let kept = bench.ids();
    assert_eq!(kept.len(), 2, "{}", bench.story());
    bench.take(&Step::Edit(Edit::Hidden(false)));
    bench.take(&Step::Calm(60));
    assert!(bench.is("Ready"), "{}", bench.story());
    settle(&mut bench);
    assert!(kept.iter().all(|id| bench.ids().contains(id)), "{}", bench.story());
}

/// Broken data does not start, so this member does not vote either.
#[test]
fn a_member_with_broken_data_is_replaced_if_an_unreachable_one_holds_quorum() {
    for wiped in [false, true] {
        let mut bench = settled_at(3, "3.6.16");
        bench.take(&Step::Edit(Edit::Hidden(true)));
        bench.take(&Step::Calm(20));
        let before = bench.ids();
        let pod = other_than_the_hidden_one(&bench);
        bench.take(&Step::Spoil { pod, wiped });
        bench.take(&Step::Calm(LONG + 20));
        assert!(bench.is("QuorumHealthy"), "{}", bench.story());
        bench.take(&Step::Edit(Edit::Hidden(false)));
        bench.take(&Step::Calm(60));
        assert!(bench.is("Ready"), "{}", bench.story());
        settle(&mut bench);
        assert_eq!(bench.ids().iter().filter(|id| before.contains(id)).count(), 2, "{}", bench.story());
    }
}

/// It is the only voter.
#[test]
fn a_single_unreachable_voter_gets_the_next_spec_while_a_learner_joins() {
    for is_lost in [false, true] {
        let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16" }));
        (0..3).for_each(|_| bench.take(&Step::Pass(ReconcileFaults::default())));
        bench.take(&Step::Edit(Edit::Hidden(true)));
        bench.tick();
        bench.take(&Step::Calm(5));
        let cluster = bench.cluster().expect("it is latched");
        let (first, members) = (cluster.members[0].name.clone(), bench.ids());
        assert!(members.len() == 2 && cluster.voters().count() == 1, "{}", bench.story());
        bench.take(&Step::Evict(bench.place_of(&first)));
        bench.take(&Step::Calm(1));
        if is_lost {
            let learner = name_of(&bench.cluster().expect("it is latched").members[1]).to_owned();
            bench.take(&Step::EvictFully(bench.place_of(&learner)));
        }
        bench.take(&Step::Edit(Edit::Hidden(false)));
        bench.take(&Step::Calm(LONG + 20));
        assert!(bench.is("Ready"), "{}", bench.story());
        settle(&mut bench);
        let kept = members.iter().filter(|id| bench.ids().contains(id)).count();
        assert_eq!(kept, 2 - usize::from(is_lost), "{}", bench.story());
    }
}

/// Without quorum it is not ready, and to the operator it is like an isolated member. It has not run the current spec while it
/// was healthy.
#[test]
fn an_unreachable_member_without_quorum_gets_the_next_spec() {
    let mut bench = Bench::new(&json!({ "size": 3, "version": "3.3.27" }));
    bench.take(&Step::Calm(3));
    bench.take(&Step::Edit(Edit::Option { good: false }));
    bench.take(&Step::Calm(17));
    let first = bench.cluster().expect("it is latched").members[0].name.clone();
    assert!(!bench.is("QuorumHealthy") && bench.cluster().is_some_and(|of| of.members.len() == 2), "{}", bench.story());
    let members = bench.ids();
    let place = bench.place_of(&first);
    bench.take(&Step::Cut { pod: place, cut: true });
    bench.take(&Step::Calm(60));
    settle(&mut bench);
    assert!(members.iter().all(|id| bench.ids().contains(id)), "{}", bench.story());
}

/// The kubelet reports its version: etcd cannot go back to the version that it ran when it last answered.
#[test]
fn an_upgrade_that_hides_a_member_is_reverted_only_as_far_as_etcd_can() {
    for (size, runs) in [(1, "3.6.16"), (3, "3.5.35")] {
        let mut bench = settled_at(size, "3.5.35");
        let members = bench.ids();
        bench.take(&Step::Edit(Edit::Hidden(true)));
        bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
        bench.take(&Step::Calm(LONG));
        bench.take(&Step::Edit(Edit::Hidden(false)));
        bench.take(&Step::Edit(Edit::Version(version("3.5.35"))));
        for _ in 0..120 {
            bench.round();
            assert!(size > 1 || bench.etcds.processes.values().all(|of| of.version.minor == 6), "{}", bench.story());
        }
        assert!(bench.is("QuorumHealthy"), "{}", bench.story());
        settle(&mut bench);
        let now: BTreeSet<String> = bench.etcds.processes.values().map(|of| of.version.to_string()).collect();
        assert_eq!((bench.ids(), now), (members, BTreeSet::from([runs.to_owned()])), "{}", bench.story());
    }
}
