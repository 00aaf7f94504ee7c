//! Pure: the Secrets with certificates that the operator issues, and the names for which they are valid.

use std::sync::Arc;

use api::etcd_cluster::{IssuedTls, MemberSecret, ROTATE_AUTHORITIES, StaticTls, TlsPolicy};

use super::names;
use crate::EtcdCluster;

/// The domain of a Kubernetes cluster, unless its administrator has chosen another one.
pub const DEFAULT_DOMAIN: &str = "cluster.local";

/// A certificate that the operator issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuedCertificate {
    /// Of the members, for each other.
    Peer,
    /// Of the members, for clients.
    Server,
    /// Of the operator, as a client.
    Operator,
    /// Of applications, as clients.
    Application,
}

/// Which certificates the operator issues for a cluster; none if users provide them.
#[must_use]
pub fn policy(cluster: &EtcdCluster) -> Option<&IssuedTls> {
    cluster.spec.tls.as_ref()?.issued.as_ref()
}

/// The cluster with these certificates, whatever its spec says.
#[must_use]
pub fn with(cluster: &EtcdCluster, issued: IssuedTls) -> EtcdCluster {
    let mut effective = cluster.clone();
    effective.spec.tls.get_or_insert_with(TlsPolicy::default).issued = Some(issued);
    effective
}

/// The cluster with the names of the Secrets that the operator writes, in the fields for those that users provide.
#[must_use]
pub fn effective(cluster: &Arc<EtcdCluster>) -> Arc<EtcdCluster> {
    let Some(issued) = policy(cluster) else { return Arc::clone(cluster) };
    let name = |of: IssuedCertificate, wanted: bool| wanted.then(|| of.secret(cluster));
    let member = MemberSecret {
        peer_secret: name(IssuedCertificate::Peer, issued.members),
        server_secret: name(IssuedCertificate::Server, issued.clients),
    };
    let operator_secret = name(IssuedCertificate::Operator, issued.clients);
    let tls = TlsPolicy {
        static_: Some(StaticTls { member: Some(member), operator_secret }),
        ..cluster.spec.tls.clone().unwrap_or_default()
    };
    let mut effective = EtcdCluster::clone(cluster);
    effective.spec.tls = Some(tls);
    Arc::new(effective)
}

/// The value of the annotation that requests a replacement of the authorities.
#[must_use]
pub fn request(cluster: &EtcdCluster) -> Option<&str> {
    cluster.annotations.get(ROTATE_AUTHORITIES).map(AsRef::as_ref).filter(|value: &&str| !value.is_empty())
}

/// An authority of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuingAuthority {
    /// For members among themselves. It signs nothing else, since etcd takes each of its certificates for one of a member.
    Members,
    /// For clients.
    Clients,
}

/// The authorities of a cluster.
pub fn authorities(cluster: &EtcdCluster) -> impl Iterator<Item = IssuingAuthority> {
    let issued = policy(cluster);
    let members = issued.is_some_and(|issued| issued.members).then_some(IssuingAuthority::Members);
    members.into_iter().chain(issued.is_some_and(|issued| issued.clients).then_some(IssuingAuthority::Clients))
}

/// The names of all Secrets that the operator writes for a cluster.
#[must_use]
pub fn secrets(cluster: &EtcdCluster) -> Vec<String> {
    let of = |authority: IssuingAuthority| {
        let certificates = authority.certificates().iter().map(|of| of.secret(cluster));
        std::iter::once(authority.secret(cluster)).chain(certificates).collect::<Vec<_>>()
    };
    authorities(cluster).flat_map(of).collect()
}

impl IssuingAuthority {
    /// What it signs.
    #[must_use]
    pub fn certificates(self) -> &'static [IssuedCertificate] {
        match self {
            Self::Members => &[IssuedCertificate::Peer],
            Self::Clients => &[IssuedCertificate::Server, IssuedCertificate::Operator, IssuedCertificate::Application],
        }
    }

    /// The Secret that has it.
    #[must_use]
    pub fn secret(self, cluster: &EtcdCluster) -> String {
        let of = match self {
            Self::Members => "peer",
            Self::Clients => "client",
        };
        format!("{}-{of}-ca", cluster.meta.key.name)
    }
}

impl IssuedCertificate {
    /// The Secret that has it.
    #[must_use]
    pub fn secret(self, cluster: &EtcdCluster) -> String {
        let of = match self {
            Self::Peer => "peer",
            Self::Server => "server",
            Self::Operator => "operator",
            Self::Application => "client",
        };
        format!("{}-{of}-tls", cluster.meta.key.name)
    }

    /// The DNS names for which it is valid. etcd accepts another member only if a reverse lookup of its address returns one, and name
    /// servers return names with the `domain` of the Kubernetes cluster.
    #[must_use]
    pub fn dns_names(self, cluster: &EtcdCluster, domain: &str) -> Vec<String> {
        let key = &cluster.meta.key;
        let in_cluster = |name: &str| {
            let svc = format!("{name}.{}.svc", key.namespace);
            let own =
                names::host(cluster, "").split_once(".svc").map_or_else(String::new, |(_, domain)| domain.to_owned());
            let mut all = vec![svc.clone(), format!("{svc}.{domain}")];
            all.extend((!own.is_empty() && own != format!(".{domain}")).then(|| format!("{svc}{own}")));
            all
        };
        let members = in_cluster(&format!("*.{}", key.name));
        let service = super::objects::client_service(cluster);
        match self {
            Self::Peer => members,
            Self::Server => {
                let short = [service.clone(), format!("{service}.{}", key.namespace), "localhost".to_owned()];
                members.into_iter().chain(in_cluster(&service)).chain(short).collect()
            }
            Self::Operator | Self::Application => Vec::new(),
        }
    }

    /// Whether servers present it.
    #[must_use]
    pub fn is_of_server(self) -> bool {
        matches!(self, Self::Peer | Self::Server)
    }
}

/// The domain of a Kubernetes cluster, by the file `/etc/resolv.conf` of a pod: its kubelet lists `svc.<domain>` among the suffixes.
#[must_use]
pub fn domain(resolv_conf: &str) -> Option<&str> {
    let searches = resolv_conf.lines().filter_map(|line| line.trim().strip_prefix("search"));
    let mut suffixes = searches.flat_map(str::split_whitespace);
    suffixes.find_map(|suffix| suffix.strip_prefix("svc.")).map(|domain| domain.trim_end_matches('.'))
}
