//! Pure: the Deployment. Fields that Kubernetes' defaults serve well are not sent, so that they stay open to others.

use std::collections::BTreeMap;

use api::my_app::{PullSecret, Security, Strategy, StrategyType};
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

/// The Deployment that runs `app`, with that image.
pub(in crate::plan) fn deployment(app: &MyApp, image: &str) -> Apply {
    let deployment = apps::Deployment {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(apps::DeploymentSpec {
            replicas: app.spec.replicas,
            selector: LabelSelector { match_labels: Some(selector(app)), ..LabelSelector::default() },
            template: template(app, image),
            strategy: app.spec.strategy.as_ref().map(strategy),
            progress_deadline_seconds: app.spec.progress_deadline_seconds,
            // Kubernetes keeps no 0 here.
            min_ready_seconds: app.spec.min_ready_seconds.filter(|seconds| *seconds != 0),
            revision_history_limit: app.spec.revision_history_limit,
            paused: None,
        }),
        ..apps::Deployment::default()
    };
    Apply::new(Deployment::KIND, app.meta.key.clone(), &deployment)
}

fn strategy(wanted: &Strategy) -> apps::DeploymentStrategy {
    apps::DeploymentStrategy {
        type_: wanted.type_.map(|type_| match type_ {
            StrategyType::RollingUpdate => "RollingUpdate".to_owned(),
            StrategyType::Recreate => "Recreate".to_owned(),
        }),
        rolling_update: wanted.rolling_update.as_ref().map(|pace| apps::RollingUpdateDeployment {
            max_surge: pace.max_surge.clone(),
            max_unavailable: pace.max_unavailable.clone(),
        }),
    }
}

/// What precedes a change of the strategy to Recreate, of `apply`.
///
/// The API server fills in the pace of rolling updates, rejects one next to Recreate, and an apply leaves fields that no manager applied.
/// So the operator first takes ownership of the pace, with numbers that no other manager has applied (one with the same numbers would
/// share it), and the apply that sends none removes it. Paused, the Deployment does not roll by it meanwhile.
pub(in crate::plan) fn without_pace(apply: &Apply) -> Apply {
    let mut ours = apply.clone();
    ours.body["spec"]["paused"] = json!(true);
    ours.body["spec"]["strategy"] =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "23%", "maxUnavailable": "19%" } });
    ours
}

/// `apply`, which also reverts a pause of the Deployment: the operator leaves the field at its default, and
/// owns it all the same, since a MyApp has a pause of its own. The server keeps no false here, so the next apply, which
/// does not send it, has nothing to change.
pub(in crate::plan) fn resumed(apply: Apply, live: &Meta) -> Apply {
    let mut resumed = Apply { seen: Some(live.uid.clone()), ..apply };
    resumed.body["spec"]["paused"] = json!(false);
    resumed
}

/// The labels by which the Deployment, the Service and the budget find the pods. Immutable once a Deployment has it.
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
            // The server fills in this older name of the same field, and makes it the account again once nothing but it is
            // left. So both are ours, and go together.
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
