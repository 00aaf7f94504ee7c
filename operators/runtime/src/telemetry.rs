//! Logs on stderr, and traces by OTLP where the environment asks for them.
//!
//! Without `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) there is no exporter and no thread.
//! With it, spans of this crate (reconciles, requests to Kubernetes) and of the operators go out in batches by gRPC. A
//! collector that is down costs one log line when that starts and one when it ends, and never holds anything up.

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

/// How long flushing traces may hold up the end of the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// The library warns with the whole answer when one does not decode, and an answer may be a Secret. What fails is
/// reported by whoever asked. Nothing in a filter overrides this.
const UNSPOKEN: &str = "kube_client::client=error";
/// The library warns at every try of a watch that fails; the watch itself says so once, and what to do. A filter that names
/// it has it speak.
const TOLD_ONCE: &str = "kube_runtime::watcher=off";

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, fields at its top level.
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

/// Why there are no logs.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter does not parse.
    #[error("{0}")]
    Filter(String),
    /// There is a subscriber already.
    #[error("logging is set up already: {0}")]
    Twice(#[from] TryInitError),
}

/// Keeps the exporter, if there is one, until [`Telemetry::shutdown`].
#[must_use = "spans are flushed by shutdown only"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

/// Sets up logging, and tracing where the environment asks for it. `filter` is as `tracing-subscriber` reads it: a level
/// (`info`), or directives (`info,runtime=debug`). `service_name` is what traces say unless `OTEL_SERVICE_NAME` does. An
/// exporter that cannot be set up is a warning, not an error: an operator works without one. Call inside the runtime.
///
/// # Errors
/// When `filter` does not parse, or the process has a subscriber already.
pub fn init(format: LogFormat, filter: &str, service_name: &'static str) -> Result<Telemetry, TelemetryError> {
    let filter = parse_filter(filter).map_err(TelemetryError::Filter)?;
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let (provider, trouble) = match provider(service_name) {
        Ok(provider) => (provider, None),
        Err(error) => (None, Some(error)),
    };
    let registry = tracing_subscriber::registry().with(provider.as_ref().map(spans));
    match format {
        LogFormat::Text => registry.with(lines.with_filter(filter)).try_init()?,
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_filter(filter)).try_init()?,
    }
    if let Some(error) = trouble {
        tracing::warn!("no traces are exported: {error}");
    }
    Ok(Telemetry { traces: provider })
}

/// Reads a log filter.
///
/// # Errors
/// A sentence that says what is allowed.
pub fn parse_filter(filter: &str) -> Result<EnvFilter, String> {
    let allowed = "a log level is error, warn, info, debug, trace or off, or directives such as info,runtime=debug";
    // The library would take an unknown word for the name of a crate, and log nothing else.
    let word = |directive: &&str| !directive.is_empty() && !directive.contains(['=', '[']);
    if let Some(unknown) =
        filter.split(',').map(str::trim).filter(word).find(|word| !LEVELS.contains(&&*word.to_lowercase()))
    {
        return Err(format!("{allowed}, not {unknown:?}"));
    }
    EnvFilter::try_new(format!("{TOLD_ONCE},{filter},{UNSPOKEN}")).map_err(|error| format!("{allowed}: {error}"))
}

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

impl Telemetry {
    /// Sends the spans that are left; gives up after 3 s.
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
    let exporter = Quiet { exporter, failing: AtomicBool::new(false) };
    Ok(Some(SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter).build()))
}

fn spans<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    // Of what happens inside a span only warnings and errors go along; libraries' own spans do not go at all.
    let wanted = |metadata: &Metadata<'_>| {
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
        .with_filter(filter_fn(wanted).and(LevelFilter::DEBUG))
}

/// An exporter that says once that it fails, and once that it works again.
#[derive(Debug)]
struct Quiet {
    exporter: SpanExporter,
    failing: AtomicBool,
}

impl opentelemetry_sdk::trace::SpanExporter for Quiet {
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
        assert!(parse_filter("kube_client::client=trace").unwrap().to_string().contains(UNSPOKEN));
        assert!(parse_filter("runtime=loud").unwrap_err().contains("info,runtime=debug"));
    }

    #[test]
    fn formats_are_named() {
        assert_eq!("json".parse(), Ok(LogFormat::Json));
        assert_eq!(LogFormat::Text.to_string().parse(), Ok(LogFormat::Text));
        assert!("yaml".parse::<LogFormat>().unwrap_err().contains("text or json"));
    }
}
