//! The route from outside of the cluster.

use api::my_app::ROUTE_ACCEPTED;
use runtime::projections::{HttpRoute, Ingress};

use super::*;

pub(super) fn routed(route: &Value) -> Arc<MyApp> {
    app(json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route }), json!({ "observedGeneration": 2 }))
}

pub(super) fn by_gateway() -> Arc<MyApp> {
    routed(
        &json!({ "host": "web.example.com", "gateway": { "name": "public", "namespace": "infra", "sectionName": "https" } }),
    )
}

pub(super) fn by_ingress() -> Arc<MyApp> {
    routed(&json!({ "host": "web.example.com", "path": "/shop", "ingressClassName": "haproxy", "tlsSecret": "web" }))
}

/// The child that `apply` creates, with generation 3 and that status.
pub(super) fn created<V: Projection>(apply: Apply, status: &Value) -> ChildState<V> {
    let fingerprint = apply.fingerprint();
    let mut object = apply.body;
    object["metadata"]["uid"] = json!("r");
    object["metadata"]["generation"] = json!(3);
    object["status"] = status.clone();
    ChildState::Owned(OwnedChild { fingerprint, view: Arc::new(V::decode(&object.to_string()).unwrap()) })
}

pub(super) fn http_route(app: &MyApp, status: &Value) -> Served<HttpRoute> {
    Served::Child(created(objects::http_route(app).unwrap(), status))
}

pub(super) fn ingress(app: &MyApp, status: &Value) -> ChildState<Ingress> {
    created(objects::ingress(app).unwrap(), status)
}

/// Everything but the route matches the spec.
pub(super) fn settled(app: &Arc<MyApp>) -> Observed {
    let service = created(objects::service(app).unwrap(), &json!({}));
    Observed { service, ..observed(app.clone(), live(app, json!({ "observedGeneration": 2 }))) }
}

pub(super) fn verdict(plan: &Plan<MyAppStatus>) -> Option<(ConditionStatus, &str)> {
    let condition = status(plan).contract.condition(ROUTE_ACCEPTED)?;
    Some((condition.status, &condition.reason))
}

pub(super) fn independent(plan: &Plan<MyAppStatus>) -> Vec<&str> {
    plan.independent.iter().map(|apply| apply.kind.kind).collect()
}

pub(super) fn deleted(plan: &Plan<MyAppStatus>) -> Vec<&str> {
    let kind = |effect: &Effect| match effect {
        Effect::Delete(delete) => delete.kind.kind,
        other => panic!("{other:?}"),
    };
    plan.effects.iter().map(kind).collect()
}

#[test]
fn a_route_with_a_gateway_is_an_http_route_and_otherwise_an_ingress() {
    assert_eq!(independent(&plan(&settled(&by_gateway()), NOW)), ["HTTPRoute"]);
    assert_eq!(independent(&plan(&settled(&by_ingress()), NOW)), ["Ingress"]);
    assert_eq!(independent(&plan(&settled(&routed(&json!({ "host": "a.b" }))), NOW)), ["Ingress"]);
    assert!(objects::http_route(&by_ingress()).is_none() && objects::ingress(&by_gateway()).is_none());
}

/// The operator's own write triggers no reconcile: without the condition, the status would not report the route until another event.
#[test]
fn a_created_route_is_reported_as_pending_in_the_same_reconcile() {
    for (app, reason) in [(by_gateway(), "AcceptancePending"), (by_ingress(), "AddressPending")] {
        assert_eq!(verdict(&plan(&settled(&app), NOW)), Some((ConditionStatus::Unknown, reason)));
    }
}

#[test]
fn requests_go_to_the_first_tcp_port_of_the_service() {
    let ports = json!([
        { "name": "dns", "port": 53, "protocol": "UDP" }, { "name": "http", "port": 8080, "targetPort": 80 },
    ]);
    let app = app(json!({ "image": "i", "ports": ports, "route": { "host": "a.b" } }), json!({}));
    let path = objects::ingress(&app).unwrap().body["spec"]["rules"][0]["http"]["paths"][0].clone();
    assert_eq!((&path["backend"]["service"]["port"]["number"], &path["path"]), (&json!(8080), &json!("/")));
}

#[test]
fn without_the_gateway_api_there_is_a_condition_and_no_apply() {
    let app = by_gateway();
    let missing = plan(&Observed { http_route: Served::Not, ..settled(&app) }, NOW);
    assert_eq!(verdict(&missing), Some((ConditionStatus::False, "GatewayAPIMissing")));
    assert!(missing.independent.is_empty() && missing.effects.is_empty() && missing.next == Requeue::OnChange);
    assert_eq!(status(&missing).phase, Some(MyAppPhase::ScaledToZero), "everything else matches the spec");
    assert_eq!(missing.events_after_status.len(), 1);
    let unseen = Served::Unknown("no right".to_owned());
    let unseen = plan(&Observed { http_route: unseen, ..settled(&app) }, NOW);
    assert_eq!(verdict(&unseen), Some((ConditionStatus::Unknown, "WatchFailing")));
    assert!(unseen.independent.is_empty());
}

#[test]
fn the_report_of_the_gateways_controller_becomes_the_condition() {
    let app = by_gateway();
    let reported = |conditions: Value, gateway: Value| {
        let parent = json!({ "parentRef": gateway, "controllerName": "c", "conditions": conditions });
        let seen = http_route(&app, &json!({ "parents": [parent] }));
        let plan = plan(&Observed { http_route: seen, ..settled(&app) }, NOW);
        let (status, reason) = verdict(&plan).unwrap();
        (status, reason.to_owned())
    };
    let gateway = json!({ "name": "public", "namespace": "infra", "sectionName": "https" });
    let condition = |type_: &str, status: &str, reason: &str, of: i64| json!({ "type": type_, "status": status, "reason": reason, "message": "why", "observedGeneration": of });
    let accepted = condition("Accepted", "True", "Accepted", 3);
    let pending = (ConditionStatus::Unknown, "AcceptancePending".to_owned());
    let failed = |reason: &str| (ConditionStatus::False, reason.to_owned());
    assert_eq!(reported(json!([]), gateway.clone()), pending);
    assert_eq!(reported(json!([accepted]), gateway.clone()), (ConditionStatus::True, "Accepted".to_owned()));
    assert_eq!(
        reported(json!([accepted]), json!({ "name": "other", "namespace": "infra" })),
        pending,
        "another Gateway"
    );
    let rejected = condition("Accepted", "False", "NotAllowedByListeners", 3);
    assert_eq!(reported(json!([rejected]), gateway.clone()), failed("NotAllowedByListeners"));
    let earlier = condition("Accepted", "False", "NotAllowedByListeners", 2);
    assert_eq!(reported(json!([earlier]), gateway.clone()), pending, "of an earlier route");
    let unresolved = condition("ResolvedRefs", "False", "BackendNotFound", 3);
    assert_eq!(reported(json!([accepted, unresolved]), gateway.clone()), failed("BackendNotFound"));
    let resolved = condition("ResolvedRefs", "True", "ResolvedRefs", 3);
    let taken = condition("Conflicted", "True", "HostnameConflict", 3);
    assert_eq!(reported(json!([accepted, resolved, taken]), gateway), failed("HostnameConflict"));
}

/// Traefik rejects routes without a message, and a condition without a message helps no user.
#[test]
fn a_rejection_without_a_message_gets_one() {
    let app = by_gateway();
    let gateway = json!({ "name": "public", "namespace": "infra", "sectionName": "https" });
    let rejected = json!([{ "type": "Accepted", "status": "False", "reason": "NotAllowedByListeners", "message": "" }]);
    let parent = json!({ "parentRef": gateway, "controllerName": "c", "conditions": rejected });
    let plan = plan(&Observed { http_route: http_route(&app, &json!({ "parents": [parent] })), ..settled(&app) }, NOW);
    let reported = status(&plan).contract.condition(ROUTE_ACCEPTED).unwrap();
    assert_eq!((reported.status, &*reported.reason), (ConditionStatus::False, "NotAllowedByListeners"));
    assert!(
        reported.message.contains("Accepted=False") && reported.message.contains("infra/public"),
        "{}",
        reported.message
    );
}

/// The Gateway's controller reports on the live route, not on the one that this reconcile applies.
#[test]
fn a_route_without_a_current_report_is_not_accepted() {
    let gateway = json!({ "name": "public" });
    let with = |path: &str, reported: Value| {
        let route = json!({ "host": "web.example.com", "path": path, "gateway": gateway });
        app(json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route }), reported)
    };
    let accepted = json!([{ "type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 3 }]);
    let status = json!({ "parents": [{ "parentRef": gateway, "controllerName": "c", "conditions": accepted }] });
    let planned = |app: Arc<MyApp>| {
        let before = http_route(&with("/", json!({})), &status);
        plan(&Observed { http_route: before, ..settled(&app) }, NOW)
    };
    let reported = |generation: i64| {
        let reported = json!([{ "type": ROUTE_ACCEPTED, "status": "True", "reason": "Accepted",
            "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        json!({ "observedGeneration": generation, "conditions": reported })
    };
    let edited = planned(with("/shop", reported(1)));
    assert_eq!(
        (independent(&edited), edited.next),
        (vec!["HTTPRoute"], Requeue::After(super::status::REQUEUE_AFTER_OWN_WRITE))
    );
    assert_eq!(verdict(&edited), Some((ConditionStatus::Unknown, "AcceptancePending")));
    assert_eq!(verdict(&planned(with("/", reported(1)))), Some((ConditionStatus::True, "Accepted")), "another edit");
    // Another client has changed the HTTPRoute: the operator repairs it, and its controller judges it again.
    let changed = planned(with("/shop", reported(2)));
    assert_eq!((independent(&changed), verdict(&changed).unwrap().1), (vec!["HTTPRoute"], "AcceptancePending"));
    let paused = app(
        json!({ "image": "i:2", "replicas": 0, "port": 80, "paused": true,
        "route": { "host": "web.example.com", "path": "/shop", "gateway": gateway } }),
        reported(1),
    );
    let paused = planned(paused);
    assert!(paused.independent.is_empty());
    assert_eq!(
        verdict(&paused),
        Some((ConditionStatus::Unknown, "AcceptancePending")),
        "the paused app keeps the previous route"
    );
}

/// Labels do not change the generation of the route.
#[test]
fn a_route_whose_labels_are_repaired_stays_accepted() {
    let route = json!({ "host": "web.example.com", "gateway": { "name": "public" } });
    let app = routed(&route);
    let accepted = json!([{ "type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 3 }]);
    let status =
        json!({ "parents": [{ "parentRef": { "name": "public" }, "controllerName": "c", "conditions": accepted }] });
    let mut apply = objects::http_route(&app).unwrap();
    apply.body["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("other");
    let labelled = plan(&Observed { http_route: Served::Child(created(apply, &status)), ..settled(&app) }, NOW);
    assert_eq!(
        (independent(&labelled), verdict(&labelled)),
        (vec!["HTTPRoute"], Some((ConditionStatus::True, "Accepted")))
    );
}

/// It does not exist, whatever the status has reported for the current spec.
#[test]
fn a_created_route_is_pending_whatever_was_reported_before() {
    for (status, reason) in [("True", "Accepted"), ("False", "GatewayAPIMissing"), ("Unknown", "WatchFailing")] {
        let reported = json!([{ "type": ROUTE_ACCEPTED, "status": status, "reason": reason, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        let reported = json!({ "observedGeneration": 2, "conditions": reported });
        let route = json!({ "host": "web.example.com", "gateway": { "name": "public" } });
        let app = app(json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route }), reported);
        let creating = plan(&settled(&app), NOW);
        assert_eq!(independent(&creating), ["HTTPRoute"]);
        assert_eq!(verdict(&creating), Some((ConditionStatus::Unknown, "AcceptancePending")), "{reason}");
    }
}

/// As if the API server rejects the change, or the MyApp is paused.
#[test]
fn the_address_of_another_host_does_not_count() {
    let with = |host: &str, paused: bool, reported: Value| {
        let route = json!({ "host": host });
        app(json!({ "image": "i:2", "replicas": 0, "port": 80, "paused": paused, "route": route }), reported)
    };
    let status = json!({ "loadBalancer": { "ingress": [{ "ip": "10.0.0.1" }] } });
    let planned = |app: Arc<MyApp>| {
        let before = ingress(&with("a.example.com", false, json!({})), &status);
        let plan = plan(&Observed { ingress: before, ..settled(&app) }, NOW);
        verdict(&plan).map(|(status, reason)| (status, reason.to_owned())).unwrap()
    };
    let reported = |status: &str, reason: &str| {
        let reported = json!([{ "type": ROUTE_ACCEPTED, "status": status, "reason": reason, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        json!({ "observedGeneration": 2, "conditions": reported })
    };
    let pending = (ConditionStatus::Unknown, "AddressPending".to_owned());
    assert_eq!(planned(with("b.example.com", false, json!({ "observedGeneration": 1 }))), pending);
    assert_eq!(planned(with("b.example.com", false, reported("Unknown", "AddressPending"))), pending, "it is rejected");
    assert_eq!(planned(with("b.example.com", true, reported("True", "AddressAssigned"))), pending, "it is paused");
    let assigned = (ConditionStatus::True, "AddressAssigned".to_owned());
    assert_eq!(planned(with("b.example.com", false, reported("True", "AddressAssigned"))), assigned, "it is repaired");
    assert_eq!(planned(with("a.example.com", true, json!({ "observedGeneration": 1 }))), assigned);
}

#[test]
fn an_ingress_is_reachable_once_it_has_an_address() {
    let app = by_ingress();
    let reported = |status: Value| {
        let plan = plan(&Observed { ingress: ingress(&app, &status), ..settled(&app) }, NOW);
        assert!(plan.independent.is_empty() && plan.effects.is_empty());
        verdict(&plan).map(|(status, reason)| (status, reason.to_owned()))
    };
    assert_eq!(reported(json!({})), Some((ConditionStatus::Unknown, "AddressPending".to_owned())));
    let address = json!({ "loadBalancer": { "ingress": [{ "ip": "10.0.0.1" }] } });
    assert_eq!(reported(address), Some((ConditionStatus::True, "AddressAssigned".to_owned())));
}
