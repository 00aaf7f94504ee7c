//! Pods are replaced with the content of what `restartOn` names, and keep it while it cannot be read.

use std::time::Duration;

use runtime::plan::meta::CONTENTS;

use super::*;

fn spec() -> Value {
    json!({ "image": "i:2", "replicas": 3, "restartOn": [{ "configMapRef": { "name": "settings" } }] })
}

fn digest(of: &str) -> Contents {
    Contents { digest: Some(of.to_owned()), trouble: None, due: Some(Duration::from_secs(60)) }
}

/// Three ready pods that were started with that content, of which `contents` is known now.
fn beside_pods(of: &str, contents: Contents) -> Observed {
    let status = json!({ "image": "i:2", "observedGeneration": 2 });
    let app = app(spec(), status);
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 });
    let Seen::Ours(mut live) = live(&app, rollout) else { unreachable!() };
    let view = Arc::get_mut(&mut live.view).unwrap();
    (view.template.has_defaults, view.template.contents) = (true, Some(of.into()));
    let made = Observed { contents: digest(of), ..observed(app.clone(), Seen::Absent) };
    let Effect::Apply(apply) = &plan(&made, NOW).effects[0] else { panic!("an apply comes first") };
    live.fingerprint = apply.fingerprint();
    Observed { contents, ..observed(app, Seen::Ours(live)) }
}

/// The content that pods are started with.
fn applied(plan: &Plan<MyAppStatus>) -> Option<&Value> {
    let Some(Effect::Apply(apply)) = plan.effects.first() else { return None };
    Some(&apply.body["spec"]["template"]["metadata"]["annotations"][CONTENTS])
}

#[test]
fn pods_are_replaced_once_the_content_is_another() {
    let same = plan(&beside_pods("one", digest("one")), NOW);
    assert_eq!((applied(&same), same.next), (None, Next::After(Duration::from_secs(60))));
    assert_eq!(ready(&same).0, "Running");
    let other = plan(&beside_pods("one", digest("two")), NOW);
    assert_eq!(applied(&other), Some(&json!("two")));
}

#[test]
fn what_cannot_be_read_is_told_and_replaces_no_pod() {
    let trouble = Some(("RestartSourceMissing", "restartOn: ConfigMap settings does not exist".to_owned()));
    let missing = || Contents { digest: None, trouble: trouble.clone(), due: Some(Duration::from_secs(60)) };
    let stalled = plan(&beside_pods("one", missing()), NOW);
    assert!(applied(&stalled).is_none());
    assert_eq!(
        ready(&stalled),
        ("RestartSourceMissing", "3 of 3 pods are ready; restartOn: ConfigMap settings does not exist")
    );
    assert_eq!(status(&stalled).phase, Some(Phase::Degraded));

    let made = plan(&Observed { contents: missing(), ..observed(app(spec(), json!({})), Seen::Absent) }, NOW);
    assert_eq!(applied(&made), Some(&Value::Null), "pods are made all the same");
    let unknown = Contents { digest: None, trouble: None, due: Some(Duration::from_secs(60)) };
    let silent = plan(&beside_pods("one", unknown), NOW);
    assert_eq!((applied(&silent), ready(&silent).0), (None, "Running"), "what may pass is not told");
}

#[test]
fn an_app_that_names_nothing_any_more_keeps_nothing() {
    let mut seen = beside_pods("one", Contents::default());
    seen.app = app(json!({ "image": "i:2", "replicas": 3 }), json!({ "image": "i:2", "observedGeneration": 1 }));
    assert_eq!(applied(&plan(&seen, NOW)), Some(&Value::Null));
}
