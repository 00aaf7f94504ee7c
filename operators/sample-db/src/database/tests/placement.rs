//! The placement of the server's pod is tested before the present one is deleted for it.

use runtime::projections::{Job, JobEnd};

use super::replacement::stays;
use super::server::{says, settled, standing};
use super::*;
use crate::database::observed::TrialInputs;
use crate::database::placement::{check_placement, prepare_trial};
use crate::operand::scheduling::PLACEMENT;

/// A database whose pod serves, and whose spec has another placement since.
fn moved() -> Observed {
    let mut seen = standing(&json!({}), &settled());
    seen.db = observed(&json!({ "nodeSelector": { "disk": "ssd" } }), &settled()).db;
    seen
}

/// The trial's Job, created so many seconds ago.
fn job(seen: &mut Observed, seconds: i64) {
    seen.jobs.clear();
    seen.placement = prepare_trial(seen, &json!({ "spec": { "containers": [] } }));
    let plan = plan(seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    let mut body = create.body.clone();
    for (key, value) in [("namespace", "n"), ("name", &*create.key.name), ("uid", "j-1")] {
        body["metadata"][key] = json!(value);
    }
    body["metadata"]["creationTimestamp"] = json!(Timestamp::from_second(NOW - seconds).unwrap());
    seen.jobs = vec![Arc::new(Job::decode(&body.to_string()).unwrap())];
    seen.placement = PlacementCheck::Verified;
}

/// A pod of the trial of that database's placement, with that status.
fn pod(seen: &Observed, status: &Value) -> Arc<Pod> {
    let mark = scheduling::placement_label(&scheduling::placement(&seen.db.spec.scheduling));
    let labels = json!({ "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": "shop-trial",
        PLACEMENT: mark });
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-trial-x", "labels": labels },
        "spec": { "nodeName": "two" }, "status": status });
    Arc::new(Pod::decode(&pod.to_string()).unwrap())
}

/// One that completed.
fn done_well(seen: &Observed) -> Arc<Pod> {
    pod(
        seen,
        &json!({ "containerStatuses": [{ "name": "work", "image": "i", "restartCount": 0,
        "state": { "terminated": { "exitCode": 0, "message": "{}" } } }] }),
    )
}

fn nowhere(seen: &Observed) -> Arc<Pod> {
    pod(
        seen,
        &json!({ "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available" }] }),
    )
}

#[test]
fn a_pod_with_the_same_placement_needs_no_trial() {
    assert_eq!(check_placement(&standing(&json!({}), &settled()), now()), Some(PlacementCheck::Verified));
    let mut restarted = standing(&json!({}), &settled());
    let annotations = json!({ "kubectl.kubernetes.io/restartedAt": "2027-01-01T00:00:00Z" });
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": annotations });
    restarted.db = with(&meta, &json!({}), &settled()).db;
    assert_eq!(check_placement(&restarted, now()), Some(PlacementCheck::Verified));
    assert_eq!(done(&plan(&restarted, now())), ["apply StatefulSet shop"]);
}

#[test]
fn another_placement_is_tested_before_anything_changes() {
    let mut seen = moved();
    assert_eq!(check_placement(&seen, now()), None, "the present pod is to be read");
    job(&mut seen, 0);
    assert_eq!(seen.jobs[0].meta.key.name.as_ref(), "shop-trial");
    seen.placement = check_placement(&seen, now()).unwrap();
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), Vec::<String>::new());
    assert_eq!(reason(&planned.status.unwrap(), "Reconciling").1, "ServerRestarting");
    seen.pods.push(done_well(&seen));
    seen.placement = check_placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"]);
}

#[test]
fn a_placement_that_no_node_accepts_is_reported_and_the_present_pod_stays() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(nowhere(&seen));
    seen.placement = check_placement(&seen, now()).unwrap();
    stays(&seen, "0/3 nodes are available; correct the spec");
    // That it is not ready now, or was lost, does not end the trial.
    let server = seen.pods.remove(0);
    assert!(matches!(check_placement(&seen, now()), Some(PlacementCheck::Refused(_))));
    seen.pods.insert(0, server);
    // If the spec is reverted, the trial is over.
    seen.db = observed(&json!({}), &settled()).db;
    seen.placement = check_placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-trial"]);
}

#[test]
fn changes_to_the_running_server_wait_for_no_other_pod() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(nowhere(&seen));
    seen.placement = check_placement(&seen, now()).unwrap();
    seen.probe = says(|answer| answer.login = LoginCheck::BadPassword);
    assert_eq!(plan(&seen, now()).effects, [Effect::Act(DbAct::SetPassword)]);
    seen.probe = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    stays(&seen, "0/3 nodes are available");
}

#[test]
fn jobs_run_where_the_server_does_whatever_the_spec_says_since() {
    let seen = moved();
    assert!(seen.pod_context("postgres:17").scheduling.node_selector.contains_key("disk"));
    assert_eq!(*seen.job_context("postgres:17").scheduling, standing(&json!({}), &settled()).db.spec.scheduling);
}

#[test]
fn a_failed_trial_reports_why_and_one_of_another_spec_does_not_count() {
    let mut seen = moved();
    job(&mut seen, 0);
    let mut failed =
        Job::decode(&json!({ "metadata": { "namespace": "n", "name": "shop-trial" } }).to_string()).unwrap();
    failed.labels.clone_from(&seen.jobs[0].labels);
    failed.end = Some(JobEnd::Failed { reason: "PodFailurePolicy".to_owned(), message: "it failed".to_owned() });
    seen.jobs = vec![Arc::new(failed)];
    assert_eq!(check_placement(&seen, now()), Some(PlacementCheck::Refused("it failed".to_owned())));
    let said = json!({ "reason": "WrongUser", "message": "it would run as user 1000" }).to_string();
    seen.pods.push(pod(
        &seen,
        &json!({ "containerStatuses": [{ "name": "work", "image": "i", "restartCount": 0,
        "state": { "terminated": { "exitCode": 5, "message": said } } }] }),
    ));
    assert_eq!(check_placement(&seen, now()), Some(PlacementCheck::Refused("it would run as user 1000".to_owned())));
    seen.db = observed(&json!({ "nodeSelector": { "disk": "hdd" } }), &settled()).db;
    assert!(matches!(check_placement(&seen, now()), Some(PlacementCheck::Pending(_))));
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"], "unless what is known is heeded");
    seen.placement = check_placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-trial"]);
}

#[test]
fn a_trial_that_no_quota_has_room_for_is_waited_for_a_minute() {
    let mut seen = moved();
    job(&mut seen, 30);
    assert!(matches!(check_placement(&seen, now()), Some(PlacementCheck::Pending(_))));
    job(&mut seen, 61);
    assert_eq!(check_placement(&seen, now()), Some(PlacementCheck::Verified));
    seen.pods.push(nowhere(&seen));
    assert!(matches!(check_placement(&seen, now()), Some(PlacementCheck::Refused(_))));
}

#[test]
fn nothing_is_tested_while_clients_are_blocked_or_next_to_a_pod_that_repels_others() {
    let mut seen = moved();
    let mut status = settled();
    status["upgrade"] = json!({ "step": "Roll" });
    seen.db = observed(&json!({ "nodeSelector": { "disk": "ssd" } }), &status).db;
    assert_eq!(check_placement(&seen, now()), Some(PlacementCheck::Verified));
    let apart = json!([{ "labelSelector": {}, "topologyKey": "kubernetes.io/hostname" }]);
    let affinity = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": apart } });
    assert_eq!(
        prepare_trial(&seen, &json!({ "spec": { "containers": [], "affinity": affinity } })),
        PlacementCheck::Verified
    );
}

#[test]
fn a_trial_is_like_the_pod_but_for_what_the_present_one_has() {
    let mut seen = standing(&json!({}), &settled());
    let spec = json!({ "nodeSelector": { "disk": "ssd" }, "imagePullSecrets": [{ "name": "pull" }],
        "resources": { "requests": { "cpu": "1" } }, "affinity": { "podAntiAffinity": {}, "nodeAffinity": {} },
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule" }] });
    seen.db = observed(&spec, &settled()).db;
    let container = json!({ "name": "postgres", "resources": { "requests": { "cpu": "250m" } } });
    seen.placement = prepare_trial(
        &seen,
        &json!({ "spec": { "containers": [container], "securityContext": { "runAsUser": 999 } } }),
    );
    let plan = plan(&seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    let pod = &create.body["spec"]["template"]["spec"];
    for field in ["nodeSelector", "imagePullSecrets"] {
        assert_eq!(pod[field], spec[field]);
    }
    assert_eq!(pod["affinity"], json!({ "nodeAffinity": {} }));
    assert_eq!(pod["topologySpreadConstraints"], Value::Null);
    let work = &pod["containers"][0];
    assert_eq!(work["resources"], json!({ "requests": { "cpu": "750m" }, "limits": {} }));
    assert_eq!(work["command"], json!(["/multi-operator/agent", "pg-version", "--start-in=/tmp", "--as-user=999"]));
    assert_eq!(work["envFrom"], Value::Null, "no Secret is needed");
    let mounted: Vec<_> = work["volumeMounts"].as_array().unwrap().iter().map(|mount| &mount["name"]).collect();
    assert!(!mounted.contains(&&json!("data")), "{mounted:?}");
    let volumes = pod["volumes"].as_array().unwrap();
    assert!(volumes.iter().any(|of| of["persistentVolumeClaim"]["claimName"] == "data-shop-0"), "{volumes:?}");
    assert_eq!(
        create.body["metadata"]["labels"][PLACEMENT],
        scheduling::placement_label(&scheduling::placement(&seen.db.spec.scheduling))
    );
}

/// The same pods, but the server's is on that node, and is not ready.
fn unready_on(seen: &mut Observed, node: &str) {
    let mut server = Pod::with_details(r#"{"metadata": {"namespace": "n", "name": "shop-0", "uid": "p-1"}}"#).unwrap();
    let mut running = seen.pods[0].details.clone().unwrap();
    (running.node, running.ready) = (Some(node.into()), false);
    server.details = Some(running);
    seen.pods[0] = Arc::new(server);
}

#[test]
fn a_trial_on_another_node_counts_only_if_it_requested_all_resources() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(done_well(&seen));
    unready_on(&mut seen, "two");
    assert_eq!(check_placement(&seen, now()), Some(PlacementCheck::Verified), "what the present pod has is free there");
    unready_on(&mut seen, "one");
    assert_eq!(check_placement(&seen, now()), None);
    let present =
        json!({ "spec": { "containers": [{ "name": "postgres", "resources": { "requests": { "cpu": "1" } } }] } });
    seen.placement = prepare_trial(&seen, &present);
    assert_eq!(
        seen.placement,
        PlacementCheck::Due(Box::new(TrialInputs { requests_all: true, ..TrialInputs::default() }))
    );
    let plan = plan(&seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    assert_eq!(&*create.key.name, "shop-whole");
}

#[test]
fn the_pod_of_an_earlier_trial_does_not_count_for_the_next_one() {
    let mut seen = moved();
    let earlier = done_well(&seen);
    seen.db = observed(&json!({ "nodeSelector": { "disk": "hdd" } }), &settled()).db;
    job(&mut seen, 0);
    seen.pods.push(earlier);
    assert!(matches!(check_placement(&seen, now()), Some(PlacementCheck::Pending(_))));
}

#[test]
fn a_failed_pod_is_replaced_by_an_equal_one_whatever_is_refused() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(nowhere(&seen));
    unready_on(&mut seen, "one");
    seen.placement = check_placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
    seen.pod_failure = Some("Evicted".to_owned());
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"], "and the StatefulSet keeps its template");
}

#[test]
fn a_starting_pod_is_not_deleted_for_an_untested_one() {
    let mut seen = moved();
    unready_on(&mut seen, "one");
    assert_eq!(check_placement(&seen, now()), None);
}

#[test]
fn a_trial_has_the_priority_of_the_present_pod_so_it_cannot_preempt_it() {
    let mut seen = moved();
    seen.db = observed(&json!({ "priorityClassName": "high" }), &settled()).db;
    seen.placement = prepare_trial(&seen, &json!({ "spec": { "containers": [], "priorityClassName": "low" } }));
    let plan = plan(&seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    assert_eq!(create.body["spec"]["template"]["spec"]["priorityClassName"], "low");
}

#[test]
fn while_clients_are_blocked_the_server_keeps_its_placement() {
    let mut status = settled();
    let mut seen = standing(&json!({ "nodeSelector": { "disk": "ssd" } }), &status);
    status["upgrade"] = json!({ "step": "Copy" });
    seen.db = observed(&json!({ "nodeSelector": { "disk": "nowhere" } }), &status).db;
    assert_eq!(seen.scheduling().node_selector["disk"], "ssd");
    status["upgrade"] = json!({ "step": "Check" });
    seen.db = observed(&json!({ "nodeSelector": { "disk": "nowhere" } }), &status).db;
    assert_eq!(seen.scheduling().node_selector["disk"], "nowhere");
}
