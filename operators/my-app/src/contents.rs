//! Reads the objects whose content restarts pods, and combines the results.

use std::time::Duration;

use futures::future::join_all;
use runtime::names::is_dns_subdomain;
use sha2::{Digest, Sha256};

use crate::MyApp;
use crate::plan::{RestartContents, UnreadSource};
use crate::queries::Queries;
use crate::sources::{READ_INTERVAL, RestartSource, SourceState, failure, sources, unread};

/// What is known of the objects that `spec.restartOn` of `app` names.
pub(crate) async fn query(app: &MyApp, queries: &impl Queries) -> RestartContents {
    let mut contents = RestartContents::default();
    let (mut sum, mut is_complete) = (Sha256::new(), true);
    let sources = sources(app);
    let states = join_all(sources.keys().map(|source| state(source, queries))).await;
    for ((source, optional), (state, due)) in sources.into_iter().zip(states) {
        contents.due = Some(contents.due.map_or(due, |sooner| sooner.min(due)));
        sum.update(format!("{source}\n"));
        match state {
            SourceState::Content(digest) => sum.update(digest),
            SourceState::Missing if optional => sum.update("-"),
            other => {
                is_complete = false;
                contents.failure = contents.failure.or_else(|| failure(&source, &other));
                contents.unread = UnreadSource::prefer_awaited(contents.unread, unread(&source, &other));
            }
        }
    }
    let digest = || sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    contents.digest = (is_complete && contents.due.is_some()).then(digest);
    contents
}

async fn state(source: &RestartSource, queries: &impl Queries) -> (SourceState, Duration) {
    // In the URL of a request, an invalid name could be another path or a query.
    if is_dns_subdomain(&source.name) { queries.content(source).await } else { (SourceState::Missing, READ_INTERVAL) }
}
