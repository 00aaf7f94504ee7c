//! Pure: conditions, and the phase.

use api::sample_db::{InitializationStatus, SampleDBPhase, SampleDBReason, UpgradeStep, condition_type as domain};
use api::{Condition, ConditionStatus, Reason, condition_type};
use jiff::Timestamp;
use runtime::status::conditions::{Summary, condition};

use super::inputs::StatusInputs;
use crate::database::backup::{self, Backups};
use crate::database::login::LoginCheck;
use crate::database::observed::Observed;
use crate::database::pinned::SpecRefusal;
use crate::database::step::NextStep;
use crate::database::{recovered, steps, storage, unlabeled, upgrade};
use crate::operand::labels::OWNER_UID;
use crate::operand::{database_state, names};
use runtime::message;

/// Whether the database serves.
pub(super) struct Serving {
    /// Whether the pod is ready.
    pub(super) pod_ready: bool,
    /// Whether it has been configured.
    pub(super) configured: bool,
    /// Whether clients can connect as far as the operator controls it, so it can be backed up.
    pub(super) open: bool,
    /// Whether applications can connect.
    pub(super) now: bool,
    /// Why they cannot, if the user has to change that.
    pub(super) login_refusal: Option<String>,
}

impl Serving {
    pub(super) fn of(observed: &Observed, initialization: &InitializationStatus) -> Self {
        let pod_ready = observed.is_ready();
        let configured = initialization.completed_at.is_some();
        let login = observed.probe.info().map(|answer| &answer.login);
        // Without an answer, it is as the upgrade left it.
        let blocked = match login {
            Some(LoginCheck::Blocked) => true,
            Some(_) => false,
            None => database_state::blocks_clients(&observed.db),
        };
        let login_refusal = steps::login_refusal(observed);
        let open = pod_ready && configured && !blocked && !steps::is_foreign(observed);
        Self { pod_ready, configured, open, now: open && login_refusal.is_none(), login_refusal }
    }

    /// The message, and that applications cannot connect, if they cannot.
    fn with_login_refusal(&self, reason: &Reason, message: String) -> String {
        match &self.login_refusal {
            Some(why) if *reason != SampleDBReason::ApplicationRefused => format!("{message}; {why}"),
            _ => message,
        }
    }
}

pub(super) fn phase(observed: &Observed, step: &NextStep, serving: &Serving) -> SampleDBPhase {
    let status = &observed.db.status;
    match (status.upgrade.step, step) {
        (Some(UpgradeStep::RollBack), _) => SampleDBPhase::RollingBack,
        (Some(_), _) => SampleDBPhase::Upgrading,
        (None, step) if step.works_on(SampleDBReason::Restoring) => SampleDBPhase::Restoring,
        (None, _) if serving.configured && serving.pod_ready => SampleDBPhase::Running,
        (None, NextStep::Blocked(..)) => SampleDBPhase::Failed,
        (None, _) if serving.configured => SampleDBPhase::Running,
        (None, _) if status.initialization.data_created_at.is_some() => SampleDBPhase::Initializing,
        (None, _) => SampleDBPhase::Provisioning,
    }
}

/// All conditions.
pub(super) fn all(observed: &Observed, inputs: &StatusInputs<'_>, serving: &Serving, now: Timestamp) -> Vec<Condition> {
    let mut conditions = summary(observed, inputs, serving, now);
    conditions.push(initialized(observed, serving, now));
    conditions.push(valid(inputs.step, now));
    if serving.configured {
        conditions.push(upgrade::up_to_date(observed, inputs.pinned, now));
    }
    conditions.push(storage::condition_of(observed, inputs.pinned, now));
    conditions.extend(backup::health::conditions(observed, inputs.backups, now));
    truncate(conditions)
}

/// A message may quote what a program wrote.
fn truncate(conditions: Vec<Condition>) -> Vec<Condition> {
    let short = |reported: Condition| Condition { message: message::shorten(reported.message), ..reported };
    conditions.into_iter().map(short).collect()
}

/// Ready says whether the database serves; another condition says what is being done, or what blocks the spec.
fn summary(observed: &Observed, inputs: &StatusInputs<'_>, serving: &Serving, now: Timestamp) -> Vec<Condition> {
    use ConditionStatus::True;
    let serves = |message: &str| condition(condition_type::READY, True, SampleDBReason::Running, message, now);
    let works = |reason: SampleDBReason, message: String| (Summary::Reconciling, Reason::from(reason), message);
    let (shape, reason, message) = match inputs.step {
        NextStep::Idle if observed.db.spec.paused => {
            return match serving.now {
                true => vec![serves(
                    "the database serves; spec.paused is true, so nothing is changed, backed up or upgraded",
                )],
                false => {
                    let reason = Reason::from(SampleDBReason::Paused);
                    let message = serving.with_login_refusal(&reason, "paused: set spec.paused to false".to_owned());
                    Summary::Stalled.conditions(reason, message, now)
                }
            };
        }
        NextStep::Idle if serving.now => match stalled(observed, inputs, now) {
            Some(stalled) => return vec![serves(&format!("the database serves; {}", stalled.message)), stalled],
            None => return Summary::Ready.conditions(SampleDBReason::Running, "the database serves", now),
        },
        NextStep::Idle if observed.db.status.upgrade.step.is_some() => {
            let to = observed.db.status.upgrade.to.as_deref().unwrap_or_default();
            works(SampleDBReason::Upgrading, format!("an upgrade to PostgreSQL {to} is under way"))
        }
        NextStep::Idle if serving.configured => {
            works(SampleDBReason::LettingIn, "waiting until applications can connect".to_owned())
        }
        NextStep::Idle => works(SampleDBReason::Initializing, "configuring the new database".to_owned()),
        NextStep::Wait(reason, message) => (Summary::Reconciling, reason.clone(), message.clone()),
        NextStep::Do(_, reason, message) => works(*reason, message.clone()),
        NextStep::Blocked(reason, message) => (Summary::Stalled, reason.clone(), message.clone()),
    };
    if serving.now {
        let type_ = match shape {
            Summary::Stalled => condition_type::STALLED,
            _ => condition_type::RECONCILING,
        };
        let ready = serves(&format!("the database serves; {message}"));
        return vec![ready, condition(type_, True, reason, message, now)];
    }
    let message = serving.with_login_refusal(&reason, message);
    shape.conditions(reason, message, now)
}

/// The spec cannot be satisfied at all. A database that serves keeps serving, the state of its backups is reported, and other
/// conditions stay.
pub(super) fn refused(
    observed: &Observed,
    backups: &Backups,
    reason: SampleDBReason,
    message: String,
    now: Timestamp,
) -> Vec<Condition> {
    use ConditionStatus::{False, True};
    let before = &observed.db.status;
    let replaced = [condition_type::READY, condition_type::RECONCILING, condition_type::STALLED, domain::SPEC_VALID];
    let configured = before.initialization.completed_at.is_some();
    let saved = if configured { backup::health::conditions(observed, backups, now) } else { Vec::new() };
    let is_new = |type_: &str| replaced.contains(&type_) || saved.iter().any(|reported| reported.type_ == type_);
    let reported = before.contract.conditions.iter().filter(|reported| !is_new(&reported.type_));
    let mut conditions: Vec<Condition> = reported.cloned().collect();
    conditions.extend(saved);
    if is_import(reason) {
        conditions.push(condition(domain::SPEC_VALID, True, SampleDBReason::Valid, "the spec is valid", now));
        conditions.extend(Summary::Reconciling.conditions(reason, message, now));
        return truncate(conditions);
    }
    conditions.push(condition(domain::SPEC_VALID, False, reason, message.clone(), now));
    let serving = Serving::of(observed, &before.initialization);
    if serving.now {
        let serves = format!("the database serves; {message}");
        conditions.push(condition(condition_type::READY, True, SampleDBReason::Running, serves, now));
        conditions.push(condition(condition_type::STALLED, True, reason, message, now));
    } else {
        conditions.extend(Summary::Stalled.conditions(
            reason,
            serving.with_login_refusal(&reason.into(), message),
            now,
        ));
    }
    truncate(conditions)
}

/// Whether a new database only waits until its snapshot is imported.
pub(super) fn is_import(reason: SampleDBReason) -> bool {
    reason == SampleDBReason::Restoring
}

/// The user has to act: the spec requests a release that cannot be had or whose upgrade failed, the annotation names a volume
/// that is not adopted, or a foreign pod receives clients.
fn stalled(observed: &Observed, inputs: &StatusInputs<'_>, now: Timestamp) -> Option<Condition> {
    let refusal = upgrade::refusal(observed, inputs.pinned).or_else(|| recovered::adoption_ignored(observed));
    let (reason, why) = refusal.or_else(|| foreign_pod(observed))?;
    Some(condition(condition_type::STALLED, ConditionStatus::True, reason, why, now))
}

fn foreign_pod(observed: &Observed) -> Option<SpecRefusal> {
    let (pod, service) = (&unlabeled::foreign_pod(observed)?.meta.key.name, names::read_write_service(&observed.db));
    let message = format!(
        "Pod {pod} bears all labels by which the Service {service} finds the server, so clients may reach it instead: remove \
         its label {OWNER_UID}, or delete it; it is left untouched"
    );
    Some((SampleDBReason::ForeignPod, message))
}

fn initialized(observed: &Observed, serving: &Serving, now: Timestamp) -> Condition {
    let (holds, reason, message) = match serving.configured {
        true => (ConditionStatus::True, SampleDBReason::Completed, "the database was configured"),
        false if observed.db.spec.bootstrap.from_snapshot.is_some() => {
            (ConditionStatus::False, SampleDBReason::Restoring, "the database has yet to be restored and configured")
        }
        false => (ConditionStatus::False, SampleDBReason::Initializing, "the database has yet to be configured"),
    };
    condition(domain::INITIALIZED, holds, reason, message, now)
}

fn valid(step: &NextStep, now: Timestamp) -> Condition {
    const OF_SPEC: [SampleDBReason; 5] = [
        SampleDBReason::SecretMalformed,
        SampleDBReason::SecretMissing,
        SampleDBReason::InitSourceMissing,
        SampleDBReason::InitFailed,
        SampleDBReason::ParameterRefused,
    ];
    match step {
        NextStep::Blocked(reason, message) if reason.is_one_of(&OF_SPEC) => {
            condition(domain::SPEC_VALID, ConditionStatus::False, reason.clone(), message.clone(), now)
        }
        _ => condition(domain::SPEC_VALID, ConditionStatus::True, SampleDBReason::Valid, "the spec is valid", now),
    }
}
