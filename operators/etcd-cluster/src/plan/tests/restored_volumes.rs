//! Copies of the volumes of a cluster of the same name in another namespace, as a restored backup creates them. A member on such
//! a volume uses the addresses in its data, so it would join that cluster.

use runtime::projections::Pvc;

use super::members::{NAMES, after, message, removes, three};
use super::*;
use crate::plan::objects::{CLUSTER_ID, NAMESPACE};

/// PVCs of members that belong to another object, in a namespace.
fn restored(seen: &mut Observed, namespace: &str) {
    let of = |name: &&str| {
        let claim = json!({
            "metadata": { "namespace": "n", "name": name, "uid": name, "labels": {
                "multi-operator.example.com/owner-uid": "earlier", CLUSTER_ID: "1", NAMESPACE: namespace } },
            "status": { "phase": "Bound" },
        });
        Arc::new(Pvc::decode(&claim.to_string()).unwrap())
    };
    seen.claims = NAMES.iter().map(of).collect();
}

/// The number of objects that a plan creates or adopts, without Services.
fn touched(plan: &EtcdPlan) -> usize {
    plan.effects.iter().filter(|effect| !matches!(effect, Effect::Apply(apply) if apply.kind.kind == "Service")).count()
}

#[test]
fn no_member_starts_on_copies_even_if_status_was_copied_or_they_are_adopted() {
    for status in [bootstrapped(), decided()] {
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
            assert!(message(&status).contains("EtcdCluster c of namespace production"), "{}", message(&status));
        }
    }
}

#[test]
fn every_claim_records_its_namespace() {
    let seen = three(&json!({ "size": 3 }));
    let claims = after(&seen, 60).independent.into_iter().filter(|apply| apply.kind.kind == "PersistentVolumeClaim");
    let labeled = claims.filter(|apply| apply.body["metadata"]["labels"][NAMESPACE] == "n").count();
    assert_eq!(labeled, 3);
}

#[test]
fn a_copy_removes_no_member_from_the_original_cluster() {
    let mut seen = three(&json!({ "size": 3 }));
    let copied =
        |member: &mut ListedMember| member.peer_urls = vec![format!("http://{}.c.production.svc:2380", member.name)];
    let mut members = seen.etcd.members.clone().unwrap();
    members.iter_mut().for_each(copied);
    members.push(ListedMember { id: 4, name: "c-dddddddddd".into(), ..ListedMember::default() });
    copied(&mut members[3]);
    seen.claim_lookups.absent.insert("c-dddddddddd".into());
    seen.etcd.members = Ok(members);
    for size in [3, 1] {
        seen.cluster = observed(&json!({ "size": size }), &bootstrapped()).cluster;
        let plan = after(&seen, 60);
        assert_eq!(touched(&plan), 0, "{:?}", plan.effects);
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignMember".to_owned()));
        assert!(message(&status).contains("c.production.svc"), "{}", message(&status));
    }
}

/// In the original cluster: a member that the copy's operator has added is not repaired as if it had lost its pod.
#[test]
fn only_a_user_removes_a_member_of_another_namespace() {
    let mut seen = three(&json!({ "size": 3 }));
    let url = "http://c-dddddddddd.c.drill.svc:2380".to_owned();
    let foreign = ListedMember { id: 4, name: "c-dddddddddd".into(), peer_urls: vec![url], learner: false };
    let mut members = seen.etcd.members.clone().unwrap();
    members.push(foreign);
    seen.etcd.members = Ok(members);
    seen.claim_lookups.absent.insert("c-dddddddddd".into());
    assert!(!removes(&seen));
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ForeignMember".to_owned()));
}

/// A member without a pod for a moment is not excess.
#[test]
fn with_a_foreign_member_no_own_member_is_removed_for_a_missing_pod() {
    let mut seen = three(&json!({ "size": 3 }));
    let mut members = seen.etcd.members.clone().unwrap();
    members.push(ListedMember { id: 4, name: "foreign".into(), learner: true, ..ListedMember::default() });
    seen.etcd.members = Ok(members);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".into()));
    assert!(!removes(&seen));
    seen.pods.retain(|pod| *pod.meta.key.name != *NAMES[2]);
    seen.etcd.endpoints.remove(NAMES[2]);
    let plan = after(&seen, 60);
    let created =
        plan.effects.iter().any(|effect| matches!(effect, Effect::Create(create) if *create.key.name == *NAMES[2]));
    assert!(created && !removes(&seen), "{:?}", plan.effects);
}
