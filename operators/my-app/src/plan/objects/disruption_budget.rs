//! Pure: the PodDisruptionBudget.

use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::projections::DisruptionBudget;

use super::deployment::selector;
use crate::MyApp;

/// The budget of `app`, if it specifies one.
pub(in crate::plan) fn disruption_budget(app: &MyApp) -> Option<Apply> {
    let desired = app.spec.disruption_budget.as_ref()?;
    let budget = policy::PodDisruptionBudget {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(policy::PodDisruptionBudgetSpec {
            min_available: desired.min_available.clone(),
            max_unavailable: desired.max_unavailable.clone(),
            selector: Some(LabelSelector { match_labels: Some(selector(app)), ..LabelSelector::default() }),
            // An unhealthy pod does not serve, so it must not block the drain of a node.
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
        }),
        status: None,
    };
    Some(Apply::new(DisruptionBudget::KIND, app.meta.key.clone(), &budget))
}
