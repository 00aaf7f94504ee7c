//! An autoscaler of the MyApp's own, and who decides on the number of pods meanwhile.

use api::my_app::SCALING_ACTIVE;
use runtime::plan::Requeue;
use runtime::projections::Autoscaler;

use super::*;

pub(super) fn scaled(min: i32, max: i32) -> Arc<MyApp> {
    app(json!({ "image": "i:2", "autoscaling": { "min": min, "max": max } }), json!({ "observedGeneration": 2 }))
}

/// The autoscaler that `app` asks for, of which its controller says that.
pub(super) fn autoscaler(app: &MyApp, conditions: Value) -> ChildState<Autoscaler> {
    let mut object = objects::autoscaler(app).unwrap().body;
    let fingerprint = objects::autoscaler(app).unwrap().fingerprint();
    object["metadata"]["uid"] = json!("h");
    object["metadata"]["generation"] = json!(3);
    let (observed, conditions) = match conditions.get("of") {
        Some(of) => (of.clone(), conditions["conditions"].clone()),
        None => (Value::Null, conditions),
    };
    object["status"] = json!({ "observedGeneration": observed, "conditions": conditions });
    ChildState::Owned(OwnedChild { fingerprint, view: Arc::new(Autoscaler::decode(&object.to_string()).unwrap()) })
}

/// A Deployment of so many pods, all ready, whose number is ours or not.
fn pods(app: &MyApp, number: i32, owns_replicas: bool) -> ChildState<Deployment> {
    let counts =
        json!({ "observedGeneration": 2, "replicas": number, "updatedReplicas": number, "readyReplicas": number });
    let ChildState::Owned(mut deployment) = live(app, counts) else { unreachable!() };
    let view = Arc::get_mut(&mut deployment.view).unwrap();
    (view.replicas, view.owns_replicas) = (number, owns_replicas);
    ChildState::Owned(deployment)
}

pub(super) fn kinds(plan: &Plan<MyAppStatus>) -> Vec<String> {
    let word = |effect: &Effect| match effect {
        Effect::Apply(apply) => match apply.hand_over {
            Some(_) => format!("{} pods", apply.body["spec"]["replicas"]),
            None => format!("apply {}", apply.kind.kind),
        },
        Effect::Delete(delete) => format!("delete {}", delete.kind.kind),
        other => panic!("{other:?}"),
    };
    let aside = plan.independent.iter().map(|apply| format!("aside {}", apply.kind.kind));
    plan.effects.iter().map(word).chain(aside).collect()
}

#[test]
fn targets_are_percentages_or_averages_and_metrics_are_passed_on() {
    let metrics = |autoscaling: Value| {
        let app = app(json!({ "image": "i", "autoscaling": autoscaling }), json!({}));
        objects::autoscaler(&app).unwrap().body["spec"]["metrics"].clone()
    };
    let of = |name: &str, target: Value| json!({ "type": "Resource", "resource": { "name": name, "target": target } });
    let percent = |name, percent: i32| of(name, json!({ "type": "Utilization", "averageUtilization": percent }));
    assert_eq!(metrics(json!({ "max": 3 })), json!([percent("cpu", 80)]));
    assert_eq!(metrics(json!({ "max": 3, "cpu": 50 })), metrics(json!({ "max": 3, "cpu": "50%" })));
    let average = of("memory", json!({ "type": "AverageValue", "averageValue": "256Mi" }));
    let queue = json!({ "type": "External", "external": { "metric": { "name": "jobs" }, "target": { "type": "Value", "value": 3 } } });
    let both = metrics(json!({ "max": 3, "memory": "256Mi", "metrics": [queue] }));
    assert_eq!(both, json!([average, queue]), "nothing is added to what is given");
}

/// They are the one field that is read as it is, so what is no metric would cost the manager's memory.
#[test]
fn metrics_of_no_size_for_a_metric_are_not_read_and_leave_the_autoscaler_as_it_is() {
    let with =
        |metrics: Value| app(json!({ "image": "i:2", "autoscaling": { "max": 5, "metrics": metrics } }), json!({}));
    let pod = json!({ "type": "Pods", "pods": { "metric": { "name": "jobs" } } });
    let large = json!({ "type": "Pods", "x": vec![json!({ "a": 1 }); 2000] });
    let deep = format!("{{\"type\": \"Pods\", \"x\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let before = autoscaler(&with(json!([pod])), json!([]));
    let app = with(json!([pod, large]));
    let planned = plan(&Observed { autoscaler: before, ..observed(app.clone(), pods(&app, 3, false)) }, NOW);
    assert_eq!(kinds(&planned), [""; 0]);
    let told = status(&planned).contract.condition(SCALING_ACTIVE).unwrap();
    assert_eq!((told.status, &*told.reason), (ConditionStatus::False, "MetricsInvalid"));
    let words = "spec.autoscaling.metrics[1]: 16021 bytes of JSON exceed the limit of 8192; remove what is not part of a metric; \
                 the HorizontalPodAutoscaler is neither created nor changed";
    assert_eq!(told.message, words);
    assert_eq!((ready(&planned).0, planned.events.len()), ("Running", 1), "its pods serve");
    for (min, max) in [(4, 5), (1, 2)] {
        let spec = json!({ "image": "i:2", "autoscaling": { "min": min, "max": max, "metrics": [large] } });
        let app = super::app(spec, json!({}));
        let out_of_bounds = plan(&observed(app.clone(), pods(&app, 3, false)), NOW);
        assert!(status(&out_of_bounds).contract.is_true(condition_type::STALLED));
        assert_eq!(ready(&out_of_bounds).0, "MetricsInvalid", "nobody brings it there");
    }
    let text = json!({ "metadata": { "name": "a", "namespace": "n", "uid": "u", "generation": 2 }, "spec": { "image": "i:2", "autoscaling": { "max": 5, "metrics": [0] } } });
    let deep = Arc::new(MyApp::decode(&text.to_string().replace("[0]", &format!("[{deep}]"))).unwrap());
    let told = plan(&observed(deep.clone(), pods(&deep, 3, false)), NOW);
    let told = status(&told).contract.condition(SCALING_ACTIVE).unwrap().message.clone();
    assert!(told.starts_with("spec.autoscaling.metrics[0]: recursion limit exceeded"), "{told}");
}

#[test]
fn a_rollout_beside_metrics_that_cannot_be_read_is_progressing() {
    let large = json!({ "type": "Pods", "x": vec![json!({ "a": 1 }); 2000] });
    let app = app(json!({ "image": "i:2", "autoscaling": { "max": 5, "metrics": [large] } }), json!({}));
    let ChildState::Owned(mut deployment) = pods(&app, 3, false) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().rollout.updated_replicas = 1;
    let planned = plan(&observed(app, ChildState::Owned(deployment)), NOW);
    assert_eq!(ready(&planned).0, "Progressing", "the number of pods is within the bounds");
    assert_eq!(status(&planned).contract.condition(SCALING_ACTIVE).unwrap().reason, MyAppReason::MetricsInvalid);
}

#[test]
fn the_number_stays_when_an_autoscaler_comes_and_when_it_goes() {
    let with = scaled(1, 10);
    let comes = plan(&observed(with.clone(), pods(&with, 4, true)), NOW);
    assert_eq!(kinds(&comes), ["4 pods", "aside HorizontalPodAutoscaler"]);
    let after = Observed { autoscaler: autoscaler(&with, json!([])), ..observed(with.clone(), pods(&with, 4, false)) };
    assert_eq!(kinds(&plan(&after, NOW)), [""; 0]);

    let without = app(json!({ "image": "i:2", "replicas": 4 }), json!({}));
    let unset = objects::deployment(&with, "i:2").fingerprint();
    let ChildState::Owned(mut deployment) = pods(&without, 4, false) else { unreachable!() };
    deployment.fingerprint = unset;
    let goes = observed(without, ChildState::Owned(deployment));
    let goes = plan(&Observed { autoscaler: autoscaler(&with, json!([])), ..goes }, NOW);
    // In this order: else the autoscaler could take back what is asked for.
    assert_eq!(kinds(&goes), ["delete HorizontalPodAutoscaler", "apply Deployment"]);
}

#[test]
fn the_number_stays_when_the_deployment_is_taken_over_or_made_again() {
    let ChildState::Owned(orphan) = pods(&scaled(1, 5), 3, true) else { unreachable!() };
    let with = scaled(1, 5);
    let adopts = Observed { orphan: Some(orphan.view), ..observed(with.clone(), ChildState::Absent) };
    assert_eq!(kinds(&plan(&adopts, NOW)), ["3 pods", "apply Deployment"]);
    let told =
        |asked: i32| json!({ "observedGeneration": 2, "replicas": asked + 2, "ready": format!("{asked}/{asked}") });
    let made_again = |spec: Value, before: i32| {
        let app = app(spec, told(before));
        let made = plan(&observed(app, ChildState::Absent), NOW);
        let Some(Effect::Apply(apply)) = made.effects.first() else { panic!("{:?}", made.effects) };
        apply.body["spec"]["replicas"].clone()
    };
    let autoscaled = json!({ "image": "i:2", "autoscaling": { "min": 2, "max": 5 } });
    assert_eq!(made_again(autoscaled.clone(), 4), 4);
    assert_eq!(made_again(autoscaled.clone(), 9), 5, "within its bounds");
    assert_eq!(made_again(autoscaled, 0), 2);
    assert_eq!(made_again(json!({ "image": "i:2" }), 8), 8);
    assert_eq!(made_again(json!({ "image": "i:2", "replicas": 3 }), 8), 3);
    // It is known for as long as that takes.
    for (asked, ready) in [(8, "0/8"), (0, "0/0")] {
        for gone in [ChildState::Terminating, ChildState::Absent] {
            let app = app(json!({ "image": "i:2" }), told(asked));
            let status = status(&plan(&observed(app, gone), NOW)).clone();
            assert_eq!((status.replicas, status.ready.as_deref()), (0, Some(ready)));
        }
    }
}

/// Whoever has stopped an application is not to find it started because its Deployment was deleted.
#[test]
fn a_deployment_that_stood_at_no_pods_comes_back_with_none_and_a_new_one_with_what_the_api_server_gives() {
    for spec in [json!({ "image": "i:2" }), json!({ "image": "i:2", "autoscaling": { "min": 2, "max": 5 } })] {
        let made = |status: Value| {
            let made = plan(&observed(app(spec.clone(), status), ChildState::Absent), NOW);
            let Some(Effect::Apply(apply)) = made.effects.first() else { panic!("{:?}", made.effects) };
            (apply.body["spec"]["replicas"].clone(), super::status(&made).phase)
        };
        let stood = made(json!({ "observedGeneration": 2, "ready": "0/0", "phase": "ScaledToZero" }));
        let scaled = spec["autoscaling"].is_object();
        assert_eq!(
            stood,
            if scaled { (json!(2), Some(Phase::Progressing)) } else { (json!(0), Some(Phase::ScaledToZero)) }
        );
        assert_eq!(made(json!({})), (Value::Null, Some(Phase::Progressing)), "a new one");
        assert_eq!(made(json!({ "observedGeneration": -1, "ready": "junk" })).0, Value::Null);
    }
}

#[test]
fn a_number_out_of_bounds_is_brought_into_them_once_the_autoscaler_has_them() {
    let app = scaled(2, 5);
    for (number, asked) in [(0, 2), (1, 2), (9, 5)] {
        let before = plan(&observed(app.clone(), pods(&app, number, false)), NOW);
        assert_eq!(kinds(&before), ["aside HorizontalPodAutoscaler"]);
        assert_eq!(status(&before).ready.as_deref(), Some(&*format!("{number}/{asked}")));
        let known =
            Observed { autoscaler: autoscaler(&app, json!([])), ..observed(app.clone(), pods(&app, number, false)) };
        assert_eq!(kinds(&plan(&known, NOW)), [format!("{asked} pods")]);
    }
    let other =
        Observed { autoscaler: autoscaler(&scaled(1, 9), json!([])), ..observed(app.clone(), pods(&app, 1, false)) };
    let mut other = other;
    assert_eq!(kinds(&plan(&other, NOW)), ["aside HorizontalPodAutoscaler"], "no fight with one that has other bounds");
    let unseen = json!({ "image": "i:2", "autoscaling": { "min": 2, "max": 5 } });
    other.app = super::app(unseen, json!({ "observedGeneration": 1 }));
    assert_eq!(plan(&other, NOW).next, Requeue::After(std::time::Duration::from_secs(1)), "but it is looked at again");
}

#[test]
fn what_keeps_it_from_scaling_is_told_beside_ready_and_once() {
    let app = scaled(1, 5);
    let blind = json!([{ "type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "no metrics" }]);
    let observed = Observed { autoscaler: autoscaler(&app, blind), ..observed(app.clone(), pods(&app, 3, false)) };
    let told = plan(&observed, NOW);
    assert_eq!((status(&told).phase, ready(&told).0), (Some(Phase::Running), "Running"), "its pods serve");
    let condition = status(&told).contract.condition(SCALING_ACTIVE).unwrap();
    assert_eq!(
        (condition.status, &*condition.reason, &*condition.message),
        (ConditionStatus::False, "FailedGetResourceMetric", "no metrics")
    );
    assert!(!status(&told).contract.is_true(condition_type::STALLED), "metrics may come");
    assert_eq!(told.events.iter().map(|event| &*event.reason).collect::<Vec<_>>(), ["FailedGetResourceMetric"]);
    let told = super::app(
        json!({ "image": "i:2", "autoscaling": { "max": 5 } }),
        serde_json::to_value(status(&told)).unwrap(),
    );
    let again = plan(&Observed { app: told, ..observed }, NOW);
    assert!(again.events.is_empty() && status(&again).contract.condition(SCALING_ACTIVE).is_some());
}

#[test]
fn another_pod_in_the_autoscalers_words_is_not_told_again_and_another_reason_is() {
    let before = |generation: i64| {
        let told = json!([{ "type": SCALING_ACTIVE, "status": "False", "reason": "FailedGetResourceMetric",
            "message": "of Pod a-1", "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        let status = json!({ "observedGeneration": generation, "conditions": told });
        app(json!({ "image": "i:2", "autoscaling": { "max": 5 } }), status)
    };
    let told = |app: Arc<MyApp>, reason: &str| {
        let says = json!([{ "type": "ScalingActive", "status": "False", "reason": reason, "message": "of Pod a-2" }]);
        let seen = Observed { autoscaler: autoscaler(&app, says), ..observed(app.clone(), pods(&app, 3, false)) };
        status(&plan(&seen, NOW)).contract.condition(SCALING_ACTIVE).unwrap().message.clone()
    };
    assert_eq!(told(before(2), "FailedGetResourceMetric"), "of Pod a-1");
    assert_eq!(told(before(2), "InvalidMetricSourceType"), "of Pod a-2");
    assert_eq!(told(before(1), "FailedGetResourceMetric"), "of Pod a-2", "of another spec");
}

#[test]
fn without_an_autoscaler_nothing_is_said_of_it() {
    let (_, plan) = three(3, 3, 3);
    assert!(status(&plan).contract.condition(SCALING_ACTIVE).is_none() && plan.events.is_empty());
}

/// Kubernetes tells since lately of which autoscaler that is.
#[test]
fn the_word_of_another_autoscaler_is_not_told() {
    let works = json!([{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "" }]);
    let with = |max: i32, paused: bool, told: Value| {
        app(json!({ "image": "i:2", "paused": paused, "autoscaling": { "max": max } }), told)
    };
    let says = |app: Arc<MyApp>, conditions: &Value| {
        let seen = autoscaler(&scaled(1, 5), conditions.clone());
        let seen = Observed { autoscaler: seen, ..observed(app.clone(), pods(&app, 3, false)) };
        status(&plan(&seen, NOW)).contract.is_true(SCALING_ACTIVE)
    };
    let told = |generation: i64| {
        let told = json!([{ "type": SCALING_ACTIVE, "status": "True", "reason": "ValidMetricFound",
            "observedGeneration": generation, "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        json!({ "observedGeneration": generation, "conditions": told })
    };
    assert!(says(with(5, false, told(1)), &works), "which one it is of is not told");
    assert!(!says(with(6, false, told(1)), &works), "it is about to be changed");
    assert!(!says(with(6, false, json!({ "observedGeneration": 2 })), &works), "the change was refused");
    assert!(says(with(6, false, told(2)), &works), "what somebody has changed is put back");
    assert!(!says(with(6, true, told(2)), &works), "a pause leaves it as it is");
    let of = |generation: i64| json!({ "of": generation, "conditions": works });
    assert!(says(with(5, false, told(1)), &of(3)));
    assert!(!says(with(5, false, told(1)), &of(2)), "the autoscaler has yet to look");
    assert!(says(with(5, false, told(2)), &of(2)), "but what is asked for is the same");
}

#[test]
fn an_autoscaler_with_other_labels_is_spoken_of_while_a_pause_leaves_it_so() {
    let works = json!([{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "" }]);
    let says = |max: i32| {
        let spec = json!({ "image": "i:2", "paused": true, "autoscaling": { "max": max } });
        let app = app(spec, json!({ "observedGeneration": 2 }));
        let ChildState::Owned(mut labelled) = autoscaler(&scaled(1, 5), works.clone()) else { unreachable!() };
        labelled.fingerprint = Fingerprint::of_nothing();
        let seen = Observed { autoscaler: ChildState::Owned(labelled), ..observed(app.clone(), pods(&app, 3, false)) };
        status(&plan(&seen, NOW)).contract.is_true(SCALING_ACTIVE)
    };
    assert_eq!([says(5), says(6)], [true, false]);
}
