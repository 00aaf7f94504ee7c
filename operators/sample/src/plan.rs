//! Pure: the plan for a Sample.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::sample::{SampleReason, SampleStatus};
use api::{Contract, Reason, ReconcileReason};
use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use runtime::cache::Projection;
use runtime::plan::meta::child_meta;
use runtime::plan::{Apply, ChildState, Delete, Effect, Plan};
use runtime::projections::ConfigMap;
use runtime::status::conditions::Summary;

use crate::Sample;

/// The key of the ConfigMap under which the string is stored.
pub const ENTRY: &str = "testString";

/// A Sample and its ConfigMap.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub sample: Arc<Sample>,
    /// Its ConfigMap.
    pub config_map: ChildState<ConfigMap>,
}

/// Plans the ConfigMap and the status.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<SampleStatus> {
    if observed.sample.meta.deleting {
        return Plan::nothing();
    }
    let desired = config_map(&observed.sample);
    let key = &desired.key;
    let (effects, summary, reason, message) = match &observed.config_map {
        ChildState::Terminating => (
            Vec::new(),
            Summary::Reconciling,
            Reason::from(ReconcileReason::WaitingForDeletion),
            format!("waiting for the ConfigMap {} to be deleted", key.name),
        ),
        ChildState::Undecodable(why) => (
            Vec::new(),
            Summary::Stalled,
            ReconcileReason::Unreadable.into(),
            format!("the ConfigMap {} cannot be decoded: {why}", key.name),
        ),
        seen => {
            let message = format!("the ConfigMap {} contains testString", key.name);
            (effects(seen, desired), Summary::Ready, SampleReason::Kept.into(), message)
        }
    };
    let contract = Contract { conditions: summary.conditions(reason, message, now), ..Contract::default() };
    Plan { effects, status: Some(SampleStatus { contract }), ..Plan::nothing() }
}

/// The effects that bring the ConfigMap to the desired state. An immutable one is replaced.
fn effects(seen: &ChildState<ConfigMap>, desired: Apply) -> Vec<Effect> {
    let Some(apply) = seen.apply_if_drifted(desired) else { return Vec::new() };
    match seen.owned().filter(|live| live.immutable) {
        Some(live) => {
            vec![Effect::Delete(Delete::of(ConfigMap::KIND, &live.meta)), Effect::Apply(apply.for_new_child())]
        }
        None => vec![Effect::Apply(apply)],
    }
}

fn config_map(sample: &Sample) -> Apply {
    let config_map = core::ConfigMap {
        metadata: child_meta(&Sample::KIND, &sample.meta),
        data: Some(BTreeMap::from([(ENTRY.to_owned(), sample.spec.test_string.clone())])),
        ..core::ConfigMap::default()
    };
    Apply::new(ConfigMap::KIND, sample.meta.key.clone(), &config_map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::plan::child::OwnedChild;
    use serde_json::json;

    fn sample(string: &str) -> Arc<Sample> {
        named("a", string)
    }

    fn named(name: &str, string: &str) -> Arc<Sample> {
        let json = json!({ "metadata": { "name": name, "namespace": "n", "uid": "u" }, "testString": string });
        Arc::new(Sample::decode(&json.to_string()).unwrap())
    }

    #[test]
    fn creates_the_config_map_and_is_ready_in_one_reconcile() {
        let plan = plan(&Observed { sample: sample("x"), config_map: ChildState::Absent }, Timestamp::UNIX_EPOCH);
        let [Effect::Apply(apply)] = &plan.effects[..] else { panic!("one apply, not {:?}", plan.effects) };
        assert_eq!(apply.body["data"][ENTRY], "x");
        assert_eq!(apply.body["metadata"]["ownerReferences"][0]["uid"], "u");
        assert!(plan.status.unwrap().contract.is_true("Ready"));
    }

    #[test]
    fn every_valid_name_gives_valid_labels() {
        for name in
            ["a".repeat(63), "a".repeat(64), "a.".repeat(126) + "a", format!("{}.{}", "a".repeat(45), "b".repeat(200))]
        {
            let sample = named(&name, "x");
            let plan = plan(&Observed { sample, config_map: ChildState::Absent }, Timestamp::UNIX_EPOCH);
            let [Effect::Apply(apply)] = &plan.effects[..] else { panic!("one apply, not {:?}", plan.effects) };
            assert_eq!(apply.body["metadata"]["name"], *name);
            let instance = apply.body["metadata"]["labels"]["app.kubernetes.io/instance"].as_str().unwrap();
            assert!(instance.len() <= 63 && instance.ends_with(|c: char| c.is_ascii_alphanumeric()), "{instance}");
            assert_eq!(instance == name, name.len() <= 63);
        }
    }

    #[test]
    fn an_immutable_config_map_is_replaced_once_it_has_to_change() {
        let seen = |string: &str| {
            let rendered = config_map(&sample(string));
            let mut live = rendered.body.clone();
            live["metadata"]["uid"] = json!("c");
            live["immutable"] = json!(true);
            let view = Arc::new(ConfigMap::decode(&live.to_string()).unwrap());
            ChildState::Owned(OwnedChild { view, fingerprint: rendered.fingerprint() })
        };
        let planned = |config_map| plan(&Observed { sample: sample("x"), config_map }, Timestamp::UNIX_EPOCH);
        assert!(planned(seen("x")).effects.is_empty());
        let effects = planned(seen("y")).effects;
        let [Effect::Delete(delete), Effect::Apply(apply)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((&*delete.uid, &apply.seen, &apply.body["data"][ENTRY]), ("c", &None, &json!("x")));
    }

    #[test]
    fn waits_while_a_config_map_of_that_name_is_terminating() {
        let plan = plan(&Observed { sample: sample("x"), config_map: ChildState::Terminating }, Timestamp::UNIX_EPOCH);
        assert!(plan.effects.is_empty());
        assert!(plan.status.unwrap().contract.is_true("Reconciling"));
    }
}
