//! Defragmentations of databases. They may take minutes, in which the member answers nothing, so they run in the background, and no
//! reconcile waits for one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::Client;
use tokio::time::{Instant, timeout};

use super::channel_pool::{MemberAccess, endpoint};
use super::client::ROOT;
use super::error::EtcdClientError;
use crate::plan::Defragmentation;

/// How long one may take. A database of 8 GiB takes minutes on a slow disk.
const DEADLINE: Duration = Duration::from_secs(1800);
/// How long after one has ended the next one of the same member may begin.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// How long the end of one is known.
const KNOWN_FOR: Duration = Duration::from_secs(3600);

/// The defragmentations of this process, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Defragmentations(Arc<Mutex<BTreeMap<Box<str>, State>>>);

#[derive(Clone, Debug)]
enum State {
    Running,
    Failed(Instant, String),
    Done(Instant, i64),
}

impl Defragmentations {
    /// Starts one on the member at `address`, whose latest revision is `revision`, unless it runs already.
    pub(super) fn start(&self, address: &str, access: MemberAccess, revision: i64) {
        if !self.begin(address) {
            return;
        }
        let (all, address) = (self.clone(), Box::<str>::from(address));
        tokio::spawn(async move {
            let result = timeout(DEADLINE, defragment(&address, &access)).await;
            let result = result.unwrap_or(Err(EtcdClientError::Timeout(DEADLINE)));
            match &result {
                Ok(()) => tracing::info!(%address, "the database of a member is defragmented"),
                Err(error) => tracing::warn!(%address, %error, "the database of a member was not defragmented"),
            }
            all.end(&address, result.map(|()| revision).map_err(|error| error.to_string()), Instant::now());
        });
    }

    /// What is known of one on the member at `address`.
    pub(super) fn get(&self, address: &str) -> Option<Defragmentation> {
        self.state(address, Instant::now())
    }

    fn begin(&self, address: &str) -> bool {
        let mut all = self.lock();
        let runs = matches!(all.get(address), Some(State::Running));
        if !runs {
            all.insert(address.into(), State::Running);
        }
        !runs
    }

    fn end(&self, address: &str, result: Result<i64, String>, now: Instant) {
        let state = result.map_or_else(|why| State::Failed(now, why), |revision| State::Done(now, revision));
        self.lock().insert(address.into(), state);
    }

    fn state(&self, address: &str, now: Instant) -> Option<Defragmentation> {
        let mut all = self.lock();
        all.retain(|_, state| match state {
            State::Running => true,
            State::Failed(at, _) | State::Done(at, _) => now.duration_since(*at) < KNOWN_FOR,
        });
        let recently = |at: &Instant| now.duration_since(*at) < RETRY_AFTER;
        Some(match all.get(address)? {
            State::Running => Defragmentation::Running,
            State::Failed(at, why) => Defragmentation::Failed { why: why.clone(), recently: recently(at) },
            State::Done(at, revision) => Defragmentation::Done { revision: *revision, recently: recently(at) },
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Through a connection of its own: calls of others drop one whose calls are not answered.
async fn defragment(address: &str, access: &MemberAccess) -> Result<(), EtcdClientError> {
    let (url, options) = endpoint(address, access.tls.as_ref());
    let mut client = Client::connect([&url], Some(options.clone())).await?;
    match (client.defragment().await.map_err(EtcdClientError::from), &access.root) {
        (Err(EtcdClientError::AuthRequired(_)), Some(root)) => {
            client = Client::connect([url], Some(options.with_user(ROOT, root.expose()))).await?;
            client.defragment().await?;
            Ok(())
        }
        (result, _) => result.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_runs_at_a_time_and_its_end_is_known_for_a_while() {
        let all = Defragmentations::default();
        let start = Instant::now();
        let state = |seconds: u64| all.state("10.0.0.1", start + Duration::from_secs(seconds));
        assert_eq!(state(0), None);
        assert!(all.begin("10.0.0.1") && !all.begin("10.0.0.1"));
        assert_eq!(state(900), Some(Defragmentation::Running));
        all.end("10.0.0.1", Err("no space".to_owned()), start);
        let failed = |recently| Some(Defragmentation::Failed { why: "no space".to_owned(), recently });
        assert_eq!([state(59), state(60), state(3600)], [failed(true), failed(false), None]);
        assert!(all.begin("10.0.0.1"));
        all.end("10.0.0.1", Ok(7), start);
        let done = |recently| Some(Defragmentation::Done { revision: 7, recently });
        assert_eq!([state(59), state(60), state(3600)], [done(true), done(false), None]);
    }

    #[tokio::test]
    async fn no_reconcile_waits_for_one() {
        let all = Defragmentations::default();
        // Nothing answers at this address, not even with a refusal.
        let begun = Instant::now();
        all.start("192.0.2.1", MemberAccess::default(), 7);
        assert_eq!(all.get("192.0.2.1"), Some(Defragmentation::Running));
        assert!(begun.elapsed() < Duration::from_millis(500));
    }
}
