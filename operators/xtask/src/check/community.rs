//! The static checks of the pipeline that accepts bundles for community-operators and OperatorHub, by their names there. The
//! catalog checks the upgrade graph.

use semver::Version;

use super::contents::BundleContents;
use super::fields::REQUIRED;
use super::finding::Finding;
use crate::bundle::text;

const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
const OPENSHIFT: &str = "com.redhat.openshift.versions";

pub(crate) fn findings(bundle: &BundleContents) -> Vec<Finding> {
    let rules = [required_fields, operator_name, version, api_version_constraints, network_policy, replaces];
    rules.iter().flat_map(|rule| rule(bundle)).collect()
}

fn error(rule: &str, message: impl Into<String>) -> Finding {
    Finding::error(&format!("community/{rule}"), message)
}

fn required_fields(bundle: &BundleContents) -> Vec<Finding> {
    let wrong = REQUIRED.iter().filter_map(|(pointer, rule)| {
        let field = pointer.trim_start_matches('/').replace('/', ".");
        match bundle.csv.pointer(pointer) {
            None => Some(format!("the CSV does not define {field}")),
            Some(value) if !rule(value) => Some(format!("the CSV contains an invalid value for {field}: {value}")),
            Some(_) => None,
        }
    });
    wrong.map(|message| error("check_required_fields", message)).collect()
}

/// The package has the same name everywhere.
fn operator_name(bundle: &BundleContents) -> Vec<Finding> {
    let package = bundle.annotations.get(PACKAGE).map(String::as_str).unwrap_or_default();
    let name = text(&bundle.csv, "/metadata/name");
    let named = name.split_once('.').map_or(name, |(package, _)| package);
    let differs = package != named;
    let message = format!("the package is {package:?} in the annotations and {named:?} in the CSV's name");
    differs.then(|| error("check_operator_name", message)).into_iter().collect()
}

/// The name ends with the version, after which the catalog's directory is named.
fn version(bundle: &BundleContents) -> Vec<Finding> {
    let (name, version) = (text(&bundle.csv, "/metadata/name"), text(&bundle.csv, "/spec/version"));
    let mut found = Vec::new();
    if !name.ends_with(&format!(".v{version}")) {
        found.push(error("check_operator_version_directory_name", format!("{name} is not named after {version}")));
    }
    if name.len() > 63 {
        found.push(error("check_operator_name", format!("{name} is longer than a label's 63 characters")));
    }
    found
}

/// The minor version of Kubernetes in a version of OpenShift 4: 4.1 has 1.13, 4.2 has 1.14, and from 4.3 on it is 13 more.
fn kubernetes_of(openshift_minor: u64) -> u64 {
    if openshift_minor < 3 { openshift_minor + 12 } else { openshift_minor + 13 }
}

/// No OpenShift that the bundle is offered on is older than its minKubeVersion.
fn api_version_constraints(bundle: &BundleContents) -> Vec<Finding> {
    let rule = "check_api_version_constraints";
    let Ok(least) = Version::parse(text(&bundle.csv, "/spec/minKubeVersion")) else { return Vec::new() };
    let Some(selector) = bundle.annotations.get(OPENSHIFT) else {
        return vec![error(rule, format!("minKubeVersion is {least}, and {OPENSHIFT} is not set"))];
    };
    let first = selector.trim_start_matches('=').split(['-', ',']).next().unwrap_or_default();
    let minor = first.trim().strip_prefix("v4.").and_then(|minor| minor.parse().ok());
    let Some(minor) = minor else {
        return vec![error(rule, format!("{OPENSHIFT} is {selector:?}, and should begin as v4.20 does"))];
    };
    let has = Version::new(1, kubernetes_of(minor), 0);
    let older = has < Version::new(least.major, least.minor, 0);
    let message =
        format!("OpenShift 4.{minor} has Kubernetes {}.{}, below minKubeVersion {least}", has.major, has.minor);
    older.then(|| error(rule, message)).into_iter().collect()
}

fn network_policy(bundle: &BundleContents) -> Vec<Finding> {
    let policies = bundle.of_kind("NetworkPolicy");
    policies
        .map(|policy| {
            let name = text(policy, "/metadata/name");
            error("check_network_policy_presence", format!("the bundle contains the NetworkPolicy {name}"))
        })
        .collect()
}

/// The catalog sets what a release replaces: the same bundle goes to channels with different histories.
fn replaces(bundle: &BundleContents) -> Vec<Finding> {
    let fields = ["replaces", "skips"];
    let given = fields.iter().filter(|field| bundle.csv["spec"].get(**field).is_some());
    given.map(|field| error("check_replaces_availability", format!("spec.{field} belongs to the catalog"))).collect()
}
