//! Pure: allows clients, and what to do about a server that does not say whether they can connect.

use api::sample_db::{SampleDBReason, UpgradeStep};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use crate::database::effects::DbAct;
use crate::database::login::LoginCheck;
use crate::database::observed::Observed;
use crate::database::server_info::ServerProbe;
use crate::database::step::NextStep;
use crate::database::steps;

/// How long to wait for the application's login, once the server says that clients are not blocked.
const LOGIN_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// Allows clients if they are blocked, and checks whether they are. If the application cannot log in for a reason of its own, or
/// finds no free connection, that does not concern the upgrade.
pub(super) fn allow_clients(observed: &Observed, now: Timestamp) -> Result<(), NextStep> {
    let since = observed.db.status.upgrade.step_since;
    let late = since.is_none_or(|since| now.duration_since(since) > LOGIN_TIMEOUT);
    match observed.probe.info().map(|answer| &answer.login) {
        Some(
            LoginCheck::Ok
            | LoginCheck::BadPassword
            | LoginCheck::Busy
            | LoginCheck::DatabaseMissing
            | LoginCheck::Refused(_),
        ) => Ok(()),
        Some(LoginCheck::Unknown) if late => Ok(()),
        Some(LoginCheck::Blocked) => Err(NextStep::Do(
            vec![Effect::Act(DbAct::AllowConnections)],
            SampleDBReason::Upgrading,
            "allowing client connections".to_owned(),
        )),
        Some(LoginCheck::Unknown) => Err(asking(observed)),
        None => Err(unanswered(observed)),
    }
}

fn asking(observed: &Observed) -> NextStep {
    let back = observed.db.status.upgrade.step == Some(UpgradeStep::RollBack);
    let work = if back { SampleDBReason::RollingBack } else { SampleDBReason::Upgrading };
    NextStep::wait(work, "checking whether clients can connect")
}

/// What to do about a server that does not answer, and that nothing can replace: the user is asked once that lasts.
fn unanswered(observed: &Observed) -> NextStep {
    match &observed.probe {
        ServerProbe::BadPassword => steps::superuser_blocked(),
        ServerProbe::Failed(why) => match steps::silent_server(observed, why) {
            stuck @ NextStep::Blocked(..) => stuck,
            _ => asking(observed),
        },
        ServerProbe::Skipped | ServerProbe::Answered(_) => asking(observed),
    }
}
