//! What is applied to claims, and that what the API server refuses of it keeps nothing else from being applied.

use api::UNSAVED_DATA;
use runtime::cache::Projection as _;
use runtime::plan::Apply;
use runtime::projections::Claim;

use super::members::{NAMES, after, three};
use super::*;
use crate::plan::objects::{CLUSTER_ID, MEMBER_ID, MEMBER_VERSION, PROVEN, RETIRED};

/// A claim of 1Gi with that metadata beside its name, and the label of its owner.
pub(super) fn claim(name: &str, metadata: &Value, labels: &Value) -> Arc<Claim> {
    let mut all = json!({ "multi-operator.example.com/owner-uid": "u" });
    all.as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
    let mut claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": all },
        "spec": { "resources": { "requests": { "storage": "1Gi" } } }, "status": { "phase": "Bound" } });
    claim["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    Arc::new(Claim::decode(&claim.to_string()).unwrap())
}

pub(super) fn voted() -> Value {
    json!({ CLUSTER_ID: "1", MEMBER_ID: "1", MEMBER_VERSION: "3.6.16" })
}

/// Three members on claims of 1Gi, of which the spec asks for more.
pub(super) fn growing(spec: &Value) -> Observed {
    let mut spec = spec.clone();
    spec["storage"]["size"] = json!("2Gi");
    let mut seen = three(&spec);
    seen.claims = NAMES.iter().map(|name| claim(name, &json!({}), &voted())).collect();
    seen
}

fn applied(plan: &EtcdPlan) -> Vec<&Apply> {
    let effects = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) => Some(apply),
        _ => None,
    });
    effects.chain(&plan.independent).filter(|apply| apply.kind.kind == "PersistentVolumeClaim").collect()
}

fn size(apply: &Apply) -> Option<&str> {
    apply.body["spec"]["resources"]["requests"]["storage"].as_str()
}

#[test]
fn a_claim_is_retired_without_a_word_of_its_size() {
    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims.push(claim("c-dddddddddd", &json!({ "finalizers": [UNSAVED_DATA] }), &voted()));
    let plan = after(&seen, 60);
    let retired: Vec<_> =
        applied(&plan).into_iter().filter(|apply| apply.body["metadata"]["labels"][RETIRED].is_string()).collect();
    assert_eq!(retired.len(), 1, "{plan:?}");
    assert_eq!((&*retired[0].key.name, &retired[0].body["spec"]), ("c-dddddddddd", &Value::Null));
}

#[test]
fn a_claim_that_goes_with_the_cluster_is_its_own_before_it_is_retired() {
    let owner = json!({ "ownerReferences": [{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "name": "c", "uid": "u", "controller": true }] });
    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims.push(claim("c-dddddddddd", &owner, &voted()));
    let plan = after(&seen, 60);
    let writes: Vec<_> = applied(&plan).into_iter().filter(|apply| &*apply.key.name == "c-dddddddddd").collect();
    assert!(writes[0].body["metadata"]["ownerReferences"].is_null() && size(writes[0]) == Some("1Gi"), "{writes:?}");
    assert_eq!(writes[1].body["metadata"]["labels"][RETIRED], "true");
}

#[test]
fn what_members_ran_is_read_of_those_whose_pods_are_gone_and_not_of_removed_ones() {
    let mut seen = growing(&json!({ "size": 3 }));
    let retired = json!({ PROVEN: "a", RETIRED: "true" });
    seen.claims =
        vec![claim(NAMES[0], &json!({}), &json!({ PROVEN: "a" })), claim("c-dddddddddd", &json!({}), &retired)];
    seen.claims.push(claim(NAMES[1], &json!({}), &json!({})));
    assert!(proven::to_read(&seen).is_empty(), "{:?}", proven::to_read(&seen));
    seen.pods.clear();
    assert_eq!(proven::to_read(&seen), [NAMES[0].into()]);
}

#[test]
fn what_a_volume_holds_is_noted_whether_or_not_it_may_grow() {
    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims[0] = claim(NAMES[0], &json!({}), &json!({ "multi-operator.example.com/joining": "true" }));
    let plan = after(&seen, 60);
    let writes: Vec<_> = applied(&plan).into_iter().filter(|apply| &*apply.key.name == NAMES[0]).collect();
    let facts: Vec<_> = writes.iter().filter(|apply| apply.body["metadata"]["labels"][CLUSTER_ID] == "1").collect();
    assert_eq!((facts.len(), size(facts[0])), (1, Some("1Gi")), "{writes:?}");
    let sizes: Vec<_> = writes.iter().filter(|apply| size(apply) == Some("2Gi")).collect();
    assert_eq!(sizes.len(), 1, "the size is a write of its own: {writes:?}");
    assert!(sizes[0].body["metadata"]["labels"].is_null() && sizes[0].hand_over.is_some(), "{:?}", sizes[0]);
}
