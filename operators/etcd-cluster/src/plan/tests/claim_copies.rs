//! PVCs that users copied from those of members, labels included: the operator does not use or delete them.

use api::UNSAVED_DATA;
use runtime::projections::Pvc;

use super::claims::{claim, growing, voted};
use super::members::{NAMES, after};
use super::*;
use crate::plan::objects::{CLUSTER_ID, MEMBER_NAME, RETIRED, RETIRED_BY};

/// Names of copies. The last one looks like a member's.
const COPIES: [&str; 2] = ["c-backup", "c-backup0001"];

/// A copy of the first member's PVC, with additional metadata and labels.
fn copy(name: &str, metadata: &Value, more: &Value) -> Arc<Pvc> {
    let mut labels = voted();
    labels.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    labels[MEMBER_NAME] = json!(NAMES[0]);
    claim(name, metadata, &labels)
}

/// The names of all objects that a plan writes or deletes.
fn touched(plan: &EtcdPlan) -> Vec<&str> {
    let effects = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) => Some(&apply.key),
        Effect::Create(create) => Some(&create.key),
        Effect::Delete(delete) => Some(&delete.key),
        Effect::Act(_) => None,
    });
    effects.chain(plan.independent.iter().map(|apply| &apply.key)).map(|key| &*key.name).collect()
}

fn leaves_alone(seen: &Observed, name: &str, why: &str) {
    let plan = after(seen, 60);
    assert!(!touched(&plan).contains(&name), "{why}: {:?} {:?}", plan.effects, plan.independent);
}

#[test]
fn a_copied_claim_is_not_deleted_retired_or_used_by_a_member() {
    for (name, policy) in COPIES.iter().flat_map(|name| ["Retain", "Delete"].map(|policy| (*name, policy))) {
        for bound in [true, false] {
            let mut seen = growing(&json!({ "size": 3, "storage": { "onDelete": policy } }));
            let mut of_it = copy(name, &json!({}), &json!({}));
            Arc::get_mut(&mut of_it).unwrap().bound = bound;
            seen.claims.push(of_it);
            leaves_alone(&seen, name, policy);
            let status = after(&seen, 60).status.unwrap();
            let warning = status.contract.condition("Warning").unwrap();
            assert_eq!((&*warning.reason, warning.status), ("ClaimCopied", ConditionStatus::True));
            assert!(warning.message.contains(&format!("{name} multi-operator.example.com/owner-uid-")), "{warning:?}");
            seen.new_member_name = "c-zzzzzzzzzz".into();
            let mut more = json!(seen.cluster.spec);
            more["size"] = json!(5);
            Arc::get_mut(&mut seen.cluster).unwrap().spec = serde_json::from_value(more).unwrap();
            leaves_alone(&seen, name, "the next member has a claim of its own");
            assert!(touched(&after(&seen, 60)).contains(&"c-zzzzzzzzzz"), "there is a next member");
        }
    }
}

#[test]
fn a_copy_restores_no_member_if_status_is_lost() {
    for name in COPIES {
        let mut seen = growing(&json!({ "size": 3 }));
        seen.claims.push(copy(name, &json!({}), &json!({ CLUSTER_ID: "2" })));
        seen.cluster = observed(&json!({ "size": 3 }), &EtcdClusterStatus::default()).cluster;
        let status = recovered::with_recovered_status(&seen.cluster, &seen.claims).status.clone();
        let known: Vec<_> = status.member_statuses.iter().map(|status| status.name.as_str()).collect();
        assert_eq!((status.cluster_id.as_deref(), known), (Some("1"), NAMES.to_vec()));
    }
}

#[test]
fn a_copy_does_not_count_among_retired_claims() {
    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims = NAMES.iter().map(|name| claim(name, &json!({}), &voted())).collect();
    let retired = json!({ RETIRED: "true", RETIRED_BY: "multi-operator" });
    let excess = |seen: &Observed| {
        let members = MemberSet::of(seen, Timestamp::UNIX_EPOCH);
        let desired = desired::Desired::of(seen, &members, true);
        retired::excess(seen, &members, &desired).map(|claim| claim.meta.key.name.to_string())
    };
    for version in 1..9 {
        seen.claims.push(copy(&format!("c-backup000{version}"), &json!({ "resourceVersion": "1" }), &retired));
    }
    assert_eq!(excess(&seen), None);
    for version in 1..9 {
        let mut labels = voted();
        labels.as_object_mut().unwrap().extend(retired.as_object().unwrap().clone());
        let name = format!("c-gone00000{version}");
        labels[MEMBER_NAME] = json!(name);
        seen.claims.push(claim(&name, &json!({ "resourceVersion": (version + 1).to_string() }), &labels));
    }
    assert_eq!(excess(&seen).as_deref(), Some("c-gone000001"), "the oldest that is no copy");
}

#[test]
fn a_copy_is_not_deleted_with_the_cluster_but_released() {
    let held = json!({ "finalizers": [UNSAVED_DATA] });
    let mut seen = growing(&json!({ "size": 3, "storage": { "onDelete": "Delete" } }));
    seen.claims.push(copy("c-backup", &held, &json!({})));
    Arc::get_mut(&mut seen.cluster).unwrap().meta.deleting = true;
    let plan = after(&seen, 60);
    let deleted =
        |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if &*delete.key.name == "c-backup");
    assert!(!plan.effects.iter().any(deleted), "{:?}", plan.effects);
    assert!(touched(&plan).contains(&"c-backup"), "the operator does not release it later");

    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims.push(copy("c-backup", &held, &json!({})));
    leaves_alone(&seen, "c-backup", "a person holds it");
    let deleted = json!({ "finalizers": [UNSAVED_DATA], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    seen.claims[3] = copy("c-backup", &deleted, &json!({}));
    let plan = after(&seen, 60);
    let released: Vec<_> = plan.independent.iter().filter(|apply| &*apply.key.name == "c-backup").collect();
    assert_eq!((released.len(), &released[0].body["metadata"]["finalizers"]), (1, &json!([])));
    Arc::get_mut(&mut seen.cluster).unwrap().meta.deleting = true;
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Terminating").1, "WaitingForClaims", "no member is to be replaced for it");
}

/// etcd's list or the status shows which member it belongs to.
#[test]
fn a_member_restarts_on_its_claim_whatever_member_the_label_names() {
    for listed in [true, false] {
        let mut seen = growing(&json!({ "size": 3 }));
        let known = after(&seen, 60).status.unwrap();
        Arc::get_mut(&mut seen.cluster).unwrap().status = known;
        let mut labels = voted();
        labels[MEMBER_NAME] = json!("other");
        seen.claims[1] = claim(NAMES[1], &json!({}), &labels);
        seen.pods.remove(1);
        seen.etcd.endpoints.remove(NAMES[1]);
        if !listed {
            seen.etcd.members = Err("no leader".to_owned());
        }
        let plan = after(&seen, 60);
        let created =
            |effect: &Effect<EtcdAct>| matches!(effect, Effect::Create(create) if *create.key.name == *NAMES[1]);
        assert!(plan.effects.iter().any(created), "{listed}: {:?}", plan.effects);
    }
}
