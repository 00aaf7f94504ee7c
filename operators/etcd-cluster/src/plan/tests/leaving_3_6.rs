//! Versions that wait, and versions that are rejected.

use super::members::{after, message, three};
use super::*;

/// Members of 3.6 before an upgrade to 3.7, with pods of the current spec.
fn upgrading(spec: &Value) -> Observed {
    let mut spec = spec.clone();
    spec["version"] = json!("3.7.3");
    let mut seen = three(&spec);
    seen.cluster_version = Some("3.6.0".to_owned());
    seen
}

fn version(seen: &Observed) -> String {
    desired::Desired::of(seen, &MemberSet::of(seen, Timestamp::UNIX_EPOCH), true).version.to_string()
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
        (variable(by_reference), "sets no number of entries"),
        (json!({ "size": 3, "options": { "snapshot-count": "many" } }), "snapshot-count sets no number of entries"),
        (json!({ "size": 3, "options": { "snapshot-count": "0x1e8481" } }), "snapshot-count is 2000001"),
    ] {
        let plan = after(&upgrading(&spec), 60);
        assert!(plan.effects.iter().all(|effect| !matches!(effect, Effect::Act(_) | Effect::Create(_))), "{spec}");
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "UpgradeRefused".to_owned()), "{spec}");
        let message = message(&status);
        assert!(message.contains(why) && message.contains("lower snapshot-count in spec.options first"), "{message}");
    }
    for spec in [json!({ "size": 3 }), json!({ "size": 3, "options": { "snapshot-count": "2000000" } })] {
        let status = after(&upgrading(&spec), 60).status.unwrap();
        assert!(status.contract.condition("Stalled").is_none(), "{spec}: {}", message(&status));
    }
}

/// Values as etcd reads them: 0 is its default, and 0x186a0 is 100,000.
#[test]
fn the_log_is_filled_up_to_the_snapshot_that_etcd_takes() {
    let filled = |spec: &Value| {
        let mut seen = upgrading(spec);
        seen.image_check_rejected = true;
        let plan = after(&seen, 60);
        let entries = plan.effects.iter().find_map(|effect| match effect {
            Effect::Act(EtcdAct::Change { change: EtcdChange::Fill { entries }, .. }) => Some(*entries),
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
        assert!(message.contains("writing 80001 more entries"), "{count}: {message}");
    }
}

#[test]
fn members_get_pods_of_the_current_spec_before_they_leave_3_6() {
    let mut seen = upgrading(&json!({ "size": 3, "options": { "snapshot-count": "1000000" } }));
    assert_eq!(version(&seen), "3.7.3", "pods have what the spec says");
    // Members run with 1,000,000 entries, but only 10,001 would be written.
    Arc::get_mut(&mut seen.cluster).unwrap().spec.options = BTreeMap::from([("snapshot-count".into(), "10000".into())]);
    assert_eq!((version(&seen), deleted(&seen)), ("3.6.16".to_owned(), 1), "one after the other");
    assert!(after(&seen, 60).effects.iter().all(|effect| !matches!(effect, Effect::Act(_))), "nothing is filled yet");
    // One member has left 3.6, so the log was filled before.
    seen.etcd.endpoints.values_mut().next().unwrap().as_mut().unwrap().version = "3.7.3".into();
    assert_eq!(version(&seen), "3.7.3");
}

#[test]
fn an_unsupported_version_creates_no_cluster() {
    for version in ["2.3.7", "3.1.20"] {
        let (effects, status) = planned(&json!({ "size": 3, "version": version }), &decided());
        assert!(effects.is_empty(), "{effects:?}");
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "InvalidVersion".to_owned()));
        assert!(
            message(&status).contains(version) && message(&status).contains("3.2 and later"),
            "{}",
            message(&status)
        );
    }
    let (effects, _) = planned(&json!({ "size": 3, "version": "3.2.13" }), &decided());
    assert!(effects.contains(&"Pod"));
}
