//! Queries the objects whose content restarts pods, and condenses the answers.

use std::time::Duration;

use futures::future::join_all;
use runtime::names::is_dns_subdomain;
use sha2::{Digest, Sha256};

use crate::MyApp;
use crate::plan::{Contents, Unread};
use crate::queries::Queries;
use crate::sources::{Found, READ_INTERVAL, Source, failure, sources, unread};

/// What is known of the objects that `app` names.
pub(crate) async fn query(app: &MyApp, queries: &impl Queries) -> Contents {
    let mut contents = Contents::default();
    let (mut sum, mut is_complete) = (Sha256::new(), true);
    let sources = sources(app);
    let found = join_all(sources.keys().map(|source| one(source, queries))).await;
    for ((source, optional), (found, due)) in sources.into_iter().zip(found) {
        contents.due = Some(contents.due.map_or(due, |sooner| sooner.min(due)));
        sum.update(format!("{source}\n"));
        match found {
            Found::Content(digest) => sum.update(digest),
            Found::Missing if optional => sum.update("-"),
            other => {
                is_complete = false;
                contents.failure = contents.failure.or_else(|| failure(&source, &other));
                contents.unread = Unread::more(contents.unread, unread(&source, &other));
            }
        }
    }
    let digest = || sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    contents.digest = (is_complete && contents.due.is_some()).then(digest);
    contents
}

async fn one(source: &Source, queries: &impl Queries) -> (Found, Duration) {
    // An invalid name would be another path, or a query, in the URL of a request.
    if is_dns_subdomain(&source.name) { queries.content(source).await } else { (Found::Missing, READ_INTERVAL) }
}
