//! Pure: the Job that takes a backup.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_protocol::{AgentCommand, AgentExit, EtcdTakeBackup, Install, Seconds};
use api::etcd_backup::EtcdBackupRun;
use k8s_openapi::api::core::v1::{Container, PodSpec, VolumeMount};
use runtime::cache::Projection as _;
use runtime::job::WORK;
use runtime::job::template::{self, JobTemplate};
use runtime::plan::Create;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};
use runtime::pod::{claim_volume, empty_volume, mount, resources, restricted, restricted_container};

use super::observed::BackupObserved;
use super::target::BackupTarget;
use crate::EtcdBackup;
use crate::bucket;
use crate::plan::objects::{self, USER};

/// The volume with the agent, and its directory.
const AGENT_VOLUME: &str = "agent";
const AGENT_DIR: &str = "/multi-operator";
const INSTALLED_AGENT: &str = "/multi-operator/agent";
/// The volume with the backups, and its directory.
const STORE_VOLUME: &str = "backups";
const STORE_DIR: &str = "/backups";
/// The volume that a snapshot is restored into, and its directory.
const SCRATCH_VOLUME: &str = "scratch";
const SCRATCH_DIR: &str = "/scratch";
/// After how many seconds a Job fails, in addition to the time for the transfer: a restored member may take long to start.
const VERIFICATION_SECONDS: i64 = 7200;
/// The label of pods that the network policy of instances allows to reach etcd.
const ETCD_CLIENT: &str = "multi-operator.example.com/etcd-client";

/// The Job.
pub(super) fn create(observed: &BackupObserved, run: &EtcdBackupRun, target: BackupTarget) -> Create {
    let backup = &*observed.backup;
    let mut labels: BTreeMap<String, String> = meta::labels(&EtcdBackup::KIND, &backup.meta);
    labels.insert(OWNER_KIND.to_owned(), EtcdBackup::KIND.qualified());
    labels.insert(ETCD_CLIENT.to_owned(), "true".to_owned());
    template::create(JobTemplate {
        key: backup.meta.key.sibling(&run.name),
        labels,
        owners: child_meta(&EtcdBackup::KIND, &backup.meta).owner_references,
        pod: pod(observed, run, target),
        pod_annotations: None,
        deadline_seconds: backup.spec.timeout_seconds().saturating_add(VERIFICATION_SECONDS),
        // The operator tries again, with a status that says why.
        retries: 0,
        ttl_seconds: None,
        final_exit_codes: vec![AgentExit::Failed as i32, AgentExit::Lasting as i32],
    })
}

fn pod(observed: &BackupObserved, run: &EtcdBackupRun, target: BackupTarget) -> PodSpec {
    let container = |name: &str, image: &str, command: Vec<String>| Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        command: Some(command),
        resources: Some(resources(observed.backup.spec.resources.as_ref())),
        security_context: Some(restricted_container()),
        ..Container::default()
    };
    let install = Install { directory: AGENT_DIR.into(), passwd: None }.command("/agent");
    let install = Container {
        volume_mounts: Some(vec![mount(AGENT_VOLUME, AGENT_DIR)]),
        ..container("install", &observed.agent_image, install)
    };
    let mounts = [(AGENT_VOLUME, AGENT_DIR), (STORE_VOLUME, STORE_DIR), (SCRATCH_VOLUME, SCRATCH_DIR)];
    let mut mounts: Vec<VolumeMount> = mounts.map(|(volume, path)| mount(volume, path)).into();
    let spec = &observed.backup.spec;
    // A backup in an object store is written to an empty volume before it is uploaded.
    let claim = spec.pvc.as_ref().map(|pvc| claim_volume(STORE_VOLUME, &pvc.claim_name));
    let store = claim.unwrap_or_else(|| empty_volume(STORE_VOLUME));
    let mut volumes = vec![empty_volume(AGENT_VOLUME), store, empty_volume(SCRATCH_VOLUME)];
    if let Some(s3) = &spec.s3 {
        mounts.extend(bucket::mounts(s3));
        volumes.extend(bucket::volumes(s3));
    }
    let mut client_tls = None;
    if let Some(secret) = &target.client_secret {
        let (volume, mount, directory) = objects::client_tls(secret);
        volumes.push(volume);
        mounts.push(mount);
        client_tls = Some(directory);
    }
    let work =
        EtcdTakeBackup { client_tls: client_tls.map(Into::into), ..command(&observed.backup, run, target.endpoints) };
    let work = work.command(INSTALLED_AGENT);
    let work = Container { volume_mounts: Some(mounts), ..container(WORK, &target.image, work) };
    PodSpec {
        init_containers: Some(vec![install]),
        containers: vec![work],
        volumes: Some(volumes),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(restricted(USER, observed.namespace_assigns_uids)),
        ..PodSpec::default()
    }
}

fn command(backup: &EtcdBackup, run: &EtcdBackupRun, endpoints: Vec<String>) -> EtcdTakeBackup {
    let spec = &backup.spec;
    let path = spec.pvc.as_ref().and_then(|pvc| pvc.path.as_deref());
    let directory = path.unwrap_or(&backup.meta.key.name);
    let timeout = u64::try_from(spec.timeout_seconds()).unwrap_or(u64::MAX);
    EtcdTakeBackup {
        endpoints,
        to: format!("{STORE_DIR}/{directory}/{}", run.name).into(),
        bucket: spec.s3.as_ref().map(bucket::arguments).unwrap_or_default(),
        // The archived operator stores a single backup at the path itself.
        versioned: spec.s3.is_some() && *run.name != *backup.meta.key.name,
        owner: backup.meta.uid.to_string(),
        scratch: SCRATCH_DIR.into(),
        client_tls: None,
        keep: spec.max_backups(),
        keep_for: spec.max_age_seconds(),
        timeout: Seconds(Duration::from_secs(timeout)),
    }
}
