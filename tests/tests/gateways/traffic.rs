//! Continuous requests while a test acts: none of them may fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::namespace::Namespace;
use e2e::wait::wait_until;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::requests::get;
use crate::stage::{ANYTHING, answered, answers, run};

/// The number of concurrent clients.
const CLIENTS: usize = 2;
/// How many requests it takes at least for "none failed" to say something.
const ENOUGH: usize = 200;
/// How long that may take.
const TRAFFIC_TIMEOUT: Duration = Duration::from_secs(240);

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

    /// Continues until there were enough requests in all, and this many from now on; returns the failed ones of all.
    pub(crate) async fn end(self, after: usize) -> Vec<String> {
        let least = ENOUGH.max(self.sent() + after);
        wait_until(&format!("{least} requests for {}", self.host), TRAFFIC_TIMEOUT, || async {
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

/// Sends requests until it is stopped; returns the failed ones.
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

/// Replaces this many pods of a MyApp while clients send requests, none of which fails.
///
/// # Panics
/// If a request fails, or the same pods answer afterward.
pub(crate) async fn rolls_unnoticed(ns: &Namespace, host: &str, pods: usize) {
    let before = answered(ns, host, "/hostname", 200).await.page;
    let traffic = Traffic::to(host);
    // A variable that no program reads.
    let env = json!([{ "name": "USE_REAL_HOSTNAME", "value": "true" }, { "name": "AGAIN", "value": "yes" }]);
    ns.patch("myapp/web", &json!({ "spec": { "env": env } })).await;
    run(ns, "web", i32::try_from(pods).expect("a few")).await;
    no_more_pods(ns, pods).await;
    println!("{} requests until the earlier pods were deleted", traffic.sent());
    let failed = traffic.end(50).await;
    assert!(failed.is_empty(), "{failed:#?}");
    assert_ne!(before, answers(host, "/hostname", 200).await.page, "other pods answer");
}

/// Until there are no more than this many pods, terminating ones included.
async fn no_more_pods(ns: &Namespace, pods: usize) {
    ns.eventually(&format!("no more than {pods} pods"), || async {
        let left = ns.kubectl(&["get", "pods", "--output=name"]).await.ok();
        if left.lines().count() <= pods { Ok(()) } else { Err(left) }
    })
    .await;
}
