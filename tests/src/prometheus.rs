//! A Prometheus that scrapes the manager, as an administrator on duty sees it: which alerts fire, by its HTTP API.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::kubectl::run;
use crate::wait::wait_until;

/// How long an alert may take: its `for`, divided as `scripts/monitoring up --faster` says, on a machine that is busy.
const ALERT_TIMEOUT: Duration = Duration::from_secs(240);

#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    alerts: Vec<Alert>,
}

/// An alert that is pending or fires.
#[derive(Clone, Debug, Deserialize)]
pub struct Alert {
    /// Its name, severity, and what it is about.
    pub labels: BTreeMap<String, String>,
    /// What an alert says to a person.
    pub annotations: BTreeMap<String, String>,
    /// `pending` or `firing`.
    pub state: String,
}

impl Alert {
    fn is(&self, name: &str, about: &[(&str, &str)]) -> bool {
        let bears = |(label, value): &(&str, &str)| self.labels.get(*label).is_some_and(|found| found == value);
        bears(&("alertname", name)) && about.iter().all(bears)
    }
}

/// All that are pending or fire.
///
/// # Errors
/// A message, if Prometheus does not answer.
pub async fn alerts() -> Result<Vec<Alert>, String> {
    let url = std::env::var("MULTI_OPERATOR_PROMETHEUS").unwrap_or_default();
    assert!(
        !url.is_empty(),
        "these tests need a Prometheus with our rules: scripts/monitoring up --faster 20, then eval \"$(scripts/monitoring env)\""
    );
    let answer =
        run("", "curl", &["--silent", "--show-error", "--max-time", "60", &format!("{url}/api/v1/alerts")]).await;
    if !answer.success {
        return Err(answer.stderr);
    }
    let answer: Answer = serde_json::from_str(&answer.stdout).map_err(|error| format!("{error}: {}", answer.stdout))?;
    Ok(answer.data.alerts)
}

/// Waits until an alert with these labels fires; returns what it says to a person.
pub async fn fires(name: &str, about: &[(&str, &str)]) -> Alert {
    let begun = Instant::now();
    let alert = wait_until(&format!("{name} of {about:?} to fire"), ALERT_TIMEOUT, || async {
        let all = alerts().await?;
        let found = all.iter().find(|alert| alert.is(name, about) && alert.state == "firing");
        found
            .cloned()
            .ok_or_else(|| format!("{:?}", all.iter().filter(|alert| alert.is(name, &[])).collect::<Vec<_>>()))
    })
    .await;
    println!("{name} fires after {:.0?}: {}", begun.elapsed(), alert.annotations["summary"]);
    alert
}

/// Waits until no alert with these labels fires or is about to.
pub async fn resolves(name: &str, about: &[(&str, &str)]) {
    let begun = Instant::now();
    wait_until(&format!("{name} of {about:?} to be over"), ALERT_TIMEOUT, || async {
        match alerts().await?.iter().find(|alert| alert.is(name, about)) {
            None => Ok(()),
            Some(alert) => Err(format!("{alert:?}")),
        }
    })
    .await;
    println!("{name} is over after {:.0?}", begun.elapsed());
}

/// That no alert with these labels fires now.
///
/// # Panics
/// If one does, or Prometheus does not answer.
pub async fn is_silent(name: &str, about: &[(&str, &str)]) {
    let all = alerts().await.unwrap_or_else(|error| panic!("Prometheus does not answer: {error}"));
    let fires: Vec<_> = all.iter().filter(|alert| alert.is(name, about) && alert.state == "firing").collect();
    assert!(fires.is_empty(), "{fires:?}");
}
