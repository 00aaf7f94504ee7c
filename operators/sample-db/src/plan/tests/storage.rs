//! Volumes that fill, grow, or are full.

use super::failing::{ended, settled, told, with_pod, with_pod_of};
use super::server::{says, standing};
use super::*;

/// What the server of a full volume says, of which the last three lines do not tell why.
const FULL: &str = "LOG:  redo starts at 0/1\n\
    PANIC:  could not write to file \"pg_wal/xlogtemp.31\": No space left on device\n\
    LOG:  startup process was terminated by signal 6: Aborted\nLOG:  aborting startup\nLOG:  database system is shut down\n";

#[test]
fn a_full_volume_is_named_with_what_to_do() {
    let mut seen = with_pod(&json!({}), &ended(1, "Error", FULL));
    let (done, status) = told(&seen);
    assert_eq!(done, Vec::<String>::new());
    let ready = &status.contract.condition("Ready").unwrap().message;
    assert!(ready.contains("No space left on device"), "{ready}");
    let storage = status.contract.condition("StorageHealthy").unwrap();
    assert_eq!((storage.status, &*storage.reason), (ConditionStatus::False, "VolumeFull"));
    assert!(storage.message.contains("data-shop-0") && storage.message.contains("storage.size"), "{}", storage.message);
    // There is room: the kubelet's next try may be minutes away.
    let grown = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1",
        "labels": { "multi-operator.example.com/owner-uid": "u-1" } },
        "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } } });
    seen.claims = vec![Arc::new(Claim::decode(&grown.to_string()).unwrap())];
    let (done, status) = told(&seen);
    assert_eq!(done, ["delete Pod shop-0"]);
    assert_eq!(status.volumes[0].capacity.as_deref(), Some("2Gi"), "so that it is done once");
}

#[test]
fn another_volume_that_is_full_is_not_said_to_be_the_datas() {
    let mut seen = standing(&json!({}), &settled());
    let failed = json!({ "phase": "Failed", "sampleDBUID": "u-1", "startedAt": "2027-01-15T07:59:00Z",
        "error": "the backup failed: No space left on device" });
    seen.snapshots = vec![snapshot("shop-1", "Scheduled", &failed)];
    let status = told(&seen).1;
    assert_ne!(reason(&status, "StorageHealthy").1, "VolumeFull");
    assert_eq!(reason(&status, "BackupHealthy"), (ConditionStatus::False, "LastFailed".to_owned()));
}

#[test]
fn a_volume_that_fills_is_told_of_early() {
    let mut seen = standing(&json!({}), &settled());
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1",
        "labels": { "multi-operator.example.com/owner-uid": "u-1" } },
        "status": { "phase": "Bound", "capacity": { "storage": "1Gi" } } });
    seen.claims = vec![Arc::new(Claim::decode(&claim.to_string()).unwrap())];
    seen.asked = says(|answer| answer.bytes = 860 << 20);
    assert_eq!(reason(&told(&seen).1, "StorageHealthy"), (ConditionStatus::False, "NearlyFull".to_owned()));
    // Its file system may be smaller than what was asked for, or have few inodes left.
    let claims = seen.claims.clone();
    let with = |said: &Value| {
        let status = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
            "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
                "state": { "terminated": { "exitCode": 0, "message": said.to_string() } } }] });
        let mut seen = with_pod(&json!({}), &status);
        (seen.claims, seen.asked) = (claims.clone(), says(|answer| answer.bytes = 400 << 20));
        told(&seen).1.volumes[0].used_percent
    };
    assert_eq!(with(&json!({})), Some(40));
    assert_eq!(with(&json!({ "volumeBytes": 512 << 20 })), Some(80), "of 480 MiB, since 32 are held back");
    assert_eq!(with(&json!({ "inodes": 100, "freeInodes": 5 })), Some(95));
}

/// A claim of that size, and the database with it.
fn of_size(seen: &mut Observed, size: &str) {
    let mut of = settled();
    of["volumes"] = json!([{ "claim": "data-shop-0", "capacity": size }]);
    seen.db = observed(&json!({ "storage": { "size": size } }), &of).db;
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1", "labels": labels_of("u-1") },
        "status": { "phase": "Bound", "capacity": { "storage": size } } });
    seen.claims = vec![Arc::new(Claim::decode(&claim.to_string()).unwrap())];
}

/// The probe measures while the server runs: a volume grows, and others write to the same file system.
#[test]
fn what_is_measured_beside_a_running_server_counts() {
    let said = json!({ "volumeBytes": 900 << 20, "inodes": 100, "freeInodes": 90 }).to_string();
    let status = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
        "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "message": said } } }] });
    let mut seen = with_pod_of(&json!({}), &settled(), &status);
    let mut used = |size: &str, megabytes: i64, room: Option<[i64; 4]>| {
        of_size(&mut seen, size);
        let room = room.map(|[volume, free, inodes, free_inodes]| crate::plan::Room {
            volume_bytes: volume << 20,
            free_bytes: free << 20,
            inodes,
            free_inodes,
        });
        seen.asked = says(|answer| (answer.bytes, answer.room) = (megabytes << 20, room));
        let status = told(&seen).1;
        (status.volumes[0].used_percent.unwrap(), reason(&status, "StorageHealthy").1)
    };
    let sound = |percent| (percent, "Sound".to_owned());
    let nearly = |percent| (percent, "NearlyFull".to_owned());
    assert_eq!(used("1Gi", 860, None), nearly(95), "of an earlier agent's pod: of 868 MiB");
    assert_eq!(used("2Gi", 860, Some([1900, 980, 0, 0])), sound(45), "it has grown");
    assert_eq!(used("1Gi", 300, Some([900, 20, 0, 0])), nearly(90), "others have taken the rest: of 320");
    assert_eq!(used("1Gi", 300, Some([900_000, 500_000, 0, 0])), sound(30), "of what was asked for, on a large disk");
    assert_eq!(used("1Gi", 300, Some([900, 500, 65_536, 2_000])), nearly(95), "files, since the start");
}

/// A growth that the class refused can be taken back, as GitOps does.
#[test]
fn a_size_that_is_taken_back_shrinks_no_volume() {
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1",
        "labels": { "multi-operator.example.com/owner-uid": "u-1" } },
        "spec": { "resources": { "requests": { "storage": "2Gi" } } },
        "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } } });
    let claim = Arc::new(Claim::decode(&claim.to_string()).unwrap());
    let asked = |size: &str| {
        let db = observed(&json!({ "storage": { "size": size } }), &settled()).db;
        objects::data_claim(&db, "data-shop-0", Some(&claim)).body["spec"]["resources"]["requests"]["storage"].clone()
    };
    assert_eq!(["1Gi", "2048Mi", "3Gi"].map(asked), ["2Gi", "2048Mi", "3Gi"]);
    let mut seen = standing(&json!({ "storage": { "size": "1Gi" } }), &settled());
    seen.claims = vec![claim];
    seen.asked = says(|answer| answer.bytes = 100 << 20);
    let status = told(&seen).1;
    let healthy = status.contract.conditions.iter().find(|of| of.type_ == "StorageHealthy").unwrap();
    assert!(
        healthy.message.ends_with("volumes do not shrink: it keeps 2Gi, though the spec asks for 1Gi"),
        "{}",
        healthy.message
    );
}

#[test]
fn room_is_held_back_for_a_server_that_has_filled_its_volume() {
    let mut seen = observed(&json!({}), &settled());
    seen.claims = vec![claim("u-1", "c-1")];
    let made = plan(&seen, now());
    let Some(Effect::Apply(server)) = made.effects.last() else { panic!("{:?}", made.effects) };
    let command = server.body["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
    assert!(command.contains("pg-run") && command.contains("--reserve=33554432"), "{command}");
}
