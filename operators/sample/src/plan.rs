//! What to do about a Sample. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Contract;
use api::sample::SampleStatus;
use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use runtime::cache::View;
use runtime::plan::conditions::Summary;
use runtime::plan::meta::child_meta;
use runtime::plan::{Apply, Effect, Plan, Seen};
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
            None,
            Summary::Reconciling,
            "WaitingForDeletion",
            format!("waiting until the ConfigMap {} that is being deleted is gone", key.name),
        ),
        Seen::Unreadable(why) => (None, Summary::Stalled, "Unreadable", format!("the ConfigMap {}: {why}", key.name)),
        seen => {
            let kept = format!("the ConfigMap {} holds the string", key.name);
            let live = seen.ours().map(|live| (&live.meta, live.fingerprint, &live.additions));
            (wanted.over(live), Summary::Ready, "Kept", kept)
        }
    };
    let contract = Contract { conditions: summary.conditions(reason, message, now), ..Contract::default() };
    Plan {
        effects: effects.into_iter().map(Effect::Apply).collect(),
        status: Some(SampleStatus { contract }),
        ..Plan::nothing()
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
    fn waits_while_a_config_map_of_that_name_is_being_deleted() {
        let plan = plan(&Observed { sample: sample("x"), config_map: Seen::Leaving }, Timestamp::UNIX_EPOCH);
        assert!(plan.effects.is_empty());
        assert!(plan.status.unwrap().contract.is_true("Reconciling"));
    }
}
