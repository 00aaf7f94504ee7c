//! The way in from outside of the cluster.

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

/// A child as `apply` makes it, of generation 3, with that status.
pub(super) fn made<V: Projection>(apply: Apply, status: &Value) -> ChildState<V> {
    let fingerprint = apply.fingerprint();
    let mut object = apply.body;
    object["metadata"]["uid"] = json!("r");
    object["metadata"]["generation"] = json!(3);
    object["status"] = status.clone();
    ChildState::Owned(OwnedChild { fingerprint, view: Arc::new(V::decode(&object.to_string()).unwrap()) })
}

pub(super) fn http_route(app: &MyApp, status: &Value) -> Served<HttpRoute> {
    Served::Child(made(objects::http_route(app).unwrap(), status))
}

pub(super) fn ingress(app: &MyApp, status: &Value) -> ChildState<Ingress> {
    made(objects::ingress(app).unwrap(), status)
}

/// All else as asked.
pub(super) fn settled(app: &Arc<MyApp>) -> Observed {
    let service = made(objects::service(app).unwrap(), &json!({}));
    Observed { service, ..observed(app.clone(), live(app, json!({ "observedGeneration": 2 }))) }
}

pub(super) fn said(plan: &Plan<MyAppStatus>) -> Option<(ConditionStatus, &str)> {
    let condition = status(plan).contract.condition(ROUTE_ACCEPTED)?;
    Some((condition.status, &condition.reason))
}

pub(super) fn aside(plan: &Plan<MyAppStatus>) -> Vec<&str> {
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
fn a_gateway_makes_an_http_route_and_all_else_an_ingress() {
    assert_eq!(aside(&plan(&settled(&by_gateway()), NOW)), ["HTTPRoute"]);
    assert_eq!(aside(&plan(&settled(&by_ingress()), NOW)), ["Ingress"]);
    assert_eq!(aside(&plan(&settled(&routed(&json!({ "host": "a.b" }))), NOW)), ["Ingress"]);
    assert!(objects::http_route(&by_ingress()).is_none() && objects::ingress(&by_gateway()).is_none());
}

/// No other pass follows our own write: without the condition, it would not be told until something else happens.
#[test]
fn what_is_made_now_is_waited_for_in_the_same_pass() {
    for (app, reason) in [(by_gateway(), "AcceptancePending"), (by_ingress(), "AddressPending")] {
        assert_eq!(said(&plan(&settled(&app), NOW)), Some((ConditionStatus::Unknown, reason)));
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
fn without_the_gateway_api_there_is_a_condition_and_no_try() {
    let app = by_gateway();
    let missing = plan(&Observed { http_route: Served::Not, ..settled(&app) }, NOW);
    assert_eq!(said(&missing), Some((ConditionStatus::False, "GatewayAPIMissing")));
    assert!(missing.independent.is_empty() && missing.effects.is_empty() && missing.next == Requeue::OnChange);
    assert_eq!(status(&missing).phase, Some(Phase::ScaledToZero), "the rest is as asked");
    assert_eq!(missing.events.len(), 1);
    let unseen = Served::Unknown("no right".to_owned());
    let unseen = plan(&Observed { http_route: unseen, ..settled(&app) }, NOW);
    assert_eq!(said(&unseen), Some((ConditionStatus::Unknown, "WatchFailing")));
    assert!(unseen.independent.is_empty());
}

#[test]
fn what_the_gateways_controller_says_is_told() {
    let app = by_gateway();
    let told = |conditions: Value, gateway: Value| {
        let parent = json!({ "parentRef": gateway, "controllerName": "c", "conditions": conditions });
        let seen = http_route(&app, &json!({ "parents": [parent] }));
        let plan = plan(&Observed { http_route: seen, ..settled(&app) }, NOW);
        let (status, reason) = said(&plan).unwrap();
        (status, reason.to_owned())
    };
    let ours = json!({ "name": "public", "namespace": "infra", "sectionName": "https" });
    let condition = |type_: &str, status: &str, reason: &str, of: i64| json!({ "type": type_, "status": status, "reason": reason, "message": "why", "observedGeneration": of });
    let accepted = condition("Accepted", "True", "Accepted", 3);
    let pending = (ConditionStatus::Unknown, "AcceptancePending".to_owned());
    let failed = |reason: &str| (ConditionStatus::False, reason.to_owned());
    assert_eq!(told(json!([]), ours.clone()), pending);
    assert_eq!(told(json!([accepted]), ours.clone()), (ConditionStatus::True, "Accepted".to_owned()));
    assert_eq!(told(json!([accepted]), json!({ "name": "other", "namespace": "infra" })), pending, "another Gateway");
    let refused = condition("Accepted", "False", "NotAllowedByListeners", 3);
    assert_eq!(told(json!([refused]), ours.clone()), failed("NotAllowedByListeners"));
    let earlier = condition("Accepted", "False", "NotAllowedByListeners", 2);
    assert_eq!(told(json!([earlier]), ours.clone()), pending, "of an earlier route");
    let unresolved = condition("ResolvedRefs", "False", "BackendNotFound", 3);
    assert_eq!(told(json!([accepted, unresolved]), ours.clone()), failed("BackendNotFound"));
    let resolved = condition("ResolvedRefs", "True", "ResolvedRefs", 3);
    let taken = condition("Conflicted", "True", "HostnameConflict", 3);
    assert_eq!(told(json!([accepted, resolved, taken]), ours), failed("HostnameConflict"));
}

/// Traefik refuses without a word, and a condition without one helps nobody.
#[test]
fn a_refusal_without_words_is_told_in_some() {
    let app = by_gateway();
    let gateway = json!({ "name": "public", "namespace": "infra", "sectionName": "https" });
    let refused = json!([{ "type": "Accepted", "status": "False", "reason": "NotAllowedByListeners", "message": "" }]);
    let parent = json!({ "parentRef": gateway, "controllerName": "c", "conditions": refused });
    let plan = plan(&Observed { http_route: http_route(&app, &json!({ "parents": [parent] })), ..settled(&app) }, NOW);
    let told = status(&plan).contract.condition(ROUTE_ACCEPTED).unwrap();
    assert_eq!((told.status, &*told.reason), (ConditionStatus::False, "NotAllowedByListeners"));
    assert!(told.message.contains("Accepted=False") && told.message.contains("infra/public"), "{}", told.message);
}

/// The word of the gateway's controller is of the route that is there, not of the one that this pass makes of it.
#[test]
fn a_route_that_nobody_has_judged_is_not_accepted() {
    let gateway = json!({ "name": "public" });
    let with = |path: &str, told: Value| {
        let route = json!({ "host": "web.example.com", "path": path, "gateway": gateway });
        app(json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route }), told)
    };
    let accepted = json!([{ "type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 3 }]);
    let status = json!({ "parents": [{ "parentRef": gateway, "controllerName": "c", "conditions": accepted }] });
    let beside = |app: Arc<MyApp>| {
        let before = http_route(&with("/", json!({})), &status);
        plan(&Observed { http_route: before, ..settled(&app) }, NOW)
    };
    let told = |generation: i64| {
        let told = json!([{ "type": ROUTE_ACCEPTED, "status": "True", "reason": "Accepted",
            "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        json!({ "observedGeneration": generation, "conditions": told })
    };
    let edited = beside(with("/shop", told(1)));
    assert_eq!(
        (aside(&edited), edited.next),
        (vec!["HTTPRoute"], Requeue::After(super::status::REQUEUE_AFTER_OWN_WRITE))
    );
    assert_eq!(said(&edited), Some((ConditionStatus::Unknown, "AcceptancePending")));
    assert_eq!(said(&beside(with("/", told(1)))), Some((ConditionStatus::True, "Accepted")), "another edit");
    // Somebody has changed the HTTPRoute: it is put back, and judged anew.
    let changed = beside(with("/shop", told(2)));
    assert_eq!((aside(&changed), said(&changed).unwrap().1), (vec!["HTTPRoute"], "AcceptancePending"));
    let paused = app(
        json!({ "image": "i:2", "replicas": 0, "port": 80, "paused": true,
        "route": { "host": "web.example.com", "path": "/shop", "gateway": gateway } }),
        told(1),
    );
    let paused = beside(paused);
    assert!(paused.independent.is_empty());
    assert_eq!(said(&paused), Some((ConditionStatus::Unknown, "AcceptancePending")), "a pause leaves that of before");
}

/// That is no other route, and no other generation of it.
#[test]
fn a_route_whose_labels_are_put_back_stays_accepted() {
    let route = json!({ "host": "web.example.com", "gateway": { "name": "public" } });
    let app = routed(&route);
    let accepted = json!([{ "type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 3 }]);
    let status =
        json!({ "parents": [{ "parentRef": { "name": "public" }, "controllerName": "c", "conditions": accepted }] });
    let mut apply = objects::http_route(&app).unwrap();
    apply.body["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("other");
    let labelled = plan(&Observed { http_route: Served::Child(made(apply, &status)), ..settled(&app) }, NOW);
    assert_eq!((aside(&labelled), said(&labelled)), (vec!["HTTPRoute"], Some((ConditionStatus::True, "Accepted"))));
}

/// It is not there, for whatever was told of it before, of this very spec.
#[test]
fn a_route_that_is_made_now_is_waited_for_whatever_was_told_before() {
    for (status, reason) in [("True", "Accepted"), ("False", "GatewayAPIMissing"), ("Unknown", "WatchFailing")] {
        let told = json!([{ "type": ROUTE_ACCEPTED, "status": status, "reason": reason, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        let told = json!({ "observedGeneration": 2, "conditions": told });
        let route = json!({ "host": "web.example.com", "gateway": { "name": "public" } });
        let app = app(json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route }), told);
        let making = plan(&settled(&app), NOW);
        assert_eq!(aside(&making), ["HTTPRoute"]);
        assert_eq!(said(&making), Some((ConditionStatus::Unknown, "AcceptancePending")), "{reason}");
    }
}

/// As where the API server refuses the change, or a pause leaves it undone.
#[test]
fn an_address_of_another_host_is_none_of_this_one() {
    let with = |host: &str, paused: bool, told: Value| {
        let route = json!({ "host": host });
        app(json!({ "image": "i:2", "replicas": 0, "port": 80, "paused": paused, "route": route }), told)
    };
    let status = json!({ "loadBalancer": { "ingress": [{ "ip": "10.0.0.1" }] } });
    let beside = |app: Arc<MyApp>| {
        let before = ingress(&with("a.example.com", false, json!({})), &status);
        let plan = plan(&Observed { ingress: before, ..settled(&app) }, NOW);
        said(&plan).map(|(status, reason)| (status, reason.to_owned())).unwrap()
    };
    let told = |status: &str, reason: &str| {
        let told = json!([{ "type": ROUTE_ACCEPTED, "status": status, "reason": reason, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        json!({ "observedGeneration": 2, "conditions": told })
    };
    let pending = (ConditionStatus::Unknown, "AddressPending".to_owned());
    assert_eq!(beside(with("b.example.com", false, json!({ "observedGeneration": 1 }))), pending);
    assert_eq!(beside(with("b.example.com", false, told("Unknown", "AddressPending"))), pending, "it is refused");
    assert_eq!(beside(with("b.example.com", true, told("True", "AddressAssigned"))), pending, "it is paused");
    let assigned = (ConditionStatus::True, "AddressAssigned".to_owned());
    assert_eq!(beside(with("b.example.com", false, told("True", "AddressAssigned"))), assigned, "it is put back");
    assert_eq!(beside(with("a.example.com", true, json!({ "observedGeneration": 1 }))), assigned);
}

#[test]
fn an_ingress_is_open_once_it_has_an_address() {
    let app = by_ingress();
    let told = |status: Value| {
        let plan = plan(&Observed { ingress: ingress(&app, &status), ..settled(&app) }, NOW);
        assert!(plan.independent.is_empty() && plan.effects.is_empty());
        said(&plan).map(|(status, reason)| (status, reason.to_owned()))
    };
    assert_eq!(told(json!({})), Some((ConditionStatus::Unknown, "AddressPending".to_owned())));
    let address = json!({ "loadBalancer": { "ingress": [{ "ip": "10.0.0.1" }] } });
    assert_eq!(told(address), Some((ConditionStatus::True, "AddressAssigned".to_owned())));
}

/// As the API server shows it after an apply of ours that sent a class, of an Ingress that has been given an address.
fn of_class(class: &str, owner: &str) -> ChildState<Ingress> {
    let with_class = routed(&json!({ "host": "web.example.com", "ingressClassName": class }));
    let apply = objects::ingress(&with_class).unwrap();
    let fingerprint = apply.fingerprint();
    let mut object = apply.body;
    object["metadata"]["uid"] = json!("r");
    object["metadata"]["managedFields"] =
        json!([{ "manager": owner, "operation": "Apply", "fieldsV1": { "f:spec": { "f:ingressClassName": {} } } }]);
    object["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "10.0.0.1" }] } });
    let view = Arc::new(Ingress::decode(&object.to_string()).unwrap());
    ChildState::Owned(OwnedChild { fingerprint, view })
}

/// An apply would leave it without a class: the API server gives the default one to an Ingress that is made, and to no other.
#[test]
fn an_ingress_whose_class_is_not_asked_for_any_more_is_made_anew() {
    const OURS: &str = "multi-operator-my-app";
    let beside = |route: &Value, ingress, paused: bool| {
        let spec = json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route, "paused": paused });
        let told = json!([{ "type": ROUTE_ACCEPTED, "status": "True", "reason": "AddressAssigned",
            "observedGeneration": 1, "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        let app = app(spec, json!({ "observedGeneration": 1, "conditions": told }));
        plan(&Observed { ingress, ..settled(&app) }, NOW)
    };
    let plain = json!({ "host": "web.example.com" });
    let pending = Some((ConditionStatus::Unknown, "AddressPending"));
    let going = beside(&plain, of_class("haproxy", OURS), false);
    assert_eq!((deleted(&going), aside(&going), said(&going)), (vec!["Ingress"], vec![], pending));
    assert_eq!(
        going.next,
        Requeue::After(super::status::REQUEUE_NOW),
        "it is made anew as soon as it is seen to be gone"
    );
    let then = beside(&plain, ChildState::Absent, false);
    assert_eq!((deleted(&then), aside(&then), said(&then)), (vec![], vec!["Ingress"], pending));

    let other =
        beside(&json!({ "host": "web.example.com", "ingressClassName": "nginx" }), of_class("haproxy", OURS), false);
    assert_eq!((deleted(&other), aside(&other)), (vec![], vec!["Ingress"]), "another class is a change like any other");
    let theirs = beside(&plain, of_class("haproxy", "kubectl"), false);
    assert_eq!((deleted(&theirs), aside(&theirs)), (vec![], vec!["Ingress"]), "a class that others gave stays");
    let paused = beside(&plain, of_class("haproxy", OURS), true);
    assert_eq!((deleted(&paused), said(&paused)), (vec![], pending));
    assert!(ready(&paused).1.ends_with("; differs from the spec: Ingress"), "{}", ready(&paused).1);
}
