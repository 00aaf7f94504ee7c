//! A child of the server that does not decode.

use api::ReconcileReason;
use api::condition_type::{RECONCILING, STALLED};

use super::server::{settled, standing};
use super::*;

/// No later reconcile decodes it by itself, so the user has to act.
#[test]
fn an_unreadable_child_stalls_the_database_and_one_that_is_being_deleted_does_not() {
    let unreadable = || "expected a map".to_owned();
    let children: [fn(&mut Observed, String); 5] = [
        |seen, why| seen.server = ChildState::Undecodable(why),
        |seen, why| seen.peers = ChildState::Undecodable(why),
        |seen, why| seen.configuration = ChildState::Undecodable(why),
        |seen, why| seen.connection = ChildState::Undecodable(why),
        |seen, why| seen.read_write = ChildState::Undecodable(why),
    ];
    for break_child in children {
        let mut seen = standing(&json!({}), &settled());
        break_child(&mut seen, unreadable());
        let planned = plan(&seen, now());
        assert_eq!(done(&planned), Vec::<String>::new(), "nothing is written over it");
        let contract = planned.status.unwrap().contract;
        let stalled = contract.condition(STALLED).unwrap();
        assert!(
            stalled.reason == ReconcileReason::Unreadable && stalled.message.contains(&unreadable()),
            "{stalled:?}"
        );
        assert!(contract.condition(RECONCILING).is_none());
    }
    let mut seen = standing(&json!({}), &settled());
    seen.server = ChildState::Terminating;
    let contract = plan(&seen, now()).status.unwrap().contract;
    assert!(contract.condition(RECONCILING).unwrap().reason == ReconcileReason::WaitingForDeletion);
    assert!(contract.condition(STALLED).is_none());
}
