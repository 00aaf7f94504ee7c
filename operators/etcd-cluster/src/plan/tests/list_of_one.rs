//! The list of a single member is not trusted while the volume of another one exists that the operator has not removed.

use super::members::{NAMES, after, message, three, touches_nothing};
use super::*;

/// The first of three lists only itself, and the others do not answer. All PVCs record the cluster.
fn alone(change: impl FnOnce(&mut Observed)) -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    let status = after(&seen, 60).status.unwrap();
    seen.cluster = observed(&json!({ "size": 3 }), &status).cluster;
    for (id, claim) in (1..).zip(&mut seen.claims) {
        let facts = [(objects::CLUSTER_ID, "1".to_owned()), (objects::MEMBER_ID, format!("{id}"))];
        let labels = &mut Arc::get_mut(claim).unwrap().labels;
        labels.extend(facts.map(|(label, value)| (label.to_owned(), value)));
        labels.insert(objects::MEMBER_VERSION.to_owned(), "3.6.16".to_owned());
    }
    for name in &NAMES[1..] {
        seen.etcd.endpoints.insert((*name).into(), Err("cannot be reached".to_owned()));
    }
    seen.etcd.members.as_mut().unwrap().truncate(1);
    change(&mut seen);
    unlabeled::claims::ignore_retired_labels(&mut seen);
    crate::plan::list_of_one::distrust(&mut seen);
    seen
}

/// It has lost its disk with its node, and an earlier manager created its pod.
#[test]
fn no_member_is_removed_by_the_list_of_a_first_member_that_bootstrapped_again() {
    let plan = after(&alone(|_| ()), 70);
    assert!(touches_nothing(&plan), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(status.listed().map(|member| member.name.as_str()).collect::<Vec<_>>(), NAMES, "nor forgotten");
    assert_eq!(reason(&status, "QuorumHealthy"), (ConditionStatus::False, "QuorumUnconfirmed".to_owned()));
    let message = message(&status);
    let command = format!("kubectl label pvc -n n {} {} {}=true", NAMES[1], NAMES[2], objects::RETIRED);
    assert!(
        message.contains(&format!("member {} lists only itself", NAMES[0])) && message.contains(&command),
        "{message}"
    );
    // One of the others restarts on its volume if it has no pod.
    let plan = after(&alone(|seen| drop(seen.pods.remove(1))), 70);
    let created = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Create(create) => Some(create.key.name.to_string()),
        _ => None,
    });
    assert_eq!(created.collect::<Vec<_>>(), [NAMES[1]]);
}

fn label(seen: &mut Observed, member: usize, label: &str) {
    Arc::get_mut(&mut seen.claims[member]).unwrap().labels.insert(label.to_owned(), "true".to_owned());
}

fn mark_pod(seen: &mut Observed, member: usize) {
    let running = Arc::get_mut(&mut seen.pods[member]).unwrap().details.as_mut().unwrap();
    running.annotations.insert(objects::RETIRING.to_owned(), "true".to_owned());
}

#[test]
fn the_list_of_one_member_is_trusted_if_the_others_were_removed() {
    let by_hand = alone(|seen| [1, 2].into_iter().for_each(|member| label(seen, member, objects::RETIRED)));
    assert!(by_hand.etcd.members.is_ok() && !touches_nothing(&after(&by_hand, 70)), "as the message says");
    let marked = alone(|seen| [1, 2].into_iter().for_each(|member| mark_pod(seen, member)));
    // The pod was deleted before status was written.
    let noted = alone(|seen| {
        label(seen, 1, objects::RETIRING);
        label(seen, 2, objects::RETIRING);
        seen.pods.truncate(1);
    });
    let deleted = alone(|seen| seen.claims.truncate(1));
    let forgotten = alone(|seen| Arc::get_mut(&mut seen.cluster).unwrap().status.member_statuses.truncate(1));
    // Their data is lost.
    let lost = alone(|seen| seen.claims[1..].iter_mut().for_each(|claim| Arc::get_mut(claim).unwrap().lost = true));
    for seen in [marked, noted, deleted, lost, forgotten] {
        assert!(seen.etcd.members.is_ok(), "{:?}", seen.etcd.members);
    }
}

/// The others may have the only copy of the data.
#[test]
fn no_message_recommends_a_backup_because_of_such_a_list() {
    let mut seen = alone(|seen| seen.pods.truncate(1));
    seen.claims[1..].iter_mut().for_each(|claim| Arc::get_mut(claim).unwrap().meta.deleting = true);
    let lost = after(&seen, 70).status.unwrap();
    seen.cluster = observed(&json!({ "size": 3 }), &lost).cluster;
    let status = after(&seen, 90).status.unwrap();
    assert!(message(&status).contains("cannot restart"), "{}", message(&status));
    assert!(!message(&status).contains("backup"), "{}", message(&status));
}

#[test]
fn one_other_volume_is_enough_to_distrust_a_list_of_one() {
    let voted = alone(|seen| drop(seen.claims.remove(2)));
    let marked = alone(|seen| mark_pod(seen, 2));
    let of_two = alone(|seen| Arc::get_mut(&mut seen.cluster).unwrap().status.member_statuses.truncate(2));
    // A learner may have the only copy.
    let learner = alone(|seen| {
        seen.claims.truncate(2);
        let labels = &mut Arc::get_mut(&mut seen.claims[1]).unwrap().labels;
        labels.retain(|label, _| label == objects::OWNER_UID);
        labels.insert(objects::JOINING.to_owned(), "true".to_owned());
    });
    for seen in [voted, marked, of_two, learner] {
        assert!(seen.etcd.members.is_err());
        assert!(touches_nothing(&after(&seen, 70)));
    }
}

/// Its removal was started once and not finished.
fn not_to_go(mut seen: Observed) -> Observed {
    let labels = &mut Arc::get_mut(&mut seen.claims[1]).unwrap().labels;
    labels.insert(objects::RETIRING.to_owned(), "false".to_owned());
    seen
}

/// The second of two members is being removed.
fn of_two(size: u8) -> Observed {
    let mut seen = three(&json!({ "size": size }));
    seen.pods.truncate(2);
    seen.claims.truncate(2);
    seen.etcd.members.as_mut().unwrap().truncate(2);
    seen
}

#[test]
fn a_removal_is_recorded_on_the_claim_while_it_is_in_flight() {
    let labeled = |applies: &mut dyn Iterator<Item = &runtime::plan::Apply>| {
        let claims = applies.filter(|apply| apply.kind.kind == "PersistentVolumeClaim" && apply.body["spec"].is_null());
        claims.map(|apply| apply.body["metadata"]["labels"][objects::RETIRING] == "true").collect::<Vec<_>>()
    };
    let noted = |plan: &EtcdPlan| {
        labeled(&mut plan.effects.iter().filter_map(|effect| match effect {
            Effect::Apply(apply) => Some(apply),
            _ => None,
        }))
    };
    let plan = after(&of_two(1), 60);
    let place = |is: fn(&Effect<EtcdAct>) -> bool| plan.effects.iter().position(is);
    assert_eq!(noted(&plan), [true], "{:?}", plan.effects);
    let (note, act) = (
        place(|effect| matches!(effect, Effect::Apply(apply) if apply.kind.kind == "PersistentVolumeClaim")),
        place(|effect| matches!(effect, Effect::Act(_))),
    );
    assert!(note < act && act.is_some(), "before etcd is asked: {:?}", plan.effects);
    let mut again = of_two(1);
    label(&mut again, 1, objects::RETIRING);
    assert!(noted(&after(&again, 60)).is_empty(), "once");
    assert_eq!(noted(&after(&three(&json!({ "size": 1 })), 60)), [true], "however many are left");
    let mut stays = of_two(2);
    label(&mut stays, 1, objects::RETIRING);
    let back = |seen: &Observed| {
        let retiring = after(seen, 60).independent.into_iter().filter(|apply| apply.manager_prefix == Some("retire"));
        retiring.map(|apply| apply.body["metadata"]["labels"][objects::RETIRING].clone()).collect::<Vec<_>>()
    };
    assert_eq!(back(&stays), ["false"], "the mark is removed, whatever else owns it");
    assert!(back(&again).is_empty());
    assert!(back(&not_to_go(stays)).is_empty(), "once");
    assert_eq!(noted(&after(&not_to_go(of_two(1)), 60)), [true], "and it is set again");
}
