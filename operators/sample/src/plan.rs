//! What to do about a Sample. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::sample::{SampleReason, SampleStatus};
use api::{Contract, Reason, ReconcileReason};
use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use runtime::cache::View;
use runtime::plan::conditions::Summary;
use runtime::plan::meta::child_meta;
use runtime::plan::{Apply, Delete, Effect, Plan, Seen};
use runtime::views::ConfigMap;

use crate::Sample;

/// The entry of the ConfigMap that holds the string.
pub const ENTRY: &str = "testString";

/// A Sample and its ConfigMap.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub sample: Arc<Sample>,
    /// Its ConfigMap.
    pub config_map: Seen<ConfigMap>,
}

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<SampleStatus> {
    if observed.sample.meta.deleting {
        return Plan::nothing();
    }
    let wanted = config_map(&observed.sample);
    let key = &wanted.key;
    let (effects, summary, reason, message) = match &observed.config_map {
        Seen::Leaving => (
            Vec::new(),
            Summary::Reconciling,
            Reason::from(ReconcileReason::WaitingForDeletion),
            format!("waiting until the ConfigMap {} that is being deleted is gone", key.name),
        ),
        Seen::Unreadable(why) => (
            Vec::new(),
            Summary::Stalled,
            ReconcileReason::Unreadable.into(),
            format!("the ConfigMap {}: {why}", key.name),
        ),
        seen => {
            let kept_as = format!("the ConfigMap {} holds the string", key.name);
            (kept(seen, wanted), Summary::Ready, SampleReason::Kept.into(), kept_as)
        }
    };
    let contract = Contract { conditions: summary.conditions(reason, message, now), ..Contract::default() };
    Plan { effects, status: Some(SampleStatus { contract }), ..Plan::nothing() }
}

/// What makes the ConfigMap as wanted. One that takes no change any more makes way for another.
fn kept(seen: &Seen<ConfigMap>, wanted: Apply) -> Vec<Effect> {
    let Some(apply) = seen.kept(wanted) else { return Vec::new() };
    match seen.ours().filter(|live| live.immutable) {
        Some(live) => {
            vec![Effect::Delete(Delete::of(ConfigMap::KIND, &live.meta)), Effect::Apply(apply.anew())]
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
    use runtime::plan::seen::Live;
    use serde_json::json;

    fn sample(string: &str) -> Arc<Sample> {
        named("a", string)
    }

    fn named(name: &str, string: &str) -> Arc<Sample> {
        let json = json!({ "metadata": { "name": name, "namespace": "n", "uid": "u" }, "testString": string });
        Arc::new(Sample::decode(&json.to_string()).unwrap())
    }

    #[test]
    fn makes_the_config_map_and_is_ready_in_one_pass() {
        let plan = plan(&Observed { sample: sample("x"), config_map: Seen::Absent }, Timestamp::UNIX_EPOCH);
        let [Effect::Apply(apply)] = &plan.effects[..] else { panic!("one apply, not {:?}", plan.effects) };
        assert_eq!(apply.body["data"][ENTRY], "x");
        assert_eq!(apply.body["metadata"]["ownerReferences"][0]["uid"], "u");
        assert!(plan.status.unwrap().contract.is_true("Ready"));
    }

    #[test]
    fn every_name_that_the_api_takes_makes_labels_that_it_takes() {
        for name in
            ["a".repeat(63), "a".repeat(64), "a.".repeat(126) + "a", format!("{}.{}", "a".repeat(45), "b".repeat(200))]
        {
            let sample = named(&name, "x");
            let plan = plan(&Observed { sample, config_map: Seen::Absent }, Timestamp::UNIX_EPOCH);
            let [Effect::Apply(apply)] = &plan.effects[..] else { panic!("one apply, not {:?}", plan.effects) };
            assert_eq!(apply.body["metadata"]["name"], *name);
            let instance = apply.body["metadata"]["labels"]["app.kubernetes.io/instance"].as_str().unwrap();
            assert!(instance.len() <= 63 && instance.ends_with(|c: char| c.is_ascii_alphanumeric()), "{instance}");
            assert_eq!(instance == name, name.len() <= 63);
        }
    }

    #[test]
    fn a_config_map_that_takes_no_change_makes_way_once_it_is_to_change() {
        let seen = |string: &str| {
            let wanted = config_map(&sample(string));
            let mut live = wanted.body.clone();
            live["metadata"]["uid"] = json!("c");
            live["immutable"] = json!(true);
            let view = Arc::new(ConfigMap::decode(&live.to_string()).unwrap());
            Seen::Ours(Live { view, fingerprint: wanted.fingerprint() })
        };
        let planned = |config_map| plan(&Observed { sample: sample("x"), config_map }, Timestamp::UNIX_EPOCH);
        assert!(planned(seen("x")).effects.is_empty());
        let effects = planned(seen("y")).effects;
        let [Effect::Delete(delete), Effect::Apply(apply)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((&*delete.uid, &apply.seen, &apply.body["data"][ENTRY]), ("c", &None, &json!("x")));
    }

    #[test]
    fn waits_while_a_config_map_of_that_name_is_being_deleted() {
        let plan = plan(&Observed { sample: sample("x"), config_map: Seen::Leaving }, Timestamp::UNIX_EPOCH);
        assert!(plan.effects.is_empty());
        assert!(plan.status.unwrap().contract.is_true("Reconciling"));
    }
}
