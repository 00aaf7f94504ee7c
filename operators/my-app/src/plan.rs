//! What to do about a MyApp. Pure.

use std::time::Duration;

use api::my_app::{MyAppStatus, Strategy};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::seen::Live;
use runtime::plan::{Apply, Delete, Effect, Next, Plan, Seen};
use runtime::views::{Child, Deployment};

mod contents;
mod deadline;
mod objects;
mod observed;
mod overrides;
mod rollback;
mod status;
mod wedged;
mod wish;

pub use contents::{Contents, Refused};
pub use observed::Observed;
pub use overrides::Limit;
use rollback::Course;
use wish::Wish;
pub use wish::trial;

/// Decides: first the Deployment, then what stands beside it.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<MyAppStatus> {
    let app = &observed.app;
    if app.meta.deleting {
        return Plan::nothing();
    }
    let wish = Wish::of(observed);
    let course = rollback::course(observed, &wish, now);
    let wedged = wedged::left(observed, now);
    let steps = steps(observed, &wish, &course, wedged == Some(Duration::ZERO));
    let (status, next) = status::of(observed, &steps, &wish, &course, now);
    let wedged = wedged.filter(|left| !left.is_zero());
    let again = observed.refused.as_ref().map(|refused| refused.due);
    let next = [wedged, again, observed.contents.due].into_iter().flatten().fold(next, Next::no_later_than);
    let effects = if app.spec.paused { Vec::new() } else { steps };
    Plan { effects, status: Some(status), next, ..Plan::nothing() }
}

/// What it takes to make everything as asked; empty if it is.
fn steps(observed: &Observed, wish: &Wish<'_>, course: &Course<'_>, wedged: bool) -> Vec<Effect> {
    let app = &*observed.app;
    let image = course.image.filter(|_| wish.refusal().is_none());
    let mut steps = image.map_or_else(Vec::new, |image| deployment(observed, wish.deployment(image), wedged));
    steps.extend(optional(&observed.service, objects::service(app)));
    steps.extend(optional(&observed.budget, objects::disruption_budget(app)));
    steps
}

fn deployment(observed: &Observed, apply: Apply, wedged: bool) -> Vec<Effect> {
    let app = &*observed.app;
    let recreates = app.spec.strategy.as_ref().is_some_and(Strategy::recreates);
    match &observed.deployment {
        // What is absent may be an orphan that is about to be adopted, with a pace that is not seen.
        Seen::Absent => {
            let pace = recreates.then(|| objects::without_pace(&apply));
            pace.into_iter().chain([apply]).map(Effect::Apply).collect()
        }
        Seen::Ours(live) => {
            let hand_over =
                (app.spec.replicas.is_none() && live.owns_replicas).then(|| hand_over(app.meta.key.clone(), live));
            let apply = over(live, if wedged { objects::without_pace(&apply) } else { apply });
            let pace = apply.as_ref().filter(|apply| recreates && live.has_pace && !apply.repairs);
            let pace = pace.map(objects::without_pace);
            hand_over.into_iter().chain(pace).chain(apply).map(Effect::Apply).collect()
        }
        Seen::Leaving | Seen::Unreadable(_) => Vec::new(),
    }
}

/// What makes a Deployment as `apply` says, a pause of it included.
fn over(live: &Live<Deployment>, apply: Apply) -> Option<Apply> {
    let seen = Some((&live.meta, live.fingerprint, &live.additions));
    if live.paused {
        let resumed = objects::resumed(apply, &live.meta);
        return resumed.clone().over(seen).or(Some(resumed));
    }
    apply.over(seen)
}

/// Gives the number of pods to another field manager before we stop sending it: a field that its only owner no longer
/// applies is removed, and a Deployment without the field has one pod.
fn hand_over(key: runtime::plan::Key, live: &Deployment) -> Apply {
    let replicas = serde_json::json!({ "metadata": {}, "spec": { "replicas": live.replicas } });
    let mut apply = Apply::new(Deployment::KIND, key, &replicas);
    apply.seen = Some(live.meta.uid.clone());
    apply.hand_over = Some("hand-over");
    apply
}

/// A child that is wanted or not: applied, left alone, or deleted.
fn optional<K>(seen: &Seen<Child<K>>, wanted: Option<Apply>) -> Option<Effect>
where
    Child<K>: View,
{
    match (wanted, seen) {
        (_, Seen::Leaving | Seen::Unreadable(_)) | (None, Seen::Absent) => None,
        (Some(apply), Seen::Absent | Seen::Ours(_)) => seen.kept(apply).map(Effect::Apply),
        (None, Seen::Ours(child)) => Some(Effect::Delete(Delete::of(Child::<K>::KIND, &child.meta))),
    }
}

#[cfg(test)]
mod tests;
