//! Reads requests of HTTP. What the model lacks, be it a path, a parameter, a header or an option, is an error: nothing is
//! ignored.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, USER_AGENT};
use http::request::Parts;
use hyper::body::Bytes;
use jiff::Timestamp;

use super::errors::{UNMODELLED, unmodelled};
use super::pages::Page;
use super::request::{ApiError, ApiRequest};
use super::state::StoredState;
use parameters::Parameters;
use path::Route;
use verb::Given;

mod parameters;
mod path;
mod strategic;
mod verb;

/// The owner of fields whose request names none: the real client has this user agent, which `with_service` does not add.
const USER_AGENT_OF_MANAGER: &str = "multi-operator";

/// A request as it comes from a client.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Who sends it.
    pub user: String,
    method: String,
    path: String,
    query: String,
    accept: Option<String>,
    content_type: Option<String>,
    user_agent: Option<String>,
    body: Bytes,
    sent: Timestamp,
}

/// What a request asks for.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Something about objects.
    Objects(ApiRequest),
    /// What such a request would do: nothing is stored.
    DryRun(ApiRequest),
    /// A page about the API server itself.
    Page(Page),
}

impl HttpRequest {
    /// The request of `user` with these parts, which is sent now.
    #[must_use]
    pub fn new(user: &str, parts: &Parts, body: Bytes) -> Self {
        let header = |name: HeaderName| {
            let value = parts.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Self {
            user: user.to_owned(),
            method: parts.method.as_str().to_owned(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            accept: header(ACCEPT),
            content_type: header(CONTENT_TYPE),
            user_agent: header(USER_AGENT),
            body,
            sent: runtime::clock::now(),
        }
    }

    /// Whether it changes an object that exists.
    #[must_use]
    pub fn changes_object(&self) -> bool {
        matches!(self.method.as_str(), "PUT" | "PATCH")
    }

    /// The request in messages.
    #[must_use]
    pub fn description(&self) -> String {
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        let content_type = self.content_type.as_deref().unwrap_or("no content type");
        format!("{} {}{query} ({content_type}) of {}", self.method, self.path, self.user)
    }

    /// What it asks for.
    ///
    /// # Errors
    /// With the code 501 if the model lacks something that it asks for, and with the code 404 if it is about a kind that is not
    /// served.
    pub fn parse(&self, state: &StoredState) -> Result<Parsed, ApiError> {
        self.parsed(state).map_err(|mut error| {
            if error.code == UNMODELLED {
                error.message = format!("{}: {}", self.description(), error.message);
            }
            error
        })
    }

    fn parsed(&self, state: &StoredState) -> Result<Parsed, ApiError> {
        let mut parameters = Parameters::of(&self.query)?;
        let place = match path::route(&self.path, state.kinds())? {
            Route::Page(page) => {
                parameters.finish()?;
                return if self.method == "GET" { Ok(Parsed::Page(page)) } else { Err(unmodelled("the method")) };
            }
            Route::Objects(place) => place,
        };
        let kind = state.kinds().get(place.kind).ok_or_else(|| unmodelled("the kind"))?;
        let live = || {
            let namespace = place.namespace.as_deref().unwrap_or_default();
            state.get(place.kind, namespace, place.name.as_deref()?)
        };
        let given = Given {
            method: &self.method,
            content_type: self.content_type(),
            body: &self.body,
            kind,
            named: place.name.is_some(),
            subresource: place.subresource,
            live: live().map(|live| &**live),
        };
        let verb = given.verb(&mut parameters)?;
        let manager = parameters.take("fieldManager").filter(|manager| !manager.is_empty());
        let dry_run = parameters.dry_run()? || verb.dry_run;
        parameters.finish()?;
        let request = ApiRequest {
            user: self.user.clone(),
            kind: place.kind,
            namespace: place.namespace,
            name: place.name,
            subresource: place.subresource,
            verb: verb.verb,
            manager: manager.unwrap_or_else(|| self.agent()),
            metadata_only: self.metadata_only()?,
            sent: Some(self.sent),
        };
        Ok(if dry_run { Parsed::DryRun(request) } else { Parsed::Objects(request) })
    }

    fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()?.split(';').next().map(str::trim)
    }

    fn agent(&self) -> String {
        let agent = self.user_agent.as_deref().and_then(|agent| agent.split('/').next());
        agent.filter(|agent| !agent.is_empty()).unwrap_or(USER_AGENT_OF_MANAGER).to_owned()
    }

    /// Whether the first media type that the client accepts is the one of metadata.
    fn metadata_only(&self) -> Result<bool, ApiError> {
        let Some(first) = self.accept.as_deref().and_then(|accept| accept.split(',').next()) else { return Ok(false) };
        let parts: Vec<&str> = first.split(';').map(str::trim).collect();
        match parts.as_slice() {
            ["application/json" | "*/*"] => Ok(false),
            [
                "application/json",
                "as=PartialObjectMetadata" | "as=PartialObjectMetadataList",
                "g=meta.k8s.io",
                "v=v1",
            ] => Ok(true),
            _ => Err(unmodelled(format!("the header Accept: {first}"))),
        }
    }
}

#[cfg(test)]
mod tests;
