//! Users edit labels of PVCs, and PVCs of removed members accumulate.

use runtime::cache::Projection as _;
use runtime::projections::{Pod, Pvc};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::stories::settle;

/// Edits of a PVC's labels: one is removed or set, or all are removed.
const EDITS: [(&str, Option<&str>); 7] = [
    ("app.kubernetes.io/managed-by", None),
    ("app.kubernetes.io/instance", Some("other")),
    ("multi-operator.example.com/owner-kind", None),
    ("multi-operator.example.com/owner-uid", None),
    ("multi-operator.example.com/owner-uid", Some("another")),
    ("multi-operator.example.com/cluster-id", None),
    ("all", None),
];
/// The label of PVCs of removed members.
const RETIRED: &str = "multi-operator.example.com/retired";

fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

fn relabel(bench: &mut Bench, member: &str, (label, value): (&str, Option<&str>)) {
    let key = bench.key.sibling(member);
    bench.world.edit(Pvc::KIND, &key, |claim| {
        let labels = claim["metadata"]["labels"].as_object_mut().expect("it has labels");
        match value {
            _ if label == "all" => labels.clear(),
            Some(value) => drop(labels.insert(label.to_owned(), json!(value))),
            None => drop(labels.remove(label)),
        }
    });
}

/// Settles the cluster with the same members, on the same volumes, and with all labels restored.
fn keeps_members(mut bench: Bench, before: &[String], why: &str) {
    settle(&mut bench);
    assert_eq!(bench.members(), before, "{why}: {}", bench.story());
    let labels = |name: &String| {
        let claim = bench.world.get(Pvc::KIND, &bench.key.sibling(name)).expect("it is there");
        claim["metadata"]["labels"].as_object().expect("it has labels").keys().cloned().collect::<Vec<_>>()
    };
    let all: Vec<_> = before.iter().map(labels).collect();
    assert!(all.iter().all(|one| *one == all[0]), "{why}: {all:?}");
}

#[test]
fn a_terminating_claim_with_edited_labels_is_released() {
    for edit in EDITS {
        let mut bench = settled(&json!({ "size": 3 }));
        let member = bench.members()[1].clone();
        let place = bench.place_of(&member);
        bench.take(&Step::DropClaim(place));
        relabel(&mut bench, &member, edit);
        settle(&mut bench);
        assert!(bench.world.get(Pvc::KIND, &bench.key.sibling(&member)).is_none(), "{edit:?}: {}", bench.story());
    }
}

#[test]
fn a_claim_with_edited_labels_still_belongs_to_its_member() {
    for edit in EDITS {
        for (size, lost) in [(3, 0), (3, 1), (1, 1), (3, 3)] {
            let mut bench = settled(&json!({ "size": size }));
            let before = bench.members();
            let why = format!("{edit:?}, {lost} of {size} pods");
            let writes = bench.world.writes;
            relabel(&mut bench, &before[0], edit);
            for pod in &before[..lost] {
                bench.world.delete(Pod::KIND, &bench.key.sibling(pod));
            }
            bench.take(&Step::Calm(20));
            assert!(lost > 0 || bench.world.writes <= writes + 8, "{why}: {}", bench.story());
            keeps_members(bench, &before, &why);
        }
    }
}

#[test]
fn a_claim_with_edited_labels_is_found_without_a_status() {
    for edit in EDITS {
        let mut bench = settled(&json!({ "size": 3 }));
        let before = bench.members();
        relabel(&mut bench, &before[0], edit);
        bench.take(&Step::LoseStatus);
        keeps_members(bench, &before, &format!("{edit:?}"));
    }
}

#[test]
fn a_foreign_claim_with_a_members_name_is_not_changed() {
    let mut bench = settled(&json!({ "size": 3 }));
    let before = bench.members();
    let key = bench.key.sibling(&before[0]);
    bench.world.remove(Pod::KIND, &key);
    bench.world.remove(Pvc::KIND, &key);
    bench.world.create(Pvc::KIND, &key, json!({ "metadata": { "labels": { "app": "other" } }, "spec": {} }));
    bench.take(&Step::Calm(30));
    let ready = bench.condition("Ready").expect("a message").clone();
    assert_eq!(ready["reason"], "NameTaken", "{}", bench.story());
    assert_eq!(bench.members(), before, "{}", bench.story());
    bench.world.remove(Pvc::KIND, &key);
    settle(&mut bench);
    assert!(!bench.members().contains(&before[0]), "{}", bench.story());
}

#[test]
fn a_member_restarts_on_a_claim_that_a_user_marked_as_retired() {
    for (size, lost) in [(3, 0), (3, 1), (1, 1), (3, 3)] {
        let mut bench = settled(&json!({ "size": size }));
        let before = bench.members();
        relabel(&mut bench, &before[0], (RETIRED, Some("true")));
        for pod in &before[..lost] {
            bench.world.delete(Pod::KIND, &bench.key.sibling(pod));
        }
        bench.take(&Step::Calm(40));
        let warning = bench.condition("Warning").map(|warning| warning["reason"].clone());
        assert_eq!((bench.is("Ready"), warning), (true, Some(json!("ClaimMarked"))), "{}", bench.story());
        relabel(&mut bench, &before[0], (RETIRED, None));
        keeps_members(bench, &before, &format!("{lost} of {size} pods"));
    }
}

fn retired(bench: &Bench) -> Vec<String> {
    let marked = |claim: &Value| claim["metadata"]["labels"][RETIRED].is_string();
    let claims = bench.world.all(Pvc::KIND).filter(|(_, claim)| marked(claim));
    claims.map(|(key, _)| key.name.to_string()).collect()
}

fn there_and_back(bench: &mut Bench) {
    for size in [5, 3] {
        bench.take(&Step::Edit(Edit::Size(size)));
        settle(bench);
    }
}

#[test]
fn the_oldest_retired_claims_are_deleted_except_those_that_a_user_has_marked() {
    let mut bench = settled(&json!({ "size": 3 }));
    there_and_back(&mut bench);
    let by_hand = retired(&bench);
    for name in &by_hand {
        // As an earlier manager, or a user, has marked them.
        relabel(&mut bench, name, ("multi-operator.example.com/retired-by", None));
    }
    let mut known: Vec<String> = Vec::new();
    for _ in 0..5 {
        there_and_back(&mut bench);
        let left = retired(&bench);
        assert!(by_hand.iter().all(|name| left.contains(name)), "{left:?} without {by_hand:?}");
        let now: Vec<String> = left.into_iter().filter(|name| !by_hand.contains(name)).collect();
        let new = now.iter().filter(|name| !known.contains(name)).count();
        assert!(new == 2 && now.len() <= 6, "the newest stay: {now:?} of {known:?}");
        known = now;
    }
    assert_eq!(known.len(), 6);
}
