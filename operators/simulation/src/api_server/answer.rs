//! Responses in HTTP.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tower::BoxError;

use super::errors::{OBJECT_MODIFIED, PATCH_FAILED, conflict, internal};
use super::kinds::{Kind, Kinds};
use super::request::{ApiError, ApiRequest, Verb};

/// The body of a response: complete, or the stream of a watch.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// The message of the API server about a path that it does not know. It is no Status, but plain text.
pub(super) const PAGE_NOT_FOUND: &str = "404 page not found";

/// The error about a path that the API server does not know.
pub(super) fn page_not_found() -> ApiError {
    ApiError { code: 404, reason: "NotFound", message: PAGE_NOT_FOUND.to_owned(), causes: Vec::new() }
}

/// The object that a status is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestSubject {
    name: String,
    group: String,
    plural: String,
    kind: String,
}

impl RequestSubject {
    /// The object of a request.
    #[must_use]
    pub fn of(kinds: &Kinds, request: &ApiRequest) -> Self {
        let created = match &request.verb {
            Verb::Create { body, .. } => body["metadata"]["name"].as_str(),
            _ => None,
        };
        let name = request.name.as_deref().or(created).unwrap_or_default().to_owned();
        let text = |read: fn(&Kind) -> &String| kinds.get(request.kind).map(read).cloned().unwrap_or_default();
        Self { name, group: text(|kind| &kind.group), plural: text(|kind| &kind.plural), kind: text(|kind| &kind.kind) }
    }

    /// The resource in messages: `deployments.apps`.
    fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// The object `Status` of an error.
#[must_use]
pub fn status(error: &ApiError, subject: Option<&RequestSubject>) -> Value {
    let mut details = json!({});
    if let Some(subject) = subject.filter(|_| names_subject(error)) {
        // As the constructors of apimachinery/pkg/api/errors: the kind of an invalid object, else the resource.
        let kind = if error.code == 422 { &subject.kind } else { &subject.plural };
        for (field, text) in [("name", &subject.name), ("group", &subject.group), ("kind", kind)] {
            if !text.is_empty() {
                details[field] = json!(text);
            }
        }
    }
    if !error.causes.is_empty() {
        let cause = |(reason, field, message): &(&'static str, String, String)| {
            let mut cause = json!({ "message": message });
            for (name, text) in [("reason", *reason), ("field", field.as_str())] {
                if !text.is_empty() {
                    cause[name] = json!(text);
                }
            }
            cause
        };
        details["causes"] = error.causes.iter().map(cause).collect();
    }
    if error.code == 429 {
        details["retryAfterSeconds"] = json!(1);
    }
    let mut status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "code": error.code,
    });
    if !error.reason.is_empty() {
        status["reason"] = json!(error.reason);
        status["details"] = details;
    }
    status
}

/// The status of the error says which object it is about.
fn names_subject(error: &ApiError) -> bool {
    error.message != PATCH_FAILED && error.code != 500
}

/// The response about an error.
#[must_use]
pub fn failure(error: &ApiError, subject: Option<&RequestSubject>) -> Response<ResponseBody> {
    if error.message == PAGE_NOT_FOUND {
        return text(error.code, PAGE_NOT_FOUND);
    }
    let mut response = complete(error.code, &status(error, subject));
    if error.code == 429 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// A rejection that is no fault of the request.
#[must_use]
pub fn refusal(code: u16, subject: &RequestSubject) -> ApiError {
    let (reason, message) = match code {
        409 => return conflict(&subject.resource(), &subject.name, OBJECT_MODIFIED),
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        _ => return internal("etcdserver: request timed out"),
    };
    ApiError { code, reason, message: message.to_owned(), causes: Vec::new() }
}

/// A complete response with an object.
#[must_use]
pub fn complete(code: u16, body: &Value) -> Response<ResponseBody> {
    json_text(code, Bytes::from(body.to_string()))
}

/// A complete response with an object that is JSON already.
#[must_use]
pub fn json_text(code: u16, body: Bytes) -> Response<ResponseBody> {
    respond(code, "application/json", full(body))
}

/// A complete response with plain text.
#[must_use]
pub fn text(code: u16, text: &str) -> Response<ResponseBody> {
    respond(code, "text/plain; charset=utf-8", full(Bytes::from(text.to_owned())))
}

/// A response with that body.
pub(super) fn respond(code: u16, content_type: &'static str, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn full(text: Bytes) -> ResponseBody {
    Full::new(text).map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> RequestSubject {
        let text = str::to_owned;
        RequestSubject { name: text("web"), group: text("apps"), plural: text("deployments"), kind: text("Deployment") }
    }

    #[test]
    fn the_details_name_the_resource_or_the_kind_of_an_invalid_object() {
        let causes = vec![("FieldValueInvalid", "spec.x".to_owned(), "no".to_owned())];
        let error = ApiError { code: 422, reason: "Invalid", message: "is invalid".to_owned(), causes };
        let details = json!({
            "name": "web", "group": "apps", "kind": "Deployment",
            "causes": [{ "reason": "FieldValueInvalid", "field": "spec.x", "message": "no" }],
        });
        assert_eq!(status(&error, Some(&subject()))["details"], details);
        let missing = ApiError { code: 404, reason: "NotFound", message: "not found".to_owned(), causes: Vec::new() };
        assert_eq!(status(&missing, Some(&subject()))["details"]["kind"], "deployments");
        assert_eq!(status(&missing, Some(&subject()))["code"], 404);
    }

    #[test]
    fn some_details_name_nothing() {
        let patch = super::super::errors::patch_failed();
        assert_eq!(status(&patch, Some(&subject()))["details"], json!({}));
        let plain = status(&internal("broken"), Some(&subject()));
        assert_eq!((plain.get("reason"), plain.get("details")), (None, None));
    }

    #[test]
    fn kube_reads_a_status() {
        let read: kube::core::Status = serde_json::from_value(status(&refusal(429, &subject()), None)).unwrap();
        assert_eq!((read.code, &*read.reason), (429, "TooManyRequests"));
        assert_eq!(read.details.map(|details| details.retry_after_seconds), Some(1));
        let conflict = refusal(409, &subject()).message;
        assert!(conflict.starts_with("Operation cannot be fulfilled on deployments.apps \"web\": "), "{conflict}");
    }

    #[test]
    fn an_unknown_path_is_answered_in_plain_text() {
        let response = failure(&page_not_found(), None);
        assert_eq!(response.status(), 404);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
        let overloaded = failure(&refusal(429, &RequestSubject::default()), None);
        assert_eq!(overloaded.headers()[RETRY_AFTER], "1");
    }
}
