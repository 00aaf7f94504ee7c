//! Pure: sizes of databases.

use api::etcd_cluster::EtcdClusterSpec;
use runtime::quantity;

use super::Endpoint;

/// The whole bytes in a quantity such as `8Gi`.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    let thousandths: u64 = quantity::canonical(text)?.strip_suffix('m')?.parse().ok()?;
    Some(thousandths / 1000)
}

/// What etcd's databases may grow to where nothing says otherwise.
const DEFAULT_QUOTA: i64 = 2 * 1024 * 1024 * 1024;

/// How large a database of the cluster may grow, in bytes; none where there is no bound. By the members' own word (the least
/// of it, since that one is reached first), or else by the spec, since what is given to a pod follows from that, or else by
/// what is `fitting` its volume.
#[must_use]
pub fn quota<'a>(
    spec: &EtcdClusterSpec,
    endpoints: impl Iterator<Item = &'a Endpoint>,
    fitting: Option<u64>,
) -> Option<i64> {
    let told = endpoints.map(|endpoint| endpoint.quota).filter(|quota| *quota != 0).min();
    let variable = || {
        let variables = spec.pod.iter().flat_map(|pod| &pod.etcd_env);
        let variable =
            variables.filter(|env| env.name == "ETCD_QUOTA_BACKEND_BYTES").find_map(|env| env.value.as_ref());
        variable.and_then(|bytes| bytes.parse::<i64>().ok())
    };
    let given = || spec.quota.as_deref().and_then(bytes).and_then(|bytes| i64::try_from(bytes).ok());
    let fitting = || fitting.and_then(|bytes| i64::try_from(bytes).ok());
    match told.or_else(given).or_else(variable).or_else(fitting) {
        None | Some(0) => Some(DEFAULT_QUOTA),
        Some(quota) => Some(quota).filter(|quota| *quota > 0),
    }
}

/// A size in words: `20.5 MiB`.
#[must_use]
pub fn words(bytes: i64) -> String {
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

/// The size moved in steps of a tenth, so that load does not write status: what was told before, as long as the true one
/// is within a tenth of it.
#[must_use]
pub fn stepped(now: i64, before: Option<&str>) -> String {
    let told = before.and_then(read);
    match (told, before) {
        (Some(told), Some(text)) if (now - told).abs() * 10 <= told => text.to_owned(),
        _ => words(now),
    }
}

/// Reads [`words`] back, as exactly as they are.
fn read(text: &str) -> Option<i64> {
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
    fn what_a_database_may_grow_to() {
        let spec = |text: serde_json::Value| serde_json::from_value::<EtcdClusterSpec>(text).unwrap();
        let member = |quota| Endpoint { quota, ..Endpoint::default() };
        let fitting = |text, told: &[i64], fitting| {
            let told: Vec<Endpoint> = told.iter().copied().map(member).collect();
            quota(&spec(text), told.iter(), fitting)
        };
        let of = |text, told: &[i64]| fitting(text, told, None);
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
        assert_eq!(
            fitting(json!({ "size": 3 }), &[0], Some(288 << 20)),
            Some(288 << 20),
            "3.5 has got it, and does not tell"
        );
        assert_eq!(fitting(json!({ "size": 3, "quota": "8Gi" }), &[0], Some(288 << 20)), Some(8 << 30));
    }

    #[test]
    fn sizes_move_in_steps() {
        assert_eq!(words(20 << 20), "20.0 MiB");
        assert_eq!(stepped((21 << 20) + 5, Some("20.0 MiB")), "20.0 MiB");
        assert_eq!(stepped(23 << 20, Some("20.0 MiB")), "23.0 MiB");
        assert_eq!(stepped(20480, None), "20.0 KiB");
    }
}
