//! A small valid bundle, and for each rule one that violates it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

mod good;

use good::{crd, csv, good};

use super::*;
use crate::bundle::{ANNOTATIONS_FILE, DOCKERFILE, SCORECARD};

const CSV: &str = "manifests/p.clusterserviceversion.yaml";
const CRD: &str = "manifests/example.com_apps.yaml";
const MAP: &str = "manifests/p-map.yaml";

fn contents(files: BTreeMap<&str, Value>) -> BundleContents {
    let labels = files[ANNOTATIONS_FILE]["annotations"].as_object().unwrap();
    let labels: String =
        labels.iter().map(|(key, value)| format!("LABEL {key}={}\n", value.as_str().unwrap())).collect();
    let copies = "COPY manifests /manifests/\nCOPY metadata /metadata/\nCOPY tests/scorecard /tests/scorecard/\n";
    let dockerfile = (PathBuf::from(DOCKERFILE), format!("FROM scratch\n{labels}{copies}"));
    let read = files.into_iter().map(|(path, value)| (path.into(), value.to_string()));
    BundleContents::of(read.chain([dockerfile]).collect()).unwrap()
}

fn all(bundle: &BundleContents) -> Vec<Finding> {
    RULES.iter().flat_map(|(_, rules)| rules(bundle)).collect()
}

/// The findings after `change`, as `check: message`.
fn after(change: impl FnOnce(&mut BTreeMap<&'static str, Value>)) -> Vec<String> {
    let mut files = good();
    change(&mut files);
    all(&contents(files)).into_iter().map(|found| format!("{}: {}", found.check, found.message)).collect()
}

/// Sets a field by its pointer, which must exist; if the pointer ends with `/-`, only its parent must.
fn set(file: &'static str, pointer: &str, value: Value) -> Vec<String> {
    after(|files| match pointer.strip_suffix("/-") {
        Some(list) => files.get_mut(file).unwrap().pointer_mut(list).unwrap().as_array_mut().unwrap().push(value),
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = files.get_mut(file).unwrap().pointer_mut(parent).unwrap();
            match name.parse::<usize>() {
                Ok(index) => parent[index] = value,
                Err(_) => parent[name] = value,
            }
        }
    })
}

#[track_caller]
fn reports(found: &[String], check: &str, text_part: &str) {
    assert!(found.iter().any(|one| one.starts_with(&format!("{check}: ")) && one.contains(text_part)), "{found:#?}");
}

#[test]
fn nothing_is_wrong_with_the_good_one() {
    assert_eq!(all(&contents(good())), []);
}

#[test]
fn the_format_is_held() {
    let network = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"}});
    let found = after(|files| drop(files.insert("manifests/n.yaml", network.clone())));
    reports(&found, "format/manifests", "NetworkPolicy");
    reports(&found, "community/check_network_policy_presence", "NetworkPolicy n");
    let monitor = json!({"apiVersion": "a/v1", "kind": "ServiceMonitor", "metadata": {"name": "n"}});
    reports(&after(|files| drop(files.insert("manifests/n.yaml", monitor))), "format/manifests", "ServiceMonitor");
    reports(
        &after(|files| drop(files.insert("manifests/two.yaml", csv()))),
        "format/manifests",
        "2 ClusterServiceVersions",
    );
    reports(&set(MAP, "/metadata", json!({})), "format/manifests", "no name");
    let key = "operators.operatorframework.io.bundle";
    reports(
        &set(ANNOTATIONS_FILE, &format!("/annotations/{key}.mediatype.v1"), json!("helm")),
        "format/annotations",
        "helm",
    );
    reports(
        &set(ANNOTATIONS_FILE, &format!("/annotations/{key}.channels.v1"), json!("")),
        "format/annotations",
        "missing",
    );
    reports(
        &set(ANNOTATIONS_FILE, &format!("/annotations/{key}.channel.default.v1"), json!("fast")),
        "format/annotations",
        "fast",
    );
    reports(&set(SCORECARD, "/stages/0/tests", json!([])), "format/scorecard", "basic-check-spec");
    reports(&set(CSV, "/spec/relatedImages/1/image", json!("other")), "format/images", "r.example.com/db:1");
    reports(&set(CSV, "/spec/relatedImages/0/image", json!("other")), "format/images", "r.example.com/p:1.2.3");
    let deployment = "/spec/install/spec/deployments/0/spec/template/spec/containers/0";
    reports(&set(CSV, &format!("{deployment}/env"), json!([])), "format/namespaces", "p-manager");
    reports(&set(CSV, "/spec/install/spec/permissions/0/rules/0/verbs", json!(["*"])), "format/permissions", "*");
    reports(&set(CSV, "/spec/description", json!("x".repeat(format::LARGEST))), "format/size", "bytes");
}

#[test]
fn a_file_has_one_document_and_labels_are_annotations() {
    let mut files = good();
    files.remove(MAP);
    let mut bundle = contents(files);
    bundle.manifests[0].documents.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}));
    bundle.dockerfile = bundle.dockerfile.replace("bundle.package.v1=p\n", "bundle.package.v1=q\n");
    bundle.dockerfile = bundle.dockerfile.replace("COPY metadata", "COPY meta");
    let found: Vec<String> =
        all(&bundle).into_iter().map(|found| format!("{}: {}", found.check, found.message)).collect();
    reports(&found, "format/manifests", "has 2 documents");
    reports(&found, "format/image", "bundle.package.v1=q is not both");
    reports(&found, "format/image", "bundle.package.v1=p is not both");
    reports(&found, "format/image", "lacks COPY metadata");
}

#[test]
fn the_communitys_checks_are_held() {
    reports(
        &set(CSV, "/spec/displayName", json!("P")),
        "community/check_required_fields",
        "invalid value for spec.displayName",
    );
    reports(&set(CSV, "/spec", json!({})), "community/check_required_fields", "does not define spec.icon");
    reports(&set(CSV, "/metadata/name", json!("q.v1.2.3")), "community/check_operator_name", "\"q\" in the CSV's name");
    let long = format!("p.v1.2.3-{}.v1.2.3", "x".repeat(60));
    reports(&set(CSV, "/metadata/name", json!(long)), "community/check_operator_name", "63");
    reports(&set(CSV, "/spec/version", json!("1.2.4")), "community/check_operator_version_directory_name", "1.2.4");
    reports(&set(CSV, "/spec/replaces", json!("p.v1.2.2")), "community/check_replaces_availability", "spec.replaces");
    let check = "community/check_api_version_constraints";
    reports(&set(CSV, "/spec/minKubeVersion", json!("1.34.0")), check, "Kubernetes 1.33, below");
    reports(&set(ANNOTATIONS_FILE, "/annotations/com.redhat.openshift.versions", json!("4.20")), check, "should begin");
    let without = after(|files| {
        files.get_mut(ANNOTATIONS_FILE).unwrap()["annotations"]
            .as_object_mut()
            .unwrap()
            .remove("com.redhat.openshift.versions");
    });
    reports(&without, check, "is not set");
}

#[test]
fn scorecards_tests_are_held_and_more() {
    let examples = |value: Value| set(CSV, "/metadata/annotations/alm-examples", json!(value.to_string()));
    let app = |spec: Value| json!([{"apiVersion": "example.com/v1", "kind": "App", "spec": spec}]);
    reports(&set(CSV, "/metadata/annotations/alm-examples", json!("[")), "scorecard/basic-check-spec", "no JSON");
    reports(&examples(json!([])), "scorecard/basic-check-spec", "App v1 has no example");
    reports(&examples(app(json!({"imag": 1}))), "scorecard/olm-crds-have-validation", "spec.imag");
    reports(&examples(app(json!({"checks": [{"sq": 1}]}))), "scorecard/olm-crds-have-validation", "spec.checks[0].sq");
    reports(&examples(app(Value::Null)), "scorecard/olm-spec-descriptors", "has no spec");
    let other = json!([{"apiVersion": "example.com/v1", "kind": "Other", "spec": {}}]);
    reports(&examples(other), "scorecard/olm-status-descriptors", "no owned kind");
    let owned = "/spec/customresourcedefinitions/owned/0";
    reports(&set(CSV, &format!("{owned}/resources"), json!([])), "scorecard/olm-crds-have-resources", "App v1");
    reports(
        &set(CSV, &format!("{owned}/statusDescriptors"), json!([])),
        "scorecard/olm-status-descriptors",
        "App.status.phase has no",
    );
    let path = |path: &str| set(CSV, &format!("{owned}/specDescriptors/2/path"), json!(path));
    reports(
        &path("checks[0].no"),
        "scorecard/olm-spec-descriptors",
        "App.spec.checks[0].no has a descriptor, and is not there",
    );
    reports(&path("checks[0].no"), "scorecard/olm-spec-descriptors", "App.spec.checks[0].sql has no descriptor");
    reports(&path("image"), "scorecard/olm-spec-descriptors", "have one path");
    reports(
        &set(CSV, &format!("{owned}/specDescriptors/0/description"), json!("")),
        "scorecard/olm-spec-descriptors",
        "is empty",
    );
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties";
    reports(
        &set(CRD, &format!("{properties}/spec/properties/image"), json!({})),
        "scorecard/olm-spec-descriptors",
        "no description",
    );
    reports(
        &set(CRD, &format!("{properties}/text"), json!({})),
        "scorecard/olm-spec-descriptors",
        "App.text is outside spec and status",
    );
    reports(
        &set(CRD, "/spec/versions/0/name", json!("v2")),
        "scorecard/olm-crds-have-validation",
        "App v1 has no schema",
    );
}

#[test]
fn olm_v1s_checks_are_held() {
    let deployments = "/spec/install/spec/deployments";
    let again = json!({"name": "p-manager"});
    reports(&set(CSV, &format!("{deployments}/-"), again), "olm-v1/CheckDeploymentSpecUniqueness", "p-manager");
    reports(
        &set(CSV, &format!("{deployments}/0/name"), json!("P_")),
        "olm-v1/CheckDeploymentNameIsDNS1123SubDomain",
        "P_",
    );
    reports(&after(|files| drop(files.remove(CRD))), "olm-v1/CheckOwnedCRDExistence", "apps.example.com");
    reports(
        &after(|files| drop(files.insert("manifests/two.yaml", crd()))),
        "olm-v1/CheckCRDResourceUniqueness",
        "apps.example.com",
    );
    let package = "/annotations/operators.operatorframework.io.bundle.package.v1";
    reports(&set(ANNOTATIONS_FILE, package, json!("")), "olm-v1/CheckPackageNameNotEmpty", "no name");
    reports(&set(CSV, "/spec/installModes/1/supported", json!(false)), "olm-v1/AllNamespaces", "not supported");
    reports(&set(MAP, "/kind", json!("Lease")), "olm-v1/CheckObjectSupport", "Lease p-map");
}

#[test]
fn olm_v1s_checks_of_webhooks_are_held() {
    let webhooks = |webhooks: Value| set(CSV, "/spec/webhookdefinitions", webhooks);
    let conversion = |name: &str, crd: &str| json!({"type": "ConversionWebhook", "generateName": name, "deploymentName": "p-manager", "conversionCRDs": [crd]});
    let found = webhooks(json!([conversion("a", "others.example.com"), conversion("b", "others.example.com")]));
    reports(&found, "olm-v1/CheckConversionWebhookSupport", "OwnNamespace");
    reports(&found, "olm-v1/CheckConversionWebhooksReferenceOwnedCRDs", "others.example.com");
    reports(&found, "olm-v1/CheckConversionWebhookCRDReferenceUniqueness", "others.example.com");
    let rule =
        json!({"apiGroups": ["*", "admissionregistration.k8s.io"], "resources": ["ValidatingWebhookConfigurations"]});
    let webhook =
        json!({"type": "MutatingAdmissionWebhook", "generateName": "A", "deploymentName": "no", "rules": [rule]});
    let found = webhooks(json!([webhook.clone(), webhook]));
    reports(&found, "olm-v1/CheckWebhookDeploymentReferentialIntegrity", "the deployment no");
    reports(&found, "olm-v1/CheckWebhookNameUniqueness", "MutatingAdmissionWebhook A");
    reports(&found, "olm-v1/CheckWebhookNameIsDNS1123SubDomain", "\"A\"");
    reports(&found, "olm-v1/CheckWebhookRules", "the group *");
    reports(&found, "olm-v1/CheckWebhookRules", "validatingwebhookconfigurations");
}

#[test]
fn what_other_checks_found_is_read_and_nothing_else() {
    let found = from_lines("{\"level\":\"warning\",\"check\":\"a/b\",\"message\":\"c\"}\n").unwrap();
    assert_eq!(found, [Finding::warning("a/b", "c")]);
    assert!(from_lines("panic: out of memory\n").unwrap_err().contains("panic"));
}
