//! Traces reach a real OTLP receiver, and a receiver that is not there holds nothing up.
//!
//! The environment decides what is exported, and a process cannot change its own safely: each test runs itself again in a
//! child process, whose environment has `OTLP_TEST_CHILD`, and which only emits.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use runtime::telemetry::{LogFormat, init};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

struct Receiver(mpsc::UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Says to a test that it is the child process.
const CHILD: &str = "OTLP_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs `test` of this file again, as a child process that exports to `endpoint`; returns what it logged.
async fn run(test: &str, endpoint: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "yes")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_RESOURCE_ATTRIBUTES", "cluster=test")
        .env("OTEL_BSP_SCHEDULE_DELAY", "100")
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
        .output()
        .await
        .unwrap();
    // A child that ran no test would have logged nothing wrong.
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{log}");
    log
}

#[tokio::test(flavor = "multi_thread")]
async fn a_span_of_a_reconcile_arrives_with_its_attributes() {
    if is_child() {
        return emit_one_span().await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::builder().add_service(TraceServiceServer::new(Receiver(sender)));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

    let log = run("a_span_of_a_reconcile_arrives_with_its_attributes", &format!("http://{address}")).await;
    assert!(log.contains("a line for people") && !log.contains('\u{1b}'), "{log}");

    let export = received.recv().await.unwrap().resource_spans.remove(0);
    let resource = export.resource.unwrap();
    let resource = attributes(&resource.attributes);
    assert_eq!(resource["service.name"], "otlp-test");
    assert_eq!(resource["cluster"], "test");
    let spans: Vec<_> = export.scope_spans.iter().flat_map(|scope| &scope.spans).collect();
    assert_eq!(spans.len(), 1, "only ours: {spans:?}");
    assert_eq!(spans[0].name, "reconcile");
    let span = attributes(&spans[0].attributes);
    for (name, value) in
        [("controller", "my-app"), ("namespace", "shop"), ("name", "web"), ("generation", "7"), ("attempt", "2")]
    {
        assert_eq!(span[name], value, "{name}");
    }
    let events: Vec<_> = spans[0].events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["a warning goes along"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_not_there_costs_one_line_and_no_time() {
    if is_child() {
        return emit_for_two_seconds().await;
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let log = run("a_receiver_that_is_not_there_costs_one_line_and_no_time", &format!("http://{gone}")).await;
    assert_eq!(log.matches("traces cannot be exported").count(), 1, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_makes_no_sense_is_a_warning() {
    if is_child() {
        return emit_one_span().await;
    }
    let log = run("an_endpoint_that_makes_no_sense_is_a_warning", "http://not an endpoint").await;
    assert!(log.contains("no traces are exported") && log.contains("a line for people"), "{log}");
}

async fn emit_one_span() {
    let telemetry = init(LogFormat::Text, "info", "otlp-test").unwrap();
    emit();
    tracing::info!("a line for people");
    let _foreign = tracing::info_span!(target: "hyper::client", "not ours").entered();
    telemetry.shutdown().await;
}

async fn emit_for_two_seconds() {
    let telemetry = init(LogFormat::Json, "info", "otlp-test").unwrap();
    let start = Instant::now();
    for _ in 0..20 {
        emit();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(start.elapsed() < Duration::from_secs(30), "emitting blocks");
    let start = Instant::now();
    telemetry.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(30), "flushing blocks");
}

fn emit() {
    let span = tracing::info_span!(
        "reconcile",
        controller = "my-app",
        namespace = "shop",
        name = "web",
        generation = 7_i64,
        attempt = 2_u32
    );
    span.in_scope(|| {
        tracing::info!("does not go along");
        tracing::warn!("a warning goes along");
    });
}

fn attributes(list: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |value: &KeyValue| match value.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    list.iter().map(|attribute| (attribute.key.as_str(), text(attribute))).collect()
}
