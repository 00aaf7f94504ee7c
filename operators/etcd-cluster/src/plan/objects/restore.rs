//! Pure: the init step that restores the snapshot that a new cluster begins with, and its volumes.

use agent_protocol::{AgentCommand, EtcdRestoreMember};
use api::etcd_cluster::EtcdRestoreSource;
use k8s_openapi::api::core::v1::{Container, Volume, VolumeMount};
use runtime::pod::{bucket, claim_volume, empty_volume, mount, restricted_container};

use super::container::{AGENT_DIR, INSTALLED_AGENT, agent_variables, member_args, mounts, resources};
use super::initial_state::InitialState;
use super::programs::RESTORE;
use crate::EtcdCluster;
use crate::plan::desired::Desired;

/// The volume with the snapshot, and its directory.
const SNAPSHOT_VOLUME: &str = "snapshot";
const SNAPSHOT_DIR: &str = "/snapshot";
/// The file that a snapshot in an object store is downloaded to.
const DOWNLOADED: &str = "snapshot.db";

/// The init step.
pub(super) fn container(
    cluster: &EtcdCluster,
    desired: &Desired,
    member: &str,
    token: &str,
    source: &EtcdRestoreSource,
) -> Container {
    let command = EtcdRestoreMember {
        snapshot: snapshot_path(source).into(),
        bucket: source.store().map(bucket::arguments).unwrap_or_default(),
        sha256: source.sha256.clone(),
        state: AGENT_DIR.into(),
        member: member_args(cluster, member, InitialState::New),
        token: token.to_owned(),
    };
    let mut volume_mounts = mounts();
    volume_mounts.extend(snapshot_mounts(source));
    Container {
        name: RESTORE.to_owned(),
        image: Some(desired.image()),
        command: Some(command.command(INSTALLED_AGENT)),
        env: Some(agent_variables(InitialState::New)),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        volume_mounts: Some(volume_mounts),
        ..Container::default()
    }
}

/// The path of the snapshot in a pod with these volumes.
pub(crate) fn snapshot_path(source: &EtcdRestoreSource) -> String {
    format!("{SNAPSHOT_DIR}/{}", source.file.as_deref().unwrap_or(DOWNLOADED))
}

/// The mounts of a container that reads the snapshot.
pub(crate) fn snapshot_mounts(source: &EtcdRestoreSource) -> Vec<VolumeMount> {
    let snapshot =
        VolumeMount { read_only: source.store().is_none().then_some(true), ..mount(SNAPSHOT_VOLUME, SNAPSHOT_DIR) };
    std::iter::once(snapshot).chain(source.store().into_iter().flat_map(bucket::mounts)).collect()
}

/// The volumes of its pod.
pub(crate) fn snapshot_volumes(source: &EtcdRestoreSource) -> Vec<Volume> {
    match source.store() {
        Some(at) => std::iter::once(empty_volume(SNAPSHOT_VOLUME)).chain(bucket::volumes(at)).collect(),
        None => vec![claim_volume(SNAPSHOT_VOLUME, source.claim_name.as_deref().unwrap_or_default())],
    }
}

/// The snapshot, as messages name it.
pub(in crate::plan) fn restore_source(source: &EtcdRestoreSource) -> String {
    let (claim, file) = (source.claim_name.as_deref().unwrap_or_default(), source.file.as_deref().unwrap_or_default());
    source.store().map_or_else(|| format!("{file} of the PVC {claim}"), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_snapshot_is_mounted_or_downloaded_with_the_secrets_of_the_store() {
        let source = |spec| serde_json::from_value::<EtcdRestoreSource>(spec).unwrap();
        let mounted = source(json!({ "claimName": "store", "file": "b/b.db" }));
        assert_eq!(restore_source(&mounted), "b/b.db of the PVC store");
        assert_eq!(
            json!(snapshot_volumes(&mounted)),
            json!([{ "name": "snapshot", "persistentVolumeClaim": { "claimName": "store" } }])
        );
        let stored = source(json!({ "s3": { "path": "b/k", "awsSecret": "aws", "caSecret": "ca" } }));
        assert_eq!(restore_source(&stored), "s3://b/k");
        let of = snapshot_volumes(&stored);
        assert_eq!(
            of.iter().map(|volume| &*volume.name).collect::<Vec<_>>(),
            ["snapshot", "bucket-credentials", "bucket-ca"]
        );
        let secrets = of.iter().filter_map(|volume| volume.secret.as_ref());
        assert!(secrets.clone().count() == 2 && secrets.clone().all(|secret| secret.default_mode == Some(0o440)));
    }
}
