//! The certificate of the metrics server: from files, which are reread when they change, or created at start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// The shortest time between two checks of the files. A connection triggers a check, so that an idle server does nothing.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// Accepts TLS with the certificate in `directory` (`tls.crt`, `tls.key`), or with a new self-signed one.
///
/// # Errors
/// The files are missing or unreadable, or the key is not that of the certificate.
pub(super) fn acceptor(directory: Option<&Path>) -> io::Result<TlsAcceptor> {
    let provider = Arc::new(ring::default_provider());
    let certificates: Arc<dyn ResolvesServerCert> = match directory {
        Some(directory) => Arc::new(CertificateFiles::open(directory.to_owned(), Arc::clone(&provider))?),
        None => Arc::new(StaticCertificate(Arc::new(self_signed(&provider)?))),
    };
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.map_err(io::Error::other)?.with_no_client_auth().with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Scrapes are rare: storing sessions costs more than the handshakes that it saves.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn self_signed(provider: &CryptoProvider) -> io::Result<CertifiedKey> {
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).map_err(io::Error::other)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(generated.signing_key.serialize_der()));
    CertifiedKey::from_der(vec![generated.cert.der().clone()], key, provider).map_err(io::Error::other)
}

#[derive(Debug)]
struct StaticCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for StaticCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct CertificateFiles {
    directory: PathBuf,
    provider: Arc<CryptoProvider>,
    loaded: Mutex<LoadedCertificate>,
}

#[derive(Debug)]
struct LoadedCertificate {
    key: Arc<CertifiedKey>,
    changed: Option<[SystemTime; 2]>,
    checked_at: Instant,
}

impl CertificateFiles {
    fn open(directory: PathBuf, provider: Arc<CryptoProvider>) -> io::Result<Self> {
        let changed = changed(&directory);
        let key = Arc::new(load(&directory, &provider)?);
        Ok(Self {
            directory,
            provider,
            loaded: Mutex::new(LoadedCertificate { key, changed, checked_at: Instant::now() }),
        })
    }

    fn current(&self, now: Instant) -> Arc<CertifiedKey> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(loaded.checked_at) >= RELOAD_INTERVAL {
            loaded.checked_at = now;
            let changed = changed(&self.directory);
            if changed != loaded.changed {
                loaded.changed = changed;
                match load(&self.directory, &self.provider) {
                    Ok(key) => loaded.key = Arc::new(key),
                    Err(error) => {
                        tracing::warn!("cannot load the certificate for metrics: {error}; serving the previous one")
                    }
                }
            }
        }
        Arc::clone(&loaded.key)
    }
}

impl ResolvesServerCert for CertificateFiles {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current(Instant::now()))
    }
}

fn changed(directory: &Path) -> Option<[SystemTime; 2]> {
    let modified = |name| directory.join(name).metadata().and_then(|metadata| metadata.modified()).ok();
    Some([modified("tls.crt")?, modified("tls.key")?])
}

fn load(directory: &Path, provider: &CryptoProvider) -> io::Result<CertifiedKey> {
    let (certificate, key) = (directory.join("tls.crt"), directory.join("tls.key"));
    let unusable = |path: &Path, why: &dyn std::fmt::Display| io::Error::other(format!("{}: {why}", path.display()));
    let chain: Vec<_> = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(&certificate, &error))?;
    if chain.is_empty() {
        return Err(unusable(&certificate, &"contains no certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| unusable(&key, &error))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| unusable(&certificate, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path) {
        let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(directory.join("tls.crt"), generated.cert.pem()).unwrap();
        std::fs::write(directory.join("tls.key"), generated.signing_key.serialize_pem()).unwrap();
    }

    #[test]
    fn changed_files_are_reread_and_an_invalid_one_keeps_the_certificate() {
        let directory = std::env::temp_dir().join(format!("metrics-cert-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        assert!(acceptor(Some(&directory)).is_err_and(|error| error.to_string().contains("tls.crt")));
        write(&directory);
        let files = CertificateFiles::open(directory.clone(), Arc::new(ring::default_provider())).unwrap();
        let (start, first) = (Instant::now(), files.current(Instant::now()));

        std::thread::sleep(Duration::from_millis(20));
        write(&directory);
        assert_eq!(files.current(start).cert, first.cert, "reloaded too early");
        let second = files.current(start + RELOAD_INTERVAL * 2);
        assert_ne!(second.cert, first.cert);

        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(directory.join("tls.crt"), "junk").unwrap();
        assert_eq!(files.current(start + RELOAD_INTERVAL * 4).cert, second.cert);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn without_a_directory_a_certificate_is_created() {
        assert!(acceptor(None).is_ok());
    }
}
