//! The ClusterServiceVersion: the hand-written half, and what only the code knows.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::rbac::v1::PolicyRule;
use semver::Version;
use serde_json::{Map, Value, json};

use super::descriptors::{PARTS, descriptors};
use super::documents::{Documents, text};
use super::images;
use super::project::Project;

/// What the other half is made of.
pub(crate) struct Parts<'a> {
    pub project: &'a Project,
    pub version: &'a Version,
    /// The manager's.
    pub image: &'a str,
    /// An SVG.
    pub icon: &'a str,
    pub documents: &'a Documents,
    pub crds: &'a [Value],
    /// Rights in each watched namespace.
    pub namespaced: Vec<PolicyRule>,
    /// Rights on the cluster.
    pub cluster: Vec<PolicyRule>,
    /// Whether it is another commit that is put together: one that may not have had the catalog of PostgreSQL.
    pub earlier: bool,
}

/// What the image is called in the manifests.
const PLACEHOLDER: &str = "multi-operator";

/// The whole CSV.
///
/// # Errors
/// What of the two halves does not fit.
pub(crate) fn assemble(mut base: Value, parts: &Parts<'_>) -> Result<Value, String> {
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
    spec.insert("relatedImages".into(), images::related(parts.image, &parts.documents.beside, parts.earlier)?);
    Ok(base)
}

fn object<'a>(value: &'a mut Value, field: &str) -> Result<&'a mut Map<String, Value>, String> {
    let found = value.get_mut(field).and_then(Value::as_object_mut);
    found.ok_or_else(|| format!("the base has no {field}"))
}

/// What the image is built for, so that consoles offer it where it runs.
fn labels(project: &Project) -> Value {
    let architectures = project.architectures.iter().map(|architecture| format!("arch.{architecture}"));
    let built = architectures.chain(["os.linux".to_owned()]);
    built.map(|what| (format!("operatorframework.io/{what}"), json!("supported"))).collect::<Map<_, _>>().into()
}

fn annotations_of(parts: &Parts<'_>) -> [(String, Value); 4] {
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

fn install(parts: &Parts<'_>) -> Result<Value, String> {
    let deployment = &parts.documents.deployment;
    let mut spec = deployment.get("spec").cloned().ok_or("the Deployment has no spec")?;
    let containers = spec.pointer_mut("/template/spec/containers").and_then(Value::as_array_mut);
    let ours = containers.into_iter().flatten().find(|container| text(container, "/image") == PLACEHOLDER);
    let ours = ours.ok_or_else(|| format!("no container of the Deployment has the image {PLACEHOLDER}"))?;
    ours["image"] = json!(parts.image);
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

/// The CRDs as the base tells of them, with descriptors; each of ours once, and no other.
fn owned(base: &Value, crds: &[Value]) -> Result<Vec<Value>, String> {
    let told = base.pointer("/spec/customresourcedefinitions/owned").and_then(Value::as_array);
    let told = told.ok_or("the base names no CRDs")?;
    for one in told {
        let name = text(one, "/name");
        if !crds.iter().any(|crd| text(crd, "/metadata/name") == name) {
            return Err(format!("the base names {name}, which is no CRD of this project"));
        }
    }
    crds.iter().map(|crd| complete(told, crd)).collect::<Result<Vec<_>, _>>().map(|all| all.concat())
}

/// What the base tells of one CRD, once for each version that is served.
fn complete(told: &[Value], crd: &Value) -> Result<Vec<Value>, String> {
    let (name, kind) = (text(crd, "/metadata/name"), text(crd, "/spec/names/kind"));
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] == json!(true));
    served
        .map(|version| {
            let version_name = text(version, "/name");
            let found = told.iter().find(|one| text(one, "/name") == name && text(one, "/version") == version_name);
            let mut one = found.cloned().ok_or_else(|| format!("the base tells nothing of {name} {version_name}"))?;
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
