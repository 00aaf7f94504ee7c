//! Pure: what the outcome of a change means.

use api::etcd_cluster::EtcdClusterReason;
use runtime::Error;

use super::fault::Fault;
use crate::plan::Change;

/// What etcd says of changes that have to wait for something in etcd itself.
const WAITS: &[&str] = &[
    "re-configuration failed due to not enough started members",
    "unhealthy cluster",
    "too many learner members",
    "no leader",
    "leader changed",
];

/// What became of a change that was sent to a member.
pub(super) fn outcome(change: &Change, fault: &Fault) -> Result<(), Error> {
    match fault {
        Fault::Said(words) if is_done(change, words) => Ok(()),
        // 3.2 and earlier. That it cannot is remembered, and the next pass does without.
        Fault::Unimplemented if matches!(change, Change::MoveLeader { .. }) => Ok(()),
        Fault::Said(words) => Err(Error::transient(reason(change, words), format!("etcd: {words}"))),
        // Versions that tell their status to anybody: until here nothing has said that a user is asked for.
        Fault::Denied(words) => Err(Error::Transient {
            reason: EtcdClusterReason::AuthenticationRequired.into(),
            message: format!(
                "etcd's authentication is on, and this operator has no user there yet, so it cannot change members until \
                 authentication is off (etcdctl auth disable): {words}"
            ),
            stalled: true,
        }),
        Fault::Unimplemented => Err(Error::transient(EtcdClusterReason::EtcdError, format!("etcd {fault}"))),
        lost => Err(Error::transient(
            EtcdClusterReason::EtcdUnreachable,
            format!("the queried member {lost}; whether the change was made is unknown"),
        )),
    }
}

/// The error of a change that was sent to nobody.
pub(super) fn nobody(last: Option<&Fault>) -> Error {
    let why = last.map_or("none has an address".to_owned(), |fault| format!("the last one {fault}"));
    Error::transient(EtcdClusterReason::EtcdUnreachable, format!("no member can be reached for the change: {why}"))
}

/// Whether etcd refuses because the change has been made before.
fn is_done(change: &Change, words: &str) -> bool {
    match change {
        // An id is a hash of the URLs and of the time in seconds.
        Change::Add { .. } => matches!(words, "Peer URLs already exists" | "member ID already exist"),
        Change::Remove { .. } => words == "member not found",
        // Said of voting members. It is also how the refusal begins that says that a learner is not in sync.
        Change::Promote { .. } => words == "can only promote a learner member",
        Change::MoveLeader { .. } | Change::Touch | Change::Fill { .. } | Change::Disarm { .. } => false,
    }
}

fn reason(change: &Change, words: &str) -> EtcdClusterReason {
    // The next effect relies on these, so what waits is a failure. A single entry is a nudge, on which nothing relies.
    if matches!(change, Change::Touch | Change::Fill { entries: 2.. }) {
        return EtcdClusterReason::EtcdError;
    }
    if words.starts_with("can only promote a learner member which is in sync with leader") {
        return EtcdClusterReason::LearnerNotInSync;
    }
    if WAITS.iter().any(|wait| words.starts_with(wait)) {
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

    fn add() -> Change {
        Change::Add { peer_url: "http://a:2380".to_owned(), learner: true }
    }

    fn outcome_of(change: &Change, words: &str) -> Result<(), (Reason, String)> {
        let told = |error: Error| (error.reason(), error.to_string());
        outcome(change, &Fault::Said(words.to_owned())).map_err(told)
    }

    fn refused(reason: EtcdClusterReason, message: &str) -> Result<(), (Reason, String)> {
        Err((reason.into(), message.to_owned()))
    }

    #[test]
    fn what_is_done_already_is_done() {
        let (add, remove, promote) =
            (add(), Change::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }, Change::Promote { id: 1 });
        assert_eq!(outcome_of(&add, "Peer URLs already exists"), Ok(()));
        assert_eq!(outcome_of(&add, "member ID already exist"), Ok(()));
        assert_eq!(outcome_of(&remove, "member not found"), Ok(()));
        assert_eq!(outcome_of(&promote, "can only promote a learner member"), Ok(()));
        // But not what only sounds the same.
        assert_eq!(
            outcome_of(&promote, "member not found"),
            refused(EtcdClusterReason::EtcdError, "etcd: member not found")
        );
        assert_eq!(
            outcome_of(&add, "member not found"),
            refused(EtcdClusterReason::EtcdError, "etcd: member not found")
        );
    }

    #[test]
    fn what_waits_is_told_by_its_reason() {
        let promote = Change::Promote { id: 1 };
        let words = "can only promote a learner member which is in sync with leader";
        assert_eq!(
            outcome_of(&promote, words),
            refused(EtcdClusterReason::LearnerNotInSync, &format!("etcd: {words}"))
        );
        for words in [
            "re-configuration failed due to not enough started members",
            "unhealthy cluster",
            "too many learner members in cluster",
        ] {
            assert_eq!(
                outcome_of(&add(), words),
                refused(EtcdClusterReason::WaitingForEtcd, &format!("etcd: {words}"))
            );
        }
        assert_eq!(
            outcome_of(&Change::MoveLeader { to: 1 }, "not leader"),
            refused(EtcdClusterReason::EtcdError, "etcd: not leader")
        );
    }

    /// A member that left its version without them might not come up as the next one.
    #[test]
    fn what_comes_before_another_version_does_not_wait_in_vain() {
        for change in [Change::Touch, Change::Fill { entries: 2 }] {
            for words in ["no leader", "leader changed"] {
                assert_eq!(
                    outcome_of(&change, words),
                    refused(EtcdClusterReason::EtcdError, &format!("etcd: {words}"))
                );
                let nudge = outcome_of(&Change::Fill { entries: 1 }, words);
                assert_eq!(nudge, refused(EtcdClusterReason::WaitingForEtcd, &format!("etcd: {words}")));
            }
        }
    }

    #[test]
    fn leadership_that_cannot_be_moved_is_no_failure() {
        let outcome = |change: &Change| outcome(change, &Fault::Unimplemented).map_err(|error| error.reason());
        assert_eq!(outcome(&Change::MoveLeader { to: 1 }), Ok(()));
        assert_eq!(outcome(&Change::Promote { id: 1 }), Err(EtcdClusterReason::EtcdError.into()));
    }

    #[test]
    fn a_user_that_is_asked_for_takes_a_person() {
        let error = outcome(&add(), &Fault::Denied("user name is empty".to_owned())).unwrap_err();
        assert!(error.stalled() && error.reason() == EtcdClusterReason::AuthenticationRequired, "{error:?}");
        assert!(error.to_string().contains("etcdctl auth disable"), "{error}");
    }

    #[test]
    fn a_lost_answer_is_no_answer() {
        for fault in [Fault::Silent(Duration::from_secs(5)), Fault::Refused, Fault::Broken("closed".to_owned())] {
            let error = outcome(&add(), &fault).unwrap_err();
            assert!(error.class() == "Transient" && error.reason() == EtcdClusterReason::EtcdUnreachable, "{error:?}");
        }
        assert!(nobody(None).reason() == EtcdClusterReason::EtcdUnreachable);
    }
}
