//! Traces, as a collector gets them from a manager that works.

use e2e::otlp::Receiver;
use e2e::process::Launch;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

pub async fn spans_of_reconciles_reach_a_collector(stage: Stage) -> Result<(), Failure> {
    let (install, collector) = (stage.install().await?, Receiver::start().await?);
    let mut manager = Launch::default()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)
        .env("OTEL_BSP_SCHEDULE_DELAY", "200")
        .start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    stage.sample("kept", "kept").await?;
    stage.sample_kept("kept", "kept", DEFAULT_TIMEOUT).await?;
    let span = eventually("a span of the Sample's reconcile", DEFAULT_TIMEOUT, || async {
        let spans = collector.spans();
        let of_it =
            |name: &str| spans.iter().find(|s| s.name == name && s.attributes.get("name").is_some_and(|n| n == "kept"));
        of_it("reconcile").cloned().ok_or_else(|| format!("{spans:?}"))
    })
    .await?;
    let expected = [
        ("controller", "sample"),
        ("namespace", &*stage.name),
        ("name", "kept"),
        ("generation", "1"),
        ("attempt", "1"),
    ];
    for (name, value) in expected {
        ensure(span.attributes.get(name).is_some_and(|found| found == value), || {
            format!("{name} is to be {value}: {span:?}")
        })?;
    }
    ensure(span.service == "manager", || format!("the service is called {}", span.service))?;
    // The requests of a reconcile are its child spans, without any token.
    let spans = collector.spans();
    ensure(spans.iter().any(|below| below.parent == span.id), || format!("nothing below {span:?}: {spans:?}"))?;
    ensure(!format!("{spans:?}").contains(&install.token), || "a token is in a span".to_owned())
}
