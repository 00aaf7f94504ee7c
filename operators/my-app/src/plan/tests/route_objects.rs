//! How one route replaces another, and when an Ingress is recreated.

use api::my_app::ROUTE_ACCEPTED;
use runtime::projections::Ingress;

use super::route::{
    by_gateway, by_ingress, created, deleted, http_route, independent, ingress, routed, settled, verdict,
};
use super::*;

/// `apply`, as performed at that time.
fn applied_at(mut apply: Apply, time: Timestamp) -> Apply {
    apply.body["metadata"]["managedFields"] = json!([{ "manager": "multi-operator-my-app", "operation": "Apply", "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": {} }]);
    apply
}

/// Its controller reports a route as accepted before it serves the route.
#[test]
fn the_previous_route_stays_until_controllers_serve_the_new_one() {
    let created_at = |apply| applied_at(apply, Timestamp::from_second(60).unwrap());
    let (old, new) = (by_ingress(), by_gateway());
    let there = Observed {
        ingress: ingress(&old, &json!({})),
        http_route: Served::Child(created(created_at(objects::http_route(&new).unwrap()), &json!({}))),
        ..settled(&new)
    };
    let back = Observed {
        ingress: created(created_at(objects::ingress(&old).unwrap()), &json!({})),
        http_route: http_route(&new, &json!({})),
        ..settled(&old)
    };
    let at = |seen: &Observed, second: i64| plan(seen, Timestamp::from_second(second).unwrap());
    for (seen, earlier) in [(&there, "Ingress"), (&back, "HTTPRoute")] {
        let soon = at(seen, 69);
        assert_eq!((deleted(&soon), soon.next), (vec![], Requeue::After(Duration::from_secs(1))));
        assert_eq!(deleted(&at(seen, 70)), [earlier]);
        assert_eq!(deleted(&at(seen, 30)), [earlier], "a clock that is further behind is not waited for");
    }
}

/// While the MyApp is paused, a surplus object stays.
#[test]
fn a_paused_app_with_a_surplus_route_is_not_ready() {
    let (before, after) = (by_ingress(), by_gateway());
    let reported = |paused: bool, earlier: bool| {
        let spec = json!({ "image": "i:2", "replicas": 0, "port": 80, "paused": paused, "route": after.spec.route });
        let requested = app(spec, json!({}));
        let apply = applied_at(objects::http_route(&requested).unwrap(), NOW);
        let ingress = if earlier { ingress(&before, &json!({})) } else { ChildState::Absent };
        let seen = Observed { ingress, http_route: Served::Child(created(apply, &json!({}))), ..settled(&requested) };
        let plan = plan(&seen, NOW);
        (
            status(&plan).contract.is_true(condition_type::READY),
            ready(&plan).1.ends_with("; differs from the spec: Ingress"),
        )
    };
    assert_eq!(reported(false, true), (true, false), "it will be deleted");
    assert_eq!([reported(true, false), reported(true, true)], [(true, false), (false, true)]);
}

#[test]
fn the_previous_route_is_deleted_once_the_new_one_exists() {
    let (before, after) = (by_ingress(), by_gateway());
    let turning = || Observed { ingress: ingress(&before, &json!({})), ..settled(&after) };
    let first = plan(&turning(), NOW);
    assert_eq!((independent(&first), deleted(&first)), (vec!["HTTPRoute"], vec![]));
    let missing = plan(&Observed { http_route: Served::Not, ..turning() }, NOW);
    assert!(missing.effects.is_empty(), "the Ingress stays while the cluster serves no HTTPRoutes");
    let then = plan(&Observed { http_route: http_route(&after, &json!({})), ..turning() }, NOW);
    assert_eq!((independent(&then), deleted(&then)), (vec![], vec!["Ingress"]));
    let back = Observed {
        http_route: http_route(&after, &json!({})),
        ingress: ingress(&before, &json!({})),
        ..settled(&before)
    };
    assert_eq!(deleted(&plan(&back, NOW)), ["HTTPRoute"]);
    let none = app(json!({ "image": "i:2", "replicas": 0, "port": 80 }), json!({}));
    let none = Observed {
        ingress: ingress(&before, &json!({})),
        http_route: http_route(&after, &json!({})),
        ..settled(&none)
    };
    let none = plan(&none, NOW);
    assert_eq!((deleted(&none), verdict(&none)), (vec!["Ingress", "HTTPRoute"], None));
}

/// An Ingress with an address, after an apply by `owner` that set the class.
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

/// After an apply it would have no class: the API server sets the default class only at creation.
#[test]
fn an_ingress_whose_class_is_removed_from_the_spec_is_recreated() {
    const OPERATOR: &str = "multi-operator-my-app";
    let planned = |route: &Value, ingress, paused: bool| {
        let spec = json!({ "image": "i:2", "replicas": 0, "port": 80, "route": route, "paused": paused });
        let reported = json!([{ "type": ROUTE_ACCEPTED, "status": "True", "reason": "AddressAssigned",
            "observedGeneration": 1, "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
        let app = app(spec, json!({ "observedGeneration": 1, "conditions": reported }));
        plan(&Observed { ingress, ..settled(&app) }, NOW)
    };
    let plain = json!({ "host": "web.example.com" });
    let pending = Some((ConditionStatus::Unknown, "AddressPending"));
    let deleting = planned(&plain, of_class("haproxy", OPERATOR), false);
    assert_eq!((deleted(&deleting), independent(&deleting), verdict(&deleting)), (vec!["Ingress"], vec![], pending));
    assert_eq!(
        deleting.next,
        Requeue::After(super::status::REQUEUE_NOW),
        "it is recreated as soon as the cache shows its deletion"
    );
    let then = planned(&plain, ChildState::Absent, false);
    assert_eq!((deleted(&then), independent(&then), verdict(&then)), (vec![], vec!["Ingress"], pending));

    let other = planned(
        &json!({ "host": "web.example.com", "ingressClassName": "nginx" }),
        of_class("haproxy", OPERATOR),
        false,
    );
    assert_eq!((deleted(&other), independent(&other)), (vec![], vec!["Ingress"]), "another class is a usual change");
    let theirs = planned(&plain, of_class("haproxy", "kubectl"), false);
    assert_eq!((deleted(&theirs), independent(&theirs)), (vec![], vec!["Ingress"]), "a class of another client stays");
    let paused = planned(&plain, of_class("haproxy", OPERATOR), true);
    assert_eq!((deleted(&paused), verdict(&paused)), (vec![], pending));
    assert!(ready(&paused).1.ends_with("; differs from the spec: Ingress"), "{}", ready(&paused).1);
}
