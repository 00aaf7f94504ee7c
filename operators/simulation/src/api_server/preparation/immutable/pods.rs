//! What of a pod can be changed: its images, deadline and grace, and additional tolerations.

use serde_json::Value;

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::{Fields, carry, items, list, object_at, remove, text};

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// What of the change is not allowed.
pub(super) fn problems(before: &Value, after: &Value) -> Vec<FieldError> {
    for containers in LISTS {
        let path = format!("/spec/{containers}");
        if list(before, &path).len() != list(after, &path).len() {
            let detail = "pod updates may not add or remove containers";
            return vec![FieldError::forbidden(format!("spec.{containers}"), detail)];
        }
    }
    let mut errors = tolerations(before, after).into_iter().collect::<Vec<_>>();
    if before.get("spec").is_some_and(|spec| after.get("spec") == Some(spec)) {
        return errors;
    }
    let mut allowed = after.clone();
    carry(before, &mut allowed, &["spec"], "tolerations");
    carry(before, &mut allowed, &["spec"], "activeDeadlineSeconds");
    let grace = |pod: &Value| pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(before).is_some_and(|grace| grace < 0) && grace(after) == Some(1) {
        carry(before, &mut allowed, &["spec"], "terminationGracePeriodSeconds");
    }
    // The real scheduler sets it by the subresource `binding`.
    if text(before, "/spec/nodeName").is_empty() {
        carry(before, &mut allowed, &["spec"], "nodeName");
    }
    let gates = list(after, "/spec/schedulingGates");
    if gates.iter().all(|gate| list(before, "/spec/schedulingGates").contains(gate)) {
        carry(before, &mut allowed, &["spec"], "schedulingGates");
    }
    if let Some(spec) = object_at(&mut allowed, &["spec"]) {
        for containers in LISTS {
            carry_images(list(before, &format!("/spec/{containers}")), spec, containers);
        }
    }
    if allowed.get("spec") != before.get("spec") {
        let detail = "pod updates may not change fields other than `spec.containers[*].image`,\
                      `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                      (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                      (allow it to be set to 1 if it was previously negative)";
        errors.push(FieldError::forbidden("spec", detail));
    }
    errors
}

fn carry_images(before: &[Value], spec: &mut Fields, containers: &str) {
    for (earlier, container) in before.iter().zip(items(spec, containers)) {
        match earlier.get("image") {
            Some(image) => container.insert("image".to_owned(), image.clone()),
            None => container.remove("image"),
        };
    }
}

/// Tolerations can be added, and last for another time.
fn tolerations(before: &Value, after: &Value) -> Option<FieldError> {
    let timeless = |toleration: &Value| {
        let mut toleration = toleration.clone();
        remove(&mut toleration, "tolerationSeconds");
        toleration
    };
    let now: Vec<Value> = list(after, "/spec/tolerations").iter().map(timeless).collect();
    let are_kept = list(before, "/spec/tolerations").iter().map(timeless).all(|toleration| now.contains(&toleration));
    let detail = "existing toleration can not be modified except its tolerationSeconds";
    (!are_kept).then(|| FieldError::forbidden("spec.tolerations", detail))
}
