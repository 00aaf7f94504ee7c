//! Quorum is lost for good: the volumes of a majority are gone, and the cluster continues with what is left.

use api::etcd_cluster::RECOVER_WITHOUT;
use proptest::prelude::*;
use runtime::cache::Projection as _;
use runtime::projections::{Pod, Pvc};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Step, name_of};
use crate::kubelet::NODES;
use crate::schedule::pass;
use crate::stories::settle;

impl Bench {
    /// Destroys the pods and volumes of all voters but one.
    pub fn ruin(&mut self, longest: bool) {
        let Some(cluster) = self.cluster() else { return };
        let mut voters: Vec<(u64, String)> = cluster
            .voters()
            .filter_map(|member| {
                let data = self.etcds.volumes.get(&self.volume_of(name_of(member))?)?;
                Some((data.index, name_of(member).to_owned()))
            })
            .collect();
        voters.sort();
        if longest {
            voters.reverse();
        }
        for (_, name) in voters.into_iter().skip(1) {
            let key = self.key.sibling(&name);
            if let Some(volume) = self.volume_of(&name) {
                self.etcds.volumes.remove(&volume);
            }
            self.etcds.processes.remove(&name);
            self.world.remove(Pod::KIND, &key);
            self.world.remove(Pvc::KIND, &key);
        }
        self.world.deliver_all_events();
    }

    /// Runs the command of the condition, if it has one.
    pub fn give_up(&mut self) {
        let message = self.condition("Ready").map_or("", |ready| ready["message"].as_str().unwrap_or_default());
        let command = message.split_whitespace().find_map(|word| word.strip_prefix(RECOVER_WITHOUT)?.strip_prefix('='));
        if let Some(names) = command.map(str::to_owned) {
            self.edit(|object| object["metadata"]["annotations"][RECOVER_WITHOUT] = json!(names));
        }
    }
}

/// Rounds in which a user follows what the condition says, until the cluster serves again.
fn follow(bench: &mut Bench) -> Result<(), TestCaseError> {
    for _ in 0..30 {
        bench.take(&Step::Calm(10));
        if let Err(why) = bench.check_invariants() {
            return Err(TestCaseError::fail(format!("{why}\n{}", bench.story())));
        }
        if bench.is("QuorumHealthy") {
            return Ok(());
        }
        bench.give_up();
    }
    Err(TestCaseError::fail(format!("no quorum\n{}", bench.story())))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => pass().prop_map(Step::Pass),
        6 => Just(Step::Tick),
        4 => (0..5_usize, 1..4_usize).prop_map(|(kind, count)| Step::See { kind, count }),
        4 => (1..24_u8).prop_map(Step::Calm),
        3 => Just(Step::GiveUp),
        2 => (0..9_usize).prop_map(Step::Kill),
        2 => (0..9_usize).prop_map(Step::Evict),
        2 => (0..4_u8, any::<bool>()).prop_map(|(node, up)| Step::Node { node, up }),
        1 => (0..9_usize, any::<bool>()).prop_map(|(pod, cut)| Step::Cut { pod, cut }),
        1 => (1..6_u8).prop_map(Step::Wait),
    ]
}

fn spec() -> impl Strategy<Value = Value> {
    let storage = prop_oneof![Just(json!({ "size": "1Gi" })), Just(json!({ "size": "1Gi", "onDelete": "Delete" }))];
    let recovery = prop_oneof![
        2 => Just(Value::Null),
        1 => Just(json!({ "policy": "Automatic", "delaySeconds": 30 })),
    ];
    (2..6_i32, storage, recovery)
        .prop_map(|(size, storage, recovery)| json!({ "size": size, "storage": storage, "recovery": recovery }))
}

/// Volumes of a majority are destroyed, or all nodes but one are down, which may come up at any time.
fn loss() -> impl Strategy<Value = Vec<Step>> {
    let down = (1..NODES).map(|node| Step::Node { node, up: false }).collect::<Vec<_>>();
    prop_oneof![
        2 => any::<bool>().prop_map(|longest| vec![Step::Ruin { longest }]),
        1 => Just(down).prop_map(|down| down.into_iter().chain([Step::Calm(90), Step::GiveUp]).collect()),
    ]
}

/// The number of schedules; `scripts/test --all` runs more.
const CASES: u32 = 25;

proptest! {
    #![proptest_config(seed::properties!(CASES))]

    /// Whatever happens meanwhile: the cluster continues with the ids that it had, and with each write that the member has with which it
    /// goes on; it never goes on while others of its members run.
    #[test]
    fn a_cluster_continues_with_what_is_left(
        spec in spec(),
        lazy in any::<bool>(),
        loss in loss(),
        before in 1..20_u8,
        steps in prop::collection::vec(step(), 0..25),
    ) {
        let mut bench = Bench::new(&spec);
        settle(&mut bench);
        let id = bench.cluster_id().map(str::to_owned);
        bench.take(&Step::Pace { slow: false, lazy });
        bench.take(&Step::Calm(before));
        loss.iter().for_each(|step| bench.take(step));
        steps.iter().for_each(|step| bench.take(step));
        bench.end_faults();
        follow(&mut bench)?;
        bench.settle().map_err(|why| TestCaseError::fail(format!("{why}\n{}", bench.story())))?;
        prop_assert_eq!(bench.cluster_id().map(str::to_owned), id);
    }
}

/// Their nodes are down, and their volumes are not lost.
#[test]
fn members_that_only_do_not_answer_are_given_up_only_by_a_user() {
    let automatic = json!({ "policy": "Automatic", "delaySeconds": 30 });
    for (recovery, asked) in [(automatic, false), (Value::Null, true)] {
        let mut bench = Bench::new(&json!({ "size": 3, "recovery": recovery }));
        settle(&mut bench);
        let members =
            |bench: &Bench| bench.cluster().expect("a cluster").members.iter().map(|of| of.id).collect::<Vec<_>>();
        let before = members(&bench);
        for node in [1, 2] {
            bench.take(&Step::Node { node, up: false });
        }
        bench.take(&Step::Calm(120));
        assert_eq!(members(&bench), before);
        if asked {
            bench.give_up();
            bench.take(&Step::Calm(40));
            // Their pods are terminating for as long as their nodes are down.
            assert_eq!(members(&bench), before, "{}", bench.story());
            assert!(bench.story().contains("once the pods of the others are deleted"), "{}", bench.story());
        }
        bench.end_faults();
        bench.take(&Step::Calm(60));
        assert!(bench.is("QuorumHealthy"), "{}", bench.story());
        assert_eq!(members(&bench) == before, !asked, "{}", bench.story());
    }
}
