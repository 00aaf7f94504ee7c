//! The manager dies at every boundary between two writes, and answers are lost at every act: each time, all ends as if
//! nothing had happened.

use runtime::testing::branching::{Answer, Fate};
use serde_json::{Value, json};

use crate::branching::{Story, everywhere};
use crate::collector::Propagation::{Background, Foreground};
use crate::faults::{Edit, Step, VERBS, VERSIONS};
use crate::stories::usual;

pub fn of(version: &str) -> Value {
    let mut spec = usual();
    spec["engine"] = json!({ "version": version });
    spec
}

/// A spec whose backups begin when somebody asks for one.
pub fn quiet(mut spec: Value) -> Value {
    spec["backup"]["immediate"] = json!(false);
    spec
}

pub fn to(version: &str) -> Step {
    let place = VERSIONS.iter().position(|of| *of == version).expect("it is there");
    Step::Edit(Edit::Version(place))
}

fn fail(verb: &str, stage: u32) -> Step {
    let verb = VERBS.iter().position(|of| *of == verb).expect("it is there");
    Step::Fail { verb, stage }
}

pub fn creations() -> Vec<Story> {
    let backup = |physical| vec![Step::Backup { physical }, Step::Rest];
    let restore = |version| vec![Step::Restore { version }];
    vec![
        Story { name: "create", spec: usual(), before: None, steps: Vec::new() },
        Story {
            name: "the initial SQL fails, and is mended",
            spec: quiet(usual()),
            before: None,
            steps: vec![
                Step::Sql { sum: "wrong", right: false },
                Step::Calm(20),
                Step::Sql { sum: "two", right: true },
            ],
        },
        Story { name: "from a logical one", spec: quiet(of("15")), before: Some(backup(false)), steps: restore("17") },
        Story { name: "from a physical one", spec: quiet(of("17")), before: Some(backup(true)), steps: restore("17") },
    ]
}

pub fn backups() -> Vec<Story> {
    let ten = |step| vec![Step::Edit(Edit::Schedule(1)), Step::Calm(5), step];
    let mut kept = ten(Step::Wait(10));
    for _ in 0..5 {
        kept.extend([Step::Calm(14), Step::Wait(10)]);
    }
    kept.extend([Step::Edit(Edit::Schedule(0)), Step::Calm(20)]);
    vec![
        Story {
            name: "a backup on demand",
            spec: quiet(usual()),
            before: Some(vec![]),
            steps: vec![Step::Backup { physical: false }],
        },
        Story {
            name: "a physical backup on demand",
            spec: quiet(usual()),
            before: Some(vec![]),
            steps: vec![Step::Backup { physical: true }],
        },
        Story { name: "backups by schedule", spec: quiet(usual()), before: Some(vec![]), steps: kept },
        Story {
            name: "a backup that is corrupt",
            spec: quiet(usual()),
            before: Some(vec![]),
            steps: vec![Step::Corrupt(true), Step::Backup { physical: false }, Step::Calm(20), Step::Corrupt(false)],
        },
        Story {
            name: "a snapshot deleted",
            spec: quiet(usual()),
            before: Some(vec![Step::Backup { physical: false }, Step::Rest]),
            steps: vec![Step::DropSnapshot(0)],
        },
    ]
}

pub fn upgrades() -> Vec<Story> {
    let story = |name, version, steps| Story { name, spec: quiet(of(version)), before: Some(vec![]), steps };
    vec![
        story("a minor upgrade", "15.18", vec![to("15")]),
        story("a major upgrade", "15", vec![to("17")]),
        story("a minor server does not start", "15.18", vec![Step::Crash("15.20"), to("15")]),
        story("its image is missing", "15", vec![Step::Missing("17.12"), to("17")]),
        story("its check fails", "15", vec![fail("pg-survey", 1), to("17")]),
        story("its snapshot fails", "15", vec![fail("pg-dump", 1), to("17")]),
        story("its copy fails before closing", "15", vec![fail("pg-upgrade", 1), to("17")]),
        story("its copy fails after closing", "15", vec![fail("pg-upgrade", 2), to("17")]),
        story("its server does not start", "15", vec![Step::Crash("17.12"), to("17")]),
        story("its end fails", "15", vec![fail("pg-finish", 1), to("17")]),
    ]
}

pub fn deletions() -> Vec<Story> {
    let story = |name, steps| Story { name, spec: quiet(usual()), before: Some(vec![]), steps };
    let policy = |policy| Step::Edit(Edit::Policy(policy));
    vec![
        story("deleted", vec![Step::Delete(Background)]),
        story("deleted in the foreground", vec![Step::Delete(Foreground)]),
        story("deleted with a dead pod", vec![Step::Crash("17.12"), Step::Kill(0), Step::Delete(Background)]),
        story("deleted in a backup", vec![Step::Backup { physical: false }, Step::Calm(3), Step::Delete(Background)]),
        story(
            "deleted in the foreground in a backup",
            vec![Step::Backup { physical: false }, Step::Calm(3), Step::Delete(Foreground)],
        ),
        story("deleted without a snapshot", vec![policy("Delete"), Step::Calm(2), Step::Delete(Background)]),
        story("retained", vec![policy("Retain"), Step::Calm(2), Step::Delete(Background)]),
        story(
            "retained and taken over",
            vec![policy("Retain"), Step::Calm(2), Step::Delete(Background), Step::Rest, Step::Adopt],
        ),
        story("deleted and restored", vec![Step::Delete(Background), Step::Rest, Step::Restore { version: "17" }]),
        story("the namespace ends", vec![Step::End]),
        Story {
            name: "deleted before there is anything",
            spec: quiet(usual()),
            before: None,
            steps: vec![Step::Calm(6), Step::Delete(Background)],
        },
    ]
}

macro_rules! boundaries {
    ($($name:ident = $stories:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn the_manager_dies_at_every_boundary() {
                everywhere($stories(), Fate::Dies);
            }

            #[test]
            fn an_answer_is_lost_at_every_act() {
                everywhere($stories(), Fate::Act(Answer::Lost));
            }

            #[test]
            fn a_question_is_lost_at_every_act() {
                everywhere($stories(), Fate::Act(Answer::Unasked));
            }
        }
    )*};
}

boundaries! {
    creation = creations;
    backup = backups;
    upgrade = upgrades;
    deletion = deletions;
}
