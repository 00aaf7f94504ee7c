//! The autoscaler of a MyApp, and which client sets the number of pods.

use api::my_app::SCALING_ACTIVE;
use runtime::plan::Requeue;
use runtime::projections::Autoscaler;

use super::*;

pub(super) fn scaled(min: i32, max: i32) -> Arc<MyApp> {
    app(json!({ "image": "i:2", "autoscaling": { "min": min, "max": max } }), json!({ "observedGeneration": 2 }))
}

/// The desired autoscaler of `app` with these conditions.
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

/// A Deployment of that many pods, all ready. The operator owns the number or not.
fn pods(app: &MyApp, number: i32, owns_replicas: bool) -> ChildState<Deployment> {
    let counts =
        json!({ "observedGeneration": 2, "replicas": number, "updatedReplicas": number, "readyReplicas": number });
    let ChildState::Owned(mut deployment) = live(app, counts) else { unreachable!() };
    let view = Arc::get_mut(&mut deployment.view).unwrap();
    (view.replicas, view.owns_replicas) = (number, owns_replicas);
    ChildState::Owned(deployment)
}

pub(super) fn kinds(plan: &Plan<MyAppStatus>) -> Vec<String> {
    let label = |effect: &Effect| match effect {
        Effect::Apply(apply) => match apply.manager_prefix {
            Some(_) => format!("{} pods", apply.body["spec"]["replicas"]),
            None => format!("apply {}", apply.kind.kind),
        },
        Effect::Delete(delete) => format!("delete {}", delete.kind.kind),
        other => panic!("{other:?}"),
    };
    let independent = plan.independent.iter().map(|apply| format!("independent {}", apply.kind.kind));
    plan.effects.iter().map(label).chain(independent).collect()
}

#[test]
fn targets_are_percentages_or_averages_and_metrics_are_copied() {
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

/// Metrics have no schema, so one of any size could use up the manager's memory.
#[test]
fn too_large_metrics_are_not_parsed_and_the_autoscaler_is_not_changed() {
    let with =
        |metrics: Value| app(json!({ "image": "i:2", "autoscaling": { "max": 5, "metrics": metrics } }), json!({}));
    let pod = json!({ "type": "Pods", "pods": { "metric": { "name": "jobs" } } });
    let large = json!({ "type": "Pods", "x": vec![json!({ "a": 1 }); 2000] });
    let deep = format!("{{\"type\": \"Pods\", \"x\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let before = autoscaler(&with(json!([pod])), json!([]));
    let app = with(json!([pod, large]));
    let planned = plan(&Observed { autoscaler: before, ..observed(app.clone(), pods(&app, 3, false)) }, NOW);
    assert_eq!(kinds(&planned), [""; 0]);
    let reported = status(&planned).contract.condition(SCALING_ACTIVE).unwrap();
    assert_eq!((reported.status, &*reported.reason), (ConditionStatus::False, "MetricsInvalid"));
    let message = "spec.autoscaling.metrics[1]: 16021 bytes of JSON exceed the limit of 8192; remove what is not part of a metric; \
                 the HorizontalPodAutoscaler is neither created nor changed";
    assert_eq!(reported.message, message);
    assert_eq!((ready(&planned).0, planned.events_after_status.len()), ("Running", 1), "its pods serve");
    for (min, max) in [(4, 5), (1, 2)] {
        let spec = json!({ "image": "i:2", "autoscaling": { "min": min, "max": max, "metrics": [large] } });
        let app = super::app(spec, json!({}));
        let out_of_bounds = plan(&observed(app.clone(), pods(&app, 3, false)), NOW);
        assert!(status(&out_of_bounds).contract.is_true(condition_type::STALLED));
        assert_eq!(
            ready(&out_of_bounds).0,
            "MetricsInvalid",
            "neither the operator nor an autoscaler corrects the number"
        );
    }
    let text = json!({ "metadata": { "name": "a", "namespace": "n", "uid": "u", "generation": 2 }, "spec": { "image": "i:2", "autoscaling": { "max": 5, "metrics": [0] } } });
    let deep = Arc::new(MyApp::decode(&text.to_string().replace("[0]", &format!("[{deep}]"))).unwrap());
    let reported = plan(&observed(deep.clone(), pods(&deep, 3, false)), NOW);
    let reported = status(&reported).contract.condition(SCALING_ACTIVE).unwrap().message.clone();
    assert!(reported.starts_with("spec.autoscaling.metrics[0]: recursion limit exceeded"), "{reported}");
}

#[test]
fn a_rollout_is_progressing_despite_invalid_metrics() {
    let large = json!({ "type": "Pods", "x": vec![json!({ "a": 1 }); 2000] });
    let app = app(json!({ "image": "i:2", "autoscaling": { "max": 5, "metrics": [large] } }), json!({}));
    let ChildState::Owned(mut deployment) = pods(&app, 3, false) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().rollout.updated_replicas = 1;
    let planned = plan(&observed(app, ChildState::Owned(deployment)), NOW);
    assert_eq!(ready(&planned).0, "Progressing", "the number of pods is within the bounds");
    assert_eq!(status(&planned).contract.condition(SCALING_ACTIVE).unwrap().reason, MyAppReason::MetricsInvalid);
}

#[test]
fn adding_or_removing_an_autoscaler_keeps_the_number_of_pods() {
    let with = scaled(1, 10);
    let comes = plan(&observed(with.clone(), pods(&with, 4, true)), NOW);
    assert_eq!(kinds(&comes), ["4 pods", "independent HorizontalPodAutoscaler"]);
    let after = Observed { autoscaler: autoscaler(&with, json!([])), ..observed(with.clone(), pods(&with, 4, false)) };
    assert_eq!(kinds(&plan(&after, NOW)), [""; 0]);

    let without = app(json!({ "image": "i:2", "replicas": 4 }), json!({}));
    let unset = objects::deployment(&with, "i:2").fingerprint();
    let ChildState::Owned(mut deployment) = pods(&without, 4, false) else { unreachable!() };
    deployment.fingerprint = unset;
    let goes = observed(without, ChildState::Owned(deployment));
    let goes = plan(&Observed { autoscaler: autoscaler(&with, json!([])), ..goes }, NOW);
    // In this order: otherwise the autoscaler could revert the number of the spec.
    assert_eq!(kinds(&goes), ["delete HorizontalPodAutoscaler", "apply Deployment"]);
}

#[test]
fn adopting_or_recreating_the_deployment_keeps_the_number_of_pods() {
    let ChildState::Owned(orphan) = pods(&scaled(1, 5), 3, true) else { unreachable!() };
    let with = scaled(1, 5);
    let adopts = Observed { orphan: Some(orphan.view), ..observed(with.clone(), ChildState::Absent) };
    assert_eq!(kinds(&plan(&adopts, NOW)), ["3 pods", "apply Deployment"]);
    let reported = |requested: i32| json!({ "observedGeneration": 2, "replicas": requested + 2, "ready": format!("{requested}/{requested}") });
    let recreated = |spec: Value, before: i32| {
        let app = app(spec, reported(before));
        let created = plan(&observed(app, ChildState::Absent), NOW);
        let Some(Effect::Apply(apply)) = created.effects.first() else { panic!("{:?}", created.effects) };
        apply.body["spec"]["replicas"].clone()
    };
    let autoscaled = json!({ "image": "i:2", "autoscaling": { "min": 2, "max": 5 } });
    assert_eq!(recreated(autoscaled.clone(), 4), 4);
    assert_eq!(recreated(autoscaled.clone(), 9), 5, "within its bounds");
    assert_eq!(recreated(autoscaled, 0), 2);
    assert_eq!(recreated(json!({ "image": "i:2" }), 8), 8);
    assert_eq!(recreated(json!({ "image": "i:2", "replicas": 3 }), 8), 3);
    // The number stays known until the Deployment exists.
    for (requested, ready) in [(8, "0/8"), (0, "0/0")] {
        for gone in [ChildState::Terminating, ChildState::Absent] {
            let app = app(json!({ "image": "i:2" }), reported(requested));
            let status = status(&plan(&observed(app, gone), NOW)).clone();
            assert_eq!((status.replicas, status.ready.as_deref()), (0, Some(ready)));
        }
    }
}

/// A stopped application must not start because its Deployment was deleted.
#[test]
fn a_deployment_of_no_pods_is_recreated_with_none_and_a_new_one_with_the_default() {
    for spec in [json!({ "image": "i:2" }), json!({ "image": "i:2", "autoscaling": { "min": 2, "max": 5 } })] {
        let created = |status: Value| {
            let created = plan(&observed(app(spec.clone(), status), ChildState::Absent), NOW);
            let Some(Effect::Apply(apply)) = created.effects.first() else { panic!("{:?}", created.effects) };
            (apply.body["spec"]["replicas"].clone(), super::status(&created).phase)
        };
        let stood = created(json!({ "observedGeneration": 2, "ready": "0/0", "phase": "ScaledToZero" }));
        let scaled = spec["autoscaling"].is_object();
        assert_eq!(
            stood,
            if scaled { (json!(2), Some(MyAppPhase::Progressing)) } else { (json!(0), Some(MyAppPhase::ScaledToZero)) }
        );
        assert_eq!(created(json!({})), (Value::Null, Some(MyAppPhase::Progressing)), "a new one");
        assert_eq!(created(json!({ "observedGeneration": -1, "ready": "junk" })).0, Value::Null);
    }
}

#[test]
fn a_number_out_of_bounds_is_corrected_once_the_autoscaler_has_the_bounds() {
    let app = scaled(2, 5);
    for (number, requested) in [(0, 2), (1, 2), (9, 5)] {
        let before = plan(&observed(app.clone(), pods(&app, number, false)), NOW);
        assert_eq!(kinds(&before), ["independent HorizontalPodAutoscaler"]);
        assert_eq!(status(&before).ready.as_deref(), Some(&*format!("{number}/{requested}")));
        let known =
            Observed { autoscaler: autoscaler(&app, json!([])), ..observed(app.clone(), pods(&app, number, false)) };
        assert_eq!(kinds(&plan(&known, NOW)), [format!("{requested} pods")]);
    }
    let other =
        Observed { autoscaler: autoscaler(&scaled(1, 9), json!([])), ..observed(app.clone(), pods(&app, 1, false)) };
    let mut other = other;
    assert_eq!(
        kinds(&plan(&other, NOW)),
        ["independent HorizontalPodAutoscaler"],
        "an autoscaler with other bounds would revert it"
    );
    let unseen = json!({ "image": "i:2", "autoscaling": { "min": 2, "max": 5 } });
    other.app = super::app(unseen, json!({ "observedGeneration": 1 }));
    assert_eq!(plan(&other, NOW).next, Requeue::After(std::time::Duration::from_secs(1)), "a requeue follows");
}

#[test]
fn a_failing_autoscaler_is_reported_once_and_the_app_stays_ready() {
    let app = scaled(1, 5);
    let blind = json!([{ "type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "no metrics" }]);
    let observed = Observed { autoscaler: autoscaler(&app, blind), ..observed(app.clone(), pods(&app, 3, false)) };
    let reported = plan(&observed, NOW);
    assert_eq!((status(&reported).phase, ready(&reported).0), (Some(MyAppPhase::Running), "Running"), "its pods serve");
    let condition = status(&reported).contract.condition(SCALING_ACTIVE).unwrap();
    assert_eq!(
        (condition.status, &*condition.reason, &*condition.message),
        (ConditionStatus::False, "FailedGetResourceMetric", "no metrics")
    );
    assert!(!status(&reported).contract.is_true(condition_type::STALLED), "metrics may appear later");
    assert_eq!(
        reported.events_after_status.iter().map(|event| &*event.reason).collect::<Vec<_>>(),
        ["FailedGetResourceMetric"]
    );
    let reported = super::app(
        json!({ "image": "i:2", "autoscaling": { "max": 5 } }),
        serde_json::to_value(status(&reported)).unwrap(),
    );
    let again = plan(&Observed { app: reported, ..observed }, NOW);
    assert!(again.events_after_status.is_empty() && status(&again).contract.condition(SCALING_ACTIVE).is_some());
}

#[test]
fn a_new_message_of_the_autoscaler_is_reported_only_with_a_new_reason() {
    let before = |generation: i64| {
        let reported = json!([{ "type": SCALING_ACTIVE, "status": "False", "reason": "FailedGetResourceMetric",
            "message": "of Pod a-1", "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        let status = json!({ "observedGeneration": generation, "conditions": reported });
        app(json!({ "image": "i:2", "autoscaling": { "max": 5 } }), status)
    };
    let reported = |app: Arc<MyApp>, reason: &str| {
        let reports =
            json!([{ "type": "ScalingActive", "status": "False", "reason": reason, "message": "of Pod a-2" }]);
        let seen = Observed { autoscaler: autoscaler(&app, reports), ..observed(app.clone(), pods(&app, 3, false)) };
        status(&plan(&seen, NOW)).contract.condition(SCALING_ACTIVE).unwrap().message.clone()
    };
    assert_eq!(reported(before(2), "FailedGetResourceMetric"), "of Pod a-1");
    assert_eq!(reported(before(2), "InvalidMetricSourceType"), "of Pod a-2");
    assert_eq!(reported(before(1), "FailedGetResourceMetric"), "of Pod a-2", "of another spec");
}

#[test]
fn without_an_autoscaler_there_is_no_condition() {
    let (_, plan) = three(3, 3, 3);
    assert!(status(&plan).contract.condition(SCALING_ACTIVE).is_none() && plan.events_after_status.is_empty());
}

/// Only recent versions of Kubernetes report the generation of the autoscaler.
#[test]
fn the_report_on_an_earlier_autoscaler_does_not_count() {
    let works = json!([{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "" }]);
    let with = |max: i32, paused: bool, reported: Value| {
        app(json!({ "image": "i:2", "paused": paused, "autoscaling": { "max": max } }), reported)
    };
    let reports = |app: Arc<MyApp>, conditions: &Value| {
        let seen = autoscaler(&scaled(1, 5), conditions.clone());
        let seen = Observed { autoscaler: seen, ..observed(app.clone(), pods(&app, 3, false)) };
        status(&plan(&seen, NOW)).contract.is_true(SCALING_ACTIVE)
    };
    let reported = |generation: i64| {
        let reported = json!([{ "type": SCALING_ACTIVE, "status": "True", "reason": "ValidMetricFound",
            "observedGeneration": generation, "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        json!({ "observedGeneration": generation, "conditions": reported })
    };
    assert!(reports(with(5, false, reported(1)), &works), "without a generation, the report counts");
    assert!(!reports(with(6, false, reported(1)), &works), "it is about to be changed");
    assert!(!reports(with(6, false, json!({ "observedGeneration": 2 })), &works), "the change was refused");
    assert!(reports(with(6, false, reported(2)), &works), "the edit of another client is repaired");
    assert!(!reports(with(6, true, reported(2)), &works), "a paused app is not repaired");
    let of = |generation: i64| json!({ "of": generation, "conditions": works });
    assert!(reports(with(5, false, reported(1)), &of(3)));
    assert!(!reports(with(5, false, reported(1)), &of(2)), "the autoscaler has not observed the change yet");
    assert!(reports(with(5, false, reported(2)), &of(2)), "the spec is unchanged");
}

#[test]
fn an_autoscaler_with_edited_labels_is_reported_during_a_pause() {
    let works = json!([{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "" }]);
    let reports = |max: i32| {
        let spec = json!({ "image": "i:2", "paused": true, "autoscaling": { "max": max } });
        let app = app(spec, json!({ "observedGeneration": 2 }));
        let ChildState::Owned(mut labelled) = autoscaler(&scaled(1, 5), works.clone()) else { unreachable!() };
        labelled.fingerprint = Fingerprint::of_nothing();
        let seen = Observed { autoscaler: ChildState::Owned(labelled), ..observed(app.clone(), pods(&app, 3, false)) };
        status(&plan(&seen, NOW)).contract.is_true(SCALING_ACTIVE)
    };
    assert_eq!([reports(5), reports(6)], [true, false]);
}
