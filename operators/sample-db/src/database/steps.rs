//! Pure: the next step toward a database that serves.

use api::ReconcileReason;
use api::sample_db::{SampleDBReason, UNSAVED_DATA};
use runtime::plan::{Apply, DryRun, Effect};

use super::effects::DbAct;
use super::login::{self, LoginCheck};
use super::objects::{self, SecretRole};
use super::observed::{Observed, PlacementCheck, SecretState};
use super::pinned::Pinned;
use super::server_info::{ServerProbe, SettingsAttempt};
use super::step::{NextStep, stops};
use super::{placement, server_state, tuning, unlabeled};
use crate::operand::kinds::Snapshot;
use crate::operand::{names, retention};

mod bootstrap;
pub(crate) mod restart;
mod server;
mod silence;
mod volume;

pub(super) use server::{TargetServerState, server, target_server_state};
pub(super) use silence::ready as silent_server;

/// What all else depends on: Secrets, the volume, and the server with its Services.
#[must_use]
pub fn preconditions(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Option<NextStep> {
    volume::leftover(observed, pinned)
        .or_else(|| secrets(observed, pinned))
        .or_else(|| volume::volume(observed, pinned))
        .or_else(|| children(observed, pinned, source))
        .or_else(|| placement::stop_obsolete_trial(observed))
}

/// The next step, once the preconditions are met.
#[must_use]
pub fn next(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> NextStep {
    server_as_desired(observed, pinned)
        .or_else(|| await_finalizer(observed, pinned))
        .or_else(|| source.and_then(|source| bootstrap::restore_snapshot(observed, pinned, source)))
        .or_else(|| bootstrap::init(observed, pinned))
        .or_else(|| act_on_probe(observed))
        .unwrap_or(NextStep::Idle)
}

/// The server as desired; changes to the running server come first.
pub(super) fn server_as_desired(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let server = server(observed, pinned);
    let meanwhile = server.as_ref().and_then(|step| change_meanwhile(observed, step));
    meanwhile.or(server)
}

/// Changes to a ready server do not wait for a pod that cannot be had.
fn change_meanwhile(observed: &Observed, server: &NextStep) -> Option<NextStep> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    if !configured || !observed.is_ready() || matches!(server, NextStep::Do(..) | NextStep::Idle) {
        return None;
    }
    live_changes(observed)
}

/// Changes to a running server: passwords, and parameters that need no restart.
pub(super) fn live_changes(observed: &Observed) -> Option<NextStep> {
    act_on_probe(observed).filter(|step| matches!(step, NextStep::Do(effects, ..) if !effects.iter().any(stops)))
}

/// What clients write would be lost with a PVC that nothing protects yet. So the database is restored and configured, which
/// allows clients, once the finalizer protects the PVC. It is added when status says that the data exists.
fn await_finalizer(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    let claim = observed.claim(&pinned.claim).filter(|claim| !configured && !claim.meta.deleting)?;
    let name = &claim.meta.key.name;
    let message = || format!("waiting for the finalizer {UNSAVED_DATA} on the PVC {name} of the data");
    (!claim.meta.has_finalizer(UNSAVED_DATA)).then(|| NextStep::wait(SampleDBReason::Provisioning, message()))
}

/// The Secrets come first: the data is created with the superuser's password.
fn secrets(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let db = &*observed.db;
    let given = db.spec.credentials.secret_ref.is_some();
    let all = [
        (SecretRole::System, &observed.superuser_secret, names::superuser_secret(db), false),
        (SecretRole::App, &observed.app_secret, names::app_secret(db), given),
    ];
    all.into_iter().find_map(|(of, seen, name, given)| match seen {
        SecretState::Usable => None,
        // The operator does not change a Secret that the spec names.
        SecretState::Outdated if given => None,
        SecretState::Outdated => {
            let act = Effect::Act(DbAct::UpdateSecret(of));
            let doing = "updating the Secret's entries that are derived from its password";
            Some(NextStep::act(act, SampleDBReason::WritingSecret, doing))
        }
        SecretState::Unknown(why) => {
            Some(NextStep::wait(SampleDBReason::SecretUnreadable, format!("the Secret {name} cannot be read: {why}")))
        }
        SecretState::Absent if given => Some(NextStep::blocked(
            SampleDBReason::SecretMissing,
            format!("the Secret {name} of spec.credentials.secretRef is missing; create it with the keys username and password"),
        )),
        SecretState::Absent => {
            Some(NextStep::act(Effect::Act(DbAct::CreateSecret(of)), SampleDBReason::Provisioning, "creating the Secrets"))
        }
        SecretState::Malformed(why) => {
            Some(NextStep::blocked(SampleDBReason::SecretMalformed, format!("the Secret {name} {why}")))
        }
        // It is adopted with the data: from the next reconcile on it is the database's own.
        SecretState::Foreign if pinned.takes_over(observed) => {
            let message = format!("adopting the Secret {name} with the PVC {}", pinned.claim);
            Some(NextStep::wait(SampleDBReason::Provisioning, message))
        }
        SecretState::Foreign => Some(NextStep::blocked(
            ReconcileReason::NameTaken,
            format!("the Secret {name} exists and does not belong to this SampleDB: delete or rename it, or rename this \
                     SampleDB; it is left untouched"),
        )),
    })
}

/// The server, and all that belongs to it.
fn children(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Option<NextStep> {
    let db = &*observed.db;
    let obstacle =
        observed.server.blocking_reason("StatefulSet").or_else(|| observed.peers.blocking_reason("headless Service"));
    let obstacle = obstacle.or_else(|| observed.configuration.blocking_reason("ConfigMap of the parameters"));
    let obstacle = obstacle.or_else(|| observed.connection.blocking_reason("ConfigMap of the connection"));
    let obstacle = obstacle.or_else(|| observed.read_write.blocking_reason("Service"));
    if let Some((reason, message)) = obstacle {
        return Some(match reason {
            ReconcileReason::WaitingForDeletion => NextStep::wait(reason, message),
            _ => NextStep::blocked(reason, message),
        });
    }
    let mut applies: Vec<Apply> = Vec::new();
    // Parameters that the server rejects do not get into its file, because it could not restart with them.
    if observed.configuration.owned().is_none() || parameters_hold(observed) {
        applies.extend(observed.configuration.apply_if_drifted(objects::configuration(db)));
    }
    applies.extend(observed.connection.apply_if_drifted(objects::connection(db)));
    let by_owner = unlabeled::can_be_selected_by_owner(observed);
    applies.extend(observed.peers.apply_if_drifted(objects::peers(db, by_owner)));
    applies.extend(observed.read_write.apply_if_drifted(objects::read_write(db, by_owner)));
    let live = observed.server.owned().map(|server| (&server.meta, server.fingerprint));
    // The controller could not replace the present pod if that were lost.
    if observed.replacement == DryRun::Accepted && observed.placement == PlacementCheck::Verified {
        applies.extend(objects::unless_current(objects::server(observed, pinned, source), live));
    }
    let effects: Vec<_> = applies.into_iter().map(Effect::Apply).collect();
    (!effects.is_empty())
        .then(|| NextStep::Do(effects, SampleDBReason::Provisioning, "creating the server and its Services".to_owned()))
}

/// Whether the server accepts the spec's parameters, as far as it can be queried.
fn parameters_hold(observed: &Observed) -> bool {
    let settled = || observed.probe.info().is_some_and(|answer| answer.parameters.is_settled());
    tuning::refusal(&observed.db).is_none() && (!observed.is_ready() || settled())
}

/// Whether the server that answers has other data than the database's.
pub(super) fn is_foreign(observed: &Observed) -> bool {
    let known = observed.db.status.system_identifier.as_deref();
    let reported = observed.probe.info().map(|answer| answer.system_identifier.as_str());
    known.zip(reported).is_some_and(|(known, reported)| known != reported)
}

/// What to do about a server that rejects the superuser.
pub(super) fn superuser_blocked() -> NextStep {
    let message = "the server rejects the superuser: the password of the superuser's Secret is wrong or expired, or the role \
     lost LOGIN, SUPERUSER or its name; delete the Secret: the operator recreates it and restarts the server, which \
     resets the password and the role";
    NextStep::blocked(SampleDBReason::SuperuserShutOut, message.to_owned())
}

/// What follows from the server's answer.
fn act_on_probe(observed: &Observed) -> Option<NextStep> {
    let answer = match &observed.probe {
        ServerProbe::Skipped => return None,
        ServerProbe::Failed(why) => return Some(silence::ready(observed, why)),
        ServerProbe::BadPassword => return Some(superuser_blocked()),
        ServerProbe::Answered(answer) => answer,
    };
    if is_foreign(observed) {
        let message =
            "the server that answers has other data than this SampleDB's; the operator does not change it".to_owned();
        return Some(NextStep::blocked(SampleDBReason::ForeignData, message));
    }
    match &answer.login {
        // Clients were blocked for an upgrade that is over, or a power cut left it so.
        LoginCheck::Blocked => {
            return Some(NextStep::act(
                Effect::Act(DbAct::AllowConnections),
                SampleDBReason::LettingIn,
                "allowing client connections",
            ));
        }
        LoginCheck::BadPassword => {
            let act = Effect::Act(DbAct::SetPassword);
            return Some(NextStep::act(act, SampleDBReason::SettingPassword, "setting the password of the Secret"));
        }
        LoginCheck::Ok
        | LoginCheck::Busy
        | LoginCheck::Unknown
        | LoginCheck::DatabaseMissing
        | LoginCheck::Refused(_) => {}
    }
    let parameters = &answer.parameters;
    if let Some(why) = tuning::refusal(&observed.db).or_else(|| parameters.refused.clone()) {
        let message = format!("the server rejects engine.parameters, and keeps running with its present ones: {why}");
        return Some(NextStep::blocked(SampleDBReason::ParameterRefused, message));
    }
    if let Some(message) = fallen_back(observed, answer.attempt.as_ref()) {
        return Some(NextStep::blocked(SampleDBReason::ParameterRefused, message));
    }
    if !parameters.is_settled() {
        let act = DbAct::SetParameters { set: parameters.set.clone(), reset: parameters.reset.clone() };
        return Some(NextStep::act(Effect::Act(act), SampleDBReason::SettingParameters, "setting parameters"));
    }
    if !parameters.restart.is_empty() {
        let why = format!("{} take effect when the server restarts", parameters.restart.join(", "));
        return Some(restart::restart(observed, &why));
    }
    let login_refusal = login_refusal(observed);
    let stuck = login_refusal
        .map(|why| NextStep::blocked(SampleDBReason::ApplicationRefused, format!("the server runs, and {why}")));
    stuck.or_else(|| await_file(observed, &parameters.stale))
}

/// The message about a server that did not start with the spec's parameters, and runs with the last ones that worked.
fn fallen_back(observed: &Observed, attempt: Option<&SettingsAttempt>) -> Option<String> {
    let file = objects::file(&observed.db);
    attempt.filter(|attempt| attempt.fallen_back && attempt.settings == file)?;
    let why = observed.pod().and_then(server_state::last_failure);
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    Some(format!(
        "the server does not start with engine.parameters, and runs with the last ones that worked{why}; correct \
         engine.parameters, or what the message names; they are tried again when its pod is replaced"
    ))
}

/// Waits for the file without these parameters, which its ConfigMap no longer has.
fn await_file(observed: &Observed, stale: &[String]) -> Option<NextStep> {
    let pod = observed.pod().filter(|_| !stale.is_empty())?;
    let names = stale.join(", ");
    let message = format!("{names} removed from the spec: waiting for the kubelet to update the server's file");
    Some(match objects::annotated(&observed.db, pod) {
        Some(apply) => NextStep::act(Effect::Apply(apply), SampleDBReason::SettingParameters, &message),
        None => NextStep::wait(SampleDBReason::SettingParameters, message),
    })
}

/// Why the application cannot log in to a server that answers, if the user has to change that.
pub(super) fn login_refusal(observed: &Observed) -> Option<String> {
    let why = match &observed.probe.info()?.login {
        LoginCheck::Refused(why) => why.clone(),
        LoginCheck::DatabaseMissing => database_missing(observed),
        LoginCheck::Ok | LoginCheck::Busy | LoginCheck::Unknown | LoginCheck::Blocked | LoginCheck::BadPassword => {
            return None;
        }
    };
    Some(format!("the application cannot log in: {why}"))
}

/// What to do about the application's database, which does not exist.
fn database_missing(observed: &Observed) -> String {
    let name = names::database(&observed.db);
    let newest = retention::newest_containing(name, observed.own_snapshots());
    login::database_missing(name, newest.map(|snapshot| &*snapshot.meta.key.name))
}
