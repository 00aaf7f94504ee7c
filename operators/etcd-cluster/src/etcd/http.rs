//! What only etcd's plain HTTP tells, at the clients' port.

use std::collections::BTreeSet;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;

use crate::plan::roster::read_hex;

/// How long the answer may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// The gauge of snapshots under way, by the id of who gets them (3.4 and later).
const SENDING: &str = "etcd_network_snapshot_send_inflights_total{To=\"";

/// The version that a cluster's members have agreed upon, which nothing else tells before 3.6. Asks the member at `address`;
/// `None` if it gives no answer.
pub(super) async fn cluster_version(address: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versions {
        etcdcluster: String,
    }
    let body = get(address, "version").await?;
    serde_json::from_slice::<Versions>(&body).ok().map(|versions| versions.etcdcluster)
}

/// The members to which the one at `address` is sending a snapshot; none if it gives no answer.
pub(super) async fn receivers(address: &str) -> BTreeSet<u64> {
    let body = get(address, "metrics").await.unwrap_or_default();
    sending(&String::from_utf8_lossy(&body))
}

fn sending(metrics: &str) -> BTreeSet<u64> {
    let receiver = |line: &str| {
        let (id, count) = line.strip_prefix(SENDING)?.split_once("\"} ")?;
        read_hex(id).filter(|_| count.trim().parse::<f64>().is_ok_and(|count| count > 0.0))
    };
    metrics.lines().filter_map(receiver).collect()
}

async fn get(address: &str, path: &str) -> Option<Vec<u8>> {
    let uri = format!("{}/{path}", super::pool::url(address)).parse().ok()?;
    let client: Client<_, Empty<&[u8]>> = Client::builder(TokioExecutor::new()).build_http();
    let ask = async {
        let answer = client.get(uri).await.ok()?;
        Some(answer.into_body().collect().await.ok()?.to_bytes().to_vec())
    };
    tokio::time::timeout(DEADLINE, ask).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_being_sent_a_snapshot() {
        let metrics = "# TYPE etcd_network_snapshot_send_inflights_total gauge\n\
            etcd_network_snapshot_send_inflights_total{To=\"8e9e05c52164694d\"} 1\n\
            etcd_network_snapshot_send_inflights_total{To=\"a\"} 0\n\
            etcd_network_snapshot_send_success{To=\"b\"} 1\n";
        assert_eq!(sending(metrics), BTreeSet::from([0x8e9e_05c5_2164_694d]));
        assert!(sending("").is_empty());
    }
}
