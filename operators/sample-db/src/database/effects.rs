//! Pure: the acts of a plan for a SampleDB, and when to requeue.

use std::time::Duration;

use api::sample_db::SampleDBStatus;
use jiff::Timestamp;
use runtime::plan::Plan;

use super::objects::SecretRole;

/// After a step of its own: the watch events of these writes do not requeue it.
pub(super) const REQUEUE_AFTER_STEP: Duration = Duration::from_millis(50);
/// While something is pending that a watch reports, or that the user has to do.
pub(super) const POLL_FALLBACK: Duration = Duration::from_secs(10);
/// While the kubelet updates a file, which no watch reports.
pub(super) const POLL_FILE: Duration = Duration::from_secs(2);
/// While a step of an upgrade is pending and clients are blocked.
pub(super) const POLL_UPGRADE: Duration = Duration::from_millis(500);
/// How often Secrets are read while the database is healthy: an edit takes effect within 90 s.
pub(super) const POLL_SECRETS: Duration = Duration::from_secs(60);

/// An act, beyond writes of objects that the plan knows completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DbAct {
    /// Create a Secret with a random password.
    CreateSecret(SecretRole),
    /// Update the entries of an operator-created Secret that are derived from its password.
    UpdateSecret(SecretRole),
    /// Delete a Secret that was created for the database.
    DeleteSecret(SecretRole),
    /// Set the application's password in the server to that of the Secret.
    SetPassword,
    /// Set parameters in the server, and reset others.
    SetParameters {
        /// By name.
        set: Vec<(String, String)>,
        /// Names.
        reset: Vec<String>,
    },
    /// Allow client connections.
    AllowConnections,
    /// Block all but the superuser, and end their sessions.
    BlockConnections,
}

/// A plan for a SampleDB.
pub type DbPlan = Plan<SampleDBStatus, DbAct>;

/// How long until then, but no longer than the interval of reading Secrets.
pub(super) fn until(now: Timestamp, then: Timestamp) -> Duration {
    then.duration_since(now).unsigned_abs().clamp(REQUEUE_AFTER_STEP, POLL_SECRETS)
}
