//! The HTTP client of an object store: the one that the manager has, too, with the same TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::failure::{CommandFailure, Reason};

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the store may take until it answers a request, whose body is one part of an upload at most.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Makes the client of a store.
#[derive(Clone, Debug)]
pub(super) struct StoreConnector(Client<HttpsConnector<HttpConnector>, HttpRequestBody>);

impl StoreConnector {
    /// A client that trusts public authorities, or only those in the file.
    pub(super) fn new(ca: Option<&Path>) -> Result<Self, CommandFailure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let versions = versions.map_err(|error| CommandFailure::new(Reason::ToolFailed, error.to_string()))?;
        let config = versions.with_root_certificates(roots(ca)?).with_no_client_auth();
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self(Client::builder(TokioExecutor::new()).build(connector)))
    }
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, CommandFailure> {
    let Some(file) = ca else {
        return Ok(RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()));
    };
    let wrong = |why: String| {
        CommandFailure::new(
            Reason::BadInput,
            format!("{}, the certificates of the store's authority: {why}", file.display()),
        )
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("it has none".to_owned())) } else { Ok(roots) }
}

impl object_store::client::HttpConnector for StoreConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for StoreConnector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = tokio::time::timeout(RESPONSE_TIMEOUT, self.0.request(request)).await;
        let answer = answer.map_err(|elapsed| HttpError::new(HttpErrorKind::Timeout, elapsed))?;
        let (parts, body) = answer.map_err(|error| HttpError::new(kind(&error), error))?.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

fn kind(error: &hyper_util::client::legacy::Error) -> HttpErrorKind {
    if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request }
}
