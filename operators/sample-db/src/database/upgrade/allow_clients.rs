//! Pure: letting writers in, and what to do about a server that does not say whether they are.

use api::sample_db::{SampleDBReason, UpgradeStep as At};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use crate::database::answer::Asked;
use crate::database::effects::DbAct;
use crate::database::login::Login;
use crate::database::observed::Observed;
use crate::database::step::NextStep;
use crate::database::steps;

/// How long it is waited for that the application gets in, once the server says that nobody is shut out.
const LOGIN: SignedDuration = SignedDuration::from_secs(30);

/// Lets writers in if they are not, and tells whether they are. That the application may not log in for a reason of its own,
/// or finds no connection free, is no matter of the upgrade's.
pub(super) fn let_in(observed: &Observed, now: Timestamp) -> Result<(), NextStep> {
    let since = observed.db.status.upgrade.step_since;
    let late = since.is_none_or(|since| now.duration_since(since) > LOGIN);
    match observed.asked.answer().map(|answer| &answer.login) {
        Some(Login::In | Login::WrongPassword | Login::Busy | Login::Gone | Login::Refused(_)) => Ok(()),
        Some(Login::Unknown) if late => Ok(()),
        Some(Login::ShutOut) => Err(NextStep::Do(
            vec![Effect::Act(DbAct::LetIn)],
            SampleDBReason::Upgrading,
            "allowing client connections".to_owned(),
        )),
        Some(Login::Unknown) => Err(asking(observed)),
        None => Err(unanswered(observed)),
    }
}

fn asking(observed: &Observed) -> NextStep {
    let back = observed.db.status.upgrade.step == Some(At::RollBack);
    let work = if back { SampleDBReason::RollingBack } else { SampleDBReason::Upgrading };
    NextStep::wait(work, "checking whether clients can connect")
}

/// What to do about a server that says nothing, and has nothing to give way to: a person is told, once that is no moment's
/// matter.
fn unanswered(observed: &Observed) -> NextStep {
    match &observed.asked {
        Asked::BadPassword => steps::superuser_shut_out(),
        Asked::Failed(why) => match steps::silent(observed, why) {
            stuck @ NextStep::Blocked(..) => stuck,
            _ => asking(observed),
        },
        Asked::Nothing | Asked::Answered(_) => asking(observed),
    }
}
