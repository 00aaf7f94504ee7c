//! Random schedules.

use proptest::prelude::*;
use proptest::sample::Index;
use runtime::testing::fault_injection::{ActAnswer, ReconcileFaults};
use serde_json::{Value, json};

use crate::faults::{Edit, Step, VERSIONS};

/// The initial spec: mostly three members on volumes.
pub fn spec() -> impl Strategy<Value = Value> {
    let size = prop_oneof![3 => Just(3), 1 => 1..6_i32];
    let version = prop_oneof![3 => Just(4_usize), 1 => 0..6_usize];
    let storage = prop_oneof![
        4 => Just(Value::Null),
        2 => Just(json!({ "size": "1Gi", "onDelete": "Delete" })),
        2 => Just(json!({ "ephemeral": true })),
    ];
    let replace = prop_oneof![2 => Just(Value::Null), 1 => Just(json!("1m"))];
    (size, version, storage, replace).prop_map(|(size, version, storage, replace)| {
        json!({ "size": size, "version": VERSIONS[version], "storage": storage, "replaceAfter": replace })
    })
}

pub fn pass() -> impl Strategy<Value = ReconcileFaults> {
    let answer =
        prop_oneof![8 => Just(ActAnswer::Delivered), 1 => Just(ActAnswer::Lost), 1 => Just(ActAnswer::RequestLost)];
    (prop::option::weighted(0.2, 0..4_usize), answer, prop::bool::weighted(0.05)).prop_map(|(lives, answer, late)| {
        ReconcileFaults { crash_after: lives, act_answer: answer, stale_caches: late }
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (1..8_i32).prop_map(Edit::Size),
        4 => (0..VERSIONS.len()).prop_map(Edit::Version),
        1 => Just(Edit::NoVersion),
        1 => (0..3_u8).prop_map(Edit::Restart),
        1 => any::<bool>().prop_map(Edit::Paused),
        1 => any::<bool>().prop_map(Edit::Hibernate),
        1 => any::<bool>().prop_map(Edit::Quota),
        1 => any::<bool>().prop_map(|good| Edit::Option { good }),
        1 => any::<bool>().prop_map(Edit::Isolated),
        1 => any::<bool>().prop_map(Edit::Hidden),
        1 => any::<bool>().prop_map(Edit::Nowhere),
        2 => (0..3_u8).prop_map(Edit::Lead),
    ]
}

fn which() -> impl Strategy<Value = usize> {
    any::<Index>().prop_map(|index| index.index(420))
}

fn fault() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => which().prop_map(Step::Kill),
        3 => which().prop_map(Step::Evict),
        2 => which().prop_map(Step::EvictFully),
        1 => which().prop_map(Step::DropClaim),
        2 => (which(), any::<bool>()).prop_map(|(pod, wiped)| Step::Spoil { pod, wiped }),
        1 => which().prop_map(Step::Lose),
        1 => which().prop_map(Step::Expel),
        1 => (0..3_usize).prop_map(Step::DropChild),
        2 => (0..4_u8, any::<bool>()).prop_map(|(node, up)| Step::Node { node, up }),
        2 => (0..VERSIONS.len(), any::<bool>()).prop_map(|(version, there)| Step::Image { version, there }),
        2 => (which(), any::<bool>()).prop_map(|(pod, cut)| Step::Cut { pod, cut }),
        1 => any::<bool>().prop_map(Step::Mute),
        1 => any::<bool>().prop_map(Step::Blind),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(slow, lazy)| Step::Pace { slow, lazy }),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(pods, reported)| Step::Refuse { pods, reported }),
        1 => any::<bool>().prop_map(Step::Alarm),
        1 => (1..12_u8).prop_map(Step::Wait),
        1 => (which(), 0..5_usize).prop_map(|(pod, label)| Step::Relabel { pod, label }),
        1 => (which(), 0..5_usize).prop_map(|(pod, label)| Step::RelabelClaim { pod, label }),
        1 => Just(Step::LoseStatus),
    ]
}

/// The steps before all faults end.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => pass().prop_map(Step::Pass),
        6 => Just(Step::Tick),
        4 => (0..5_usize, 1..4_usize).prop_map(|(kind, count)| Step::See { kind, count }),
        5 => (1..24_u8).prop_map(Step::Calm),
        3 => edit().prop_map(Step::Edit),
        6 => fault(),
    ];
    prop::collection::vec(step, 0..45)
}
