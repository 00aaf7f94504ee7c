//! Pods are replaced when the content of an object of `restartOn` changes, and stay while it cannot be read.

use std::time::Duration;

use runtime::plan::meta::CONTENTS;

use super::*;

fn spec() -> Value {
    json!({ "image": "i:2", "replicas": 3, "restartOn": [{ "configMapRef": { "name": "settings" } }] })
}

fn digest(of: &str) -> RestartContents {
    RestartContents { digest: Some(of.to_owned()), due: Some(Duration::from_secs(60)), ..RestartContents::default() }
}

/// Three ready pods that were started with that content, if `contents` is known now.
fn with_pods(of: &str, contents: RestartContents) -> Observed {
    let status = json!({ "image": "i:2", "observedGeneration": 2 });
    let app = app(spec(), status);
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 });
    let ChildState::Owned(mut live) = live(&app, rollout) else { unreachable!() };
    let view = Arc::get_mut(&mut live.view).unwrap();
    (view.template.has_defaults, view.template.contents) = (true, Some(of.into()));
    let created = Observed { contents: digest(of), ..observed(app.clone(), ChildState::Absent) };
    let Effect::Apply(apply) = &plan(&created, NOW).effects[0] else { panic!("an apply comes first") };
    live.fingerprint = apply.fingerprint();
    Observed { contents, ..observed(app, ChildState::Owned(live)) }
}

/// The content that pods are started with.
fn applied(plan: &Plan<MyAppStatus>) -> Option<&Value> {
    let Some(Effect::Apply(apply)) = plan.effects.first() else { return None };
    Some(&apply.body["spec"]["template"]["metadata"]["annotations"][CONTENTS])
}

#[test]
fn pods_are_replaced_after_a_change_of_the_content() {
    let same = plan(&with_pods("one", digest("one")), NOW);
    assert_eq!((applied(&same), same.next), (None, Requeue::After(Duration::from_secs(60))));
    assert_eq!(ready(&same).0, "Running");
    let other = plan(&with_pods("one", digest("two")), NOW);
    assert_eq!(applied(&other), Some(&json!("two")));
}

#[test]
fn an_unreadable_source_is_reported_and_replaces_no_pod() {
    let failure =
        Some((MyAppReason::RestartSourceMissing.into(), "restartOn: ConfigMap settings does not exist".to_owned()));
    let due = Some(Duration::from_secs(60));
    let missing = || RestartContents { failure: failure.clone(), due, ..RestartContents::default() };
    let stalled = plan(&with_pods("one", missing()), NOW);
    assert!(applied(&stalled).is_none());
    assert_eq!(
        ready(&stalled),
        ("RestartSourceMissing", "3 of 3 pods are ready; restartOn: ConfigMap settings does not exist")
    );
    assert_eq!(status(&stalled).phase, Some(MyAppPhase::Degraded));

    let created = plan(&Observed { contents: missing(), ..observed(app(spec(), json!({})), ChildState::Absent) }, NOW);
    assert_eq!(applied(&created), Some(&Value::Null), "pods are created anyway");
}

/// The API server has not returned the object yet.
fn unread(is_awaited: bool) -> RestartContents {
    let unread = Some(UnreadSource { source: "ConfigMap settings".to_owned(), is_awaited });
    RestartContents { unread, due: Some(Duration::from_secs(2)), ..RestartContents::default() }
}

const UNANSWERED: &str = "restartOn: waiting for the API server to return ConfigMap settings";

#[test]
fn new_pods_wait_for_an_answer_that_is_expected_soon() {
    let created = |contents| plan(&Observed { contents, ..observed(app(spec(), json!({})), ChildState::Absent) }, NOW);
    let waits = created(unread(true));
    assert_eq!((waits.effects.len(), waits.next), (0, Requeue::After(Duration::from_secs(2))));
    assert_eq!(ready(&waits), ("Progressing", &*format!("0 of 3 pods are ready; {UNANSWERED}")));
    assert!(status(&waits).contract.is_true(condition_type::RECONCILING));
    assert_eq!(applied(&created(unread(false))), Some(&Value::Null), "but not longer");
    assert_eq!(applied(&created(digest("one"))), Some(&json!("one")));
}

/// Otherwise they would be replaced twice: for the edit, and shortly afterward for the content.
#[test]
fn an_edit_waits_for_the_content_if_pods_run_without_it() {
    let edit = |contents: RestartContents, pods: Option<&str>, generation: i64| {
        let mut seen = with_pods("one", contents);
        let ChildState::Owned(live) = &mut seen.deployment else { unreachable!() };
        Arc::get_mut(&mut live.view).unwrap().template.contents = pods.map(Into::into);
        let mut spec = spec();
        spec["image"] = json!("i:3");
        seen.app = app(spec, json!({ "image": "i:2", "observedGeneration": generation }));
        plan(&seen, NOW)
    };
    let waits = edit(unread(true), None, 1);
    assert_eq!(
        (waits.effects.len(), ready(&waits)),
        (0, ("Progressing", &*format!("3 of 3 pods are ready; {UNANSWERED}")))
    );
    assert_eq!(applied(&edit(unread(true), Some("one"), 1)), Some(&json!("one")));
    assert_eq!(applied(&edit(unread(true), None, 2)), Some(&Value::Null), "the edit of another client is repaired");
    assert_eq!(applied(&edit(unread(false), None, 1)), Some(&Value::Null));
}

#[test]
fn a_new_spec_is_not_ready_while_its_content_is_unknown() {
    let silent = |is_awaited: bool, status: Value| {
        let mut seen = with_pods("one", unread(is_awaited));
        seen.app = app(spec(), status);
        plan(&seen, NOW)
    };
    for is_awaited in [true, false] {
        let new = silent(is_awaited, json!({ "image": "i:2", "observedGeneration": 1 }));
        assert!(new.effects.is_empty());
        assert_eq!(ready(&new), ("Progressing", &*format!("3 of 3 pods are ready; {UNANSWERED}")));
        let mut reported = serde_json::to_value(status(&plan(&with_pods("one", digest("one")), NOW))).unwrap();
        reported["observedGeneration"] = json!(2);
        assert_eq!(ready(&silent(is_awaited, reported)).0, "Running", "a reported Ready stays");
    }
}

#[test]
fn an_app_without_restart_on_has_no_digest() {
    let mut seen = with_pods("one", RestartContents::default());
    seen.app = app(json!({ "image": "i:2", "replicas": 3 }), json!({ "image": "i:2", "observedGeneration": 1 }));
    assert_eq!(applied(&plan(&seen, NOW)), Some(&Value::Null));
}
