//! Pure: a data claim that somebody has deleted: no new pod can use it, so its data are read through the server that has it, or
//! not at all.

use jiff::Timestamp;
use runtime::projections::Claim;

use super::server::is_ready;
use super::step::{LONG, skip};
use crate::database::answer::Asked;
use crate::database::observed::{Observed, SecretSeen};
use crate::database::{server_state, steps};
use crate::operand::names;
use crate::operand::pod::has_volume;

/// The claim of the data, if somebody has deleted it.
pub(super) fn dying(observed: &Observed) -> Option<&Claim> {
    let name = observed.db.status.storage.claim.as_deref()?;
    observed.claim(name).filter(|claim| claim.meta.deleting)
}

/// Whether there is a server that answers, or may come back to do so.
pub(super) fn may_answer(observed: &Observed) -> bool {
    observed.pod().is_some_and(has_volume)
}

/// Whether the server has the volume, and does not start by itself any more.
pub(super) fn does_not_start(observed: &Observed) -> bool {
    let trouble = observed.pod().filter(|pod| has_volume(pod)).and_then(|pod| server_state::trouble(pod));
    trouble.is_some_and(|trouble| trouble.permanent) && !is_ready(observed)
}

/// Why the server that has the volume does not answer, once a person should hear of it: at once if it does not start, else
/// after a while.
pub(super) fn silence(observed: &Observed, now: Timestamp) -> Option<String> {
    let pod = observed.pod().filter(|pod| has_volume(pod))?;
    if let Some(trouble) = server_state::trouble(pod).filter(|_| does_not_start(observed)) {
        return Some(format!("the server does not start: {}", server_state::cause(pod, trouble)));
    }
    let turned = pod.running.as_deref().and_then(|running| running.ready_since);
    let since = observed.db.status.deletion.started_at.max(turned)?;
    if now.duration_since(since) <= LONG {
        return None;
    }
    Some(match &observed.asked {
        Asked::BadPassword => {
            format!(
                "the server does not let the superuser in with the password of the Secret {}",
                names::system_secret(&observed.db)
            )
        }
        Asked::Failed(why) => format!("the server does not answer: {why}"),
        Asked::Answered(_) if steps::is_foreign(observed) => "the server that answers has other data".to_owned(),
        Asked::Nothing | Asked::Answered(_) => "the server does not answer".to_owned(),
    })
}

/// What to do about a server that has the data and does not answer.
pub(super) fn silent_server(observed: &Observed, claim: &Claim, why: &str) -> String {
    format!(
        "the claim {} of the data is being deleted, so the final snapshot can only be taken of the running server, and {why}; \
         the finalizer keeps the data; correct what keeps the server from answering, such as spec.engine.parameters, and the \
         final snapshot is taken; or {}",
        claim.meta.key.name,
        keep_or_give_up(observed, claim)
    )
}

/// What to do about data that nothing can read any more.
pub(super) fn unreachable_data(observed: &Observed, claim: &Claim) -> String {
    let why = match matches!(observed.system, SecretSeen::Absent) && may_answer(observed) {
        true => format!(
            "the Secret {} is gone, without which nobody can log in to the server",
            names::system_secret(&observed.db)
        ),
        false => "no server runs on it".to_owned(),
    };
    format!(
        "the claim {} of the data is being deleted and {why}, so nothing can read the data, which the finalizer keeps; {}",
        claim.meta.key.name,
        keep_or_give_up(observed, claim)
    )
}

fn keep_or_give_up(observed: &Observed, claim: &Claim) -> String {
    let (name, db) = (&claim.meta.key.name, &observed.db);
    format!(
        "to keep the volume, run kubectl patch pv $(kubectl get pvc {name} --namespace {} -o \
         jsonpath={{.spec.volumeName}}) --patch '{{\"spec\":{{\"persistentVolumeReclaimPolicy\":\"Retain\"}}}}'; \
         then, or to give the data up, annotate this SampleDB with {}",
        db.meta.key.namespace,
        skip(db)
    )
}
