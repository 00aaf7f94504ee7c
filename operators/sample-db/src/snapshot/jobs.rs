//! Pure: the Jobs of a snapshot.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agent_protocol::{AgentExit, Arguments, Offline, PgBasebackup, PgDump, PgPrune, PgVerify, VerificationMode};
use api::sample_db::{Method, Scheduling, VerifyMode};
use api::sample_db_snapshot::{SnapshotReason, VERIFY};
use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, DownwardAPIVolumeSource, ObjectFieldSelector, Volume};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::Projection;
use runtime::plan::Create;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};
use runtime::pod::{claim_volume, empty_volume, mount};
use runtime::quantity;
use serde_json::json;

use super::observed::Observed;
use crate::operand::agent_job::{FAILS_FOR_GOOD, JobOf, job};
use crate::operand::kinds::{ONLINE, SampleDB, Snapshot};
use crate::operand::labels::OWNER_UID;
use crate::operand::names;
use crate::operand::pod::{self, PGDATA, Place, SNAPSHOTS};
use crate::operand::scheduling::placed;

/// How often a Job is tried again.
const RETRIES: i32 = 2;
/// The exit code with which the agent has judged a snapshot.
const JUDGED: i32 = AgentExit::Failed as i32;
/// How many seconds files may take to be removed.
const PRUNE: i64 = 3600;
/// How many seconds the Job that did so stays, for a person to look at.
const LINGER: i32 = 60;

/// The name of the Job that takes it.
pub(super) fn backup_name(snapshot: &Snapshot) -> String {
    format!("{}-backup", snapshot.meta.key.name)
}

/// The name of the Job that proves it.
pub(super) fn verify_name(snapshot: &Snapshot) -> String {
    format!("{}-verify", snapshot.meta.key.name)
}

/// The name of the Job that removes its files.
pub(super) fn prune_name(snapshot: &Snapshot) -> String {
    format!("{}-prune", snapshot.meta.key.name)
}

/// The Job that takes it: of the server, or, of a database that is going and whose server has gone, of its volume.
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
        PgDump { to: folder(snapshot).into(), offline, ..PgDump::default() }.argv()
    } else {
        PgBasebackup { to: folder(snapshot).into(), ..PgBasebackup::default() }.argv()
    };
    let mut of = base(observed, &backup_name(snapshot), arguments);
    of.deadline_seconds = db.spec.backup.deadline_seconds();
    if last {
        of.deadline_seconds = db.spec.deletion.timeout_seconds();
    }
    if offline {
        let claim = db.status.storage.claim.clone().unwrap_or_else(|| names::data_claim(db));
        of.volumes.push((claim_volume("data", &claim), pod::data_mount()));
        // The server that it starts is in its own pod, with the data of a database's owner.
        isolate(&mut of);
    } else {
        of.env_from = Some((names::connection(db), names::system_secret(db)));
    }
    job(of, &place(observed))
}

/// The Job that proves it, with the user's checks if there are any.
pub(super) fn verify(observed: &Observed, mode: VerifyMode, checks: Option<String>, deadline_seconds: i64) -> Create {
    let snapshot = &*observed.snapshot;
    let checksums = mode == VerifyMode::Checksum;
    let verify = PgVerify {
        snapshot: folder(snapshot).into(),
        mode: if checksums { VerificationMode::Checksum } else { VerificationMode::Restore },
        scratch: Some(SCRATCH.into()),
        sha256: snapshot.status.sha256.clone(),
        checks: checks.is_some().then(|| format!("{CHECKS_MOUNT}/{CHECKS_FILE}").into()),
        ..PgVerify::default()
    };
    let mut of = base(observed, &verify_name(snapshot), verify.argv());
    isolate(&mut of);
    of.volumes.iter_mut().for_each(|(_, mount)| *mount = pod::snapshots_to_read());
    of.volumes.push((scratch(observed), mount("scratch", SCRATCH)));
    of.deadline_seconds = deadline_seconds;
    if checks.is_some() {
        of.volumes.push((checks_volume(), mount("checks", CHECKS_MOUNT)));
    }
    // What the agent has judged is not tried again; what was evicted, or killed, is.
    of.final_exit_codes = vec![JUDGED];
    of.pod_annotations = checks.map(|checks| BTreeMap::from([(CHECKS.to_owned(), checks)]));
    job(of, &place(observed))
}

/// Where the server is that it is loaded into: twice what the live one has, and what a new one takes. What is loaded runs code of
/// the database's owner, which is not to fill the node's disk for all others. Of a database that is gone its size is not known.
fn scratch(observed: &Observed) -> Volume {
    let size = observed.adopter_or_source().and_then(|db| {
        // A volume that was taken over, or a size that was set back, may be larger than the spec says.
        let volume = db.status.volumes.iter().find(|of| of.claim == db.status.storage.claim);
        let has = volume.and_then(|volume| quantity::whole(volume.capacity.as_deref()?));
        quantity::whole(db.spec.storage.size()).max(has)
    });
    let mut volume = empty_volume("scratch");
    if let Some((size, folder)) = size.zip(volume.empty_dir.as_mut()) {
        folder.size_limit = Some(Quantity((2 * size + (2 << 30)).to_string()));
    }
    volume
}

/// Where that is mounted.
const SCRATCH: &str = "/scratch";
/// The annotation of a pod with the checks, which come to it as a file: no other object has to be there for it, and
/// nothing of the database's.
const CHECKS: &str = "multi-operator.example.com/checks";
/// Where that file is.
const CHECKS_MOUNT: &str = "/checks";
const CHECKS_FILE: &str = "checks.json";

fn checks_volume() -> Volume {
    let field = ObjectFieldSelector { field_path: format!("metadata.annotations['{CHECKS}']"), ..Default::default() };
    let file = DownwardAPIVolumeFile { path: CHECKS_FILE.to_owned(), field_ref: Some(field), ..Default::default() };
    let of = DownwardAPIVolumeSource { items: Some(vec![file]), ..Default::default() };
    Volume { name: "checks".to_owned(), downward_api: Some(of), ..Volume::default() }
}

/// The Job that removes its files.
pub(super) fn prune(observed: &Observed) -> Create {
    let snapshot = &*observed.snapshot;
    let prune = PgPrune { directory: SNAPSHOTS.into(), names: vec![name(snapshot).to_owned()], ..PgPrune::default() };
    // It works while its snapshot goes, and a foreground deletion would take away what the snapshot owns.
    let mut of = JobOf { owners: None, linger: Some(LINGER), ..base(observed, &prune_name(snapshot), prune.argv()) };
    isolate(&mut of);
    // The agent does so by itself: the engine's image may be long gone.
    let mut create = job(of, &Place { engine: &observed.agent_image, ..place(observed) });
    // It has no owner, and outlives its snapshot: by this one of an earlier snapshot of the name is told from it.
    create.body["metadata"]["labels"][OWNER_UID] = json!(snapshot.meta.uid);
    create
}

/// Of one that works in its own pod, and needs no other.
fn isolate(of: &mut JobOf) {
    of.labels.insert(pod::ISOLATED.to_owned(), "true".to_owned());
}

/// What all have in common: the volume of the snapshots, and whom they go with.
fn base(observed: &Observed, name: &str, arguments: Vec<String>) -> JobOf {
    let snapshot = &*observed.snapshot;
    let mut labels = meta::labels(&Snapshot::KIND, &snapshot.meta);
    labels.insert(OWNER_KIND.to_owned(), Snapshot::KIND.qualified());
    labels.insert(pod::DATABASE.to_owned(), snapshot.spec.sample_db.clone());
    let claim = snapshot.status.location.claim.clone().unwrap_or_default();
    JobOf {
        key: snapshot.meta.key.sibling(name),
        labels,
        owners: child_meta(&Snapshot::KIND, &snapshot.meta).owner_references,
        arguments,
        env: Vec::new(),
        env_from: None,
        volumes: vec![(claim_volume("snapshots", &claim), mount("snapshots", SNAPSHOTS))],
        deadline_seconds: PRUNE,
        retries: RETRIES,
        linger: None,
        final_exit_codes: vec![FAILS_FOR_GOOD],
        pod_annotations: None,
    }
}

fn folder(snapshot: &Snapshot) -> String {
    format!("{SNAPSHOTS}/{}", name(snapshot))
}

/// The directory of its files, among those of others.
fn name(snapshot: &Snapshot) -> &str {
    snapshot.status.location.path.as_deref().unwrap_or(&snapshot.meta.key.name)
}

fn place(observed: &Observed) -> Place<'_> {
    let engine = observed.snapshot.status.image.as_deref().unwrap_or_default();
    let scheduling = Cow::Owned(scheduling(observed));
    Place { scheduling, engine, agent: &observed.agent_image, namespace_assigns_uids: observed.namespace_assigns_uids }
}

/// As the database's pod runs now, as long as there is a database: what its spec says since may be in vain.
fn scheduling(observed: &Observed) -> Scheduling {
    let Some(db) = observed.adopter_or_source() else { return Scheduling::default() };
    observed.server.as_deref().and_then(placed).unwrap_or_else(|| db.spec.scheduling.clone())
}

/// What the annotation says now.
pub(crate) fn request(snapshot: &Snapshot) -> Option<String> {
    snapshot.annotations.get(VERIFY).map(ToString::to_string)
}
