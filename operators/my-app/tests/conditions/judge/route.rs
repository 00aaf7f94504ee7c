//! RouteAccepted: whether the specified route works, as the Gateway's or the Ingress's controller reports.

use serde_json::{Value, json};

use super::ensure;
use super::sample::{Child, Sample, Sight, condition};
use crate::site::DEFAULT_CLASS;

fn asked(sample: &Sample) -> &Value {
    &sample.app["spec"]["route"]
}

fn by_gateway(sample: &Sample) -> bool {
    asked(sample)["gateway"].is_object()
}

fn child(sample: &Sample) -> &Child {
    if by_gateway(sample) { &sample.children.http_route } else { &sample.children.ingress }
}

fn has(sample: &Sample, live: &Value) -> bool {
    let (route, spec) = (asked(sample), &live["spec"]);
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
pub(super) fn is_as_asked(sample: &Sample) -> bool {
    let children = &sample.children;
    let wanted = !asked(sample).is_null();
    let [http_route, ingress] = [wanted && by_gateway(sample), wanted && !by_gateway(sample)];
    let is = |child: &Child, wanted: bool| match child.stays() {
        Some(live) => wanted && has(sample, live),
        None => !wanted,
    };
    let unseen = sample.sight != Sight::ChildState;
    (unseen || is(&children.http_route, http_route)) && is(&children.ingress, ingress)
}

/// What the controllers of the specified Gateway report of the current generation of the route.
fn words<'a>(sample: &'a Sample, live: &'a Value) -> Vec<&'a Value> {
    let gateway = &asked(sample)["gateway"];
    let home = |namespace: &Value| namespace.as_str().unwrap_or("n").to_owned();
    let is_it = |parent: &&Value| {
        let of = &parent["parentRef"];
        of["name"] == gateway["name"]
            && of["sectionName"] == gateway["sectionName"]
            && home(&of["namespace"]) == home(&gateway["namespace"])
    };
    let parents = live["status"]["parents"].as_array().into_iter().flatten().filter(is_it);
    let said = parents.flat_map(|parent| parent["conditions"].as_array().into_iter().flatten());
    said.filter(|said| said["observedGeneration"] == live["metadata"]["generation"]).collect()
}

fn refuses(said: &Value) -> bool {
    let of = |types: [&str; 2]| types.iter().any(|type_| said["type"] == *type_);
    of(["Accepted", "ResolvedRefs"]) && said["status"] == "False"
        || of(["PartiallyInvalid", "Conflicted"]) && said["status"] == "True"
}

fn accepts(said: &Value) -> bool {
    said["type"] == "Accepted" && said["status"] == "True"
}

fn addresses(live: &Value) -> usize {
    live["status"]["loadBalancer"]["ingress"].as_array().map_or(0, Vec::len)
}

pub(super) fn route(sample: &Sample, said: &Value) -> Result<(), String> {
    ensure(!asked(sample).is_null(), "no route is asked for")?;
    if sample.asking.is_blind {
        let before = condition(&sample.app["status"], "RouteAccepted");
        return ensure(before == Some(said), "nobody has looked");
    }
    let (reason, status) = (said["reason"].as_str().unwrap_or_default(), said["status"].as_str().unwrap_or_default());
    let live = child(sample).stays().filter(|live| has(sample, live));
    let nothing = json!({});
    let heard = words(sample, live.unwrap_or(&nothing));
    if by_gateway(sample) && sample.sight != Sight::ChildState {
        let [holds, expected] = match sample.sight {
            Sight::NotServed => ["False", "GatewayAPIMissing"],
            Sight::ChildState | Sight::Unknown => ["Unknown", "WatchFailing"],
        };
        return ensure(status == holds && reason == expected, "its kind is not seen");
    }
    match (status, reason) {
        ("True", "Accepted") => {
            ensure(by_gateway(sample) && live.is_some(), "there is no such HTTPRoute")?;
            ensure(heard.iter().any(|said| accepts(said)), "nobody has accepted it as it is")?;
            ensure(!heard.iter().any(|said| refuses(said)), "it is refused as well")
        }
        ("Unknown", "AcceptancePending") => {
            ensure(by_gateway(sample), "an Ingress is asked for")?;
            let is_known = !child(sample).wrote && heard.iter().any(|said| accepts(said) || refuses(said));
            ensure(!is_known, "it has been judged as it is")
        }
        ("True", "AddressAssigned") => {
            ensure(!by_gateway(sample), "a Gateway is asked for")?;
            // An edit is reverted.
            let put_back = || child(sample).stays().filter(|_| sample.was_true("RouteAccepted") && !sample.is_paused());
            let live = live.or_else(put_back).ok_or("there is no such Ingress")?;
            ensure(addresses(live) > 0, "it has no address")
        }
        ("Unknown", "AddressPending") => {
            ensure(!by_gateway(sample), "a Gateway is asked for")?;
            // Edited labels differ from the spec, and stay so where the operator does not, or cannot, revert them.
            let put_back = !sample.is_paused() && !child(sample).is_refused;
            let is_as_asked =
                |live: &Value| put_back || live["metadata"]["labels"]["app.kubernetes.io/instance"] != "theirs";
            let is_known = !child(sample).wrote && live.is_some_and(|live| addresses(live) > 0 && is_as_asked(live));
            ensure(!is_known, "it has an address")
        }
        ("False", "WaitingForDeletion") => ensure(child(sample).is_seen_leaving(), "nothing is being deleted"),
        ("False", _) => {
            let is_said = heard.iter().any(|said| refuses(said) && said["reason"] == *reason);
            ensure(by_gateway(sample) && is_said, "no controller says so of it as it is")
        }
        _ => Err("these rules do not know the reason".to_owned()),
    }
}

/// The status always has it.
pub(super) fn silent(sample: &Sample) -> Result<(), String> {
    let told = condition(&sample.status, "RouteAccepted").is_some();
    ensure(told || asked(sample).is_null() || sample.asking.is_blind, "nothing is said of the route")
}
