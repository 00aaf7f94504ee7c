//! The files with a certificate that the kubelet mounts from a Secret, and how etcd, etcdctl and the agent itself use them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_protocol::TlsFileNames;
use rustls::pki_types::pem::PemObject as _;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use crate::failure::{CommandFailure, Reason};

/// The files of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    authorities: PathBuf,
}

impl TlsFiles {
    /// The files in a directory, which have the names of one of these layouts.
    pub(crate) fn find(directory: &Path, layouts: &[TlsFileNames; 2]) -> Result<Self, CommandFailure> {
        let names = TlsFileNames::find(layouts, |name| directory.join(name).is_file());
        let names = names.map_err(|why| {
            CommandFailure::new(
                Reason::BadInput,
                format!("the Secret in {} cannot be used: {why}", directory.display()),
            )
        })?;
        let file = |name| directory.join(name);
        Ok(Self { certificate: file(names.certificate), key: file(names.key), authorities: file(names.authorities) })
    }

    /// etcd's flags for connections between members.
    pub(crate) fn peer_flags(&self) -> [String; 4] {
        self.flags("peer-cert-file", "peer-key-file", "peer-trusted-ca-file", "peer-client-cert-auth")
    }

    /// etcd's flags for its listener for clients.
    pub(crate) fn server_flags(&self) -> [String; 4] {
        self.flags("cert-file", "key-file", "trusted-ca-file", "client-cert-auth")
    }

    fn flags(&self, certificate: &str, key: &str, authorities: &str, verify: &str) -> [String; 4] {
        [
            format!("--{certificate}={}", self.certificate.display()),
            format!("--{key}={}", self.key.display()),
            format!("--{authorities}={}", self.authorities.display()),
            format!("--{verify}=true"),
        ]
    }

    /// etcdctl's flags.
    pub(crate) fn etcdctl_flags(&self) -> [String; 3] {
        [
            format!("--cert={}", self.certificate.display()),
            format!("--key={}", self.key.display()),
            format!("--cacert={}", self.authorities.display()),
        ]
    }

    /// The same for requests of the agent.
    pub(crate) fn client_config(&self) -> Result<TlsConfig, CommandFailure> {
        let roots = certificates(&self.authorities)?;
        let key = PrivateKey::from_pem(&read(&self.key)?).map_err(|error| unusable(&self.key, &error.to_string()))?;
        let client = ClientCert::new_with_certs(&certificates(&self.certificate)?, key);
        let config = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .client_cert(Some(client))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        Ok(config.build())
    }
}

fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>, CommandFailure> {
    let wrong = |error: rustls::pki_types::pem::Error| unusable(file, &error.to_string());
    let parsed = rustls::pki_types::CertificateDer::pem_file_iter(file).map_err(wrong)?;
    parsed.map(|der| der.map(|der| Certificate::from_der(&der).to_owned()).map_err(wrong)).collect()
}

fn read(file: &Path) -> Result<Vec<u8>, CommandFailure> {
    std::fs::read(file).map_err(|error| unusable(file, &error.to_string()))
}

fn unusable(file: &Path, why: &str) -> CommandFailure {
    CommandFailure::new(Reason::BadInput, format!("{} cannot be used: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_name_the_files_that_are_there() {
        let directory = std::env::temp_dir().join(format!("agent-tls-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let failure = TlsFiles::find(&directory, &TlsFileNames::PEER).unwrap_err();
        assert_eq!(failure.reason(), Reason::BadInput);
        assert!(failure.message().contains("it has neither peer.crt"), "{}", failure.message());
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            std::fs::write(directory.join(name), "x").unwrap();
        }
        let files = TlsFiles::find(&directory, &TlsFileNames::PEER).unwrap();
        let path = |name: &str| directory.join(name).display().to_string();
        assert_eq!(
            files.peer_flags(),
            [
                format!("--peer-cert-file={}", path("tls.crt")),
                format!("--peer-key-file={}", path("tls.key")),
                format!("--peer-trusted-ca-file={}", path("ca.crt")),
                "--peer-client-cert-auth=true".to_owned(),
            ]
        );
        assert_eq!(files.server_flags()[3], "--client-cert-auth=true");
        assert_eq!(files.etcdctl_flags()[2], format!("--cacert={}", path("ca.crt")));
        assert!(files.client_config().unwrap_err().message().contains("tls.key cannot be used"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
