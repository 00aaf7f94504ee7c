//! The decision: which effects, in which order, the status, and when to look again. Pure.

use std::time::Duration;

use api::my_app::{MyAppStatus, Strategy};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::seen::Live;
use runtime::plan::{Apply, Delete, Effect, Next, Plan, Seen};
use runtime::views::{Deployment, Ingress};

use super::children::{applied, optional, unwanted};
use super::rollback::{self, Course};
use super::wish::Wish;
use super::{Observed, objects, order, scaling, status, taken, ways_in, wedged};

/// Decides: first the Deployment, then what stands beside it. What the pods do not depend on holds up nothing.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<MyAppStatus> {
    let app = &observed.app;
    if app.meta.deleting {
        return Plan::nothing();
    }
    let wish = Wish::of(observed);
    let course = rollback::course(observed, &wish, now);
    let wedged = wedged::left(observed, now);
    let (closed, left) = ways_in::closed(observed, now);
    let steps = steps(observed, &wish, &course, wedged == Some(Duration::ZERO), closed);
    let beside = beside(observed);
    let (status, next) = status::of(observed, &steps, &beside, &wish, &course, now);
    let asked = beside.len();
    let aside: Vec<Apply> = beside.into_iter().filter(|apply| taken::names_ours(observed, &apply.kind)).collect();
    let wedged = wedged.filter(|left| !left.is_zero());
    let again = observed.refused.as_ref().map(|refused| refused.due);
    let next = [wedged, again, observed.contents.due, left].into_iter().flatten().fold(next, Next::no_later_than);
    let events = status::warnings(&app.status.contract, &status.contract);
    let plan = Plan { events, status: Some(status), next, ..Plan::nothing() };
    if app.spec.paused {
        return plan;
    }
    // What is made beside what is made now comes next, and no event tells of an own write.
    let next = if aside.len() < asked && !steps.is_empty() { next.no_later_than(status::LOOK_AGAIN) } else { next };
    // What follows from them once they are there is seen by no event: they are our own writes.
    let edited = app.status.contract.observed_generation < app.meta.generation;
    let next = if edited && !aside.is_empty() { next.no_later_than(status::LOOK_AGAIN) } else { next };
    let next = if ways_in::loses_class(observed) { next.no_later_than(status::AT_ONCE) } else { next };
    let (effects, aside) = order::of(observed, image(&wish, &course).is_none(), steps, aside);
    Plan { effects, aside, next, ..plan }
}

/// The image to run; none as long as the Deployment is to stay as it is.
fn image<'a>(wish: &Wish<'_>, course: &Course<'a>) -> Option<&'a str> {
    course.image.filter(|_| wish.refusal().is_none() && wish.pending_source().is_none())
}

/// What it takes to make everything as asked; empty if it is.
fn steps(observed: &Observed, wish: &Wish<'_>, course: &Course<'_>, wedged: bool, closed: Vec<Effect>) -> Vec<Effect> {
    let app = &*observed.app;
    // An autoscaler that is not asked for any more would change the number that is, and one whose Deployment is somebody else's, theirs.
    let scales = app.spec.autoscaling.is_some() && !taken::deployment(observed);
    let mut steps: Vec<Effect> = unwanted(&observed.autoscaler, scales).into_iter().collect();
    // Before what is refused once more, since nothing comes after that.
    let misled = taken::ways_in(observed);
    let is_misled = !misled.is_empty();
    steps.extend(misled);
    steps
        .extend(image(wish, course).into_iter().flat_map(|image| deployment(observed, wish.deployment(image), wedged)));
    steps.extend(optional(&observed.service, objects::service(app)));
    steps.extend(optional(&observed.budget, objects::disruption_budget(app)));
    let classless = observed.ingress.ours().filter(|_| !is_misled && ways_in::loses_class(observed));
    steps.extend(closed.into_iter().filter(|_| !is_misled));
    steps.extend(classless.map(|ingress| Effect::Delete(Delete::of(Ingress::KIND, &ingress.meta))));
    steps
}

/// What the pods can do without.
fn beside(observed: &Observed) -> Vec<Apply> {
    let app = &*observed.app;
    let autoscaler = objects::autoscaler(app).and_then(|wanted| applied(&observed.autoscaler, wanted));
    let ingress = objects::ingress(app).filter(|_| !ways_in::loses_class(observed));
    let ingress = ingress.and_then(|wanted| applied(&observed.ingress, wanted));
    let http_route = objects::http_route(app).zip(observed.http_route.seen());
    let http_route = http_route.and_then(|(wanted, seen)| applied(seen, wanted));
    [autoscaler, ingress, http_route].into_iter().flatten().collect()
}

fn deployment(observed: &Observed, apply: Apply, wedged: bool) -> Vec<Effect> {
    let app = &*observed.app;
    let recreates = app.spec.strategy.as_ref().is_some_and(Strategy::recreates);
    let apply = if observed.deployment.ours().is_none() { scaling::made_with(observed, apply) } else { apply };
    let orphan = scaling::of_orphan(observed).into_iter();
    match &observed.deployment {
        // What is absent may be an orphan that is about to be adopted, with a pace that is not seen.
        Seen::Absent if recreates => {
            let apply = Apply { creates: false, ..apply };
            orphan.chain([objects::without_pace(&apply), apply]).map(Effect::Apply).collect()
        }
        Seen::Absent => orphan.chain([apply]).map(Effect::Apply).collect(),
        Seen::Ours(live) => {
            let hand_over = scaling::hand_over(observed, live);
            let apply = over(live, if wedged { objects::without_pace(&apply) } else { apply });
            let takes_pace = recreates && live.has_pace;
            // By a patch, the pace would be ours in a way that no apply takes it away.
            let apply = apply.map(|apply| if takes_pace { Apply { live: None, ..apply } } else { apply });
            let pace = apply.as_ref().filter(|apply| takes_pace && !apply.repairs).map(objects::without_pace);
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
