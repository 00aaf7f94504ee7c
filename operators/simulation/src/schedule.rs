//! A schedule: what happens to a world, and when. The seed determines it; a failing one is shrunk by leaving steps out.

use std::time::Duration;

use crate::api_server::fate::Rates;
use crate::happening::Happening;
use crate::process::ManagerCommand;
use crate::random::Random;
use crate::scenario::Scenario;

/// What happens at a time after the world's begin.
#[derive(Clone, Debug)]
pub struct Step {
    /// When.
    pub at: Duration,
    /// What.
    pub what: Happening,
}

/// How long users and faults are at it.
pub const LENGTH: Duration = Duration::from_secs(240);

/// Draws the schedule of a scenario.
#[must_use]
pub fn draw(scenario: &Scenario, random: &mut Random) -> Vec<Step> {
    let acts = random.between(6, 14);
    let faults = random.between(10, 16);
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..acts {
        let what = Happening::User((scenario.act)(random));
        steps.push(Step { at: moment(random), what });
    }
    for _ in 0..faults {
        let what = fault(random);
        steps.push(Step { at: moment(random), what });
    }
    if let Some(operand_fault) = scenario.operand_fault {
        for _ in 0..random.between(2, 6) {
            let what = operand_fault(random);
            steps.push(Step { at: moment(random), what });
        }
    }
    steps.sort_by_key(|step| step.at);
    steps.extend((scenario.wanted)(random).into_iter().map(|act| Step { at: LENGTH, what: Happening::User(act) }));
    steps
}

/// Half of what happens, happens in bursts: two things at once are what goes wrong.
fn moment(random: &mut Random) -> Duration {
    let milliseconds = u64::try_from(LENGTH.as_millis()).unwrap_or(u64::MAX);
    let at = random.below(milliseconds);
    Duration::from_millis(if random.chance(500) { at - at % 20_000 + random.below(1_500) } else { at })
}

fn fault(random: &mut Random) -> Happening {
    let manager = usize::from(random.chance(500));
    let seconds =
        |random: &mut Random, low: u64, high: u64| Duration::from_millis(random.between(low * 1000, high * 1000));
    match random.below(100) {
        0..25 => Happening::Manager(manager, ManagerCommand::Kill(seconds(random, 0, 40))),
        25..35 => Happening::Manager(manager, ManagerCommand::Stop(seconds(random, 0, 20))),
        35..45 => Happening::Away(seconds(random, 1, 90)),
        45..80 => Happening::Storm(Rates::draw(random), seconds(random, 5, 60)),
        80..90 => Happening::Compaction,
        _ => Happening::CutWatches,
    }
}
