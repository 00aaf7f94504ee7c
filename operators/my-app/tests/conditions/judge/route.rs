//! RouteAccepted: whether the specified route works, as the Gateway's or the Ingress's controller reports.

use serde_json::{Value, json};

use super::ensure;
use super::sample::{Child, RouteVisibility, Sample, condition};
use crate::site::DEFAULT_CLASS;

fn requested(sample: &Sample) -> &Value {
    &sample.app["spec"]["route"]
}

fn by_gateway(sample: &Sample) -> bool {
    requested(sample)["gateway"].is_object()
}

fn child(sample: &Sample) -> &Child {
    if by_gateway(sample) { &sample.children.http_route } else { &sample.children.ingress }
}

fn has(sample: &Sample, live: &Value) -> bool {
    let (route, spec) = (requested(sample), &live["spec"]);
    let port = &sample.app["spec"]["port"];
    if by_gateway(sample) {
        let (parent, gateway) = (&spec["parentRefs"][0], &route["gateway"]);
        ["name", "namespace", "sectionName"].iter().all(|field| parent[*field] == gateway[*field])
            && spec["hostnames"] == json!([route["host"]])
            && spec["rules"][0]["backendRefs"][0]["port"] == *port
    } else {
        let class = route["ingressClassName"].as_str().unwrap_or(DEFAULT_CLASS);
        spec["rules"][0]["host"] == route["host"]
            && spec["ingressClassName"] == *class
            && spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"] == *port
    }
}

/// Whether the route matches the spec, and no other one is left.
pub(super) fn matches_spec(sample: &Sample) -> bool {
    let children = &sample.children;
    let desired = !requested(sample).is_null();
    let [http_route, ingress] = [desired && by_gateway(sample), desired && !by_gateway(sample)];
    let is = |child: &Child, desired: bool| match child.stays() {
        Some(live) => desired && has(sample, live),
        None => !desired,
    };
    let unseen = sample.visibility != RouteVisibility::Served;
    (unseen || is(&children.http_route, http_route)) && is(&children.ingress, ingress)
}

/// What the controllers of the specified Gateway report of the current generation of the route.
fn reports<'a>(sample: &'a Sample, live: &'a Value) -> Vec<&'a Value> {
    let gateway = &requested(sample)["gateway"];
    let home = |namespace: &Value| namespace.as_str().unwrap_or("n").to_owned();
    let is_it = |parent: &&Value| {
        let of = &parent["parentRef"];
        of["name"] == gateway["name"]
            && of["sectionName"] == gateway["sectionName"]
            && home(&of["namespace"]) == home(&gateway["namespace"])
    };
    let parents = live["status"]["parents"].as_array().into_iter().flatten().filter(is_it);
    let judged = parents.flat_map(|parent| parent["conditions"].as_array().into_iter().flatten());
    judged.filter(|judged| judged["observedGeneration"] == live["metadata"]["generation"]).collect()
}

fn refuses(judged: &Value) -> bool {
    let of = |types: [&str; 2]| types.iter().any(|type_| judged["type"] == *type_);
    of(["Accepted", "ResolvedRefs"]) && judged["status"] == "False"
        || of(["PartiallyInvalid", "Conflicted"]) && judged["status"] == "True"
}

fn accepts(judged: &Value) -> bool {
    judged["type"] == "Accepted" && judged["status"] == "True"
}

fn addresses(live: &Value) -> usize {
    live["status"]["loadBalancer"]["ingress"].as_array().map_or(0, Vec::len)
}

pub(super) fn route(sample: &Sample, judged: &Value) -> Result<(), String> {
    ensure(!requested(sample).is_null(), "the spec has no route")?;
    if sample.queried.is_blind {
        let before = condition(&sample.app["status"], "RouteAccepted");
        return ensure(before == Some(judged), "nothing was observed");
    }
    let (reason, status) =
        (judged["reason"].as_str().unwrap_or_default(), judged["status"].as_str().unwrap_or_default());
    let live = child(sample).stays().filter(|live| has(sample, live));
    let nothing = json!({});
    let reports = reports(sample, live.unwrap_or(&nothing));
    if by_gateway(sample) && sample.visibility != RouteVisibility::Served {
        let [holds, expected] = match sample.visibility {
            RouteVisibility::NotServed => ["False", "GatewayAPIMissing"],
            RouteVisibility::Served | RouteVisibility::Unknown => ["Unknown", "WatchFailing"],
        };
        return ensure(status == holds && reason == expected, "the kind is not served or watched");
    }
    match (status, reason) {
        ("True", "Accepted") => {
            ensure(by_gateway(sample) && live.is_some(), "there is no such HTTPRoute")?;
            ensure(reports.iter().any(|judged| accepts(judged)), "no controller has accepted the current route")?;
            ensure(!reports.iter().any(|judged| refuses(judged)), "it is rejected as well")
        }
        ("Unknown", "AcceptancePending") => {
            ensure(by_gateway(sample), "the spec requests an Ingress")?;
            let is_known = !child(sample).wrote && reports.iter().any(|judged| accepts(judged) || refuses(judged));
            ensure(!is_known, "it has been judged as it is")
        }
        ("True", "AddressAssigned") => {
            ensure(!by_gateway(sample), "the spec names a Gateway")?;
            // An edit is reverted.
            let restored = || child(sample).stays().filter(|_| sample.was_true("RouteAccepted") && !sample.is_paused());
            let live = live.or_else(restored).ok_or("there is no such Ingress")?;
            ensure(addresses(live) > 0, "it has no address")
        }
        ("Unknown", "AddressPending") => {
            ensure(!by_gateway(sample), "the spec names a Gateway")?;
            // Edited labels differ from the spec, and stay so where the operator does not, or cannot, revert them.
            let restored = !sample.is_paused() && !child(sample).is_rejected;
            let matches_spec =
                |live: &Value| restored || live["metadata"]["labels"]["app.kubernetes.io/instance"] != "theirs";
            let is_known = !child(sample).wrote && live.is_some_and(|live| addresses(live) > 0 && matches_spec(live));
            ensure(!is_known, "it has an address")
        }
        ("False", "WaitingForDeletion") => ensure(child(sample).was_terminating(), "nothing is being deleted"),
        ("False", _) => {
            let is_said = reports.iter().any(|judged| refuses(judged) && judged["reason"] == *reason);
            ensure(by_gateway(sample) && is_said, "no controller reports that for the current route")
        }
        _ => Err("these rules do not know the reason".to_owned()),
    }
}

/// The status always has it.
pub(super) fn silent(sample: &Sample) -> Result<(), String> {
    let reported = condition(&sample.status, "RouteAccepted").is_some();
    ensure(reported || requested(sample).is_null() || sample.queried.is_blind, "the status does not report the route")
}
