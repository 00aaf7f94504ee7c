//! Pure: the Jobs of a snapshot.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agent_protocol::{AgentCommand, AgentExit, Offline, PgBasebackup, PgDump, PgPrune, PgVerify, VerificationMode};
use api::sample_db::{Method, Scheduling, VerifyMode};
use api::sample_db_snapshot::{SnapshotReason, VERIFY};
use api::store::StoreLocation::S3;
use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, DownwardAPIVolumeSource, ObjectFieldSelector, Volume};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::Projection;
use runtime::plan::Create;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};
use runtime::pod::{bucket, claim_volume, empty_volume, mount};
use runtime::quantity;
use serde_json::json;

use super::observed::Observed;
use super::store;
use crate::operand::agent_job::{FAILS_PERMANENTLY, JobParams, job};
use crate::operand::kinds::{ONLINE, SampleDB, Snapshot};
use crate::operand::labels::OWNER_UID;
use crate::operand::names;
use crate::operand::pod::{self, PGDATA, PodContext, SNAPSHOTS};
use crate::operand::scheduling::recorded_placement;

/// How many pods of a Job may fail before the Job fails.
const POD_RETRIES: i32 = 2;
/// The exit code of the agent after a verification that failed.
const VERIFICATION_FAILED: i32 = AgentExit::Failed as i32;
/// After how many seconds a Job that removes files fails.
const PRUNE_DEADLINE_SECONDS: i64 = 3600;
/// How many seconds such a Job stays after its end, so that its log can be read.
const PRUNE_TTL_SECONDS: i32 = 60;

/// The name of the Job that takes it.
pub(super) fn backup_name(snapshot: &Snapshot) -> String {
    format!("{}-backup", snapshot.meta.key.name)
}

/// The name of the Job that verifies it.
pub(super) fn verify_name(snapshot: &Snapshot) -> String {
    format!("{}-verify", snapshot.meta.key.name)
}

/// The name of the Job that removes its files.
pub(super) fn prune_name(snapshot: &Snapshot) -> String {
    format!("{}-prune", snapshot.meta.key.name)
}

/// The Job that takes it: from the server or, if a deleted database has none, from its volume.
pub(super) fn backup(observed: &Observed, db: &SampleDB) -> Create {
    let snapshot = &*observed.snapshot;
    let last = snapshot.spec.reason == SnapshotReason::Final;
    let logical = snapshot.status.method != Some(Method::Physical);
    let offline = last && !snapshot.annotations.contains_key(ONLINE);
    let arguments = if logical || last {
        let offline = offline.then(|| Offline {
            data: PGDATA.into(),
            system_identifier: db.status.system_identifier.clone(),
            ..Offline::default()
        });
        PgDump { to: directory(snapshot).into(), offline, ..PgDump::default() }.argv()
    } else {
        PgBasebackup { to: directory(snapshot).into(), ..PgBasebackup::default() }.argv()
    };
    let mut of = job_params(observed, &backup_name(snapshot), arguments);
    of.deadline_seconds = db.spec.backup.deadline_seconds();
    if last {
        of.deadline_seconds = db.spec.deletion.timeout_seconds();
    }
    if offline {
        let claim = db.status.storage.claim.clone().unwrap_or_else(|| names::data_claim(db));
        of.volumes.push((claim_volume("data", &claim), pod::data_mount()));
        // The Job starts a server in its own pod, on the data of a database's owner.
        isolate(&mut of);
    } else {
        of.env_from = Some((names::connection_config_map(db), names::superuser_secret(db)));
    }
    job(of, &pod_context(observed))
}

/// The Job that verifies it, with the user's checks if there are any.
pub(super) fn verify(observed: &Observed, mode: VerifyMode, checks: Option<String>, deadline_seconds: i64) -> Create {
    let snapshot = &*observed.snapshot;
    let checksums = mode == VerifyMode::Checksum;
    let verify = PgVerify {
        snapshot: directory(snapshot).into(),
        mode: if checksums { VerificationMode::Checksum } else { VerificationMode::Restore },
        scratch: Some(SCRATCH.into()),
        sha256: snapshot.status.sha256.clone(),
        checks: checks.is_some().then(|| format!("{CHECKS_MOUNT}/{CHECKS_FILE}").into()),
        ..PgVerify::default()
    };
    let mut of = job_params(observed, &verify_name(snapshot), verify.argv());
    isolate(&mut of);
    of.volumes.iter_mut().for_each(|(_, mount)| *mount = pod::read_only_snapshots_mount());
    of.volumes.push((scratch(observed), mount("scratch", SCRATCH)));
    of.deadline_seconds = deadline_seconds;
    if checks.is_some() {
        of.volumes.push((checks_volume(), mount("checks", CHECKS_MOUNT)));
    }
    // A failed verification is not repeated; a pod that was evicted or killed is replaced.
    of.final_exit_codes = vec![VERIFICATION_FAILED];
    of.pod_annotations = checks.map(|checks| BTreeMap::from([(CHECKS.to_owned(), checks)]));
    job(of, &pod_context(observed))
}

/// The volume of the server that the snapshot is restored into: twice the size of the live volume, plus the space of a new
/// server. The limit keeps code of the database's owner from filling the node's disk. Without the database its size is unknown.
fn scratch(observed: &Observed) -> Volume {
    let size = observed.adopter_or_source().and_then(|db| {
        // An adopted volume may be larger than the spec says, and so may one whose size was reduced in the spec.
        let volume = db.status.volumes.iter().find(|of| of.claim == db.status.storage.claim);
        let has = volume.and_then(|volume| quantity::value(volume.capacity.as_deref()?));
        quantity::value(db.spec.storage.size()).max(has)
    });
    let mut volume = empty_volume("scratch");
    if let Some((size, directory)) = size.zip(volume.empty_dir.as_mut()) {
        directory.size_limit = Some(Quantity((2 * size + (2 << 30)).to_string()));
    }
    volume
}

/// Label of a Job that removes only the copy of a snapshot.
pub(super) const WITHOUT_VOLUME: &str = "multi-operator.example.com/without-volume";

/// The mount path of that volume.
const SCRATCH: &str = "/scratch";
/// The annotation of a pod with the checks, which the pod mounts as a file. So they need no other object, and no access to the
/// database.
const CHECKS: &str = "multi-operator.example.com/checks";
/// The mount path of that file.
const CHECKS_MOUNT: &str = "/checks";
const CHECKS_FILE: &str = "checks.json";

fn checks_volume() -> Volume {
    let field = ObjectFieldSelector { field_path: format!("metadata.annotations['{CHECKS}']"), ..Default::default() };
    let file = DownwardAPIVolumeFile { path: CHECKS_FILE.to_owned(), field_ref: Some(field), ..Default::default() };
    let of = DownwardAPIVolumeSource { items: Some(vec![file]), ..Default::default() };
    Volume { name: "checks".to_owned(), downward_api: Some(of), ..Volume::default() }
}

/// The Job that removes its files, and its copy in an object store.
pub(super) fn prune(observed: &Observed) -> Create {
    let snapshot = &*observed.snapshot;
    let copy = store::location(observed);
    let prune = PgPrune {
        directory: SNAPSHOTS.into(),
        names: vec![name(snapshot).to_owned()],
        bucket: copy.as_ref().map(|s3| bucket::arguments(S3(s3))).unwrap_or_default(),
        ..PgPrune::default()
    };
    // The Job runs while its snapshot is terminating, and a foreground deletion would delete what the snapshot owns.
    let mut of = JobParams {
        owners: None,
        ttl_seconds: Some(PRUNE_TTL_SECONDS),
        ..job_params(observed, &prune_name(snapshot), prune.argv())
    };
    if !observed.volume.stays() {
        of.volumes.clear();
    }
    match &copy {
        Some(s3) => of.volumes.extend(bucket::volumes(S3(s3)).into_iter().zip(bucket::mounts(S3(s3)))),
        None => isolate(&mut of),
    }
    // The agent needs no other program for this: the engine's image may no longer exist.
    let mut create = job(of, &PodContext { engine: &observed.agent_image, ..pod_context(observed) });
    // The Job has no owner, and outlives its snapshot. By this label it is distinguished from the Job of an earlier snapshot of
    // the same name.
    create.body["metadata"]["labels"][OWNER_UID] = json!(snapshot.meta.uid);
    if !observed.volume.stays() {
        create.body["metadata"]["labels"][WITHOUT_VOLUME] = json!("true");
    }
    create
}

/// Marks a Job that needs no network.
fn isolate(of: &mut JobParams) {
    of.labels.insert(pod::ISOLATED.to_owned(), "true".to_owned());
}

/// The parameters that all Jobs have in common: the volume of the snapshots, and the owner.
pub(super) fn job_params(observed: &Observed, name: &str, arguments: Vec<String>) -> JobParams {
    let snapshot = &*observed.snapshot;
    let mut labels = meta::labels(&Snapshot::KIND, &snapshot.meta);
    labels.insert(OWNER_KIND.to_owned(), Snapshot::KIND.qualified());
    labels.insert(pod::DATABASE.to_owned(), snapshot.spec.sample_db.clone());
    let claim = snapshot.status.location.claim.clone().unwrap_or_default();
    JobParams {
        key: snapshot.meta.key.sibling(name),
        labels,
        owners: child_meta(&Snapshot::KIND, &snapshot.meta).owner_references,
        arguments,
        env: Vec::new(),
        env_from: None,
        volumes: vec![(claim_volume("snapshots", &claim), mount("snapshots", SNAPSHOTS))],
        deadline_seconds: PRUNE_DEADLINE_SECONDS,
        retries: POD_RETRIES,
        ttl_seconds: None,
        final_exit_codes: vec![FAILS_PERMANENTLY],
        pod_annotations: None,
    }
}

pub(super) fn directory(snapshot: &Snapshot) -> String {
    format!("{SNAPSHOTS}/{}", name(snapshot))
}

/// The name of the directory of its files.
fn name(snapshot: &Snapshot) -> &str {
    snapshot.status.location.path.as_deref().unwrap_or(&snapshot.meta.key.name)
}

pub(super) fn pod_context(observed: &Observed) -> PodContext<'_> {
    let engine = engine(observed).unwrap_or(&observed.agent_image);
    let scheduling = Cow::Owned(scheduling(observed));
    PodContext {
        scheduling,
        engine,
        agent: &observed.agent_image,
        namespace_assigns_uids: observed.namespace_assigns_uids,
    }
}

/// The image with the engine's programs. An imported snapshot has none of its own: what a store says is not run.
pub(super) fn engine(observed: &Observed) -> Option<&str> {
    let of_db = || observed.adopter_or_source().and_then(|db| db.status.engine.image.as_deref());
    observed.snapshot.status.image.as_deref().or_else(of_db)
}

/// The scheduling of the database's running pod. What the spec says since may not be possible.
fn scheduling(observed: &Observed) -> Scheduling {
    let Some(db) = observed.adopter_or_source() else { return Scheduling::default() };
    observed.server.as_deref().and_then(recorded_placement).unwrap_or_else(|| db.spec.scheduling.clone())
}

/// The value of the annotation that requests a verification.
pub(crate) fn request(snapshot: &Snapshot) -> Option<String> {
    snapshot.annotations.get(VERIFY).map(ToString::to_string)
}
