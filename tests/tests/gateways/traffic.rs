//! Requests, one after the other, beside what a test does: none of them may fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::wait::wait_until;
use tokio::task::JoinHandle;

use crate::requests::get;
use crate::stage::ANYTHING;

/// How many clients ask at a time.
const CLIENTS: usize = 2;
/// How many requests it takes at least for "none failed" to say something.
const ENOUGH: usize = 200;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// Clients of one host.
pub(crate) struct Traffic {
    host: String,
    ended: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Traffic {
    /// Begins.
    pub(crate) fn to(host: &str) -> Self {
        let (ended, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let clients = (0..CLIENTS).map(|_| tokio::spawn(client(host.to_owned(), ended.clone(), sent.clone())));
        Self { host: host.to_owned(), clients: clients.collect(), ended, sent }
    }

    /// How many requests there have been.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Goes on until there were enough requests, and that many after now; what failed of all.
    pub(crate) async fn end(self, after: usize) -> Vec<String> {
        let least = ENOUGH.max(self.sent() + after);
        wait_until(&format!("{least} requests for {}", self.host), PATIENCE, || async {
            let sent = self.sent();
            if sent >= least { Ok(()) } else { Err(format!("{sent} so far")) }
        })
        .await;
        self.ended.store(true, Ordering::Relaxed);
        let mut failed = Vec::new();
        for client in self.clients {
            failed.extend(client.await.expect("a client ends"));
        }
        let sent = self.sent.load(Ordering::Relaxed);
        println!("{sent} requests for {}, of which {} failed", self.host, failed.len());
        failed
    }
}

/// Asks until it is told to end; what failed.
async fn client(host: String, ended: Arc<AtomicBool>, sent: Arc<AtomicUsize>) -> Vec<String> {
    let mut failed = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        match get(&host, ANYTHING).await {
            Ok(answer) if answer.code == 200 => {}
            Ok(answer) => failed.push(format!("{answer:?}")),
            Err(error) => failed.push(error),
        }
        sent.fetch_add(1, Ordering::Relaxed);
    }
    failed
}
