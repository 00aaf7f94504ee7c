//! Performs requests, and records those that write.

use jiff::Timestamp;
use serde_json::Value;

use super::perform;
use crate::api_server::errors::UNMODELLED;
use crate::api_server::request::{Answer, ApiError, ApiRequest, Patch, Verb};
use crate::api_server::state::{AuditEntry, ObjectKey, StoredState};

impl StoredState {
    /// Performs a request, at once. A watch is none of them.
    ///
    /// # Errors
    /// The refusal. What the model lacks is noted. ([`Self::unmodelled`])
    pub fn perform(&mut self, request: &ApiRequest, now: Timestamp) -> Result<Answer, ApiError> {
        let before = self.version();
        let kinds = self.shared_kinds();
        let result = perform(self, &kinds, request, now).map_err(|mut error| {
            if error.code == UNMODELLED {
                error.message = format!("{}: {request:?}", error.message);
                self.note_unmodelled(error.message.clone());
            }
            error
        });
        if let Some(verb) = write(&request.verb) {
            let code = result.as_ref().map_or_else(|error| error.code, |answer| answer.code);
            let key = audited_key(request, result.as_ref().ok());
            let (user, subresource) = (request.user.clone(), request.subresource);
            let changed = self.version() != before;
            let after = self.get(request.kind, &key.0, &key.1).cloned();
            let kind = request.kind;
            let sent = request.sent.unwrap_or(now);
            self.record_write(AuditEntry { now, sent, user, verb, kind, key, subresource, code, changed, after });
        }
        result
    }
}

/// The name of a verb that writes.
fn write(verb: &Verb) -> Option<&'static str> {
    match verb {
        Verb::Get | Verb::List(_) | Verb::Watch(_) => None,
        Verb::Create { .. } => Some("create"),
        Verb::Update { .. } => Some("update"),
        Verb::Patch(Patch::Apply { .. }) => Some("apply"),
        Verb::Patch(_) => Some("patch"),
        Verb::Delete(_) => Some("delete"),
    }
}

/// The object of a request; if that creates one, it may have its name from the answer only.
fn audited_key(request: &ApiRequest, answer: Option<&Answer>) -> ObjectKey {
    let in_body = |body: &Value| body.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    let sent = || match &request.verb {
        Verb::Create { body, .. } => in_body(body),
        _ => None,
    };
    let name = request.name.clone().or_else(|| answer.and_then(|answer| in_body(&answer.body))).or_else(sent);
    (request.namespace.clone().unwrap_or_default(), name.unwrap_or_default())
}
