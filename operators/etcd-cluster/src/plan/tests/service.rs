//! The Service for clients.

use super::*;

fn clients(spec: &Value) -> Value {
    objects::clients(&observed(spec, &decided()).cluster, false).body
}

#[test]
fn the_service_for_clients_is_published_as_the_spec_says() {
    let plain = clients(&json!({ "size": 1 }));
    assert_eq!((&plain["spec"]["type"], &plain["metadata"]["annotations"]), (&Value::Null, &Value::Null));
    let service = json!({
        "type": "LoadBalancer", "nodePort": 30_379, "annotations": { "example.com/internal": "true" },
        "loadBalancerClass": "example.com/internal",
    });
    let published = clients(&json!({ "size": 1, "service": service }));
    assert_eq!(published["spec"]["type"], "LoadBalancer");
    assert_eq!(published["spec"]["ports"][0]["nodePort"], 30_379);
    assert_eq!(published["spec"]["ports"][0]["port"], 2379);
    assert_eq!(published["spec"]["loadBalancerClass"], "example.com/internal");
    assert_eq!(published["metadata"]["annotations"], json!({ "example.com/internal": "true" }));
    assert_eq!(published["spec"]["selector"], plain["spec"]["selector"]);
    assert_eq!(clients(&json!({ "size": 1, "service": {} }))["spec"]["type"], "ClusterIP");
}
