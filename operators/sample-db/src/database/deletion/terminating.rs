//! Pure: a data PVC that is terminating. No new pod can use it, so its data can only be read through the server that has it.

use jiff::Timestamp;
use runtime::projections::Pvc;

use super::server::is_ready;
use super::step::{SLOW_AFTER, skip};
use crate::database::observed::{Observed, SecretState};
use crate::database::server_info::ServerProbe;
use crate::database::{server_state, steps};
use crate::operand::names;
use crate::operand::pod::has_volume;

/// The PVC of the data, if it is terminating.
pub(super) fn terminating_claim(observed: &Observed) -> Option<&Pvc> {
    let name = observed.db.status.storage.claim.as_deref()?;
    observed.claim(name).filter(|claim| claim.meta.deleting)
}

/// Whether there is a server that answers, or may do so again.
pub(super) fn may_answer(observed: &Observed) -> bool {
    observed.pod().is_some_and(has_volume)
}

/// Whether the server has the volume, and does not start by itself any more.
pub(super) fn does_not_start(observed: &Observed) -> bool {
    let diagnosis = observed.pod().filter(|pod| has_volume(pod)).and_then(|pod| server_state::diagnosis(pod));
    diagnosis.is_some_and(|diagnosis| diagnosis.permanent) && !is_ready(observed)
}

/// Why the server that has the volume does not answer, once the user has to act: at once if it does not start, else after a
/// while.
pub(super) fn silence(observed: &Observed, now: Timestamp) -> Option<String> {
    let pod = observed.pod().filter(|pod| has_volume(pod))?;
    if let Some(diagnosis) = server_state::diagnosis(pod).filter(|_| does_not_start(observed)) {
        return Some(format!("the server does not start: {}", server_state::cause(pod, diagnosis)));
    }
    let turned = pod.details.as_deref().and_then(|running| running.ready_since);
    let since = observed.db.status.deletion.started_at.max(turned)?;
    if now.duration_since(since) <= SLOW_AFTER {
        return None;
    }
    Some(match &observed.probe {
        ServerProbe::BadPassword => {
            format!(
                "the server rejects the superuser with the password of the Secret {}",
                names::superuser_secret(&observed.db)
            )
        }
        ServerProbe::Failed(why) => format!("the server does not answer: {why}"),
        ServerProbe::Answered(_) if steps::is_foreign(observed) => "the server that answers has other data".to_owned(),
        ServerProbe::Skipped | ServerProbe::Answered(_) => "the server does not answer".to_owned(),
    })
}

/// What to do about a server that has the data and does not answer.
pub(super) fn silent_server(observed: &Observed, claim: &Pvc, why: &str) -> String {
    format!(
        "the PVC {} of the data is being deleted, so the final snapshot can only be taken of the running server, and {why}; a \
         finalizer protects the data; fix what keeps the server from answering, such as spec.engine.parameters, to have \
         the final snapshot taken; or {}",
        claim.meta.key.name,
        keep_or_give_up(observed, claim)
    )
}

/// What to do about data that nothing can read any more.
pub(super) fn unreachable_data(observed: &Observed, claim: &Pvc) -> String {
    let why = match matches!(observed.superuser_secret, SecretState::Absent) && may_answer(observed) {
        true => format!(
            "the Secret {} was deleted, without which the Job cannot log in to the server",
            names::superuser_secret(&observed.db)
        ),
        false => "no server runs on it".to_owned(),
    };
    format!(
        "the PVC {} of the data is being deleted and {why}, so nothing can read the data, which a finalizer protects; {}",
        claim.meta.key.name,
        keep_or_give_up(observed, claim)
    )
}

fn keep_or_give_up(observed: &Observed, claim: &Pvc) -> String {
    let (name, db) = (&claim.meta.key.name, &observed.db);
    format!(
        "to keep the volume, run kubectl patch pv $(kubectl get pvc {name} --namespace {} -o \
         jsonpath={{.spec.volumeName}}) --patch '{{\"spec\":{{\"persistentVolumeReclaimPolicy\":\"Retain\"}}}}'; \
         then, or to give the data up, annotate this SampleDB with {}",
        db.meta.key.namespace,
        skip(db)
    )
}
