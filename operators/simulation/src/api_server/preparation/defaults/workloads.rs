//! The defaults of what creates pods.

use serde_json::{Value, json};

use super::claims::claim_spec;
use super::pods::pod_spec;
use crate::api_server::preparation::values::{Fields, default, items, object_at, text_of, within};

fn template(workload: &mut Value) {
    if let Some(spec) = object_at(workload, &["spec", "template", "spec"]) {
        pod_spec(spec);
    }
}

/// Adds the defaults of a Deployment.
pub(super) fn deployment(deployment: &mut Value) {
    template(deployment);
    let Some(spec) = object_at(deployment, &["spec"]) else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    default(spec, "strategy", json!({}));
    if let Some(rolling) = rolling_update(spec, "strategy") {
        default(rolling, "maxSurge", "25%");
        default(rolling, "maxUnavailable", "25%");
    }
}

/// The settings of a rolling update, unless another strategy is set.
fn rolling_update<'a>(spec: &'a mut Fields, strategy: &str) -> Option<&'a mut Fields> {
    let strategy = within(spec, &[strategy])?;
    default(strategy, "type", "RollingUpdate");
    if text_of(strategy, "type") != "RollingUpdate" {
        return None;
    }
    default(strategy, "rollingUpdate", json!({}));
    within(strategy, &["rollingUpdate"])
}

/// Adds the defaults of a ReplicaSet.
pub(super) fn replica_set(replica_set: &mut Value) {
    template(replica_set);
    if let Some(spec) = object_at(replica_set, &["spec"]) {
        default(spec, "replicas", 1);
    }
}

/// Adds the defaults of a StatefulSet.
pub(super) fn stateful_set(stateful_set: &mut Value) {
    template(stateful_set);
    let Some(spec) = object_at(stateful_set, &["spec"]) else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "podManagementPolicy", "OrderedReady");
    default(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    if let Some(policy) = within(spec, &["persistentVolumeClaimRetentionPolicy"]) {
        default(policy, "whenDeleted", "Retain");
        default(policy, "whenScaled", "Retain");
    }
    default(spec, "updateStrategy", json!({}));
    if let Some(rolling) = rolling_update(spec, "updateStrategy") {
        default(rolling, "partition", 0);
    }
    for claim in items(spec, "volumeClaimTemplates") {
        default(claim, "apiVersion", "v1");
        default(claim, "kind", "PersistentVolumeClaim");
        default(claim, "status", json!({ "phase": "Pending" }));
        if let Some(claim) = within(claim, &["spec"]) {
            claim_spec(claim);
        }
    }
}

/// Adds the defaults of a Job.
pub(super) fn job(job: &mut Value) {
    template(job);
    let Some(spec) = object_at(job, &["spec"]) else { return };
    if !spec.contains_key("parallelism") {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let by_index = spec.contains_key("backoffLimitPerIndex");
    default(spec, "backoffLimit", if by_index { i32::MAX } else { 6 });
    default(spec, "completionMode", "NonIndexed");
    default(spec, "manualSelector", false);
    default(spec, "suspend", false);
    let replaced = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    default(spec, "podReplacementPolicy", replaced);
    if let Some(policy) = within(spec, &["podFailurePolicy"]) {
        for rule in items(policy, "rules") {
            items(rule, "onPodConditions").for_each(|condition| default(condition, "status", "True"));
        }
    }
    let labels = within(spec, &["template", "metadata", "labels"]).cloned();
    if let Some(labels) = labels
        && let Some(metadata) = object_at(job, &["metadata"])
    {
        default(metadata, "labels", labels);
    }
}
