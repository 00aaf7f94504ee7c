//! Pure: sizes, and quotas of databases.

use api::etcd_cluster::EtcdClusterSpec;
use runtime::quantity;

use super::EndpointStatus;

/// A quantity such as `8Gi` in bytes, rounded down.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    let thousandths: u64 = quantity::canonical(text)?.strip_suffix('m')?.parse().ok()?;
    Some(thousandths / 1000)
}

/// etcd's default quota.
const DEFAULT_QUOTA: i64 = 2 * 1024 * 1024 * 1024;

/// The quota of databases, in bytes; none if there is no limit. It is the smallest that members report, since that one is reached
/// first, or else that of the spec, from which the quota of pods follows, or else the one that is `fitting` the volume.
#[must_use]
pub fn quota<'a>(
    spec: &EtcdClusterSpec,
    endpoints: impl Iterator<Item = &'a EndpointStatus>,
    fitting: Option<u64>,
) -> Option<i64> {
    let reported = endpoints.map(|endpoint| endpoint.quota).filter(|quota| *quota != 0).min();
    let variable = || {
        let variables = spec.pod.iter().flat_map(|pod| &pod.etcd_env);
        let variable =
            variables.filter(|env| env.name == "ETCD_QUOTA_BACKEND_BYTES").find_map(|env| env.value.as_ref());
        variable.and_then(|bytes| bytes.parse::<i64>().ok())
    };
    let given = || spec.quota.as_deref().and_then(bytes).and_then(|bytes| i64::try_from(bytes).ok());
    let fitting = || fitting.and_then(|bytes| i64::try_from(bytes).ok());
    match reported.or_else(given).or_else(variable).or_else(fitting) {
        None | Some(0) => Some(DEFAULT_QUOTA),
        Some(quota) => Some(quota).filter(|quota| *quota > 0),
    }
}

/// A size as people write it: `20.5 MiB`.
#[must_use]
pub fn humanize_bytes(bytes: i64) -> String {
    let bytes = u64::try_from(bytes).unwrap_or(0);
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => tenths(bytes, 1024, "KiB"),
        1_048_576..1_073_741_824 => tenths(bytes, 1_048_576, "MiB"),
        _ => tenths(bytes, 1_073_741_824, "GiB"),
    }
}

fn tenths(bytes: u64, unit: u64, name: &str) -> String {
    let tenths = bytes * 10 / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// The size in steps of a tenth, so that load does not cause writes of the status: the size `before`, as long as the current one
/// is within a tenth of it.
#[must_use]
pub fn round_to_step(now: i64, before: Option<&str>) -> String {
    let reported = before.and_then(parse_humanized);
    match (reported, before) {
        (Some(reported), Some(text)) if (now - reported).abs() * 10 <= reported => text.to_owned(),
        _ => humanize_bytes(now),
    }
}

/// Parses what [`humanize_bytes`] returned, to its precision.
fn parse_humanized(text: &str) -> Option<i64> {
    let (number, unit) = text.split_once(' ')?;
    let unit: i64 = match unit {
        "B" => 1,
        "KiB" => 1024,
        "MiB" => 1_048_576,
        "GiB" => 1_073_741_824,
        _ => return None,
    };
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    Some((whole.parse::<i64>().ok()? * 10 + tenth.parse::<i64>().ok()?) * unit / 10)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_become_bytes() {
        assert_eq!(bytes("8Gi"), Some(8 << 30));
        assert_eq!(bytes("1500M"), Some(1_500_000_000));
        assert_eq!(bytes("much"), None);
    }

    #[test]
    fn the_quota_of_databases() {
        let spec = |text: serde_json::Value| serde_json::from_value::<EtcdClusterSpec>(text).unwrap();
        let member = |quota| EndpointStatus { quota, ..EndpointStatus::default() };
        let fitting = |text, reported: &[i64], fitting| {
            let reported: Vec<EndpointStatus> = reported.iter().copied().map(member).collect();
            quota(&spec(text), reported.iter(), fitting)
        };
        let of = |text, reported: &[i64]| fitting(text, reported, None);
        let variable = |bytes: &str| json!({ "size": 3, "pod": { "etcdEnv": [{ "name": "ETCD_QUOTA_BACKEND_BYTES", "value": bytes }] } });
        assert_eq!(of(json!({ "size": 3 }), &[]), Some(2 << 30));
        assert_eq!(of(json!({ "size": 3, "quota": "8Gi" }), &[0, 0]), Some(8 << 30), "before 3.6");
        assert_eq!(
            of(json!({ "size": 3, "quota": "8Gi" }), &[0, 8 << 30, 4 << 30]),
            Some(4 << 30),
            "in the middle of a roll"
        );
        assert_eq!(of(variable("1000"), &[]), Some(1000));
        assert_eq!(of(variable("0"), &[]), Some(2 << 30));
        assert_eq!(of(variable("-1"), &[-1]), None, "there is no bound");
        assert_eq!(fitting(json!({ "size": 3 }), &[0], Some(288 << 20)), Some(288 << 20), "3.5 does not report it");
        assert_eq!(fitting(json!({ "size": 3, "quota": "8Gi" }), &[0], Some(288 << 20)), Some(8 << 30));
    }

    #[test]
    fn sizes_are_rounded_to_steps() {
        assert_eq!(humanize_bytes(20 << 20), "20.0 MiB");
        assert_eq!(round_to_step((21 << 20) + 5, Some("20.0 MiB")), "20.0 MiB");
        assert_eq!(round_to_step(23 << 20, Some("20.0 MiB")), "23.0 MiB");
        assert_eq!(round_to_step(20480, None), "20.0 KiB");
    }
}
