//! Options of etcd for which volumes are too small.

use super::members::{after, message, three};
use super::*;
use crate::plan::options::remove_refused;

/// The same members after a change of the spec.
fn changed(mut seen: Observed, spec: &Value) -> Observed {
    let cluster = Arc::get_mut(&mut seen.cluster).unwrap();
    cluster.spec = serde_json::from_value(spec.clone()).unwrap();
    remove_refused(&mut seen);
    seen
}

/// The message about a spec of an existing cluster.
fn said(spec: &Value) -> Option<String> {
    changed(three(&json!({ "size": 3 })), spec).options_refused
}

fn env(name: &str, value: &Value) -> Value {
    json!({ "size": 3, "pod": { "etcdEnv": [{ "name": name, "value": value }] } })
}

/// The arguments and variables of a pod that is created now.
fn command(seen: &Observed) -> Vec<String> {
    let desired = desired::Desired::of(seen, &MemberSet::of(seen, Timestamp::UNIX_EPOCH), true);
    let pod = objects::pod(seen, &seen.cluster, &desired, "c-dddddddddd", InitialState::Existing).body.to_string();
    let pod: Value = serde_json::from_str(&pod).unwrap();
    let etcd = &pod["spec"]["containers"][0];
    let arguments = etcd["command"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap().to_owned());
    arguments.chain(etcd["env"].as_array().unwrap().iter().map(|env| env["name"].to_string())).collect()
}

#[test]
fn without_a_bound_nothing_is_created() {
    for spec in [
        json!({ "size": 3, "options": { "max-wals": "0" } }),
        json!({ "size": 3, "options": { "max-snapshots": "0x0" } }),
        json!({ "size": 3, "options": { "max-wals": "0" }, "storage": { "ephemeral": true } }),
        env("ETCD_MAX_WALS", &json!("00")),
    ] {
        let mut seen = observed(&spec, &decided());
        remove_refused(&mut seen);
        let plan = after(&seen, 0);
        assert!(plan.effects.is_empty() && plan.independent.is_empty(), "{spec}: {:?}", plan.effects);
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "OptionRefused".to_owned()));
        assert!(message(&status).contains("set it to 1 or more, or omit it; until then nothing is created"), "{spec}");
    }
}

#[test]
fn running_members_keep_their_pods() {
    for before in [json!({}), json!({ "max-wals": "7" }), json!({ "max-wals": "0" })] {
        let seen = three(&json!({ "size": 3, "options": before }));
        let seen = changed(seen, &json!({ "size": 3, "options": { "max-wals": "0", "log-level": "debug" } }));
        assert!(pod_to_dry_run(&seen, Timestamp::UNIX_EPOCH).is_none(), "no other pod is to come");
        let plan = after(&seen, 60);
        let is_pod = |effect: &&Effect<EtcdAct>| match effect {
            Effect::Delete(_) => true,
            Effect::Create(create) => create.kind.kind == "Pod",
            _ => false,
        };
        assert_eq!(plan.effects.iter().find(is_pod), None, "{before}");
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "OptionRefused".to_owned()));
        assert_eq!(
            message(&status),
            "spec.options max-wals is 0, with which etcd keeps every file of its log until the volume is full; set it to 1 or \
             more, or omit it; until then members keep their pods"
        );
    }
}

#[test]
fn the_version_does_not_change_meanwhile() {
    let spec = json!({ "size": 3, "version": "3.6.17", "options": { "max-wals": "0" } });
    let seen = changed(three(&json!({ "size": 3 })), &spec);
    let touches = |effect: &&Effect<EtcdAct>| match effect {
        Effect::Apply(apply) => apply.kind.kind == "Pod",
        Effect::Create(_) | Effect::Delete(_) => true,
        Effect::Act(_) => false,
    };
    assert_eq!(after(&seen, 60).effects.iter().find(touches), None);
}

#[test]
fn a_value_that_fits_is_rolled_out() {
    let seen = three(&json!({ "size": 3 }));
    let correct = changed(seen, &json!({ "size": 3, "options": { "max-wals": "7" } }));
    assert!(
        correct.options_refused.is_none() && pod_to_dry_run(&correct, Timestamp::UNIX_EPOCH).is_some(),
        "it is rolled"
    );
}

#[test]
fn a_new_member_does_not_get_the_option() {
    let options = json!({ "max-wals": "0", "log-level": "debug" });
    let seen = changed(three(&json!({ "size": 3 })), &json!({ "size": 4, "options": options }));
    let command = command(&seen);
    assert!(command.iter().any(|word| word == "--log-level=debug"), "{command:?}");
    assert!(!command.iter().any(|word| word.contains("max-wals")), "{command:?}");
    let seen = changed(three(&json!({ "size": 3 })), &env("ETCD_MAX_SNAPSHOTS", &json!("0")));
    assert!(!self::command(&seen).iter().any(|word| word.contains("MAX_SNAPSHOTS")));
}

#[test]
fn as_many_files_as_fit_together_with_the_database_are_accepted() {
    let wals = |wals: &str, more: &Value| {
        let mut spec = json!({ "size": 3, "options": { "max-wals": wals } });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        said(&spec)
    };
    let of = |size: &str| json!({ "storage": { "size": size } });
    assert_eq!(["1", "5", "7", "9"].map(|files| wals(files, &of("1Gi"))), [const { None }; 4]);
    let why = wals("1000", &of("1Gi")).unwrap();
    assert!(
        why.contains(
            "of 64.0 MiB each, do not fit a volume of 1.0 GiB together with the database; set it to 9 or less"
        ),
        "{why}"
    );
    assert!(wals("10", &of("1Gi")).is_some() && wals("10", &of("2Gi")).is_none());
    assert!(wals("12", &json!({ "quota": "64Mi" })).is_none(), "a smaller database leaves more");
    assert!(wals("5", &of("64Mi")).is_none(), "etcd's default is never refused");
    assert!(
        said(&env("ETCD_MAX_WALS", &json!("1000"))).unwrap().starts_with("ETCD_MAX_WALS in spec.pod.etcdEnv is 1000,")
    );
    let mut in_pods = observed(
        &json!({ "size": 3, "options": { "max-wals": "1000" }, "storage": { "ephemeral": true } }),
        &EtcdClusterStatus { storage: Some(EtcdStorageStatus { durable: false }), ..bootstrapped() },
    );
    remove_refused(&mut in_pods);
    assert_eq!(in_pods.options_refused, None, "no volume, no bound");
}

#[test]
fn a_value_that_is_no_number_is_left_to_etcd() {
    for value in ["many", "-1", ""] {
        assert_eq!(said(&json!({ "size": 3, "options": { "max-wals": value } })), None);
    }
    assert_eq!(said(&env("ETCD_MAX_WALS", &Value::Null)), None, "its value is not to be seen");
    assert_eq!(said(&json!({ "size": 3, "options": { "max-snapshots": "1000" } })), None, "they are small");
}
