//! Pure: conditions, and the phase in one word.

use api::sample_db::{InitializationStatus, Phase, SampleDBReason, UpgradeStep, condition_type as domain};
use api::{Condition, ConditionStatus, Reason, condition_type};
use jiff::Timestamp;
use runtime::status::conditions::{Summary, condition};

use super::judged::Judged;
use crate::database::backup::{self, Backups};
use crate::database::login::Login;
use crate::database::observed::Observed;
use crate::database::pinned::Refusal;
use crate::database::step::NextStep;
use crate::database::{recovered, steps, storage, unlabeled, upgrade};
use crate::operand::labels::OWNER_UID;
use crate::operand::{database_state, message, names};

/// Whether the database serves.
pub(super) struct Serving {
    /// The pod's own word.
    pub(super) pod_ready: bool,
    /// It has been configured.
    pub(super) configured: bool,
    /// It is open to applications, as far as the operator has to do with it: it can be backed up.
    pub(super) open: bool,
    /// Applications get in.
    pub(super) now: bool,
    /// Why they do not, if that is for a person to change.
    pub(super) locked_out: Option<String>,
}

impl Serving {
    pub(super) fn of(observed: &Observed, initialization: &InitializationStatus) -> Self {
        let pod_ready = observed.is_ready();
        let configured = initialization.completed_at.is_some();
        let login = observed.asked.answer().map(|answer| &answer.login);
        // What was not asked is as the upgrade has left it.
        let shut_out = match login {
            Some(Login::ShutOut) => true,
            Some(_) => false,
            None => database_state::shuts_out(&observed.db),
        };
        let locked_out = steps::locked_out(observed);
        let open = pod_ready && configured && !shut_out && !steps::is_foreign(observed);
        Self { pod_ready, configured, open, now: open && locked_out.is_none(), locked_out }
    }

    /// What else keeps a database from what is asked for, and that applications do not get in, if they do not.
    fn told(&self, reason: &Reason, message: String) -> String {
        match &self.locked_out {
            Some(why) if *reason != SampleDBReason::ApplicationRefused => format!("{message}; {why}"),
            _ => message,
        }
    }
}

pub(super) fn phase(observed: &Observed, step: &NextStep, serving: &Serving) -> Phase {
    let status = &observed.db.status;
    match (status.upgrade.step, step) {
        (Some(UpgradeStep::RollBack), _) => Phase::RollingBack,
        (Some(_), _) => Phase::Upgrading,
        (None, step) if step.works_on(SampleDBReason::Restoring) => Phase::Restoring,
        (None, _) if serving.configured && serving.pod_ready => Phase::Running,
        (None, NextStep::Blocked(..)) => Phase::Failed,
        (None, _) if serving.configured => Phase::Running,
        (None, _) if status.initialization.data_created_at.is_some() => Phase::Initializing,
        (None, _) => Phase::Provisioning,
    }
}

/// All conditions.
pub(super) fn all(observed: &Observed, judged: &Judged<'_>, serving: &Serving, now: Timestamp) -> Vec<Condition> {
    let mut conditions = summary(observed, judged, serving, now);
    conditions.push(initialized(observed, serving, now));
    conditions.push(valid(judged.step, now));
    if serving.configured {
        conditions.push(upgrade::up_to_date(observed, judged.pinned, now));
    }
    conditions.push(storage::condition_of(observed, judged.pinned, now));
    conditions.extend(backup::health::conditions(observed, judged.backups, now));
    cut(conditions)
}

/// What is told may be what a program wrote.
fn cut(conditions: Vec<Condition>) -> Vec<Condition> {
    let short = |told: Condition| Condition { message: message::message(told.message), ..told };
    conditions.into_iter().map(short).collect()
}

/// Ready says whether the database serves; beside it, what is being done to it, or keeps it from what is asked for.
fn summary(observed: &Observed, judged: &Judged<'_>, serving: &Serving, now: Timestamp) -> Vec<Condition> {
    use ConditionStatus::True;
    let serves = |message: &str| condition(condition_type::READY, True, SampleDBReason::Running, message, now);
    let works = |reason: SampleDBReason, message: String| (Summary::Reconciling, Reason::from(reason), message);
    let (shape, reason, message) = match judged.step {
        NextStep::Idle if observed.db.spec.paused => {
            return match serving.now {
                true => vec![serves("the database serves; it is paused, so nothing is changed, backed up or upgraded")],
                false => {
                    let reason = Reason::from(SampleDBReason::Paused);
                    let message = serving.told(&reason, "it is paused: set spec.paused to false".to_owned());
                    Summary::Stalled.conditions(reason, message, now)
                }
            };
        }
        NextStep::Idle if serving.now => match stalled(observed, judged, now) {
            Some(stalled) => return vec![serves(&format!("the database serves; {}", stalled.message)), stalled],
            None => return Summary::Ready.conditions(SampleDBReason::Running, "the database serves", now),
        },
        NextStep::Idle if observed.db.status.upgrade.step.is_some() => {
            let to = observed.db.status.upgrade.to.as_deref().unwrap_or_default();
            works(SampleDBReason::Upgrading, format!("an upgrade to PostgreSQL {to} is under way"))
        }
        NextStep::Idle if serving.configured => {
            works(SampleDBReason::LettingIn, "waiting until applications get in".to_owned())
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
    let message = serving.told(&reason, message);
    shape.conditions(reason, message, now)
}

/// What the spec asks for cannot be had at all. One that serves goes on, how its backups fare is told, and the rest is as it
/// was told last.
pub(super) fn refused(
    observed: &Observed,
    backups: &Backups,
    reason: SampleDBReason,
    message: String,
    now: Timestamp,
) -> Vec<Condition> {
    use ConditionStatus::{False, True};
    let before = &observed.db.status;
    let ours = [condition_type::READY, condition_type::RECONCILING, condition_type::STALLED, domain::SPEC_VALID];
    let configured = before.initialization.completed_at.is_some();
    let saved = if configured { backup::health::conditions(observed, backups, now) } else { Vec::new() };
    let is_new = |type_: &str| ours.contains(&type_) || saved.iter().any(|told| told.type_ == type_);
    let told = before.contract.conditions.iter().filter(|told| !is_new(&told.type_));
    let mut conditions: Vec<Condition> = told.cloned().collect();
    conditions.extend(saved);
    conditions.push(condition(domain::SPEC_VALID, False, reason, message.clone(), now));
    let serving = Serving::of(observed, &before.initialization);
    if serving.now {
        let serves = format!("the database serves; {message}");
        conditions.push(condition(condition_type::READY, True, SampleDBReason::Running, serves, now));
        conditions.push(condition(condition_type::STALLED, True, reason, message, now));
    } else {
        conditions.extend(Summary::Stalled.conditions(reason, serving.told(&reason.into(), message), now));
    }
    cut(conditions)
}

/// The spec asks for a release that cannot be had, or has failed to be got to, or a volume is named that is not taken over, or a pod
/// of others is in the way of clients: a person is needed.
fn stalled(observed: &Observed, judged: &Judged<'_>, now: Timestamp) -> Option<Condition> {
    let refusal = upgrade::refusal(observed, judged.pinned).or_else(|| recovered::beside_data(observed));
    let (reason, why) = refusal.or_else(|| foreign_pod(observed))?;
    Some(condition(condition_type::STALLED, ConditionStatus::True, reason, why, now))
}

fn foreign_pod(observed: &Observed) -> Option<Refusal> {
    let (pod, service) = (&unlabeled::foreign(observed)?.meta.key.name, names::read_write(&observed.db));
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
            (ConditionStatus::False, SampleDBReason::Restoring, "the database is yet to be filled and configured")
        }
        false => (ConditionStatus::False, SampleDBReason::Initializing, "the database is yet to be configured"),
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
        _ => condition(
            domain::SPEC_VALID,
            ConditionStatus::True,
            SampleDBReason::Valid,
            "what is asked for can be had",
            now,
        ),
    }
}
