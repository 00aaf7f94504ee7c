//! What the pods of a snapshot's Jobs can write to, and that none has a token. Those of a database: `database/tests/mounts.rs`.

use runtime::plan::Create;

use super::super::jobs;
use super::*;
use crate::mounted::mounted;

/// What its own container stands beside, after the step that puts the agent there.
fn beside(job: &Create) -> String {
    let mut all = mounted(&job.body["spec"]["template"]["spec"]);
    assert_eq!((all.len(), &*all[0]), (2, "install:"), "{all:?}");
    all.remove(1)
}

#[test]
fn only_who_takes_or_removes_a_snapshot_can_write_to_it_and_nobody_has_a_token() {
    let online = seen(&json!({}), &json!({}), &running());
    let db = online.db.clone().unwrap();
    assert_eq!(beside(&jobs::backup(&online, &db)), "work: snapshots");
    let mut physical = running();
    physical["method"] = json!("Physical");
    let physical = seen(&json!({}), &json!({}), &physical);
    assert_eq!(beside(&jobs::backup(&physical, &db)), "work: snapshots");
    // Of data without a server, for which one is started there.
    let last = seen(&json!({}), &json!({ "reason": "Final" }), &running());
    assert_eq!(beside(&jobs::backup(&last, &db)), "work: snapshots, data");
    for (mode, checks) in [(api::sample_db::VerifyMode::Restore, true), (api::sample_db::VerifyMode::Checksum, false)] {
        let proves = jobs::verify(&online, mode, checks.then(|| "[]".to_owned()), 60);
        let more = if checks { ", checks" } else { "" };
        assert_eq!(beside(&proves), format!("work: snapshots to read, scratch{more}"));
    }
    assert_eq!(beside(&jobs::prune(&online)), "work: snapshots");
}
