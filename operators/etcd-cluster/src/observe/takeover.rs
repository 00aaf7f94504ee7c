//! Observes the earlier members of a cluster that is taken over.

use std::sync::Arc;

use agent_protocol::TlsFileNames;
use runtime::cache::Projection as _;
use runtime::projections::Pod;

use super::certificates::{max_age, pem};
use super::queries::{ObjectLookup, Queries};
use super::stores::Stores;
use crate::EtcdCluster;
use crate::certificates::TlsIdentity;
use crate::etcd::{MemberEndpoint, MemberTls, RootPassword};
use crate::plan::{Etcd, ObservedTakeover, takeover};

/// Where earlier members are queried: named after their URLs, until it is known which is which.
///
/// # Errors
/// Why the client certificate for them cannot be used.
pub(super) async fn endpoints(
    queries: &impl Queries,
    cluster: &EtcdCluster,
    root: Option<&RootPassword>,
) -> Result<Vec<MemberEndpoint>, String> {
    let urls = takeover::endpoints(cluster);
    let identity = match urls.iter().any(|url| takeover::authority(url).1) {
        true => Some(identity(queries, cluster).await?),
        false => None,
    };
    let endpoint = |url: &String| {
        let (authority, https) = takeover::authority(url);
        let identity = identity.as_ref().filter(|_| https);
        MemberEndpoint {
            pod: url.as_str().into(),
            address: authority.into(),
            tls: identity.map(|identity| MemberTls {
                identity: Arc::clone(identity),
                server_name: authority.rsplit_once(':').map_or(authority, |(host, _)| host).to_owned(),
            }),
            root: root.cloned(),
        }
    };
    Ok(urls.iter().map(endpoint).collect())
}

async fn identity(queries: &impl Queries, cluster: &EtcdCluster) -> Result<Arc<TlsIdentity>, String> {
    let name = takeover::client_secret(cluster)
        .ok_or("spec.takeover.endpoints with https:// need spec.takeover.clientTLSSecret")?;
    let pem = pem(queries, name, &TlsFileNames::CLIENT, max_age(cluster), false).await?;
    TlsIdentity::parse(&pem).map(Arc::new).map_err(|why| format!("the Secret {name} of spec.takeover: {why}"))
}

/// What the earlier members have answered; their answers are named after them from then on.
pub(super) async fn observe(
    stores: &Stores,
    queries: &mut impl Queries,
    cluster: &EtcdCluster,
    etcd: &mut Etcd,
    unusable: Option<String>,
) -> ObservedTakeover {
    let mut observed = ObservedTakeover { unusable, ..takeover::assign(cluster, etcd) };
    for name in takeover::pods_to_check(cluster, etcd) {
        let ObjectLookup::Found(pod) = queries.object(Pod::KIND, &name).await else { continue };
        let runs = |owner: &str| stores.runs(&cluster.meta.key.sibling(owner));
        observed.managed.extend(takeover::manager_of(&pod, runs).map(|by| (name, by)));
    }
    observed
}
