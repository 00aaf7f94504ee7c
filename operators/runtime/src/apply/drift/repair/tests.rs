//! What is repaired by one patch, what is left to others, and that one write is enough.

use serde_json::json;

use super::*;
use crate::apply::drift::Fingerprint;
use crate::cache::Projection;
use crate::plan::Apply;
use crate::plan::meta::Kind;
use crate::projections::{ConfigMap, Deployment, DisruptionBudget, Service};

mod pods;
mod restoring;
mod within;

const HTTP: &str = "k:{\"port\":80,\"protocol\":\"TCP\"}";
const OTHER: &str = "k:{\"port\":81,\"protocol\":\"TCP\"}";

fn port(name: &str, port: u16) -> Value {
    json!({ "name": name, "port": port, "protocol": "TCP", "targetPort": 8080 })
}

fn whole() -> Value {
    json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} })
}

fn service() -> Value {
    json!({ "metadata": {}, "spec": { "selector": { "app": "web" }, "ports": [port("app", 80)] } })
}

/// What is there, with what each manager owns of it.
fn live(spec: &Value, ours: &Value, theirs: &Value) -> Value {
    let entry = |manager: &str, operation: &str, fields: &Value| json!({ "manager": manager, "operation": operation, "fieldsV1": { "f:spec": fields } });
    let managed = json!([entry("multi-operator-my-app", "Apply", ours), entry("kubectl-edit", "Update", theirs)]);
    let metadata =
        json!({ "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "managedFields": managed });
    json!({ "metadata": metadata, "spec": spec })
}

fn of(kind: &Kind, live: &Value, body: &Value) -> Option<Value> {
    let Repair { patch, leaves } = super::of(kind, live, body).unwrap()?;
    assert!(!leaves, "one write is enough");
    assert_eq!(patch["metadata"], json!({ "resourceVersion": "7" }), "of that version, and nothing else of metadata");
    Some(patch["spec"].clone())
}

fn deployment(pod: &Value) -> Value {
    json!({ "spec": { "template": { "spec": pod } } })
}

/// The pod spec after the repair of a Deployment that is ours in the fields given, and all of which somebody else has applied.
fn pod(live_pod: &Value, ours: &Value, body: &Value) -> Option<Value> {
    let spec = json!({ "template": { "spec": live_pod } });
    let theirs = json!({ "f:template": { "f:spec": {} } });
    let before = live(&spec, &json!({ "f:template": { "f:spec": ours } }), &theirs);
    Some(of(&Deployment::KIND, &before, &deployment(body))?["template"]["spec"].clone())
}

#[test]
fn a_port_that_was_added_goes_and_what_is_theirs_in_ours_stays() {
    let mut ours = port("app", 80);
    ours["appProtocol"] = json!("http");
    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("more", 81), ours] });
    let theirs = json!({ "f:ports": { OTHER: whole(), HTTP: { "f:appProtocol": {} } } });
    let live = live(&spec, &json!({ "f:selector": {}, "f:ports": { HTTP: whole() } }), &theirs);
    assert_eq!(of(&Service::KIND, &live, &service()), Some(json!({ "ports": [ours] })));
    let decoded = Service::decode(&live.to_string()).unwrap();
    assert_eq!(decoded.fingerprint, Fingerprint::of_rendered(&service()), "ownership alone does not show it");
    assert!(decoded.additions.outlast(&service()) && decoded.additions.unapplied.is_none());
    let both = json!({ "spec": { "ports": [port("app", 80), port("more", 81)] } });
    assert!(!decoded.additions.outlast(&both), "a port that is asked for is no addition");
}

#[test]
fn a_port_of_another_number_is_renumbered_by_a_patch_that_owns_it_from_then_on() {
    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("app", 81)] });
    let before = live(&spec, &json!({ "f:selector": {} }), &json!({ "f:ports": { OTHER: whole() } }));
    assert_eq!(of(&Service::KIND, &before, &service()), Some(json!({ "ports": [port("app", 80)] })));

    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("app", 80)] });
    let mut after = live(&spec, &json!({ "f:selector": {} }), &json!({ "f:ports": { HTTP: whole() } }));
    after["metadata"]["managedFields"][1]["manager"] = json!("multi-operator-my-app");
    let decoded = Service::decode(&after.to_string()).unwrap();
    assert!(is_as_sent(&decoded), "one write is enough");
    assert!(!decoded.additions.outlast(&service()) && decoded.additions.unapplied.is_some());

    assert_eq!(
        gathering(&Service::KIND, &after, &service(), Reported::Something).unwrap(),
        None,
        "an apply that sends the port can do without"
    );
    let renumbered = json!({ "spec": { "ports": [port("app", 90)] } });
    let gathering = gathering(&Service::KIND, &after, &renumbered, Reported::Something).unwrap().unwrap();
    let managed = gathering["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!((managed.len(), &managed[0]["operation"]), (1, &json!("Apply")));
    let mut without_default = whole();
    without_default.as_object_mut().unwrap().remove("f:protocol");
    assert_eq!(managed[0]["fieldsV1"]["f:spec"]["f:ports"][HTTP], without_default);
}

/// A patch owns an entry that it puts into a map without the map itself.
#[test]
fn the_only_entry_of_a_map_is_gathered_where_it_is_sent_no_longer() {
    let mut live = live(&service()["spec"], &json!({ "f:selector": {}, "f:ports": { HTTP: whole() } }), &json!({}));
    live["metadata"]["annotations"] = json!({ "ours": "a", "theirs": "b" });
    let entry = &mut live["metadata"]["managedFields"][1];
    entry["manager"] = json!("multi-operator-my-app");
    entry["fieldsV1"] = json!({ "f:metadata": { "f:annotations": { "f:ours": {} } } });
    let gathered = gathering(&Service::KIND, &live, &service(), Reported::Something).unwrap().expect("it would stay");
    let fields = &gathered["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:metadata"], json!({ "f:annotations": { "f:ours": {} } }));
}

#[test]
fn a_port_that_others_own_with_us_goes_with_the_spec() {
    let spec = json!({ "selector": { "app": "web" }, "ports": [port("app", 80)] });
    let ours = json!({ "f:selector": {}, "f:ports": { HTTP: whole() } });
    let shared = live(&spec, &ours, &json!({ "f:ports": { HTTP: whole() } }));
    assert_eq!(of(&Service::KIND, &shared, &service()), None);
    let renumbered = json!({ "spec": { "selector": { "app": "web" }, "ports": [port("app", 90)] } });
    assert_eq!(of(&Service::KIND, &shared, &renumbered), Some(json!({ "ports": [port("app", 90)] })));
    let alone = live(&spec, &ours, &json!({ "f:sessionAffinity": {} }));
    assert_eq!(of(&Service::KIND, &alone, &renumbered), None, "an apply does it");
}

#[test]
fn a_type_goes_with_all_that_it_brings() {
    let mut ours = port("app", 80);
    ours["nodePort"] = json!(30000);
    let spec = json!({
        "selector": { "app": "web" }, "type": "LoadBalancer", "ports": [ours], "externalTrafficPolicy": "Cluster",
        "allocateLoadBalancerNodePorts": true, "loadBalancerSourceRanges": ["10.0.0.0/8"], "clusterIP": "10.96.0.9",
        "publishNotReadyAddresses": true,
    });
    let owned = json!({ "f:selector": {}, "f:ports": { HTTP: whole() } });
    let theirs = json!({ "f:type": {}, "f:loadBalancerSourceRanges": {}, "f:publishNotReadyAddresses": {} });
    let patch = json!({
        "type": null, "ports": [port("app", 80)], "externalTrafficPolicy": null,
        "allocateLoadBalancerNodePorts": null, "loadBalancerSourceRanges": null,
    });
    assert_eq!(of(&Service::KIND, &live(&spec, &owned, &theirs), &service()), Some(patch));

    // The default, which the API server fills in afterwards, is then owned by that patch.
    let spec = json!({ "selector": { "app": "web" }, "type": "ClusterIP", "ports": [port("app", 80)] });
    let mut after = live(&spec, &owned, &json!({ "f:type": {} }));
    assert_eq!(of(&Service::KIND, &after, &service()), None, "who says the default adds nothing");
    after["metadata"]["managedFields"][1]["manager"] = json!("multi-operator-my-app");
    assert!(is_as_sent(&Service::decode(&after.to_string()).unwrap()), "one write is enough");
}

fn is_as_sent(live: &Service) -> bool {
    let sent = Apply::new(Service::KIND, live.meta.key.clone(), &service());
    sent.has_made(live.fingerprint, &live.additions)
}

#[test]
fn what_a_type_would_be_refused_for_goes_where_that_type_is_sent() {
    let typed = |type_: &str| json!({ "spec": { "type": type_, "ports": [port("app", 80)] } });
    let spec =
        json!({ "type": "LoadBalancer", "ports": [port("app", 80)], "loadBalancerSourceRanges": ["10.0.0.0/8"] });
    let theirs = json!({ "f:type": {}, "f:loadBalancerSourceRanges": {} });
    let live = live(&spec, &json!({ "f:ports": { HTTP: whole() } }), &theirs);
    let patch = json!({ "type": "ClusterIP", "loadBalancerSourceRanges": null });
    assert_eq!(of(&Service::KIND, &live, &typed("ClusterIP")), Some(patch));
    let patch = json!({ "type": "NodePort", "loadBalancerSourceRanges": null });
    assert_eq!(of(&Service::KIND, &live, &typed("NodePort")), Some(patch));
    assert_eq!(of(&Service::KIND, &live, &typed("LoadBalancer")), None);
}

#[test]
fn a_selector_that_was_edited_with_the_ports_comes_back_whole() {
    let spec = json!({ "selector": { "app": "web", "x": "y" }, "ports": [port("app", 81)] });
    let live = live(&spec, &json!({}), &json!({ "f:selector": {}, "f:ports": { OTHER: whole() } }));
    // The reduced selector is put in as a merge patch has it.
    let patch = json!({ "selector": { "x": null }, "ports": [port("app", 80)] });
    assert_eq!(of(&Service::KIND, &live, &service()), Some(patch));
}

#[test]
fn a_budget_has_one_of_its_two_numbers() {
    let budget = json!({ "spec": { "minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow" } });
    let spec = json!({ "maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow" });
    let live = live(&spec, &json!({ "f:unhealthyPodEvictionPolicy": {} }), &json!({ "f:maxUnavailable": {} }));
    let patch = json!({ "maxUnavailable": null, "minAvailable": 1 });
    assert_eq!(of(&DisruptionBudget::KIND, &live, &budget), Some(patch));
}

#[test]
fn an_entry_of_a_config_map_is_in_one_place() {
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
fn what_a_webhook_fills_in_stays() {
    let spec = json!({ "selector": { "app": "web" }, "type": "LoadBalancer", "ports": [port("app", 80)] });
    let ours = json!({ "f:selector": {}, "f:ports": { HTTP: whole() } });
    assert_eq!(of(&Service::KIND, &live(&spec, &ours, &json!({ "f:sessionAffinity": {} })), &service()), None);
}

#[test]
fn a_secret_in_the_place_of_a_config_map_goes() {
    let body = json!({ "volumes": [{ "name": "files", "configMap": { "name": "settings" } }] });
    let by_others = json!({ "volumes": [{ "name": "files", "secret": { "secretName": "x", "defaultMode": 420 } }] });
    assert_eq!(pod(&by_others, &json!({}), &body), Some(body.clone()));
}

#[test]
fn where_pods_run_is_put_back_by_the_keys_of_its_lists_and_as_a_whole_where_it_is_one() {
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
    assert_eq!(pod["hostAliases"].as_array().map(Vec::len), Some(2), "an alias of theirs stays");
}

/// A patch takes away what others have added, and what is ours goes by an apply.
#[test]
fn what_is_ours_and_not_sent_any_more_is_left_to_an_apply() {
    let spec = json!({ "selector": { "app": "web" }, "type": "ExternalName", "ports": [port("app", 80)] });
    let theirs = json!({ "f:type": {} });
    let leaves = |operation: &str, annotation: &str| {
        let mut ours = json!({ "f:selector": {}, "f:ports": { HTTP: whole() } });
        if operation == "Update" {
            // Filled in when it was created.
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
    assert_eq!(leaves("Update", "f:gone"), [false; 4], "it is not there any more");
}
