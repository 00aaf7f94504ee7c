//! Defragmentations of databases. They may take minutes, in which the member answers nothing, so they run in the background, and no
//! reconcile waits for one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::Client;
use tokio::time::{Instant, timeout};

use super::channel_pool::endpoint;
use super::error::EtcdClientError;
use crate::plan::Defragmentation;

/// How long one may take. A database of 8 GiB takes minutes on a slow disk.
const DEADLINE: Duration = Duration::from_secs(1800);
/// How long a failure is reported before the next attempt.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// The defragmentations of this process that run, or have failed recently, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Defragmentations(Arc<Mutex<BTreeMap<Box<str>, State>>>);

#[derive(Clone, Debug)]
enum State {
    Running,
    Failed(Instant, String),
}

impl Defragmentations {
    /// Starts one on the member at `address`, unless it runs already.
    pub(super) fn start(&self, address: &str) {
        if !self.begin(address) {
            return;
        }
        let (all, address) = (self.clone(), Box::<str>::from(address));
        tokio::spawn(async move {
            let result = timeout(DEADLINE, defragment(&address)).await;
            let result = result.unwrap_or(Err(EtcdClientError::Timeout(DEADLINE)));
            all.end(&address, result.map_err(|error| error.to_string()), Instant::now());
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

    fn end(&self, address: &str, result: Result<(), String>, now: Instant) {
        match result {
            Ok(()) => self.lock().remove(address),
            Err(why) => self.lock().insert(address.into(), State::Failed(now, why)),
        };
    }

    fn state(&self, address: &str, now: Instant) -> Option<Defragmentation> {
        let mut all = self.lock();
        all.retain(|_, state| match state {
            State::Running => true,
            State::Failed(at, _) => now.duration_since(*at) < RETRY_AFTER,
        });
        Some(match all.get(address)? {
            State::Running => Defragmentation::Running,
            State::Failed(_, why) => Defragmentation::Failed(why.clone()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Through a connection of its own: calls of others drop one whose calls are not answered.
async fn defragment(address: &str) -> Result<(), EtcdClientError> {
    let (url, options) = endpoint(address);
    let mut client = Client::connect([url], Some(options)).await?;
    client.defragment().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_runs_at_a_time_and_a_failure_is_reported_for_a_minute() {
        let all = Defragmentations::default();
        let start = Instant::now();
        let state = |seconds: u64| all.state("10.0.0.1", start + Duration::from_secs(seconds));
        assert_eq!(state(0), None);
        assert!(all.begin("10.0.0.1") && !all.begin("10.0.0.1"));
        assert_eq!(state(900), Some(Defragmentation::Running));
        all.end("10.0.0.1", Err("no space".to_owned()), start);
        assert_eq!([state(59), state(60)], [Some(Defragmentation::Failed("no space".to_owned())), None]);
        assert!(all.begin("10.0.0.1"));
        all.end("10.0.0.1", Ok(()), start);
        assert_eq!(state(0), None);
    }

    #[tokio::test]
    async fn no_reconcile_waits_for_one() {
        let all = Defragmentations::default();
        // Nothing answers at this address, not even with a refusal.
        let begun = Instant::now();
        all.start("192.0.2.1");
        assert_eq!(all.get("192.0.2.1"), Some(Defragmentation::Running));
        assert!(begun.elapsed() < Duration::from_millis(500));
    }
}
