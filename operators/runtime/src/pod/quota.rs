//! Pure: whether a ResourceQuota has room for a pod that replaces another one: the API server counts both.
//!
//! Source: <https://kubernetes.io/docs/concepts/policy/resource-quotas/>

use serde_json::Value;

use crate::quantity::milli_value;

/// The separators in the message of the API server about an exceeded quota, in this order.
const PARTS: [&str; 4] = ["exceeded quota: ", ", requested: ", ", used: ", ", limited: "];

/// Whether `message` says that a quota is exceeded.
#[must_use]
pub fn is_exceeded(message: &str) -> bool {
    message.contains(PARTS[0])
}

/// Whether the quota of `message` has room for the rejected pod once the `present` one, if any, is deleted. True for a message of
/// another shape.
#[must_use]
pub fn has_room_without(message: &str, present: Option<&Value>) -> bool {
    let fits = |(requested, used, limited): (&str, &str, &str)| {
        let amount = |list, resource| milli_value(entries(list).find(|(name, _)| *name == resource)?.1);
        entries(requested).all(|(resource, _)| {
            let numbers = (amount(requested, resource), amount(used, resource), amount(limited, resource));
            let (Some(requested), Some(used), Some(limited)) = numbers else { return true };
            used - present.map_or(0, |pod| held(pod, resource)) + requested <= limited
        })
    };
    parts(message).is_none_or(fits)
}

/// The requested, used and limited amounts, each as a list.
fn parts(message: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = message.split_once(PARTS[0])?;
    let (_, rest) = rest.split_once(PARTS[1])?;
    let (requested, rest) = rest.split_once(PARTS[2])?;
    let (used, limited) = rest.split_once(PARTS[3])?;
    Some((requested, used, limited))
}

/// The entries of `cpu=1,pods=2`.
fn entries(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').filter_map(|entry| entry.trim().split_once('='))
}

/// How much of a resource of a quota a pod uses, in thousandths: the sum of its containers, or the largest init container.
fn held(pod: &Value, resource: &str) -> i128 {
    if matches!(resource, "pods" | "count/pods") {
        return 1000;
    }
    let (section, name) = match resource.split_once('.') {
        Some((section @ ("requests" | "limits"), name)) => (section, name),
        _ => ("requests", resource),
    };
    let amounts = |containers: &str| -> Vec<i128> {
        let all = pod["spec"][containers].as_array().into_iter().flatten();
        all.filter_map(|of| milli_value(of["resources"][section][name].as_str()?)).collect()
    };
    let largest = amounts("initContainers").into_iter().max().unwrap_or(0);
    largest.max(amounts("containers").iter().sum())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn present() -> Value {
        let of = |cpu: &str| json!({ "resources": { "requests": { "cpu": cpu, "memory": "128Mi" }, "limits": { "cpu": "1" } } });
        json!({ "spec": { "initContainers": [of("50m")], "containers": [of("500m")] } })
    }

    #[test]
    fn the_room_of_the_present_pod_is_free_for_the_next() {
        let message = "pods \"shop-probe\" is forbidden: exceeded quota: small, requested: pods=1,requests.cpu=500m, used: \
                       pods=1,requests.cpu=600m, limited: pods=1,requests.cpu=1";
        assert!(is_exceeded(message) && has_room_without(message, Some(&present())));
        let limits = "exceeded quota: small, requested: limits.cpu=2, used: limits.cpu=1, limited: limits.cpu=2";
        assert!(has_room_without(limits, Some(&present())));
        assert!(!has_room_without(limits, None), "no pod would be deleted");
    }

    #[test]
    fn without_room_even_after_the_deletion_the_next_pod_does_not_fit() {
        for message in [
            "exceeded quota: small, requested: cpu=2, used: cpu=500m, limited: cpu=1",
            "exceeded quota: small, requested: requests.memory=1Gi, used: requests.memory=1Gi, limited: requests.memory=1536Mi",
            "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=2",
        ] {
            assert!(!has_room_without(message, Some(&present())), "{message}");
        }
    }

    #[test]
    fn other_messages_are_not_interpreted() {
        assert!(!is_exceeded("failed quota: small: must specify limits.cpu for: postgres"));
        assert!(has_room_without("exceeded quota: small", None));
        assert!(has_room_without("exceeded quota: s, requested: cpu=x, used: cpu=1, limited: cpu=1", None));
    }
}
