//! A small valid bundle.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CRD, CSV, MAP};
use crate::bundle::{ANNOTATIONS_FILE, SCORECARD};
use crate::check::scorecard;

/// The documents of a good bundle, by file; its Dockerfile follows from its annotations.
pub(super) fn good() -> BTreeMap<&'static str, Value> {
    let annotations = [
        ("operators.operatorframework.io.bundle.mediatype.v1", "registry+v1"),
        ("operators.operatorframework.io.bundle.manifests.v1", "manifests/"),
        ("operators.operatorframework.io.bundle.metadata.v1", "metadata/"),
        ("operators.operatorframework.io.bundle.package.v1", "p"),
        ("operators.operatorframework.io.bundle.channels.v1", "candidate,stable"),
        ("operators.operatorframework.io.bundle.channel.default.v1", "stable"),
        ("operators.operatorframework.io.test.mediatype.v1", "scorecard+v1"),
        ("operators.operatorframework.io.test.config.v1", "tests/scorecard/"),
        ("com.redhat.openshift.versions", "v4.20"),
    ];
    let tests: Vec<Value> =
        scorecard::TESTS.iter().map(|name| json!({ "entrypoint": ["scorecard-test", name] })).collect();
    BTreeMap::from([
        (CSV, csv()),
        (CRD, crd()),
        (
            MAP,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p-map"},
                     "data": {"1": "{\"image\":\"r.example.com/db:1\"}", "note": "no image"}}),
        ),
        (ANNOTATIONS_FILE, json!({ "annotations": BTreeMap::from(annotations) })),
        (SCORECARD, json!({ "stages": [{ "tests": tests }] })),
    ])
}

pub(super) fn csv() -> Value {
    let example =
        json!([{"apiVersion": "example.com/v1", "kind": "App", "spec": {"image": "a", "checks": [{"sql": "b"}]}}]);
    let descriptor = |path| json!({"path": path, "displayName": "a", "description": "a", "x-descriptors": ["a"]});
    let variable = json!({"name": "WATCH_NAMESPACE",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}});
    let container = json!({"image": "r.example.com/p:1.2.3", "env": [variable]});
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": "p.v1.2.3", "annotations": {
            "alm-examples": example.to_string(), "capabilities": "Basic Install", "categories": "Database",
            "containerImage": "r.example.com/p:1.2.3", "createdAt": "2026-01-31T00:00:00Z",
            "repository": "https://p.example.com", "support": "People", "description": "A good bundle."}},
        "spec": {
            "displayName": "P and Q", "description": "A bundle that nothing is wrong with.", "version": "1.2.3",
            "icon": [{"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}],
            "maintainers": [{"name": "a", "email": "a@b"}], "provider": {"name": "People"},
            "links": [{"name": "a", "url": "https://a"}], "keywords": ["a"], "minKubeVersion": "1.33.0",
            "installModes": [{"type": "OwnNamespace", "supported": true}, {"type": "AllNamespaces", "supported": true}],
            "relatedImages": [{"image": "r.example.com/p:1.2.3"}, {"image": "r.example.com/db:1"}],
            "customresourcedefinitions": {"owned": [{
                "name": "apps.example.com", "kind": "App", "version": "v1", "resources": [{"kind": "Pod", "version": "v1"}],
                "specDescriptors": [descriptor("image"), descriptor("checks"), descriptor("checks[0].sql")],
                "statusDescriptors": [descriptor("phase")]}]},
            "install": {"spec": {
                "permissions": [{"serviceAccountName": "p", "rules": [{"verbs": ["get"]}]}],
                "deployments": [{"name": "p-manager", "spec": {"template": {"spec": {"containers": [container]}}}}]}},
        },
    })
}

pub(super) fn crd() -> Value {
    let item = json!({"properties": {"sql": {"description": "a"}}});
    let schema = json!({"properties": {
        "spec": {"properties": {"image": {"description": "a"}, "checks": {"description": "a", "items": item}}},
        "status": {"properties": {"phase": {"description": "a"}}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": "apps.example.com"},
           "spec": {"group": "example.com", "names": {"kind": "App"},
                    "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}})
}
