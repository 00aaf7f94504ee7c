//! The files next to the manifests: annotations, the image's Dockerfile, which has them as labels, and the tests of scorecard.

use serde_json::{Map, Value, json};

use super::project::Project;
use crate::generated::{Generated, HEADER, document};

/// The path of the annotations.
pub(crate) const ANNOTATIONS_FILE: &str = "metadata/annotations.yaml";
/// The Dockerfile of the bundle's image.
pub(crate) const DOCKERFILE: &str = "bundle.Dockerfile";
/// The tests of scorecard.
pub(crate) const SCORECARD: &str = "tests/scorecard/config.yaml";

/// The channels that releases go to, the default last.
const CHANNELS: [&str; 2] = ["candidate", "stable"];
/// The first OpenShift whose Kubernetes is not below minKubeVersion.
const OPENSHIFT: &str = "v4.20";
const SCORECARD_IMAGE: &str = "quay.io/operator-framework/scorecard-test:v1.42.3";
const SCORECARD_TESTS: [(&str, &str); 6] = [
    ("basic", "basic-check-spec"),
    ("olm", "olm-bundle-validation"),
    ("olm", "olm-crds-have-validation"),
    ("olm", "olm-crds-have-resources"),
    ("olm", "olm-spec-descriptors"),
    ("olm", "olm-status-descriptors"),
];

/// The one source of annotations and labels.
fn annotations(project: &Project) -> Vec<(String, String)> {
    let own = [
        ("bundle.mediatype.v1", "registry+v1"),
        ("bundle.manifests.v1", "manifests/"),
        ("bundle.metadata.v1", "metadata/"),
        ("bundle.package.v1", &project.package),
        ("bundle.channels.v1", &CHANNELS.join(",")),
        ("bundle.channel.default.v1", CHANNELS[CHANNELS.len() - 1]),
        ("test.mediatype.v1", "scorecard+v1"),
        ("test.config.v1", "tests/scorecard/"),
    ];
    let named = own.map(|(key, value)| (format!("operators.operatorframework.io.{key}"), value.to_owned()));
    named.into_iter().chain([("com.redhat.openshift.versions".to_owned(), OPENSHIFT.to_owned())]).collect()
}

pub(crate) fn files(project: &Project) -> [Generated; 3] {
    let annotations = annotations(project);
    let map: Map<String, Value> = annotations.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    [
        (ANNOTATIONS_FILE.into(), document(&json!({ "annotations": map }))),
        (DOCKERFILE.into(), dockerfile(&annotations)),
        (SCORECARD.into(), document(&scorecard())),
    ]
}

/// The Dockerfile; its context is the bundle's directory.
fn dockerfile(annotations: &[(String, String)]) -> String {
    let labels: Vec<String> = annotations.iter().map(|(key, value)| format!("LABEL {key}={value}\n")).collect();
    format!(
        "{HEADER}FROM scratch\n\n{}\nCOPY manifests /manifests/\nCOPY metadata /metadata/\n\
         COPY tests/scorecard /tests/scorecard/\n",
        labels.concat()
    )
}

fn scorecard() -> Value {
    let test = |(suite, name): (&str, &str)| {
        json!({
            "entrypoint": ["scorecard-test", name],
            "image": SCORECARD_IMAGE,
            "labels": { "suite": suite, "test": format!("{name}-test") },
            "storage": { "spec": { "mountPath": {} } },
        })
    };
    json!({
        "apiVersion": "scorecard.operatorframework.io/v1alpha3",
        "kind": "Configuration",
        "metadata": { "name": "config" },
        "stages": [{ "parallel": true, "tests": SCORECARD_TESTS.map(test) }],
        "storage": { "spec": { "mountPath": {} } },
    })
}
