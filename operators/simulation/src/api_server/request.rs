//! A request to the API server, as kube's client and the actors of the world send it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::kinds::KindId;

/// A request about one kind.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// Who sends it: `manager-0`, `kubelet`, `user`.
    pub user: String,
    /// Of what kind.
    pub kind: KindId,
    /// In which namespace; `None` for all, and for kinds without.
    pub namespace: Option<String>,
    /// Of which object; `None` for the collection.
    pub name: Option<String>,
    /// Which part of the object.
    pub subresource: Option<Subresource>,
    /// What is to be done.
    pub verb: Verb,
    /// The owner of the fields that it changes: the parameter `fieldManager`, else the first part of the user agent.
    pub manager: String,
    /// The answer has metadata only.
    pub metadata_only: bool,
    /// When it was sent; `None` if it is performed at once.
    pub sent: Option<Timestamp>,
}

/// A part of an object with a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// `/status`
    Status,
    /// `/scale`
    Scale,
    /// `/eviction` of a pod
    Eviction,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List(ListOptions),
    /// Follow the changes of a collection.
    Watch(WatchOptions),
    /// Create an object; the body may lack its name if it has a `generateName`.
    Create {
        /// The object.
        body: Value,
        /// An unknown field is an error: `fieldValidation=Strict`.
        strict: bool,
    },
    /// Replace an object.
    Update {
        /// The object.
        body: Value,
    },
    /// Change an object.
    Patch(Patch),
    /// Delete an object.
    Delete(DeleteOptions),
}

/// How an object is to be changed.
#[derive(Clone, Debug)]
pub enum Patch {
    /// Server-side apply.
    Apply {
        /// The fields.
        body: Value,
        /// Take over fields of other managers.
        force: bool,
    },
    /// A merge patch (RFC 7386).
    Merge(Value),
    /// A JSON patch (RFC 6902).
    Json(Value),
}

/// Which objects of a collection.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The parameter `labelSelector`.
    pub labels: Option<String>,
    /// The parameter `fieldSelector`: of `metadata.name` and `metadata.namespace` only.
    pub fields: Option<String>,
    /// How many at most.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub after: Option<String>,
}

/// Which changes of a collection.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Of which objects.
    pub of: ListOptions,
    /// Since which version; `None` sends the present objects first, as added.
    pub since: Option<u64>,
    /// Bookmarks are wanted.
    pub bookmarks: bool,
    /// When the server ends the watch.
    pub timeout: Option<Duration>,
}

/// How an object is deleted.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Only an object with this uid.
    pub uid: Option<String>,
    /// Only an object of this version.
    pub version: Option<String>,
    /// What becomes of its dependents.
    pub propagation: Propagation,
    /// Seconds that a pod may take to end; `None` for the default.
    pub grace: Option<i64>,
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    #[default]
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without it as owner.
    Orphan,
}

/// The answer to a request that is no watch.
#[derive(Clone, Debug)]
pub struct Answer {
    /// 200 or 201.
    pub code: u16,
    /// The object, list or status.
    pub body: Arc<Value>,
}

/// The refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The status code of HTTP.
    pub code: u16,
    /// The reason of the status, such as `NotFound`.
    pub reason: &'static str,
    /// What is wrong, in the words of the real API server as far as the manager reads them.
    pub message: String,
    /// The causes: reason, field and message.
    pub causes: Vec<(&'static str, String, String)>,
}
