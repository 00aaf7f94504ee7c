//! What is said of an object of `restartOn` whose content is not known. Pure.

use api::my_app::MyAppReason;
use api::{Reason, ReconcileReason};
use runtime::plan::names::is_dns_subdomain;

use super::source::{Found, Source};
use crate::plan::Unread;

/// What a person is told of it.
pub(super) fn trouble(source: &Source, found: &Found) -> Option<(Reason, String)> {
    match found {
        Found::Missing if !is_dns_subdomain(&source.name) => Some((
            MyAppReason::RestartSourceMissing.into(),
            format!("restartOn: {source}: invalid name; use a DNS subdomain (a-z, 0-9, - and .)"),
        )),
        Found::Missing => Some((
            MyAppReason::RestartSourceMissing.into(),
            format!(
                "restartOn: {source} does not exist; create it, or set optional: true; the operator restarts the pods once it exists"
            ),
        )),
        Found::Forbidden(why) => Some((
            ReconcileReason::Forbidden.into(),
            format!(
                "restartOn: {source} cannot be read: the manager lacks the right to get {} in namespace {} ({why})",
                source.kind.plural(),
                source.namespace
            ),
        )),
        Found::Content(_) | Found::Unknown | Found::Awaited => None,
    }
}

/// That nothing is known of it.
pub(super) fn unread(source: &Source, found: &Found) -> Option<Unread> {
    let is_awaited = *found == Found::Awaited;
    (is_awaited || *found == Found::Unknown).then(|| Unread { source: source.to_string(), is_awaited })
}
