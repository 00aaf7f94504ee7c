//! A request, with what is known of its kind.

use jiff::Timestamp;

use crate::api_server::errors::{not_found, unmodelled};
use crate::api_server::kinds::{Kind, KindId, ScalePaths};
use crate::api_server::managers::Writer;
use crate::api_server::request::{ApiError, ApiRequest, Subresource};
use crate::api_server::state::ObjectKey;

/// A request that is performed.
pub(crate) struct VerbCall<'a> {
    pub(crate) request: &'a ApiRequest,
    pub(crate) kind: &'a Kind,
    pub(crate) scale: Option<&'a ScalePaths>,
    pub(crate) now: Timestamp,
    api_version: String,
}

impl<'a> VerbCall<'a> {
    pub(crate) fn new(request: &'a ApiRequest, kind: &'a Kind, scale: Option<&'a ScalePaths>, now: Timestamp) -> Self {
        Self { request, kind, scale, now, api_version: kind.api_version() }
    }

    /// The number of its kind.
    pub(crate) fn id(&self) -> KindId {
        self.request.kind
    }

    /// Its group and version.
    pub(crate) fn api_version(&self) -> &str {
        &self.api_version
    }

    /// Its namespace; empty for kinds without.
    pub(crate) fn namespace(&self) -> &str {
        self.request.namespace.as_deref().unwrap_or_default()
    }

    /// The object that it is about.
    pub(crate) fn key(&self) -> Result<ObjectKey, ApiError> {
        let name = self.request.name.as_deref().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| unmodelled("this verb for a whole collection"))?;
        Ok((self.namespace().to_owned(), name.to_owned()))
    }

    /// The refusal that there is no such object.
    pub(crate) fn not_found(&self, key: &ObjectKey) -> ApiError {
        not_found(self.kind, &key.1)
    }

    /// The owner of what it changes.
    pub(crate) fn writer(&self) -> Writer<'_> {
        let subresource = self.request.subresource.map(|subresource| match subresource {
            Subresource::Status => "status",
            Subresource::Scale => "scale",
            Subresource::Eviction => "eviction",
        });
        Writer { manager: &self.request.manager, subresource, api_version: &self.api_version, now: self.now }
    }

    /// It is about the part of the object that its subresource `status` holds.
    pub(crate) fn is_about_status(&self) -> bool {
        self.request.subresource == Some(Subresource::Status)
    }

    /// Its time as the API server writes it: in whole seconds.
    pub(crate) fn second(&self) -> Timestamp {
        whole_second(self.now)
    }
}

/// A time without the part of its second.
pub(crate) fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
