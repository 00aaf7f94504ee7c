//! Copies of volumes of another namespace's cluster of that name, as a backup that is restored there makes them. A member that starts
//! on one goes by the addresses in its data: it would take part in that cluster.

use runtime::projections::Claim;

use super::members::{NAMES, after, message, removes, three};
use super::*;
use crate::plan::objects::{CLUSTER_ID, NAMESPACE};

/// Claims of members that were made for another object, in a namespace.
fn restored(seen: &mut Observed, namespace: &str) {
    let of = |name: &&str| {
        let claim = json!({
            "metadata": { "namespace": "n", "name": name, "uid": name, "labels": {
                "multi-operator.example.com/owner-uid": "earlier", CLUSTER_ID: "1", NAMESPACE: namespace } },
            "status": { "phase": "Bound" },
        });
        Arc::new(Claim::decode(&claim.to_string()).unwrap())
    };
    seen.claims = NAMES.iter().map(of).collect();
}

/// What a plan makes or takes over beside Services.
fn touched(plan: &EtcdPlan) -> usize {
    plan.effects.iter().filter(|effect| !matches!(effect, Effect::Apply(apply) if apply.kind.kind == "Service")).count()
}

#[test]
fn copies_are_not_started_whether_status_was_copied_or_a_person_adopts_them() {
    for status in [made(), decided()] {
        let mut seen = observed(&json!({ "size": 3 }), &status);
        restored(&mut seen, "n");
        let adopts = touched(&after(&seen, 60)) > 0;
        assert_eq!(adopts, status.cluster_id.is_some(), "in its own namespace it is the same cluster");
        restored(&mut seen, "production");
        let mut cluster = EtcdCluster::clone(&seen.cluster);
        cluster.annotations.insert(api::etcd_cluster::ADOPT, "earlier".into());
        for cluster in [Arc::clone(&seen.cluster), Arc::new(cluster)] {
            seen.cluster = cluster;
            let plan = after(&seen, 60);
            assert_eq!(touched(&plan), 0, "{:?}", plan.effects);
            let status = plan.status.unwrap();
            assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumesFound".to_owned()));
            assert!(message(&status).contains("the c of namespace production"), "{}", message(&status));
        }
    }
}

#[test]
fn every_claim_tells_of_its_namespace() {
    let seen = three(&json!({ "size": 3 }));
    let claims = after(&seen, 60).independent.into_iter().filter(|apply| apply.kind.kind == "PersistentVolumeClaim");
    let told = claims.filter(|apply| apply.body["metadata"]["labels"][NAMESPACE] == "n").count();
    assert_eq!(told, 3);
}

#[test]
fn a_copy_removes_nobody_from_the_cluster_that_it_is_of() {
    let mut seen = three(&json!({ "size": 3 }));
    let copied = |member: &mut Member| member.peer_urls = vec![format!("http://{}.c.production.svc:2380", member.name)];
    let mut members = seen.etcd.members.clone().unwrap();
    members.iter_mut().for_each(copied);
    members.push(Member { id: 4, name: "c-dddddddddd".into(), ..Member::default() });
    copied(&mut members[3]);
    seen.found.gone.insert("c-dddddddddd".into());
    seen.etcd.members = Ok(members);
    for size in [3, 1] {
        seen.cluster = observed(&json!({ "size": size }), &made()).cluster;
        let plan = after(&seen, 60);
        assert_eq!(touched(&plan), 0, "{:?}", plan.effects);
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignMember".to_owned()));
        assert!(message(&status).contains("c.production.svc"), "{}", message(&status));
    }
}

/// The other way round: what such a copy's operator has added is not taken for one of ours that is gone.
#[test]
fn a_member_of_another_namespace_is_removed_by_a_person_only() {
    let mut seen = three(&json!({ "size": 3 }));
    let url = "http://c-dddddddddd.c.drill.svc:2380".to_owned();
    let foreign = Member { id: 4, name: "c-dddddddddd".into(), peer_urls: vec![url], learner: false };
    let mut members = seen.etcd.members.clone().unwrap();
    members.push(foreign);
    seen.etcd.members = Ok(members);
    seen.found.gone.insert("c-dddddddddd".into());
    assert!(!removes(&seen));
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignMember".to_owned()));
}

/// Who is away for a moment is not one too many.
#[test]
fn beside_somebody_elses_member_none_of_ours_is_removed_for_being_away() {
    let mut seen = three(&json!({ "size": 3 }));
    let mut members = seen.etcd.members.clone().unwrap();
    members.push(Member { id: 4, name: "stranger".into(), learner: true, ..Member::default() });
    seen.etcd.members = Ok(members);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".into()));
    assert!(!removes(&seen));
    seen.pods.retain(|pod| *pod.meta.key.name != *NAMES[2]);
    seen.etcd.endpoints.remove(NAMES[2]);
    let plan = after(&seen, 60);
    let made =
        plan.effects.iter().any(|effect| matches!(effect, Effect::Create(create) if *create.key.name == *NAMES[2]));
    assert!(made && !removes(&seen), "{:?}", plan.effects);
}
