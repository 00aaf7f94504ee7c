//! What the managers of a scenario may say and write, and how many of its schedules reach each of these: what no schedule reaches is
//! not tested by the simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use runtime::permissions::Permission;

use crate::api_server::state::{AuditEntry, StoredState};
use crate::oracle::is_manager;
use crate::scenario::Scenario;

/// The verbs of RBAC that change something.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// What a manager can do that others see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reachable {
    /// Gives a condition or an Event this reason.
    Reason(String),
    /// Uses this permission to write: a verb, and a resource as in RBAC.
    Write(String, String),
}

impl fmt::Display for Reachable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reason(reason) => formatter.write_str(reason),
            Self::Write(verb, resource) => write!(formatter, "{verb} {resource}"),
        }
    }
}

/// What the managers of one run reached.
#[must_use]
pub fn reached(state: &StoredState) -> BTreeSet<Reachable> {
    let writes = state.audit().iter().filter(|entry| is_manager(entry) && entry.code < 300);
    writes.flat_map(|entry| reasons_of(entry).chain(permissions_of(state, entry))).collect()
}

/// The reasons that the object has after a write: those of its conditions, or its own if it is an Event.
fn reasons_of(entry: &AuditEntry) -> impl Iterator<Item = Reachable> {
    let conditions = entry.after.as_ref().and_then(|after| after["status"]["conditions"].as_array());
    let own = entry.after.as_ref().map(|after| &after["reason"]);
    let reasons = conditions.into_iter().flatten().map(|condition| &condition["reason"]).chain(own);
    reasons.filter_map(|reason| reason.as_str().map(|reason| Reachable::Reason(reason.to_owned())))
}

/// The permissions that a write needs. Server-side apply is a patch, and a creation too if there was no object.
fn permissions_of(state: &StoredState, entry: &AuditEntry) -> impl Iterator<Item = Reachable> {
    let plural = state.kinds().get(entry.kind).map_or("?", |kind| kind.plural.as_str());
    let subresource = entry.subresource.map(|part| format!("/{part:?}").to_lowercase()).unwrap_or_default();
    let verbs: &[&str] = match (entry.verb, entry.code) {
        ("apply", 201) => &["create", "patch"],
        ("apply", _) => &["patch"],
        _ => std::slice::from_ref(&entry.verb),
    };
    verbs.iter().map(move |verb| Reachable::Write((*verb).to_owned(), format!("{plural}{subresource}")))
}

/// How many schedules of a scenario reached what.
#[derive(Debug, Default)]
pub struct Coverage {
    schedules: usize,
    reached: BTreeMap<Reachable, usize>,
}

impl Coverage {
    /// Counts a schedule.
    pub fn add(&mut self, reached: BTreeSet<Reachable>) {
        self.schedules += 1;
        for reached in reached {
            *self.reached.entry(reached).or_default() += 1;
        }
    }

    /// The report of a scenario: what was never reached, and what was in fewer than one of 100 schedules.
    #[must_use]
    pub fn report(&self, scenario: &Scenario) -> String {
        let reasons = (scenario.reasons)().into_iter().map(|reason| Reachable::Reason(reason.to_owned())).collect();
        let lines = [("reasons", reasons), ("writes", writes(scenario.permissions))];
        lines.map(|(what, all)| self.line(scenario.name, what, &all)).concat()
    }

    fn line(&self, scenario: &str, what: &str, all: &BTreeSet<Reachable>) -> String {
        let times = |reachable: &Reachable| self.reached.get(reachable).copied().unwrap_or_default();
        let names = |is_one: &dyn Fn(usize) -> bool| {
            let names: Vec<String> = all.iter().filter(|one| is_one(times(one))).map(ToString::to_string).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let never = all.iter().filter(|one| times(one) == 0).count();
        format!(
            "{scenario}: {} of {} {what} reached\n  rarely: {}\n  never: {}\n",
            all.len() - never,
            all.len(),
            names(&|times| times > 0 && times * 100 < self.schedules),
            names(&|times| times == 0),
        )
    }
}

/// What these permissions allow to write.
fn writes(permissions: &[Permission]) -> BTreeSet<Reachable> {
    let of = |permission: &Permission| {
        let verbs = permission.verbs.iter().filter(|verb| WRITES.contains(verb));
        // An admission plugin asks for those of finalizers; no request names them.
        let resources = permission.resources.iter().filter(|resource| !resource.ends_with("/finalizers"));
        let pairs = verbs.flat_map(|verb| resources.clone().map(move |resource| (*verb, *resource)));
        pairs.map(|(verb, resource)| Reachable::Write(verb.to_owned(), resource.to_owned())).collect::<Vec<_>>()
    };
    permissions.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::happening::Happening;
    use crate::run::{Detail, run};
    use crate::scenario::sample;
    use crate::schedule::Step;
    use crate::user::{Deed, UserAct};

    #[test]
    fn what_a_run_reaches_is_counted_and_what_it_does_not_is_named() {
        let put = Deed::Put(json!({ "testString": "a" }));
        let act = UserAct { plural: "samples", name: "one".to_owned(), what: put };
        let steps = [Step { at: Duration::ZERO, what: Happening::User(act) }];
        let outcome = run(&sample::SCENARIO, &steps, 1, Detail::Writes).expect("the world runs");
        let write = |verb: &str, resource: &str| Reachable::Write(verb.to_owned(), resource.to_owned());
        let kept = Reachable::Reason("Kept".to_owned());
        for expected in [kept, write("create", "configmaps"), write("patch", "samples/status")] {
            assert!(outcome.reached.contains(&expected), "{expected}: {:?}", outcome.reached);
        }
        let mut coverage = Coverage::default();
        coverage.add(outcome.reached);
        (0..100).for_each(|_| coverage.add(BTreeSet::new()));
        let report = coverage.report(&sample::SCENARIO);
        let line = |start: &str| report.lines().filter(|line| line.starts_with(start)).collect::<String>();
        assert!(line("  rarely: ").contains("create configmaps"), "{report}");
        assert!(line("  never: ").contains("NameTaken"), "{report}");
    }
}
