//! How one way in takes the place of another.

use super::route::{aside, by_gateway, by_ingress, deleted, http_route, ingress, made, said, settled};
use super::*;

/// What `apply` makes, as of then.
fn applied_at(mut apply: Apply, time: Timestamp) -> Apply {
    apply.body["metadata"]["managedFields"] = json!([{ "manager": "multi-operator-my-app", "operation": "Apply", "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": {} }]);
    apply
}

/// Its controller serves it a moment later, and says so sooner.
#[test]
fn the_way_in_that_was_there_stays_while_the_other_one_is_taken_up() {
    let made_at = |apply| applied_at(apply, Timestamp::from_second(60).unwrap());
    let (old, new) = (by_ingress(), by_gateway());
    let there = Observed {
        ingress: ingress(&old, &json!({})),
        http_route: Served::Child(made(made_at(objects::http_route(&new).unwrap()), &json!({}))),
        ..settled(&new)
    };
    let back = Observed {
        ingress: made(made_at(objects::ingress(&old).unwrap()), &json!({})),
        http_route: http_route(&new, &json!({})),
        ..settled(&old)
    };
    let at = |seen: &Observed, second: i64| plan(seen, Timestamp::from_second(second).unwrap());
    for (seen, earlier) in [(&there, "Ingress"), (&back, "HTTPRoute")] {
        let soon = at(seen, 69);
        assert_eq!((deleted(&soon), soon.next), (vec![], Requeue::After(Duration::from_secs(1))));
        assert_eq!(deleted(&at(seen, 70)), [earlier]);
        assert_eq!(
            deleted(&at(seen, 30)),
            [earlier],
            "a clock that is behind by more than that is waited for by nobody"
        );
    }
}

/// A pause waits for nothing: what is there beside what is asked for stays there.
#[test]
fn a_paused_app_that_still_has_its_earlier_way_in_is_not_as_asked() {
    let (before, after) = (by_ingress(), by_gateway());
    let told = |paused: bool, earlier: bool| {
        let spec = json!({ "image": "i:2", "replicas": 0, "port": 80, "paused": paused, "route": after.spec.route });
        let asked = app(spec, json!({}));
        let apply = applied_at(objects::http_route(&asked).unwrap(), NOW);
        let ingress = if earlier { ingress(&before, &json!({})) } else { ChildState::Absent };
        let seen = Observed { ingress, http_route: Served::Child(made(apply, &json!({}))), ..settled(&asked) };
        let plan = plan(&seen, NOW);
        (
            status(&plan).contract.is_true(condition_type::READY),
            ready(&plan).1.ends_with("; differs from the spec: Ingress"),
        )
    };
    assert_eq!(told(false, true), (true, false), "it goes by itself");
    assert_eq!([told(true, false), told(true, true)], [(true, false), (false, true)]);
}

#[test]
fn the_way_in_that_was_there_goes_once_the_other_one_is_there() {
    let (before, after) = (by_ingress(), by_gateway());
    let turning = || Observed { ingress: ingress(&before, &json!({})), ..settled(&after) };
    let first = plan(&turning(), NOW);
    assert_eq!((aside(&first), deleted(&first)), (vec!["HTTPRoute"], vec![]));
    let missing = plan(&Observed { http_route: Served::Not, ..turning() }, NOW);
    assert!(missing.effects.is_empty(), "the Ingress stays while there can be no HTTPRoute");
    let then = plan(&Observed { http_route: http_route(&after, &json!({})), ..turning() }, NOW);
    assert_eq!((aside(&then), deleted(&then)), (vec![], vec!["Ingress"]));
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
    assert_eq!((deleted(&none), said(&none)), (vec!["Ingress", "HTTPRoute"], None));
}
