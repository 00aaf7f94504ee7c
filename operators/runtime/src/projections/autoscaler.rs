//! Pure: our HorizontalPodAutoscalers.

use tokio::time::Instant;

use serde::Deserialize;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Meta, ResourceKind};

use super::applied_child::AppliedChild;
use super::managed_fields::ManagedFieldsReader;

/// A HorizontalPodAutoscaler: identity, drift, and whether it scales.
#[derive(Debug)]
pub struct Autoscaler {
    /// Its metadata.
    pub meta: Meta,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// Additions of others in exclusive places.
    pub additions: Additions,
    /// The fingerprint of its spec, regardless of the owners. The API server fills in nothing if `behavior` is not given.
    pub spec: Fingerprint,
    /// What its controller reports, once it has reported anything.
    pub scaling: Option<Scaling>,
}

/// Whether the number of pods follows the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Whether it does.
    pub active: bool,
    /// Whether the report is of the present generation; true if the autoscaler does not report that.
    pub is_current: bool,
    /// The reason.
    pub reason: Box<str>,
    /// The message.
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

/// What the conditions report. A target that cannot be reached is more relevant than the last state of the metrics.
fn scaling(status: Status, generation: i64) -> Option<Scaling> {
    let conditions = status.conditions.unwrap_or_default();
    let is =
        |condition: &Condition, type_: &str, status: &str| *condition.type_ == *type_ && *condition.status == *status;
    let unable = conditions.iter().position(|condition| is(condition, "AbleToScale", "False"));
    let reported = unable.or_else(|| conditions.iter().position(|condition| *condition.type_ == *"ScalingActive"))?;
    let reported = conditions.into_iter().nth(reported)?;
    let active = is(&reported, "ScalingActive", "True");
    let is_current = status.observed_generation.is_none_or(|of| of >= generation);
    Some(Scaling { active, is_current, reason: reported.reason, message: reported.message })
}

impl Projection for Autoscaler {
    const KIND: ResourceKind = ResourceKind {
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
        self.report() == before.report()
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.spec == before.spec
            && self.report() == before.report()
    }
}

impl Autoscaler {
    /// The report without its message, which may name another pod each time.
    fn report(&self) -> Option<(bool, bool, &str)> {
        self.scaling.as_ref().map(|scaling| (scaling.active, scaling.is_current, &*scaling.reason))
    }
}

impl AppliedChild for Autoscaler {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn scaling_of(conditions: &Value) -> Option<Scaling> {
        let object = json!({ "metadata": { "name": "web" }, "status": { "conditions": conditions } });
        Autoscaler::decode(&object.to_string()).unwrap().scaling
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Value {
        json!({ "type": type_, "status": status, "reason": reason, "message": "why" })
    }

    #[test]
    fn an_autoscaler_is_active_if_it_reaches_its_target_and_its_metrics() {
        let able = condition("AbleToScale", "True", "ReadyForNewScale");
        assert_eq!(scaling_of(&json!(null)), None);
        assert_eq!(scaling_of(&json!([able])), None, "the metrics are not reported yet");
        let works = scaling_of(&json!([able, condition("ScalingActive", "True", "ValidMetricFound")])).unwrap();
        assert!(works.active && &*works.reason == "ValidMetricFound");
        let failing =
            scaling_of(&json!([able, condition("ScalingActive", "False", "FailedGetResourceMetric")])).unwrap();
        assert!(!failing.active && &*failing.reason == "FailedGetResourceMetric");
        let away = condition("AbleToScale", "False", "FailedGetScale");
        let away = scaling_of(&json!([away, condition("ScalingActive", "True", "ValidMetricFound")])).unwrap();
        assert!(!away.active && &*away.reason == "FailedGetScale");
    }

    #[test]
    fn a_report_of_an_earlier_generation_is_not_current() {
        let of = |observed: Value| {
            let reported = json!([condition("ScalingActive", "True", "ValidMetricFound")]);
            let status = json!({ "observedGeneration": observed, "conditions": reported });
            let object = json!({ "metadata": { "name": "web", "generation": 3 }, "status": status });
            Autoscaler::decode(&object.to_string()).unwrap().scaling.unwrap().is_current
        };
        assert_eq!([of(json!(2)), of(json!(3)), of(json!(null))], [false, true, true]);
    }

    #[test]
    fn another_pod_in_the_message_is_no_change_and_another_reason_is() {
        let read = |reason: &str, pod: &str| {
            let message = format!("missing request for cpu in container app of Pod {pod}");
            let reported =
                json!([{ "type": "ScalingActive", "status": "False", "reason": reason, "message": message }]);
            let object = json!({ "metadata": { "name": "web" }, "status": { "conditions": reported } });
            Autoscaler::decode(&object.to_string()).unwrap()
        };
        let before = read("FailedGetResourceMetric", "web-a");
        let same = |now: &Autoscaler| (now.has_same_content(&before), now.only_own_fields_changed(&before));
        assert_eq!(same(&read("FailedGetResourceMetric", "web-b")), (true, true));
        assert_eq!(same(&read("InvalidSelector", "web-a")), (false, false));
    }
}
