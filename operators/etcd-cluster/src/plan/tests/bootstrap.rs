//! Which cluster is begun, or begun no second time: by the token of each, and by what claims tell once status is lost.

use runtime::views::Claim;

use super::*;
use crate::plan::objects::{CLUSTER_ID, MEMBER_ID, MEMBER_VERSION, RETIRED};

/// A claim of this object that tells which cluster its volume holds.
fn claim(name: &str, cluster_id: &str, retired: bool) -> Arc<Claim> {
    let mut labels = json!({ "multi-operator.example.com/owner-uid": "u", CLUSTER_ID: cluster_id,
        MEMBER_ID: "7", MEMBER_VERSION: "3.6.16" });
    if retired {
        labels[RETIRED] = json!("true");
    }
    let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": labels },
        "status": { "phase": "Bound" } });
    Arc::new(Claim::decode(&claim.to_string()).unwrap())
}

/// What is planned for a cluster whose status is lost, and that has these claims.
fn without_status(claims: Vec<Arc<Claim>>) -> (EtcdPlan, Option<String>) {
    let mut seen = observed(&json!({ "size": 3 }), &EtcdClusterStatus::default());
    seen.cluster = recovered::recovered(&seen.cluster, &claims);
    seen.claims = claims;
    let id = seen.cluster.status.cluster_id.clone();
    (plan(&seen, Timestamp::UNIX_EPOCH), id)
}

#[test]
fn claims_of_two_clusters_and_no_status_are_for_a_person_to_decide() {
    let (stuck, id) = without_status(vec![claim("c-aaaaaaaaaa", "a1", false), claim("c-bbbbbbbbbb", "b2", false)]);
    assert!(stuck.effects.is_empty(), "nothing is begun beside them: {:?}", stuck.effects);
    assert_eq!(id, None);
    let status = stuck.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumesAmbiguous".to_owned()));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains(CLUSTER_ID) && message.contains(RETIRED), "it says how to go on: {message}");

    let (goes_on, id) = without_status(vec![claim("c-aaaaaaaaaa", "a1", false), claim("c-bbbbbbbbbb", "b2", true)]);
    assert_eq!(id.as_deref(), Some("a1"), "the one that was not put aside");
    let made: Vec<_> = goes_on.effects.iter().filter_map(created).collect();
    assert_eq!(made, ["c-aaaaaaaaaa"], "its member comes back, on its volume");
    assert_ne!(reason(&goes_on.status.unwrap(), "Stalled").1, "VolumesAmbiguous");
}

fn created(effect: &Effect<EtcdAct>) -> Option<String> {
    match effect {
        Effect::Create(create) if create.kind.kind == "Pod" => Some(create.key.name.to_string()),
        _ => None,
    }
}

/// etcd derives the ids of a cluster and its members from the token and the members' addresses, which are the same for each
/// cluster of one object.
#[test]
fn each_cluster_that_is_begun_has_a_token_of_its_own() {
    let token = |fresh: &str| {
        let mut seen = observed(&json!({ "size": 3 }), &decided());
        seen.fresh_name = fresh.into();
        let plan = plan(&seen, Timestamp::UNIX_EPOCH);
        let pod = plan.effects.iter().find_map(|effect| match effect {
            Effect::Create(create) if create.kind.kind == "Pod" => Some(create.body.clone()),
            _ => None,
        });
        let pod = pod.expect("the first member's pod");
        let command = pod["spec"]["containers"][0]["command"].as_array().unwrap().clone();
        let token =
            command.iter().filter_map(Value::as_str).find_map(|word| word.strip_prefix("--initial-cluster-token="));
        token.expect("a token").to_owned()
    };
    assert_eq!([token("c-1111111111"), token("c-2222222222")], ["c-1111111111", "c-2222222222"]);
}
