//! A cluster that runs already is taken over: its members are `etcd-0` to `etcd-2`.

use super::members::{NAMES, after, message, three, touches_nothing};
use super::*;

const EARLIER: [&str; 3] = ["etcd-0", "etcd-1", "etcd-2"];

fn spec(earlier: &str) -> Value {
    let endpoints = EARLIER.map(url);
    json!({ "size": 3, "version": "3.6.16", "takeover": { "endpoints": endpoints, "earlierMembers": earlier } })
}

fn url(name: &str) -> String {
    format!("http://{name}.etcd.n.svc:2379")
}

/// So many members of this cluster beside the earlier ones, with what the endpoints have answered.
fn joined(own: usize, earlier: &str, status: &EtcdClusterStatus) -> Observed {
    let spec = spec(earlier);
    let mut seen = three(&spec);
    seen.cluster = observed(&spec, status).cluster;
    seen.pods.truncate(own);
    seen.claims.truncate(own);
    let members = seen.etcd.members.as_mut().unwrap();
    members.truncate(own);
    seen.etcd.endpoints.retain(|name, _| members.iter().any(|member| *member.name == **name));
    for endpoint in seen.etcd.endpoints.values_mut().flatten() {
        endpoint.leader = 11;
    }
    for (id, name) in (11..).zip(EARLIER) {
        members.push(ListedMember {
            id,
            name: name.to_owned(),
            peer_urls: vec![format!("http://{name}.etcd.n.svc:2380")],
            learner: false,
        });
        let endpoint = EndpointStatus {
            cluster_id: 1,
            member_id: id,
            version: "3.6.12".into(),
            leader: 11,
            ..EndpointStatus::default()
        };
        seen.etcd.endpoints.insert(url(name).into(), Ok(endpoint));
    }
    assign(&mut seen);
    seen
}

fn assign(seen: &mut Observed) {
    seen.takeover = crate::plan::takeover::assign(&seen.cluster, &mut seen.etcd);
}

/// Before the takeover.
fn waiting() -> Observed {
    joined(0, "Keep", &decided())
}

/// What the status says while it is under way, with so many members of this cluster.
fn under_way(own: usize, earlier: &str) -> Observed {
    let begun = after(&waiting(), 60).status.unwrap();
    let before = after(&joined(own, earlier, &begun), 60).status.unwrap();
    joined(own, earlier, &before)
}

fn step(seen: &Observed) -> EtcdStep {
    let members = MemberSet::of(seen, Timestamp::from_second(60).unwrap());
    let desired = Desired::of(seen, &members, true);
    membership::next(seen, &members, &desired, Timestamp::from_second(60).unwrap())
}

#[test]
fn it_begins_once_all_earlier_members_answer() {
    let plan = after(&waiting(), 60);
    assert!(touches_nothing(&plan), "the status first: {:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!((status.cluster_id.as_deref(), status.size), (Some("1"), 0));
    assert_eq!(status.earlier_members, EARLIER);
    let news: Vec<_> = plan.events_after_status.iter().map(|event| event.reason.to_string()).collect();
    assert_eq!(news, ["TakeoverStarted"], "they are no new members");

    let next = joined(0, "Keep", &status);
    assert_eq!(step(&next), EtcdStep::Start { name: NAMES[0].into(), state: InitialState::Existing });
    let Some(Effect::Create(pod)) = after(&next, 60).effects.into_iter().find(|e| matches!(e, Effect::Create(_)))
    else {
        panic!("there is no pod")
    };
    let pod = pod.body.to_string();
    let peers =
        "--earlier-peers=http://etcd-0.etcd.n.svc:2380,http://etcd-1.etcd.n.svc:2380,http://etcd-2.etcd.n.svc:2380";
    assert_eq!(pod.matches(peers).count(), 2, "of both containers: {pod}");
}

/// Its volumes have room for less than the quota of earlier members.
#[test]
fn the_quota_of_earlier_members_is_no_warning() {
    let mut seen = under_way(3, "Remove");
    for name in EARLIER {
        seen.etcd.endpoints.get_mut(name).unwrap().as_mut().unwrap().quota = 8 << 30;
    }
    let warning = after(&seen, 60).status.unwrap().contract.condition("Warning").cloned();
    assert_eq!(warning, None);
}

#[test]
fn members_join_while_the_earlier_ones_stay() {
    for own in 1..3 {
        let seen = under_way(own, "Remove");
        assert_eq!(
            step(&seen),
            EtcdStep::Start { name: "c-aaaaaaaaaa".into(), state: InitialState::Existing },
            "{own}"
        );
    }
}

#[test]
fn with_all_members_the_cluster_is_ready_and_nothing_else_changes() {
    let seen = under_way(3, "Keep");
    let plan = after(&seen, 60);
    assert!(touches_nothing(&plan), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::True, "Running".to_owned()));
    assert_eq!((status.ready.as_deref(), status.size), (Some("3/3"), 3));
    assert_eq!(reason(&status, "Scaling").0, ConditionStatus::False);
    let (warning, why) = (reason(&status, "Warning"), status.contract.condition("Warning").unwrap());
    assert_eq!(warning, (ConditionStatus::True, "EarlierMembers".to_owned()));
    assert!(why.message.contains("set spec.takeover.earlierMembers to Remove"), "{}", why.message);

    // Neither with another image, nor a request to defragment.
    let mut edited = under_way(3, "Keep");
    let mut cluster = EtcdCluster::clone(&edited.cluster);
    cluster.spec.repository = Some("example.com/etcd".to_owned());
    cluster.spec.hibernate = true;
    edited.cluster = Arc::new(cluster);
    assert_eq!(step(&edited), EtcdStep::Rest);
    assert!(message(&after(&edited, 60).status.unwrap()).contains("hibernates once they have left"));
}

#[test]
fn earlier_members_leave_one_at_a_time_and_the_leader_last() {
    let mut seen = under_way(3, "Remove");
    let EtcdStep::MoveLeader { to, .. } = step(&seen) else { panic!("{:?}", step(&seen)) };
    assert!(NAMES.contains(&to.as_str()));
    for endpoint in seen.etcd.endpoints.values_mut().flatten() {
        endpoint.leader = 1;
    }
    let removed = |seen: &Observed| match step(seen) {
        EtcdStep::Remove { name, .. } => name,
        step => panic!("{step:?}"),
    };
    assert_eq!(removed(&seen), "etcd-0");
    // No object of that name has to be absent, which belongs to others.
    let acts = after(&seen, 60).effects;
    let change = acts.iter().find_map(|effect| match effect {
        Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { absent, staying, .. }, .. }) => {
            Some((absent, staying))
        }
        _ => None,
    });
    let (absent, staying) = change.unwrap();
    assert!(absent.is_empty() && staying.len() == 3, "{absent:?} {staying:?}");

    // One that has been stopped goes first.
    seen.etcd.endpoints.remove("etcd-2");
    assert_eq!(removed(&seen), "etcd-2");

    // But not while one of this cluster is not ready.
    let pod = Arc::get_mut(&mut seen.pods[0]).unwrap();
    pod.details.as_mut().unwrap().ready = false;
    assert!(matches!(step(&seen), EtcdStep::Wait(_)), "{:?}", step(&seen));
}

#[test]
fn a_member_that_another_client_adds_later_is_no_earlier_one() {
    let mut seen = under_way(3, "Remove");
    seen.etcd.members.as_mut().unwrap()[3].name = "etcd-9".to_owned();
    let EtcdStep::Stuck(reason, why) = step(&seen) else { panic!("{:?}", step(&seen)) };
    assert!(reason == EtcdClusterReason::ForeignMember && why.contains("etcd-9"), "{why}");
}

#[test]
fn without_quorum_only_this_clusters_own_members_are_restarted() {
    let mut seen = under_way(3, "Keep");
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.spec.recovery = serde_json::from_value(json!({ "policy": "Automatic" })).unwrap();
    seen.cluster = Arc::new(cluster);
    seen.etcd = Etcd { members: Err("no leader".to_owned()), ..Etcd::default() };
    seen.takeover.addresses.clear();
    let plan = after(&seen, 60 * 60 * 24);
    assert!(touches_nothing(&plan), "{:?}", plan.effects);
    assert_eq!(plan.status.unwrap().earlier_members, EARLIER);
    seen.pods.remove(0);
    assert_eq!(step(&seen), EtcdStep::Start { name: NAMES[0].into(), state: InitialState::Restart });
}

/// etcd adds no member while one does not answer, and removes none that would cost quorum.
#[test]
fn a_silent_earlier_member_is_named_while_others_join() {
    for (own, earlier) in [(1, "Remove"), (3, "Keep")] {
        let mut seen = under_way(own, earlier);
        seen.etcd.endpoints.remove("etcd-2");
        seen.takeover.addresses.remove("etcd-2");
        seen.takeover.unanswered = vec![(url("etcd-2").into(), "refuses connections".to_owned())];
        let EtcdStep::Wait(wait) = step(&seen) else { panic!("{:?}", step(&seen)) };
        assert!(wait.message.contains("the earlier member etcd-2 does not answer"), "{}", wait.message);
        assert!(wait.message.ends_with("http://etcd-2.etcd.n.svc:2379 refuses connections"), "{}", wait.message);
    }
}

/// A learner that receives a snapshot is overdue otherwise, and replaced.
#[test]
fn an_earlier_leader_is_asked_whether_it_sends_a_snapshot() {
    let mut seen = under_way(1, "Keep");
    seen.etcd.members.as_mut().unwrap()[0].learner = true;
    let before = after(&seen, 60).status.unwrap();
    seen.cluster = observed(&spec("Keep"), &before).cluster;
    let late = Timestamp::from_second(60 + 11 * 60).unwrap();
    assert_eq!(leader_of_overdue_member(&seen, late).as_deref(), Some("etcd-0.etcd.n.svc:2379"));
}

#[test]
fn an_alarm_is_not_disarmed_for_databases_of_others() {
    let mut seen = under_way(3, "Keep");
    seen.etcd.alarms = vec![(11, Alarm::NoSpace)];
    assert_eq!(step(&seen), EtcdStep::Rest);
}

/// Without a list, the status that is written would forget the earlier members for good.
#[test]
fn a_lost_status_is_written_once_the_earlier_members_are_known() {
    let mut seen = under_way(3, "Keep");
    let status = EtcdClusterStatus { cluster_id: Some("1".into()), ..decided() };
    seen.cluster = observed(&spec("Keep"), &status).cluster;
    let (members, endpoints) = (seen.etcd.members.clone(), seen.etcd.endpoints.clone());
    seen.etcd = Etcd { members: Err("no leader".to_owned()), ..Etcd::default() };
    assert!(after(&seen, 60).status.is_none());
    assert!(
        crate::plan::takeover::is_under_way(&seen.cluster),
        "no recovery, no restore, no deletion before they have left"
    );
    seen.etcd = Etcd { members, endpoints, ..Etcd::default() };
    assert_eq!(after(&seen, 60).status.unwrap().earlier_members, EARLIER);
}

/// All its pods would be deleted, and the earlier members have no quorum without them.
#[test]
fn a_restore_in_place_waits() {
    let restore = json!({
        "metadata": { "namespace": "n", "name": "r", "uid": "r", "generation": 1 },
        "spec": { "etcdCluster": { "name": "c" }, "replaceClusterID": "1", "pvc": { "claimName": "p", "file": "f" } },
        "status": { "verified": { "generation": 1, "sha256": "ab" } },
    });
    let restore = Arc::new(crate::EtcdRestore::decode(&restore.to_string()).unwrap());
    let mut seen = under_way(3, "Keep");
    seen.restores.push(Arc::clone(&restore));
    assert_eq!(step(&seen), EtcdStep::Rest);
    seen.etcd.members.as_mut().unwrap().truncate(3);
    let status = EtcdClusterStatus { earlier_members: Vec::new(), ..seen.cluster.status.clone() };
    seen.cluster = observed(&spec("Keep"), &status).cluster;
    assert!(matches!(step(&seen), EtcdStep::Restore(_)), "{:?}", step(&seen));
}

fn deleted(mut seen: Observed) -> EtcdPlan {
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.meta.deleting = true;
    seen.cluster = Arc::new(cluster);
    after(&seen, 60)
}

#[test]
fn a_deleted_cluster_leaves_the_one_that_it_has_joined() {
    let seen = under_way(3, "Keep");
    let removes = |plan: &EtcdPlan| {
        plan.effects.iter().find_map(|effect| match effect {
            Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { id, .. }, .. }) => Some(*id),
            _ => None,
        })
    };
    let plan = deleted(seen);
    assert!(removes(&plan).is_some_and(|id| id <= 3), "{:?}", plan.effects);
    let terminating = plan.status.unwrap();
    assert_eq!(reason(&terminating, "Terminating"), (ConditionStatus::True, "LeavingCluster".to_owned()));

    let mut lost = under_way(3, "Keep");
    lost.etcd = Etcd { members: Err("no leader".to_owned()), ..Etcd::default() };
    let status = deleted(lost).status.unwrap();
    assert_eq!(reason(&status, "Terminating"), (ConditionStatus::True, "DeletionBlocked".to_owned()));
    let why = &status.contract.condition("Terminating").unwrap().message;
    assert!(
        why.contains("etcd-0, etcd-1, etcd-2, which has no quorum (no leader)") && why.contains("kubectl patch"),
        "{why}"
    );

    assert_eq!(removes(&deleted(under_way(0, "Keep"))), None, "none has joined");
}

/// Otherwise garbage collection would delete its pods at once.
#[test]
fn a_cluster_without_volumes_leaves_as_well() {
    let status = EtcdClusterStatus { storage: Some(EtcdStorageStatus { durable: false }), ..decided() };
    let mut seen = joined(0, "Keep", &status);
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.meta.finalizers = Vec::new().into();
    seen.cluster = Arc::new(cluster);
    let [Effect::Apply(apply)] = &after(&seen, 60).effects[..] else { panic!("the finalizer is not the first") };
    assert!(apply.body.to_string().contains(ETCD_VOLUMES), "{}", apply.body);
}

/// It would need members again.
#[test]
fn no_last_backup_is_taken_of_a_cluster_that_was_left() {
    let mut seen = under_way(0, "Keep");
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.spec.on_delete = serde_json::from_value(json!({ "backup": "b" })).unwrap();
    seen.cluster = Arc::new(cluster);
    let plan = deleted(seen);
    let starts = plan.effects.iter().any(|effect| matches!(effect, Effect::Create(_) | Effect::Act(_)));
    let terminating = plan.status.as_ref().and_then(|status| status.contract.condition("Terminating"));
    assert!(!starts && terminating.is_none_or(|of| of.reason != EtcdClusterReason::TakingLastBackup), "{plan:?}");
}

#[test]
fn a_removed_takeover_forgets_no_earlier_member() {
    let mut seen = under_way(3, "Remove");
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.spec.takeover = None;
    seen.cluster = Arc::new(cluster);
    seen.takeover.addresses.clear();
    seen.etcd.endpoints.retain(|name, _| !EARLIER.contains(&&**name));
    let plan = after(&seen, 60);
    let status = plan.status.unwrap();
    assert_eq!(status.earlier_members, EARLIER);
    assert!(plan.events_after_status.iter().all(|event| event.reason != EtcdClusterEvent::TakenOver));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignMember".to_owned()));
}

#[test]
fn nothing_begins_that_is_refused_for_another_reason() {
    let mut seen = waiting();
    seen.foreign_pods = Some(vec![ForeignPod { name: "c-0001".into(), terminating: false }]);
    let status = after(&seen, 60).status.unwrap();
    assert_eq!((status.cluster_id.as_deref(), reason(&status, "Ready").1), (None, "ForeignPods".to_owned()));
}

#[test]
fn the_status_says_when_the_earlier_members_have_left() {
    let mut seen = under_way(3, "Remove");
    seen.etcd.members.as_mut().unwrap().truncate(3);
    for endpoint in seen.etcd.endpoints.values_mut().flatten() {
        endpoint.leader = 1;
    }
    let plan = after(&seen, 60);
    let status = plan.status.unwrap();
    assert!(status.earlier_members.is_empty());
    assert!(plan.events_after_status.iter().any(|event| event.reason == EtcdClusterEvent::TakenOver));
    let done = observed(&spec("Remove"), &status);
    assert!(crate::plan::takeover::endpoints(&done.cluster).is_empty(), "nothing is asked there any more");
}

mod refused;
