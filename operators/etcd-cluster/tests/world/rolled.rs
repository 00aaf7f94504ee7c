//! Rolling updates that other changes interrupt.

use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::json;

use crate::bench::Bench;
use crate::faults::{Edit, Step};

/// One member has left 3.6 when it is to get a new pod as well. Without a pod it must not count as a member that has yet to leave
/// 3.6, after the pods of all others; otherwise it restarts unchanged for ever.
#[test]
fn the_first_member_to_leave_3_6_gets_the_pod_that_is_requested_meanwhile() {
    let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16" }));
    let pass = || Step::Pass(ReconcileFaults::default());
    let steps = [
        Step::Edit(Edit::Lead(0)),
        Step::Calm(9),
        pass(),
        Step::Calm(4),
        Step::Edit(Edit::Version(5)),
        Step::Expel(0),
        pass(),
        Step::Calm(11),
        pass(),
        Step::Evict(31),
        Step::Edit(Edit::Quota(true)),
    ];
    steps.iter().for_each(|step| bench.take(step));
    bench.settle().unwrap_or_else(|why| panic!("{why}\n{}", bench.story()));
}
