//! Volumes that fill, grow, or are full.

use super::failing::{ended, reported, settled, with_pod, with_pod_of};
use super::server::{says, standing};
use super::*;

/// What the server on a full volume logs; the last three lines do not say why.
const FULL: &str = "LOG:  redo starts at 0/1\n\
    PANIC:  could not write to file \"pg_wal/xlogtemp.31\": No space left on device\n\
    LOG:  startup process was terminated by signal 6: Aborted\nLOG:  aborting startup\nLOG:  database system is shut down\n";

#[test]
fn a_full_volume_is_named_with_what_to_do() {
    let mut seen = with_pod(&json!({}), &ended(1, "Error", FULL));
    let (done, status) = reported(&seen);
    assert_eq!(done, Vec::<String>::new());
    let with_log = status.contract.conditions.iter().filter(|of| of.message.contains("No space left on device"));
    let with_log: Vec<&str> = with_log.map(|of| &*of.type_).collect();
    assert_eq!(with_log, ["Ready", "Stalled"], "no other repeats its lines");
    let storage = status.contract.condition("StorageHealthy").unwrap();
    assert_eq!((storage.status, &*storage.reason), (ConditionStatus::False, "VolumeFull"));
    assert!(storage.message.contains("data-shop-0") && storage.message.contains("storage.size"), "{}", storage.message);
    // There is room: the kubelet's next restart may be minutes away.
    let grown = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1",
        "labels": { "multi-operator.example.com/owner-uid": "u-1" } },
        "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } } });
    seen.claims = vec![Arc::new(Pvc::decode(&grown.to_string()).unwrap())];
    let (done, status) = reported(&seen);
    assert_eq!(done, ["delete Pod shop-0"]);
    assert_eq!(status.volumes[0].capacity.as_deref(), Some("2Gi"), "so that it is done once");
}

#[test]
fn another_full_volume_is_not_reported_as_the_datas() {
    let mut seen = standing(&json!({}), &settled());
    let failed = json!({ "phase": "Failed", "sampleDBUID": "u-1", "startedAt": "2027-01-15T07:59:00Z",
        "error": "the backup failed: No space left on device" });
    seen.snapshots = vec![snapshot("shop-1", "Scheduled", &failed)];
    let status = reported(&seen).1;
    assert_ne!(reason(&status, "StorageHealthy").1, "VolumeFull");
    assert_eq!(reason(&status, "BackupHealthy"), (ConditionStatus::False, "LastFailed".to_owned()));
}

#[test]
fn a_volume_that_fills_is_reported_early() {
    let mut seen = standing(&json!({}), &settled());
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1",
        "labels": { "multi-operator.example.com/owner-uid": "u-1" } },
        "status": { "phase": "Bound", "capacity": { "storage": "1Gi" } } });
    seen.claims = vec![Arc::new(Pvc::decode(&claim.to_string()).unwrap())];
    seen.probe = says(|answer| answer.bytes = 860 << 20);
    assert_eq!(reason(&reported(&seen).1, "StorageHealthy"), (ConditionStatus::False, "NearlyFull".to_owned()));
    // Its file system may be smaller than requested, or have few inodes left.
    let claims = seen.claims.clone();
    let with = |said: &Value| {
        let status = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
            "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
                "state": { "terminated": { "exitCode": 0, "message": said.to_string() } } }] });
        let mut seen = with_pod(&json!({}), &status);
        (seen.claims, seen.probe) = (claims.clone(), says(|answer| answer.bytes = 400 << 20));
        reported(&seen).1.volumes[0].used_percent
    };
    assert_eq!(with(&json!({})), Some(40));
    assert_eq!(with(&json!({ "volumeBytes": 512 << 20 })), Some(80), "of 480 MiB, since 32 are held back");
    assert_eq!(with(&json!({ "inodes": 100, "freeInodes": 5 })), Some(95));
}

/// A PVC of that name, UID and size.
fn claim_of(name: &str, uid: &str, size: &str) -> Arc<Pvc> {
    let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": uid, "labels": labels_of("u-1") },
        "status": { "phase": "Bound", "capacity": { "storage": size } } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

/// A PVC of that size, and the database with it.
fn of_size(seen: &mut Observed, size: &str) {
    let mut of = settled();
    of["volumes"] = json!([{ "claim": "data-shop-0", "capacity": size }]);
    seen.db = observed(&json!({ "storage": { "size": size } }), &of).db;
    seen.claims = vec![claim_of("data-shop-0", "c-1", size)];
}

/// The probe measures while the server runs: a volume grows, and others write to the same file system.
#[test]
fn what_is_measured_while_the_server_runs_counts() {
    let said = json!({ "volumeBytes": 900 << 20, "inodes": 100, "freeInodes": 90 }).to_string();
    let status = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
        "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "message": said } } }] });
    let mut seen = with_pod_of(&json!({}), &settled(), &status);
    let mut used = |size: &str, megabytes: i64, room: Option<[i64; 4]>| {
        of_size(&mut seen, size);
        let room = room.map(|[volume, free, inodes, free_inodes]| crate::database::server_info::DataFileSystem {
            volume_bytes: volume << 20,
            free_bytes: free << 20,
            inodes,
            free_inodes,
        });
        seen.probe = says(|answer| (answer.bytes, answer.room) = (megabytes << 20, room));
        let status = reported(&seen).1;
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

/// A growth that the class refused can be reverted, as GitOps does.
#[test]
fn a_reverted_size_shrinks_no_volume() {
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1",
        "labels": { "multi-operator.example.com/owner-uid": "u-1" } },
        "spec": { "resources": { "requests": { "storage": "2Gi" } } },
        "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } } });
    let claim = Arc::new(Pvc::decode(&claim.to_string()).unwrap());
    let asked = |size: &str| {
        let db = observed(&json!({ "storage": { "size": size } }), &settled()).db;
        objects::data_claim(&db, "data-shop-0", Some(&claim)).body["spec"]["resources"]["requests"]["storage"].clone()
    };
    assert_eq!(["1Gi", "2048Mi", "3Gi"].map(asked), ["2Gi", "2048Mi", "3Gi"]);
    let mut seen = standing(&json!({ "storage": { "size": "1Gi" } }), &settled());
    seen.claims = vec![claim];
    seen.probe = says(|answer| answer.bytes = 100 << 20);
    let status = reported(&seen).1;
    let healthy = status.contract.conditions.iter().find(|of| of.type_ == "StorageHealthy").unwrap();
    assert!(
        healthy.message.ends_with("volumes do not shrink: it keeps 2Gi, although the spec requests 1Gi"),
        "{}",
        healthy.message
    );
}

#[test]
fn a_reserve_is_kept_for_a_server_that_filled_its_volume() {
    let mut seen = observed(&json!({}), &settled());
    seen.claims = vec![claim("u-1", "c-1")];
    let created = plan(&seen, now());
    let Some(Effect::Apply(server)) = created.effects.last() else { panic!("{:?}", created.effects) };
    let command = server.body["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
    assert!(command.contains("pg-run") && command.contains("--reserve=33554432"), "{command}");
}

/// A snapshot of `shop` that measured the volume of the PVC `c-1` with that capacity at that hour.
fn measured(name: &str, hour: u8, megabytes: [i64; 3], inodes: Option<i32>) -> Arc<Snapshot> {
    let [used, free, capacity] = megabytes.map(|megabytes| megabytes << 20);
    let volume = json!({ "at": format!("2027-01-15T0{hour}:00:00Z"), "usedBytes": used, "freeBytes": free,
        "capacityBytes": capacity, "inodesUsedPercent": inodes });
    let status = json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-15T01:00:00Z", "volume": volume,
        "location": { "claim": "shop-snapshots", "path": "x", "claimUID": "c-1" } });
    snapshot(name, "Scheduled", &status)
}

/// A database with that PVC of snapshots, and these snapshots.
fn with_snapshots(uid: &str, capacity: &str, snapshots: Vec<Arc<Snapshot>>) -> Observed {
    let mut seen = standing(&json!({}), &settled());
    seen.claims = vec![claim_of("data-shop-0", "c-1", "1Gi"), claim_of("shop-snapshots", uid, capacity)];
    (seen.snapshots, seen.probe) = (snapshots, says(|answer| answer.bytes = 1 << 20));
    seen
}

#[test]
fn a_volume_of_snapshots_that_fills_is_reported_early() {
    let used = |seen: &Observed| {
        let status = reported(seen).1;
        (status.volumes[1].used_percent, reason(&status, "StorageHealthy").1)
    };
    let sound = |percent| (percent, "Sound".to_owned());
    let nearly = |percent| (Some(percent), "NearlyFull".to_owned());
    let one = |megabytes, inodes| with_snapshots("c-1", "2Gi", vec![measured("shop-1", 2, megabytes, inodes)]);
    assert_eq!(used(&with_snapshots("c-1", "2Gi", vec![])), sound(None), "none has measured it");
    assert_eq!(used(&one([1000, 900, 2048], None)), sound(Some(50)), "of its file system, which has less than the PVC");
    assert_eq!(used(&one([1700, 200, 2048], None)), nearly(85));
    assert_eq!(used(&one([1700, 90_000, 2048], None)), nearly(80), "of what was asked for, on a large disk");
    assert_eq!(used(&one([100, 1800, 2048], Some(97))), nearly(95), "files");
    assert_eq!(used(&one([850, 100, 1024], None)), sound(Some(40)), "it has grown since");
    let later = vec![measured("shop-1", 3, [100, 1800, 2048], None), measured("shop-2", 2, [1700, 200, 2048], None)];
    assert_eq!(used(&with_snapshots("c-1", "2Gi", later)), sound(Some(5)), "the last one that measured it counts");
    let other = with_snapshots("c-2", "2Gi", vec![measured("shop-1", 2, [1700, 200, 2048], None)]);
    assert_eq!(used(&other), sound(None), "that was another volume");
    let status = reported(&one([1700, 200, 2048], None)).1;
    let message = &status.contract.condition("StorageHealthy").unwrap().message;
    assert!(
        ["shop-snapshots", "shop-1", "backup.storage.size (2Gi)"].iter().all(|part| message.contains(part)),
        "{message}"
    );
}

#[test]
fn of_a_users_pvc_what_snapshots_measured_is_reported() {
    let mut seen = with_snapshots("c-1", "2Gi", vec![measured("shop-1", 2, [1700, 200, 0], None)]);
    seen.db = observed(&json!({ "backup": { "storage": { "existingClaim": "shop-snapshots" } } }), &settled()).db;
    seen.claims.pop();
    let mut volume = (*seen.snapshots[0]).clone();
    volume.status.volume.as_mut().unwrap().capacity_bytes = None;
    seen.snapshots = vec![Arc::new(volume)];
    let status = reported(&seen).1;
    assert_eq!((&status.volumes[1].capacity, status.volumes[1].used_percent), (&None, Some(85)));
    let message = &status.contract.condition("StorageHealthy").unwrap().message;
    assert!(message.contains("expand that PVC"), "{message}");
}
