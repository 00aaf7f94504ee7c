//! Logs on stderr, and traces with OTLP if the environment enables them.
//!
//! Without `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) there is no exporter and no thread. With it,
//! spans of this crate (reconciles, requests to Kubernetes) and of the operators are sent in batches with gRPC. A collector that
//! cannot be reached causes one log line at the beginning and one at the end, and never delays anything.

use std::fmt;
use std::io::IsTerminal;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{EnvFilter, FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// How long the flush of traces may delay the end of the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// The library logs the complete response if it does not decode, and a response may be a Secret. The caller reports the failure.
/// No filter overrides this.
const NO_RESPONSES: &str = "kube_client::client=error";
/// The library logs every attempt of a failing watch; our watch reports it once, with what to do. A filter with this target
/// enables it.
const NO_WATCH_ATTEMPTS: &str = "kube_runtime::watcher=off";

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for users.
    #[default]
    Text,
    /// One JSON object per line, with the fields at its top level.
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("a log format is text or json".to_owned()),
        }
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter does not parse.
    #[error("{0}")]
    Filter(String),
    /// There is a subscriber already.
    #[error("logging is set up already: {0}")]
    Twice(#[from] TryInitError),
}

/// Holds the exporter, if there is one, until [`Telemetry::shutdown`].
#[must_use = "spans are flushed by shutdown only"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

/// Sets up logging, and tracing if the environment enables it. `filter` has the syntax of `tracing-subscriber`: a level (`info`),
/// or directives (`info,runtime=debug`). `service_name` is the service of traces unless `OTEL_SERVICE_NAME` is set. An exporter
/// that cannot be set up is a warning, not an error: an operator works without one. Must be called in the tokio runtime.
///
/// # Errors
/// If `filter` does not parse, or the process has a subscriber already.
pub fn init(format: LogFormat, filter: &str, service_name: &'static str) -> Result<Telemetry, TelemetryError> {
    let filter = parse_filter(filter).map_err(TelemetryError::Filter)?;
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let (provider, error) = match provider(service_name) {
        Ok(provider) => (provider, None),
        Err(error) => (None, Some(error)),
    };
    let registry = tracing_subscriber::registry().with(provider.as_ref().map(spans));
    match format {
        LogFormat::Text => registry.with(lines.with_filter(filter)).try_init()?,
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_filter(filter)).try_init()?,
    }
    if let Some(error) = error {
        tracing::warn!("no traces are exported: {error}");
    }
    Ok(Telemetry { traces: provider })
}

/// Reads a log filter.
///
/// # Errors
/// A message with what is allowed.
pub fn parse_filter(filter: &str) -> Result<EnvFilter, String> {
    let allowed = "a log level is error, warn, info, debug, trace or off, or directives such as info,runtime=debug";
    // The library would take an unknown level for the name of a crate, and log nothing else.
    let word = |directive: &&str| !directive.is_empty() && !directive.contains(['=', '[']);
    if let Some(unknown) =
        filter.split(',').map(str::trim).filter(word).find(|word| !LEVELS.contains(&&*word.to_lowercase()))
    {
        return Err(format!("{allowed}, not {unknown:?}"));
    }
    EnvFilter::try_new(format!("{NO_WATCH_ATTEMPTS},{filter},{NO_RESPONSES}"))
        .map_err(|error| format!("{allowed}: {error}"))
}

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

impl Telemetry {
    /// Sends the remaining spans; gives up after 3 s.
    pub async fn shutdown(self) {
        let Some(provider) = self.traces else { return };
        let flushed = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH_TIMEOUT)).await;
        if !matches!(flushed, Ok(Ok(()))) {
            tracing::debug!("the last spans were not exported");
        }
    }
}

fn provider(service_name: &'static str) -> Result<Option<SdkTracerProvider>, ExporterBuildError> {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let off = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true"))
        || std::env::var("OTEL_TRACES_EXPORTER").is_ok_and(|value| value == "none");
    if off || !(set("OTEL_EXPORTER_OTLP_ENDPOINT") || set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) {
        return Ok(None);
    }
    let exporter = SpanExporter::builder().with_tonic().build()?;
    let mut resource = Resource::builder();
    if !set("OTEL_SERVICE_NAME") {
        resource = resource.with_service_name(service_name);
    }
    let exporter = LoggingExporter { exporter, failing: AtomicBool::new(false) };
    Ok(Some(SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter).build()))
}

fn spans<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    // Of the events in a span, only warnings and errors are sent; spans of libraries are not sent.
    let selected = |metadata: &Metadata<'_>| {
        let ours = !["hyper", "h2", "tonic", "tower", "kube", "opentelemetry", "rustls"]
            .iter()
            .any(|library| metadata.target().starts_with(library));
        ours && (metadata.is_span() || *metadata.level() <= Level::WARN)
    };
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("multi-operator"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(selected).and(LevelFilter::DEBUG))
}

/// An exporter that logs once that it fails, and once that it works again.
#[derive(Debug)]
struct LoggingExporter {
    exporter: SpanExporter,
    failing: AtomicBool,
}

impl opentelemetry_sdk::trace::SpanExporter for LoggingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        let failed = result.is_err();
        if self.failing.swap(failed, Ordering::Relaxed) != failed {
            match &result {
                Ok(()) => tracing::info!("traces are exported again"),
                Err(error) => tracing::warn!("traces cannot be exported: {error}"),
            }
        }
        result
    }

    fn shutdown_with_timeout(&self, limit: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(limit)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_levels_or_directives() {
        for filter in ["info", "debug,hyper=warn", "off", "runtime=trace"] {
            assert!(parse_filter(filter).is_ok(), "{filter}");
        }
        assert!(parse_filter("kube_client::client=trace").unwrap().to_string().contains(NO_RESPONSES));
        assert!(parse_filter("runtime=loud").unwrap_err().contains("info,runtime=debug"));
    }

    #[test]
    fn formats_are_named() {
        assert_eq!("json".parse(), Ok(LogFormat::Json));
        assert_eq!(LogFormat::Text.to_string().parse(), Ok(LogFormat::Text));
        assert!("yaml".parse::<LogFormat>().unwrap_err().contains("text or json"));
    }
}
