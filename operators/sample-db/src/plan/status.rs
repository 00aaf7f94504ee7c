//! Status. Pure.

use api::sample_db::{
    EndpointsStatus, EngineStatus, InitializationStatus, Phase, SampleDBStatus, condition_type as domain,
};
use api::{Condition, ConditionStatus, Contract};
use jiff::{Timestamp, Unit};
use runtime::plan::conditions::{Summary, condition};
use runtime::views::JobEnd;

use super::backup::{self, Backups};
use super::steps::Step;
use super::wish::{Refusal, Wish};
use super::{Observed, Words, names, restore};
use crate::Snapshot;

/// The status of a database whose wish cannot be had.
pub(super) fn refused(observed: &Observed, (reason, message): Refusal, now: Timestamp) -> SampleDBStatus {
    let before = &observed.db.status;
    let conditions = Summary::Stalled.conditions(reason, message, now);
    SampleDBStatus {
        phase: Some(if before.initialization.completed_at.is_some() { Phase::Running } else { Phase::Failed }),
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

/// What holds once `step` has been taken.
pub(super) fn of(
    observed: &Observed,
    wish: &Wish,
    source: Option<&Snapshot>,
    step: &Step,
    backups: &Backups,
    now: Timestamp,
) -> SampleDBStatus {
    let db = &*observed.db;
    let before = &db.status;
    let prepared = prepared(observed);
    let initialization = initialization(observed, prepared.as_ref(), now);
    let ready = observed.pod().and_then(|pod| pod.running.as_ref()).is_some_and(|running| running.ready);
    let done = initialization.completed_at.is_some();
    let (summary, reason, message) = judge(step, ready, done);
    let mut conditions = summary.conditions(reason, message.clone(), now);
    conditions.extend(domain(&initialization, &summary, reason, &message, now));
    conditions.extend(backup::conditions(observed, backups, now));
    let running = prepared.as_ref().and_then(|words| words.said.version.clone());
    SampleDBStatus {
        phase: Some(match step {
            Step::Wait("Restoring", _) | Step::Take(_, "Restoring", _) => Phase::Restoring,
            _ => phase(&summary, before.initialization.data_created_at.is_some(), done, ready),
        }),
        ready: Some(format!("{}/1", usize::from(ready && done))),
        replicas: Some(i32::from(observed.pod().is_some())),
        ready_replicas: Some(i32::from(ready)),
        primary: observed.pod().map(|pod| pod.meta.key.name.to_string()),
        system_identifier: before
            .system_identifier
            .clone()
            .or_else(|| prepared.as_ref().and_then(|words| words.said.system_identifier.clone())),
        engine: EngineStatus {
            running: running.or_else(|| before.engine.running.clone()),
            ..wish.engine(&before.engine)
        },
        storage: wish.storage(observed, &before.storage),
        initialization,
        restore: restore::status(observed, source, now),
        backup: backup::status(observed, backups),
        endpoints: EndpointsStatus {
            read_write: Some(format!("{}:{}", names::host(db), db.spec.service.port())),
            ..before.endpoints.clone()
        },
        credentials_secret: Some(names::app_secret(db)),
        connection_config_map: Some(names::connection(db)),
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

/// What the init step of the server's pod has told of the data, if it is done.
fn prepared(observed: &Observed) -> Option<Words> {
    let running = observed.pod()?.running.as_ref()?;
    let step = running.containers.iter().find(|container| &*container.name == "prepare")?;
    Words::of_container(step).filter(|words| words.code == 0)
}

fn initialization(observed: &Observed, prepared: Option<&Words>, now: Timestamp) -> InitializationStatus {
    let before = &observed.db.status.initialization;
    let now = now.round(Unit::Second).ok();
    let complete = observed.job(&names::init_job(&observed.db)).is_some_and(|job| job.end == Some(JobEnd::Complete));
    InitializationStatus {
        data_created_at: before.data_created_at.or_else(|| prepared.and(now)),
        completed_at: before.completed_at.or_else(|| now.filter(|_| complete)),
        ..before.clone()
    }
}

fn judge(step: &Step, ready: bool, done: bool) -> (Summary, &'static str, String) {
    match step {
        Step::Rest if ready && done => (Summary::Ready, "Running", "the database serves".to_owned()),
        Step::Rest => (Summary::Reconciling, "Initializing", "configuring the new database".to_owned()),
        Step::Wait(reason, message) | Step::Take(_, reason, message) => (Summary::Reconciling, reason, message.clone()),
        Step::Stuck(reason, message) => (Summary::Stalled, reason, message.clone()),
    }
}

fn phase(summary: &Summary, made: bool, done: bool, ready: bool) -> Phase {
    match summary {
        _ if done && ready => Phase::Running,
        Summary::Stalled => Phase::Failed,
        _ if done => Phase::Running,
        _ if made => Phase::Initializing,
        _ => Phase::Provisioning,
    }
}

fn domain(
    initialization: &InitializationStatus,
    summary: &Summary,
    reason: &'static str,
    message: &str,
    now: Timestamp,
) -> Vec<Condition> {
    let initialized = match initialization.completed_at {
        Some(_) => {
            condition(domain::INITIALIZED, ConditionStatus::True, "Completed", "the database was configured", now)
        }
        None => condition(
            domain::INITIALIZED,
            ConditionStatus::False,
            "Initializing",
            "the database is yet to be configured",
            now,
        ),
    };
    let spec = match summary {
        Summary::Stalled if matches!(reason, "VersionUnknown" | "SecretMalformed") => {
            condition(domain::SPEC_VALID, ConditionStatus::False, reason, message, now)
        }
        _ => condition(domain::SPEC_VALID, ConditionStatus::True, "Valid", "what is asked for can be had", now),
    };
    vec![initialized, spec]
}
