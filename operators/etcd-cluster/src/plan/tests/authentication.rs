//! Users of etcd by `spec.authentication`.

use super::members::{NAMES, after, message, three, touches_nothing};
use super::*;

const WITH_USERS: &str = r#"{ "size": 3, "authentication": { "rootSecret": "web-root" } }"#;

fn three_with_users(authentication: Authentication) -> Observed {
    let mut seen = three(&serde_json::from_str(WITH_USERS).unwrap());
    seen.etcd.authentication = authentication;
    seen
}

/// Whether a plan turns authentication on or off.
fn sets(seen: &Observed) -> Option<bool> {
    let plan = after(seen, 60);
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Act(EtcdAct::Change { change: EtcdChange::SetAuthentication { on }, .. }) => Some(*on),
        _ => None,
    })
}

#[test]
fn authentication_is_as_the_spec_says_once_all_members_are_healthy() {
    let mut seen = three_with_users(Authentication::Off);
    assert_eq!(sets(&seen), Some(true));
    let ready = after(&seen, 60).status.unwrap();
    assert_eq!(message(&ready), "3 of 3 members are ready; turning the authentication of etcd on");
    seen.etcd.alarms = vec![(1, Alarm::NoSpace)];
    assert_eq!(sets(&seen), None, "etcd takes no write");
    seen.etcd.alarms.clear();
    seen.etcd.endpoints.insert(NAMES[1].into(), Err("cannot be reached".to_owned()));
    assert_eq!(sets(&seen), None);
    for known in [Authentication::On, Authentication::Unknown] {
        assert_eq!(sets(&three_with_users(known)), None);
    }
    let cluster = |enabled: bool| {
        let mut seen = three(&json!({ "size": 3, "authentication": { "rootSecret": "web-root", "enabled": enabled } }));
        seen.etcd.authentication = Authentication::On;
        seen
    };
    assert_eq!((sets(&cluster(true)), sets(&cluster(false))), (None, Some(false)));
    let mut unasked = three(&json!({ "size": 3 }));
    unasked.etcd.authentication = Authentication::On;
    assert_eq!(sets(&unasked), None, "what the spec does not ask for stays as it is");
}

#[test]
fn a_secret_that_cannot_be_used_is_reported_and_touches_nothing() {
    for (known, refused) in [(Authentication::Off, "RootSecretInvalid"), (Authentication::On, "RootSecretInvalid")] {
        let mut seen = three_with_users(known);
        seen.root_unusable = Some("the Secret web-root does not exist".to_owned());
        let plan = after(&seen, 60);
        assert!(touches_nothing(&plan));
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, refused.to_owned()));
    }
    let rejected = Authentication::RootRejected("rejects the password of root: authentication failed".to_owned());
    let plan = after(&three_with_users(rejected), 60);
    assert!(touches_nothing(&plan));
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "AuthenticationRequired".to_owned()));
    assert!(message(&status).contains("correct the Secret web-root"), "{}", message(&status));
    assert_eq!(reason(&status, "QuorumHealthy").0, ConditionStatus::True);
}
