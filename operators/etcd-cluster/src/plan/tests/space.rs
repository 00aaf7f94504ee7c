//! Space on volumes and in databases.

use agent_protocol::VolumeReport;

use super::members::{NAMES, after, at, crashing, message, removes, three};
use super::*;

/// The last member's volume was full when its etcd ended, and its etcd container is in that state.
fn full(state: &Value) -> Observed {
    let mut seen = crashing(6, state);
    let pod = Arc::get_mut(&mut seen.pods[2]).unwrap();
    let ended = pod.details.as_mut().unwrap().containers.last_mut().unwrap().terminated.as_mut().unwrap();
    ended.message = "panic: wal: write /var/etcd/data/member/wal/0.wal: no space left on device".into();
    seen
}

#[test]
fn a_full_volume_is_reported_and_its_member_is_not_replaced() {
    let seen = full(&json!({ "waiting": { "reason": "CrashLoopBackOff" } }));
    assert!(!removes(&seen));
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumeFull".to_owned()));
    assert!(
        message(&status).contains(NAMES[2]) && message(&status).contains("spec.storage.size"),
        "{}",
        message(&status)
    );
    // The agent waits for space.
    let mut waits = full(&json!({ "running": { "startedAt": at(50) } }));
    Arc::get_mut(&mut waits.pods[2]).unwrap().details.as_mut().unwrap().ready = false;
    assert_eq!(reason(&after(&waits, 60).status.unwrap(), "Ready").1, "VolumeFull");
}

#[test]
fn volumes_in_a_bad_state_are_counted() {
    let counted = |seen: &Observed| {
        let counts = crate::metrics::bad_volumes(seen, &MemberSet::of(seen, Timestamp::from_second(60).unwrap()));
        counts.map(|(_, count)| count)
    };
    let healthy = three(&json!({ "size": 3 }));
    assert_eq!(counted(&healthy), [0, 0, 0]);
    let mut bad = full(&json!({ "waiting": { "reason": "CrashLoopBackOff" } }));
    Arc::get_mut(&mut bad.claims[0]).unwrap().meta.deleting = true;
    assert_eq!(counted(&bad), [1, 1, 0]);
    let low = [ROOM, VolumeReport { free_bytes: 100 << 20, ..ROOM }, VolumeReport { free_bytes: 90 << 20, ..ROOM }];
    assert_eq!(counted(&on_volumes_with(low)), [0, 0, 2]);
}

#[test]
fn a_recovered_member_that_misses_an_answer_has_no_full_volume() {
    let status = after(&full(&json!({ "running": { "startedAt": at(0) } })), 60).status.unwrap();
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "MemberUnhealthy".to_owned()));
    assert!(message(&status).contains(NAMES[2]) && !message(&status).contains("are full"), "{}", message(&status));
}

#[test]
fn members_have_limits_that_fit_their_volumes_and_requests() {
    let render = |spec: &Value| {
        let seen = observed(spec, &decided());
        let plan = plan(&seen, Timestamp::UNIX_EPOCH);
        let pod = plan.effects.into_iter().find_map(|effect| match effect {
            Effect::Create(create) => Some(create.body),
            _ => None,
        });
        let etcd = pod.unwrap()["spec"]["containers"][0].clone();
        (etcd["command"].to_string(), etcd["resources"]["requests"].clone())
    };
    let (command, requests) = render(&json!({ "size": 3 }));
    for argument in
        ["--quota=285212672", "--reserve=33554432", "--snapshot-count=213", "--auto-compaction-retention=5m"]
    {
        assert!(command.contains(argument), "{argument}: {command}");
    }
    assert_eq!(requests, json!({ "cpu": "50m", "memory": "128Mi" }));
    let (command, _) = render(&json!({ "size": 3, "version": "3.3.25", "storage": { "size": "100Gi" } }));
    assert!(command.contains("--auto-compaction-mode=periodic\",\"--auto-compaction-retention=60m"), "{command}");
    let (command, _) = render(&json!({ "size": 3, "version": "3.2.13" }));
    assert!(command.contains("--auto-compaction-retention=1\"") && !command.contains("-mode"), "in hours: {command}");
    let (command, requests) = render(&json!({ "size": 3, "quota": "1Gi", "options": { "snapshot-count": "7" },
        "pod": { "resources": { "requests": { "cpu": "1" } },
            "etcdEnv": [{ "name": "ETCD_AUTO_COMPACTION_RETENTION", "value": "5" }] } }));
    assert!(
        command.contains("--quota-backend-bytes=1073741824") && command.contains("--snapshot-count=7"),
        "{command}"
    );
    assert!(!command.contains("--quota=") && command.contains("--reserve=33554432"), "{command}");
    assert!(!command.contains("auto-compaction") && command.matches("--snapshot-count").count() == 1, "{command}");
    assert_eq!(requests, json!({ "cpu": "1" }));
    for large in [
        json!({ "options": { "max-request-bytes": "8388608" } }),
        json!({ "pod": { "etcdEnv": [{ "name": "ETCD_MAX_REQUEST_BYTES", "value": "8388608" }] } }),
    ] {
        let mut spec = json!({ "size": 3 });
        spec.as_object_mut().unwrap().extend(large.as_object().unwrap().clone());
        let (command, _) = render(&spec);
        assert!(command.contains("--snapshot-count=40"), "{command}");
    }
}

/// Three members with databases up to that size, on volumes of that size, with pods that were created for 1Gi.
pub(super) fn filled(db_size: i64, volumes: &str) -> Observed {
    let mut seen = three(&json!({ "size": 3, "storage": { "size": volumes } }));
    for (pod, claim) in seen.pods.iter_mut().zip(&mut seen.claims) {
        let running = Arc::get_mut(pod).unwrap().details.as_mut().unwrap();
        running.annotations.insert("multi-operator.example.com/volume".into(), (1 << 30).to_string());
        let claim = Arc::get_mut(claim).unwrap();
        (claim.requested, claim.capacity) = (Some(volumes.to_owned()), Some(volumes.to_owned()));
    }
    for endpoint in seen.etcd.endpoints.values_mut() {
        let endpoint = endpoint.as_mut().unwrap();
        (endpoint.db_size, endpoint.quota) = (db_size, 272 << 20);
    }
    seen
}

#[test]
fn low_space_is_a_warning_before_a_database_is_full() {
    let warning = |seen: &Observed| {
        let status = after(seen, 60).status.unwrap();
        status.contract.condition("Warning").map(|warning| (warning.reason.to_string(), warning.message.clone()))
    };
    assert_eq!(warning(&filled(180 << 20, "1Gi")), None);
    let (reason, message) = warning(&filled(230 << 20, "1Gi")).unwrap();
    assert_eq!(reason, "SpaceLow");
    assert!(message.contains("230.0 MiB of at most 272.0 MiB") && message.contains("spec.storage.size"), "{message}");
    let mut large = filled(1 << 20, "1Gi");
    large.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 2 << 30);
    let (reason, message) = warning(&large).unwrap();
    assert!(reason == "QuotaTooLarge" && message.contains("2.0 GiB, and volumes of 1.0 GiB"), "{message}");
}

/// Three members on volumes of 1Gi, whose file systems have that much free.
fn on_volumes_with(free: [VolumeReport; 3]) -> Observed {
    let mut seen = filled(20 << 20, "1Gi");
    for (name, room) in NAMES.iter().zip(free) {
        seen.etcd.endpoints.get_mut(*name).unwrap().as_mut().unwrap().volume = Some(room);
    }
    seen
}

const ROOM: VolumeReport =
    VolumeReport { volume_bytes: 1_054_257_152, free_bytes: 500 << 20, files: 65_536, free_files: 65_000 };

#[test]
fn a_nearly_full_volume_is_a_warning_whatever_fills_it() {
    let warning = |seen: &Observed| {
        let status = after(seen, 60).status.unwrap();
        status.contract.condition("Warning").map(|warning| (warning.reason.to_string(), warning.message.clone()))
    };
    assert_eq!(warning(&on_volumes_with([ROOM; 3])), None);
    assert_eq!(warning(&on_volumes_with([VolumeReport { free_bytes: 130 << 20, ..ROOM }; 3])), None);
    let few_bytes = VolumeReport { free_bytes: 100 << 20, ..ROOM };
    let (reason, message) = warning(&on_volumes_with([ROOM, few_bytes, ROOM])).unwrap();
    assert_eq!(reason, "VolumeLow");
    assert!(
        message.contains(&format!("of member {} less than 125.6 MiB of 1005.4 MiB are free", NAMES[1])),
        "{message}"
    );
    assert!(message.contains("raise spec.storage.size") && !message.contains(NAMES[0]), "{message}");
    let few_files = VolumeReport { free_files: 900, ..ROOM };
    let (reason, message) = warning(&on_volumes_with([ROOM, ROOM, few_files])).unwrap();
    assert_eq!(reason, "VolumeLow");
    assert!(
        message.contains(&format!("of member {} fewer than 1250 more files can be created", NAMES[2])),
        "{message}"
    );
    // Some file systems have no limit on files, and report 0 of 0.
    let boundless = VolumeReport { files: 0, free_files: 0, ..ROOM };
    assert_eq!(warning(&on_volumes_with([boundless; 3])), None);
    // A shared file system has more than the volume.
    let shared = VolumeReport { volume_bytes: 1 << 40, free_bytes: 1 << 30, ..ROOM };
    assert_eq!(warning(&on_volumes_with([shared; 3])), None);
}

#[test]
fn a_nearly_full_volume_is_reported_until_there_is_clearly_more_space() {
    let warned = |seen: &Observed| {
        let status = after(seen, 60).status.unwrap();
        status.contract.condition("Warning").map(|warning| warning.message.clone())
    };
    let reported = |status: EtcdClusterStatus, free_bytes: u64| {
        let mut seen = on_volumes_with([VolumeReport { free_bytes, ..ROOM }; 3]);
        Arc::get_mut(&mut seen.cluster).unwrap().status = status;
        seen
    };
    let before = after(&on_volumes_with([VolumeReport { free_bytes: 110 << 20, ..ROOM }; 3]), 60).status.unwrap();
    let message = warned(&reported(before.clone(), 110 << 20));
    assert!(message.is_some());
    assert_eq!(warned(&reported(before.clone(), 105 << 20)), message, "sizes move in steps");
    assert!(warned(&reported(before.clone(), 140 << 20)).is_some());
    assert_eq!(warned(&reported(before, 160 << 20)), None);
}

#[test]
fn a_lowered_quota_is_reported_with_its_remedy() {
    let reported = |quota: Option<&str>| {
        let mut seen = filled(260 << 20, "1Gi");
        seen.etcd.alarms = vec![(2, Alarm::NoSpace)];
        let mut status = bootstrapped();
        status.size = 3;
        let mut spec = json!({ "size": 3, "storage": { "size": "1Gi" } });
        if let Some(quota) = quota {
            spec["quota"] = json!(quota);
        }
        seen.cluster = observed(&spec, &status).cluster;
        message(&after(&seen, 60).status.unwrap()).to_owned()
    };
    let lowered = reported(Some("8Gi"));
    assert!(lowered.contains("until the next start of etcd"), "{lowered}");
    assert!(lowered.contains("kubectl annotate etcd c kubectl.kubernetes.io/restartedAt="), "{lowered}");
    for not in [None, Some("272Mi")] {
        let message = reported(not);
        assert!(message.contains("alarm NOSPACE") && !message.contains("next start"), "{message}");
    }
}

#[test]
fn databases_that_need_it_may_grow_once_volumes_have_grown() {
    let dropped = |seen: &Observed| {
        let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if delete.kind.kind == "Pod");
        after(seen, 60).effects.iter().filter(|effect| pod(effect)).count()
    };
    assert_eq!(dropped(&filled(230 << 20, "1Gi")), 0, "there is no more to be had");
    assert_eq!(dropped(&filled(20 << 20, "10Gi")), 0, "there is no need");
    assert_eq!(dropped(&filled(230 << 20, "10Gi")), 1, "one after the other");
    let mut refused = filled(230 << 20, "10Gi");
    refused.pod_rejected = Some("no".to_owned());
    assert_eq!(dropped(&refused), 0);
}

#[test]
fn the_alarm_is_disarmed_once_there_is_space_and_all_are_healthy() {
    let disarms = |seen: &Observed| {
        let disarm = |effect: &Effect<EtcdAct>| {
            matches!(effect, Effect::Act(EtcdAct::Change { change: EtcdChange::Disarm { id: 2 }, .. }))
        };
        after(seen, 60).effects.iter().any(disarm)
    };
    let alarmed = |mut seen: Observed, alarm: Alarm| {
        seen.etcd.alarms = vec![(2, alarm)];
        seen
    };
    assert!(disarms(&alarmed(filled(100 << 20, "1Gi"), Alarm::NoSpace)));
    assert!(!disarms(&alarmed(filled(260 << 20, "1Gi"), Alarm::NoSpace)), "it would be on again with the next write");
    assert!(!disarms(&alarmed(filled(100 << 20, "1Gi"), Alarm::Corrupt)), "only a user disarms that alarm");
    let mut silent = alarmed(filled(100 << 20, "1Gi"), Alarm::NoSpace);
    silent.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert!(!disarms(&silent));
    for size in [1, 2, 5] {
        let mut resizing = alarmed(filled(100 << 20, "1Gi"), Alarm::NoSpace);
        Arc::get_mut(&mut resizing.cluster).unwrap().spec.size = size;
        assert!(disarms(&resizing), "{size}: etcd rejects writes meanwhile");
    }
}
