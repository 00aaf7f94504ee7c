//! Pure: the result of a change, by etcd's answer.

use api::etcd_cluster::EtcdClusterReason;
use runtime::Error;

use super::error::EtcdClientError;
use crate::plan::EtcdChange;
use crate::plan::authentication::ROOT_SECRET;

/// Errors of etcd for changes that it will accept later.
const RETRYABLE: &[&str] = &[
    "re-configuration failed due to not enough started members",
    "unhealthy cluster",
    "too many learner members",
    "no leader",
    "leader changed",
];

/// etcd's error for a compaction that has been made, and for a read as of an earlier revision.
pub(super) const COMPACTED: &str = "required revision has been compacted";

/// The result of a change that was sent to a member and failed.
///
/// # Errors
/// Transient, unless etcd had made the change before.
pub fn result(change: &EtcdChange, error: &EtcdClientError) -> Result<(), Error> {
    match error {
        EtcdClientError::Rejected(message) if is_done(change, message) => Ok(()),
        // 3.2 and earlier. The client records it, and the next reconcile does not transfer leadership.
        EtcdClientError::Unimplemented if matches!(change, EtcdChange::MoveLeader { .. }) => Ok(()),
        EtcdClientError::Rejected(message) => {
            Err(Error::transient(reason(change, message), format!("etcd: {message}")))
        }
        // Some versions report their status without authentication, so only a change shows that it is required.
        denial @ (EtcdClientError::AuthRequired(_) | EtcdClientError::RootRejected(_)) => Err(Error::Transient {
            reason: EtcdClusterReason::AuthenticationRequired.into(),
            message: format!(
                "members cannot be changed: etcd {denial}; give the operator the password of root with {ROOT_SECRET}"
            ),
            stalled: true,
        }),
        EtcdClientError::Unimplemented => Err(Error::transient(EtcdClusterReason::EtcdError, format!("etcd {error}"))),
        lost => Err(Error::transient(
            EtcdClusterReason::EtcdUnreachable,
            format!("the result of the change is unknown: the member that received it {lost}"),
        )),
    }
}

/// The error of a change that was not sent, because no member could be reached.
#[must_use]
pub fn unreachable(last: Option<&EtcdClientError>) -> Error {
    let why = last.map_or("none has an address".to_owned(), |error| format!("the last one tried {error}"));
    Error::transient(EtcdClusterReason::EtcdUnreachable, format!("no member can be reached for the change: {why}"))
}

/// Whether etcd rejects a change because it has been made before.
fn is_done(change: &EtcdChange, message: &str) -> bool {
    match change {
        // An id is a hash of the URLs and of the time in seconds.
        EtcdChange::Add { .. } => matches!(message, "Peer URLs already exists" | "member ID already exist"),
        EtcdChange::Remove { .. } => message == "member not found",
        // The error for a voting member. The error for a learner that is not in sync begins the same.
        EtcdChange::Promote { .. } => message == "can only promote a learner member",
        EtcdChange::Compact { .. } => message.contains(COMPACTED),
        EtcdChange::SetAuthentication { .. }
        | EtcdChange::MoveLeader { .. }
        | EtcdChange::Touch
        | EtcdChange::Fill { .. }
        | EtcdChange::Defragment { .. }
        | EtcdChange::Disarm { .. } => false,
    }
}

fn reason(change: &EtcdChange, message: &str) -> EtcdClusterReason {
    // The next effect relies on these, so a wait is a failure. Nothing relies on a single entry, which is a nudge.
    if matches!(change, EtcdChange::Touch | EtcdChange::Fill { entries: 2.. }) {
        return EtcdClusterReason::EtcdError;
    }
    if message.starts_with("can only promote a learner member which is in sync with leader") {
        return EtcdClusterReason::LearnerNotInSync;
    }
    if RETRYABLE.iter().any(|retryable| message.starts_with(retryable)) {
        EtcdClusterReason::WaitingForEtcd
    } else {
        EtcdClusterReason::EtcdError
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use api::Reason;

    use super::*;

    fn add() -> EtcdChange {
        EtcdChange::Add { peer_url: "http://a:2380".to_owned(), learner: true }
    }

    fn result_of(change: &EtcdChange, message: &str) -> Result<(), (Reason, String)> {
        let reported = |error: Error| (error.reason(), error.to_string());
        result(change, &EtcdClientError::Rejected(message.to_owned())).map_err(reported)
    }

    fn rejected(reason: EtcdClusterReason, message: &str) -> Result<(), (Reason, String)> {
        Err((reason.into(), message.to_owned()))
    }

    #[test]
    fn a_change_that_was_made_before_is_done() {
        let (add, remove, promote) = (
            add(),
            EtcdChange::Remove { id: 1, absent: Vec::new(), staying: Vec::new() },
            EtcdChange::Promote { id: 1 },
        );
        assert_eq!(result_of(&add, "Peer URLs already exists"), Ok(()));
        assert_eq!(result_of(&add, "member ID already exist"), Ok(()));
        assert_eq!(result_of(&remove, "member not found"), Ok(()));
        assert_eq!(result_of(&promote, "can only promote a learner member"), Ok(()));
        // But not the same error for another change.
        assert_eq!(
            result_of(&promote, "member not found"),
            rejected(EtcdClusterReason::EtcdError, "etcd: member not found")
        );
        assert_eq!(
            result_of(&add, "member not found"),
            rejected(EtcdClusterReason::EtcdError, "etcd: member not found")
        );
    }

    #[test]
    fn a_change_that_waits_has_its_own_reason() {
        let promote = EtcdChange::Promote { id: 1 };
        let message = "can only promote a learner member which is in sync with leader";
        assert_eq!(
            result_of(&promote, message),
            rejected(EtcdClusterReason::LearnerNotInSync, &format!("etcd: {message}"))
        );
        for message in [
            "re-configuration failed due to not enough started members",
            "unhealthy cluster",
            "too many learner members in cluster",
        ] {
            assert_eq!(
                result_of(&add(), message),
                rejected(EtcdClusterReason::WaitingForEtcd, &format!("etcd: {message}"))
            );
        }
        assert_eq!(
            result_of(&EtcdChange::MoveLeader { to: 1 }, "not leader"),
            rejected(EtcdClusterReason::EtcdError, "etcd: not leader")
        );
    }

    /// Without them, a member might not start with the next version.
    #[test]
    fn changes_before_an_upgrade_fail_rather_than_wait() {
        for change in [EtcdChange::Touch, EtcdChange::Fill { entries: 2 }] {
            for message in ["no leader", "leader changed"] {
                assert_eq!(
                    result_of(&change, message),
                    rejected(EtcdClusterReason::EtcdError, &format!("etcd: {message}"))
                );
                let nudge = result_of(&EtcdChange::Fill { entries: 1 }, message);
                assert_eq!(nudge, rejected(EtcdClusterReason::WaitingForEtcd, &format!("etcd: {message}")));
            }
        }
    }

    #[test]
    fn a_version_without_leadership_transfer_is_no_failure() {
        let result =
            |change: &EtcdChange| result(change, &EtcdClientError::Unimplemented).map_err(|error| error.reason());
        assert_eq!(result(&EtcdChange::MoveLeader { to: 1 }), Ok(()));
        assert_eq!(result(&EtcdChange::Promote { id: 1 }), Err(EtcdClusterReason::EtcdError.into()));
    }

    #[test]
    fn required_authentication_stalls() {
        let error = result(&add(), &EtcdClientError::AuthRequired("user name is empty".to_owned())).unwrap_err();
        assert!(error.stalled() && error.reason() == EtcdClusterReason::AuthenticationRequired, "{error:?}");
        assert!(error.to_string().contains("spec.authentication.rootSecret"), "{error}");
    }

    #[test]
    fn a_lost_answer_is_transient() {
        for error in [
            EtcdClientError::Timeout(Duration::from_secs(5)),
            EtcdClientError::Refused,
            EtcdClientError::Connection("closed".to_owned()),
        ] {
            let error = result(&add(), &error).unwrap_err();
            assert!(error.class() == "Transient" && error.reason() == EtcdClusterReason::EtcdUnreachable, "{error:?}");
        }
        assert!(unreachable(None).reason() == EtcdClusterReason::EtcdUnreachable);
    }
}
