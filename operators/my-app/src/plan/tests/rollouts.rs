//! How pods are replaced, and what keeps new ones from starting.

use runtime::apply::drift::{Rendered, Unapplied};
use runtime::projections::Starting;

use super::*;

/// The plan for two pods of one that is ready for that long, of which so many are available.
fn ready_for(available: i32) -> Plan<MyAppStatus> {
    let app = app(json!({ "image": "i:2", "replicas": 2, "minReadySeconds": 10 }), json!({ "image": "i:1" }));
    let status = json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
        "availableReplicas": available });
    let deployment = live(&app, status);
    plan(&observed(app, deployment), NOW)
}

#[test]
fn pods_count_once_they_have_been_ready_for_as_long_as_asked() {
    let waits = ready_for(1);
    assert_eq!(status(&waits).phase, Some(Phase::Progressing));
    let message = "2 of 2 pods are ready; waiting until each has been ready for 10 s (minReadySeconds)";
    assert_eq!((ready(&waits), status(&waits).image.as_deref()), (("Progressing", message), Some("i:1")));
    assert_eq!((ready(&ready_for(2)).0, status(&ready_for(2)).image.as_deref()), ("Running", Some("i:2")));
}

#[test]
fn a_pod_that_waits_for_its_volumes_is_told_after_3_s_and_the_old_ones_serve() {
    let (mut observed, _) = three(4, 1, 3);
    let starting = Starting { since: NOW, needs: vec!["ConfigMap settings".to_owned(), "Secret keys".to_owned()] };
    observed.starting = vec![("a-1".into(), starting)];
    let early = plan(&observed, NOW + 1.seconds());
    assert_eq!(ready(&early), ("Progressing", "3 of 3 pods are ready; pods are being replaced"));
    assert_eq!(
        early.next,
        Requeue::After(std::time::Duration::from_secs(2)),
        "nothing else would have it looked at again"
    );
    let late = plan(&observed, NOW + 3.seconds());
    let message = "3 of 3 pods are ready; pod a-1: ContainerCreating: waiting for its volumes or its network; check that \
                   all of these exist: ConfigMap settings, Secret keys, with the required keys";
    assert_eq!((ready(&late), late.next), (("Progressing", message), Requeue::OnChange));
    assert!(late.effects.is_empty());
    observed.failing_pods = vec![("a-2".into(), trouble(PodReason::CrashLoopBackOff, true))];
    assert_eq!(
        ready(&plan(&observed, NOW + 3.seconds())).0,
        "CrashLoopBackOff",
        "what will not pass by itself comes first"
    );
}

#[test]
fn a_service_account_that_does_not_exist_is_told_and_the_old_pods_serve() {
    let app = app(json!({ "image": "i", "replicas": 1, "serviceAccountName": "none" }), json!({ "image": "i" }));
    let why = "pods \"a-1\" is forbidden: error looking up service account n/none: serviceaccount \"none\" not found";
    let refused = json!({ "observedGeneration": 2, "replicas": 1, "readyReplicas": 1, "conditions": [
        { "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": why }] });
    let deployment = live(&app, refused);
    let stalled = plan(&observed(app, deployment), NOW);
    assert_eq!(ready(&stalled), ("FailedCreate", &*format!("1 of 1 pod is ready; {why}")));
    assert!(status(&stalled).contract.is_true(condition_type::STALLED) && stalled.effects.is_empty());
}

#[test]
fn a_pause_of_the_deployment_is_taken_back_by_one_write_and_is_no_news() {
    let (_, running) = three(3, 3, 3);
    let told = serde_json::to_value(running.status.unwrap()).unwrap();
    let with = |paused, spec: Value| {
        let mut told = told.clone();
        told["observedGeneration"] = json!(2);
        let app = app(spec, told);
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
    assert_eq!(status(&resumed).phase, Some(Phase::Running));
    assert!(with(false, spec).effects.is_empty());
    let paused = json!({ "image": "i:2", "replicas": 3, "paused": true });
    assert!(with(true, paused).effects.is_empty(), "a paused MyApp changes nothing");
}

#[test]
fn that_a_repair_has_yet_to_be_observed_is_told_once_it_takes_long() {
    let (_, running) = three(3, 3, 3);
    let told = serde_json::to_value(running.status.unwrap()).unwrap();
    let of = |written, updated| {
        let mut told = told.clone();
        told["observedGeneration"] = json!(2);
        let app = app(json!({ "image": "i:2", "replicas": 3 }), told);
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

/// The applies for a Deployment that has a pace of rolling updates, or none, and was rendered otherwise.
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
fn a_pace_that_nobody_applied_is_taken_over_before_it_goes_with_recreate() {
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

/// The plan for a Deployment of type Recreate that has pods of two templates and was changed so many seconds ago.
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
fn a_deployment_that_its_controller_stands_still_with_is_set_going() {
    let early = standstill(10, json!({}));
    assert_eq!((early.effects.len(), early.next), (0, Requeue::After(std::time::Duration::from_secs(5))));
    let late = standstill(15, json!({}));
    let [Effect::Apply(apply)] = &late.effects[..] else { panic!("{:?}", late.effects) };
    let spec = &apply.body["spec"];
    assert_eq!((&spec["paused"], &spec["strategy"]["type"]), (&json!(true), &json!("RollingUpdate")));
    assert_eq!((&spec["replicas"], apply.seen.as_deref()), (&json!(0), Some("d")));
    assert_eq!(status(&late).phase, Some(Phase::Progressing));
    assert!(standstill(60, json!({ "paused": true })).effects.is_empty());
}

/// What `standstill` sees, with more in its status, and what this process has seen of it so long ago.
fn at_work(ago: i64, replicas: i32, status: Value) -> Observed {
    let app = app(json!({ "image": "i:2", "replicas": replicas, "strategy": { "type": "Recreate" } }), status);
    let rollout = json!({ "observedGeneration": 2, "replicas": replicas, "readyReplicas": replicas });
    let ChildState::Owned(mut deployment) = live(&app, rollout) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().applied = Some(NOW - ago.seconds());
    observed(app, ChildState::Owned(deployment))
}

/// By the API server's clock, which is behind, all was applied long ago.
#[test]
fn a_rollout_that_has_just_begun_is_no_standstill_whatever_the_clocks_say() {
    let begun = (NOW - 1.seconds()).to_string();
    let reconciling = json!({ "type": "Reconciling", "status": "True", "reason": "Progressing", "message": "", "lastTransitionTime": begun });
    let new = plan(&at_work(60, 3, json!({ "conditions": [reconciling] })), NOW);
    assert_eq!((new.effects.len(), new.next), (0, Requeue::After(std::time::Duration::from_secs(14))));
    // Amid other work, its own eyes tell.
    let mut observed = at_work(60, 3, json!({}));
    let seen = |observed: &Observed, before: Option<&Standstill>, now| {
        Standstill::observe(before, observed.deployment.owned().unwrap(), now)
    };
    observed.standstill = seen(&observed, None, NOW - 14.seconds());
    assert_eq!(plan(&observed, NOW).effects.len(), 0);
    observed.standstill = seen(&observed, observed.standstill.as_ref(), NOW);
    assert_eq!(plan(&observed, NOW + 1.seconds()).effects.len(), 1, "it has looked so for 15 s");
}

/// Its controller deletes some twenty pods a second, and counts them after all.
#[test]
fn the_deletion_of_hundreds_of_pods_is_no_standstill() {
    assert_eq!(plan(&at_work(40, 300, json!({})), NOW).effects.len(), 0);
    assert_eq!(plan(&at_work(45, 300, json!({})), NOW).effects.len(), 1);
}

#[test]
fn what_did_not_help_is_tried_after_twice_the_time() {
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
    assert_eq!(look(NOW + 10.seconds(), false, 2), Some(15), "it goes on");
    assert_eq!(look(NOW + 25.seconds(), false, 2), Some(0));
    assert_eq!([look(NOW + 26.seconds(), true, 2), look(NOW + 27.seconds(), true, 2)], [None, None]);
    assert_eq!(look(NOW + 28.seconds(), false, 2), Some(30));
    assert_eq!(look(NOW + 40.seconds(), false, 2), Some(18));
    assert_eq!(look(NOW + 50.seconds(), false, 0), None);
    assert_eq!(look(NOW + 60.seconds(), false, 3), Some(15), "it has been done with");
}

/// An image that cannot be pulled is taken back, so that the ReplicaSet of the one before is the present one again. Its own controller
/// says which that is with the next progress.
#[test]
fn a_pod_of_the_image_that_was_taken_back_is_no_trouble_of_this_one() {
    let named = |updated: i64, changed: i64| {
        let rollout = json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": updated, "readyReplicas": 1,
            "conditions": [{ "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
                "message": "ReplicaSet \"a-2\" is progressing.", "lastUpdateTime": (NOW - 60.seconds()).to_string() }] });
        let app = app(json!({ "image": "i:1", "replicas": 1 }), json!({ "image": "i:1" }));
        let ChildState::Owned(mut deployment) = live(&app, rollout) else { unreachable!() };
        let view = Arc::get_mut(&mut deployment.view).unwrap();
        (view.applied, view.has_pace) = (Some(NOW - changed.seconds()), true);
        let mut observed = observed(app, ChildState::Owned(deployment));
        observed.failing_pods = vec![("a-2-x".into(), trouble(PodReason::ImagePullBackOff, true))];
        let plan = plan(&observed, NOW);
        (ready(&plan).0.to_owned(), ready(&plan).1.to_owned(), plan.next)
    };
    let progressing = ("Progressing".to_owned(), "1 of 1 pod is ready; pods are being replaced".to_owned());
    let (reason, message, next) = named(1, 5);
    assert_eq!(((reason, message), next), (progressing, Requeue::After(std::time::Duration::from_secs(10))));
    assert_eq!(named(1, 15).0, "ImagePullBackOff", "after a change of something else, it is not named again");
    assert_eq!(named(1, 60).0, "ImagePullBackOff", "it was named for what was applied last");
    assert_eq!(named(2, 5).0, "ImagePullBackOff", "all pods are of the present template");
}

/// A Deployment of type Recreate that was repaired once, and of which somebody has changed the type: the API server has filled in a
/// pace. What a patch makes ours, the apply that follows would leave.
#[test]
fn a_pace_is_taken_over_by_an_apply_and_no_patch() {
    let app = app(json!({ "image": "i:2", "replicas": 1, "strategy": { "type": "Recreate" } }), json!({}));
    let wanted = objects::deployment(&app, &app.spec.image);
    let planned = |has_pace| {
        let ChildState::Owned(mut edited) = live(&app, json!({})) else { unreachable!() };
        edited.fingerprint = Fingerprint::of_nothing();
        let first = Rendered::of(&wanted.kind, &wanted.body).others;
        let made = Template::rendered(&json!({}));
        let view = Arc::get_mut(&mut edited.view).unwrap();
        view.has_pace = has_pace;
        view.additions.unapplied = Some(Box::new(Unapplied { made, first, since: None, whole: Some("{}".into()) }));
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
