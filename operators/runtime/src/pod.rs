//! Pure: what the pods of all operands have in common, so that all operators render it in the same way.

use api::my_app::Resources;
use k8s_openapi::api::core::v1::{
    Capabilities, EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource, PodSecurityContext,
    ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

pub mod bucket;
pub mod quota;
pub mod trial_pod;

/// The default requests of a container: the kubelet evicts pods without requests first.
const DEFAULT_REQUESTS: [(&str, &str); 2] = [("cpu", "50m"), ("memory", "128Mi")];

/// The security context of a pod under the restricted Pod Security Standard, with `user` as its user, group and owner of volumes.
///
/// On OpenShift the namespace assigns a range of UIDs, the API server fills one in, and a pod that names another is rejected.
#[must_use]
pub fn restricted(user: i64, namespace_assigns_uids: bool) -> PodSecurityContext {
    let user = (!namespace_assigns_uids).then_some(user);
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: user,
        run_as_group: user,
        fs_group: user,
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(default_seccomp()),
        ..PodSecurityContext::default()
    }
}

/// The security context of a container of such a pod, which writes to its volumes only.
#[must_use]
pub fn restricted_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(no_capabilities()),
        ..SecurityContext::default()
    }
}

/// The seccomp profile of the node's container runtime.
#[must_use]
pub fn default_seccomp() -> SeccompProfile {
    SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }
}

/// Drops all capabilities.
#[must_use]
pub fn no_capabilities() -> Capabilities {
    Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }
}

/// The resources of a container: those of the spec, or requests of 50m CPU and 128Mi of memory. Init containers get them too,
/// since a namespace with a quota requires them of every container.
#[must_use]
pub fn resources(given: Option<&Resources>) -> ResourceRequirements {
    given.map_or_else(
        || ResourceRequirements {
            requests: Some(
                DEFAULT_REQUESTS.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned()))).into(),
            ),
            ..ResourceRequirements::default()
        },
        ResourceRequirements::from,
    )
}

/// An empty volume, which the kubelet deletes with the pod.
#[must_use]
pub fn empty_volume(name: &str) -> Volume {
    Volume { name: name.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() }
}

/// The volume of a PVC.
#[must_use]
pub fn claim_volume(name: &str, claim: &str) -> Volume {
    let claim = PersistentVolumeClaimVolumeSource { claim_name: claim.to_owned(), read_only: None };
    Volume { name: name.to_owned(), persistent_volume_claim: Some(claim), ..Volume::default() }
}

/// The mount of a volume in a container.
#[must_use]
pub fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { name: name.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

/// The mode of files from a Secret: for the group of the pod's user.
const SECRET_MODE: i32 = 0o440;

/// A volume with all files of a Secret. Without the Secret, no pod starts, and pods that run keep the files.
#[must_use]
pub fn secret_volume(name: &str, secret: &str) -> Volume {
    let secret = SecretVolumeSource {
        secret_name: Some(secret.to_owned()),
        default_mode: Some(SECRET_MODE),
        ..SecretVolumeSource::default()
    };
    Volume { name: name.to_owned(), secret: Some(secret), ..Volume::default() }
}

/// A volume of a Job with these files of a Secret; with all of them if none is named. A Secret that does not exist leaves it empty: the
/// agent reports that at once, where the kubelet would wait.
#[must_use]
pub fn optional_secret_volume(name: &str, secret: &str, files: &[&str]) -> Volume {
    let file = |file: &&str| KeyToPath { key: (*file).to_owned(), path: (*file).to_owned(), mode: None };
    let mut volume = secret_volume(name, secret);
    if let Some(source) = &mut volume.secret {
        source.items = non_empty(files.iter().map(file).collect());
        source.optional = Some(true);
    }
    volume
}

/// A mount that cannot be written to.
#[must_use]
pub fn read_only_mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}

/// The list, unless it is empty: the API server stores no empty one, and a field that is sent counts as owned.
#[must_use]
pub fn non_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// A command line or a part of one.
#[must_use]
pub fn command_line(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_restricted_pod_names_no_user_where_the_namespace_assigns_one() {
        let user = json!({ "runAsNonRoot": true, "runAsUser": 999, "runAsGroup": 999, "fsGroup": 999,
            "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": { "type": "RuntimeDefault" } });
        assert_eq!(json!(restricted(999, false)), user);
        let assigned = json!({ "runAsNonRoot": true, "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": { "type": "RuntimeDefault" } });
        assert_eq!(json!(restricted(999, true)), assigned);
        let container = json!({ "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] } });
        assert_eq!(json!(restricted_container()), container);
    }

    #[test]
    fn resources_of_the_spec_replace_the_default_requests() {
        assert_eq!(json!(resources(None)), json!({ "requests": { "cpu": "50m", "memory": "128Mi" } }));
        let given: Resources = serde_json::from_value(json!({ "limits": { "memory": "1Gi" } })).unwrap();
        assert_eq!(json!(resources(Some(&given))), json!({ "limits": { "memory": "1Gi" } }));
    }
}
