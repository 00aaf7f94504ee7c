//! A paused cluster.

use super::members::{after, three};
use super::*;

#[test]
fn a_paused_cluster_with_pending_changes_is_not_ready() {
    let asks = json!({ "size": 3, "paused": true, "version": "3.7.3" });
    let mut seen = three(&json!({ "size": 3 }));
    let mut status = bootstrapped();
    status.current_version = Some("3.6.16".to_owned());
    seen.cluster = observed(&asks, &status).cluster;
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(status.current_version.as_deref(), Some("3.6.16"));
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "Paused".to_owned()));
    let mut healthy = three(&json!({ "size": 3 }));
    healthy.cluster = observed(&json!({ "size": 3, "paused": true }), &bootstrapped()).cluster;
    assert_eq!(reason(&after(&healthy, 60).status.unwrap(), "Ready").0, ConditionStatus::True);
}
