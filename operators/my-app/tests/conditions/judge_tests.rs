//! The judge rejects false statuses.

use serde_json::{Value, json};

use crate::judge::{Read, RouteVisibility, Sample, judge};
use crate::site::{About, Answer, Scaled, Site, Step, Verdict};

/// The last sample, whose status is true.
fn last(spec: Value, steps: impl IntoIterator<Item = Step>, label: &str) -> Sample {
    let mut site = Site::new(&spec);
    let samples = steps.into_iter().filter_map(|step| site.take(step));
    let sample = samples.last().expect("it ran");
    let reported = judge(&sample).unwrap_or_else(|why| panic!("{why}"));
    assert!(reported.iter().any(|reported| reported == label), "{reported:?}");
    sample
}

/// One pod that is ready, and what happens then.
fn runs(then: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let until = [Step::see_all(), Step::sync(), Step::see_all(), Step::ready(0), Step::sync(), Step::see_all()];
    until.into_iter().chain(then).collect()
}

fn spec(more: Value) -> Value {
    let mut spec = json!({ "image": "app:1", "replicas": 1, "port": 80 });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}

/// Checks that the judge rejects the sample after a change that makes it false.
#[track_caller]
fn falsified(sample: &Sample, describe: impl FnOnce(&mut Sample)) {
    let mut falsified = sample.clone();
    describe(&mut falsified);
    assert!(judge(&falsified).is_err(), "it counts as true: {falsified}");
}

/// Sets the value at the pointer.
fn put(value: &mut Option<Value>, pointer: &str, new: impl Into<Value>) {
    *value.as_mut().and_then(|value| value.pointer_mut(pointer)).expect("it is there") = new.into();
}

/// Replaces its conditions.
fn say(sample: &mut Sample, conditions: &[[&str; 3]]) {
    let generation = sample.app["metadata"]["generation"].clone();
    let judged = conditions.iter().map(|[type_, status, reason]| {
        json!({ "type": type_, "status": status, "reason": reason, "observedGeneration": generation })
    });
    sample.status["conditions"] = judged.collect();
}

fn stall(reason: &str) -> impl FnOnce(&mut Sample) {
    move |sample| say(sample, &[["Ready", "False", reason], ["Stalled", "True", reason]])
}

#[test]
fn false_conditions_are_found() {
    let sample = last(spec(json!({})), runs([]), "Ready=True Running");
    falsified(&sample, |it| put(&mut it.children.deployment.live, "/status/readyReplicas", 0));
    falsified(&sample, |it| put(&mut it.children.deployment.live, "/status/observedGeneration", 0));
    falsified(&sample, |it| put(&mut it.children.deployment.live, "/spec/template/spec/containers/0/image", "app:2"));
    falsified(&sample, |it| put(&mut it.children.service.live, "/spec/type", "NodePort"));
    falsified(&sample, |it| put(&mut it.children.service.live, "/spec/ports/0/port", 81));
    falsified(&sample, |it| it.app["metadata"]["generation"] = 9.into());
    falsified(&sample, |it| {
        it.app["spec"]["service"] = json!({ "type": "ClusterIP", "annotations": { "pool": "blue" } })
    });
    falsified(&sample, |it| it.app["spec"]["podOverrides"] = json!({ "metadata": { "labels": { "team": "a" } } }));
    falsified(&sample, |it| it.app["spec"]["podOverrides"] = json!({ "spec": { "hostPID": true } }));
    falsified(&sample, |it| it.app["spec"]["restartOn"] = json!([{ "configMapRef": { "name": "settings" } }]));
    falsified(&sample, |it| it.app["spec"]["paused"] = true.into());
    falsified(&sample, |it| it.queried.dry_run = Some(Answer::No));
    falsified(&sample, |it| say(it, &[["Ready", "True", "Running"], ["Stalled", "True", "NameTaken"]]));
    falsified(&sample, |it| say(it, &[["Ready", "True", "Running"], ["Reconciling", "True", "WaitingForDeletion"]]));
    falsified(&sample, |it| say(it, &[["Ready", "True", "Running"], ["ScalingActive", "True", "ValidMetricFound"]]));
    falsified(&sample, |it| say(it, &[["Ready", "True", "Running"], ["RouteAccepted", "True", "Accepted"]]));
    falsified(&sample, |it| say(it, &[["Ready", "False", "Progressing"], ["Reconciling", "True", "Progressing"]]));
    falsified(&sample, |it| {
        say(it, &[["Ready", "False", "APIServerError"], ["Reconciling", "True", "APIServerError"]])
    });
    for reason in [
        "ImagePullBackOff",
        "NameTaken",
        "Rejected",
        "WatchFailing",
        "PodOverridesInvalid",
        "PodOverridesNotAllowed",
        "RestartSourceMissing",
        "Forbidden",
        "RolledBack",
        "Unheard",
    ] {
        falsified(&sample, stall(reason));
    }
}

#[test]
fn content_without_pods_is_found() {
    let spec = spec(json!({ "restartOn": [{ "configMapRef": { "name": "settings" } }] }));
    let sample = last(spec.clone(), runs([]), "Ready=True Running");
    falsified(&sample, |it| it.queried.digest = Some("other".to_owned()));
    falsified(&sample, |it| it.queried.read[0].2 = Read::Missing);
    falsified(&sample, |it| (it.queried.read[0].2, it.queried.digest) = (Read::Awaited, None));
    let gone = [Step::Source("settings", None), Step::Read(Answer::Yes), Step::see_all()];
    let missing = last(spec, runs(gone), "Stalled=True RestartSourceMissing");
    falsified(&missing, |it| it.queried.read[0].1 = true);
    falsified(&missing, stall("Forbidden"));
}

#[test]
fn a_contradicting_dry_run_is_found() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } } });
    let ask = |answer| {
        let edited = Step::edit(spec(json!({ "podOverrides": overrides })));
        runs([Step::DryRun(answer), edited, Step::see_all()])
    };
    let rejected = last(spec(json!({})), ask(Answer::No), "Stalled=True Rejected");
    falsified(&rejected, |it| it.queried.dry_run = Some(Answer::Yes));
    falsified(&rejected, |it| it.app["spec"]["podOverrides"] = Value::Null);
    let unsaid = last(spec(json!({})), ask(Answer::Nothing), "Reconciling=True APIServerError");
    falsified(&unsaid, |it| it.queried.dry_run = Some(Answer::No));
}

#[test]
fn a_report_on_another_route_is_found() {
    let spec = || spec(json!({ "route": { "host": "a.example.com", "gateway": { "name": "public" } } }));
    let count = |verdict| runs([Step::Gateway { verdict, about: About::Now }, Step::see_all()]);
    let sample = last(spec(), count(Verdict::Accepted), "RouteAccepted=True Accepted");
    let route = |it: &mut Sample, pointer: &str, new: Value| put(&mut it.children.http_route.live, pointer, new);
    falsified(&sample, |it| route(it, "/metadata/generation", 9.into()));
    falsified(&sample, |it| route(it, "/spec/hostnames/0", "b.example.com".into()));
    falsified(&sample, |it| route(it, "/status/parents/0/parentRef/name", "other".into()));
    falsified(&sample, |it| it.app["spec"]["route"]["gateway"]["sectionName"] = "https".into());
    falsified(&sample, |it| it.app["spec"]["route"] = Value::Null);
    falsified(&sample, |it| it.visibility = RouteVisibility::NotServed);
    falsified(&sample, |it| it.visibility = RouteVisibility::Unknown);
    let word = |status: &'static str, reason: &'static str| {
        move |it: &mut Sample| say(it, &[["Ready", "True", "Running"], ["RouteAccepted", status, reason]])
    };
    let ready = [["Ready", "True", "Running"]];
    falsified(&sample, |it| say(it, &ready));
    falsified(&sample, word("Unknown", "AcceptancePending"));
    falsified(&sample, word("Unknown", "WatchFailing"));
    falsified(&sample, word("False", "GatewayAPIMissing"));
    falsified(&sample, word("False", "WaitingForDeletion"));
    falsified(&sample, word("False", "NotAllowedByListeners"));
    falsified(&sample, word("True", "AddressAssigned"));
    let rejected = last(spec(), count(Verdict::Refused), "RouteAccepted=False NotAllowedByListeners");
    falsified(&rejected, word("True", "Accepted"));
    let unresolved = last(spec(), count(Verdict::Unresolved), "RouteAccepted=False BackendNotFound");
    falsified(&unresolved, word("True", "Accepted"));
}

#[test]
fn an_address_of_another_ingress_is_found() {
    let spec = spec(json!({ "route": { "host": "a.example.com" } }));
    let sample = last(spec, runs([Step::Address(true), Step::see_all()]), "RouteAccepted=True AddressAssigned");
    falsified(&sample, |it| put(&mut it.children.ingress.live, "/status/loadBalancer/ingress", json!([])));
    falsified(&sample, |it| put(&mut it.children.ingress.live, "/spec/rules/0/host", "b.example.com"));
    falsified(&sample, |it| say(it, &[["Ready", "True", "Running"], ["RouteAccepted", "Unknown", "AddressPending"]]));
}

#[test]
fn a_report_on_another_autoscaler_is_found() {
    let spec = || spec(json!({ "replicas": null, "autoscaling": { "min": 1, "max": 2 } }));
    let count = |scaled| runs([Step::Scale(scaled, 1), Step::see_all()]);
    let sample = last(spec(), count(Scaled::WorksNow), "ScalingActive=True ValidMetricFound");
    let shown = |it: &mut Sample, pointer: &str, new: Value| put(&mut it.children.autoscaler.shown, pointer, new);
    falsified(&sample, |it| shown(it, "/metadata/generation", 9.into()));
    falsified(&sample, |it| shown(it, "/spec/maxReplicas", 9.into()));
    falsified(&sample, |it| shown(it, "/status/conditions/1/status", "False".into()));
    falsified(&sample, |it| shown(it, "/status/conditions/0/status", "False".into()));
    falsified(&sample, |it| put(&mut it.children.deployment.live, "/spec/replicas", 3));
    falsified(&sample, |it| say(it, &[["Ready", "True", "Running"]]));
    let blind = last(spec(), count(Scaled::Blind), "ScalingActive=False FailedGetResourceMetric");
    falsified(&blind, |it| say(it, &[["Ready", "True", "Running"], ["ScalingActive", "True", "ValidMetricFound"]]));
}

/// The API server sets the default class only at creation.
#[test]
fn an_ingress_without_a_class_is_found() {
    let with = |class: Value| spec(json!({ "route": { "host": "a.example.com", "ingressClassName": class } }));
    let steps = [
        Step::see_all(),
        Step::Address(true),
        Step::see_all(),
        Step::edit(with(Value::Null)),
        Step::see_all(),
        Step::see_all(),
        Step::Address(true),
        Step::see_all(),
    ];
    let sample = last(with(json!("haproxy")), runs(steps), "RouteAccepted=True AddressAssigned");
    falsified(&sample, |it| put(&mut it.children.ingress.live, "/spec/ingressClassName", Value::Null));
}
