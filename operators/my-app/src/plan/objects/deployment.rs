//! The Deployment. Fields that Kubernetes' defaults serve well are not sent, so that they stay open to others.

use std::collections::BTreeMap;

use api::my_app::Security;
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1::{PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use runtime::cache::View;
use runtime::plan::Apply;
use runtime::plan::meta::{self, OWNER_KIND, RESTARTED_AT, child_meta, labels};
use runtime::views::Deployment;

use super::container::container;
use crate::MyApp;

/// The Deployment that runs `app`.
pub(in crate::plan) fn deployment(app: &MyApp) -> Apply {
    let deployment = apps::Deployment {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(apps::DeploymentSpec {
            replicas: app.spec.replicas,
            selector: LabelSelector { match_labels: Some(selector(app)), ..LabelSelector::default() },
            template: template(app),
            ..apps::DeploymentSpec::default()
        }),
        ..apps::Deployment::default()
    };
    Apply::new(Deployment::KIND, app.meta.key.clone(), &deployment)
}

/// The labels by which the Deployment, the Service and the budget find the pods. Immutable once a Deployment has it.
pub(in crate::plan) fn selector(app: &MyApp) -> BTreeMap<String, String> {
    meta::selector(&MyApp::KIND, &app.meta)
}

fn template(app: &MyApp) -> PodTemplateSpec {
    let mut labels = labels(&MyApp::KIND, &app.meta);
    labels.insert(OWNER_KIND.to_owned(), MyApp::KIND.qualified());
    let restarted_at = app.restarted_at.as_ref().map(|at| BTreeMap::from([(RESTARTED_AT.to_owned(), at.to_string())]));
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), annotations: restarted_at, ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![container(&app.spec)],
            automount_service_account_token: Some(false),
            security_context: Some(PodSecurityContext {
                seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
                run_as_non_root: (app.spec.security == Security::Restricted).then_some(true),
                ..PodSecurityContext::default()
            }),
            ..PodSpec::default()
        }),
    }
}
