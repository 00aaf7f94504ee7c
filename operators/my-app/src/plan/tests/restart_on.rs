//! Pods are replaced with the content of what `restartOn` names, and keep it while it cannot be read.

use std::time::Duration;

use runtime::plan::meta::CONTENTS;

use super::*;

fn spec() -> Value {
    json!({ "image": "i:2", "replicas": 3, "restartOn": [{ "configMapRef": { "name": "settings" } }] })
}

fn digest(of: &str) -> Contents {
    Contents { digest: Some(of.to_owned()), due: Some(Duration::from_secs(60)), ..Contents::default() }
}

/// Three ready pods that were started with that content, of which `contents` is known now.
fn beside_pods(of: &str, contents: Contents) -> Observed {
    let status = json!({ "image": "i:2", "observedGeneration": 2 });
    let app = app(spec(), status);
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 });
    let ChildState::Owned(mut live) = live(&app, rollout) else { unreachable!() };
    let view = Arc::get_mut(&mut live.view).unwrap();
    (view.template.has_defaults, view.template.contents) = (true, Some(of.into()));
    let made = Observed { contents: digest(of), ..observed(app.clone(), ChildState::Absent) };
    let Effect::Apply(apply) = &plan(&made, NOW).effects[0] else { panic!("an apply comes first") };
    live.fingerprint = apply.fingerprint();
    Observed { contents, ..observed(app, ChildState::Owned(live)) }
}

/// The content that pods are started with.
fn applied(plan: &Plan<MyAppStatus>) -> Option<&Value> {
    let Some(Effect::Apply(apply)) = plan.effects.first() else { return None };
    Some(&apply.body["spec"]["template"]["metadata"]["annotations"][CONTENTS])
}

#[test]
fn pods_are_replaced_once_the_content_is_another() {
    let same = plan(&beside_pods("one", digest("one")), NOW);
    assert_eq!((applied(&same), same.next), (None, Requeue::After(Duration::from_secs(60))));
    assert_eq!(ready(&same).0, "Running");
    let other = plan(&beside_pods("one", digest("two")), NOW);
    assert_eq!(applied(&other), Some(&json!("two")));
}

#[test]
fn what_cannot_be_read_is_told_and_replaces_no_pod() {
    let failure =
        Some((MyAppReason::RestartSourceMissing.into(), "restartOn: ConfigMap settings does not exist".to_owned()));
    let due = Some(Duration::from_secs(60));
    let missing = || Contents { failure: failure.clone(), due, ..Contents::default() };
    let stalled = plan(&beside_pods("one", missing()), NOW);
    assert!(applied(&stalled).is_none());
    assert_eq!(
        ready(&stalled),
        ("RestartSourceMissing", "3 of 3 pods are ready; restartOn: ConfigMap settings does not exist")
    );
    assert_eq!(status(&stalled).phase, Some(Phase::Degraded));

    let made = plan(&Observed { contents: missing(), ..observed(app(spec(), json!({})), ChildState::Absent) }, NOW);
    assert_eq!(applied(&made), Some(&Value::Null), "pods are made all the same");
}

/// That waiting for the API server to return it.
fn unread(is_awaited: bool) -> Contents {
    let unread = Some(Unread { source: "ConfigMap settings".to_owned(), is_awaited });
    Contents { unread, due: Some(Duration::from_secs(2)), ..Contents::default() }
}

const SILENT: &str = "restartOn: waiting for the API server to return ConfigMap settings";

#[test]
fn pods_that_are_yet_to_be_made_wait_for_an_answer_that_is_on_its_way() {
    let made = |contents| plan(&Observed { contents, ..observed(app(spec(), json!({})), ChildState::Absent) }, NOW);
    let waits = made(unread(true));
    assert_eq!((waits.effects.len(), waits.next), (0, Requeue::After(Duration::from_secs(2))));
    assert_eq!(ready(&waits), ("Progressing", &*format!("0 of 3 pods are ready; {SILENT}")));
    assert!(status(&waits).contract.is_true(condition_type::RECONCILING));
    assert_eq!(applied(&made(unread(false))), Some(&Value::Null), "but for no longer");
    assert_eq!(applied(&made(digest("one"))), Some(&json!("one")));
}

/// Else they would be replaced twice: for the edit, and a moment later for the content.
#[test]
fn an_edit_waits_for_it_where_pods_have_been_started_without_content() {
    let edit = |contents: Contents, pods: Option<&str>, generation: i64| {
        let mut seen = beside_pods("one", contents);
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
        (0, ("Progressing", &*format!("3 of 3 pods are ready; {SILENT}")))
    );
    assert_eq!(applied(&edit(unread(true), Some("one"), 1)), Some(&json!("one")));
    assert_eq!(applied(&edit(unread(true), None, 2)), Some(&Value::Null), "an edit by hand is put back");
    assert_eq!(applied(&edit(unread(false), None, 1)), Some(&Value::Null));
}

#[test]
fn a_new_spec_is_not_ready_while_it_is_not_known_what_its_pods_are_to_be_started_with() {
    let silent = |is_awaited: bool, status: Value| {
        let mut seen = beside_pods("one", unread(is_awaited));
        seen.app = app(spec(), status);
        plan(&seen, NOW)
    };
    for is_awaited in [true, false] {
        let new = silent(is_awaited, json!({ "image": "i:2", "observedGeneration": 1 }));
        assert!(new.effects.is_empty());
        assert_eq!(ready(&new), ("Progressing", &*format!("3 of 3 pods are ready; {SILENT}")));
        let mut told = serde_json::to_value(status(&plan(&beside_pods("one", digest("one")), NOW))).unwrap();
        told["observedGeneration"] = json!(2);
        assert_eq!(ready(&silent(is_awaited, told)).0, "Running", "what has been said is not taken back");
    }
}

#[test]
fn an_app_that_names_nothing_any_more_keeps_nothing() {
    let mut seen = beside_pods("one", Contents::default());
    seen.app = app(json!({ "image": "i:2", "replicas": 3 }), json!({ "image": "i:2", "observedGeneration": 1 }));
    assert_eq!(applied(&plan(&seen, NOW)), Some(&Value::Null));
}
