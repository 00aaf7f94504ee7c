//! Pure: the messages for objects of `restartOn` whose content is not known.

use api::my_app::MyAppReason;
use api::{Reason, ReconcileReason};
use runtime::names::is_dns_subdomain;

use super::source::{RestartSource, SourceState};
use crate::plan::UnreadSource;

/// A reason and a message, if the user has to act.
pub(crate) fn failure(source: &RestartSource, found: &SourceState) -> Option<(Reason, String)> {
    match found {
        SourceState::Missing if !is_dns_subdomain(&source.name) => Some((
            MyAppReason::RestartSourceMissing.into(),
            format!("restartOn: {source}: invalid name; use a DNS subdomain (a-z, 0-9, - and .)"),
        )),
        SourceState::Missing => Some((
            MyAppReason::RestartSourceMissing.into(),
            format!(
                "restartOn: {source} does not exist; create it, or set optional: true; the operator restarts the pods once it exists"
            ),
        )),
        SourceState::Forbidden(why) => Some((
            ReconcileReason::Forbidden.into(),
            format!(
                "restartOn: {source} cannot be read: the manager lacks permission to get {} in namespace {} ({why})",
                source.kind.plural(),
                source.namespace
            ),
        )),
        SourceState::Content(_) | SourceState::Unknown | SourceState::Awaited => None,
    }
}

/// The object, if the API server has not answered.
pub(crate) fn unread(source: &RestartSource, found: &SourceState) -> Option<UnreadSource> {
    let is_awaited = *found == SourceState::Awaited;
    (is_awaited || *found == SourceState::Unknown).then(|| UnreadSource { source: source.to_string(), is_awaited })
}
