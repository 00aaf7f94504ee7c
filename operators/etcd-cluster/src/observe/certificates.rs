//! Observes the certificates of a cluster with TLS: reads the Secrets, and checks what they hold.

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::TlsFileNames;
use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use runtime::projections::Pod;

use super::queries::Queries;
use super::secrets::SecretLookup;
use crate::EtcdCluster;
use crate::certificates::{self, TlsIdentity, TlsPem, TlsPems};
use crate::plan::{Explanation, ObservedTls, effective_tls, names, tls};

/// How old what is known of a Secret may be: three requests a minute for a cluster.
const MAX_AGE: Duration = Duration::from_secs(60);
/// The same while the cluster is not Ready: a Secret may be the reason, and may have been corrected.
const MAX_AGE_WHILE_UNREADY: Duration = Duration::from_secs(10);

/// What is known of the Secrets of `cluster`, and the client certificate of the operator, if members serve clients with TLS.
pub(super) async fn observe(
    queries: &impl Queries,
    cluster: &EtcdCluster,
    refusal: Option<Explanation>,
    pods: &[Arc<Pod>],
) -> (ObservedTls, Option<Arc<TlsIdentity>>) {
    let read = async |name: Option<&str>, layouts| match name {
        Some(name) => pem(queries, name, layouts, max_age(cluster)).await.map(Some),
        None => Ok(None),
    };
    let operator = tls::operator_secret(cluster).or_else(|| effective_tls::operator_secret_of(pods));
    let client = read(operator, &TlsFileNames::CLIENT).await;
    let identity = client.as_ref().ok().and_then(Option::as_ref).and_then(|pem| TlsIdentity::parse(pem).ok());
    let pems = async {
        Ok(TlsPems {
            peer: read(tls::peer_secret(cluster), &TlsFileNames::PEER).await?,
            server: read(tls::server_secret(cluster), &TlsFileNames::SERVER).await?,
            client: client?,
        })
    };
    let pems = pems.await;
    let name = names::host(cluster, &names::first(cluster));
    let checked = pems.as_ref().map_err(String::clone);
    let checked = checked.and_then(|pems| certificates::check(pems, &name, queries.now()));
    let unusable = checked.err().map(|why| (EtcdClusterReason::TLSSecretInvalid, message(cluster, &why)));
    let renewal = pems.as_ref().ok().and_then(|pems| certificates::next_renewal(pems, queries.now()));
    let authorities = pems.ok().map(|pems| effective_tls::fingerprint(&pems.authorities()));
    (ObservedTls { refusal, unusable, authorities, renewal }, identity.map(Arc::new))
}

/// Why the Secrets cannot be used, and what follows from that.
fn message(cluster: &EtcdCluster, why: &str) -> String {
    let then = if cluster.status.cluster_id.is_some() { "members keep their pods" } else { "nothing is created" };
    format!("{why}; until that is corrected, {then}")
}

fn max_age(cluster: &EtcdCluster) -> Duration {
    if cluster.status.contract.is_true(READY) { MAX_AGE } else { MAX_AGE_WHILE_UNREADY }
}

/// The files of a Secret.
async fn pem(
    queries: &impl Queries,
    name: &str,
    layouts: &[TlsFileNames; 2],
    max_age: Duration,
) -> Result<TlsPem, String> {
    match queries.secret(name, max_age).await {
        SecretLookup::Found(files) => TlsPem::read(name, layouts, |file| files.0.get(file).cloned()),
        SecretLookup::Absent => Err(format!("the Secret {name} of spec.TLS does not exist: create it")),
        SecretLookup::Unknown(error) => Err(format!("the Secret {name} of spec.TLS cannot be read: {error}")),
    }
}
