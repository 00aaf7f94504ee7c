//! Pure: the Deployment. The operator does not send fields for which Kubernetes' defaults fit, so that other managers can set them.

use std::collections::BTreeMap;

use api::my_app::{PullSecret, RolloutStrategy, Security, StrategyType};
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1::{LocalObjectReference, PodSecurityContext, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use runtime::cache::Projection;
use runtime::plan::meta::{self, OWNER_KIND, RESTARTED_AT, child_meta, labels};
use runtime::plan::{Apply, Meta};
use runtime::pod::{default_seccomp, non_empty};
use runtime::projections::Deployment;
use serde_json::json;

use super::container::container;
use super::volumes::volumes;
use crate::MyApp;

/// The Deployment of `app` with that image.
pub(in crate::plan) fn deployment(app: &MyApp, image: &str) -> Apply {
    let deployment = apps::Deployment {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(apps::DeploymentSpec {
            replicas: app.spec.replicas,
            selector: LabelSelector { match_labels: Some(selector(app)), ..LabelSelector::default() },
            template: template(app, image),
            strategy: app.spec.strategy.as_ref().map(strategy),
            progress_deadline_seconds: app.spec.progress_deadline_seconds,
            // Kubernetes does not store a 0 here.
            min_ready_seconds: app.spec.min_ready_seconds.filter(|seconds| *seconds != 0),
            revision_history_limit: app.spec.revision_history_limit,
            paused: None,
        }),
        ..apps::Deployment::default()
    };
    Apply::new(Deployment::KIND, app.meta.key.clone(), &deployment)
}

fn strategy(desired: &RolloutStrategy) -> apps::DeploymentStrategy {
    apps::DeploymentStrategy {
        type_: desired.type_.map(|type_| match type_ {
            StrategyType::RollingUpdate => "RollingUpdate".to_owned(),
            StrategyType::Recreate => "Recreate".to_owned(),
        }),
        rolling_update: desired.rolling_update.as_ref().map(|pace| apps::RollingUpdateDeployment {
            max_surge: pace.max_surge.clone(),
            max_unavailable: pace.max_unavailable.clone(),
        }),
    }
}

/// The apply before `apply` that is necessary to change the strategy to Recreate.
///
/// The API server defaults the pace of rolling updates and rejects it for Recreate, and an apply does not remove fields that no manager
/// applied. So the operator first applies a pace, with numbers that no other manager applies (a manager with the same numbers would own
/// them too); the next apply, without a pace, removes it. The Deployment is paused meanwhile, so that it does not roll at that pace.
pub(in crate::plan) fn without_pace(apply: &Apply) -> Apply {
    let mut paused = apply.clone();
    paused.body["spec"]["paused"] = json!(true);
    paused.body["spec"]["strategy"] =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "23%", "maxUnavailable": "19%" } });
    paused
}

/// `apply`, which also resumes a paused Deployment: the MyApp has its own pause, so the Deployment's is not for others to set. The API
/// server does not store false here, so the next apply, which does not send the field, changes nothing.
pub(in crate::plan) fn resumed(apply: Apply, live: &Meta) -> Apply {
    let mut resumed = Apply { seen: Some(live.uid.clone()), ..apply };
    resumed.body["spec"]["paused"] = json!(false);
    resumed
}

/// The labels by which the Deployment, the Service and the PodDisruptionBudget select the pods. Immutable in a Deployment.
pub(in crate::plan) fn selector(app: &MyApp) -> BTreeMap<String, String> {
    meta::selector(&MyApp::KIND, &app.meta)
}

fn pull_secret(secret: &PullSecret) -> LocalObjectReference {
    LocalObjectReference { name: secret.name.clone() }
}

fn template(app: &MyApp, image: &str) -> PodTemplateSpec {
    let spec = &app.spec;
    let (volumes, mounts) = volumes(spec);
    let mut labels = labels(&MyApp::KIND, &app.meta);
    labels.insert(OWNER_KIND.to_owned(), MyApp::KIND.qualified());
    let restarted_at = app.restarted_at.as_ref().map(|at| BTreeMap::from([(RESTARTED_AT.to_owned(), at.to_string())]));
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), annotations: restarted_at, ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![container(spec, image, mounts)],
            volumes: non_empty(volumes),
            image_pull_secrets: non_empty(spec.image_pull_secrets.iter().map(pull_secret).collect()),
            service_account_name: spec.service_account_name.clone(),
            // The API server copies the account to this older field, and restores the account from it if only that is set. So the
            // operator owns both, and removes them together.
            service_account: spec.service_account_name.clone(),
            automount_service_account_token: Some(spec.automount_token),
            termination_grace_period_seconds: spec.termination_grace_period_seconds,
            security_context: Some(PodSecurityContext {
                seccomp_profile: Some(default_seccomp()),
                run_as_non_root: (spec.security == Security::Restricted).then_some(true),
                ..PodSecurityContext::default()
            }),
            ..PodSpec::default()
        }),
    }
}
