//! The manager dies at every boundary between two writes, and answers of etcd are lost at every act: each time, all ends
//! as if nothing had happened.

use runtime::cache::View;
use runtime::views::{Claim, Pod};
use serde_json::{Value, json};

use crate::asked::Answer;
use crate::bench::{Bench, Pass};
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::stories::version;

/// What is done while the manager dies or is not answered.
struct Story {
    name: &'static str,
    spec: Value,
    steps: Vec<Step>,
}

fn stories() -> Vec<Story> {
    let story = |name, spec, steps| Story { name, spec, steps };
    let (size, to) = (|size| Step::Edit(Edit::Size(size)), |text| Step::Edit(Edit::Version(version(text))));
    let delete = json!({ "size": "1Gi", "onDelete": "Delete" });
    let old = "3.3.27";
    vec![
        story("0 to 3", json!({ "size": 3 }), Vec::new()),
        story("1 to 3 to 5", json!({ "size": 1 }), vec![size(3), Step::Calm(40), size(5)]),
        story("5 to 3 to 1", json!({ "size": 5 }), vec![size(3), Step::Calm(20), size(1)]),
        story("5 to 1, volumes go", json!({ "size": 5, "storage": delete }), vec![size(1)]),
        story("an upgrade", json!({ "size": 3, "version": "3.5.35" }), vec![to("3.6.16")]),
        story(
            "an upgrade, and then fewer",
            json!({ "size": 3, "version": "3.5.35" }),
            vec![to("3.6.16"), Step::Calm(4), size(1)],
        ),
        story("a restart", json!({ "size": 3 }), vec![Step::Edit(Edit::Restart(1))]),
        story(
            "a restart without volumes",
            json!({ "size": 3, "storage": { "ephemeral": true } }),
            vec![Step::Edit(Edit::Restart(1))],
        ),
        story("a volume wiped", json!({ "size": 3 }), vec![Step::Spoil { pod: 1, wiped: true }]),
        story("a volume corrupt", json!({ "size": 3, "storage": delete }), vec![Step::Spoil { pod: 0, wiped: false }]),
        story("a pod deleted", json!({ "size": 3 }), vec![Step::Evict(2)]),
        story("a pod and its claim deleted", json!({ "size": 3 }), vec![Step::EvictFully(2)]),
        story(
            "a pod without volume deleted",
            json!({ "size": 3, "storage": { "ephemeral": true } }),
            vec![Step::Evict(0)],
        ),
        story("3.3: 1 to 3", json!({ "size": 1, "version": old }), vec![size(3)]),
        story(
            "3.3: a member lost, and 3.4",
            json!({ "size": 3, "version": old }),
            vec![Step::EvictFully(1), to("3.4.40")],
        ),
    ]
}

/// What befalls the manager.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Nothing,
    /// It dies after so many writes.
    Dies(usize),
    /// So becomes of the answer to that act.
    Act(usize, Answer),
}

/// Tells the story, and whether what was to befall the manager did.
fn tell(story: &Story, fate: Fate) -> (Bench, bool) {
    let mut bench = Bench::new(&story.spec);
    if !story.steps.is_empty() {
        expect(&mut bench, story, fate, Bench::settle);
    }
    let (writes, acts) = (bench.world.writes, bench.acts);
    let mut steps = story.steps.iter();
    let (mut met, mut calm) = (false, 0);
    let mut rested = 0;
    while rested < 3 {
        if calm > 0 {
            calm -= 1;
        } else if let Some(step) = steps.next() {
            match step {
                Step::Calm(rounds) => calm = *rounds,
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
        rested = if steps.len() == 0 && calm == 0 && bench.at_rest().is_ok() { rested + 1 } else { 0 };
        if met && steps.len() == 0 && calm == 0 {
            break;
        }
    }
    expect(&mut bench, story, fate, Bench::settle);
    (bench, met)
}

fn expect(bench: &mut Bench, story: &Story, fate: Fate, what: fn(&mut Bench) -> Result<(), String>) {
    if let Err(why) = what(bench) {
        panic!("{}, {fate:?}: {why}\n{}", story.name, bench.story());
    }
}

/// What there is in the end, whatever members are called.
fn essence(bench: &Bench) -> Vec<String> {
    let names: Vec<String> = [Pod::KIND, Claim::KIND]
        .into_iter()
        .flat_map(|kind| bench.world.all(kind).map(|(key, _)| key.name.to_string()))
        .collect();
    let anonymous = |text: String| names.iter().fold(text, |text, name| text.replace(name.as_str(), "member"));
    let pod = |(_, pod): (_, &Value)| {
        let mut annotations = pod["metadata"]["annotations"].clone();
        annotations.as_object_mut().map(|all| all.remove("multi-operator.example.com/start"));
        format!("pod {} {annotations}", pod["metadata"]["labels"])
    };
    let claim = |(_, claim): (_, &Value)| {
        let mut labels = claim["metadata"]["labels"].clone();
        let mut varies = vec!["cluster-id", "member-id"];
        // How far a roll had come when its member was removed.
        if labels["multi-operator.example.com/retired"].is_string() {
            varies.extend(["etcd-version", "proven"]);
        }
        for label in varies {
            labels.as_object_mut().map(|all| all.remove(&format!("multi-operator.example.com/{label}")));
        }
        format!("claim {labels} {}", claim["spec"])
    };
    let others = ["services", "poddisruptionbudgets"];
    let content = bench.world.content();
    let others = content.iter().filter(|(key, _)| others.iter().any(|kind| key.starts_with(kind)));
    let conditions = bench.status()["conditions"].as_array().cloned().unwrap_or_default();
    let mut all: Vec<String> = bench
        .world
        .all(Pod::KIND)
        .map(pod)
        .chain(bench.world.all(Claim::KIND).map(claim))
        .chain(others.map(|(key, object)| format!("{key} {object}")))
        .chain(seen(&bench.world).into_iter().map(|pod| format!("image {}", pod.image)))
        .chain(conditions.iter().map(|c| format!("{} {} {}", c["type"], c["status"], c["reason"])))
        .map(anonymous)
        .collect();
    all.sort();
    all
}

/// Has it befall the manager at every point there is.
fn everywhere(fate: impl Fn(usize) -> Fate) {
    for story in stories() {
        let (whole, _) = tell(&story, Fate::Nothing);
        let whole = essence(&whole);
        for point in 0.. {
            let (bench, met) = tell(&story, fate(point));
            assert_eq!(essence(&bench), whole, "{}, {:?}\n{}", story.name, fate(point), bench.story());
            if !met {
                println!("{}: {point} points", story.name);
                break;
            }
        }
    }
}

#[test]
fn the_manager_dies_at_every_boundary() {
    everywhere(Fate::Dies);
}

#[test]
fn an_answer_of_etcd_is_lost_at_every_act() {
    everywhere(|act| Fate::Act(act, Answer::Lost));
}

#[test]
fn a_question_to_etcd_is_lost_at_every_act() {
    everywhere(|act| Fate::Act(act, Answer::Unasked));
}
