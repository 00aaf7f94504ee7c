//! What the pods of a snapshot's Jobs can write to; none has a token. Those of a database: `database/tests/mounts.rs`.

use runtime::plan::Create;

use super::super::jobs;
use super::*;
use crate::mounted::mounted;

/// The volumes of the Job's own container, after the init container that installs the agent.
fn mounts_of(job: &Create) -> String {
    let mut all = mounted(&job.body["spec"]["template"]["spec"]);
    assert_eq!((all.len(), &*all[0]), (2, "install:"), "{all:?}");
    all.remove(1)
}

#[test]
fn only_jobs_that_take_or_remove_a_snapshot_can_write_to_it_and_none_has_a_token() {
    let online = seen(&json!({}), &json!({}), &running());
    let db = online.db.clone().unwrap();
    assert_eq!(mounts_of(&jobs::backup(&online, &db)), "work: snapshots");
    let mut physical = running();
    physical["method"] = json!("Physical");
    let physical = seen(&json!({}), &json!({}), &physical);
    assert_eq!(mounts_of(&jobs::backup(&physical, &db)), "work: snapshots");
    // From data without a server: the Job starts one there.
    let last = seen(&json!({}), &json!({ "reason": "Final" }), &running());
    assert_eq!(mounts_of(&jobs::backup(&last, &db)), "work: snapshots, data");
    for (mode, checks) in [(api::sample_db::VerifyMode::Restore, true), (api::sample_db::VerifyMode::Checksum, false)] {
        let verification = jobs::verify(&online, mode, checks.then(|| "[]".to_owned()), 60);
        let more = if checks { ", checks" } else { "" };
        assert_eq!(mounts_of(&verification), format!("work: snapshots to read, scratch{more}"));
    }
    assert_eq!(mounts_of(&jobs::prune(&online)), "work: snapshots");
}
