//! Certificates of hosts, in Secrets as Ingresses name them.

use std::path::{Path, PathBuf};

use e2e::namespace::Namespace;
use serde_json::json;

/// A certificate that vouches for itself; its file is deleted when dropped.
pub(crate) struct Certificate {
    file: PathBuf,
    certificate: String,
    key: String,
}

impl Certificate {
    /// A new one for that host.
    pub(crate) fn of(host: &str) -> Self {
        let created = rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate can be created");
        let (certificate, key) = (created.cert.pem(), created.signing_key.serialize_pem());
        let file = std::env::temp_dir().join(format!("{host}-{}.pem", std::process::id()));
        std::fs::write(&file, &certificate).expect("a temporary file can be written");
        Self { file, certificate, key }
    }

    /// For clients, to know it by.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Puts it into the Secret, new or not.
    pub(crate) async fn put(&self, ns: &Namespace, secret: &str) {
        let data = json!({ "tls.crt": self.certificate, "tls.key": self.key });
        let metadata = json!({ "name": secret });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "stringData": data,
        });
        ns.apply(&secret.to_string()).await;
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        std::fs::remove_file(&self.file).ok();
    }
}
