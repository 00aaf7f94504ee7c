//! Pure: Status.

use agent_protocol::PgPrepareResult;
use api::Contract;
use api::sample_db::{
    ADOPT, EndpointsStatus, EngineStatus, InitializationStatus, Phase, SampleDBStatus, StorageStatus,
};
use jiff::{Timestamp, Unit};
use runtime::projections::JobEnd;

use super::backup::{self, Backups};
use super::observed::{InitSources, Observed};
use super::pinned::{self, Pinned, Refusal};
use super::{record, restore, storage, upgrade};
use crate::operand::database_state::rests;
use crate::operand::job_result::Words;
use crate::operand::names;
use conditions::Serving;
use judged::Judged;

mod conditions;
pub(crate) mod judged;

/// The status of a database whose wish cannot be had.
pub(super) fn refused(
    observed: &Observed,
    (reason, message): Refusal,
    backups: &Backups,
    now: Timestamp,
) -> SampleDBStatus {
    let before = &observed.db.status;
    let conditions = conditions::refused(observed, backups, reason, message, now);
    if before.initialization.completed_at.is_none() {
        let contract = Contract { conditions, ..before.contract.clone() };
        return SampleDBStatus { phase: Some(Phase::Failed), contract, ..before.clone() };
    }
    let serving = Serving::of(observed, &before.initialization);
    SampleDBStatus {
        phase: Some(Phase::Running),
        ready: Some(format!("{}/1", usize::from(serving.open))),
        ready_replicas: Some(i32::from(serving.pod_ready)),
        backup: backup::status(observed, backups),
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

/// What holds once the step has been taken.
pub(super) fn of(observed: &Observed, judged: &Judged<'_>, now: Timestamp) -> SampleDBStatus {
    let (db, before, pinned) = (&*observed.db, &observed.db.status, judged.pinned);
    let prepared = prepared(observed);
    let lasting = prepared.as_ref().filter(|_| is_lasting(observed, pinned));
    let initialization = initialization(observed, lasting, now);
    let serving = Serving::of(observed, &initialization);
    let running = observed.asked.answer().map(|answer| answer.version.clone());
    let running = running.or_else(|| prepared.as_ref().and_then(|words| words.version.clone()));
    let identifier = lasting.and_then(|words| words.system_identifier.clone());
    let transition = judged.transition;
    let made = initialization.data_created_at.is_some();
    let engine =
        transition.and_then(|transition| transition.engine.clone()).unwrap_or_else(|| pinned.engine(&before.engine));
    let engine = EngineStatus { target: upgrade::told_target(observed, pinned, transition, &engine), ..engine };
    let after = SampleDBStatus {
        phase: Some(conditions::phase(observed, judged.step, &serving)),
        ready: Some(format!("{}/1", usize::from(serving.open))),
        replicas: Some(i32::from(observed.pod().is_some())),
        ready_replicas: Some(i32::from(serving.pod_ready)),
        primary: observed.pod().map(|pod| pod.meta.key.name.to_string()),
        server: transition
            .and_then(|transition| transition.server.clone())
            .or_else(|| Some(names::server(db).to_owned())),
        system_identifier: transition
            .and_then(|transition| transition.system_identifier.clone())
            .or_else(|| before.system_identifier.clone())
            .or(identifier),
        engine: EngineStatus { running: running.or_else(|| before.engine.running.clone()), ..engine },
        storage: transition
            .and_then(|transition| transition.storage.clone())
            .unwrap_or_else(|| pinned.storage(observed, &before.storage, made)),
        volumes: storage::volumes(observed, pinned),
        initialization,
        restore: restore::status(observed, pinned, judged.source, now),
        backup: backup::status(observed, judged.backups),
        upgrade: transition.map_or_else(|| before.upgrade.clone(), |transition| transition.upgrade.clone()),
        endpoints: endpoints(observed),
        credentials_secret: Some(names::app_secret(db)),
        connection_config_map: Some(names::connection(db)),
        contract: Contract { conditions: conditions::all(observed, judged, &serving, now), ..before.contract.clone() },
        ..before.clone()
    };
    record::revised(before, after)
}

fn endpoints(observed: &Observed) -> EndpointsStatus {
    let db = &*observed.db;
    EndpointsStatus {
        read_write: Some(format!("{}:{}", names::host(db), db.spec.service.port())),
        external: observed.external.clone(),
    }
}

/// What the init step of the server's pod has told of the data, if it is done.
fn prepared(observed: &Observed) -> Option<PgPrepareResult> {
    let running = observed.pod()?.running.as_ref()?;
    Words::of_container(running.container("prepare")?).filter(|words| words.code == 0).map(|words| words.result())
}

/// Whether the data that have been made are there to stay, which is what status latches: our finalizer keeps their claim from the
/// next step on, and only then clients are let in. While the database is paused nothing keeps it, and nothing can keep one that is
/// being deleted: without it the database begins anew, and nobody misses anything. What was taken over was somebody's before.
fn is_lasting(observed: &Observed, pinned: &Pinned) -> bool {
    let (db, status) = (&*observed.db, &observed.db.status);
    let taken_over = db.annotations.contains_key(ADOPT) || !status.storage.adopted_from.is_empty();
    let kept = || observed.claim(&pinned.claim).is_some_and(|claim| !claim.meta.deleting);
    status.initialization.data_created_at.is_some() || taken_over || !rests(db) && kept()
}

/// The status of a database that is being deleted and was paused with data of which it does not tell: a superuser may have used
/// them meanwhile.
pub(super) fn with_data(observed: &Observed, now: Timestamp) -> Option<SampleDBStatus> {
    let before = &observed.db.status;
    let known = before.initialization.data_created_at.is_some() || !record::is_latched(before);
    let prepared = prepared(observed).filter(|_| observed.db.spec.paused && !known)?;
    let claim = before.storage.claim.as_deref().and_then(|name| observed.claim(name));
    let after = SampleDBStatus {
        system_identifier: before.system_identifier.clone().or(prepared.system_identifier),
        initialization: InitializationStatus {
            data_created_at: now.round(Unit::Second).ok(),
            ..before.initialization.clone()
        },
        storage: StorageStatus {
            adopted_from: pinned::adopted_from(observed, &before.storage, claim),
            ..before.storage.clone()
        },
        ..before.clone()
    };
    Some(record::revised(before, after))
}

fn initialization(observed: &Observed, prepared: Option<&PgPrepareResult>, now: Timestamp) -> InitializationStatus {
    let before = &observed.db.status.initialization;
    let now = now.round(Unit::Second).ok();
    let name = names::init_job(&observed.db);
    let job = observed.job(&name);
    let end = job.and_then(|job| job.end.as_ref());
    let digest = match &observed.init_sources {
        InitSources::Digest(digest) if !digest.is_empty() => Some(digest.clone()),
        _ => None,
    };
    let complete = end == Some(&JobEnd::Complete);
    let failed = matches!(end, Some(JobEnd::Failed { .. }));
    InitializationStatus {
        data_created_at: before.data_created_at.or_else(|| prepared.and(now)),
        completed_at: before.completed_at.or_else(|| now.filter(|_| complete)),
        job: (before.completed_at.is_none() && end.is_none() && job.is_some()).then(|| name.clone()),
        // Of what is about to run, for the time when it has; what is there by then may be something else.
        sql_digest: match job {
            None if before.completed_at.is_none() => digest,
            _ => before.sql_digest.clone(),
        },
        // What failed is what was there when the Job was made.
        failed_digest: match (failed, &before.failed_digest) {
            (true, Some(failed)) => Some(failed.clone()),
            (true, None) => before.sql_digest.clone(),
            (false, _) => None,
        },
    }
}
