//! The way back to the last image that was Ready, by `spec.rollback`. Pure.
//!
//! An image is given up in two passes: the first tells so in the status, the second applies the image before. So a manager that
//! dies in between does not take the Deployment with the image before for one that has yet to get the image asked for, and a
//! status that is refused, since the spec has changed meanwhile, gives up nothing.

use api::my_app::{Rollback, RolledBack};
use jiff::Timestamp;
use runtime::plan::Seen;
use runtime::plan::seen::Live;
use runtime::views::Deployment;
use serde_json::{Value, json};

use super::deadline::{self, Deadline};
use super::status::Pods;
use super::wish::Wish;
use super::{Observed, objects};
use crate::MyApp;

/// Of what an image failed is kept in so many characters.
const LONGEST: usize = 400;

/// Which image the pods are to run.
#[derive(Debug)]
pub(super) struct Course<'a> {
    /// That image; `None` leaves the Deployment as it is for this pass.
    pub(super) image: Option<&'a str>,
    /// What is given up, if it is not the image asked for.
    pub(super) given_up: Option<RolledBack>,
}

/// Decides.
pub(super) fn course<'a>(observed: &'a Observed, wish: &Wish<'_>, now: Timestamp) -> Course<'a> {
    let app = &*observed.app;
    let as_asked = Course { image: Some(&app.spec.image), given_up: None };
    let Some(last) = target(app) else { return as_asked };
    if let Some(before) = app.status.rolled_back_from.as_ref().filter(|before| stays(observed, wish, before, last)) {
        let given_up = RolledBack { generation: app.meta.generation, ..before.clone() };
        return Course { image: Some(last), given_up: Some(given_up) };
    }
    match fails(observed, wish, now) {
        Some(message) => {
            let given_up = RolledBack { image: app.spec.image.clone(), generation: app.meta.generation, message };
            Course { image: None, given_up: Some(given_up) }
        }
        None => as_asked,
    }
}

/// The image to return to, if that is asked for and there is one.
fn target(app: &MyApp) -> Option<&str> {
    let last = app.status.image.as_deref().filter(|last| *last != app.spec.image);
    last.filter(|_| app.spec.rollback == Rollback::Automatic)
}

/// Why pods that have failed do not return to another image, although that is asked for; with the image asked for, that is told
/// once its deadline has passed.
pub(super) fn impossible(app: &MyApp, deadline: &Deadline<'_>) -> Option<&'static str> {
    let late = matches!(deadline, Deadline::Passed(_));
    match &app.status.image {
        _ if app.spec.rollback == Rollback::None => None,
        None => Some("rollback has nothing to return to: no image of this MyApp has been Ready yet"),
        Some(last) => (late && *last == app.spec.image)
            .then_some("rollback changes nothing: it returns the image alone, and this one was Ready before"),
    }
}

/// Whether what was given up stays so: the spec is the same, or differs in nothing that the Deployment is made of but the number
/// of pods, which autoscalers change.
fn stays(observed: &Observed, wish: &Wish<'_>, before: &RolledBack, last: &str) -> bool {
    let app = &*observed.app;
    let same = || match &observed.deployment {
        Seen::Ours(live) => [last, &app.spec.image].into_iter().any(|image| differs_in_number_alone(wish, image, live)),
        Seen::Leaving | Seen::Unreadable(_) => true,
        Seen::Absent => false,
    };
    before.image == app.spec.image && (before.generation == app.meta.generation || same())
}

fn differs_in_number_alone(wish: &Wish<'_>, image: &str, live: &Live<Deployment>) -> bool {
    let mut asked = wish.deployment(image);
    asked.body["spec"]["replicas"] = if live.owns_replicas { json!(live.replicas) } else { Value::Null };
    // Or as it is made for a moment where its own controller stands still.
    let without_pace = objects::without_pace(&asked);
    [asked, without_pace].iter().any(|asked| asked.has_made(live.fingerprint, &live.additions))
}

/// Of what the image asked for has failed, in words, if it has.
fn fails(observed: &Observed, wish: &Wish<'_>, now: Timestamp) -> Option<String> {
    let app = &*observed.app;
    let live = observed.deployment.ours().filter(|live| !live.paused && !app.spec.paused)?;
    let Deadline::Passed(late) = deadline::of(&observed.app, live, now) else { return None };
    let as_asked = wish.deployment(&app.spec.image).has_made(live.fingerprint, &live.additions);
    let rollout = &live.rollout;
    let observed_now = rollout.observed_generation >= live.meta.generation;
    let all_ready = [rollout.updated_replicas, rollout.ready_replicas] == [rollout.replicas; 2];
    if !as_asked || !observed_now || (all_ready && rollout.replicas == live.replicas) {
        return None;
    }
    let why = Pods::of(observed, now).worst().unwrap_or_else(|| late.message.clone());
    Some(match why.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &why[..end]),
        None => why,
    })
}

/// What a person is told of it.
pub(super) fn message(app: &MyApp, given_up: &RolledBack) -> String {
    let last = app.status.image.as_deref().unwrap_or_default();
    format!(
        "rolled back to {last}: {} made no progress for {} s (progressDeadlineSeconds): {}; change the spec to try again",
        given_up.image,
        deadline::seconds(app),
        given_up.message
    )
}
