//! Rollback to the last image that was Ready.

use api::my_app::RolledBack;
use jiff::Span;

use super::*;

const DEADLINE_MESSAGE: &str = "ReplicaSet \"a-2\" has timed out progressing.";

/// The spec of a rollout to the image `i:2`, with additional fields.
fn spec(more: &Value) -> Value {
    let mut spec = json!({ "image": "i:2", "replicas": 3, "progressDeadlineSeconds": 10, "rollback": "Automatic" });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

/// The Deployment of a MyApp with that spec and image, which the operator changed 60 s ago.
fn deployment(spec: Value, image: &str, status: Value) -> ChildState<Deployment> {
    let app = app(spec, json!({}));
    let ChildState::Owned(mut live) = live(&app, status) else { unreachable!() };
    live.fingerprint = objects::deployment(&app, image).fingerprint();
    let view = Arc::get_mut(&mut live.view).unwrap();
    (view.applied, view.has_pace) = (Some(NOW - 60.seconds()), true);
    view.template.created = template(&app, image);
    ChildState::Owned(live)
}

/// A rollout of a MyApp with that status, whose Deployment reports since then that the deadline has passed.
fn stuck(more: &Value, status: Value, since: Span) -> Observed {
    let late = json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": DEADLINE_MESSAGE,
        "lastTransitionTime": (NOW - since).to_string() }]);
    let rollout = json!({ "observedGeneration": 2, "replicas": 4, "updatedReplicas": 1, "readyReplicas": 3,
        "conditions": late });
    let mut observed = observed(app(spec(more), status), deployment(spec(more), "i:2", rollout));
    observed.failing_pods = vec![("a-2".into(), diagnosis(PodReason::ImagePullBackOff, true))];
    observed
}

fn was_ready() -> Value {
    json!({ "image": "i:1" })
}

/// A MyApp that has given up `i:2` in that generation, with 3 ready pods of `image` and the spec `runs`.
fn given_up(more: &Value, generation: i64, image: &str, runs: &Value) -> Observed {
    let from = json!({ "image": "i:2", "generation": generation, "message": "pod a-2: why" });
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 });
    let app = app(spec(more), json!({ "image": "i:1", "rolledBackFrom": from }));
    observed(app, deployment(spec(runs), image, rollout))
}

/// The images that a plan applies.
fn images(plan: &Plan<MyAppStatus>) -> Vec<String> {
    let of = |effect: &Effect| match effect {
        Effect::Apply(apply) => apply.body["spec"]["template"]["spec"]["containers"][0]["image"].to_string(),
        other => panic!("{other:?}"),
    };
    plan.effects.iter().map(of).collect()
}

#[test]
fn after_the_deadline_the_status_reports_the_rollback_before_the_previous_image_is_applied() {
    let first = plan(&stuck(&json!({}), was_ready(), 1.second()), NOW);
    let from = status(&first).rolled_back_from.clone();
    let message = "pod a-2: why".to_owned();
    assert_eq!(from, Some(RolledBack { image: "i:2".to_owned(), generation: 2, message }));
    assert_eq!((images(&first).len(), first.next), (0, Requeue::After(std::time::Duration::from_millis(1))));
    let message = "3 of 3 pods are ready; rolled back to i:1: i:2 made no progress for 10 s (progressDeadlineSeconds): \
                 pod a-2: why; change the spec to try again";
    assert_eq!((ready(&first), status(&first).phase), (("RolledBack", message), Some(MyAppPhase::Degraded)));
    assert!(status(&first).contract.is_true(condition_type::STALLED));

    let reported = serde_json::to_value(status(&first)).unwrap();
    let then = plan(&stuck(&json!({}), reported.clone(), 1.second()), NOW);
    assert_eq!((images(&then), ready(&then).1), (vec!["\"i:1\"".to_owned()], message));
    let back = plan(&given_up(&json!({}), 2, "i:1", &json!({})), NOW);
    assert_eq!((images(&back).len(), back.next), (0, Requeue::OnChange), "it stays rolled back");
    assert_eq!((ready(&back), status(&back).image.as_deref()), (("RolledBack", message), Some("i:1")));
}

#[test]
fn an_image_is_given_up_only_after_its_own_deadline() {
    let none = |more: &Value, status: Value, since: Span| {
        let plan = plan(&stuck(more, status, since), NOW);
        assert_eq!(super::status(&plan).rolled_back_from, None);
        ready(&plan).1.to_owned()
    };
    let stalled = "3 of 3 pods are ready; pod a-2: why";
    assert_eq!(none(&json!({ "rollback": "None" }), was_ready(), 1.second()), stalled);
    assert!(none(&json!({}), json!({}), 1.second()).contains("no image of this MyApp has been Ready yet"));
    assert!(none(&json!({}), json!({ "image": "i:2" }), 1.second()).contains("this image was Ready before"));
    assert!(none(&json!({ "paused": true }), was_ready(), 1.second()).starts_with("paused"));
    // A condition that is older than the last apply is about an earlier template, until the deadline of the current one has passed.
    let late = json!({ "progressDeadlineSeconds": 100 });
    assert_eq!(none(&late, was_ready(), 61.seconds()), stalled);
    assert_eq!(
        plan(&stuck(&late, was_ready(), 61.seconds()), NOW).next,
        Requeue::After(std::time::Duration::from_secs(40))
    );
    let had = plan(&stuck(&json!({}), was_ready(), 61.seconds()), NOW);
    assert!(super::status(&had).rolled_back_from.is_some());
}

#[test]
fn the_exceeded_deadline_of_an_earlier_template_does_not_count() {
    let late = json!({ "progressDeadlineSeconds": 100, "rollback": "None" });
    let mut observed = stuck(&late, was_ready(), 60.seconds());
    observed.failing_pods.clear();
    assert_eq!(ready(&plan(&observed, NOW)), ("Progressing", "3 of 3 pods are ready; pods are being replaced"));
    let mut observed = stuck(&late, was_ready(), 59.seconds());
    observed.failing_pods.clear();
    assert_eq!(ready(&plan(&observed, NOW)).0, "ProgressDeadlineExceeded");
    // Nor does it count if all pods serve, as after the repair of an edit.
    let ChildState::Owned(live) = &mut observed.deployment else { unreachable!() };
    let rollout = &mut Arc::get_mut(&mut live.view).unwrap().rollout;
    (rollout.replicas, rollout.updated_replicas, rollout.ready_replicas) = (3, 3, 3);
    assert_eq!(ready(&plan(&observed, NOW)).0, "Running");
}

#[test]
fn a_change_of_replicas_alone_does_not_retry_the_image() {
    let nothing = json!({});
    let scaled = plan(&given_up(&json!({ "replicas": 5 }), 1, "i:1", &nothing), NOW);
    assert_eq!((images(&scaled), ready(&scaled).0), (vec!["\"i:1\"".to_owned()], "RolledBack"));
    assert_eq!(status(&scaled).rolled_back_from.as_ref().map(|from| from.generation), Some(2));
    let early = plan(&given_up(&json!({ "replicas": 5 }), 1, "i:2", &nothing), NOW);
    assert_eq!(images(&early), ["\"i:1\""], "also between the two reconciles");
    for change in [
        json!({ "image": "i:3" }),
        json!({ "env": [{ "name": "A" }] }),
        json!({ "progressDeadlineSeconds": 60 }),
        json!({ "rollback": "None" }),
        json!({ "image": "i:1", "args": ["-v"] }),
    ] {
        let tried = plan(&given_up(&change, 1, "i:1", &nothing), NOW);
        let image = change["image"].as_str().unwrap_or("i:2");
        assert_eq!(
            (images(&tried), status(&tried).rolled_back_from.clone()),
            (vec![format!("{image:?}")], None),
            "{change}"
        );
        assert_eq!(status(&tried).phase, Some(MyAppPhase::Progressing), "{change}");
    }
    let good = plan(&given_up(&json!({ "image": "i:1" }), 1, "i:1", &nothing), NOW);
    assert_eq!((images(&good).len(), status(&good).phase), (0, Some(MyAppPhase::Running)));
}

#[test]
fn failures_of_pods_after_a_rollback_are_reported_too() {
    let mut observed = given_up(&json!({}), 2, "i:1", &json!({}));
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 2 });
    observed.deployment = deployment(spec(&json!({})), "i:1", rollout);
    observed.failing_pods = stuck(&json!({}), json!({}), 1.second()).failing_pods;
    let reported = plan(&observed, NOW);
    assert!(
        ready(&reported).1.starts_with("2 of 3 pods are ready; pod a-2: why; rolled back to i:1: "),
        "{:?}",
        ready(&reported)
    );
    observed.deployment = ChildState::Absent;
    assert_eq!(images(&plan(&observed, NOW)), ["\"i:1\""], "a deleted Deployment is recreated with it");
}

/// Otherwise a rollback would return to it.
#[test]
fn an_image_without_pods_does_not_count_as_ready() {
    let image = |replicas: i32, before: Value| {
        let app = app(json!({ "image": "i:2", "replicas": replicas }), before);
        let rollout = json!({ "observedGeneration": 2, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas });
        let deployment = live(&app, rollout);
        let ready = plan(&observed(app, deployment), NOW);
        assert!(status(&ready).contract.is_true(condition_type::READY));
        status(&ready).image.clone()
    };
    assert_eq!(image(0, was_ready()).as_deref(), Some("i:1"));
    assert_eq!(image(0, json!({})), None);
    assert_eq!(image(3, was_ready()).as_deref(), Some("i:2"));
}
