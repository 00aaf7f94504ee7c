//! The judge rejects false statuses.

use serde_json::{Value, json};

use crate::judge::{Read, Sample, Sight, judge};
use crate::site::{About, Answer, Scaled, Site, Step, Verdict};

/// The last sample, whose status is true.
fn last(spec: Value, steps: impl IntoIterator<Item = Step>, words: &str) -> Sample {
    let mut site = Site::new(&spec);
    let samples = steps.into_iter().filter_map(|step| site.take(step));
    let sample = samples.last().expect("it ran");
    let told = judge(&sample).unwrap_or_else(|why| panic!("{why}"));
    assert!(told.iter().any(|told| told == words), "{told:?}");
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

/// The sample after a lie is no true one.
#[track_caller]
fn lie(sample: &Sample, tell: impl FnOnce(&mut Sample)) {
    let mut lie = sample.clone();
    tell(&mut lie);
    assert!(judge(&lie).is_err(), "it is taken for true: {lie}");
}

/// Puts that where the pointer leads to.
fn put(value: &mut Option<Value>, pointer: &str, new: impl Into<Value>) {
    *value.as_mut().and_then(|value| value.pointer_mut(pointer)).expect("it is there") = new.into();
}

/// Replaces its conditions.
fn say(sample: &mut Sample, conditions: &[[&str; 3]]) {
    let generation = sample.app["metadata"]["generation"].clone();
    let said = conditions.iter().map(|[type_, status, reason]| {
        json!({ "type": type_, "status": status, "reason": reason, "observedGeneration": generation })
    });
    sample.status["conditions"] = said.collect();
}

fn stall(reason: &str) -> impl FnOnce(&mut Sample) {
    move |sample| say(sample, &[["Ready", "False", reason], ["Stalled", "True", reason]])
}

#[test]
fn a_false_word_is_found() {
    let sample = last(spec(json!({})), runs([]), "Ready=True Running");
    lie(&sample, |it| put(&mut it.children.deployment.live, "/status/readyReplicas", 0));
    lie(&sample, |it| put(&mut it.children.deployment.live, "/status/observedGeneration", 0));
    lie(&sample, |it| put(&mut it.children.deployment.live, "/spec/template/spec/containers/0/image", "app:2"));
    lie(&sample, |it| put(&mut it.children.service.live, "/spec/type", "NodePort"));
    lie(&sample, |it| put(&mut it.children.service.live, "/spec/ports/0/port", 81));
    lie(&sample, |it| it.app["metadata"]["generation"] = 9.into());
    lie(&sample, |it| it.app["spec"]["service"] = json!({ "type": "ClusterIP", "annotations": { "pool": "blue" } }));
    lie(&sample, |it| it.app["spec"]["podOverrides"] = json!({ "metadata": { "labels": { "team": "a" } } }));
    lie(&sample, |it| it.app["spec"]["podOverrides"] = json!({ "spec": { "hostPID": true } }));
    lie(&sample, |it| it.app["spec"]["restartOn"] = json!([{ "configMapRef": { "name": "settings" } }]));
    lie(&sample, |it| it.app["spec"]["paused"] = true.into());
    lie(&sample, |it| it.asking.dry_run = Some(Answer::No));
    lie(&sample, |it| say(it, &[["Ready", "True", "Running"], ["Stalled", "True", "NameTaken"]]));
    lie(&sample, |it| say(it, &[["Ready", "True", "Running"], ["Reconciling", "True", "WaitingForDeletion"]]));
    lie(&sample, |it| say(it, &[["Ready", "True", "Running"], ["ScalingActive", "True", "ValidMetricFound"]]));
    lie(&sample, |it| say(it, &[["Ready", "True", "Running"], ["RouteAccepted", "True", "Accepted"]]));
    lie(&sample, |it| say(it, &[["Ready", "False", "Progressing"], ["Reconciling", "True", "Progressing"]]));
    lie(&sample, |it| say(it, &[["Ready", "False", "APIServerError"], ["Reconciling", "True", "APIServerError"]]));
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
        lie(&sample, stall(reason));
    }
}

#[test]
fn content_that_pods_do_not_have_is_found() {
    let spec = spec(json!({ "restartOn": [{ "configMapRef": { "name": "settings" } }] }));
    let sample = last(spec.clone(), runs([]), "Ready=True Running");
    lie(&sample, |it| it.asking.digest = Some("other".to_owned()));
    lie(&sample, |it| it.asking.read[0].2 = Read::Missing);
    lie(&sample, |it| (it.asking.read[0].2, it.asking.digest) = (Read::Awaited, None));
    let gone = [Step::Source("settings", None), Step::Read(Answer::Yes), Step::see_all()];
    let missing = last(spec, runs(gone), "Stalled=True RestartSourceMissing");
    lie(&missing, |it| it.asking.read[0].1 = true);
    lie(&missing, stall("Forbidden"));
}

#[test]
fn a_dry_run_that_said_otherwise_is_found() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } } });
    let ask = |answer| {
        let edited = Step::edit(spec(json!({ "podOverrides": overrides })));
        runs([Step::DryRun(answer), edited, Step::see_all()])
    };
    let refused = last(spec(json!({})), ask(Answer::No), "Stalled=True Rejected");
    lie(&refused, |it| it.asking.dry_run = Some(Answer::Yes));
    lie(&refused, |it| it.app["spec"]["podOverrides"] = Value::Null);
    let unsaid = last(spec(json!({})), ask(Answer::Nothing), "Reconciling=True APIServerError");
    lie(&unsaid, |it| it.asking.dry_run = Some(Answer::No));
}

#[test]
fn a_word_of_another_route_is_found() {
    let spec = || spec(json!({ "route": { "host": "a.example.com", "gateway": { "name": "public" } } }));
    let says = |verdict| runs([Step::Gateway { verdict, about: About::Now }, Step::see_all()]);
    let sample = last(spec(), says(Verdict::Accepted), "RouteAccepted=True Accepted");
    let route = |it: &mut Sample, pointer: &str, new: Value| put(&mut it.children.http_route.live, pointer, new);
    lie(&sample, |it| route(it, "/metadata/generation", 9.into()));
    lie(&sample, |it| route(it, "/spec/hostnames/0", "b.example.com".into()));
    lie(&sample, |it| route(it, "/status/parents/0/parentRef/name", "other".into()));
    lie(&sample, |it| it.app["spec"]["route"]["gateway"]["sectionName"] = "https".into());
    lie(&sample, |it| it.app["spec"]["route"] = Value::Null);
    lie(&sample, |it| it.sight = Sight::NotServed);
    lie(&sample, |it| it.sight = Sight::Unknown);
    let word = |status: &'static str, reason: &'static str| {
        move |it: &mut Sample| say(it, &[["Ready", "True", "Running"], ["RouteAccepted", status, reason]])
    };
    let ready = [["Ready", "True", "Running"]];
    lie(&sample, |it| say(it, &ready));
    lie(&sample, word("Unknown", "AcceptancePending"));
    lie(&sample, word("Unknown", "WatchFailing"));
    lie(&sample, word("False", "GatewayAPIMissing"));
    lie(&sample, word("False", "WaitingForDeletion"));
    lie(&sample, word("False", "NotAllowedByListeners"));
    lie(&sample, word("True", "AddressAssigned"));
    let refused = last(spec(), says(Verdict::Refused), "RouteAccepted=False NotAllowedByListeners");
    lie(&refused, word("True", "Accepted"));
    let unresolved = last(spec(), says(Verdict::Unresolved), "RouteAccepted=False BackendNotFound");
    lie(&unresolved, word("True", "Accepted"));
}

#[test]
fn an_address_of_another_ingress_is_found() {
    let spec = spec(json!({ "route": { "host": "a.example.com" } }));
    let sample = last(spec, runs([Step::Address(true), Step::see_all()]), "RouteAccepted=True AddressAssigned");
    lie(&sample, |it| put(&mut it.children.ingress.live, "/status/loadBalancer/ingress", json!([])));
    lie(&sample, |it| put(&mut it.children.ingress.live, "/spec/rules/0/host", "b.example.com"));
    lie(&sample, |it| say(it, &[["Ready", "True", "Running"], ["RouteAccepted", "Unknown", "AddressPending"]]));
}

#[test]
fn a_word_of_another_autoscaler_is_found() {
    let spec = || spec(json!({ "replicas": null, "autoscaling": { "min": 1, "max": 2 } }));
    let says = |scaled| runs([Step::Scale(scaled, 1), Step::see_all()]);
    let sample = last(spec(), says(Scaled::WorksNow), "ScalingActive=True ValidMetricFound");
    let shown = |it: &mut Sample, pointer: &str, new: Value| put(&mut it.children.autoscaler.shown, pointer, new);
    lie(&sample, |it| shown(it, "/metadata/generation", 9.into()));
    lie(&sample, |it| shown(it, "/spec/maxReplicas", 9.into()));
    lie(&sample, |it| shown(it, "/status/conditions/1/status", "False".into()));
    lie(&sample, |it| shown(it, "/status/conditions/0/status", "False".into()));
    lie(&sample, |it| put(&mut it.children.deployment.live, "/spec/replicas", 3));
    lie(&sample, |it| say(it, &[["Ready", "True", "Running"]]));
    let blind = last(spec(), says(Scaled::Blind), "ScalingActive=False FailedGetResourceMetric");
    lie(&blind, |it| say(it, &[["Ready", "True", "Running"], ["ScalingActive", "True", "ValidMetricFound"]]));
}

/// The API server sets the default class only at creation.
#[test]
fn an_ingress_without_a_class_is_no_way_in() {
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
    lie(&sample, |it| put(&mut it.children.ingress.live, "/spec/ingressClassName", Value::Null));
}
