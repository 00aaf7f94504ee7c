//! The ClusterServiceVersion: the hand-written half, joined with the generated one.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::rbac::v1::PolicyRule;
use semver::Version;
use serde_json::{Map, Value, json};

use super::descriptors::{PARTS, descriptors};
use super::documents::{Documents, text};
use super::images;
use super::project::Project;

/// The inputs of the generated half.
pub(crate) struct CsvParts<'a> {
    pub project: &'a Project,
    pub version: &'a Version,
    /// The manager's image.
    pub image: &'a str,
    /// An SVG.
    pub icon: &'a str,
    pub documents: &'a Documents,
    pub crds: &'a [Value],
    /// Permissions in each watched namespace.
    pub namespaced: Vec<PolicyRule>,
    /// Cluster-wide permissions.
    pub cluster: Vec<PolicyRule>,
    /// Whether the bundle is built from another commit, which may not have had the catalog of PostgreSQL.
    pub earlier: bool,
}

/// The name of the image in the manifests.
const PLACEHOLDER: &str = "multi-operator";

/// The complete CSV.
///
/// # Errors
/// If the two halves do not match.
pub(crate) fn assemble(mut base: Value, parts: &CsvParts<'_>) -> Result<Value, String> {
    let owned = owned(&base, parts.crds)?;
    let metadata = object(&mut base, "metadata")?;
    metadata.insert("name".into(), json!(format!("{}.v{}", parts.project.package, parts.version)));
    metadata.insert("labels".into(), labels(parts.project));
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    annotations.ok_or("the base has no annotations")?.extend(annotations_of(parts));
    let spec = object(&mut base, "spec")?;
    spec.insert("version".into(), json!(parts.version.to_string()));
    spec.insert("icon".into(), icon(parts.icon));
    spec.insert("provider".into(), json!({ "name": parts.project.provider, "url": parts.project.url }));
    spec.insert("maintainers".into(), json!([{ "name": parts.project.maintainer, "email": parts.project.email }]));
    spec.insert("links".into(), json!([{ "name": "Documentation", "url": parts.project.url }]));
    spec.insert("install".into(), install(parts)?);
    spec.insert("customresourcedefinitions".into(), json!({ "owned": owned }));
    spec.insert("relatedImages".into(), images::related(parts.image, &parts.documents.others, parts.earlier)?);
    Ok(base)
}

fn object<'a>(value: &'a mut Value, field: &str) -> Result<&'a mut Map<String, Value>, String> {
    let found = value.get_mut(field).and_then(Value::as_object_mut);
    found.ok_or_else(|| format!("the base has no {field}"))
}

/// Labels with the platforms of the image, so that consoles offer it where it runs.
fn labels(project: &Project) -> Value {
    let architectures = project.architectures.iter().map(|architecture| format!("arch.{architecture}"));
    let built = architectures.chain(["os.linux".to_owned()]);
    built.map(|what| (format!("operatorframework.io/{what}"), json!("supported"))).collect::<Map<_, _>>().into()
}

fn annotations_of(parts: &CsvParts<'_>) -> [(String, Value); 4] {
    let examples = Value::from(parts.documents.examples.clone()).to_string();
    [
        ("alm-examples".to_owned(), json!(examples)),
        ("containerImage".to_owned(), json!(parts.image)),
        ("repository".to_owned(), json!(parts.project.url)),
        ("support".to_owned(), json!(parts.project.maintainer)),
    ]
}

fn icon(svg: &str) -> Value {
    json!([{ "base64data": BASE64_STANDARD.encode(svg), "mediatype": "image/svg+xml" }])
}

fn install(parts: &CsvParts<'_>) -> Result<Value, String> {
    let deployment = &parts.documents.deployment;
    let mut spec = deployment.get("spec").cloned().ok_or("the Deployment has no spec")?;
    let containers = spec.pointer_mut("/template/spec/containers").and_then(Value::as_array_mut);
    let manager = containers.into_iter().flatten().find(|container| text(container, "/image") == PLACEHOLDER);
    let manager = manager.ok_or_else(|| format!("no container of the Deployment has the image {PLACEHOLDER}"))?;
    manager["image"] = json!(parts.image);
    let account = parts.documents.account();
    let granted = |rules: &[PolicyRule]| json!([{ "serviceAccountName": account, "rules": rules }]);
    Ok(json!({
        "strategy": "deployment",
        "spec": {
            "deployments": [{
                "name": text(deployment, "/metadata/name"),
                "label": deployment.pointer("/metadata/labels"),
                "spec": spec,
            }],
            "permissions": granted(&parts.namespaced),
            "clusterPermissions": granted(&parts.cluster),
        },
    }))
}

/// The entries of the base for CRDs, with descriptors: one for each CRD of this project, and no other.
fn owned(base: &Value, crds: &[Value]) -> Result<Vec<Value>, String> {
    let listed = base.pointer("/spec/customresourcedefinitions/owned").and_then(Value::as_array);
    let listed = listed.ok_or("the base names no CRDs")?;
    for one in listed {
        let name = text(one, "/name");
        if !crds.iter().any(|crd| text(crd, "/metadata/name") == name) {
            return Err(format!("the base names {name}, which is no CRD of this project"));
        }
    }
    crds.iter().map(|crd| complete(listed, crd)).collect::<Result<Vec<_>, _>>().map(|all| all.concat())
}

/// The entries of the base for one CRD, one for each version that is served.
fn complete(listed: &[Value], crd: &Value) -> Result<Vec<Value>, String> {
    let (name, kind) = (text(crd, "/metadata/name"), text(crd, "/spec/names/kind"));
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] == json!(true));
    served
        .map(|version| {
            let version_name = text(version, "/name");
            let found = listed.iter().find(|one| text(one, "/name") == name && text(one, "/version") == version_name);
            let mut one = found.cloned().ok_or_else(|| format!("the base has no entry for {name} {version_name}"))?;
            one["kind"] = json!(kind);
            let schema = &version["schema"]["openAPIV3Schema"];
            for (part, field) in PARTS {
                let made = descriptors(schema, part);
                if !made.is_empty() {
                    one[field] = json!(made);
                }
            }
            Ok(one)
        })
        .collect()
}

#[cfg(test)]
mod tests;
