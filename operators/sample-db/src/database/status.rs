//! Pure: the status.

use agent_protocol::PgPrepareResult;
use api::Contract;
use api::sample_db::{
    ADOPT, DatabaseStorageStatus, EndpointsStatus, EngineStatus, InitializationStatus, SampleDBPhase, SampleDBStatus,
};
use jiff::{Timestamp, Unit};
use runtime::projections::JobEnd;

use super::backup::{self, Backups};
use super::observed::{InitSources, Observed};
use super::pinned::{self, Pinned, SpecRefusal};
use super::{record, restore, storage, upgrade};
use crate::operand::database_state::is_paused;
use crate::operand::names;
use conditions::Serving;
use inputs::StatusInputs;
use runtime::job::outcome::AgentOutcome;

mod conditions;
pub(crate) mod inputs;

/// The status of a database whose spec cannot be satisfied.
pub(super) fn refused(
    observed: &Observed,
    (reason, message): SpecRefusal,
    backups: &Backups,
    now: Timestamp,
) -> SampleDBStatus {
    let before = &observed.db.status;
    let imports = conditions::is_import(reason);
    let conditions = conditions::refused(observed, backups, reason, message, now);
    if before.initialization.completed_at.is_none() {
        let contract = Contract { conditions, ..before.contract.clone() };
        let phase = if imports { SampleDBPhase::Restoring } else { SampleDBPhase::Failed };
        return SampleDBStatus { phase: Some(phase), contract, ..before.clone() };
    }
    let serving = Serving::of(observed, &before.initialization);
    SampleDBStatus {
        phase: Some(SampleDBPhase::Running),
        ready: Some(format!("{}/1", usize::from(serving.open))),
        ready_replicas: Some(i32::from(serving.pod_ready)),
        backup: backup::status(observed, backups),
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

/// The status after the step.
pub(super) fn of(observed: &Observed, inputs: &StatusInputs<'_>, now: Timestamp) -> SampleDBStatus {
    let (db, before, pinned) = (&*observed.db, &observed.db.status, inputs.pinned);
    let prepared = prepared(observed);
    let lasting = prepared.as_ref().filter(|_| is_lasting(observed, pinned));
    let initialization = initialization(observed, lasting, now);
    let serving = Serving::of(observed, &initialization);
    let running = observed.probe.info().map(|answer| answer.version.clone());
    let running = running.or_else(|| prepared.as_ref().and_then(|result| result.version.clone()));
    let identifier = lasting.and_then(|result| result.system_identifier.clone());
    let transition = inputs.transition;
    let has_data = initialization.data_created_at.is_some();
    let engine =
        transition.and_then(|transition| transition.engine.clone()).unwrap_or_else(|| pinned.engine(&before.engine));
    let engine = EngineStatus { target: upgrade::reported_target(observed, pinned, transition, &engine), ..engine };
    let after = SampleDBStatus {
        phase: Some(conditions::phase(observed, inputs.step, &serving)),
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
            .unwrap_or_else(|| pinned.storage(observed, &before.storage, has_data)),
        volumes: storage::volumes(observed, pinned),
        initialization,
        restore: restore::status(observed, pinned, inputs.source, now),
        backup: backup::status(observed, inputs.backups),
        upgrade: transition.map_or_else(|| before.upgrade.clone(), |transition| transition.upgrade.clone()),
        endpoints: endpoints(observed),
        credentials_secret: Some(names::app_secret(db)),
        connection_config_map: Some(names::connection_config_map(db)),
        contract: Contract { conditions: conditions::all(observed, inputs, &serving, now), ..before.contract.clone() },
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

/// What the init container of the server's pod reported about the data, if it has completed.
fn prepared(observed: &Observed) -> Option<PgPrepareResult> {
    let running = observed.pod()?.details.as_ref()?;
    AgentOutcome::of_container(running.container("prepare")?)
        .filter(|outcome| outcome.code == 0)
        .map(|outcome| outcome.result())
}

/// Whether the created data is there to stay, which status latches: from the next step on the finalizer keeps its PVC, and only
/// then clients are allowed. While the database is paused nothing keeps the PVC, and nothing can keep one that is terminating:
/// without it the database is created again, and no data is missed. Adopted data was in use before.
fn is_lasting(observed: &Observed, pinned: &Pinned) -> bool {
    let (db, status) = (&*observed.db, &observed.db.status);
    let taken_over = db.annotations.contains_key(ADOPT) || !status.storage.adopted_from.is_empty();
    let kept = || observed.claim(&pinned.claim).is_some_and(|claim| !claim.meta.deleting);
    status.initialization.data_created_at.is_some() || taken_over || !is_paused(db) && kept()
}

/// The status of a database that is being deleted and was paused with data that status does not mention: a superuser may have
/// used it meanwhile.
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
        storage: DatabaseStorageStatus {
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
        // Of what is about to run, for when it has run: the sources may change meanwhile.
        sql_digest: match job {
            None if before.completed_at.is_none() => digest,
            _ => before.sql_digest.clone(),
        },
        // What failed is what was there when the Job was created.
        failed_digest: match (failed, &before.failed_digest) {
            (true, Some(failed)) => Some(failed.clone()),
            (true, None) => before.sql_digest.clone(),
            (false, _) => None,
        },
    }
}
