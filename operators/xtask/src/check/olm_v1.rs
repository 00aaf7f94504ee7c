//! The checks that OLM v1's operator-controller makes before it installs a registry+v1 bundle: its own thirteen, by their names
//! there, and whether it can install the bundle at all.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::contents::BundleContents;
use super::finding::Finding;
use crate::bundle::text;

const CONVERSION: &str = "ConversionWebhook";

/// Supported kinds in addition to CSV and CRD.
const SUPPORTED: [&str; 20] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsolePlugin",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PodMonitor",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];

type V1Check = fn(&BundleContents) -> Vec<String>;
const CHECKS: [(&str, V1Check); 14] = [
    ("CheckDeploymentSpecUniqueness", |bundle| {
        twice(bundle.deployments().iter().map(|one| text(one, "/name")), "deployment")
    }),
    ("CheckDeploymentNameIsDNS1123SubDomain", |bundle| no_domain(bundle.deployments(), "/name", "deployment")),
    ("CheckOwnedCRDExistence", owned_crd_existence),
    ("CheckCRDResourceUniqueness", |bundle| twice(bundle.crds().map(|crd| text(crd, "/metadata/name")), "CRD")),
    ("CheckPackageNameNotEmpty", package_name),
    ("CheckConversionWebhookSupport", conversion_support),
    ("CheckWebhookDeploymentReferentialIntegrity", webhook_deployments),
    ("CheckWebhookNameUniqueness", webhook_uniqueness),
    ("CheckConversionWebhooksReferenceOwnedCRDs", conversion_owned),
    ("CheckConversionWebhookCRDReferenceUniqueness", conversion_uniqueness),
    ("CheckWebhookNameIsDNS1123SubDomain", |bundle| no_domain(webhooks(bundle), "/generateName", "webhook")),
    ("CheckWebhookRules", webhook_rules),
    ("CheckObjectSupport", object_support),
    ("AllNamespaces", all_namespaces),
];

pub(crate) fn findings(bundle: &BundleContents) -> Vec<Finding> {
    let run = |(name, check): &(&str, V1Check)| -> Vec<Finding> {
        check(bundle).into_iter().map(|message| Finding::error(&format!("olm-v1/{name}"), message)).collect()
    };
    CHECKS.iter().flat_map(run).collect()
}

fn webhooks(bundle: &BundleContents) -> &[Value] {
    bundle.listed("/spec/webhookdefinitions")
}

fn conversions(bundle: &BundleContents) -> impl Iterator<Item = &Value> {
    webhooks(bundle).iter().filter(|webhook| text(webhook, "/type") == CONVERSION)
}

fn listed<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    value.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn twice<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *count.entry(name).or_default() += 1);
    let more = count.into_iter().filter(|(_, count)| *count > 1);
    more.map(|(name, count)| format!("there are {count} of the {what} {name}")).collect()
}

/// Lower-case letters, digits, hyphens and dots, each part beginning and ending with a letter or digit.
fn is_domain(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().last()];
        part.bytes().all(|byte| alphanumeric(byte) || byte == b'-')
            && ends.into_iter().all(|end| end.is_some_and(alphanumeric))
    };
    name.len() <= 253 && name.split('.').all(part)
}

fn no_domain(all: &[Value], pointer: &str, what: &str) -> Vec<String> {
    let names = all.iter().map(|one| text(one, pointer)).filter(|name| !is_domain(name));
    names.map(|name| format!("the {what} {name:?} has a name that Kubernetes does not take")).collect()
}

fn owned_crd_existence(bundle: &BundleContents) -> Vec<String> {
    let owned = bundle.owned().iter().map(|owned| text(owned, "/name"));
    let missing = owned.filter(|name| !bundle.crds().any(|crd| text(crd, "/metadata/name") == *name));
    missing.map(|name| format!("the CSV owns {name}, which is not in the bundle")).collect()
}

fn package_name(bundle: &BundleContents) -> Vec<String> {
    let name = bundle.annotations.get("operators.operatorframework.io.bundle.package.v1");
    let empty = name.is_none_or(String::is_empty);
    empty.then(|| "the package has no name".to_owned()).into_iter().collect()
}

fn modes(bundle: &BundleContents) -> Vec<&str> {
    let modes = bundle.listed("/spec/installModes").iter().filter(|mode| mode["supported"] == json!(true));
    modes.map(|mode| text(mode, "/type")).collect()
}

fn conversion_support(bundle: &BundleContents) -> Vec<String> {
    let modes = modes(bundle);
    if modes == ["AllNamespaces"] {
        return Vec::new();
    }
    let names = conversions(bundle).map(|webhook| text(webhook, "/generateName"));
    names.map(|name| format!("the conversion webhook {name} allows AllNamespaces only, not {modes:?}")).collect()
}

fn webhook_deployments(bundle: &BundleContents) -> Vec<String> {
    let known = |name: &str| bundle.deployments().iter().any(|deployment| text(deployment, "/name") == name);
    let lost = webhooks(bundle).iter().filter(|webhook| !known(text(webhook, "/deploymentName")));
    lost.map(|webhook| {
        let (name, deployment) = (text(webhook, "/generateName"), text(webhook, "/deploymentName"));
        format!("the webhook {name} is of the deployment {deployment}, which is not there")
    })
    .collect()
}

fn webhook_uniqueness(bundle: &BundleContents) -> Vec<String> {
    let names: Vec<String> = webhooks(bundle)
        .iter()
        .map(|webhook| format!("{} {}", text(webhook, "/type"), text(webhook, "/generateName")))
        .collect();
    twice(names.iter().map(String::as_str), "webhook")
}

fn conversion_owned(bundle: &BundleContents) -> Vec<String> {
    let owned = |name: &str| bundle.owned().iter().any(|owned| text(owned, "/name") == name);
    let named = conversions(bundle).flat_map(|webhook| listed(webhook, "conversionCRDs"));
    named
        .filter(|name| !owned(name))
        .map(|name| format!("a conversion webhook names {name}, which is not owned"))
        .collect()
}

fn conversion_uniqueness(bundle: &BundleContents) -> Vec<String> {
    twice(conversions(bundle).flat_map(|webhook| listed(webhook, "conversionCRDs")), "converted CRD")
}

fn webhook_rules(bundle: &BundleContents) -> Vec<String> {
    let configurations = ["*", "mutatingwebhookconfiguration", "validatingwebhookconfiguration"];
    let mut messages = Vec::new();
    for webhook in webhooks(bundle).iter().filter(|webhook| text(webhook, "/type") != CONVERSION) {
        let name = text(webhook, "/generateName");
        for rule in webhook["rules"].as_array().into_iter().flatten() {
            for group in listed(rule, "apiGroups") {
                if ["*", "olm.operatorframework.io"].contains(&group) {
                    messages.push(format!("the webhook {name} has a rule for the group {group}"));
                }
                let resources = listed(rule, "resources").filter(|_| group == "admissionregistration.k8s.io");
                let singular = resources.map(|resource| resource.to_lowercase().trim_end_matches('s').to_owned());
                let forbidden = singular.filter(|resource| configurations.contains(&resource.as_str()));
                messages.extend(forbidden.map(|resource| format!("the webhook {name} has a rule for {resource}s")));
            }
        }
    }
    messages
}

fn object_support(bundle: &BundleContents) -> Vec<String> {
    let others = bundle
        .documents()
        .filter(|document| !["ClusterServiceVersion", "CustomResourceDefinition"].contains(&text(document, "/kind")));
    let unsupported = others.filter(|document| !SUPPORTED.contains(&text(document, "/kind")));
    unsupported
        .map(|one| format!("{} {} is of no supported kind", text(one, "/kind"), text(one, "/metadata/name")))
        .collect()
}

/// OLM v1 installs for all namespaces, unless a feature gate is on.
fn all_namespaces(bundle: &BundleContents) -> Vec<String> {
    let supported = modes(bundle).contains(&"AllNamespaces");
    (!supported).then(|| "AllNamespaces is not supported".to_owned()).into_iter().collect()
}
