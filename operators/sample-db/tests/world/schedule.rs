//! Random schedules.

use proptest::prelude::*;
use proptest::sample::Index;
use runtime::testing::fault_injection::{ActAnswer, ReconcileFaults};
use serde_json::{Value, json};

use crate::collector::Propagation;
use crate::faults::{COMMANDS, Edit, Step, VERSIONS};
use crate::scenarios::default_spec;

/// An initial spec.
pub fn spec() -> impl Strategy<Value = Value> {
    let version = prop_oneof![3 => Just(None), 3 => Just(Some("15")), 2 => Just(Some("15.18"))];
    let backup = prop_oneof![
        2 => Just(json!({})),
        2 => Just(json!({ "immediate": false })),
        1 => Just(json!({ "schedule": "*/10 * * * *", "retention": { "keepLast": 1 } })),
        1 => Just(json!({ "method": "Physical" })),
    ];
    (version, backup, prop::bool::weighted(0.7)).prop_map(|(version, backup, sql)| {
        let mut spec = if sql { default_spec() } else { json!({}) };
        (spec["engine"]["version"], spec["backup"]) = (json!(version), backup);
        spec["upgrade"]["keepPreviousVolumeFor"] = json!("10m");
        spec
    })
}

fn pass() -> impl Strategy<Value = ReconcileFaults> {
    let answer =
        prop_oneof![8 => Just(ActAnswer::Delivered), 1 => Just(ActAnswer::Lost), 1 => Just(ActAnswer::RequestLost)];
    (prop::option::weighted(0.2, 0..4_usize), answer, prop::bool::weighted(0.05))
        .prop_map(|(crash_after, act_answer, stale_caches)| ReconcileFaults { crash_after, act_answer, stale_caches })
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (0..VERSIONS.len()).prop_map(Edit::Version),
        1 => Just(Edit::NoVersion),
        3 => (0..4_usize).prop_map(Edit::Parameter),
        1 => any::<bool>().prop_map(Edit::Size),
        2 => (0..3_u8).prop_map(Edit::Restart),
        2 => prop_oneof![Just("ssd"), Just("nowhere")].prop_map(Edit::Node),
        1 => any::<bool>().prop_map(Edit::Paused),
        2 => (0..3_usize).prop_map(Edit::Schedule),
        1 => any::<bool>().prop_map(Edit::Manual),
        1 => Just(Edit::Skip),
        1 => prop_oneof![Just("Snapshot"), Just("Retain"), Just("Delete")].prop_map(Edit::Policy),
    ]
}

fn which() -> impl Strategy<Value = usize> {
    any::<Index>().prop_map(|index| index.index(420))
}

fn fault() -> impl Strategy<Value = Step> {
    let release = || prop_oneof![Just("15.20"), Just("17.12")];
    prop_oneof![
        4 => which().prop_map(Step::Kill),
        4 => which().prop_map(Step::DeletePod),
        2 => which().prop_map(Step::DeleteSecret),
        1 => which().prop_map(Step::DeleteChild),
        3 => any::<bool>().prop_map(|physical| Step::CreateSnapshot { physical }),
        1 => which().prop_map(Step::DeleteSnapshot),
        1 => Just(Step::DeleteSnapshotPvc),
        2 => Just(Step::LoseStatus),
        1 => Just(Step::LoseSnapshotStatus),
        3 => (0..COMMANDS.len(), 1..4_u32).prop_map(|(command, stage)| Step::Fail { command, stage }),
        1 => release().prop_map(Step::Crash),
        1 => release().prop_map(Step::Missing),
        1 => any::<bool>().prop_map(Step::Corrupt),
        1 => any::<bool>().prop_map(Step::Slot),
        1 => prop_oneof![Just(("two", true)), Just(("three", false))].prop_map(|(sum, right)| Step::Sql { sum, right }),
        1 => any::<bool>().prop_map(Step::FailReads),
        3 => Just(Step::EndFaults),
        1 => (1..12_u8).prop_map(Step::Wait),
    ]
}

/// What happens before all faults end.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => pass().prop_map(Step::Reconcile),
        6 => Just(Step::Tick),
        4 => (0..8_usize, 1..4_usize).prop_map(|(kind, count)| Step::DeliverEvents { kind, count }),
        8 => (1..24_u8).prop_map(Step::Rounds),
        3 => edit().prop_map(Step::Edit),
        6 => fault(),
    ];
    prop::collection::vec(step, 0..45)
}

/// How it ends: with the deletion of the database or of the namespace, and what happens then.
pub fn end() -> impl Strategy<Value = Vec<Step>> {
    let way = prop_oneof![
        3 => Just(Vec::new()),
        2 => Just(vec![Step::Delete(Propagation::Background)]),
        2 => Just(vec![Step::Delete(Propagation::Foreground)]),
        1 => Just(vec![Step::DeleteNamespace]),
    ];
    let more = prop::collection::vec(
        prop_oneof![
            3 => pass().prop_map(Step::Reconcile),
            3 => (1..8_u8).prop_map(Step::Rounds),
            2 => (0..8_usize, 1..4_usize).prop_map(|(kind, count)| Step::DeliverEvents { kind, count }),
            1 => which().prop_map(Step::Kill),
            1 => which().prop_map(Step::DeletePod),
            1 => Just(Step::LoseStatus),
            1 => which().prop_map(Step::DeleteDataPvc),
            1 => Just(Step::DeleteSnapshotPvc),
        ],
        0..12,
    );
    (way, more).prop_map(|(mut way, more)| {
        way.extend(more);
        way
    })
}
