//! Pure: the messages for objects of `restartOn` whose content is not known.

use api::my_app::MyAppReason;
use api::{Reason, ReconcileReason};
use runtime::names::is_dns_subdomain;

use super::source::{Found, Source};
use crate::plan::Unread;

/// A reason and a message, where the user has to act.
pub(crate) fn failure(source: &Source, found: &Found) -> Option<(Reason, String)> {
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
                "restartOn: {source} cannot be read: the manager lacks permission to get {} in namespace {} ({why})",
                source.kind.plural(),
                source.namespace
            ),
        )),
        Found::Content(_) | Found::Unknown | Found::Awaited => None,
    }
}

/// The object, if the API server has not answered.
pub(crate) fn unread(source: &Source, found: &Found) -> Option<Unread> {
    let is_awaited = *found == Found::Awaited;
    (is_awaited || *found == Found::Unknown).then(|| Unread { source: source.to_string(), is_awaited })
}
