//! The Jobs of a snapshot. Pure.

use std::borrow::Cow;

use api::sample_db::{Method, Scheduling, VerifyMode};
use api::sample_db_snapshot::SnapshotReason;
use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, DownwardAPIVolumeSource, ObjectFieldSelector, Volume};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::View;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};
use runtime::plan::{Create, quantity};
use serde_json::json;

use super::observed::Observed;
use crate::plan::names;
use crate::plan::objects::pod::{self, PGDATA, SNAPSHOTS};
use crate::plan::objects::{JobOf, ONLINE, OWNER_UID, Place, job, placed};
use crate::{SampleDB, Snapshot};

/// How often a Job is tried again.
const RETRIES: i32 = 2;
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
    let verb = if logical || last { "pg-dump" } else { "pg-basebackup" };
    let mut of = base(observed, &backup_name(snapshot), vec![verb.to_owned(), format!("--to={}", folder(snapshot))]);
    of.deadline_seconds = db.spec.backup.deadline_seconds();
    if last {
        of.deadline_seconds = db.spec.deletion.timeout_seconds();
    }
    if last && !snapshot.annotations.contains_key(ONLINE) {
        of.arguments.push(format!("--offline={PGDATA}"));
        of.arguments.extend(db.status.system_identifier.iter().map(|id| format!("--system-identifier={id}")));
        let claim = db.status.storage.claim.clone().unwrap_or_else(|| names::data_claim(db));
        of.volumes.push((pod::of_claim("data", &claim), pod::data_mount()));
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
    let mode = if mode == VerifyMode::Checksum { "checksum" } else { "restore" };
    let mut arguments = vec!["pg-verify".to_owned(), format!("--snapshot={}", folder(snapshot))];
    arguments.extend([format!("--mode={mode}"), "--scratch=/scratch".to_owned()]);
    arguments.extend(snapshot.status.sha256.iter().map(|sum| format!("--sha256={sum}")));
    let mut of = base(observed, &verify_name(snapshot), arguments);
    isolate(&mut of);
    of.volumes.iter_mut().for_each(|(_, mount)| *mount = pod::snapshots_to_read());
    of.volumes.push((scratch(observed), pod::mount("scratch", "/scratch")));
    of.deadline_seconds = deadline_seconds;
    if checks.is_some() {
        of.arguments.push(format!("--checks={CHECKS_MOUNT}/{CHECKS_FILE}"));
        of.volumes.push((checks_volume(), pod::mount("checks", CHECKS_MOUNT)));
    }
    let mut create = job(of, &place(observed));
    // What the agent has judged is not tried again; what was evicted, or killed, is.
    create.body["spec"]["podFailurePolicy"] = json!({ "rules": [
        { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
        { "action": "FailJob", "onExitCodes": { "containerName": "work", "operator": "In", "values": [1] } },
    ] });
    if let Some(checks) = checks {
        create.body["spec"]["template"]["metadata"]["annotations"] = json!({ CHECKS: checks });
    }
    create
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
    let mut volume = pod::empty("scratch");
    if let Some((size, folder)) = size.zip(volume.empty_dir.as_mut()) {
        folder.size_limit = Some(Quantity((2 * size + (2 << 30)).to_string()));
    }
    volume
}

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
    let path = snapshot.status.location.path.as_deref().unwrap_or(&snapshot.meta.key.name);
    let arguments = vec!["pg-prune".to_owned(), format!("--dir={SNAPSHOTS}"), format!("--name={path}")];
    // It works while its snapshot goes, and a foreground deletion would take away what the snapshot owns.
    let mut of = JobOf { owners: None, linger: Some(LINGER), ..base(observed, &prune_name(snapshot), arguments) };
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
        volumes: vec![(pod::of_claim("snapshots", &claim), pod::mount("snapshots", SNAPSHOTS))],
        deadline_seconds: PRUNE,
        retries: RETRIES,
        linger: None,
    }
}

fn folder(snapshot: &Snapshot) -> String {
    format!("{SNAPSHOTS}/{}", snapshot.status.location.path.as_deref().unwrap_or(&snapshot.meta.key.name))
}

fn place(observed: &Observed) -> Place<'_> {
    let engine = observed.snapshot.status.image.as_deref().unwrap_or_default();
    let scheduling = Cow::Owned(scheduling(observed));
    Place { scheduling, engine, agent: &observed.agent_image, dictated_users: observed.dictated_users }
}

/// As the database's pod runs now, as long as there is a database: what its spec says since may be in vain.
fn scheduling(observed: &Observed) -> Scheduling {
    let Some(db) = observed.adopter_or_source() else { return Scheduling::default() };
    observed.server.as_deref().and_then(placed).unwrap_or_else(|| db.spec.scheduling.clone())
}
