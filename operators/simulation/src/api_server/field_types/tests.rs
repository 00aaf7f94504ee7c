use serde_json::json;

use super::*;

fn at<'t>(types: &'t FieldTypes, path: &[&str]) -> &'t FieldType {
    path.iter().fold(types.root(), |types, name| if *name == "*" { types.items() } else { types.field(name) })
}

fn keys(types: &FieldType) -> Vec<&str> {
    match types {
        FieldType::List { list: ListType::Map(keys), .. } => keys.iter().map(|key| key.name.as_str()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn selectors_are_atomic_and_labels_are_not() {
    for plural in ["deployments", "statefulsets", "replicasets", "services", "poddisruptionbudgets", "jobs"] {
        let types = FieldTypes::of_built_in(plural);
        assert_eq!(at(&types, &["spec", "selector"]), &FieldType::Atomic, "{plural}");
        let labels = at(&types, &["metadata", "labels"]);
        assert!(matches!(labels, FieldType::Map { others: Some(_), .. }) && !labels.names("a"), "{plural}");
    }
    let pods = FieldTypes::of_built_in("pods");
    assert_eq!(at(&pods, &["spec", "nodeSelector"]), &FieldType::Atomic);
    assert_eq!(at(&pods, &["spec", "tolerations"]), &FieldType::Plain);
    assert!(!at(&pods, &["spec", "containers", "*", "resources", "limits"]).names("cpu"));
    assert_eq!(at(&pods, &["spec", "containers", "*", "env", "*", "valueFrom", "secretKeyRef"]), &FieldType::Atomic);
}

#[test]
fn lists_are_told_apart_by_their_keys() {
    let deployments = FieldTypes::of_built_in("deployments");
    let pod = |path: &[&str]| {
        let path: Vec<&str> = ["spec", "template", "spec"].iter().chain(path).copied().collect();
        keys(at(&deployments, &path)).join(",")
    };
    assert_eq!(pod(&["containers"]), "name");
    assert_eq!(pod(&["containers", "*", "ports"]), "containerPort,protocol");
    assert_eq!(pod(&["containers", "*", "volumeMounts"]), "mountPath");
    assert_eq!(pod(&["topologySpreadConstraints"]), "topologyKey,whenUnsatisfiable");
    let owners = at(&deployments, &["metadata", "ownerReferences"]);
    assert_eq!((keys(owners), owners.items()), (vec!["uid"], &FieldType::Atomic));
    let finalizers = at(&deployments, &["metadata", "finalizers"]);
    assert!(matches!(finalizers, FieldType::List { list: ListType::Set, .. }));
}

#[test]
fn a_missing_protocol_is_tcp() {
    let services = FieldTypes::of_built_in("services");
    let FieldType::List { list, .. } = at(&services, &["spec", "ports"]) else { panic!() };
    let tcp = list.element(&json!({ "port": 80, "name": "http" })).unwrap();
    assert_eq!(tcp, list.element(&json!({ "port": 80, "protocol": "TCP" })).unwrap());
    assert_ne!(tcp, list.element(&json!({ "port": 80, "protocol": "UDP" })).unwrap());
    assert_eq!(tcp.to_string(), r#"[port=80,protocol="TCP"]"#);
    assert_eq!(tcp.encode(), r#"k:{"port":80,"protocol":"TCP"}"#);
    let FieldType::List { list, .. } = at(&services, &["metadata", "finalizers"]) else { panic!() };
    assert!(list.element(&json!({})).is_err() && list.element(&json!(null)).is_err());
}

#[test]
fn a_schema_says_how_the_fields_of_a_custom_kind_merge() {
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "list": { "type": "array", "items": { "type": "string" } },
            "set": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
            "map": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a", "b"],
                "items": { "type": "object", "properties": { "b": { "type": "integer", "default": 1 } } }
            },
            "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "properties": { "a": { "type": "string" } } },
            "texts": { "type": "object", "additionalProperties": { "type": "string" } },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "either": { "x-kubernetes-int-or-string": true }
        } }
    } });
    let types = FieldTypes::of_custom(&schema);
    assert_eq!(at(&types, &["spec", "list"]), &FieldType::Atomic);
    assert!(matches!(at(&types, &["spec", "set"]), FieldType::List { list: ListType::Set, .. }));
    assert_eq!(keys(at(&types, &["spec", "map"])), ["a", "b"]);
    let FieldType::List { list, .. } = at(&types, &["spec", "map"]) else { panic!() };
    assert_eq!(list.element(&json!({ "a": "x" })), list.element(&json!({ "a": "x", "b": 1 })));
    assert_eq!(at(&types, &["spec", "whole"]), &FieldType::Atomic);
    assert!(!at(&types, &["spec", "texts"]).names("a") && at(&types, &["spec"]).names("texts"));
    assert_eq!(at(&types, &["spec", "free", "a", "b"]), &FieldType::Untyped);
    assert_eq!(at(&types, &["spec", "either"]), &FieldType::Plain);
    assert_eq!(keys(at(&types, &["metadata", "ownerReferences"])), ["uid"]);
    assert!(types.is_known() && !types.is_built_in());
}

#[test]
fn each_built_in_kind_has_an_empty_object() {
    let kinds = "pods deployments statefulsets replicasets daemonsets jobs cronjobs services configmaps secrets \
                 persistentvolumeclaims persistentvolumes ingresses networkpolicies horizontalpodautoscalers \
                 poddisruptionbudgets leases events namespaces nodes serviceaccounts endpoints endpointslices roles \
                 rolebindings clusterroles clusterrolebindings storageclasses resourcequotas limitranges";
    for plural in kinds.split_whitespace() {
        let types = FieldTypes::of_built_in(plural);
        assert!(types.is_built_in() && types.is_known(), "{plural}");
        let mut empty = types.filled(&Value::Null);
        assert!(empty["metadata"].is_object(), "{plural}");
        types.drain(&mut empty, &Value::Null);
        assert_eq!(empty, json!({}), "{plural}");
    }
    assert!(!FieldTypes::of_built_in("gadgets").is_known());
    let routes = FieldTypes::of_built_in("httproutes");
    assert!(routes.is_known() && !routes.is_built_in());
}

#[test]
fn what_the_empty_object_adds_goes_again_unless_it_was_there() {
    let types = FieldTypes::of_built_in("deployments");
    let live = json!({ "metadata": { "managedFields": [] }, "spec": { "strategy": {}, "selector": { "a": "b" } } });
    let mut object = types.filled(&live);
    assert_eq!(object["spec"]["template"], json!({ "metadata": {}, "spec": { "containers": null } }));
    assert_eq!(object["metadata"], json!({}));
    types.drain(&mut object, &live);
    assert_eq!(object, json!({ "metadata": {}, "spec": { "strategy": {}, "selector": { "a": "b" } } }));
}
