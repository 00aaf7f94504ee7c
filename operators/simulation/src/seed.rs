//! A seed's run of a scenario, judged by the run without faults that has the same users' objects at its end.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use manager::ManagerError;
use serde_json::Value;

use crate::content;
use crate::happening::Happening;
use crate::random::Random;
use crate::run::{Detail, Outcome, run};
use crate::scenario::Scenario;
use crate::schedule::{LENGTH, Step, draw};
use crate::shrink::shrink;
use crate::user::Deed;

/// The runs without faults, by what they are to end with: many seeds share them.
#[derive(Default)]
pub struct References(BTreeMap<String, Reference>);

/// What became of a run without faults.
struct Reference {
    content: BTreeMap<String, Value>,
    violations: Vec<String>,
}

/// The schedule of a seed.
#[must_use]
pub fn schedule(scenario: &Scenario, seed: u64) -> Vec<Step> {
    draw(scenario, &mut Random::new(seed))
}

/// Runs a schedule with that seed, and judges it.
///
/// # Errors
/// The world cannot run.
pub fn judge(
    scenario: &Scenario,
    steps: &[Step],
    seed: u64,
    references: &mut References,
    detail: Detail,
) -> Result<Outcome, ManagerError> {
    let mut outcome = run(scenario, steps, seed, detail)?;
    let reference = references.of(scenario, steps)?;
    outcome.violations.extend(reference.violations.iter().map(|why| format!("without faults: {why}")));
    outcome.violations.extend(content::differences(&outcome.content, &reference.content));
    Ok(outcome)
}

/// The shortest part of a failing schedule that fails too.
pub fn shortest(scenario: &Scenario, steps: &[Step], seed: u64, references: &mut References) -> Vec<Step> {
    // What users want in the end stays: it can be had, and what came before it need not.
    let (before, wanted) = steps.split_at(steps.partition_point(|step| step.at < LENGTH));
    let with_wanted = |rest: &[Step]| [rest, wanted].concat();
    let shortest = shrink(before, |rest| {
        judge(scenario, &with_wanted(rest), seed, references, Detail::Writes)
            .is_ok_and(|outcome| !outcome.violations.is_empty())
    });
    with_wanted(&shortest)
}

impl References {
    fn of(&mut self, scenario: &Scenario, steps: &[Step]) -> Result<&Reference, ManagerError> {
        let last = last_puts(scenario, steps);
        let name = format!("{} {last:?}", scenario.name);
        match self.0.entry(name) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let Outcome { content, violations, .. } = run(scenario, &last, 0, Detail::Writes)?;
                Ok(unknown.insert(Reference { content, violations }))
            }
        }
    }
}

/// The last act of users about each object that they write, if it is no deletion; all at once, at the begin.
fn last_puts(scenario: &Scenario, steps: &[Step]) -> Vec<Step> {
    let mut last = BTreeMap::new();
    for step in steps {
        let Happening::User(act) = &step.what else { continue };
        if scenario.roots.contains(&act.plural) {
            match act.what {
                Deed::Put(_) => drop(last.insert((act.plural, act.name.clone()), step.what.clone())),
                Deed::Delete(_) => drop(last.remove(&(act.plural, act.name.clone()))),
                Deed::Edit(_)
                | Deed::EraseStatus
                | Deed::EraseStatusWith(_)
                | Deed::DeletePod { .. }
                | Deed::Await(_) => {}
            }
        }
    }
    last.into_values().map(|what| Step { at: std::time::Duration::ZERO, what }).collect()
}
