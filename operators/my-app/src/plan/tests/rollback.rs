//! The way back to the last image that was Ready.

use api::my_app::RolledBack;
use jiff::Span;

use super::*;

const LATE: &str = "ReplicaSet \"a-2\" has timed out progressing.";

/// The spec of a rollout to the image `i:2`, with these fields as well.
fn spec(more: &Value) -> Value {
    let mut spec = json!({ "image": "i:2", "replicas": 3, "progressDeadlineSeconds": 10, "rollback": "Automatic" });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

/// The Deployment of a MyApp of that spec with that image, changed by us 60 s ago.
fn deployment(spec: Value, image: &str, status: Value) -> ChildState<Deployment> {
    let app = app(spec, json!({}));
    let ChildState::Owned(mut live) = live(&app, status) else { unreachable!() };
    live.fingerprint = objects::deployment(&app, image).fingerprint();
    let view = Arc::get_mut(&mut live.view).unwrap();
    (view.applied, view.has_pace) = (Some(NOW - 60.seconds()), true);
    view.template.made = template(&app, image);
    ChildState::Owned(live)
}

/// A rollout whose Deployment says since then that the deadline has passed, of a MyApp with that status.
fn stuck(more: &Value, status: Value, since: Span) -> Observed {
    let late = json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": LATE,
        "lastTransitionTime": (NOW - since).to_string() }]);
    let rollout = json!({ "observedGeneration": 2, "replicas": 4, "updatedReplicas": 1, "readyReplicas": 3,
        "conditions": late });
    let mut observed = observed(app(spec(more), status), deployment(spec(more), "i:2", rollout));
    observed.failing_pods = vec![("a-2".into(), trouble(PodReason::ImagePullBackOff, true))];
    observed
}

fn was_ready() -> Value {
    json!({ "image": "i:1" })
}

/// A MyApp that has given up `i:2` in that generation, beside 3 ready pods of `image` with that spec.
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
fn past_the_deadline_the_image_is_given_up_first_and_the_one_before_applied_then() {
    let first = plan(&stuck(&json!({}), was_ready(), 1.second()), NOW);
    let from = status(&first).rolled_back_from.clone();
    let message = "pod a-2: why".to_owned();
    assert_eq!(from, Some(RolledBack { image: "i:2".to_owned(), generation: 2, message }));
    assert_eq!((images(&first).len(), first.next), (0, Requeue::After(std::time::Duration::from_millis(1))));
    let words = "3 of 3 pods are ready; rolled back to i:1: i:2 made no progress for 10 s (progressDeadlineSeconds): \
                 pod a-2: why; change the spec to try again";
    assert_eq!((ready(&first), status(&first).phase), (("RolledBack", words), Some(Phase::Degraded)));
    assert!(status(&first).contract.is_true(condition_type::STALLED));

    let told = serde_json::to_value(status(&first)).unwrap();
    let then = plan(&stuck(&json!({}), told.clone(), 1.second()), NOW);
    assert_eq!((images(&then), ready(&then).1), (vec!["\"i:1\"".to_owned()], words));
    let back = plan(&given_up(&json!({}), 2, "i:1", &json!({})), NOW);
    assert_eq!((images(&back).len(), back.next), (0, Requeue::OnChange), "it stays there");
    assert_eq!((ready(&back), status(&back).image.as_deref()), (("RolledBack", words), Some("i:1")));
}

#[test]
fn an_image_is_given_up_by_its_own_deadline_alone() {
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
    // A condition that is older than what was applied last tells of another template, until this one has had its time.
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
fn a_deadline_that_an_earlier_template_has_exceeded_is_no_failure_of_this_one() {
    let late = json!({ "progressDeadlineSeconds": 100, "rollback": "None" });
    let mut observed = stuck(&late, was_ready(), 60.seconds());
    observed.failing_pods.clear();
    assert_eq!(ready(&plan(&observed, NOW)), ("Progressing", "3 of 3 pods are ready; pods are being replaced"));
    let mut observed = stuck(&late, was_ready(), 59.seconds());
    observed.failing_pods.clear();
    assert_eq!(ready(&plan(&observed, NOW)).0, "ProgressDeadlineExceeded");
    // Nor is it one where all pods serve, as after an edit of somebody's that was put back.
    let ChildState::Owned(live) = &mut observed.deployment else { unreachable!() };
    let rollout = &mut Arc::get_mut(&mut live.view).unwrap().rollout;
    (rollout.replicas, rollout.updated_replicas, rollout.ready_replicas) = (3, 3, 3);
    assert_eq!(ready(&plan(&observed, NOW)).0, "Running");
}

#[test]
fn another_number_of_pods_is_no_new_try_and_any_other_change_of_them_is() {
    let nothing = json!({});
    let scaled = plan(&given_up(&json!({ "replicas": 5 }), 1, "i:1", &nothing), NOW);
    assert_eq!((images(&scaled), ready(&scaled).0), (vec!["\"i:1\"".to_owned()], "RolledBack"));
    assert_eq!(status(&scaled).rolled_back_from.as_ref().map(|from| from.generation), Some(2));
    let early = plan(&given_up(&json!({ "replicas": 5 }), 1, "i:2", &nothing), NOW);
    assert_eq!(images(&early), ["\"i:1\""], "between the two passes, too");
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
        assert_eq!(status(&tried).phase, Some(Phase::Progressing), "{change}");
    }
    let good = plan(&given_up(&json!({ "image": "i:1" }), 1, "i:1", &nothing), NOW);
    assert_eq!((images(&good).len(), status(&good).phase), (0, Some(Phase::Running)));
}

#[test]
fn what_ails_the_pods_that_came_back_is_told_as_well() {
    let mut observed = given_up(&json!({}), 2, "i:1", &json!({}));
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 2 });
    observed.deployment = deployment(spec(&json!({})), "i:1", rollout);
    observed.failing_pods = stuck(&json!({}), json!({}), 1.second()).failing_pods;
    let told = plan(&observed, NOW);
    assert!(
        ready(&told).1.starts_with("2 of 3 pods are ready; pod a-2: why; rolled back to i:1: "),
        "{:?}",
        ready(&told)
    );
    observed.deployment = ChildState::Absent;
    assert_eq!(images(&plan(&observed, NOW)), ["\"i:1\""], "a Deployment that was deleted comes back with it");
}

/// It would be taken for the one to return to.
#[test]
fn an_image_that_no_pod_has_run_is_not_the_last_that_was_ready() {
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
