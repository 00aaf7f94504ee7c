//! Pure: the Jobs that upload a snapshot, and import one. The agent needs no other program for that.

use agent_protocol::{AgentCommand, PgDownload, PgUpload};
use api::s3::S3Location;
use api::sample_db_snapshot::VerificationPhase;
use api::store::StoreLocation::S3;
use runtime::plan::Create;
use runtime::pod::bucket;

use super::jobs::{directory, job_params, pod_context};
use super::observed::Observed;
use crate::operand::agent_job::{JobParams, job};
use crate::operand::kinds::Snapshot;
use crate::operand::pod::{self, PodContext};

/// After how many seconds such a Job fails.
const DEADLINE_SECONDS: i64 = 24 * 3600;

/// The name of the Job that uploads it.
pub(super) fn upload_name(snapshot: &Snapshot) -> String {
    format!("{}-upload", snapshot.meta.key.name)
}

/// The name of the Job that imports it.
pub(super) fn import_name(snapshot: &Snapshot) -> String {
    format!("{}-import", snapshot.meta.key.name)
}

/// The Job that uploads it.
pub(super) fn upload(observed: &Observed, s3: &S3Location) -> Create {
    let snapshot = &*observed.snapshot;
    let mut owners = owners(observed).into_iter();
    let upload = PgUpload {
        snapshot: directory(snapshot).into(),
        sha256: snapshot.status.sha256.clone(),
        bucket: bucket::arguments(S3(s3)),
        owner: owners.next().unwrap_or_default(),
        earlier_owners: owners.collect(),
        owner_name: format!("{}/{}", snapshot.meta.key.namespace, snapshot.spec.sample_db),
        database: snapshot.status.database.clone().unwrap_or_default(),
        verified: snapshot.status.verification.phase == Some(VerificationPhase::Passed),
    };
    let mut of = transfer(observed, &upload_name(snapshot), upload.argv(), s3);
    of.volumes[0].1 = pod::read_only_snapshots_mount();
    create(observed, of)
}

/// The UIDs of the database: that of its SampleDB now, and those of earlier ones whose volumes it has adopted.
fn owners(observed: &Observed) -> Vec<String> {
    let taken_of = observed.snapshot.status.sample_db_uid.clone();
    let Some(db) = observed.adopter_or_source() else { return taken_of.into_iter().collect() };
    let now = db.meta.uid.to_string();
    let earlier = db.status.storage.adopted_from.iter().cloned();
    std::iter::once(now.clone()).chain(earlier.filter(|uid| *uid != now)).collect()
}

/// The Job that imports it.
pub(super) fn import(observed: &Observed, s3: &S3Location) -> Create {
    let snapshot = &*observed.snapshot;
    let download = PgDownload { to: directory(snapshot).into(), bucket: bucket::arguments(S3(s3)) };
    create(observed, transfer(observed, &import_name(snapshot), download.argv(), s3))
}

/// The operator tries again, with a status that says why, so the Job does not.
fn transfer(observed: &Observed, name: &str, arguments: Vec<String>, s3: &S3Location) -> JobParams {
    let mut of = job_params(observed, name, arguments);
    of.volumes.extend(bucket::volumes(S3(s3)).into_iter().zip(bucket::mounts(S3(s3))));
    JobParams { deadline_seconds: DEADLINE_SECONDS, retries: 0, ..of }
}

fn create(observed: &Observed, of: JobParams) -> Create {
    job(of, &PodContext { engine: &observed.agent_image, ..pod_context(observed) })
}
