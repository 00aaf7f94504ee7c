//! A call of a sequence, and what it takes from the answers before it.

use std::collections::BTreeMap;
use std::fmt;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;

use super::reply::Reply;

/// Stands for the uid that the object of a call had in the last answer about it.
pub(super) const UID: &str = "{uid}";
/// Stands for its resourceVersion.
pub(super) const VERSION: &str = "{version}";
/// Stands for where the last page of a list ended. Without one, the parameter is left out.
pub(super) const CONTINUE: &str = "&continue={continue}";
/// A uid that no object has.
pub(super) const NO_UID: &str = "00000000-0000-4000-8000-000000000000";
/// A version that no object of a sequence has.
pub(super) const OLD_VERSION: &str = "1";

pub(super) const JSON: &str = "application/json";

/// A call to an API server.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method of HTTP.
    pub method: &'static str,
    /// The path and the parameters.
    pub path: String,
    /// The format of the body.
    pub content_type: Option<&'static str>,
    /// The wanted format of the answer.
    pub accept: &'static str,
    /// What is sent; null for no body.
    pub body: Value,
    /// The body is merged into the last complete answer about the object; into this if there was none.
    pub edits: Option<Value>,
    /// The path of the object that the call is about; `None` for lists.
    pub object: Option<String>,
    /// Controllers of a real cluster write to objects of this kind at any time.
    pub contended: bool,
}

/// What a server answered so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The last complete object, by path.
    objects: BTreeMap<String, Value>,
    /// The last uid and version, by path.
    identities: BTreeMap<String, (String, String)>,
    /// Where the last page ended.
    page: Option<String>,
}

impl Call {
    /// The request, with what it takes from answers.
    ///
    /// # Errors
    /// The path is none.
    pub fn render(&self, seen: &Seen) -> Result<Request<Vec<u8>>, http::Error> {
        let page = seen.page.as_deref().map(|page| format!("&continue={}", escaped(page))).unwrap_or_default();
        let request = Request::builder().method(self.method).uri(self.path.replace(CONTINUE, &page));
        let request = request.header(ACCEPT, self.accept);
        let Some(content_type) = self.content_type else { return request.body(Vec::new()) };
        request.header(CONTENT_TYPE, content_type).body(self.complete(seen).to_string().into_bytes())
    }

    fn complete(&self, seen: &Seen) -> Value {
        let object = self.object.as_deref().unwrap_or_default();
        let mut body = self.body.clone();
        if let Some(otherwise) = &self.edits {
            body = seen.objects.get(object).unwrap_or(otherwise).clone();
            json_patch::merge(&mut body, &self.body);
        }
        let unknown = (NO_UID.to_owned(), OLD_VERSION.to_owned());
        let (uid, version) = seen.identities.get(object).unwrap_or(&unknown);
        fill_in(&mut body, uid, version);
        body
    }

    /// A call that reads the object that this one is about.
    #[must_use]
    pub fn read(&self) -> Option<Self> {
        Some(Self {
            method: "GET",
            path: self.object.clone()?,
            content_type: None,
            accept: JSON,
            body: Value::Null,
            edits: None,
            ..self.clone()
        })
    }

    /// Whether a controller of the real cluster may have written between this call and the read that it was made from.
    #[must_use]
    pub fn may_have_lost_a_race(&self, real: &Reply, model: &Reply) -> bool {
        let of_a_version = self.edits.is_some() || self.body.to_string().contains(VERSION);
        self.contended && of_a_version && matches!(real.code, 409 | 422) && model.code != real.code
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.accept != JSON {
            write!(f, " (metadata only)")?;
        }
        let Some(content_type) = self.content_type else { return Ok(()) };
        let merged = if self.edits.is_some() { ", merged into the last answer" } else { "" };
        write!(f, " {} ({content_type}{merged})", self.body)
    }
}

impl Seen {
    /// Remembers an answer. Returns what became of the version of the object that it has, if any.
    pub fn note(&mut self, call: &Call, reply: &Reply) -> Option<&'static str> {
        let text = |pointer: &str| reply.body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let Some(object) = &call.object else {
            self.page = text("/metadata/continue").filter(|page| !page.is_empty());
            return None;
        };
        let (uid, version) = (text("/metadata/uid")?, text("/metadata/resourceVersion")?);
        let kind = text("/kind").unwrap_or_default();
        if !["PartialObjectMetadata", "Scale", "Status"].contains(&kind.as_str()) {
            self.objects.insert(object.clone(), reply.body.clone());
        }
        let now = (uid, version);
        let before = self.identities.insert(object.clone(), now.clone());
        match before {
            Some((uid, _)) if uid != now.0 => Some("another object"),
            None => Some("a new object"),
            Some(_) if call.contended => None,
            Some((_, version)) if version == now.1 => Some("the same version"),
            Some(_) => Some("another version"),
        }
    }
}

fn fill_in(value: &mut Value, uid: &str, version: &str) {
    match value {
        Value::String(text) if text == UID => uid.clone_into(text),
        Value::String(text) if text == VERSION => version.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in(item, uid, version)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill_in(field, uid, version)),
        _ => {}
    }
}

/// A text as the value of a parameter.
pub(super) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call() -> Call {
        Call {
            method: "PUT",
            path: "/objects/a".to_owned(),
            content_type: Some(JSON),
            accept: JSON,
            body: json!({ "spec": { "x": 2 } }),
            edits: Some(json!({ "kind": "None" })),
            object: Some("/objects/a".to_owned()),
            contended: false,
        }
    }

    fn reply(uid: &str, version: &str) -> Reply {
        let metadata = json!({ "uid": uid, "resourceVersion": version });
        Reply { code: 200, body: json!({ "kind": "Thing", "metadata": metadata, "spec": { "x": 1, "y": 1 } }) }
    }

    fn sent(call: &Call, seen: &Seen) -> Value {
        serde_json::from_slice(call.render(seen).unwrap().body()).unwrap()
    }

    #[test]
    fn an_edit_changes_the_last_complete_answer() {
        let mut seen = Seen::default();
        assert_eq!(sent(&call(), &seen), json!({ "kind": "None", "spec": { "x": 2 } }));
        seen.note(&call(), &reply("u", "7"));
        let mut partial = reply("u", "8");
        partial.body["kind"] = json!("PartialObjectMetadata");
        seen.note(&call(), &partial);
        let body = sent(&call(), &seen);
        assert_eq!((&body["spec"], &body["metadata"]["resourceVersion"]), (&json!({ "x": 2, "y": 1 }), &json!("7")));
        let of_a_version = Call { body: json!([VERSION, UID]), edits: None, ..call() };
        assert_eq!(sent(&of_a_version, &seen), json!(["8", "u"]));
    }

    #[test]
    fn what_became_of_a_version_is_told_unless_controllers_write() {
        let mut seen = Seen::default();
        let contended = Call { contended: true, ..call() };
        let mut note = |call: &Call, uid, version| seen.note(call, &reply(uid, version));
        assert_eq!(note(&call(), "u", "1"), Some("a new object"));
        assert_eq!(note(&call(), "u", "1"), Some("the same version"));
        assert_eq!(note(&call(), "u", "2"), Some("another version"));
        assert_eq!(note(&contended, "u", "3"), None);
        assert_eq!(note(&contended, "v", "4"), Some("another object"));
    }

    #[test]
    fn a_page_is_continued_where_the_last_one_ended() {
        let list = Call { path: format!("/objects?limit=1{CONTINUE}"), content_type: None, object: None, ..call() };
        let mut seen = Seen::default();
        assert_eq!(list.render(&seen).unwrap().uri(), "/objects?limit=1");
        seen.note(&list, &Reply { code: 200, body: json!({ "metadata": { "continue": "a/b=" } }) });
        assert_eq!(list.render(&seen).unwrap().uri(), "/objects?limit=1&continue=a%2Fb%3D");
    }

    #[test]
    fn only_a_refusal_by_the_real_server_of_a_contended_version_is_a_lost_race() {
        let reply = |code| Reply { code, body: Value::Null };
        let contended = Call { contended: true, ..call() };
        assert!(contended.may_have_lost_a_race(&reply(409), &reply(200)));
        assert!(!contended.may_have_lost_a_race(&reply(409), &reply(409)));
        assert!(!call().may_have_lost_a_race(&reply(409), &reply(200)));
        assert!(!Call { edits: None, ..contended }.may_have_lost_a_race(&reply(409), &reply(200)));
    }
}
