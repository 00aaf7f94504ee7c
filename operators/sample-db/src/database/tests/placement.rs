//! Where the server's pod is to run is tried before the present one is deleted for it.

use runtime::projections::{Job, JobEnd};

use super::replacement::stays;
use super::server::{says, settled, standing};
use super::*;
use crate::database::observed::Present;
use crate::database::placement::{beside, placement};
use crate::operand::scheduling::PLACEMENT;

/// A database whose pod serves, and whose spec says since that it is to run elsewhere.
fn moved() -> Observed {
    let mut seen = standing(&json!({}), &settled());
    seen.db = observed(&json!({ "nodeSelector": { "disk": "ssd" } }), &settled()).db;
    seen
}

/// The trial's Job, as it was created so many seconds ago.
fn job(seen: &mut Observed, seconds: i64) {
    seen.jobs.clear();
    seen.placement = beside(seen, &json!({ "spec": { "containers": [] } }));
    let plan = plan(seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    let mut body = create.body.clone();
    for (key, value) in [("namespace", "n"), ("name", &*create.key.name), ("uid", "j-1")] {
        body["metadata"][key] = json!(value);
    }
    body["metadata"]["creationTimestamp"] = json!(Timestamp::from_second(NOW - seconds).unwrap());
    seen.jobs = vec![Arc::new(Job::decode(&body.to_string()).unwrap())];
    seen.placement = Placement::Proven;
}

/// A pod of the trial of that database's placement, with that status.
fn pod(seen: &Observed, status: &Value) -> Arc<Pod> {
    let mark = scheduling::mark(&scheduling::placement(&seen.db.spec.scheduling));
    let labels = json!({ "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": "shop-trial",
        PLACEMENT: mark });
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-trial-x", "labels": labels },
        "spec": { "nodeName": "two" }, "status": status });
    Arc::new(Pod::decode(&pod.to_string()).unwrap())
}

/// One that has ended well.
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
fn a_pod_with_the_same_placement_is_tried_nowhere() {
    assert_eq!(placement(&standing(&json!({}), &settled()), now()), Some(Placement::Proven));
    let mut restarted = standing(&json!({}), &settled());
    let annotations = json!({ "kubectl.kubernetes.io/restartedAt": "2027-01-01T00:00:00Z" });
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": annotations });
    restarted.db = with(&meta, &json!({}), &settled()).db;
    assert_eq!(placement(&restarted, now()), Some(Placement::Proven));
    assert_eq!(done(&plan(&restarted, now())), ["apply StatefulSet shop"]);
}

#[test]
fn another_placement_is_tried_before_anything_changes() {
    let mut seen = moved();
    assert_eq!(placement(&seen, now()), None, "the present pod is to be read");
    job(&mut seen, 0);
    assert_eq!(seen.jobs[0].meta.key.name.as_ref(), "shop-trial");
    seen.placement = placement(&seen, now()).unwrap();
    let told = plan(&seen, now());
    assert_eq!(done(&told), Vec::<String>::new());
    assert_eq!(reason(&told.status.unwrap(), "Reconciling").1, "ServerRestarting");
    seen.pods.push(done_well(&seen));
    seen.placement = placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"]);
}

#[test]
fn what_no_node_takes_is_told_and_the_present_pod_stays() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(nowhere(&seen));
    seen.placement = placement(&seen, now()).unwrap();
    stays(&seen, "0/3 nodes are available; correct the spec");
    // Whether it is ready at this moment is no reason to give it up, nor is that it was lost.
    let server = seen.pods.remove(0);
    assert!(matches!(placement(&seen, now()), Some(Placement::Refused(_))));
    seen.pods.insert(0, server);
    // Taken back, the trial is over.
    seen.db = observed(&json!({}), &settled()).db;
    seen.placement = placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-trial"]);
}

#[test]
fn what_the_server_is_told_as_it_runs_waits_for_no_other_pod() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(nowhere(&seen));
    seen.placement = placement(&seen, now()).unwrap();
    seen.asked = says(|answer| answer.login = Login::WrongPassword);
    assert_eq!(plan(&seen, now()).effects, [Effect::Act(DbAct::SetPassword)]);
    seen.asked = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    stays(&seen, "0/3 nodes are available");
}

#[test]
fn jobs_run_where_the_server_does_whatever_the_spec_says_since() {
    let seen = moved();
    assert!(seen.place("postgres:17").scheduling.node_selector.contains_key("disk"));
    assert_eq!(*seen.place_of_jobs("postgres:17").scheduling, standing(&json!({}), &settled()).db.spec.scheduling);
}

#[test]
fn a_trial_that_failed_tells_why_and_one_of_another_spec_tells_nothing() {
    let mut seen = moved();
    job(&mut seen, 0);
    let mut failed =
        Job::decode(&json!({ "metadata": { "namespace": "n", "name": "shop-trial" } }).to_string()).unwrap();
    failed.labels.clone_from(&seen.jobs[0].labels);
    failed.end = Some(JobEnd::Failed { reason: "PodFailurePolicy".to_owned(), message: "it failed".to_owned() });
    seen.jobs = vec![Arc::new(failed)];
    assert_eq!(placement(&seen, now()), Some(Placement::Refused("it failed".to_owned())));
    let said = json!({ "reason": "WrongUser", "message": "it would run as user 1000" }).to_string();
    seen.pods.push(pod(
        &seen,
        &json!({ "containerStatuses": [{ "name": "work", "image": "i", "restartCount": 0,
        "state": { "terminated": { "exitCode": 5, "message": said } } }] }),
    ));
    assert_eq!(placement(&seen, now()), Some(Placement::Refused("it would run as user 1000".to_owned())));
    seen.db = observed(&json!({ "nodeSelector": { "disk": "hdd" } }), &settled()).db;
    assert!(matches!(placement(&seen, now()), Some(Placement::Trying(_))));
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"], "unless what is known is heeded");
    seen.placement = placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-trial"]);
}

#[test]
fn a_trial_that_no_quota_has_room_for_is_waited_for_a_minute() {
    let mut seen = moved();
    job(&mut seen, 30);
    assert!(matches!(placement(&seen, now()), Some(Placement::Trying(_))));
    job(&mut seen, 61);
    assert_eq!(placement(&seen, now()), Some(Placement::Proven));
    seen.pods.push(nowhere(&seen));
    assert!(matches!(placement(&seen, now()), Some(Placement::Refused(_))));
}

#[test]
fn nothing_is_tried_while_nobody_may_write_nor_beside_a_pod_that_keeps_others_away() {
    let mut seen = moved();
    let mut status = settled();
    status["upgrade"] = json!({ "step": "Roll" });
    seen.db = observed(&json!({ "nodeSelector": { "disk": "ssd" } }), &status).db;
    assert_eq!(placement(&seen, now()), Some(Placement::Proven));
    let apart = json!([{ "labelSelector": {}, "topologyKey": "kubernetes.io/hostname" }]);
    let affinity = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": apart } });
    assert_eq!(beside(&seen, &json!({ "spec": { "containers": [], "affinity": affinity } })), Placement::Proven);
}

#[test]
fn a_trial_is_like_the_pod_but_for_what_the_present_one_has() {
    let mut seen = standing(&json!({}), &settled());
    let spec = json!({ "nodeSelector": { "disk": "ssd" }, "imagePullSecrets": [{ "name": "pull" }],
        "resources": { "requests": { "cpu": "1" } }, "affinity": { "podAntiAffinity": {}, "nodeAffinity": {} },
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule" }] });
    seen.db = observed(&spec, &settled()).db;
    let container = json!({ "name": "postgres", "resources": { "requests": { "cpu": "250m" } } });
    seen.placement =
        beside(&seen, &json!({ "spec": { "containers": [container], "securityContext": { "runAsUser": 999 } } }));
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
        scheduling::mark(&scheduling::placement(&seen.db.spec.scheduling))
    );
}

/// The same pods, but the server's is on that node, and is not ready.
fn unready_on(seen: &mut Observed, node: &str) {
    let mut server = Pod::whole(r#"{"metadata": {"namespace": "n", "name": "shop-0", "uid": "p-1"}}"#).unwrap();
    let mut running = seen.pods[0].running.clone().unwrap();
    (running.node, running.ready) = (Some(node.into()), false);
    server.running = Some(running);
    seen.pods[0] = Arc::new(server);
}

#[test]
fn a_pod_that_has_run_on_another_node_proves_nothing_of_room_until_one_asks_for_all() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(done_well(&seen));
    unready_on(&mut seen, "two");
    assert_eq!(placement(&seen, now()), Some(Placement::Proven), "what the present pod has is free there");
    unready_on(&mut seen, "one");
    assert_eq!(placement(&seen, now()), None);
    let present =
        json!({ "spec": { "containers": [{ "name": "postgres", "resources": { "requests": { "cpu": "1" } } }] } });
    seen.placement = beside(&seen, &present);
    assert_eq!(seen.placement, Placement::Due(Box::new(Present { whole: true, ..Present::default() })));
    let plan = plan(&seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    assert_eq!(&*create.key.name, "shop-whole");
}

#[test]
fn the_pod_of_an_earlier_trial_says_nothing_of_the_next_one() {
    let mut seen = moved();
    let earlier = done_well(&seen);
    seen.db = observed(&json!({ "nodeSelector": { "disk": "hdd" } }), &settled()).db;
    job(&mut seen, 0);
    seen.pods.push(earlier);
    assert!(matches!(placement(&seen, now()), Some(Placement::Trying(_))));
}

#[test]
fn a_pod_that_has_failed_is_replaced_by_one_as_it_is_whatever_is_refused() {
    let mut seen = moved();
    job(&mut seen, 0);
    seen.pods.push(nowhere(&seen));
    unready_on(&mut seen, "one");
    seen.placement = placement(&seen, now()).unwrap();
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
    seen.failed = Some("Evicted".to_owned());
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"], "and the StatefulSet keeps its template");
}

#[test]
fn a_pod_that_is_starting_is_not_given_up_for_one_that_has_not_been_tried() {
    let mut seen = moved();
    unready_on(&mut seen, "one");
    assert_eq!(placement(&seen, now()), None);
}

#[test]
fn a_trial_has_the_priority_of_the_present_pod_lest_it_drive_that_one_away() {
    let mut seen = moved();
    seen.db = observed(&json!({ "priorityClassName": "high" }), &settled()).db;
    seen.placement = beside(&seen, &json!({ "spec": { "containers": [], "priorityClassName": "low" } }));
    let plan = plan(&seen, now());
    let [Effect::Create(create)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    assert_eq!(create.body["spec"]["template"]["spec"]["priorityClassName"], "low");
}

#[test]
fn while_writers_are_shut_out_the_server_runs_where_it_does() {
    let mut status = settled();
    let mut seen = standing(&json!({ "nodeSelector": { "disk": "ssd" } }), &status);
    status["upgrade"] = json!({ "step": "Copy" });
    seen.db = observed(&json!({ "nodeSelector": { "disk": "nowhere" } }), &status).db;
    assert_eq!(seen.scheduling().node_selector["disk"], "ssd");
    status["upgrade"] = json!({ "step": "Check" });
    seen.db = observed(&json!({ "nodeSelector": { "disk": "nowhere" } }), &status).db;
    assert_eq!(seen.scheduling().node_selector["disk"], "nowhere");
}
