//! What only plain HTTP tells: etcd's, at the clients' port, and that of the agent beside it.

use std::collections::BTreeSet;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;

use super::pool::{url, url_at};
use crate::plan::objects::VOLUME_PORT;
use crate::plan::roster::read_hex;
use agent_protocol::VolumeReport;

/// How long the answer may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// How long it may be, in bytes: metrics of a large etcd have some hundred thousand.
const LONGEST: usize = 16 << 20;
/// The gauge of snapshots under way, by the id of who gets them (3.4 and later).
const SENDING: &str = "etcd_network_snapshot_send_inflights_total{To=\"";

/// The version that a cluster's members have agreed upon, which nothing else tells before 3.6. Asks the member at `address`;
/// `None` if it gives no answer.
pub(super) async fn cluster_version(address: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versions {
        etcdcluster: String,
    }
    let body = get(&format!("{}/version", url(address))).await?;
    serde_json::from_slice::<Versions>(&body).ok().map(|versions| versions.etcdcluster)
}

/// The members to which the one at `address` is sending a snapshot; none if it gives no answer.
pub(super) async fn receivers(address: &str) -> BTreeSet<u64> {
    let body = get(&format!("{}/metrics", url(address))).await.unwrap_or_default();
    sending(&String::from_utf8_lossy(&body))
}

/// How full the volume of the member at `address` is; `None` if it gives no answer, as pods of earlier managers do not.
pub(super) async fn room(address: &str) -> Option<VolumeReport> {
    room_at(&url_at(address, VOLUME_PORT)).await
}

async fn room_at(url: &str) -> Option<VolumeReport> {
    serde_json::from_slice(&get(url).await?).ok()
}

fn sending(metrics: &str) -> BTreeSet<u64> {
    let receiver = |line: &str| {
        let (id, count) = line.strip_prefix(SENDING)?.split_once("\"} ")?;
        read_hex(id).filter(|_| count.trim().parse::<f64>().is_ok_and(|count| count > 0.0))
    };
    metrics.lines().filter_map(receiver).collect()
}

async fn get(url: &str) -> Option<Vec<u8>> {
    let uri = url.parse().ok()?;
    let client: Client<_, Empty<&[u8]>> = Client::builder(TokioExecutor::new()).build_http();
    let ask = async {
        let answer = client.get(uri).await.ok()?;
        let body = Limited::new(answer.into_body(), LONGEST);
        Some(body.collect().await.ok()?.to_bytes().to_vec())
    };
    tokio::time::timeout(DEADLINE, ask).await.ok()?
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

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

    /// Answers one request so.
    async fn answering(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            assert!(stream.read(&mut asked).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        url
    }

    #[tokio::test]
    async fn how_full_a_volume_is() {
        let told = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 66\r\nConnection: close\r\n\r\n\
            {\"volumeBytes\":1000,\"freeBytes\":300,\"files\":50000,\"freeFiles\":400}";
        let room = VolumeReport { volume_bytes: 1000, free_bytes: 300, files: 50_000, free_files: 400 };
        assert_eq!(told.len() - told.find('{').unwrap(), 66);
        assert_eq!(room_at(&answering(told).await).await, Some(room));
        let failed = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\n\"no\"";
        assert_eq!(room_at(&answering(failed).await).await, None);
        assert_eq!(room_at("http://127.0.0.1:1").await, None, "pods of earlier managers");
    }
}
