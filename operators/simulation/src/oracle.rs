//! What must be true of every run, whatever happens.

use crate::api_server::state::{AuditEntry, StoredState};
use crate::scenario::Scenario;
use audit::about;
pub(crate) use audit::is_manager;
use jiff::Timestamp;

mod audit;
mod end;
mod honesty;
mod writers;

/// The violated properties, each as a sentence.
#[must_use]
pub fn violations(state: &StoredState, scenario: &Scenario) -> Vec<String> {
    let mut found: Vec<String> =
        state.unmodelled().iter().map(|what| format!("the model of the API server lacks {what}")).collect();
    found.extend(writers::violations(state));
    found.extend(honesty::violations(state));
    found.extend(end::violations(state, scenario));
    found.extend(deletions(state, scenario));
    let writes = state.audit().iter().filter(|entry| is_manager(entry)).count();
    let most = scenario.most_writes;
    if writes > most {
        found.push(format!("the managers sent {writes} writes, more than {most}"));
    }
    found
}

/// What the managers deleted although they must not.
fn deletions(state: &StoredState, scenario: &Scenario) -> Vec<String> {
    let of_manager =
        state.audit().iter().filter(|entry| is_manager(entry) && entry.verb == "delete" && entry.code < 300);
    let kept = of_manager.filter(|entry| {
        let kind = state.kinds().get(entry.kind);
        kind.is_some_and(|kind| scenario.kept.contains(&kind.plural.as_str()))
    });
    kept.map(|entry| format!("{} deleted {}", entry.user, about(state, entry))).collect()
}

/// When an object was last changed whose kind is none of `ignored`.
#[must_use]
pub fn last_write(state: &StoredState, ignored: &[&str]) -> Option<Timestamp> {
    let counts = |entry: &&AuditEntry| {
        let kind = state.kinds().get(entry.kind);
        entry.changed && kind.is_some_and(|kind| !ignored.contains(&kind.plural.as_str()))
    };
    state.audit().iter().rev().find(counts).map(|entry| entry.now)
}

/// The lines that all writes are in the story: the second, who, and what.
#[must_use]
pub fn writes(state: &StoredState) -> Vec<(f64, String, String)> {
    let Some(begun) = state.audit().first().map(|entry| entry.now) else { return Vec::new() };
    let line = |entry: &AuditEntry| {
        let unchanged = if entry.changed || entry.code >= 300 { "" } else { ", which changes nothing" };
        let what = format!("{} {}: {}{unchanged}", entry.verb, about(state, entry), entry.code);
        (entry.now.duration_since(begun).as_secs_f64(), entry.user.clone(), what)
    };
    state.audit().iter().map(line).collect()
}
