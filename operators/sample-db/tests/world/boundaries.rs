//! The manager dies at every boundary between two writes, and answers are lost at every act: each time, all ends as if
//! nothing had happened.

use runtime::cache::View as _;
use runtime::views::{Claim, Pod};
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::asked::Answer;
use crate::bench::{Bench, Pass};
use crate::collector::Propagation::{Background, Foreground};
use crate::faults::{Edit, Step, VERBS, VERSIONS};
use crate::stories::usual;

/// What is done while the manager dies or is not answered.
pub struct Story {
    name: &'static str,
    spec: Value,
    /// What is done before that.
    before: Option<Vec<Step>>,
    steps: Vec<Step>,
}

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
    for _ in 0..3 {
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

/// What befalls the manager.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Nothing,
    /// It dies after so many more writes.
    Dies(usize),
    /// So becomes of the answer to that act.
    Act(usize, Answer),
}

/// The world as it is when the story begins.
fn begun(story: &Story) -> Bench {
    let (mut bench, fate) = (Bench::new(&story.spec), Fate::Nothing);
    if let Some(before) = &story.before {
        expect(&mut bench, story, fate);
        before.iter().for_each(|step| bench.take(step));
        if !before.is_empty() {
            expect(&mut bench, story, fate);
        }
    }
    bench
}

/// Tells the story, and whether what was to befall the manager did.
fn tell(story: &Story, mut bench: Bench, fate: Fate) -> (Bench, bool) {
    let (writes, acts) = (bench.world.writes, bench.acts);
    let (mut steps, mut met, mut calm, mut waits, mut rested) = (story.steps.iter(), false, 0, false, 0);
    for _ in 0..2000 {
        if calm > 0 {
            calm -= 1;
        } else if waits {
            waits = bench.at_rest().is_err();
        } else if let Some(step) = steps.next() {
            match step {
                Step::Calm(rounds) => calm = *rounds,
                Step::Rest => waits = true,
                step => bench.take(step),
            }
            continue;
        }
        bench.tick();
        bench.world.deliver_all();
        let mut pass = Pass::default();
        match fate {
            Fate::Dies(after) if !met => pass.lives = (writes + after).checked_sub(bench.world.writes),
            Fate::Act(which, answer) if bench.acts == acts + which => pass.answer = answer,
            _ => {}
        }
        bench.pass(pass);
        met |= bench.died || matches!(fate, Fate::Act(which, _) if bench.acts > acts + which);
        let told = steps.len() == 0 && calm == 0 && !waits;
        rested = if told && bench.at_rest().is_ok() { rested + 1 } else { 0 };
        if rested == 1 || met && told {
            break;
        }
    }
    expect(&mut bench, story, fate);
    (bench, met)
}

fn expect(bench: &mut Bench, story: &Story, fate: Fate) {
    if let Err(why) = bench.come_to_rest() {
        panic!("{}, {fate:?}: {why}\n{}", story.name, bench.story());
    }
}

/// What there is in the end.
fn essence(bench: &Bench) -> Vec<String> {
    let mut all = Vec::new();
    for kind in [SampleDB::KIND, Snapshot::KIND] {
        for (_, object) in bench.world.all(kind) {
            let spec = &object["spec"];
            let reason = if spec["reason"].is_string() { spec["reason"].to_string() } else { String::new() };
            let status = &object["status"];
            for of in status["conditions"].as_array().into_iter().flatten() {
                all.push(format!("{} {reason} {} {} {}", kind.kind, of["type"], of["status"], of["reason"]));
            }
            all.push(format!(
                "{} {} {}",
                status["engine"]["running"], status["upgrade"]["result"], status["storage"]["claim"]
            ));
        }
    }
    all.extend(bench.world.all(Claim::KIND).map(|(key, claim)| format!("claim {} {}", key.name, claim["spec"])));
    all.extend(bench.world.all(Pod::KIND).map(|(key, _)| format!("pod {}", key.name)));
    all.extend(bench.site.secrets.keys().map(|name| format!("Secret {name}")));
    let volumes = bench.site.disks.volumes.values();
    all.extend(
        volumes.map(|volume| format!("{:?} files {}", volume.data.as_ref().map(|data| data.ran), volume.files.len())),
    );
    all.sort();
    all
}

/// Has it befall the manager at every point there is.
fn everywhere(stories: Vec<Story>, fate: impl Fn(usize) -> Fate) {
    for story in stories {
        let begun = begun(&story);
        let (whole, _) = tell(&story, begun.fork(), Fate::Nothing);
        let whole = essence(&whole);
        for point in 0.. {
            let (bench, met) = tell(&story, begun.fork(), fate(point));
            assert_eq!(essence(&bench), whole, "{}, {:?}\n{}", story.name, fate(point), bench.story());
            if !met {
                println!("{}: {point} points", story.name);
                break;
            }
        }
    }
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
                everywhere($stories(), |act| Fate::Act(act, Answer::Lost));
            }

            #[test]
            fn a_question_is_lost_at_every_act() {
                everywhere($stories(), |act| Fate::Act(act, Answer::Unasked));
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
