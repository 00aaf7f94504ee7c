//! Queries by HTTP: of etcd at the client port, and of the agent that runs next to it, which has no TLS.

use std::collections::BTreeSet;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::ServerName;
use serde::Deserialize;

use super::channel_pool::{url, url_at};
use super::client::MemberTls;
use crate::plan::member_set::read_hex;
use crate::plan::objects::VOLUME_PORT;
use agent_protocol::VolumeReport;

/// How long an answer may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum size of an answer in bytes: metrics of a large etcd have some hundred thousand.
const MAX_BYTES: usize = 16 << 20;
/// The gauge of snapshots that are being sent, by the id of the receiver (3.4 and later).
const SENDS_IN_FLIGHT: &str = "etcd_network_snapshot_send_inflights_total{To=\"";

/// The cluster version, which nothing else reports before 3.6, as the member at `address` reports it; `None` without an answer.
pub(super) async fn cluster_version(address: &str, tls: Option<&MemberTls>) -> Option<String> {
    #[derive(Deserialize)]
    struct Versions {
        etcdcluster: String,
    }
    let body = get(&format!("{}/version", url(address, tls)), tls).await?;
    serde_json::from_slice::<Versions>(&body).ok().map(|versions| versions.etcdcluster)
}

/// The ids of the members to which the one at `address` is sending a snapshot; none without an answer.
pub(super) async fn snapshot_receivers(address: &str, tls: Option<&MemberTls>) -> BTreeSet<u64> {
    let body = get(&format!("{}/metrics", url(address, tls)), tls).await.unwrap_or_default();
    parse_receivers(&String::from_utf8_lossy(&body))
}

/// How full the volume of the member at `address` is; `None` without an answer, as from pods of earlier managers.
pub(super) async fn volume_report(address: &str) -> Option<VolumeReport> {
    volume_report_at(&url_at(address, VOLUME_PORT, false)).await
}

async fn volume_report_at(url: &str) -> Option<VolumeReport> {
    serde_json::from_slice(&get(url, None).await?).ok()
}

fn parse_receivers(metrics: &str) -> BTreeSet<u64> {
    let receiver = |line: &str| {
        let (id, count) = line.strip_prefix(SENDS_IN_FLIGHT)?.split_once("\"} ")?;
        read_hex(id).filter(|_| count.trim().parse::<f64>().is_ok_and(|count| count > 0.0))
    };
    metrics.lines().filter_map(receiver).collect()
}

async fn get(url: &str, tls: Option<&MemberTls>) -> Option<Vec<u8>> {
    let uri = url.parse().ok()?;
    let client = Client::builder(TokioExecutor::new());
    let request = async {
        let answer = match tls {
            Some(tls) => client.build::<_, Empty<&[u8]>>(connector(tls)?).get(uri).await.ok()?,
            None => client.build_http::<Empty<&[u8]>>().get(uri).await.ok()?,
        };
        let body = Limited::new(answer.into_body(), MAX_BYTES);
        Some(body.collect().await.ok()?.to_bytes().to_vec())
    };
    tokio::time::timeout(REQUEST_TIMEOUT, request).await.ok()?
}

fn connector(tls: &MemberTls) -> Option<HttpsConnector<HttpConnector>> {
    let name = ServerName::try_from(tls.server_name.clone()).ok()?;
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls.identity.client_config().ok()?).https_only();
    Some(builder.with_server_name_resolver(FixedServerNameResolver::new(name)).enable_http1().build())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn receivers_of_snapshots_are_in_the_metrics() {
        let metrics = "# TYPE etcd_network_snapshot_send_inflights_total gauge\n\
            etcd_network_snapshot_send_inflights_total{To=\"8e9e05c52164694d\"} 1\n\
            etcd_network_snapshot_send_inflights_total{To=\"a\"} 0\n\
            etcd_network_snapshot_send_success{To=\"b\"} 1\n";
        assert_eq!(parse_receivers(metrics), BTreeSet::from([0x8e9e_05c5_2164_694d]));
        assert!(parse_receivers("").is_empty());
    }

    /// A server that answers one request.
    async fn serve_once(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        url
    }

    #[tokio::test]
    async fn the_agent_reports_how_full_a_volume_is() {
        let response = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 66\r\nConnection: close\r\n\r\n\
            {\"volumeBytes\":1000,\"freeBytes\":300,\"files\":50000,\"freeFiles\":400}";
        let report = VolumeReport { volume_bytes: 1000, free_bytes: 300, files: 50_000, free_files: 400 };
        assert_eq!(response.len() - response.find('{').unwrap(), 66);
        assert_eq!(volume_report_at(&serve_once(response).await).await, Some(report));
        let failed = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\n\"no\"";
        assert_eq!(volume_report_at(&serve_once(failed).await).await, None);
        assert_eq!(volume_report_at("http://127.0.0.1:1").await, None, "as in pods of earlier managers");
    }
}
