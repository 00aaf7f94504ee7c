//! Repairs by one patch, and additions that stay.

use serde_json::json;

use super::*;
use crate::apply::drift::Fingerprint;
use crate::cache::Projection;
use crate::plan::Apply;
use crate::plan::meta::ResourceKind;
use crate::projections::{ConfigMap, Deployment, DisruptionBudget, Service};

mod pods;
mod restoring;
mod within;

const HTTP: &str = "k:{\"port\":80,\"protocol\":\"TCP\"}";
const OTHER: &str = "k:{\"port\":81,\"protocol\":\"TCP\"}";

fn port(name: &str, port: u16) -> Value {
    json!({ "name": name, "port": port, "protocol": "TCP", "targetPort": 8080 })
}

fn all_fields() -> Value {
    json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} })
}

fn service() -> Value {
    json!({ "metadata": {}, "spec": { "selector": { "app": "web" }, "ports": [port("app", 80)] } })
}

/// A live object, with the fields of each manager.
fn live(spec: &Value, ours: &Value, theirs: &Value) -> Value {
    let entry = |manager: &str, operation: &str, fields: &Value| json!({ "manager": manager, "operation": operation, "fieldsV1": { "f:spec": fields } });
    let managed = json!([entry("multi-operator-my-app", "Apply", ours), entry("kubectl-edit", "Update", theirs)]);
    let metadata =
        json!({ "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "managedFields": managed });
    json!({ "metadata": metadata, "spec": spec })
}

fn of(kind: &ResourceKind, live: &Value, body: &Value) -> Option<Value> {
    let Repair { patch, leaves } = super::of(kind, live, body).unwrap()?;
    assert!(!leaves, "one write is enough");
    assert_eq!(patch["metadata"], json!({ "resourceVersion": "7" }), "the version, and nothing else of metadata");
    Some(patch["spec"].clone())
}

fn deployment(pod: &Value) -> Value {
    json!({ "spec": { "template": { "spec": pod } } })
}

/// The pod spec after the repair of a Deployment of which we own the given fields, and another manager owns all.
fn pod(live_pod: &Value, ours: &Value, body: &Value) -> Option<Value> {
    let spec = json!({ "template": { "spec": live_pod } });
    let theirs = json!({ "f:template": { "f:spec": {} } });
    let before = live(&spec, &json!({ "f:template": { "f:spec": ours } }), &theirs);
    Some(of(&Deployment::KIND, &before, &deployment(body))?["template"]["spec"].clone())
}

#[test]
fn an_added_port_is_removed_and_fields_of_others_in_our_port_stay() {
    let mut ours = port("app", 80);
    ours["appProtocol"] = json!("http");
    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("more", 81), ours] });
    let theirs = json!({ "f:ports": { OTHER: all_fields(), HTTP: { "f:appProtocol": {} } } });
    let live = live(&spec, &json!({ "f:selector": {}, "f:ports": { HTTP: all_fields() } }), &theirs);
    assert_eq!(of(&Service::KIND, &live, &service()), Some(json!({ "ports": [ours] })));
    let decoded = Service::decode(&live.to_string()).unwrap();
    assert_eq!(decoded.fingerprint, Fingerprint::of_rendered(&service()), "ownership alone does not show it");
    assert!(decoded.additions.outlast(&service()) && decoded.additions.unapplied.is_none());
    let both = json!({ "spec": { "ports": [port("app", 80), port("more", 81)] } });
    assert!(!decoded.additions.outlast(&both), "a desired port is no addition");
}

#[test]
fn an_edited_port_number_is_restored_by_a_patch_that_owns_the_port() {
    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("app", 81)] });
    let before = live(&spec, &json!({ "f:selector": {} }), &json!({ "f:ports": { OTHER: all_fields() } }));
    assert_eq!(of(&Service::KIND, &before, &service()), Some(json!({ "ports": [port("app", 80)] })));

    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("app", 80)] });
    let mut after = live(&spec, &json!({ "f:selector": {} }), &json!({ "f:ports": { HTTP: all_fields() } }));
    after["metadata"]["managedFields"][1]["manager"] = json!("multi-operator-my-app");
    let decoded = Service::decode(&after.to_string()).unwrap();
    assert!(is_as_sent(&decoded), "one write is enough");
    assert!(!decoded.additions.outlast(&service()) && decoded.additions.unapplied.is_some());

    assert_eq!(
        ownership_migration(&Service::KIND, &after, &service(), Reported::Something).unwrap(),
        None,
        "an apply that sends the port needs no migration"
    );
    let renumbered = json!({ "spec": { "ports": [port("app", 90)] } });
    let ownership_migration =
        ownership_migration(&Service::KIND, &after, &renumbered, Reported::Something).unwrap().unwrap();
    let managed = ownership_migration["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!((managed.len(), &managed[0]["operation"]), (1, &json!("Apply")));
    let mut without_default = all_fields();
    without_default.as_object_mut().unwrap().remove("f:protocol");
    assert_eq!(managed[0]["fieldsV1"]["f:spec"]["f:ports"][HTTP], without_default);
}

/// A patch owns an entry that it adds to a map, but not the map itself.
#[test]
fn ownership_of_the_only_entry_of_a_map_is_migrated_when_it_is_no_longer_sent() {
    let mut live =
        live(&service()["spec"], &json!({ "f:selector": {}, "f:ports": { HTTP: all_fields() } }), &json!({}));
    live["metadata"]["annotations"] = json!({ "ours": "a", "theirs": "b" });
    let entry = &mut live["metadata"]["managedFields"][1];
    entry["manager"] = json!("multi-operator-my-app");
    entry["fieldsV1"] = json!({ "f:metadata": { "f:annotations": { "f:ours": {} } } });
    let migrated =
        ownership_migration(&Service::KIND, &live, &service(), Reported::Something).unwrap().expect("it would stay");
    let fields = &migrated["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:metadata"], json!({ "f:annotations": { "f:ours": {} } }));
}

#[test]
fn a_shared_port_is_removed_when_the_spec_no_longer_has_it() {
    let spec = json!({ "selector": { "app": "web" }, "ports": [port("app", 80)] });
    let ours = json!({ "f:selector": {}, "f:ports": { HTTP: all_fields() } });
    let shared = live(&spec, &ours, &json!({ "f:ports": { HTTP: all_fields() } }));
    assert_eq!(of(&Service::KIND, &shared, &service()), None);
    let renumbered = json!({ "spec": { "selector": { "app": "web" }, "ports": [port("app", 90)] } });
    assert_eq!(of(&Service::KIND, &shared, &renumbered), Some(json!({ "ports": [port("app", 90)] })));
    let unshared = live(&spec, &ours, &json!({ "f:sessionAffinity": {} }));
    assert_eq!(of(&Service::KIND, &unshared, &renumbered), None, "an apply does it");
}

#[test]
fn a_service_type_is_removed_with_its_fields() {
    let mut ours = port("app", 80);
    ours["nodePort"] = json!(30000);
    let spec = json!({
        "selector": { "app": "web" }, "type": "LoadBalancer", "ports": [ours], "externalTrafficPolicy": "Cluster",
        "allocateLoadBalancerNodePorts": true, "loadBalancerSourceRanges": ["10.0.0.0/8"], "clusterIP": "10.96.0.9",
        "publishNotReadyAddresses": true,
    });
    let owned = json!({ "f:selector": {}, "f:ports": { HTTP: all_fields() } });
    let theirs = json!({ "f:type": {}, "f:loadBalancerSourceRanges": {}, "f:publishNotReadyAddresses": {} });
    let patch = json!({
        "type": null, "ports": [port("app", 80)], "externalTrafficPolicy": null,
        "allocateLoadBalancerNodePorts": null, "loadBalancerSourceRanges": null,
    });
    assert_eq!(of(&Service::KIND, &live(&spec, &owned, &theirs), &service()), Some(patch));

    // The patch then owns the default, which the API server fills in afterward.
    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("app", 80)] });
    let mut after = live(&spec, &owned, &json!({ "f:type": {} }));
    assert_eq!(of(&Service::KIND, &after, &service()), None, "a default value is no addition");
    after["metadata"]["managedFields"][1]["manager"] = json!("multi-operator-my-app");
    assert!(is_as_sent(&Service::decode(&after.to_string()).unwrap()), "one write is enough");
}

fn is_as_sent(live: &Service) -> bool {
    let sent = Apply::new(Service::KIND, live.meta.key.clone(), &service());
    sent.matches(live.fingerprint, &live.additions)
}

#[test]
fn fields_that_the_sent_type_forbids_are_removed() {
    let typed = |type_: &str| json!({ "spec": { "type": type_, "ports": [port("app", 80)] } });
    let spec =
        json!({ "type": "LoadBalancer", "ports": [port("app", 80)], "loadBalancerSourceRanges": ["10.0.0.0/8"] });
    let theirs = json!({ "f:type": {}, "f:loadBalancerSourceRanges": {} });
    let live = live(&spec, &json!({ "f:ports": { HTTP: all_fields() } }), &theirs);
    let patch = json!({ "type": "ClusterIP", "loadBalancerSourceRanges": null });
    assert_eq!(of(&Service::KIND, &live, &typed("ClusterIP")), Some(patch));
    let patch = json!({ "type": "NodePort", "loadBalancerSourceRanges": null });
    assert_eq!(of(&Service::KIND, &live, &typed("NodePort")), Some(patch));
    assert_eq!(of(&Service::KIND, &live, &typed("LoadBalancer")), None);
}

#[test]
fn a_selector_that_was_edited_with_the_ports_is_restored() {
    let spec = json!({ "selector": { "app": "web", "x": "y" }, "ports": [port("app", 81)] });
    let live = live(&spec, &json!({}), &json!({ "f:selector": {}, "f:ports": { OTHER: all_fields() } }));
    // A merge patch removes a key of a selector with null.
    let patch = json!({ "selector": { "x": null }, "ports": [port("app", 80)] });
    assert_eq!(of(&Service::KIND, &live, &service()), Some(patch));
}

#[test]
fn a_budget_keeps_one_of_its_two_numbers() {
    let budget = json!({ "spec": { "minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow" } });
    let spec = json!({ "maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow" });
    let live = live(&spec, &json!({ "f:unhealthyPodEvictionPolicy": {} }), &json!({ "f:maxUnavailable": {} }));
    let patch = json!({ "maxUnavailable": null, "minAvailable": 1 });
    assert_eq!(of(&DisruptionBudget::KIND, &live, &budget), Some(patch));
}

#[test]
fn an_entry_of_a_config_map_is_in_one_of_its_maps() {
    let map = json!({ "data": { "testString": "x" } });
    let theirs = json!({ "f:data": {}, "f:binaryData": {} });
    let managed = json!([{ "manager": "kubectl-edit", "operation": "Update", "fieldsV1": theirs }]);
    let live = json!({
        "metadata": { "name": "a", "resourceVersion": "7", "managedFields": managed },
        "data": { "theirs": "1" }, "binaryData": { "testString": "eA==", "theirs": "eA==" },
    });
    let patch = super::of(&ConfigMap::KIND, &live, &map).unwrap().unwrap().patch;
    assert_eq!(patch["binaryData"], json!({ "testString": null }));
    assert_eq!(patch["data"], json!({ "testString": "x" }));
}

#[test]
fn fields_of_a_webhook_stay() {
    let spec = json!({ "selector": { "app": "web" }, "type": "LoadBalancer", "ports": [port("app", 80)] });
    let ours = json!({ "f:selector": {}, "f:ports": { HTTP: all_fields() } });
    assert_eq!(of(&Service::KIND, &live(&spec, &ours, &json!({ "f:sessionAffinity": {} })), &service()), None);
}

#[test]
fn a_secret_in_place_of_a_config_map_is_replaced() {
    let body = json!({ "volumes": [{ "name": "files", "configMap": { "name": "settings" } }] });
    let by_others = json!({ "volumes": [{ "name": "files", "secret": { "secretName": "x", "defaultMode": 420 } }] });
    assert_eq!(pod(&by_others, &json!({}), &body), Some(body.clone()));
}

#[test]
fn scheduling_fields_are_restored_by_list_keys_or_as_a_whole() {
    let spread = |topology: &str, skew: u8| json!({ "topologyKey": topology, "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": skew });
    let template = |spec: Value| json!({ "template": { "spec": spec } });
    let body = json!({ "metadata": {}, "spec": template(json!({
        "nodeSelector": { "disk": "ssd" }, "topologySpreadConstraints": [spread("zone", 1)],
        "tolerations": [{ "key": "a" }], "hostAliases": [{ "ip": "10.0.0.1", "hostnames": ["a"] }],
    })) });
    let edited = json!({
        "nodeSelector": { "disk": "hdd", "more": "x" }, "topologySpreadConstraints": [spread("zone", 3), spread("rack", 1)],
        "tolerations": [{ "key": "b" }], "hostAliases": [{ "ip": "10.0.0.2", "hostnames": ["b"] }],
    });
    let mut spec = template(edited);
    spec["minReadySeconds"] = json!(3);
    let live = live(&spec, &json!({}), &json!({ "f:minReadySeconds": {} }));
    let patch = of(&Deployment::KIND, &live, &body).expect("a patch");
    let pod = &patch["template"]["spec"];
    assert_eq!(patch["minReadySeconds"], Value::Null);
    assert_eq!(pod["nodeSelector"], json!({ "disk": "ssd", "more": null }), "it is one value");
    assert_eq!(pod["topologySpreadConstraints"], json!([spread("zone", 1), spread("rack", 1)]));
    assert_eq!(pod["tolerations"], json!([{ "key": "a" }]));
    assert_eq!(pod["hostAliases"].as_array().map(Vec::len), Some(2), "an alias of others stays");
}

/// A patch removes what others have added; an apply removes our own fields.
#[test]
fn owned_fields_that_are_no_longer_sent_are_left_to_an_apply() {
    let spec = json!({ "selector": { "app": "web" }, "type": "ExternalName", "ports": [port("app", 80)] });
    let theirs = json!({ "f:type": {} });
    let leaves = |operation: &str, annotation: &str| {
        let mut ours = json!({ "f:selector": {}, "f:ports": { HTTP: all_fields() } });
        if operation == "Update" {
            // A default of the creation.
            ours["f:sessionAffinity"] = json!({});
        }
        let mut live = live(&spec, &ours, &theirs);
        live["spec"]["sessionAffinity"] = json!("None");
        live["metadata"]["annotations"] = json!({ "pool": "blue", "theirs": "" });
        let entry = &mut live["metadata"]["managedFields"][0];
        entry["operation"] = json!(operation);
        entry["fieldsV1"]["f:metadata"] = json!({ "f:annotations": { annotation: {} } });
        let sent = |annotations: &Value| {
            let mut body = service();
            body["metadata"]["annotations"] = annotations.clone();
            super::of(&Service::KIND, &live, &body).unwrap().unwrap().leaves
        };
        [sent(&json!({ "pool": "blue" })), sent(&json!({ "pool": "red" })), sent(&Value::Null), sent(&json!({}))]
    };
    assert_eq!(leaves("Apply", "f:pool"), [false, false, true, true]);
    assert_eq!(leaves("Update", "f:pool"), [false, false, true, true], "by a creation or a patch of ours");
    assert_eq!(leaves("Update", "f:gone"), [false; 4], "it no longer exists");
}
