//! Pure: rollback to the last image that was Ready, by `spec.rollback`.
//!
//! A rollback takes two reconciles: the first reports it in the status, the second applies the previous image. So a manager that restarts
//! in between does not apply the failed image again, and there is no rollback if the API server rejects the status because the spec has
//! changed meanwhile.

use api::my_app::{Rollback, RolledBack};
use jiff::Timestamp;
use runtime::plan::ChildState;
use runtime::plan::child::OwnedChild;
use runtime::projections::Deployment;
use serde_json::{Value, json};

use super::deadline::{self, RolloutDeadline};
use super::desired_state::DesiredDeployment;
use super::status::PodFailures;
use super::{Observed, objects};
use crate::MyApp;

/// The cause of a failure is truncated to this many characters.
const MAX_CHARS: usize = 400;

/// Which image the pods are to run.
#[derive(Debug)]
pub(super) struct RollbackDecision<'a> {
    /// That image; `None` leaves the Deployment unchanged in this reconcile.
    pub(super) image: Option<&'a str>,
    /// The specified image, if it was given up for another one.
    pub(super) given_up: Option<RolledBack>,
}

/// Decides which image the pods are to run.
pub(super) fn decide<'a>(
    observed: &'a Observed,
    desired: &DesiredDeployment<'_>,
    now: Timestamp,
) -> RollbackDecision<'a> {
    let app = &*observed.app;
    let specified = RollbackDecision { image: Some(&app.spec.image), given_up: None };
    let Some(last) = target(app) else { return specified };
    if let Some(before) =
        app.status.rolled_back_from.as_ref().filter(|before| stays_given_up(observed, desired, before, last))
    {
        let given_up = RolledBack { generation: app.meta.generation, ..before.clone() };
        return RollbackDecision { image: Some(last), given_up: Some(given_up) };
    }
    match failure(observed, desired, now) {
        Some(message) => {
            let given_up = RolledBack { image: app.spec.image.clone(), generation: app.meta.generation, message };
            RollbackDecision { image: None, given_up: Some(given_up) }
        }
        None => specified,
    }
}

/// The image to roll back to, if rollback is automatic and there is one.
fn target(app: &MyApp) -> Option<&str> {
    let last = app.status.image.as_deref().filter(|last| *last != app.spec.image);
    last.filter(|_| app.spec.rollback == Rollback::Automatic)
}

/// Why there is no rollback although it is automatic, as a message. If the failed image is the last Ready one, only once the deadline has
/// passed.
pub(super) fn impossible(app: &MyApp, deadline: &RolloutDeadline<'_>) -> Option<&'static str> {
    let is_exceeded = matches!(deadline, RolloutDeadline::Passed(_));
    match &app.status.image {
        _ if app.spec.rollback == Rollback::None => None,
        None => Some("cannot roll back: no image of this MyApp has been Ready yet"),
        Some(last) => (is_exceeded && *last == app.spec.image)
            .then_some("cannot roll back: a rollback restores only the image, and this image was Ready before"),
    }
}

/// Whether the image stays given up: the spec is unchanged, or of all that the Deployment is built from, only the number of pods differs,
/// which autoscalers change.
fn stays_given_up(observed: &Observed, desired: &DesiredDeployment<'_>, before: &RolledBack, last: &str) -> bool {
    let app = &*observed.app;
    let same = || match &observed.deployment {
        ChildState::Owned(live) => {
            [last, &app.spec.image].into_iter().any(|image| differs_only_in_replicas(desired, image, live))
        }
        ChildState::Terminating | ChildState::Undecodable(_) => true,
        ChildState::Absent => false,
    };
    before.image == app.spec.image && (before.generation == app.meta.generation || same())
}

fn differs_only_in_replicas(desired: &DesiredDeployment<'_>, image: &str, live: &OwnedChild<Deployment>) -> bool {
    let mut apply = desired.deployment(image);
    apply.body["spec"]["replicas"] = if live.owns_replicas { json!(live.replicas) } else { Value::Null };
    // Or the form that the operator applies for a moment while the Deployment's controller is stuck.
    let without_pace = objects::without_pace(&apply);
    [apply, without_pace].iter().any(|apply| apply.matches(live.fingerprint, &live.additions))
}

/// Why the specified image has failed, as a message; `None` if it has not.
fn failure(observed: &Observed, desired: &DesiredDeployment<'_>, now: Timestamp) -> Option<String> {
    let app = &*observed.app;
    let live = observed.deployment.owned().filter(|live| !live.paused && !app.spec.paused)?;
    let RolloutDeadline::Passed(condition) = deadline::of(&observed.app, live, now) else { return None };
    let is_specified = desired.deployment(&app.spec.image).matches(live.fingerprint, &live.additions);
    let rollout = &live.rollout;
    let observed_now = rollout.observed_generation >= live.meta.generation;
    let all_ready = [rollout.updated_replicas, rollout.ready_replicas] == [rollout.replicas; 2];
    if !is_specified || !observed_now || (all_ready && rollout.replicas == live.replicas) {
        return None;
    }
    let why = PodFailures::of(observed, now).worst().unwrap_or_else(|| condition.message.clone());
    Some(match why.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", &why[..end]),
        None => why,
    })
}

/// The condition message of a rollback.
pub(super) fn message(app: &MyApp, given_up: &RolledBack) -> String {
    let last = app.status.image.as_deref().unwrap_or_default();
    format!(
        "rolled back to {last}: {} made no progress for {} s (progressDeadlineSeconds): {}; change the spec to try again",
        given_up.image,
        deadline::seconds(app),
        given_up.message
    )
}
