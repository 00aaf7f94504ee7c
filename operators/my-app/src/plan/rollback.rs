//! Pure: the way back to the last image that was Ready, by `spec.rollback`.
//!
//! An image is given up in two reconciles: the first reports it in the status, the second applies the image before. So a manager that
//! dies in between does not take the Deployment with the image before for one that has yet to get the specified image, and a
//! status that is refused, since the spec has changed meanwhile, gives up nothing.

use api::my_app::{Rollback, RolledBack};
use jiff::Timestamp;
use runtime::plan::ChildState;
use runtime::plan::child::OwnedChild;
use runtime::projections::Deployment;
use serde_json::{Value, json};

use super::deadline::{self, Deadline};
use super::desired_state::Desired;
use super::status::Pods;
use super::{Observed, objects};
use crate::MyApp;

/// The cause of a failure is cut to this many characters.
const MAX_CHARS: usize = 400;

/// Which image the pods are to run.
#[derive(Debug)]
pub(super) struct RollbackDecision<'a> {
    /// That image; `None` leaves the Deployment unchanged in this reconcile.
    pub(super) image: Option<&'a str>,
    /// What is given up, if that is not the specified image.
    pub(super) given_up: Option<RolledBack>,
}

/// Decides.
pub(super) fn decide<'a>(observed: &'a Observed, desired: &Desired<'_>, now: Timestamp) -> RollbackDecision<'a> {
    let app = &*observed.app;
    let as_asked = RollbackDecision { image: Some(&app.spec.image), given_up: None };
    let Some(last) = target(app) else { return as_asked };
    if let Some(before) = app.status.rolled_back_from.as_ref().filter(|before| stays(observed, desired, before, last)) {
        let given_up = RolledBack { generation: app.meta.generation, ..before.clone() };
        return RollbackDecision { image: Some(last), given_up: Some(given_up) };
    }
    match fails(observed, desired, now) {
        Some(message) => {
            let given_up = RolledBack { image: app.spec.image.clone(), generation: app.meta.generation, message };
            RollbackDecision { image: None, given_up: Some(given_up) }
        }
        None => as_asked,
    }
}

/// The image to return to, if rollback is automatic and there is one.
fn target(app: &MyApp) -> Option<&str> {
    let last = app.status.image.as_deref().filter(|last| *last != app.spec.image);
    last.filter(|_| app.spec.rollback == Rollback::Automatic)
}

/// Why failed pods do not return to another image although rollback is automatic; with the specified image, that is reported
/// once its deadline has passed.
pub(super) fn impossible(app: &MyApp, deadline: &Deadline<'_>) -> Option<&'static str> {
    let late = matches!(deadline, Deadline::Passed(_));
    match &app.status.image {
        _ if app.spec.rollback == Rollback::None => None,
        None => Some("cannot roll back: no image of this MyApp has been Ready yet"),
        Some(last) => (late && *last == app.spec.image)
            .then_some("cannot roll back: a rollback restores only the image, and this image was Ready before"),
    }
}

/// Whether what was given up stays so: the spec is the same, or differs in nothing that the Deployment is made of but the number
/// of pods, which autoscalers change.
fn stays(observed: &Observed, desired: &Desired<'_>, before: &RolledBack, last: &str) -> bool {
    let app = &*observed.app;
    let same = || match &observed.deployment {
        ChildState::Owned(live) => {
            [last, &app.spec.image].into_iter().any(|image| differs_in_number_alone(desired, image, live))
        }
        ChildState::Terminating | ChildState::Undecodable(_) => true,
        ChildState::Absent => false,
    };
    before.image == app.spec.image && (before.generation == app.meta.generation || same())
}

fn differs_in_number_alone(desired: &Desired<'_>, image: &str, live: &OwnedChild<Deployment>) -> bool {
    let mut asked = desired.deployment(image);
    asked.body["spec"]["replicas"] = if live.owns_replicas { json!(live.replicas) } else { Value::Null };
    // Or as it is applied for a moment while its own controller is stuck.
    let without_pace = objects::without_pace(&asked);
    [asked, without_pace].iter().any(|asked| asked.has_made(live.fingerprint, &live.additions))
}

/// Why the specified image has failed, as a message, if it has.
fn fails(observed: &Observed, desired: &Desired<'_>, now: Timestamp) -> Option<String> {
    let app = &*observed.app;
    let live = observed.deployment.owned().filter(|live| !live.paused && !app.spec.paused)?;
    let Deadline::Passed(late) = deadline::of(&observed.app, live, now) else { return None };
    let as_asked = desired.deployment(&app.spec.image).has_made(live.fingerprint, &live.additions);
    let rollout = &live.rollout;
    let observed_now = rollout.observed_generation >= live.meta.generation;
    let all_ready = [rollout.updated_replicas, rollout.ready_replicas] == [rollout.replicas; 2];
    if !as_asked || !observed_now || (all_ready && rollout.replicas == live.replicas) {
        return None;
    }
    let why = Pods::of(observed, now).worst().unwrap_or_else(|| late.message.clone());
    Some(match why.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", &why[..end]),
        None => why,
    })
}

/// The condition message.
pub(super) fn message(app: &MyApp, given_up: &RolledBack) -> String {
    let last = app.status.image.as_deref().unwrap_or_default();
    format!(
        "rolled back to {last}: {} made no progress for {} s (progressDeadlineSeconds): {}; change the spec to try again",
        given_up.image,
        deadline::seconds(app),
        given_up.message
    )
}
