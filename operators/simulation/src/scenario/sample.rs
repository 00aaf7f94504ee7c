//! Samples: each has a ConfigMap.

use api::sample::SampleReason;
use serde_json::{Value, json};

use super::definition::{Scenario, reasons};
use super::deletion::propagation;
use crate::api_server::request::Propagation;
use crate::api_server::state::StoredState;
use crate::objects::objects;
use crate::random::Random;
use crate::user::{Deed, UserAct};

/// Two Samples that are created, edited and deleted, and whose ConfigMaps are edited and deleted by hand.
pub const SCENARIO: Scenario = Scenario {
    name: "sample",
    controllers: "sample",
    roots: &["samples"],
    children: &["configmaps"],
    kept: &["configmaps"],
    volatile: &[],
    most_writes: 600,
    reasons: || reasons!(SampleReason),
    permissions: ::sample::PERMISSIONS,
    operand_fault: None,
    children_differ,
    act,
    wanted,
};

const NAMES: [&str; 2] = ["one", "two"];
const TEXTS: [&str; 3] = ["a", "b", "c"];

fn act(random: &mut Random) -> UserAct {
    let name = random.pick(&NAMES).copied().unwrap_or_default().to_owned();
    let text = random.pick(&TEXTS).copied().unwrap_or_default();
    let (plural, what) = match random.below(100) {
        0..45 => ("samples", Deed::Put(json!({ "testString": text }))),
        45..55 => ("samples", Deed::Delete(propagation(random))),
        55..65 => ("samples", Deed::EraseStatus),
        65..85 => ("configmaps", Deed::Edit(json!({ "data": { "testString": text } }))),
        _ => ("configmaps", Deed::Delete(Propagation::Background)),
    };
    UserAct { plural, name, what }
}

fn children_differ(state: &StoredState, name: &str, sample: &Value) -> Vec<String> {
    let kept = objects(state, "configmaps")
        .any(|(of, config)| of == name && config["data"]["testString"] == sample["testString"]);
    if kept { Vec::new() } else { vec![format!("at the end, no ConfigMap {name} contains {}", sample["testString"])] }
}

fn wanted(random: &mut Random) -> Vec<UserAct> {
    let mut put = |name: &str| {
        let text = random.pick(&TEXTS).copied().unwrap_or_default();
        UserAct { plural: "samples", name: name.to_owned(), what: Deed::Put(json!({ "testString": text })) }
    };
    NAMES.into_iter().map(&mut put).collect()
}
