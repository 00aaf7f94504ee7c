//! What a request is to do.

use std::time::Duration;

use serde_json::Value;

use super::parameters::Parameters;
use super::strategic;
use crate::api_server::errors::unmodelled;
use crate::api_server::kinds::Kind;
use crate::api_server::request::{
    ApiError, DeleteOptions, ListOptions, Patch, Propagation, Subresource, Verb, WatchOptions,
};

/// What determines the verb, but for the parameters.
pub(super) struct Given<'a> {
    pub(super) method: &'a str,
    pub(super) content_type: Option<&'a str>,
    pub(super) body: &'a [u8],
    pub(super) kind: &'a Kind,
    pub(super) named: bool,
    pub(super) subresource: Option<Subresource>,
    /// The object, if it exists.
    pub(super) live: Option<&'a Value>,
}

/// A verb, and whether the body asks for a dry run.
pub(super) struct BodyVerb {
    pub(super) verb: Verb,
    pub(super) dry_run: bool,
}

impl Given<'_> {
    /// The verb.
    pub(super) fn verb(&self, parameters: &mut Parameters) -> Result<BodyVerb, ApiError> {
        let evicts = self.subresource == Some(Subresource::Eviction);
        let verb = match (self.method, self.named) {
            ("GET", true) if !evicts => {
                parameters.any_version()?;
                Verb::Get
            }
            ("GET", false) => collection(parameters)?,
            ("POST", named) if named == evicts => {
                Verb::Create { strict: strict(parameters)?, body: self.json("application/json")? }
            }
            ("PUT", true) if !evicts => {
                lenient(parameters)?;
                Verb::Update { body: self.json("application/json")? }
            }
            ("PATCH", true) if !evicts => Verb::Patch(self.patch(parameters)?),
            ("DELETE", true) if self.subresource.is_none() => return self.delete(),
            _ => return Err(unmodelled("the method")),
        };
        Ok(BodyVerb { verb, dry_run: false })
    }

    fn json(&self, content_type: &str) -> Result<Value, ApiError> {
        if self.content_type != Some(content_type) {
            return Err(unmodelled("the content type"));
        }
        json(self.body)
    }

    fn patch(&self, parameters: &mut Parameters) -> Result<Patch, ApiError> {
        lenient(parameters)?;
        let body = json(self.body)?;
        match self.content_type {
            Some("application/apply-patch+yaml") => Ok(Patch::Apply { body, force: parameters.flag("force")? }),
            Some("application/merge-patch+json") => Ok(Patch::Merge(body)),
            Some("application/json-patch+json") => Ok(Patch::Json(body)),
            Some("application/strategic-merge-patch+json") => {
                strategic::as_merge(self.kind, self.subresource, self.live, &body).map(Patch::Merge)
            }
            _ => Err(unmodelled("the content type")),
        }
    }

    fn delete(&self) -> Result<BodyVerb, ApiError> {
        let mut options = DeleteOptions { propagation: self.default_propagation(), ..DeleteOptions::default() };
        let mut dry_run = false;
        if self.body.is_empty() {
            return Ok(BodyVerb { verb: Verb::Delete(options), dry_run });
        }
        let body = self.json("application/json")?;
        let fields = body.as_object().ok_or_else(|| unmodelled("the options of a deletion"))?;
        for (field, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match (field.as_str(), value.as_str()) {
                ("apiVersion", Some("v1")) | ("kind", Some("DeleteOptions")) => {}
                ("propagationPolicy", Some("Background")) => options.propagation = Propagation::Background,
                ("propagationPolicy", Some("Foreground")) => options.propagation = Propagation::Foreground,
                ("propagationPolicy", Some("Orphan")) => options.propagation = Propagation::Orphan,
                ("gracePeriodSeconds", None) if value.is_i64() => options.grace = value.as_i64(),
                ("preconditions", None) => preconditions(value, &mut options)?,
                ("dryRun", None) => dry_run = is_dry_run(value)?,
                _ => return Err(unmodelled(format!("the option {field}: {value} of a deletion"))),
            }
        }
        Ok(BodyVerb { verb: Verb::Delete(options), dry_run })
    }

    /// Jobs leave their pods behind unless the request says otherwise. (kubernetes: pkg/registry/batch/job/strategy.go)
    fn default_propagation(&self) -> Propagation {
        let is_job = self.kind.group == "batch" && self.kind.plural == "jobs";
        if is_job { Propagation::Orphan } else { Propagation::Background }
    }
}

fn preconditions(value: &Value, options: &mut DeleteOptions) -> Result<(), ApiError> {
    let unknown = || unmodelled(format!("the preconditions {value} of a deletion"));
    for (field, value) in value.as_object().ok_or_else(unknown)?.iter().filter(|(_, value)| !value.is_null()) {
        let text = value.as_str().ok_or_else(unknown)?.to_owned();
        match field.as_str() {
            "uid" => options.uid = Some(text),
            "resourceVersion" => options.version = Some(text),
            _ => return Err(unknown()),
        }
    }
    Ok(())
}

fn is_dry_run(value: &Value) -> Result<bool, ApiError> {
    match value.as_array().map(Vec::as_slice) {
        Some([]) => Ok(false),
        Some([Value::String(all)]) if all == "All" => Ok(true),
        _ => Err(unmodelled(format!("dryRun: {value}"))),
    }
}

/// Whether an unknown field is an error.
fn strict(parameters: &mut Parameters) -> Result<bool, ApiError> {
    match parameters.take("fieldValidation").as_deref() {
        None | Some("" | "Warn" | "Ignore") => Ok(false),
        Some("Strict") => Ok(true),
        Some(other) => Err(unmodelled(format!("fieldValidation={other}"))),
    }
}

/// Strict validation is modelled for creations only.
fn lenient(parameters: &mut Parameters) -> Result<(), ApiError> {
    if strict(parameters)? { Err(unmodelled("strict validation of a change")) } else { Ok(()) }
}

/// A list or a watch.
fn collection(parameters: &mut Parameters) -> Result<Verb, ApiError> {
    let watch = parameters.flag("watch")?;
    let mut of = ListOptions {
        labels: parameters.take("labelSelector").filter(|text| !text.is_empty()),
        fields: parameters.take("fieldSelector").filter(|text| !text.is_empty()),
        ..ListOptions::default()
    };
    if watch {
        return Ok(Verb::Watch(WatchOptions {
            of,
            // 0 is any version: the present objects come first, as without one.
            since: parameters.number("resourceVersion")?.filter(|version| *version > 0),
            bookmarks: parameters.flag("allowWatchBookmarks")?,
            timeout: parameters.number("timeoutSeconds")?.map(Duration::from_secs),
        }));
    }
    parameters.any_version()?;
    let limit = parameters.number("limit")?.filter(|limit| *limit > 0);
    of.limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    of.after = parameters.take("continue").filter(|token| !token.is_empty());
    Ok(Verb::List(of))
}

/// The JSON of a body.
fn json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| unmodelled(format!("a body that is no JSON: {error}")))
}
