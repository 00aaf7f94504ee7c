//! Pure: the Job that takes a backup.

use std::time::Duration;

use agent_protocol::{EtcdTakeBackup, Seconds};
use api::etcd_backup::EtcdBackupRun;
use runtime::cache::Projection as _;
use runtime::job::template;
use runtime::plan::Create;
use runtime::pod::{bucket, claim_volume, empty_volume, mount, optional_secret_volume, read_only_mount};

use super::observed::BackupObserved;
use super::target::BackupTarget;
use crate::EtcdBackup;
use crate::agent_pod::{self, AgentPod, SCRATCH_DIR};
use crate::plan::authentication::PASSWORD;
use crate::plan::objects;

/// The volume with the backups, and its directory.
const STORE_VOLUME: &str = "backups";
const STORE_DIR: &str = "/backups";
/// The volume with the password of root, and its directory.
const ROOT_VOLUME: &str = "root";
const ROOT_DIR: &str = "/etc/etcd-root";
/// After how many seconds a Job fails, in addition to the time for the transfer: a restored member may take long to start.
const VERIFICATION_SECONDS: i64 = 7200;
/// The label of pods that the network policy of instances allows to reach etcd.
const ETCD_CLIENT: &str = "multi-operator.example.com/etcd-client";

/// The Job.
pub(super) fn create(observed: &BackupObserved, run: &EtcdBackupRun, target: BackupTarget) -> Create {
    let backup = &*observed.backup;
    let spec = &backup.spec;
    // A backup in an object store is written to an empty volume before it is uploaded.
    let claim = spec.pvc.as_ref().map(|pvc| claim_volume(STORE_VOLUME, &pvc.claim_name));
    let mut volumes = vec![claim.unwrap_or_else(|| empty_volume(STORE_VOLUME))];
    let mut mounts = vec![mount(STORE_VOLUME, STORE_DIR)];
    if let Some(at) = spec.store() {
        mounts.extend(bucket::mounts(at));
        volumes.extend(bucket::volumes(at));
    }
    let mut client_tls = None;
    if let Some(secret) = &target.client_secret {
        let (volume, mount, directory) = objects::client_tls(secret);
        volumes.push(volume);
        mounts.push(mount);
        client_tls = Some(directory.into());
    }
    let mut root_secret = None;
    if let Some(secret) = &target.root_secret {
        volumes.push(optional_secret_volume(ROOT_VOLUME, secret, &[PASSWORD]));
        mounts.push(read_only_mount(ROOT_VOLUME, ROOT_DIR));
        root_secret = Some(ROOT_DIR.into());
    }
    let pod = AgentPod {
        agent_image: &observed.agent_image,
        image: &target.image,
        volumes,
        mounts,
        resources: spec.resources.as_ref(),
        namespace_assigns_uids: observed.namespace_assigns_uids,
    };
    let pod = pod.running(&EtcdTakeBackup { client_tls, root_secret, ..command(backup, run, target.endpoints) });
    let (key, deadline) =
        (backup.meta.key.sibling(&run.name), spec.timeout_seconds().saturating_add(VERIFICATION_SECONDS));
    let mut job = agent_pod::job(&EtcdBackup::KIND, &backup.meta, key, pod, deadline);
    job.labels.insert(ETCD_CLIENT.to_owned(), "true".to_owned());
    template::create(job)
}

fn command(backup: &EtcdBackup, run: &EtcdBackupRun, endpoints: Vec<String>) -> EtcdTakeBackup {
    let spec = &backup.spec;
    let path = spec.pvc.as_ref().and_then(|pvc| pvc.path.as_deref());
    let directory = path.unwrap_or(&backup.meta.key.name);
    let timeout = u64::try_from(spec.timeout_seconds()).unwrap_or(u64::MAX);
    EtcdTakeBackup {
        endpoints,
        to: format!("{STORE_DIR}/{directory}/{}", run.name).into(),
        bucket: spec.store().map(bucket::arguments).unwrap_or_default(),
        // The archived operator stores a single backup at the path itself.
        versioned: spec.store().is_some() && *run.name != *backup.meta.key.name,
        owner: backup.meta.uid.to_string(),
        scratch: SCRATCH_DIR.into(),
        client_tls: None,
        root_secret: None,
        keep: spec.max_backups(),
        keep_for: spec.max_age_seconds(),
        timeout: Seconds(Duration::from_secs(timeout)),
    }
}
