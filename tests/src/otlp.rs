//! A receiver of traces, as a collector is: OTLP by gRPC.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Receiver {
    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` is to be.
    pub endpoint: String,
    received: Arc<Mutex<Vec<Span>>>,
    server: JoinHandle<()>,
}

/// A span that arrived.
#[derive(Clone, Debug)]
pub struct Span {
    /// `service.name` of who sent it.
    pub service: String,
    /// What it is called.
    pub name: String,
    /// Its id.
    pub id: Vec<u8>,
    /// The id of the span around it; empty if none.
    pub parent: Vec<u8>,
    /// Its attributes.
    pub attributes: BTreeMap<String, String>,
}

struct Service(Arc<Mutex<Vec<Span>>>);

impl Receiver {
    /// Starts on a port of its own.
    ///
    /// # Errors
    /// If there is no port to be had.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let received = Arc::<Mutex<Vec<Span>>>::default();
        let router = Server::builder().add_service(TraceServiceServer::new(Service(received.clone())));
        let server = tokio::spawn(async move {
            // Ends with the task; a failure shows as spans that do not arrive.
            drop(router.serve_with_incoming(TcpIncoming::from(listener)).await);
        });
        Ok(Self { endpoint, received, server })
    }

    /// Every span so far.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for export in request.into_inner().resource_spans {
            let resource = attributes(&export.resource.unwrap_or_default().attributes);
            let service = resource.get("service.name").cloned().unwrap_or_default();
            for span in export.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                received.push(Span {
                    service: service.clone(),
                    name: span.name,
                    id: span.span_id,
                    parent: span.parent_span_id,
                    attributes: attributes(&span.attributes),
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &KeyValue| match value.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    list.iter().map(|attribute| (attribute.key.clone(), text(attribute))).collect()
}
