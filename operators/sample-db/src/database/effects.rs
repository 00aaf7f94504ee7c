//! Pure: what a plan for a SampleDB consists of, and when the next one is made.

use std::time::Duration;

use api::sample_db::SampleDBStatus;
use jiff::Timestamp;
use runtime::plan::Plan;

use super::objects::SecretOf;

/// After a step: its own events are no news, so look again by ourselves.
pub(super) const STEP: Duration = Duration::from_millis(50);
/// While something is waited for that a watch tells; and for a person.
pub(super) const LATER: Duration = Duration::from_secs(10);
/// While the kubelet brings a file, of which no watch tells.
pub(super) const FILE: Duration = Duration::from_secs(2);
/// While a step of an upgrade is waited for, during which nobody may write.
pub(super) const SOON: Duration = Duration::from_millis(500);
/// How often Secrets are read while all is well: an edited one is in force within 90 s.
pub(super) const SECRETS: Duration = Duration::from_secs(60);

/// What may be done that is not an object of which the plan knows all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DbAct {
    /// Make a Secret with a random password.
    MakeSecret(SecretOf),
    /// Write into a Secret that was made for the database what follows from its password.
    RewriteSecret(SecretOf),
    /// Delete a Secret that was made for the database.
    DropSecret(SecretOf),
    /// Have the server take the application's password out of the Secret.
    SetPassword,
    /// Have the server take parameters, and others no longer.
    SetParameters {
        /// By name.
        set: Vec<(String, String)>,
        /// Names.
        reset: Vec<String>,
    },
    /// Let writers in.
    LetIn,
    /// Shut out all but the superuser, and end their sessions.
    ShutOut,
}

/// A plan for a SampleDB.
pub type DbPlan = Plan<SampleDBStatus, DbAct>;

/// How long until then, but no longer than Secrets go unread.
pub(super) fn until(now: Timestamp, then: Timestamp) -> Duration {
    then.duration_since(now).unsigned_abs().clamp(STEP, SECRETS)
}
