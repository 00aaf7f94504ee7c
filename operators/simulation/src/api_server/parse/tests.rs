use std::time::Duration;

use http::Request;
use serde_json::{Value, json};

use super::*;
use crate::api_server::kinds::Kinds;
use crate::api_server::request::{DeleteOptions, Patch, Propagation, Subresource, Verb};

/// The names and values of headers.
type Headers<'a> = &'a [(&'a str, &'a str)];

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

fn parse(method: &str, target: &str, headers: Headers<'_>, body: &Value) -> Result<Parsed, ApiError> {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    HttpRequest::new("manager-0", &parts, body).parse(&StoredState::new(Kinds::all()))
}

fn objects(method: &str, target: &str, content_type: &str, body: &Value) -> ApiRequest {
    match parse(method, target, &[("content-type", content_type)], body) {
        Ok(Parsed::Objects(request)) => request,
        other => panic!("{method} {target}: {other:?}"),
    }
}

fn get(target: &str) -> ApiRequest {
    objects("GET", target, "application/json", &Value::Null)
}

fn plural(request: &ApiRequest) -> String {
    Kinds::all().get(request.kind).unwrap().plural.clone()
}

#[test]
fn a_path_names_an_object_a_collection_or_a_namespace() {
    let request = get("/apis/apps/v1/namespaces/n/deployments/web");
    assert_eq!(
        (&*plural(&request), request.namespace.as_deref(), request.name.as_deref()),
        ("deployments", Some("n"), Some("web"))
    );
    assert!(matches!(request.verb, Verb::Get));
    let request = get("/apis/apps/v1/deployments?limit=100");
    assert_eq!((request.namespace, request.name), (None, None));
    assert!(matches!(request.verb, Verb::List(of) if of.limit == Some(100)));
    for (target, name) in [("/api/v1/namespaces", None), ("/api/v1/namespaces/n", Some("n"))] {
        let request = get(target);
        assert_eq!((&*plural(&request), request.namespace, request.name.as_deref()), ("namespaces", None, name));
    }
    let request = get("/api/v1/namespaces/n/pods?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&continue=t");
    assert!(matches!(&request.verb, Verb::List(of) if of.labels.as_deref() == Some("a=b")
        && of.fields.as_deref() == Some("metadata.name=x") && of.after.as_deref() == Some("t")));
    assert_eq!(plural(&request), "pods");
}

#[test]
fn a_watch_has_the_options_that_kube_sends() {
    let request = get("/api/v1/pods?&watch=true&timeoutSeconds=45&allowWatchBookmarks=true&resourceVersion=7");
    let Verb::Watch(options) = request.verb else { panic!("{:?}", request.verb) };
    assert_eq!((options.since, options.bookmarks, options.timeout), (Some(7), true, Some(Duration::from_secs(45))));
    let request = get("/api/v1/pods?watch=1&resourceVersion=0");
    assert!(matches!(request.verb, Verb::Watch(options) if options.since.is_none() && !options.bookmarks));
}

#[test]
fn the_content_type_determines_the_patch() {
    let (target, body) = ("/apis/apps/v1/namespaces/n/deployments/web", json!({ "spec": {} }));
    let forced =
        objects("PATCH", &format!("{target}?fieldManager=me&force=true"), "application/apply-patch+yaml", &body);
    assert!(matches!(forced.verb, Verb::Patch(Patch::Apply { force: true, .. })));
    assert_eq!(forced.manager, "me");
    let merged = objects("PATCH", target, "application/merge-patch+json", &body);
    assert!(matches!(merged.verb, Verb::Patch(Patch::Merge(_))));
    assert_eq!(merged.manager, "multi-operator");
    assert!(matches!(objects("PATCH", target, "application/json-patch+json", &body).verb, Verb::Patch(Patch::Json(_))));
    let status = objects("PATCH", &format!("{target}/status"), "application/merge-patch+json", &body);
    assert_eq!(status.subresource, Some(Subresource::Status));
}

#[test]
fn a_creation_may_be_strict_and_may_be_a_dry_run() {
    let target = "/api/v1/namespaces/n/pods";
    let strict = objects("POST", &format!("{target}?fieldValidation=Strict"), "application/json", &json!({}));
    assert!(matches!(strict.verb, Verb::Create { strict: true, .. }));
    let headers = [("content-type", "application/json"), ("accept", METADATA)];
    let dry_run = parse("POST", &format!("{target}?dryRun=All"), &headers, &json!({}));
    assert!(matches!(dry_run, Ok(Parsed::DryRun(request)) if request.metadata_only));
}

#[test]
fn the_options_of_a_deletion_are_read() {
    let delete = |target: &str, body: &Value| match objects("DELETE", target, "application/json", body).verb {
        Verb::Delete(options) => options,
        other => panic!("{other:?}"),
    };
    let body = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground", "gracePeriodSeconds": 0,
        "preconditions": { "uid": "u", "resourceVersion": "7" }, "dryRun": null,
    });
    let DeleteOptions { uid, version, propagation, grace } = delete("/api/v1/namespaces/n/pods/a", &body);
    assert_eq!((uid.as_deref(), version.as_deref(), grace), (Some("u"), Some("7"), Some(0)));
    assert_eq!(propagation, Propagation::Foreground);
    assert_eq!(delete("/api/v1/namespaces/n/pods/a", &Value::Null).propagation, Propagation::Background);
    assert_eq!(delete("/apis/batch/v1/namespaces/n/jobs/a", &json!({})).propagation, Propagation::Orphan);
}

#[test]
fn a_strategic_merge_patch_merges_the_conditions_of_a_pod() {
    let (target, condition) = ("/api/v1/namespaces/n/pods/a/status", json!({ "type": "Watching", "status": "True" }));
    let body = json!({ "status": { "conditions": [condition] } });
    let request = objects("PATCH", target, "application/strategic-merge-patch+json", &body);
    assert!(matches!(request.verb, Verb::Patch(Patch::Merge(patch)) if patch == body));
    let headers = [("content-type", "application/strategic-merge-patch+json")];
    for body in
        [json!({ "status": { "phase": "x" } }), json!({ "status": { "conditions": [{ "$patch": "replace" }] } })]
    {
        assert!(parse("PATCH", target, &headers, &body).is_err(), "{body}");
    }
    let kinds = Kinds::all();
    let pods = kinds.get(kinds.find("", "v1", "pods").unwrap()).unwrap();
    let watching = json!({ "type": "Watching", "status": "False", "reason": "R" });
    let live = json!({ "status": { "conditions": [{ "type": "Ready" }, watching] } });
    let merged = strategic::as_merge(pods, Some(Subresource::Status), Some(&live), &body).unwrap();
    let conditions = json!([{ "type": "Ready" }, { "type": "Watching", "status": "True", "reason": "R" }]);
    assert_eq!(merged, json!({ "status": { "conditions": conditions } }));
}

#[test]
fn a_kind_that_is_not_installed_is_an_unknown_path() {
    let error = parse("GET", "/apis/gateway.networking.k8s.io/v1/httproutes", &[], &Value::Null).unwrap_err();
    assert_eq!((error.code, &*error.message), (404, "404 page not found"));
}

#[test]
fn what_the_model_lacks_is_an_error_that_contains_the_request() {
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let table = [("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")];
    let lacking: &[(&str, &str, Headers<'_>)] = &[
        ("GET", "/api/v1/namespaces/n/pods/a/log?container=x", &[]),
        ("GET", "/api/v1/namespaces/n/pods/a?watch=true", &[]),
        ("GET", "/api/v1/namespaces/n/pods?resourceVersion=5", &[]),
        ("GET", "/api/v1/namespaces/n/pods?watch=true&sendInitialEvents=true", &[]),
        ("GET", "/api/v1/pods/a", &[]),
        ("GET", "/api/v1/nodes", &table),
        ("GET", "/apis/unheard.of/v1/things", &[]),
        ("GET", "/readyz?verbose", &[]),
        ("POST", "/version", &[]),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", &[("content-type", "application/json")]),
        ("POST", "/api/v1/namespaces/n/pods", &[]),
        ("DELETE", "/api/v1/namespaces/n/pods", &[]),
        ("PATCH", "/apis/apps/v1/namespaces/n/deployments/web", &strategic),
        ("HEAD", "/api/v1/namespaces/n/pods", &[]),
    ];
    for (method, target, headers) in lacking {
        let error = parse(method, target, headers, &json!({})).expect_err(target);
        assert_eq!(error.code, 501, "{method} {target}: {}", error.message);
        assert!(error.message.contains(target) && error.message.contains(method), "{}", error.message);
    }
}
