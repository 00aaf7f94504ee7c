//! SampleDBs: a StatefulSet with one server and a PVC, Services, ConfigMaps and Secrets, and snapshots that users ask for.

use std::time::Duration;

use api::sample_db::{SampleDBEvent, SampleDBReason};
use api::sample_db_snapshot::{SampleDBSnapshotEvent, SampleDBSnapshotReason};
use serde_json::{Value, json};

use super::definition::{Scenario, reasons};
use crate::api_server::request::Propagation;
use crate::api_server::state::StoredState;
use crate::call_faults::CallRates;
use crate::happening::Happening;
use crate::objects::{has_ready, objects};
use crate::random::Random;
use crate::user::{Deed, UserAct};

/// A SampleDB whose parameters are edited, of which users take snapshots, whose pod and children are deleted and edited by hand, and whose status is lost. No
/// volume is lost, and no one deletes it: its data has to be there at the end.
pub const SCENARIO: Scenario = Scenario {
    name: "sample-db",
    controllers: "sample-db,sample-db-snapshot",
    roots: &["sampledbs"],
    children: &["services", "configmaps", "statefulsets"],
    kept: &["services", "configmaps", "statefulsets"],
    // Times, with what is named or worded after them: snapshots and messages. What names the database's uid, and so revisions.
    volatile: &[
        OWNER_UID,
        "backup",
        "claimUID",
        "completedAt",
        "currentReplicas",
        "currentRevision",
        "dataCreatedAt",
        "initContainers",
        "message",
        "revision",
        SYSTEM_IDENTIFIER,
        "updateRevision",
        "updatedReplicas",
    ],
    most_writes: 1000,
    reasons: || reasons!(SampleDBReason, SampleDBEvent, SampleDBSnapshotReason, SampleDBSnapshotEvent),
    permissions: ::sample_db::PERMISSIONS,
    operand_fault: Some(operand_fault),
    children_differ,
    act,
    wanted,
};

const NAME: &str = "shop";
/// Snapshots that users take, and their methods.
const SNAPSHOTS: [(&str, &str); 2] = [("dump", "Logical"), ("copy", "Physical")];
const SERVICE: &str = "shop-rw";
const CONFIGURATION: &str = "shop-configuration";
const CONNECTION: &str = "shop-connection";
const OWNER_UID: &str = "multi-operator.example.com/owner-uid";
/// Once status has it, the data exists, and the volumes have the record of whose it is.
const SYSTEM_IDENTIFIER: &str = "systemIdentifier";

fn act(random: &mut Random) -> UserAct {
    let background = Deed::Delete(Propagation::Background);
    let (plural, name, what) = match random.below(100) {
        0..35 => ("sampledbs", NAME, put(random).maybe_paused(random)),
        35..45 => {
            let (name, method) = random.pick(&SNAPSHOTS).copied().unwrap_or_default();
            let what = match random.chance(700) {
                true => Deed::Put(json!({ "spec": { "sampleDB": NAME, "method": method } })),
                false => background,
            };
            ("sampledbsnapshots", name, what)
        }
        45..57 => ("statefulsets", NAME, Deed::DeletePod { which: 0, unless_lacks: "replicas" }),
        57..65 => ("sampledbs", NAME, Deed::EraseStatusWith(SYSTEM_IDENTIFIER)),
        65..71 => ("services", SERVICE, background),
        71..77 => ("services", SERVICE, Deed::Edit(json!({ "spec": { "selector": { "app": "other" } } }))),
        77..83 => ("configmaps", CONFIGURATION, background),
        83..88 => ("configmaps", CONNECTION, Deed::Edit(json!({ "data": { "PGHOST": "elsewhere" } }))),
        88..94 => ("statefulsets", NAME, background),
        _ => ("statefulsets", NAME, Deed::Edit(json!({ "metadata": { "labels": null } }))),
    };
    UserAct { plural, name: name.to_owned(), what }
}

fn wanted(random: &mut Random) -> Vec<UserAct> {
    vec![UserAct { plural: "sampledbs", name: NAME.to_owned(), what: put(random) }]
}

fn put(random: &mut Random) -> Deed {
    let parameters =
        json!({ "work_mem": random.pick(&["4MB", "8MB"]), "max_connections": random.pick(&["50", "100"]) });
    Deed::Put(json!({ "spec": {
        "engine": { "image": "docker.io/library/postgres:17.12", "parameters": parameters },
        "storage": { "size": "1Gi" },
    } }))
}

fn operand_fault(random: &mut Random) -> Happening {
    if random.chance(500) {
        return Happening::KillOperand(0);
    }
    let time = Duration::from_millis(random.between(2_000, 60_000));
    Happening::OperandStorm(CallRates::draw(random), time)
}

fn children_differ(state: &StoredState, name: &str, db: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let pods: Vec<(&str, &Value)> = objects(state, "pods").filter(|(pod, _)| *pod == format!("{name}-0")).collect();
    if !pods.iter().any(|(_, pod)| has_ready(pod)) {
        found.push(format!("at the end, {name} has no ready pod"));
    }
    let service = objects(state, "services").find(|(service, _)| *service == SERVICE);
    let selector =
        service.and_then(|(_, service)| service["spec"]["selector"].as_object().cloned()).unwrap_or_default();
    let is_selected = |pod: &Value| selector.iter().all(|(label, value)| pod["metadata"]["labels"][label] == *value);
    if selector.is_empty() || !pods.iter().all(|(_, pod)| is_selected(pod)) {
        found.push(format!("at the end, the Service {SERVICE} does not select the server"));
    }
    let file = objects(state, "configmaps").find(|(map, _)| *map == CONFIGURATION);
    let file = file.and_then(|(_, map)| map["data"]["operator.conf"].as_str()).unwrap_or_default();
    for (parameter, value) in db["spec"]["engine"]["parameters"].as_object().into_iter().flatten() {
        let line = format!("{parameter} = '{}'", value.as_str().unwrap_or_default());
        if !file.lines().any(|of| of == line) {
            found.push(format!("at the end, {CONFIGURATION} lacks {line}"));
        }
    }
    found
}
