//! Status that vanishes, as by a restore of objects without it.

use serde_json::Value;

use crate::namespace::Namespace;

/// Removes an object's status by `kubectl replace --subresource=status`; `false` if the object is deleted, or another client
/// wrote to it meanwhile.
///
/// # Panics
/// If kubectl prints no JSON, or the API server refuses it for another reason.
pub async fn erase_status(ns: &Namespace, object: &str) -> bool {
    let seen = ns.kubectl(&["get", object, "--output=json"]).await;
    if !seen.success && seen.stderr.contains("NotFound") {
        return false;
    }
    let mut seen: Value = serde_json::from_str(&seen.ok()).expect("kubectl prints JSON");
    seen.as_object_mut().expect("an object").remove("status");
    let replace = ["replace", "--subresource=status", "--filename", "-"];
    let answer = ns.kubectl_with(&seen.to_string(), &replace).await;
    let excused = ["NotFound", "Conflict"].iter().any(|why| answer.stderr.contains(why));
    assert!(answer.success || excused, "{}", answer.stderr);
    answer.success
}

/// Removes the status of an object that is there, however often others write to it meanwhile.
///
/// # Panics
/// If it is not there, or the API server refuses it.
pub async fn erase_status_with_retries(ns: &Namespace, object: &str) {
    ns.eventually(&format!("the status of {object} to be erased"), || async {
        if erase_status(ns, object).await {
            Ok(())
        } else {
            Err("it is deleted, or another write came first".to_owned())
        }
    })
    .await;
}
