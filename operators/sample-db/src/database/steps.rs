//! Pure: what comes next on the way to a database that serves.

use api::ReconcileReason;
use api::sample_db::{SampleDBReason, UNSAVED_DATA};
use runtime::plan::{Apply, DryRun, Effect};

use super::answer::{Asked, Attempt};
use super::effects::DbAct;
use super::login::{self, Login};
use super::objects::{self, SecretOf};
use super::observed::{Observed, Placement, SecretSeen};
use super::pinned::Pinned;
use super::step::{NextStep, stops};
use super::{placement, server_state, tuning, unlabeled};
use crate::operand::kinds::Snapshot;
use crate::operand::{names, retention};

mod bootstrap;
pub(crate) mod restart;
mod server;
mod silence;
mod volume;

pub(super) use server::{Follows, follows, server};
pub(super) use silence::ready as silent;

/// What all else stands on: Secrets, the volume, and the server with its Services.
#[must_use]
pub fn ground(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Option<NextStep> {
    volume::left(observed, pinned)
        .or_else(|| secrets(observed, pinned))
        .or_else(|| volume::volume(observed, pinned))
        .or_else(|| children(observed, pinned, source))
        .or_else(|| placement::end_of_trial(observed))
}

/// The next step, once the ground stands.
#[must_use]
pub fn next(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> NextStep {
    kept(observed, pinned)
        .or_else(|| held(observed, pinned))
        .or_else(|| source.and_then(|source| bootstrap::fill(observed, pinned, source)))
        .or_else(|| bootstrap::init(observed, pinned))
        .or_else(|| answered(observed))
        .unwrap_or(NextStep::Idle)
}

/// The server as wished, or first what it is told as it runs.
pub(super) fn kept(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let server = server(observed, pinned);
    let meanwhile = server.as_ref().and_then(|step| meanwhile(observed, step));
    meanwhile.or(server)
}

/// What a server that is ready is told to do as it runs waits for no pod that it does not get.
fn meanwhile(observed: &Observed, server: &NextStep) -> Option<NextStep> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    if !configured || !observed.is_ready() || matches!(server, NextStep::Do(..) | NextStep::Idle) {
        return None;
    }
    told_meanwhile(observed)
}

/// What a server that answers is told to do as it runs: passwords, and parameters that need no start.
pub(super) fn told_meanwhile(observed: &Observed) -> Option<NextStep> {
    answered(observed).filter(|step| matches!(step, NextStep::Do(effects, ..) if !effects.iter().any(stops)))
}

/// What clients write would go with a claim that nothing keeps yet: so the database is filled and configured, which lets them in, once
/// our finalizer keeps it. It is added when the status says that the data are there.
fn held(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    let claim = observed.claim(&pinned.claim).filter(|claim| !configured && !claim.meta.deleting)?;
    let name = &claim.meta.key.name;
    let message = || format!("waiting until the finalizer {UNSAVED_DATA} keeps the claim {name} of the data");
    (!claim.meta.is_held_by(UNSAVED_DATA)).then(|| NextStep::wait(SampleDBReason::Provisioning, message()))
}

/// The Secrets come first: the data are made with the superuser's password.
fn secrets(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let db = &*observed.db;
    let given = db.spec.credentials.secret_ref.is_some();
    let all = [
        (SecretOf::System, &observed.system, names::system_secret(db), false),
        (SecretOf::App, &observed.app, names::app_secret(db), given),
    ];
    all.into_iter().find_map(|(of, seen, name, given)| match seen {
        SecretSeen::Usable => None,
        // Of one that the spec names, nothing is changed.
        SecretSeen::Outdated if given => None,
        SecretSeen::Outdated => {
            let act = Effect::Act(DbAct::RewriteSecret(of));
            let doing = "writing into the Secret what follows from its password";
            Some(NextStep::take(act, SampleDBReason::WritingSecret, doing))
        }
        SecretSeen::Unknown(why) => {
            Some(NextStep::wait(SampleDBReason::SecretUnreadable, format!("the Secret {name} cannot be read: {why}")))
        }
        SecretSeen::Absent if given => Some(NextStep::stuck(
            SampleDBReason::SecretMissing,
            format!("the Secret {name} of spec.credentials.secretRef is missing; create it with the keys username and password"),
        )),
        SecretSeen::Absent => {
            Some(NextStep::take(Effect::Act(DbAct::MakeSecret(of)), SampleDBReason::Provisioning, "making the Secrets"))
        }
        SecretSeen::Malformed(why) => {
            Some(NextStep::stuck(SampleDBReason::SecretMalformed, format!("the Secret {name} {why}")))
        }
        // It comes back with the data: from the next pass on it is the database's own.
        SecretSeen::Foreign if pinned.takes_over(observed) => {
            let message = format!("taking over the Secret {name} with the claim {}", pinned.claim);
            Some(NextStep::wait(SampleDBReason::Provisioning, message))
        }
        SecretSeen::Foreign => Some(NextStep::stuck(
            ReconcileReason::NameTaken,
            format!("the Secret {name} exists and does not belong to this SampleDB: delete or rename it, or rename this SampleDB; it is left untouched"),
        )),
    })
}

/// All that stands around the server, and the server.
fn children(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Option<NextStep> {
    let db = &*observed.db;
    let obstacle = observed.server.obstacle("StatefulSet").or_else(|| observed.peers.obstacle("headless Service"));
    let obstacle = obstacle.or_else(|| observed.configuration.obstacle("ConfigMap of the parameters"));
    let obstacle = obstacle.or_else(|| observed.connection.obstacle("ConfigMap of the connection"));
    let obstacle = obstacle.or_else(|| observed.read_write.obstacle("Service"));
    if let Some((reason, message)) = obstacle {
        return Some(match reason {
            ReconcileReason::WaitingForDeletion => NextStep::wait(reason, message),
            _ => NextStep::stuck(reason, message),
        });
    }
    let mut applies: Vec<Apply> = Vec::new();
    // Parameters that the server does not take do not get into its file, from which it could not start again.
    if observed.configuration.owned().is_none() || parameters_hold(observed) {
        applies.extend(observed.configuration.kept(objects::configuration(db)));
    }
    applies.extend(observed.connection.kept(objects::connection(db)));
    let by_owner = unlabeled::can_be_selected_by_owner(observed);
    applies.extend(observed.peers.kept(objects::peers(db, by_owner)));
    applies.extend(observed.read_write.kept(objects::read_write(db, by_owner)));
    let server = objects::server(observed, pinned, source);
    let live = observed.server.owned().map(|server| (&server.meta, server.fingerprint));
    // Its controller would be left without a pod if the present one were lost.
    let accepted = observed.replacement == DryRun::Accepted && observed.placement == Placement::Proven;
    applies.extend(objects::unless(server, live).filter(|_| accepted));
    let effects: Vec<_> = applies.into_iter().map(Effect::Apply).collect();
    (!effects.is_empty())
        .then(|| NextStep::Do(effects, SampleDBReason::Provisioning, "creating the server and its Services".to_owned()))
}

/// Whether the server takes the spec's parameters, as far as it can be asked.
fn parameters_hold(observed: &Observed) -> bool {
    let settled = || observed.asked.answer().is_some_and(|answer| answer.parameters.are_settled());
    tuning::refusal(&observed.db).is_none() && (!observed.is_ready() || settled())
}

/// Whether the server that answers has other data than the database's.
pub(super) fn is_foreign(observed: &Observed) -> bool {
    let known = observed.db.status.system_identifier.as_deref();
    let said = observed.asked.answer().map(|answer| answer.system_identifier.as_str());
    known.zip(said).is_some_and(|(known, said)| known != said)
}

/// What to say of a server that does not let the superuser in.
pub(super) fn superuser_shut_out() -> NextStep {
    let message = "the server does not let the superuser in: it does not take the password of the superuser's Secret, or that has \
                   expired, or somebody took the role its right to log in, its rights or its name: delete the Secret, and the \
                   server is started again with one that it takes, and with the superuser as it was";
    NextStep::stuck(SampleDBReason::SuperuserShutOut, message.to_owned())
}

/// What the server's answer asks for.
fn answered(observed: &Observed) -> Option<NextStep> {
    let answer = match &observed.asked {
        Asked::Nothing => return None,
        Asked::Failed(why) => return Some(silence::ready(observed, why)),
        Asked::BadPassword => return Some(superuser_shut_out()),
        Asked::Answered(answer) => answer,
    };
    if is_foreign(observed) {
        let message = "the server that answers has other data than this SampleDB's; nothing is done to it".to_owned();
        return Some(NextStep::stuck(SampleDBReason::ForeignData, message));
    }
    match &answer.login {
        // It was shut out for an upgrade that is over, or by what a power cut left.
        Login::ShutOut => {
            return Some(NextStep::take(
                Effect::Act(DbAct::LetIn),
                SampleDBReason::LettingIn,
                "allowing client connections",
            ));
        }
        Login::WrongPassword => {
            let act = Effect::Act(DbAct::SetPassword);
            return Some(NextStep::take(
                act,
                SampleDBReason::SettingPassword,
                "setting the password that the Secret has",
            ));
        }
        Login::In | Login::Busy | Login::Unknown | Login::Gone | Login::Refused(_) => {}
    }
    let parameters = &answer.parameters;
    if let Some(why) = tuning::refusal(&observed.db).or_else(|| parameters.refused.clone()) {
        let message = format!("the server refuses engine.parameters, and runs on with what it has: {why}");
        return Some(NextStep::stuck(SampleDBReason::ParameterRefused, message));
    }
    if let Some(message) = fallen_back(observed, answer.attempt.as_ref()) {
        return Some(NextStep::stuck(SampleDBReason::ParameterRefused, message));
    }
    if !parameters.are_settled() {
        let act = DbAct::SetParameters { set: parameters.set.clone(), reset: parameters.reset.clone() };
        return Some(NextStep::take(Effect::Act(act), SampleDBReason::SettingParameters, "setting parameters"));
    }
    if !parameters.restart.is_empty() {
        let why = format!("{} take effect when the server starts again", parameters.restart.join(", "));
        return Some(restart::restart(observed, &why));
    }
    let locked_out = locked_out(observed);
    let stuck = locked_out
        .map(|why| NextStep::stuck(SampleDBReason::ApplicationRefused, format!("the server runs, and {why}")));
    stuck.or_else(|| file(observed, &parameters.stale))
}

/// What to say of a server that did not start with the spec's parameters, and runs with those that it served with last.
fn fallen_back(observed: &Observed, attempt: Option<&Attempt>) -> Option<String> {
    let file = objects::file(&observed.db);
    attempt.filter(|attempt| attempt.fallen_back && attempt.settings == file)?;
    let why = observed.pod().and_then(server_state::said_last);
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    Some(format!(
        "the server does not start with engine.parameters, and runs with those that it served with last{why}; correct \
         engine.parameters, or whatever the message names; they are tried again when its pod is replaced"
    ))
}

/// Waits for the file without these parameters, which its ConfigMap has no longer.
fn file(observed: &Observed, stale: &[String]) -> Option<NextStep> {
    let pod = observed.pod().filter(|_| !stale.is_empty())?;
    let names = stale.join(", ");
    let message =
        format!("the spec says nothing of {names} any more: waiting for the kubelet to bring the server's file");
    Some(match objects::noted(&observed.db, pod) {
        Some(apply) => NextStep::take(Effect::Apply(apply), SampleDBReason::SettingParameters, &message),
        None => NextStep::wait(SampleDBReason::SettingParameters, message),
    })
}

/// Why the application cannot log in to a server that answers, if that is for a person to change.
pub(super) fn locked_out(observed: &Observed) -> Option<String> {
    let why = match &observed.asked.answer()?.login {
        Login::Refused(why) => why.clone(),
        Login::Gone => gone(observed),
        Login::In | Login::Busy | Login::Unknown | Login::ShutOut | Login::WrongPassword => return None,
    };
    Some(format!("the application cannot log in: {why}"))
}

/// What to say of the application's database, which is gone.
fn gone(observed: &Observed) -> String {
    let name = names::database(&observed.db);
    let newest = retention::newest_with(name, observed.own_snapshots());
    login::gone(name, newest.map(|snapshot| &*snapshot.meta.key.name))
}
