//! Paths.

use super::parameters::decoded;
use crate::api_server::answer::page_not_found;
use crate::api_server::errors::{not_served, unmodelled};
use crate::api_server::kinds::{Kind, KindId, Kinds};
use crate::api_server::pages::Page;
use crate::api_server::request::{ApiError, Subresource};

/// Groups that may be missing in a cluster: as long as none of their kinds is served, their paths are unknown.
const OPTIONAL_GROUPS: &[&str] = &["gateway.networking.k8s.io"];

/// Where a path leads.
pub(super) enum Route {
    /// To a page about the API server.
    Page(Page),
    /// To objects.
    Objects(Place),
}

/// The object or collection of a path.
pub(super) struct Place {
    pub(super) kind: KindId,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<Subresource>,
}

/// Where `path` leads.
pub(super) fn route(path: &str, kinds: &Kinds) -> Result<Route, ApiError> {
    let segments = path.trim_start_matches('/').split('/').map(|segment| decoded(segment, false));
    let segments = segments.collect::<Result<Vec<_>, _>>()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let page = |page| Ok(Route::Page(page));
    let text = |text: &str| text.to_owned();
    match segments.as_slice() {
        ["readyz" | "livez" | "healthz"] => page(Page::Health),
        ["version"] => page(Page::Version),
        ["openapi", "v3", "apis", group, version] => page(Page::OpenApi { group: text(group), version: text(version) }),
        ["api", "v1"] => page(Page::Resources { group: String::new(), version: text("v1") }),
        ["apis", group, version] => page(Page::Resources { group: text(group), version: text(version) }),
        ["api", "v1", rest @ ..] => objects("", "v1", rest, kinds).map(Route::Objects),
        ["apis", group, version, rest @ ..] => objects(group, version, rest, kinds).map(Route::Objects),
        _ => Err(unmodelled("the path")),
    }
}

fn objects(group: &str, version: &str, path: &[&str], kinds: &Kinds) -> Result<Place, ApiError> {
    let (namespace, path) = match path {
        // A namespace is an object of its own, and the prefix of others.
        ["namespaces", _, "status" | "finalize"] if group.is_empty() => (None, path),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        _ => (None, path),
    };
    let (plural, rest) = path.split_first().ok_or_else(|| unmodelled("the path"))?;
    let found = kinds.find(group, version, plural).and_then(|id| Some((id, kinds.get(id)?)));
    let (id, kind) = found.ok_or_else(|| unknown(group, kinds))?;
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some((*name).to_owned()), None),
        [name, part] => (Some((*name).to_owned()), Some(subresource(kind, part)?)),
        _ => return Err(unmodelled("the path")),
    };
    let fits = if kind.namespaced { namespace.is_some() || name.is_none() } else { namespace.is_none() };
    if fits { Ok(Place { kind: id, namespace, name, subresource }) } else { Err(unmodelled("the scope of the kind")) }
}

/// The error about a kind that is not served. The model serves fewer kinds than a cluster, so most are an omission.
fn unknown(group: &str, kinds: &Kinds) -> ApiError {
    let mut served = kinds.iter().map(|(_, kind)| kind);
    let is_missing = OPTIONAL_GROUPS.contains(&group) && !served.any(|kind| kind.group == group);
    if is_missing { page_not_found() } else { unmodelled("the kind") }
}

fn subresource(kind: &Kind, part: &str) -> Result<Subresource, ApiError> {
    match part {
        "status" if kind.status => Ok(Subresource::Status),
        "scale" if kind.scale => Ok(Subresource::Scale),
        "eviction" if kind.group.is_empty() && kind.plural == "pods" => Ok(Subresource::Eviction),
        "status" | "scale" if kind.schema.is_some() => Err(not_served()),
        _ => Err(unmodelled(format!("the subresource {part}"))),
    }
}
