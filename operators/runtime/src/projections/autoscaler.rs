//! Pure: HorizontalPodAutoscalers of ours.

use std::time::Instant;

use serde::Deserialize;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Kind, Meta};

use super::kept::Kept;
use super::managed_fields::ManagedFieldsReader;

/// A HorizontalPodAutoscaler of ours: identity, drift, and whether it does its work.
#[derive(Debug)]
pub struct Autoscaler {
    /// Who it is.
    pub meta: Meta,
    /// What of it is ours.
    pub fingerprint: Fingerprint,
    /// What others have added where all is ours.
    pub additions: Additions,
    /// What it asks for, by whomever. The API server fills in nothing where `behavior` is not given.
    pub spec: Fingerprint,
    /// What its own controller says, once it has said anything.
    pub scaling: Option<Scaling>,
}

/// Whether the number of pods follows the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Whether it does.
    pub active: bool,
    /// Whether that is of the autoscaler as it is now; of one that does not tell, it is taken to be.
    pub is_current: bool,
    /// In one word.
    pub reason: Box<str>,
    /// In words.
    pub message: Box<str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    observed_generation: Option<i64>,
    conditions: Option<Vec<Condition>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    type_: Box<str>,
    status: Box<str>,
    reason: Box<str>,
    message: Box<str>,
}

/// That it cannot reach its target tells more than what it last made of the metrics.
fn scaling(status: Status, generation: i64) -> Option<Scaling> {
    let conditions = status.conditions.unwrap_or_default();
    let is =
        |condition: &Condition, type_: &str, status: &str| *condition.type_ == *type_ && *condition.status == *status;
    let unable = conditions.iter().position(|condition| is(condition, "AbleToScale", "False"));
    let told = unable.or_else(|| conditions.iter().position(|condition| *condition.type_ == *"ScalingActive"))?;
    let told = conditions.into_iter().nth(told)?;
    let active = is(&told, "ScalingActive", "True");
    let is_current = status.observed_generation.is_none_or(|of| of >= generation);
    Some(Scaling { active, is_current, reason: told.reason, message: told.message })
}

impl Projection for Autoscaler {
    const KIND: Kind = Kind {
        group: "autoscaling",
        version: "v2",
        kind: "HorizontalPodAutoscaler",
        plural: "horizontalpodautoscalers",
    };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let live = ManagedFieldsReader::read(json)?;
        let (fingerprint, additions) = live.compare(&Self::KIND)?;
        let status = live.field::<Option<Status>>("status")?.unwrap_or_default();
        let scaling = scaling(status, live.meta.generation);
        let spec = live.spec()?;
        Ok(Self { fingerprint, additions, spec, scaling, meta: live.meta })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn carry_over(&mut self, before: Option<&Self>, _now: Instant) {
        self.additions.carry_over(before.map(|before| &before.additions));
    }

    fn only_own_fields_changed(&self, before: &Self) -> bool {
        self.verdict() == before.verdict()
    }

    fn same(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.spec == before.spec
            && self.verdict() == before.verdict()
    }
}

impl Autoscaler {
    /// What is said without the words: they may name another pod each time that it looks.
    fn verdict(&self) -> Option<(bool, bool, &str)> {
        self.scaling.as_ref().map(|scaling| (scaling.active, scaling.is_current, &*scaling.reason))
    }
}

impl Kept for Autoscaler {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(conditions: &Value) -> Option<Scaling> {
        let object = json!({ "metadata": { "name": "web" }, "status": { "conditions": conditions } });
        Autoscaler::decode(&object.to_string()).unwrap().scaling
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Value {
        json!({ "type": type_, "status": status, "reason": reason, "message": "why" })
    }

    #[test]
    fn it_works_if_it_reaches_its_target_and_its_metrics() {
        let able = condition("AbleToScale", "True", "ReadyForNewScale");
        assert_eq!(said(&json!(null)), None);
        assert_eq!(said(&json!([able])), None, "nothing is said of the metrics yet");
        let works = said(&json!([able, condition("ScalingActive", "True", "ValidMetricFound")])).unwrap();
        assert!(works.active && &*works.reason == "ValidMetricFound");
        let blind = said(&json!([able, condition("ScalingActive", "False", "FailedGetResourceMetric")])).unwrap();
        assert!(!blind.active && &*blind.reason == "FailedGetResourceMetric");
        let away = condition("AbleToScale", "False", "FailedGetScale");
        let away = said(&json!([away, condition("ScalingActive", "True", "ValidMetricFound")])).unwrap();
        assert!(!away.active && &*away.reason == "FailedGetScale");
    }

    #[test]
    fn a_word_of_an_earlier_generation_is_not_current_if_that_is_told() {
        let of = |observed: Value| {
            let told = json!([condition("ScalingActive", "True", "ValidMetricFound")]);
            let status = json!({ "observedGeneration": observed, "conditions": told });
            let object = json!({ "metadata": { "name": "web", "generation": 3 }, "status": status });
            Autoscaler::decode(&object.to_string()).unwrap().scaling.unwrap().is_current
        };
        assert_eq!([of(json!(2)), of(json!(3)), of(json!(null))], [false, true, true]);
    }

    #[test]
    fn another_pod_in_the_words_is_no_news_and_another_reason_is() {
        let read = |reason: &str, pod: &str| {
            let message = format!("missing request for cpu in container app of Pod {pod}");
            let told = json!([{ "type": "ScalingActive", "status": "False", "reason": reason, "message": message }]);
            let object = json!({ "metadata": { "name": "web" }, "status": { "conditions": told } });
            Autoscaler::decode(&object.to_string()).unwrap()
        };
        let before = read("FailedGetResourceMetric", "web-a");
        let same = |now: &Autoscaler| (now.same(&before), now.only_own_fields_changed(&before));
        assert_eq!(same(&read("FailedGetResourceMetric", "web-b")), (true, true));
        assert_eq!(same(&read("InvalidSelector", "web-a")), (false, false));
    }
}
