//! Observes the certificates of a cluster with TLS: reads the Secrets, and checks what they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::TlsFileNames;
use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use runtime::projections::Pod;

use super::queries::Queries;
use super::secrets::{SecretFiles, SecretLookup};
use crate::certificates::issuance::{AuthorityState, authority_step, certificate_step};
use crate::certificates::{self, TlsIdentity, TlsPem, TlsPems};
use crate::plan::issued_tls::IssuedCertificate;
use crate::plan::{DueIssuance, Explanation, ObservedTls, effective_tls, issued_tls, names, tls};
use crate::{EtcdCluster, issuance};

/// How old what is known of a Secret may be: three requests a minute for a cluster.
const MAX_AGE: Duration = Duration::from_secs(60);
/// The same while the cluster is not Ready: a Secret may be the reason, and may have been corrected.
const MAX_AGE_WHILE_UNREADY: Duration = Duration::from_secs(10);

/// The client certificates of the operator, by Secret: each pod records by which one it can be reached.
pub(super) type Identities = BTreeMap<String, Arc<TlsIdentity>>;

/// What is known of the Secrets of `cluster`, and the client certificates of the operator, if members serve clients with TLS.
pub(super) async fn observe(
    queries: &impl Queries,
    cluster: &EtcdCluster,
    refusal: Option<Explanation>,
    pods: &[Arc<Pod>],
) -> (ObservedTls, Identities) {
    let issued = issued_tls::policy(cluster).is_some();
    let read = async |name: Option<&str>, layouts| match name {
        Some(name) => pem(queries, name, layouts, max_age(cluster), issued).await.map(Some),
        None => Ok(None),
    };
    let operator = tls::operator_secret(cluster).or_else(|| effective_tls::operator_secrets(pods).next());
    let client = read(operator, &TlsFileNames::CLIENT).await;
    let mut identities = Identities::new();
    // While members restart with other certificates, some have the ones before.
    let of_pods: BTreeSet<&str> = operator.into_iter().chain(effective_tls::operator_secrets(pods)).collect();
    for secret in of_pods {
        let pem =
            if Some(secret) == operator { client.clone() } else { read(Some(secret), &TlsFileNames::CLIENT).await };
        let identity = pem.ok().flatten().and_then(|pem| TlsIdentity::parse(&pem).ok());
        identities.extend(identity.map(|identity| (secret.to_owned(), Arc::new(identity))));
    }
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
    let (issuance, unusable) = match issuance(queries, cluster, pods).await {
        // What is wrong with a Secret of the operator's is about to be corrected.
        Ok(issuance) => (issuance, unusable.filter(|_| !issuance.now)),
        // The Secret may be a user's who has removed it from the spec.
        Err(_) if refusal.is_some() => (DueIssuance::default(), unusable),
        Err(why) => (DueIssuance::default(), Some((EtcdClusterReason::TLSSecretInvalid, message(cluster, &why)))),
    };
    (ObservedTls { refusal, unusable, authorities, renewal, issuance }, identities)
}

/// What is due of the certificates that the operator issues.
async fn issuance(queries: &impl Queries, cluster: &EtcdCluster, pods: &[Arc<Pod>]) -> Result<DueIssuance, String> {
    let mut due = DueIssuance::default();
    for authority in issued_tls::authorities(cluster) {
        let name = authority.secret(cluster);
        let Some(own) = files(queries, cluster, &name, MAX_AGE).await? else { return Ok(DueIssuance::default()) };
        let mut signed = Vec::new();
        for of in authority.certificates() {
            let age = if *of == IssuedCertificate::Application { MAX_AGE } else { max_age(cluster) };
            let Some(files) = files(queries, cluster, &of.secret(cluster), age).await? else {
                return Ok(DueIssuance::default());
            };
            signed.push((*of, files));
        }
        let own = own.as_ref().map(|of| &of.files);
        let of: Vec<_> = signed.iter().map(|(_, of)| of.as_ref().map(|of| &of.files)).collect();
        let in_use = pods.iter().any(|pod| pod.details.is_some());
        let request = issued_tls::request(cluster);
        let state = AuthorityState { secret: &name, files: own, signed: &of, request, rolled: false, in_use };
        let is_due = authority_step(&state, queries.now())?.is_some();
        let once_rolled = authority_step(&AuthorityState { rolled: true, ..state }, queries.now())?.is_some();
        due.now |= is_due;
        due.once_rolled |= once_rolled && !is_due;
        let Some(own) = own else { continue };
        due.now |= signed.iter().zip(of).any(|((certificate, _), files)| {
            let names = certificate.dns_names(cluster, queries.cluster_domain());
            certificate_step(own, files, *certificate, &names, queries.now()).is_some()
        });
    }
    Ok(due)
}

/// What a Secret of the operator's holds; `None` while that is unknown, and `Some(None)` if it does not exist.
async fn files(
    queries: &impl Queries,
    cluster: &EtcdCluster,
    name: &str,
    max_age: Duration,
) -> Result<Option<Option<Arc<SecretFiles>>>, String> {
    match queries.secret(name, max_age).await {
        SecretLookup::Found(found) if found.controller.as_deref() == Some(&*cluster.meta.uid) => Ok(Some(Some(found))),
        SecretLookup::Found(_) => Err(issuance::foreign(name)),
        SecretLookup::Absent => Ok(Some(None)),
        SecretLookup::Unknown(_) => Ok(None),
    }
}

/// Why the Secrets cannot be used, and what follows from that.
fn message(cluster: &EtcdCluster, why: &str) -> String {
    let then = if cluster.status.cluster_id.is_some() { "members keep their pods" } else { "nothing is created" };
    format!("{why}; until that is corrected, {then}")
}

/// How old what is known of a Secret of that cluster may be.
pub(super) fn max_age(cluster: &EtcdCluster) -> Duration {
    if cluster.status.contract.is_true(READY) { MAX_AGE } else { MAX_AGE_WHILE_UNREADY }
}

/// The files of a Secret.
pub(super) async fn pem(
    queries: &impl Queries,
    name: &str,
    layouts: &[TlsFileNames; 2],
    max_age: Duration,
    issued: bool,
) -> Result<TlsPem, String> {
    match queries.secret(name, max_age).await {
        SecretLookup::Found(files) => TlsPem::read(name, layouts, |file| files.files.get(file).cloned()),
        SecretLookup::Absent if issued => Err(format!("the operator is about to issue the Secret {name}")),
        SecretLookup::Absent => Err(format!("the Secret {name} of spec.TLS does not exist: create it")),
        SecretLookup::Unknown(error) => Err(format!("the Secret {name} of spec.TLS cannot be read: {error}")),
    }
}
