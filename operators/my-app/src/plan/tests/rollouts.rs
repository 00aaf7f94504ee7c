//! How pods are replaced, and why new ones do not start.

use runtime::apply::drift::{Rendered, Unapplied};
use runtime::projections::VolumeWait;

use super::*;

/// The plan for two ready pods with `minReadySeconds`, of which that many are available.
fn ready_for(available: i32) -> Plan<MyAppStatus> {
    let app = app(json!({ "image": "i:2", "replicas": 2, "minReadySeconds": 10 }), json!({ "image": "i:1" }));
    let status = json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
        "availableReplicas": available });
    let deployment = live(&app, status);
    plan(&observed(app, deployment), NOW)
}

#[test]
fn pods_count_once_they_have_been_ready_for_min_ready_seconds() {
    let waits = ready_for(1);
    assert_eq!(status(&waits).phase, Some(MyAppPhase::Progressing));
    let message = "2 of 2 pods are ready; waiting until each has been ready for 10 s (minReadySeconds)";
    assert_eq!((ready(&waits), status(&waits).image.as_deref()), (("Progressing", message), Some("i:1")));
    assert_eq!((ready(&ready_for(2)).0, status(&ready_for(2)).image.as_deref()), ("Running", Some("i:2")));
}

#[test]
fn a_pod_that_waits_for_its_volumes_is_reported_after_3_s() {
    let (mut observed, _) = three(4, 1, 3);
    let starting = VolumeWait { since: NOW, needs: vec!["ConfigMap settings".to_owned(), "Secret keys".to_owned()] };
    observed.starting = vec![("a-1".into(), starting)];
    let early = plan(&observed, NOW + 1.seconds());
    assert_eq!(ready(&early), ("Progressing", "3 of 3 pods are ready; pods are being replaced"));
    assert_eq!(early.next, Requeue::After(std::time::Duration::from_secs(2)), "no event would trigger a reconcile");
    let late = plan(&observed, NOW + 3.seconds());
    let message = "3 of 3 pods are ready; pod a-1: ContainerCreating: waiting for its volumes or its network; check that \
                   all of these exist: ConfigMap settings, Secret keys, with the required keys";
    assert_eq!((ready(&late), late.next), (("Progressing", message), Requeue::OnChange));
    assert!(late.effects.is_empty());
    observed.failing_pods = vec![("a-2".into(), diagnosis(PodReason::CrashLoopBackOff, true))];
    assert_eq!(ready(&plan(&observed, NOW + 3.seconds())).0, "CrashLoopBackOff", "a permanent failure comes first");
}

#[test]
fn a_missing_service_account_is_reported() {
    let app = app(json!({ "image": "i", "replicas": 1, "serviceAccountName": "none" }), json!({ "image": "i" }));
    let why = "pods \"a-1\" is forbidden: error looking up service account n/none: serviceaccount \"none\" not found";
    let rejected = json!({ "observedGeneration": 2, "replicas": 1, "readyReplicas": 1, "conditions": [
        { "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": why }] });
    let deployment = live(&app, rejected);
    let stalled = plan(&observed(app, deployment), NOW);
    assert_eq!(ready(&stalled), ("FailedCreate", &*format!("1 of 1 pod is ready; {why}")));
    assert!(status(&stalled).contract.is_true(condition_type::STALLED) && stalled.effects.is_empty());
}

#[test]
fn a_paused_deployment_is_resumed_by_one_write_without_a_report() {
    let (_, running) = three(3, 3, 3);
    let reported = serde_json::to_value(running.status.unwrap()).unwrap();
    let with = |paused, spec: Value| {
        let mut reported = reported.clone();
        reported["observedGeneration"] = json!(2);
        let app = app(spec, reported);
        let ChildState::Owned(mut deployment) = live(
            &app,
            json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3,
            "readyReplicas": 3 }),
        ) else {
            unreachable!()
        };
        Arc::get_mut(&mut deployment.view).unwrap().paused = paused;
        plan(&observed(app, ChildState::Owned(deployment)), NOW)
    };
    let spec = json!({ "image": "i:2", "replicas": 3 });
    let resumed = with(true, spec.clone());
    let [Effect::Apply(apply)] = &resumed.effects[..] else { panic!("{:?}", resumed.effects) };
    assert_eq!((&apply.body["spec"]["paused"], apply.seen.as_deref()), (&json!(false), Some("d")));
    assert_eq!(status(&resumed).phase, Some(MyAppPhase::Running));
    assert!(with(false, spec).effects.is_empty());
    let paused = json!({ "image": "i:2", "replicas": 3, "paused": true });
    assert!(with(true, paused).effects.is_empty(), "a paused MyApp changes nothing");
}

#[test]
fn an_unobserved_repair_is_reported_after_a_while() {
    let (_, running) = three(3, 3, 3);
    let reported = serde_json::to_value(running.status.unwrap()).unwrap();
    let of = |written, updated| {
        let mut reported = reported.clone();
        reported["observedGeneration"] = json!(2);
        let app = app(json!({ "image": "i:2", "replicas": 3 }), reported);
        let status = json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": updated, "readyReplicas": 3 });
        let ChildState::Owned(mut deployment) = live(&app, status) else { unreachable!() };
        Arc::get_mut(&mut deployment.view).unwrap().applied = Some(written);
        let plan = plan(&observed(app, ChildState::Owned(deployment)), NOW);
        assert!(plan.effects.is_empty(), "{:?}", plan.effects);
        (ready(&plan).0.to_owned(), plan.next)
    };
    let soon = Requeue::After(std::time::Duration::from_secs(1));
    assert_eq!(of(NOW - 1.seconds(), 3), ("Running".to_owned(), soon), "it is observed within milliseconds");
    for (written, updated, why) in [
        (NOW - 3.seconds(), 3, "it takes long"),
        (NOW + 1.seconds(), 3, "the clocks differ"),
        (NOW - 1.seconds(), 2, "pods are being replaced"),
    ] {
        assert_eq!(of(written, updated).0, "Progressing", "{why}");
    }
}

/// The applies for a Deployment with or without a pace of rolling updates, which differs from the desired one.
fn applies_over(has_pace: bool, strategy: Value) -> Vec<Value> {
    let app = app(json!({ "image": "i:2", "replicas": 1, "strategy": strategy }), json!({}));
    let ChildState::Owned(mut before) = live(&app, json!({})) else { unreachable!() };
    before.fingerprint = runtime::apply::drift::Fingerprint::of_nothing();
    Arc::get_mut(&mut before.view).unwrap().has_pace = has_pace;
    let effects = plan(&observed(app, ChildState::Owned(before)), NOW).effects;
    effects
        .into_iter()
        .map(|effect| match effect {
            Effect::Apply(apply) => apply.body["spec"].clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_pace_without_an_owner_is_applied_before_recreate_removes_it() {
    let recreate = json!({ "type": "Recreate" });
    let applies = applies_over(true, recreate.clone());
    assert_eq!(applies.len(), 2, "{applies:?}");
    assert_eq!((&applies[0]["paused"], &applies[0]["strategy"]["type"]), (&json!(true), &json!("RollingUpdate")));
    assert!(applies[0]["strategy"]["rollingUpdate"]["maxSurge"].is_string());
    assert_eq!((&applies[1]["paused"], &applies[1]["strategy"]), (&Value::Null, &recreate));
    assert_eq!(applies_over(false, recreate).len(), 1);
    assert_eq!(applies_over(true, json!({ "rollingUpdate": { "maxSurge": 1 } })).len(), 1);
    let app = app(json!({ "image": "i", "replicas": 1, "strategy": { "type": "Recreate" } }), json!({}));
    assert_eq!(plan(&observed(app, ChildState::Absent), NOW).effects.len(), 2, "it may be an orphan with a pace");
}

/// The plan for a Deployment of type Recreate that has pods of two templates and was changed that many seconds ago.
fn standstill(ago: i64, more: Value) -> Plan<MyAppStatus> {
    let mut spec = json!({ "image": "i:2", "replicas": 0, "strategy": { "type": "Recreate" } });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let app = app(spec, json!({}));
    let rollout = json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 1 });
    let ChildState::Owned(mut deployment) = live(&app, rollout) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().applied = Some(NOW - ago.seconds());
    plan(&observed(app, ChildState::Owned(deployment)), NOW)
}

#[test]
fn a_stuck_deployment_is_resolved() {
    let early = standstill(10, json!({}));
    assert_eq!((early.effects.len(), early.next), (0, Requeue::After(std::time::Duration::from_secs(5))));
    let late = standstill(15, json!({}));
    let [Effect::Apply(apply)] = &late.effects[..] else { panic!("{:?}", late.effects) };
    let spec = &apply.body["spec"];
    assert_eq!((&spec["paused"], &spec["strategy"]["type"]), (&json!(true), &json!("RollingUpdate")));
    assert_eq!((&spec["replicas"], apply.seen.as_deref()), (&json!(0), Some("d")));
    assert_eq!(status(&late).phase, Some(MyAppPhase::Progressing));
    assert!(standstill(60, json!({ "paused": true })).effects.is_empty());
}

/// The state of `standstill` with another status, and with a standstill that this process first observed that long ago.
fn at_work(ago: i64, replicas: i32, status: Value) -> Observed {
    let app = app(json!({ "image": "i:2", "replicas": replicas, "strategy": { "type": "Recreate" } }), status);
    let rollout = json!({ "observedGeneration": 2, "replicas": replicas, "readyReplicas": replicas });
    let ChildState::Owned(mut deployment) = live(&app, rollout) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().applied = Some(NOW - ago.seconds());
    observed(app, ChildState::Owned(deployment))
}

/// The API server's clock is behind, so everything seems to have been applied long ago.
#[test]
fn a_new_rollout_is_not_stuck_whatever_the_clocks_are() {
    let begun = (NOW - 1.seconds()).to_string();
    let reconciling = json!({ "type": "Reconciling", "status": "True", "reason": "Progressing", "message": "", "lastTransitionTime": begun });
    let new = plan(&at_work(60, 3, json!({ "conditions": [reconciling] })), NOW);
    assert_eq!((new.effects.len(), new.next), (0, Requeue::After(std::time::Duration::from_secs(14))));
    // During other changes, this process' own observation counts.
    let mut observed = at_work(60, 3, json!({}));
    let seen = |observed: &Observed, before: Option<&Standstill>, now| {
        Standstill::observe(before, observed.deployment.owned().unwrap(), now)
    };
    observed.standstill = seen(&observed, None, NOW - 14.seconds());
    assert_eq!(plan(&observed, NOW).effects.len(), 0);
    observed.standstill = seen(&observed, observed.standstill.as_ref(), NOW);
    assert_eq!(plan(&observed, NOW + 1.seconds()).effects.len(), 1, "it has been in this state for 15 s");
}

/// The controller deletes some twenty pods per second, and updates its counters only afterward.
#[test]
fn a_deployment_that_deletes_hundreds_of_pods_is_not_stuck() {
    assert_eq!(plan(&at_work(40, 300, json!({})), NOW).effects.len(), 0);
    assert_eq!(plan(&at_work(45, 300, json!({})), NOW).effects.len(), 1);
}

#[test]
fn a_failed_attempt_is_repeated_after_twice_the_time() {
    let mut observed = at_work(60, 3, json!({}));
    let mut look = |now, paused: bool, replicas: i32| {
        let ChildState::Owned(live) = &mut observed.deployment else { unreachable!() };
        let view = Arc::get_mut(&mut live.view).unwrap();
        (view.paused, view.rollout.replicas) = (paused, replicas);
        observed.standstill =
            Standstill::observe(observed.standstill.as_ref(), observed.deployment.owned().unwrap(), now);
        stuck::time_left(&observed, now).map(|left| left.as_secs())
    };
    assert_eq!(look(NOW, false, 3), Some(15));
    assert_eq!(look(NOW + 10.seconds(), false, 2), Some(15), "it continues");
    assert_eq!(look(NOW + 25.seconds(), false, 2), Some(0));
    assert_eq!([look(NOW + 26.seconds(), true, 2), look(NOW + 27.seconds(), true, 2)], [None, None]);
    assert_eq!(look(NOW + 28.seconds(), false, 2), Some(30));
    assert_eq!(look(NOW + 40.seconds(), false, 2), Some(18));
    assert_eq!(look(NOW + 50.seconds(), false, 0), None);
    assert_eq!(look(NOW + 60.seconds(), false, 3), Some(15), "it has been done with");
}

/// An image that cannot be pulled is reverted, so that the previous ReplicaSet is the current one again. The Deployment's controller
/// reports that with the next progress.
#[test]
fn a_failing_pod_of_the_reverted_image_does_not_count() {
    let named = |updated: i64, changed: i64| {
        let rollout = json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": updated, "readyReplicas": 1,
            "conditions": [{ "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
                "message": "ReplicaSet \"a-2\" is progressing.", "lastUpdateTime": (NOW - 60.seconds()).to_string() }] });
        let app = app(json!({ "image": "i:1", "replicas": 1 }), json!({ "image": "i:1" }));
        let ChildState::Owned(mut deployment) = live(&app, rollout) else { unreachable!() };
        let view = Arc::get_mut(&mut deployment.view).unwrap();
        (view.applied, view.has_pace) = (Some(NOW - changed.seconds()), true);
        let mut observed = observed(app, ChildState::Owned(deployment));
        observed.failing_pods = vec![("a-2-x".into(), diagnosis(PodReason::ImagePullBackOff, true))];
        let plan = plan(&observed, NOW);
        (ready(&plan).0.to_owned(), ready(&plan).1.to_owned(), plan.next)
    };
    let progressing = ("Progressing".to_owned(), "1 of 1 pod is ready; pods are being replaced".to_owned());
    let (reason, message, next) = named(1, 5);
    assert_eq!(((reason, message), next), (progressing, Requeue::After(std::time::Duration::from_secs(10))));
    assert_eq!(named(1, 15).0, "ImagePullBackOff", "an unrelated change does not name it again");
    assert_eq!(named(1, 60).0, "ImagePullBackOff", "it was named after the last apply");
    assert_eq!(named(2, 5).0, "ImagePullBackOff", "all pods are of the present template");
}

/// A Deployment of type Recreate that was repaired once, and whose type another client has changed: the API server has set a default
/// pace. The next apply would not remove fields that a patch took ownership of.
#[test]
fn a_pace_is_taken_over_by_an_apply_and_not_a_patch() {
    let app = app(json!({ "image": "i:2", "replicas": 1, "strategy": { "type": "Recreate" } }), json!({}));
    let desired = objects::deployment(&app, &app.spec.image);
    let planned = |has_pace| {
        let ChildState::Owned(mut edited) = live(&app, json!({})) else { unreachable!() };
        edited.fingerprint = Fingerprint::of_nothing();
        let first = Rendered::of(&desired.kind, &desired.body).others;
        let created = Template::rendered(&json!({}));
        let view = Arc::get_mut(&mut edited.view).unwrap();
        view.has_pace = has_pace;
        view.additions.unapplied =
            Some(Box::new(Unapplied { created, first, since: None, live_json: Some("{}".into()) }));
        let effects = plan(&observed(app.clone(), ChildState::Owned(edited)), NOW).effects;
        let by_patch = |effect: &Effect| match effect {
            Effect::Apply(apply) => apply.live.is_some(),
            other => panic!("{other:?}"),
        };
        effects.iter().map(by_patch).collect::<Vec<_>>()
    };
    assert_eq!(planned(false), [true]);
    assert_eq!(planned(true), [false, false]);
}
