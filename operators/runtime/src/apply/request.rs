//! The requests of writes. They ask for responses with metadata only: nothing else is read.

use api::ReconcileReason;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::Error;
use crate::plan::Delete;

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

type Raw = Request<Vec<u8>>;

/// A server-side apply; `force` takes fields that others own.
pub(crate) fn apply_request(path: &str, manager: &str, force: bool, body: &Value) -> Result<Raw, Error> {
    Request::patch(format!("{path}?fieldManager={manager}&force={force}"))
        .header(CONTENT_TYPE, "application/apply-patch+yaml")
        .header(ACCEPT, METADATA)
        .body(bytes(body)?)
        .map_err(unsendable)
}

/// A creation in the collection `path`; `manager` owns the fields with the operation Update.
pub(super) fn create_as(manager: &str, path: &str, body: &Value) -> Result<Raw, Error> {
    // As in an apply, an unknown field is an error. By default, the API server would drop it.
    create_request(&format!("{path}?fieldManager={manager}&fieldValidation=Strict"), body)
}

/// A plain creation in the collection `path`.
pub(crate) fn create_request(path: &str, body: &Value) -> Result<Raw, Error> {
    let request = Request::post(path).header(CONTENT_TYPE, "application/json").header(ACCEPT, METADATA);
    request.body(bytes(body)?).map_err(unsendable)
}

/// A merge patch of an object.
pub(crate) fn merge_request(path: &str, fields: &Value) -> Result<Raw, Error> {
    let request = Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json").header(ACCEPT, METADATA);
    request.body(bytes(fields)?).map_err(unsendable)
}

/// The same; `manager` owns what changes with the operation Update.
pub(super) fn merge_as(manager: &str, path: &str, fields: &Value) -> Result<Raw, Error> {
    merge_request(&format!("{path}?fieldManager={manager}"), fields)
}

/// A JSON patch of an object; `manager` owns what changes with the operation Update.
pub(super) fn json_patch_as(manager: &str, path: &str, steps: &Value) -> Result<Raw, Error> {
    let request = Request::patch(format!("{path}?fieldManager={manager}"));
    let request = request.header(CONTENT_TYPE, "application/json-patch+json").header(ACCEPT, METADATA);
    request.body(as_encoded_there(&steps.to_string()).into_bytes()).map_err(unsendable)
}

/// Escapes the characters that the API server's encoder escapes: a `test` step compares escaped texts byte by byte.
fn as_encoded_there(json: &str) -> String {
    const ESCAPED: [(char, &str); 5] =
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    ESCAPED.iter().fold(json.to_owned(), |json, (character, escape)| json.replace(*character, escape))
}

/// Reads a complete object.
pub(super) fn get(path: &str) -> Result<Raw, Error> {
    Request::get(path).header(ACCEPT, "application/json").body(Vec::new()).map_err(unsendable)
}

pub(super) fn get_metadata(path: &str) -> Result<Raw, Error> {
    Request::get(path).header(ACCEPT, METADATA).body(Vec::new()).map_err(unsendable)
}

/// A background deletion, with the preconditions uid and, if one is given, resourceVersion.
pub(super) fn delete(path: &str, delete: &Delete) -> Result<Raw, Error> {
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": { "uid": delete.uid }
    });
    if let Some(version) = delete.version {
        options["preconditions"]["resourceVersion"] = json!(version.to_string());
    }
    if delete.immediately {
        options["gracePeriodSeconds"] = json!(0);
    }
    Request::delete(path).header(CONTENT_TYPE, "application/json").body(bytes(&options)?).map_err(unsendable)
}

fn bytes(body: &Value) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(|error| Error::transient(ReconcileReason::Unsendable, error.to_string()))
}

fn unsendable(error: http::Error) -> Error {
    Error::transient(ReconcileReason::Unsendable, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_patch_is_written_as_the_api_server_would_write_it() {
        let steps = json!([{ "op": "test", "path": "/a", "value": "x && y > \"/z\" <\u{2028}" }]);
        let request = json_patch_as("us", "/p", &steps).unwrap();
        let body = String::from_utf8(request.body().clone()).unwrap();
        assert!(body.contains(r#""x \u0026\u0026 y \u003e \"/z\" \u003c\u2028""#), "{body}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), steps);
    }
}
