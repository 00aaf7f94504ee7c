//! Authorities, and the Secrets with the certificates that they sign.

use std::time::Duration;

use e2e::namespace::Namespace;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

/// How long certificates are valid.
pub(super) const DAYS: Duration = Duration::from_secs(30 * 86400);

/// The names of files in a Secret.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// Of the archived operator.
    Archived,
    /// Of cert-manager.
    CertManager,
}

/// An authority.
pub(super) struct Authority {
    /// Its certificate.
    pub(super) pem: String,
    name: &'static str,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &'static str) -> Self {
        let key = KeyPair::generate().expect("a key can be created");
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let pem = params.self_signed(&key).expect("a certificate can be created").pem();
        Self { pem, name, issuer: Issuer::new(params, key) }
    }

    /// The certificate and its key.
    fn signs(&self, names: Vec<String>, valid: Duration) -> (String, String) {
        let key = KeyPair::generate().expect("a key can be created");
        let mut params = CertificateParams::new(names).expect("names are valid");
        let now = std::time::SystemTime::now();
        // Of a short time, less than a tenth is left.
        params.not_before = (now - 10 * valid).into();
        params.not_after = (now + valid).into();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate can be signed");
        (certificate.pem(), key.serialize_pem())
    }

    /// Writes all Secrets of a cluster: `peer`, `server`, `client`, and that of writers. Their owners trust `trusted`.
    pub(super) async fn writes_secrets(
        &self,
        ns: &Namespace,
        cluster: &str,
        layout: Layout,
        valid: Duration,
        trusted: &str,
    ) {
        let (name, member) = (&ns.name, format!("{cluster}.{}.svc", ns.name));
        let members = || vec![format!("*.{member}"), format!("*.{member}.cluster.local")];
        let server = [members(), vec![format!("{cluster}-client.{name}.svc"), "localhost".to_owned()]].concat();
        let operator = vec!["operator".to_owned()];
        self.writes(ns, "peer", layout, members(), valid, trusted).await;
        self.writes(ns, "server", layout, server, valid, trusted).await;
        self.writes(ns, "client", layout, operator.clone(), valid, trusted).await;
        self.writes(ns, "writer", Layout::CertManager, operator, valid, trusted).await;
    }

    /// Writes one Secret. It also has the authority's certificate in a file of the authority's name.
    pub(super) async fn writes(
        &self,
        ns: &Namespace,
        secret: &str,
        layout: Layout,
        names: Vec<String>,
        valid: Duration,
        trusted: &str,
    ) {
        let (certificate, key) = self.signs(names, valid);
        let prefix = if secret == "client" { "etcd-client" } else { secret };
        let mut data = match layout {
            Layout::Archived => json!({
                format!("{prefix}.crt"): certificate, format!("{prefix}.key"): key, format!("{prefix}-ca.crt"): trusted,
            }),
            Layout::CertManager => json!({ "tls.crt": certificate, "tls.key": key, "ca.crt": trusted }),
        };
        data[format!("{}.crt", self.name)] = json!(self.pem);
        let metadata = json!({ "name": secret });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data });
        ns.apply(&secret.to_string()).await;
    }
}
