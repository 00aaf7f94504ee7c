//! What the operator writes, when it is upgraded, to the children of objects that an earlier version has created: only what is
//! named here, each with the reason why it is needed. A change that causes another write fails here.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2e::call::{Call, lines};
use e2e::olm::{Install, Objects};
use e2e::wait::wait_until;

/// Writes to children of the version that `PREVIOUS_COMMIT` (scripts/names.env) stands for: resource, part of the name, and why.
/// Delete an entry once that version does the same itself.
const NEEDED: &[(&str, &str, &str)] = &[
    (
        "persistentvolumeclaims",
        "example-etcd-cluster",
        "the finalizer that keeps a member's volume, and what the member ran with",
    ),
    ("persistentvolumeclaims", "example-database", "what is latched of a database, and that nothing prunes its volume"),
    ("services", "example-etcd-cluster", "a selector that foreign pods do not have"),
    ("poddisruptionbudgets", "example-etcd-cluster", "a selector that foreign pods do not have"),
    ("services", "example-database", "a selector that foreign pods do not have"),
    ("pods", "example-etcd-cluster", "a label that foreign pods do not have"),
    ("pods", "example-database-0", "a label that foreign pods do not have"),
    ("pods", "example-database-probe", "a dry run of the pod that the next start of the server makes"),
    ("statefulsets", "example-database", "the same label, and what the next start of the server takes; its pod stays"),
    (
        "configmaps",
        "example-database-configuration",
        "limits that fit the volume, from the next start of the server on",
    ),
    ("jobs", "example-database-", "a backup by schedule, and its verification, whenever they are due"),
];

/// Custom resources are written for status and finalizers, which other tests check.
const OUR_KINDS: [&str; 5] = ["myapps", "samples", "etcdclusters", "sampledbs", "sampledbsnapshots"];

/// How long nothing may be written until an upgrade counts as over.
const QUIET: Duration = Duration::from_secs(8);

/// Waits until the manager writes no more in the namespace of `objects`; fails if it has written to children what it need not.
pub async fn nothing_needless_was_written(install: &Install, objects: &Objects) {
    let (mut seen, mut since) = (usize::MAX, Instant::now());
    wait_until("the upgraded manager to write no more", 8 * QUIET, || {
        let written = writes(install, objects);
        if written.len() != seen {
            (seen, since) = (written.len(), Instant::now());
        }
        let rests = since.elapsed() >= QUIET;
        async move { if rests { Ok(()) } else { Err(lines(&written)) } }
    })
    .await;
    let (children, own): (Vec<_>, Vec<_>) =
        writes(install, objects).into_iter().partition(|call| !OUR_KINDS.contains(&&*call.resource));
    let needed = |call: &&Call| {
        let (_, _, why) = NEEDED.iter().find(|(of, name, _)| call.resource == *of && call.name.contains(name))?;
        Some(*why)
    };
    let (named, needless): (Vec<&Call>, Vec<&Call>) = children.iter().partition(|call| needed(call).is_some());
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    for call in &named {
        *counts.entry((call.resource.as_str(), needed(call).unwrap_or_default())).or_default() += 1;
    }
    println!(
        "upgrade: {} writes to children, {} of them named: {counts:?}; {} to custom resources",
        children.len(),
        named.len(),
        own.len()
    );
    assert!(needless.is_empty(), "an upgrade makes no write that is not needed:\n{}", lines(needless));
}

/// The manager's writes in that namespace since the mark of `install`.
fn writes(install: &Install, objects: &Objects) -> Vec<Call> {
    let mut calls = install.calls();
    calls.retain(|call| call.is_write() && call.namespace == objects.namespace);
    calls
}
