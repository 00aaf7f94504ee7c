//! Pure: options of etcd in the spec, by name or by environment variable.

use k8s_openapi::api::core::v1::EnvVar;

use crate::EtcdCluster;

/// Whether the spec sets an option of etcd.
pub(super) fn is_given(cluster: &EtcdCluster, option: &str) -> bool {
    cluster.spec.options.contains_key(option) || variable(cluster, option).is_some()
}

/// The environment variable of an option of etcd.
pub(in crate::plan) fn variable_of(option: &str) -> String {
    format!("ETCD_{}", option.to_uppercase().replace('-', "_"))
}

/// The environment variable in the spec that sets an option of etcd.
fn variable<'a>(cluster: &'a EtcdCluster, option: &str) -> Option<&'a EnvVar> {
    let name = variable_of(option);
    cluster.spec.pod.iter().flat_map(|pod| &pod.etcd_env).find(|env| env.name == name)
}

/// The largest request in the spec, in bytes.
pub(super) fn largest_request(cluster: &EtcdCluster) -> u64 {
    const OPTION: &str = "max-request-bytes";
    let given = cluster.spec.options.get(OPTION);
    let given = given.or_else(|| variable(cluster, OPTION)?.value.as_ref());
    etcd_sizing::largest_request(given.map(String::as_str))
}

/// Whether the quota follows from the volume, because the spec does not set it.
pub(in crate::plan) fn quota_follows_volume(cluster: &EtcdCluster) -> bool {
    cluster.spec.quota.is_none() && !is_given(cluster, "quota-backend-bytes")
}
