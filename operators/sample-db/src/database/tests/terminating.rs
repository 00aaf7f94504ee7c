//! The data PVC of a serving database is deleted.

use runtime::status::conditions::transitions;

use super::records::recorded;
use super::server::{says, standing};
use super::*;
use crate::metrics::value;

/// One whose server has to restart, with its PVC terminating or not.
fn serving(deleted: bool) -> Observed {
    let mut seen = standing(&json!({}), &initialised());
    let claim = if deleted { json!({ "deleting": true }) } else { json!({}) };
    seen.claims = vec![recorded("u-1", &initialised(), &claim)];
    seen.probe = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    seen
}

#[test]
fn a_terminating_pvc_is_reported_and_no_pod_on_it_is_replaced() {
    let planned = plan(&serving(true), now());
    assert!(!done(&planned).iter().any(|effect| effect.starts_with("delete")), "{:?}", planned.effects);
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
    assert_eq!(reason(&status, "Stalled").1, "ClaimTerminating");
    assert_eq!(reason(&status, "StorageHealthy"), (ConditionStatus::False, "ClaimTerminating".to_owned()));
}

/// Alerts use the metric; users of the object see the Event.
#[test]
fn a_terminating_pvc_is_reported_by_an_event_and_a_metric() {
    const METRIC: &str = "sampledb_volume_terminating";
    let metric = |deleted| value(&serving(deleted), METRIC).map(|value| value.to_string());
    assert_eq!([true, false].map(metric), [Some("1".to_owned()), Some("0".to_owned())]);
    let mut seen = serving(false);
    let before = plan(&seen, now()).status.unwrap();
    seen.db = observed(&json!({}), &serde_json::to_value(&before).unwrap()).db;
    seen.claims = serving(true).claims;
    let after = plan(&seen, now()).status.unwrap();
    let events = transitions(&before.contract, &after.contract);
    let reported: Vec<(bool, &str)> = events.iter().map(|event| (event.warning, &*event.reason)).collect();
    assert_eq!(reported, [(true, "ClaimTerminating")]);
    assert!(events[0].message.contains("PVC data-shop-0"), "{}", events[0].message);
    assert!(transitions(&after.contract, &after.contract).is_empty(), "once");
}
