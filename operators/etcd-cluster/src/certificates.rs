//! Pure: what the Secrets of `spec.TLS` hold, and whether members, clients and the operator can use it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::TlsFileNames;
use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore};

use crate::plan::CertificateRenewal;

pub(crate) mod generated;
pub mod issuance;

/// The three files of a Secret, in PEM.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TlsPem {
    /// The name of the Secret, for messages.
    pub secret: String,
    /// The certificate, and those between it and the authority.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// The certificates of the authorities.
    pub authorities: String,
    names: Option<TlsFileNames>,
}

/// Without what is secret.
impl fmt::Debug for TlsPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsPem").field("secret", &self.secret).finish_non_exhaustive()
    }
}

/// A certificate with its key, and the authorities that the other side is verified by.
#[derive(Clone, Debug)]
pub struct TlsIdentity {
    pem: TlsPem,
    leaf: CertificateDer<'static>,
    /// Between the certificate and its authority.
    intermediates: Vec<CertificateDer<'static>>,
    authorities: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
}

/// The files of the Secrets that a cluster refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsPems {
    /// For connections between members.
    pub peer: Option<TlsPem>,
    /// For the listener for clients.
    pub server: Option<TlsPem>,
    /// For the operator.
    pub client: Option<TlsPem>,
}

impl TlsPems {
    /// The certificates of the authorities that members verify others by.
    #[must_use]
    pub fn authorities(&self) -> String {
        let of_members = [&self.peer, &self.server].into_iter().flatten();
        of_members.map(|pem| pem.authorities.trim()).collect::<Vec<_>>().join("\n")
    }
}

/// The first renewal that is due of all certificates, and of the authorities that expire last.
#[must_use]
pub fn next_renewal(pems: &TlsPems, now: Timestamp) -> Option<CertificateRenewal> {
    let all = [&pems.peer, &pems.server, &pems.client].into_iter().flatten();
    let identities = all.filter_map(|pem| TlsIdentity::parse(pem).ok());
    identities.flat_map(|identity| identity.renewals(now)).min_by_key(|renewal| renewal.due)
}

/// Checks that members can connect to one another, and the operator to them. `member` is the DNS name of one.
///
/// # Errors
/// What cannot be used, and why.
pub fn check(pems: &TlsPems, member: &str, now: Timestamp) -> Result<(), String> {
    let parse = |pem: &Option<TlsPem>| pem.as_ref().map(TlsIdentity::parse).transpose();
    let (peer, server, client) = (parse(&pems.peer)?, parse(&pems.server)?, parse(&pems.client)?);
    if let Some(peer) = peer {
        peer.check_as_server(&peer, member, now)?;
        peer.check_as_client(&peer, now)?;
        peer.check_authorities(now)?;
    }
    if let (Some(server), Some(client)) = (server, client) {
        server.check_as_server(&client, member, now)?;
        client.check_as_client(&server, now)?;
        server.check_authorities(now)?;
        client.check_authorities(now)?;
    }
    Ok(())
}

impl TlsPem {
    /// The files in the data of a Secret, which `file` reads.
    ///
    /// # Errors
    /// What is missing.
    pub fn read(
        secret: &str,
        layouts: &[TlsFileNames; 2],
        file: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let names = TlsFileNames::find(layouts, |name| file(name).is_some());
        let names = names.map_err(|why| format!("the Secret {secret} cannot be used: {why}"))?;
        let text = |name| file(name).unwrap_or_default();
        Ok(Self {
            secret: secret.to_owned(),
            certificate: text(names.certificate),
            key: text(names.key),
            authorities: text(names.authorities),
            names: Some(names),
        })
    }

    /// A file, as messages name it.
    fn file(&self, file: impl Fn(&TlsFileNames) -> &'static str) -> String {
        format!("{} of the Secret {}", self.names.as_ref().map_or("", file), self.secret)
    }

    fn wrong(&self, file: impl Fn(&TlsFileNames) -> &'static str, why: &str) -> String {
        format!("{} cannot be used: {why}", self.file(file))
    }
}

impl TlsIdentity {
    /// Parses the files.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub fn parse(pem: &TlsPem) -> Result<Self, String> {
        let certificates = |text: &str| -> Result<Vec<CertificateDer<'static>>, String> {
            let all = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
            let all = all.map_err(|error| error.to_string())?;
            if all.is_empty() { Err("it has no certificate in PEM".to_owned()) } else { Ok(all) }
        };
        let mut chain = certificates(&pem.certificate).map_err(|why| pem.wrong(|names| names.certificate, &why))?;
        let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes());
        let key = key.map_err(|_| pem.wrong(|names| names.key, "it has no private key in PEM"))?;
        CertifiedKey::from_der(chain.clone(), key, &provider()).map_err(|error| match error {
            Error::InconsistentKeys(_) => pem.wrong(|names| names.key, "it is not the key of the certificate"),
            error => pem.wrong(|names| names.key, &error.to_string()),
        })?;
        let mut roots = RootCertStore::empty();
        let wrong = |why: String| pem.wrong(|names| names.authorities, &why);
        let authorities = certificates(&pem.authorities).map_err(wrong)?;
        for authority in &authorities {
            roots.add(authority.clone()).map_err(|error| wrong(error.to_string()))?;
        }
        let intermediates = chain.split_off(1);
        Ok(Self { pem: pem.clone(), leaf: chain.remove(0), intermediates, authorities, roots: Arc::new(roots) })
    }

    /// Checks that clients with the authorities of `client` accept the certificate from a server of that name.
    ///
    /// # Errors
    /// Why they do not.
    pub fn check_as_server(&self, client: &Self, name: &str, now: Timestamp) -> Result<(), String> {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(&client.roots), provider()).build();
        let verifier = verifier.map_err(|error| client.pem.wrong(|names| names.authorities, &error.to_string()))?;
        let server = ServerName::try_from(name.to_owned()).map_err(|error| format!("{name}: {error}"))?;
        let verified = verifier.verify_server_cert(&self.leaf, &self.intermediates, &server, &[], unix(now));
        verified.map(drop).map_err(|error| self.rejected(client, &error))
    }

    /// Checks that servers with the authorities of `server` accept the certificate from a client.
    ///
    /// # Errors
    /// Why they do not.
    pub fn check_as_client(&self, server: &Self, now: Timestamp) -> Result<(), String> {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&server.roots), provider()).build();
        let verifier = verifier.map_err(|error| server.pem.wrong(|names| names.authorities, &error.to_string()))?;
        let verified = verifier.verify_client_cert(&self.leaf, &self.intermediates, unix(now));
        verified.map(drop).map_err(|error| self.rejected(server, &error))
    }

    /// Checks that not all authorities have expired: etcd verifies that, and the TLS library does not.
    fn check_authorities(&self, now: Timestamp) -> Result<(), String> {
        let ends = self.authorities.iter().filter_map(|authority| self.validity(authority)).map(|valid| valid.1);
        match ends.max().filter(|last| *last < now) {
            Some(last) => {
                let why = format!("the authority expired at {last}: replace it, and the certificates that it signed");
                Err(self.pem.wrong(|names| names.authorities, &why))
            }
            None => Ok(()),
        }
    }

    /// When the certificate, and the last of its authorities, have to be renewed.
    fn renewals(&self, now: Timestamp) -> Vec<CertificateRenewal> {
        let of = |file: String, (begins, expires)| CertificateRenewal::of(file, begins, expires, now);
        let own = self.validity(&self.leaf).map(|valid| of(self.pem.file(|names| names.certificate), valid));
        let last = self.authorities.iter().filter_map(|authority| self.validity(authority)).max_by_key(|valid| valid.1);
        own.into_iter().chain(last.map(|valid| of(self.pem.file(|names| names.authorities), valid))).collect()
    }

    /// When the certificate is valid.
    pub(crate) fn valid(&self) -> Option<(Timestamp, Timestamp)> {
        self.validity(&self.leaf)
    }

    /// When a certificate is valid: what its rejection at other times says.
    fn validity(&self, certificate: &CertificateDer<'static>) -> Option<(Timestamp, Timestamp)> {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&self.roots), provider()).build().ok()?;
        let rejected = |at: Timestamp| verifier.verify_client_cert(certificate, &[], unix(at)).err();
        let begins = match rejected(Timestamp::UNIX_EPOCH) {
            Some(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => not_before,
            _ => UnixTime::since_unix_epoch(Duration::ZERO),
        };
        match rejected(Timestamp::MAX)? {
            Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => {
                Some((timestamp(begins)?, timestamp(not_after)?))
            }
            _ => None,
        }
    }

    /// The PEM files.
    #[must_use]
    pub fn pem(&self) -> &TlsPem {
        &self.pem
    }

    /// The same for a client.
    ///
    /// # Errors
    /// Of the TLS library.
    pub fn client_config(&self) -> Result<ClientConfig, String> {
        let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_root_certificates(Arc::clone(&self.roots));
        let key = PrivateKeyDer::from_pem_slice(self.pem.key.as_bytes()).map_err(|error| error.to_string())?;
        let chain = std::iter::once(&self.leaf).chain(&self.intermediates).cloned().collect();
        config.with_client_auth_cert(chain, key).map_err(|error| error.to_string())
    }

    /// Why the other side rejects the certificate, in words that say what to do.
    fn rejected(&self, other: &Self, error: &Error) -> String {
        use CertificateError::{
            BadSignature, ExpiredContext, InvalidPurposeContext, NotValidForNameContext, NotValidYetContext,
            UnknownIssuer,
        };
        let time = |time: &UnixTime| timestamp(*time).map_or_else(String::new, |time| time.to_string());
        let why = match error {
            Error::InvalidCertificate(ExpiredContext { not_after, .. }) => {
                format!("the certificate expired at {}: renew it", time(not_after))
            }
            Error::InvalidCertificate(NotValidYetContext { not_before, .. }) => {
                format!("the certificate is not valid before {}", time(not_before))
            }
            Error::InvalidCertificate(NotValidForNameContext { expected, presented }) => format!(
                "the certificate is not valid for {}, only for {}",
                expected.to_str(),
                if presented.is_empty() { "no name".to_owned() } else { names(presented) }
            ),
            // With a bad signature, an authority has the name of the issuer, and another key.
            Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
                let authorities = other.pem.names.map_or("", |names| names.authorities);
                format!("no authority in {authorities} of the Secret {} has signed the certificate", other.pem.secret)
            }
            Error::InvalidCertificate(InvalidPurposeContext { required, .. }) => {
                format!("the certificate lacks the extended key usage {required}")
            }
            error => error.to_string(),
        };
        self.pem.wrong(|names| names.certificate, &why)
    }
}

/// The names that a certificate is valid for. The TLS library renders them as `DnsName("*.c.n.svc")`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    presented.iter().map(bare).collect::<Vec<_>>().join(", ")
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn timestamp(time: UnixTime) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(time.as_secs()).ok()?).ok()
}

fn unix(now: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
