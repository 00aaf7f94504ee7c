//! Pure: what the spec says of options of etcd, by name or by variable.

use k8s_openapi::api::core::v1::EnvVar;

use crate::EtcdCluster;

/// Whether the spec says something of an option of etcd.
pub(super) fn is_given(cluster: &EtcdCluster, option: &str) -> bool {
    cluster.spec.options.contains_key(option) || variable(cluster, option).is_some()
}

/// The name of the variable by which etcd takes an option.
pub(in crate::plan) fn variable_of(option: &str) -> String {
    format!("ETCD_{}", option.to_uppercase().replace('-', "_"))
}

/// The variable that gives an option of etcd.
fn variable<'a>(cluster: &'a EtcdCluster, option: &str) -> Option<&'a EnvVar> {
    let name = variable_of(option);
    cluster.spec.pod.iter().flat_map(|pod| &pod.etcd_env).find(|env| env.name == name)
}

/// How large a request may be, in bytes, as the spec has it.
pub(super) fn largest_request(cluster: &EtcdCluster) -> u64 {
    const OPTION: &str = "max-request-bytes";
    let given = cluster.spec.options.get(OPTION);
    let given = given.or_else(|| variable(cluster, OPTION)?.value.as_ref());
    etcd_sizing::largest_request(given.map(String::as_str))
}

/// Whether the database may grow as its volume allows, because the spec does not say how far.
pub(in crate::plan) fn quota_follows_volume(cluster: &EtcdCluster) -> bool {
    cluster.spec.quota.is_none() && !is_given(cluster, "quota-backend-bytes")
}
