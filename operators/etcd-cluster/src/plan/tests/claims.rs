//! What the operator applies to PVCs. A rejected apply does not keep it from other ones.

use api::UNSAVED_DATA;
use runtime::cache::Projection as _;
use runtime::plan::Apply;
use runtime::projections::Pvc;

use super::members::{NAMES, after, three};
use super::*;
use crate::plan::objects::{CLUSTER_ID, KNOWN_GOOD, MEMBER_ID, MEMBER_VERSION, RETIRED};

/// A PVC of 1Gi with additional metadata, and the label of its owner.
pub(super) fn claim(name: &str, metadata: &Value, labels: &Value) -> Arc<Pvc> {
    let mut all = json!({ "multi-operator.example.com/owner-uid": "u" });
    all.as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
    let mut claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": all },
        "spec": { "resources": { "requests": { "storage": "1Gi" } } }, "status": { "phase": "Bound" } });
    claim["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

pub(super) fn voted() -> Value {
    json!({ CLUSTER_ID: "1", MEMBER_ID: "1", MEMBER_VERSION: "3.6.16" })
}

/// Three members on PVCs of 1Gi, for which the spec requests more.
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
fn a_claim_is_retired_without_setting_its_size() {
    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims.push(claim("c-dddddddddd", &json!({ "finalizers": [UNSAVED_DATA] }), &voted()));
    let plan = after(&seen, 60);
    let retired: Vec<_> =
        applied(&plan).into_iter().filter(|apply| apply.body["metadata"]["labels"][RETIRED].is_string()).collect();
    assert_eq!(retired.len(), 1, "{plan:?}");
    assert_eq!((&*retired[0].key.name, &retired[0].body["spec"]), ("c-dddddddddd", &Value::Null));
}

#[test]
fn a_claim_to_be_deleted_gets_its_owner_before_it_is_retired() {
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
fn the_last_known_good_spec_is_read_for_members_without_pods_and_not_for_removed_ones() {
    let mut seen = growing(&json!({ "size": 3 }));
    let retired = json!({ KNOWN_GOOD: "a", RETIRED: "true" });
    seen.claims =
        vec![claim(NAMES[0], &json!({}), &json!({ KNOWN_GOOD: "a" })), claim("c-dddddddddd", &json!({}), &retired)];
    seen.claims.push(claim(NAMES[1], &json!({}), &json!({})));
    assert!(known_good::claims_to_read(&seen).is_empty(), "{:?}", known_good::claims_to_read(&seen));
    seen.pods.clear();
    assert_eq!(known_good::claims_to_read(&seen), [NAMES[0].into()]);
}

#[test]
fn facts_of_a_volume_are_recorded_whether_or_not_it_may_grow() {
    let mut seen = growing(&json!({ "size": 3 }));
    seen.claims[0] = claim(NAMES[0], &json!({}), &json!({ "multi-operator.example.com/joining": "true" }));
    let plan = after(&seen, 60);
    let writes: Vec<_> = applied(&plan).into_iter().filter(|apply| &*apply.key.name == NAMES[0]).collect();
    let facts: Vec<_> = writes.iter().filter(|apply| apply.body["metadata"]["labels"][CLUSTER_ID] == "1").collect();
    assert_eq!((facts.len(), size(facts[0])), (1, Some("1Gi")), "{writes:?}");
    let sizes: Vec<_> = writes.iter().filter(|apply| size(apply) == Some("2Gi")).collect();
    assert_eq!(sizes.len(), 1, "the size is a write of its own: {writes:?}");
    assert!(sizes[0].body["metadata"]["labels"].is_null() && sizes[0].manager_prefix.is_some(), "{:?}", sizes[0]);
}
