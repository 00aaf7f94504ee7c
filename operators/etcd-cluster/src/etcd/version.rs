//! The version that a cluster's members have agreed upon. Only etcd's plain HTTP tells it before 3.6, at the clients' port.

use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;

/// How long the answer may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// Asks the member at `address`; `None` if it gives no answer.
pub(super) async fn cluster_version(address: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versions {
        etcdcluster: String,
    }
    let uri = format!("{}/version", super::pool::url(address)).parse().ok()?;
    let client: Client<_, Empty<&[u8]>> = Client::builder(TokioExecutor::new()).build_http();
    let ask = async {
        let answer = client.get(uri).await.ok()?;
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        serde_json::from_slice::<Versions>(&body).ok()
    };
    tokio::time::timeout(DEADLINE, ask).await.ok()?.map(|versions| versions.etcdcluster)
}
