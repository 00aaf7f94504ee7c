//! Looks whether the CRDs that the API server serves have what the manager needs: at start, when a watch ends before its
//! time (as all of a CRD's do when it is replaced), when a status cannot be written, and once a minute while something is
//! lacking. A manager that is well asks nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{join_all, select_all};
use http::Request;
use kube::Client;
use tokio::time::sleep;

use crate::cache::{Health, Watches};
use crate::crd::schema::{Crd, Document, Lack, Needed, lacks, sentence};
use crate::metrics;
use crate::retry::scattered;

pub mod schema;

/// How long at least no other look follows one that found something new; one that did not is followed by twice the pause.
const PAUSE: Duration = Duration::from_secs(10);
/// How often it is looked while something is lacking, or statuses cannot be written; and the longest pause.
const AGAIN: Duration = Duration::from_secs(60);
/// A CRD is published a moment after it is served, and several watches end together.
pub(crate) const SETTLES: Duration = Duration::from_secs(2);

/// Looks after the CRDs of these kinds, for ever; `fields` is what is needed of them, as `api::FIELDS` has it. From the call on,
/// passes over objects of these kinds wait for a look where they depend on one.
pub fn look_after(client: Client, kinds: Vec<Arc<Health>>, fields: &'static str) -> impl Future<Output = ()> + Send {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for health in kinds.into_iter().filter(|health| Needed::of(&health.kind(), fields).is_some()) {
        health.looked_after();
        groups.entry((health.kind().group, health.kind().version)).or_default().push(health);
    }
    let groups = groups.into_values().map(move |kinds| Group { client: client.clone(), kinds, fields }.run());
    join_all(groups).map(drop)
}

/// What a look found.
struct Found {
    /// Whether all that is needed is known to be there.
    well: bool,
    /// Whether anything is otherwise than before.
    news: bool,
}

/// Kinds that are published together.
struct Group {
    client: Client,
    kinds: Vec<Arc<Health>>,
    fields: &'static str,
}

impl Group {
    async fn run(self) {
        for health in &self.kinds {
            // The sender lives as long as the store, so this does not end early.
            drop(health.subscribe().wait_for(Watches::tried).await);
        }
        let mut pause = PAUSE;
        loop {
            // What happened before a look is answered by it.
            for health in &self.kinds {
                let _ = (health.interruption().now_or_never(), health.refusal().now_or_never());
            }
            let found = self.look().await;
            pause = if found.news { PAUSE } else { AGAIN.min(pause * 2) };
            sleep(pause).await;
            self.reason(found.well, AGAIN - pause).await;
            sleep(SETTLES + scattered(SETTLES)).await;
        }
    }

    /// Waits until there is reason to look again; what is not an interruption is none for a while.
    async fn reason(&self, well: bool, a_while: Duration) {
        let interrupted = select_all(self.kinds.iter().map(|health| Box::pin(health.interruption())));
        let doubted = async {
            sleep(a_while).await;
            if well {
                select_all(self.kinds.iter().map(|health| Box::pin(health.refusal()))).await;
            }
        };
        tokio::select! { _ = interrupted => {}, () = doubted => {} }
    }

    async fn look(&self) -> Found {
        let published = match self.published().await {
            Ok(published) => published,
            Err(error) => {
                tracing::debug!(%error, "it cannot be told which CRDs are served");
                return Found { well: false, news: false };
            }
        };
        let judged = self.kinds.iter().map(|health| self.judge(health, published.as_ref()));
        judged.fold(Found { well: true, news: false }, |all, one| Found {
            well: all.well && one.well,
            news: all.news || one.news,
        })
    }

    /// What is published of the group, if it is served at all.
    async fn published(&self) -> Result<Option<Document>, kube::Error> {
        let Some(health) = self.kinds.first() else { return Ok(None) };
        let path = format!("/openapi/v3/apis/{}", health.kind().api_version());
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        match self.client.request(request).await {
            Ok(document) => Ok(Some(document)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn judge(&self, health: &Health, published: Option<&Document>) -> Found {
        let kind = health.kind();
        let Some(needed) = Needed::of(&kind, self.fields) else { return Found { well: true, news: false } };
        let lacks = lacks(published, &kind, &needed);
        if matches!(*lacks, [Lack::Version(_)]) && health.failing().is_empty() {
            // It is served: what is published has yet to say so.
            return Found { well: false, news: false };
        }
        metrics::crd_mismatch(kind.kind, !lacks.is_empty());
        let crd = if lacks.is_empty() { Crd::Fits } else { Crd::Lacks(lacks.into()) };
        let before = health.judged(&crd);
        match (&before, crd.lacking()) {
            (Some(_), Some(lacks)) => tracing::warn!(kind = kind.kind, "{}", sentence(&kind, lacks)),
            (Some(Crd::Lacks(_)), None) => {
                tracing::info!(
                    kind = kind.kind,
                    "the CRD {}.{} has all that this manager needs again",
                    kind.plural,
                    kind.group
                );
            }
            _ => {}
        }
        Found { well: crd == Crd::Fits, news: before.is_some() }
    }
}

#[cfg(test)]
mod tests;
