//! One put after another, with a new connection after each failure.

use std::path::Path;
use std::time::Duration;

use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use tokio::time::timeout;

use crate::record::Record;

/// How long a put may take. A member that has lost its leader holds it for longer.
const PUT: Duration = Duration::from_millis(1500);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_millis(500);
/// Before the next try after a failure, so that refusals do not come by the thousand.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// The directory with the certificate.
const CERTIFICATE: &str = "/tls";

/// All keys begin so; those of a writer with TLS, which may write next to one without, in another way.
pub const PREFIX: &str = "writer/";
const TLS_PREFIX: &str = "writer-tls/";

/// Where it writes, and what it has written.
pub struct Writing {
    /// The cluster's client service.
    pub endpoint: String,
    /// What came of it.
    pub record: Record,
    padding: String,
    client: Option<Client>,
}

impl Writing {
    /// Nothing is written yet; values are to have so many bytes more than their number.
    pub fn new(endpoint: String, bytes: usize) -> Self {
        Self { endpoint, record: Record::default(), padding: "x".repeat(bytes), client: None }
    }

    /// Writes the next number.
    pub async fn put(&mut self) {
        let number = self.record.next();
        let client = match self.client.take() {
            Some(client) => Ok(client),
            None => connect(&self.endpoint).await,
        };
        let tried = match client {
            Ok(mut client) => match timeout(PUT, client.put(self.key(number), self.value(number), None)).await {
                Ok(Ok(done)) => {
                    self.client = Some(client);
                    Ok(done.header().map_or(0, |header| header.revision()))
                }
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {PUT:?}")),
            },
            Err(error) => Err(error.to_string()),
        };
        match tried {
            Ok(revision) => self.record.acknowledge(number, revision),
            Err(error) => {
                self.record.fail(number, error);
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }

    /// How all keys begin.
    pub fn prefix(&self) -> &'static str {
        if self.endpoint.starts_with("https://") { TLS_PREFIX } else { PREFIX }
    }

    /// The key of a number. Their order is that of the numbers.
    pub fn key(&self, number: u64) -> String {
        format!("{}{number:010}", self.prefix())
    }

    /// What is written under that number.
    pub fn value(&self, number: u64) -> String {
        format!("{number}{}", self.padding)
    }
}

/// A client of one address, which is connected by its first call.
pub async fn connect(endpoint: &str) -> Result<Client, etcd_client::Error> {
    let options = ConnectOptions::new().with_connect_timeout(CONNECT);
    let options = if endpoint.starts_with("https://") { options.with_tls(tls()?) } else { options };
    Client::connect([endpoint], Some(options)).await
}

/// Read for each connection: the files change when the certificate is renewed.
fn tls() -> std::io::Result<TlsOptions> {
    let file = |name: &str| std::fs::read(Path::new(CERTIFICATE).join(name));
    let identity = Identity::from_pem(file("tls.crt")?, file("tls.key")?);
    Ok(TlsOptions::new().ca_certificate(Certificate::from_pem(file("ca.crt")?)).identity(identity))
}
