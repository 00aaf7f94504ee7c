//! Versions that wait, and versions that are refused.

use super::members::{after, message, three};
use super::*;

/// Members of 3.6 that are asked to go to 3.7, whose pods are as the spec says.
fn going(spec: &Value) -> Observed {
    let mut spec = spec.clone();
    spec["version"] = json!("3.7.3");
    let mut seen = three(&spec);
    seen.cluster_version = Some("3.6.0".to_owned());
    seen
}

fn version(seen: &Observed) -> String {
    wish::Wish::of(seen, &Roster::of(seen, Timestamp::UNIX_EPOCH), true).version.to_string()
}

fn deleted(seen: &Observed) -> usize {
    let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if delete.kind.kind == "Pod");
    after(seen, 60).effects.iter().filter(|effect| pod(effect)).count()
}

#[test]
fn a_log_that_would_fill_volumes_is_not_filled() {
    let variable = |variable: Value| json!({ "size": 3, "pod": { "etcdEnv": [variable] } });
    let by_reference = json!({ "name": "ETCD_SNAPSHOT_COUNT",
        "valueFrom": { "configMapKeyRef": { "name": "etcd", "key": "count" } } });
    for (spec, why) in [
        (json!({ "size": 3, "options": { "snapshot-count": "10000000" } }), "snapshot-count is 10000000"),
        (variable(json!({ "name": "ETCD_SNAPSHOT_COUNT", "value": "2000001" })), "snapshot-count is 2000001"),
        (variable(by_reference), "gives no number of entries"),
        (json!({ "size": 3, "options": { "snapshot-count": "many" } }), "snapshot-count gives no number of entries"),
        (json!({ "size": 3, "options": { "snapshot-count": "0x1e8481" } }), "snapshot-count is 2000001"),
    ] {
        let plan = after(&going(&spec), 60);
        assert!(plan.effects.iter().all(|effect| !matches!(effect, Effect::Act(_) | Effect::Create(_))), "{spec}");
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "UpgradeRefused".to_owned()), "{spec}");
        let message = message(&status);
        assert!(message.contains(why) && message.contains("set snapshot-count lower first"), "{message}");
    }
    for spec in [json!({ "size": 3 }), json!({ "size": 3, "options": { "snapshot-count": "2000000" } })] {
        let status = after(&going(&spec), 60).status.unwrap();
        assert!(status.contract.condition("Stalled").is_none(), "{spec}: {}", message(&status));
    }
}

/// As etcd reads what the spec gives: 0 is its default, and 0x186a0 is 100,000.
#[test]
fn the_log_is_filled_up_to_the_snapshot_that_etcd_takes() {
    let filled = |spec: &Value| {
        let mut seen = going(spec);
        seen.pull_refused = true;
        let plan = after(&seen, 60);
        let entries = plan.effects.iter().find_map(|effect| match effect {
            Effect::Act(EtcdAct { change: Change::Fill { entries }, .. }) => Some(*entries),
            _ => None,
        });
        (entries, message(&plan.status.unwrap()).to_owned())
    };
    let option = |count: &str| json!({ "size": 3, "options": { "snapshot-count": count } });
    let variable = json!({ "size": 3, "pod": { "etcdEnv": [{ "name": "ETCD_SNAPSHOT_COUNT", "value": "0" }] } });
    for spec in [json!({ "size": 3 }), option("0"), option("0x0"), option("10_000"), variable] {
        assert_eq!(filled(&spec).0, Some(10_001), "{spec}");
    }
    assert_eq!(filled(&option("7")).0, Some(8));
    for count in ["0x186a0", "100_000", "100000"] {
        let (entries, message) = filled(&option(count));
        assert_eq!(entries, Some(20_000), "{count}");
        assert!(message.contains("80001 more entries to write"), "{count}: {message}");
    }
}

#[test]
fn members_get_the_pods_that_are_asked_for_before_they_leave_3_6() {
    let mut seen = going(&json!({ "size": 3, "options": { "snapshot-count": "1000000" } }));
    assert_eq!(version(&seen), "3.7.3", "pods have what the spec says");
    // Members run with 1,000,000 entries, of which 10,001 would be written.
    Arc::get_mut(&mut seen.cluster).unwrap().spec.options = BTreeMap::from([("snapshot-count".into(), "10000".into())]);
    assert_eq!((version(&seen), deleted(&seen)), ("3.6.16".to_owned(), 1), "one after the other");
    assert!(after(&seen, 60).effects.iter().all(|effect| !matches!(effect, Effect::Act(_))), "nothing is filled yet");
    // One has gone already, so the log has been filled.
    seen.etcd.endpoints.values_mut().next().unwrap().as_mut().unwrap().version = "3.7.3".into();
    assert_eq!(version(&seen), "3.7.3");
}

#[test]
fn versions_that_nobody_has_tried_begin_no_cluster() {
    for version in ["2.3.7", "3.1.20"] {
        let (effects, status) = planned(&json!({ "size": 3, "version": version }), &decided());
        assert!(effects.is_empty(), "{effects:?}");
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "InvalidVersion".to_owned()));
        assert!(message(&status).contains(version) && message(&status).contains("from 3.2 on"), "{}", message(&status));
    }
    let (effects, _) = planned(&json!({ "size": 3, "version": "3.2.13" }), &decided());
    assert!(effects.contains(&"Pod"));
}
