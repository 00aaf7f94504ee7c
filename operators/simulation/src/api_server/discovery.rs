//! The pages of the API server about itself: its health, its version, the kinds that it serves, and their schemas.
//!
//! OpenAPI has the custom kinds only, as the manager reads no other.

use http::Response;
use hyper::body::Bytes;
use serde_json::{Map, Value, json};

use super::answer::{ResponseBody, json_text, page_not_found, text};
use super::errors::unmodelled;
use super::kinds::{Kind, Kinds};
use super::pages::Page;
use super::request::ApiError;

/// What can be done with objects of each kind.
const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The response with that page.
///
/// # Errors
/// With the code 404 if no kind of the group and version is served, and with the code 501 for schemas of built-in kinds.
pub fn answer(page: &Page, kinds: &Kinds) -> Result<Response<ResponseBody>, ApiError> {
    if *page == Page::Health {
        return Ok(text(200, "ok"));
    }
    let known = kinds.pages().get(page);
    let content = match known {
        Some(content) => content,
        None => kinds.pages().keep(page, Bytes::from(content(page, kinds)?.to_string())),
    };
    Ok(json_text(200, content))
}

/// What a page contains that is JSON.
fn content(page: &Page, kinds: &Kinds) -> Result<Value, ApiError> {
    match page {
        Page::Health => Ok(Value::Null),
        Page::Version => Ok(version()),
        Page::Resources { group, version } => {
            let served = served(kinds, group, version)?;
            Ok(resources(group, version, &served))
        }
        Page::OpenApi { group, version } => {
            let served = served(kinds, group, version)?;
            let schemas: Vec<_> = served.iter().filter_map(|kind| Some((*kind, kind.schema.as_ref()?))).collect();
            if schemas.is_empty() {
                return Err(unmodelled(format!("OpenAPI of the built-in group {group}")));
            }
            Ok(open_api(&schemas))
        }
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "33", "gitVersion": "v1.33.0", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2025-04-23T00:00:00Z", "goVersion": "go1.24.2", "compiler": "gc", "platform": "linux/amd64",
    })
}

fn served<'a>(kinds: &'a Kinds, group: &str, version: &str) -> Result<Vec<&'a Kind>, ApiError> {
    let all = kinds.iter().map(|(_, kind)| kind);
    let served: Vec<_> = all.filter(|kind| kind.group == group && kind.version == version).collect();
    if served.is_empty() { Err(page_not_found()) } else { Ok(served) }
}

/// The list of kinds, with their subresources.
fn resources(group: &str, version: &str, served: &[&Kind]) -> Value {
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut resources = Vec::new();
    for kind in served {
        resources.push(json!({
            "name": kind.plural, "singularName": kind.kind.to_lowercase(), "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": VERBS,
        }));
        if kind.status {
            resources.push(json!({
                "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                "kind": kind.kind, "verbs": ["get", "patch", "update"],
            }));
        }
        if kind.scale {
            resources.push(json!({
                "name": format!("{}/scale", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
            }));
        }
    }
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources })
}

/// The document with the paths and schemas of custom kinds.
/// (kubernetes: apiextensions-apiserver/pkg/controller/openapi/builder)
fn open_api(kinds: &[(&Kind, &Value)]) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for (kind, schema) in kinds {
        let base = format!("/apis/{}/{}", kind.group, kind.version);
        let place = if kind.namespaced { format!("{base}/namespaces/{{namespace}}") } else { base.clone() };
        let one = format!("{place}/{}/{{name}}", kind.plural);
        let mut served = vec![format!("{base}/{}", kind.plural), format!("{place}/{}", kind.plural), one.clone()];
        served.extend(kind.status.then(|| format!("{one}/status")));
        served.extend(kind.scale.then(|| format!("{one}/scale")));
        paths.extend(served.into_iter().map(|path| (path, json!({}))));
        let reversed = kind.group.split('.').rev().collect::<Vec<_>>().join(".");
        schemas.insert(format!("{reversed}.{}.{}", kind.version, kind.kind), published(kind, schema));
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes CRD Swagger", "version": "v0.1.0" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// The schema of a kind as it is published: with the fields that all objects have.
fn published(kind: &Kind, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let metadata =
        json!({ "allOf": [{ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] });
    schema["properties"]["apiVersion"] = json!({ "type": "string" });
    schema["properties"]["kind"] = json!({ "type": "string" });
    schema["properties"]["metadata"] = metadata;
    schema["x-kubernetes-group-version-kind"] =
        json!([{ "group": kind.group, "version": kind.version, "kind": kind.kind }]);
    schema
}

#[cfg(test)]
mod tests;
