//! The manager crashes at every boundary between two writes, and answers are lost at every act: each time, the final state is the
//! same.

use runtime::testing::fault_injection::{ActAnswer, InjectedFault};
use serde_json::{Value, json};

use crate::collector::Propagation::{Background, Foreground};
use crate::fault_injection::{Scenario, inject_everywhere};
use crate::faults::{COMMANDS, Edit, Step, VERSIONS};
use crate::scenarios::default_spec;

pub fn with_version(version: &str) -> Value {
    let mut spec = default_spec();
    spec["engine"] = json!({ "version": version });
    spec
}

/// A spec without an initial backup.
pub fn without_initial_backup(mut spec: Value) -> Value {
    spec["backup"]["immediate"] = json!(false);
    spec
}

pub fn upgrade_to(version: &str) -> Step {
    let index = VERSIONS.iter().position(|of| *of == version).expect("it is there");
    Step::Edit(Edit::Version(index))
}

fn fail_command(command: &str, stage: u32) -> Step {
    let command = COMMANDS.iter().position(|of| *of == command).expect("it is there");
    Step::Fail { command, stage }
}

pub fn creations() -> Vec<Scenario> {
    let backup = |physical| vec![Step::CreateSnapshot { physical }, Step::UntilSettled];
    let restore = |version| vec![Step::Restore { version }];
    vec![
        Scenario { name: "create", spec: default_spec(), before: None, steps: Vec::new() },
        Scenario {
            name: "the initial SQL fails, and is corrected",
            spec: without_initial_backup(default_spec()),
            before: None,
            steps: vec![
                Step::Sql { sum: "wrong", right: false },
                Step::Rounds(20),
                Step::Sql { sum: "two", right: true },
            ],
        },
        Scenario {
            name: "from a logical one",
            spec: without_initial_backup(with_version("15")),
            before: Some(backup(false)),
            steps: restore("17"),
        },
        Scenario {
            name: "from a physical one",
            spec: without_initial_backup(with_version("17")),
            before: Some(backup(true)),
            steps: restore("17"),
        },
    ]
}

pub fn backups() -> Vec<Scenario> {
    let ten = |step| vec![Step::Edit(Edit::Schedule(1)), Step::Rounds(5), step];
    let mut scheduled = ten(Step::Wait(10));
    for _ in 0..5 {
        scheduled.extend([Step::Rounds(14), Step::Wait(10)]);
    }
    scheduled.extend([Step::Edit(Edit::Schedule(0)), Step::Rounds(20)]);
    vec![
        Scenario {
            name: "a backup on demand",
            spec: without_initial_backup(default_spec()),
            before: Some(vec![]),
            steps: vec![Step::CreateSnapshot { physical: false }],
        },
        Scenario {
            name: "a physical backup on demand",
            spec: without_initial_backup(default_spec()),
            before: Some(vec![]),
            steps: vec![Step::CreateSnapshot { physical: true }],
        },
        Scenario {
            name: "backups by schedule",
            spec: without_initial_backup(default_spec()),
            before: Some(vec![]),
            steps: scheduled,
        },
        Scenario {
            name: "a backup that is corrupt",
            spec: without_initial_backup(default_spec()),
            before: Some(vec![]),
            steps: vec![
                Step::Corrupt(true),
                Step::CreateSnapshot { physical: false },
                Step::Rounds(20),
                Step::Corrupt(false),
            ],
        },
        Scenario {
            name: "a snapshot deleted",
            spec: without_initial_backup(default_spec()),
            before: Some(vec![Step::CreateSnapshot { physical: false }, Step::UntilSettled]),
            steps: vec![Step::DeleteSnapshot(0)],
        },
    ]
}

pub fn upgrades() -> Vec<Scenario> {
    let scenario = |name, version, steps| Scenario {
        name,
        spec: without_initial_backup(with_version(version)),
        before: Some(vec![]),
        steps,
    };
    vec![
        scenario("a minor upgrade", "15.18", vec![upgrade_to("15")]),
        scenario("a major upgrade", "15", vec![upgrade_to("17")]),
        scenario("a minor server does not start", "15.18", vec![Step::Crash("15.20"), upgrade_to("15")]),
        scenario("its image is missing", "15", vec![Step::Missing("17.12"), upgrade_to("17")]),
        scenario("its check fails", "15", vec![fail_command("pg-survey", 1), upgrade_to("17")]),
        scenario("its snapshot fails", "15", vec![fail_command("pg-dump", 1), upgrade_to("17")]),
        scenario("its copy fails before closing", "15", vec![fail_command("pg-upgrade", 1), upgrade_to("17")]),
        scenario("its copy fails after closing", "15", vec![fail_command("pg-upgrade", 2), upgrade_to("17")]),
        scenario("its server does not start", "15", vec![Step::Crash("17.12"), upgrade_to("17")]),
        scenario("its end fails", "15", vec![fail_command("pg-finish", 1), upgrade_to("17")]),
    ]
}

pub fn deletions() -> Vec<Scenario> {
    let scenario =
        |name, steps| Scenario { name, spec: without_initial_backup(default_spec()), before: Some(vec![]), steps };
    let policy = |policy| Step::Edit(Edit::Policy(policy));
    vec![
        scenario("deleted", vec![Step::Delete(Background)]),
        scenario("deleted in the foreground", vec![Step::Delete(Foreground)]),
        scenario("deleted with a dead pod", vec![Step::Crash("17.12"), Step::Kill(0), Step::Delete(Background)]),
        scenario(
            "deleted in a backup",
            vec![Step::CreateSnapshot { physical: false }, Step::Rounds(3), Step::Delete(Background)],
        ),
        scenario(
            "deleted in the foreground in a backup",
            vec![Step::CreateSnapshot { physical: false }, Step::Rounds(3), Step::Delete(Foreground)],
        ),
        scenario("deleted without a snapshot", vec![policy("Delete"), Step::Rounds(2), Step::Delete(Background)]),
        scenario("retained", vec![policy("Retain"), Step::Rounds(2), Step::Delete(Background)]),
        scenario(
            "retained and adopted",
            vec![policy("Retain"), Step::Rounds(2), Step::Delete(Background), Step::UntilSettled, Step::Adopt],
        ),
        scenario(
            "deleted and restored",
            vec![Step::Delete(Background), Step::UntilSettled, Step::Restore { version: "17" }],
        ),
        scenario("the namespace is deleted", vec![Step::DeleteNamespace]),
        Scenario {
            name: "deleted during creation",
            spec: without_initial_backup(default_spec()),
            before: None,
            steps: vec![Step::Rounds(6), Step::Delete(Background)],
        },
    ]
}

macro_rules! crash_points {
    ($($name:ident = $scenarios:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn the_manager_crashes_at_every_boundary() {
                inject_everywhere($scenarios(), InjectedFault::Crash);
            }

            #[test]
            fn an_answer_is_lost_at_every_act() {
                inject_everywhere($scenarios(), InjectedFault::Answer(ActAnswer::Lost));
            }

            #[test]
            fn a_request_is_lost_at_every_act() {
                inject_everywhere($scenarios(), InjectedFault::Answer(ActAnswer::RequestLost));
            }
        }
    )*};
}

crash_points! {
    creation = creations;
    backup = backups;
    upgrade = upgrades;
    deletion = deletions;
}
