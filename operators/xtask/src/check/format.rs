//! The format registry+v1, and additional rules of this project.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::contents::BundleContents;
use super::finding::Finding;
use crate::bundle::{DOCKERFILE, SCORECARD, text};

/// The maximum size of a bundle's files, in bytes.
pub(crate) const LARGEST: usize = 500_000;

/// Kinds that OLM v0 and v1 install, on any cluster. Those of the prometheus-operator are not among them: an install
/// fails where their CRDs are absent.
const KINDS: [&str; 14] = [
    "ClusterServiceVersion",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "PodDisruptionBudget",
    "PriorityClass",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
];

const PREFIX: &str = "operators.operatorframework.io.";
/// Annotations with one allowed value.
const FIXED: [(&str, &str); 5] = [
    ("bundle.mediatype.v1", "registry+v1"),
    ("bundle.manifests.v1", "manifests/"),
    ("bundle.metadata.v1", "metadata/"),
    ("test.mediatype.v1", "scorecard+v1"),
    ("test.config.v1", "tests/scorecard/"),
];
const FREE: [&str; 3] = ["bundle.package.v1", "bundle.channels.v1", "bundle.channel.default.v1"];

/// The field of a pod in which OLM sets the namespaces to watch.
const TARGETS: &str = "metadata.annotations['olm.targetNamespaces']";

pub(crate) fn findings(bundle: &BundleContents) -> Vec<Finding> {
    let rules = [manifests, annotations, image, scorecard_config, size, images, namespaces, permissions];
    rules.iter().flat_map(|rule| rule(bundle)).collect()
}

fn error(rule: &str, message: String) -> Finding {
    Finding::error(&format!("format/{rule}"), message)
}

/// One CSV, one document in each file, and only kinds that OLM installs.
fn manifests(bundle: &BundleContents) -> Vec<Finding> {
    let mut found = Vec::new();
    let csvs = bundle.of_kind("ClusterServiceVersion").count();
    if csvs != 1 {
        found.push(error("manifests", format!("there are {csvs} ClusterServiceVersions, and must be 1")));
    }
    for manifest in &bundle.manifests {
        if manifest.documents.len() != 1 {
            let count = manifest.documents.len();
            found.push(error("manifests", format!("{} has {count} documents, and must have 1", manifest.file)));
        }
        for document in &manifest.documents {
            let (kind, name) = (text(document, "/kind"), text(document, "/metadata/name"));
            if !KINDS.contains(&kind) {
                found.push(error("manifests", format!("{}: a {kind} has no place in a bundle", manifest.file)));
            }
            if name.is_empty() || text(document, "/apiVersion").is_empty() {
                found.push(error("manifests", format!("{}: it has no name or no apiVersion", manifest.file)));
            }
        }
    }
    found
}

fn annotations(bundle: &BundleContents) -> Vec<Finding> {
    let value = |key: &str| bundle.annotations.get(&format!("{PREFIX}{key}")).map(String::as_str).unwrap_or_default();
    let wrong = FIXED.iter().filter(|(key, wanted)| value(key) != *wanted);
    let wrong = wrong.map(|(key, wanted)| format!("{PREFIX}{key} must be {wanted}, and is {:?}", value(key)));
    let missing = FREE.iter().filter(|key| value(key).is_empty()).map(|key| format!("{PREFIX}{key} is missing"));
    let mut messages: Vec<String> = wrong.chain(missing).collect();
    let default = value("bundle.channel.default.v1");
    if !value("bundle.channels.v1").split(',').any(|channel| channel == default) {
        messages.push(format!("the default channel {default:?} is none of the channels"));
    }
    messages.into_iter().map(|message| error("annotations", message)).collect()
}

/// The image's labels are the annotations, and it has the directories.
fn image(bundle: &BundleContents) -> Vec<Finding> {
    let lines: BTreeSet<&str> = bundle.dockerfile.lines().collect();
    let labels: BTreeSet<&str> = lines.iter().filter_map(|line| line.strip_prefix("LABEL ")).collect();
    let annotations: Vec<String> = bundle.annotations.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let annotations: BTreeSet<&str> = annotations.iter().map(String::as_str).collect();
    let differ = labels.symmetric_difference(&annotations);
    let mut messages: Vec<String> =
        differ.map(|what| format!("{what} is not both an annotation and a label of {DOCKERFILE}")).collect();
    let wanted = [
        "FROM scratch",
        "COPY manifests /manifests/",
        "COPY metadata /metadata/",
        "COPY tests/scorecard /tests/scorecard/",
    ];
    messages
        .extend(wanted.iter().filter(|line| !lines.contains(*line)).map(|line| format!("{DOCKERFILE} lacks {line}")));
    messages.into_iter().map(|message| error("image", message)).collect()
}

fn scorecard_config(bundle: &BundleContents) -> Vec<Finding> {
    let tests = bundle.scorecard.pointer("/stages/0/tests").and_then(Value::as_array);
    let named: BTreeSet<&str> = tests.into_iter().flatten().map(|test| text(test, "/entrypoint/1")).collect();
    let missing = super::scorecard::TESTS.iter().filter(|name| !named.contains(*name));
    missing.map(|name| error("scorecard", format!("{SCORECARD} does not run {name}"))).collect()
}

fn size(bundle: &BundleContents) -> Vec<Finding> {
    let size = bundle.size();
    let large = size > LARGEST;
    large.then(|| error("size", format!("it has {size} bytes, and may have {LARGEST}"))).into_iter().collect()
}

/// All images that the manager may run are among the related images.
fn images(bundle: &BundleContents) -> Vec<Finding> {
    let related: BTreeSet<&str> =
        bundle.listed("/spec/relatedImages").iter().map(|image| text(image, "/image")).collect();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for deployment in bundle.deployments() {
        for container in containers(deployment) {
            used.insert(text(container, "/image").to_owned());
            let variables = container.get("env").and_then(Value::as_array);
            let images = variables.into_iter().flatten().filter(|one| text(one, "/name").starts_with("RELATED_IMAGE_"));
            used.extend(images.map(|variable| text(variable, "/value").to_owned()));
        }
    }
    for map in bundle.of_kind("ConfigMap") {
        let entries = super::contents::strings(map.get("data"));
        let entries = entries.values().filter_map(|entry| serde_json::from_str::<Value>(entry).ok());
        used.extend(entries.map(|entry| text(&entry, "/image").to_owned()).filter(|image| !image.is_empty()));
    }
    let missing = used.iter().filter(|image| !related.contains(image.as_str()));
    missing.map(|image| error("images", format!("{image} is none of spec.relatedImages"))).collect()
}

/// If an install mode restricts the namespaces to watch, the manager gets them in its environment.
fn namespaces(bundle: &BundleContents) -> Vec<Finding> {
    let modes = bundle.listed("/spec/installModes").iter();
    let confined =
        modes.filter(|mode| mode["supported"] == json!(true)).any(|mode| text(mode, "/type") != "AllNamespaces");
    let gets_namespaces = |deployment: &Value| {
        containers(deployment).any(|container| {
            let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
            variables
                .filter(|one| text(one, "/name") == "WATCH_NAMESPACE")
                .any(|one| text(one, "/valueFrom/fieldRef/fieldPath") == TARGETS)
        })
    };
    let unaware = bundle.deployments().iter().filter(|deployment| confined && !gets_namespaces(deployment));
    unaware
        .map(|deployment| {
            let name = text(deployment, "/name");
            error("namespaces", format!("the deployment {name} has no WATCH_NAMESPACE from {TARGETS}"))
        })
        .collect()
}

/// No rule grants everything.
fn permissions(bundle: &BundleContents) -> Vec<Finding> {
    let granted = ["permissions", "clusterPermissions"]
        .iter()
        .flat_map(|field| bundle.listed(&format!("/spec/install/spec/{field}")))
        .filter_map(|granted| granted.get("rules")?.as_array());
    let roles = bundle.documents().filter(|document| text(document, "/kind").ends_with("Role"));
    let roles = roles.filter_map(|role| role.get("rules")?.as_array());
    let rules: Vec<&Value> = granted.chain(roles).flatten().collect();
    let wide = rules.iter().filter(|rule| rule.to_string().contains("\"*\""));
    wide.map(|rule| error("permissions", format!("a rule has *: {rule}"))).collect()
}

fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    ["containers", "initContainers"].into_iter().flat_map(|field| {
        let containers = deployment.pointer(&format!("/spec/template/spec/{field}")).and_then(Value::as_array);
        containers.into_iter().flatten()
    })
}
