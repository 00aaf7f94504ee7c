//! A cluster that is left as it is.

use super::members::{after, three};
use super::*;

#[test]
fn what_is_paused_is_not_told_to_run_what_it_does_not() {
    let asks = json!({ "size": 3, "paused": true, "version": "3.7.3" });
    let mut seen = three(&json!({ "size": 3 }));
    let mut status = made();
    status.current_version = Some("3.6.16".to_owned());
    seen.cluster = observed(&asks, &status).cluster;
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(status.current_version.as_deref(), Some("3.6.16"));
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "Paused".to_owned()));
    let mut well = three(&json!({ "size": 3 }));
    well.cluster = observed(&json!({ "size": 3, "paused": true }), &made()).cluster;
    assert_eq!(reason(&after(&well, 60).status.unwrap(), "Ready").0, ConditionStatus::True);
}
