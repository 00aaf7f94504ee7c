//! The defaults of volumes.

use serde_json::json;

use super::claims::claim_spec;
use super::images::pull_policy;
use crate::api_server::preparation::values::{Fields, default, items, text_of, within};

/// Files of these can be read by all, 0644.
const MODE: i64 = 420;

/// Adds the defaults of a volume.
pub(super) fn volume(volume: &mut Fields) {
    if volume.keys().all(|field| field == "name") {
        default(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(found) = within(volume, &[source]) {
            default(found, "defaultMode", MODE);
            items(found, "items").for_each(field_source);
            items(found, "sources").for_each(projection);
        }
    }
    if let Some(path) = within(volume, &["hostPath"]) {
        default(path, "type", "");
    }
    if let Some(claim) = within(volume, &["ephemeral", "volumeClaimTemplate", "spec"]) {
        claim_spec(claim);
    }
    if let Some(image) = within(volume, &["image"]) {
        let policy = pull_policy(text_of(image, "reference"));
        default(image, "pullPolicy", policy);
    }
}

fn projection(source: &mut Fields) {
    if let Some(token) = within(source, &["serviceAccountToken"]) {
        default(token, "expirationSeconds", 3600);
    }
    if let Some(fields) = within(source, &["downwardAPI"]) {
        items(fields, "items").for_each(field_source);
    }
}

/// Adds the defaults of a reference to a field of the pod.
pub(super) fn field_source(source: &mut Fields) {
    if let Some(field) = within(source, &["fieldRef"]) {
        default(field, "apiVersion", "v1");
    }
    if let Some(resource) = within(source, &["resourceFieldRef"]) {
        default(resource, "divisor", "0");
    }
}
