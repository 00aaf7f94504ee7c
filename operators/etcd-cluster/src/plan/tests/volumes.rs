//! Volumes: their measured size, and the size that pods were created for.

use runtime::projections::{PodDetails, Terminated};

use super::members::{NAMES, after, three, touches_nothing};
use super::space::filled;
use super::*;
use crate::plan::space;

/// Changes the details of each member's pod.
fn each(seen: &mut Observed, change: impl Fn(&mut PodDetails)) {
    seen.pods.iter_mut().for_each(|pod| change(Arc::get_mut(pod).unwrap().details.as_mut().unwrap()));
}

/// The init step of each member has ended with this termination message.
fn with_message(mut seen: Observed, code: i32, message: &str) -> Observed {
    each(&mut seen, |running| {
        let wait = running.containers.iter_mut().find(|container| &*container.name == "wait").unwrap();
        wait.terminated = Some(Terminated { code, message: message.into() });
    });
    seen
}

fn measuring(seen: Observed, bytes: u64) -> Observed {
    with_message(seen, 0, &json!({ "volumeBytes": bytes }).to_string())
}

/// The same, with a version that does not report its quota.
fn silent(mut seen: Observed) -> Observed {
    seen.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 0);
    seen
}

/// The same, with pods that an earlier manager created.
fn earlier(mut seen: Observed) -> Observed {
    each(&mut seen, |running| {
        let volume: u64 = running.annotations.remove("multi-operator.example.com/volume").unwrap().parse().unwrap();
        let quota = etcd_sizing::quota(volume).to_string();
        running.annotations.insert("multi-operator.example.com/quota".into(), quota);
    });
    seen
}

fn quota(seen: &Observed) -> Option<i64> {
    space::quota(seen, &MemberSet::of(seen, Timestamp::UNIX_EPOCH))
}

fn warning(seen: &Observed) -> Option<(String, String)> {
    let status = after(seen, 60).status.unwrap();
    status.contract.condition("Warning").map(|warning| (warning.reason.to_string(), warning.message.clone()))
}

fn dropped(seen: &Observed) -> usize {
    let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if delete.kind.kind == "Pod");
    after(seen, 60).effects.iter().filter(|effect| pod(effect)).count()
}

#[test]
fn pods_of_an_earlier_manager_stay() {
    for db_size in [20 << 20, 230 << 20, 272 << 20] {
        let seen = earlier(filled(db_size, "1Gi"));
        let running = seen.pods[0].details.as_ref().unwrap();
        // The annotation of such pods in clusters: the same spec must lead to the same value.
        assert_eq!(running.annotations["multi-operator.example.com/template"], "a3122d0f45e3f85a");
        let plan = after(&seen, 60);
        assert!(touches_nothing(&plan), "{db_size}: {:?}", plan.effects);
    }
    let mut bare = filled(230 << 20, "1Gi");
    each(&mut bare, |running| drop(running.annotations.remove("multi-operator.example.com/volume")));
    assert!(touches_nothing(&after(&bare, 60)), "from before limits followed from volumes");
    assert_eq!(quota(&silent(earlier(filled(1, "1Gi")))), Some(272 << 20));
    assert_eq!(quota(&silent(bare)), Some(272 << 20));
    assert_eq!(dropped(&earlier(filled(230 << 20, "10Gi"))), 1, "but for one at a time, where there is more to be had");
}

#[test]
fn pods_record_the_volume_that_they_were_created_for() {
    let seen = observed(&json!({ "size": 1, "quota": "1Gi", "storage": { "size": "3Gi" } }), &decided());
    let plan = plan(&seen, Timestamp::UNIX_EPOCH);
    let annotations = plan.effects.into_iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create.body["metadata"]["annotations"].clone()),
        _ => None,
    });
    let annotations = annotations.unwrap();
    assert_eq!(annotations["multi-operator.example.com/volume"], (3_u64 << 30).to_string());
    assert!(annotations.get("multi-operator.example.com/quota").is_none(), "{annotations}");
    assert_eq!(annotations["kubectl.kubernetes.io/default-container"], "etcd");
}

#[test]
fn the_smaller_of_claim_and_file_system_counts() {
    let small = silent(measuring(filled(1 << 20, "1Gi"), 600 << 20));
    assert_eq!(quota(&small), Some(75 << 20), "an eighth");
    assert_eq!(
        quota(&silent(measuring(filled(1 << 20, "1Gi"), 1 << 40))),
        Some(272 << 20),
        "of a disk that many share"
    );
    assert_eq!(warning(&small), None);
    let (reason, message) = warning(&silent(measuring(filled(70 << 20, "1Gi"), 600 << 20))).unwrap();
    assert!(reason == "SpaceLow" && message.contains("70.0 MiB of at most 75.0 MiB"), "{reason}: {message}");
    let mut asks_more = measuring(filled(1 << 20, "1Gi"), 600 << 20);
    asks_more.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 200 << 20);
    let (reason, message) = warning(&asks_more).unwrap();
    assert!(reason == "QuotaTooLarge" && message.contains("volumes of 600.0 MiB"), "{reason}: {message}");
}

#[test]
fn a_database_that_was_larger_than_its_quota_may_grow_by_a_tenth() {
    let message = json!({ "volumeBytes": 1_u64 << 30, "databaseBytes": 400_u64 << 20 }).to_string();
    let seen = silent(with_message(filled(400 << 20, "1Gi"), 0, &message));
    assert_eq!((quota(&seen), warning(&seen).unwrap().0), (Some(440 << 20), "SpaceLow".to_owned()));
    let message = json!({ "volumeBytes": 1_u64 << 30, "databaseBytes": 100_u64 << 20 }).to_string();
    assert_eq!(quota(&silent(with_message(filled(1, "1Gi"), 0, &message))), Some(272 << 20));
}

/// The volume of the last member, a follower, was full, and its etcd runs again.
fn was_full(mut seen: Observed) -> Observed {
    let etcd = &mut Arc::get_mut(&mut seen.pods[2]).unwrap().details.as_mut().unwrap().containers.last_mut().unwrap();
    let message = "panic: write /var/etcd/data/member/snap/db: no space left on device".into();
    etcd.terminated = Some(Terminated { code: 2, message });
    seen
}

#[test]
fn a_quota_of_the_spec_that_filled_a_volume_counts_as_far_as_it_fits() {
    let quota_of = |seen: Observed| {
        let mut seen = seen;
        Arc::get_mut(&mut seen.cluster).unwrap().spec.quota = Some("8Gi".to_owned());
        quota(&seen)
    };
    assert_eq!(quota_of(silent(filled(1, "1Gi"))), Some(8 << 30));
    assert_eq!(quota_of(silent(was_full(filled(1, "1Gi")))), Some(272 << 20), "its agent may have lowered it so far");
    let mut reporting = was_full(filled(1, "1Gi"));
    reporting.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 500 << 20);
    assert_eq!(quota_of(reporting), Some(500 << 20), "a reported quota counts");
}

#[test]
fn a_lowered_quota_of_the_spec_is_restored_once_volumes_have_grown() {
    let filled = |volumes: &str, quota: i64| {
        let mut seen = filled(500 << 20, volumes);
        let quotas = seen.etcd.endpoints.values_mut().map(|endpoint| &mut endpoint.as_mut().unwrap().quota);
        quotas.for_each(|reported| *reported = quota);
        let cluster = Arc::get_mut(&mut seen.cluster).unwrap();
        cluster.spec.quota = Some("8Gi".to_owned());
        let template = desired::template(cluster, false);
        each(&mut seen, |running| {
            running.annotations.insert("multi-operator.example.com/template".into(), template.clone());
        });
        seen
    };
    assert_eq!(dropped(&filled("10Gi", 500 << 20)), 1, "one after the other");
    assert_eq!(dropped(&filled("1Gi", 500 << 20)), 0, "the next pod has no more");
    assert_eq!(dropped(&filled("10Gi", 8 << 30)), 0, "it has what is asked for");
    assert_eq!(dropped(&silent(was_full(filled("10Gi", 0)))), 1, "an unreported quota");
    assert_eq!(dropped(&silent(filled("10Gi", 0))), 0);
    let mut alarmed = silent(was_full(filled("1Gi", 0)));
    alarmed.etcd.alarms = vec![(3, Alarm::NoSpace)];
    let done = Defragmentation::Done { revision: 0, recently: false };
    alarmed.etcd.defragmentations = NAMES.iter().map(|name| ((*name).into(), done.clone())).collect();
    assert!(touches_nothing(&after(&alarmed, 60)), "the alarm would be back with the next write");
}

/// The agent lowers a quota at any start without space next to the reserve, even if etcd did not end for that before.
#[test]
fn an_alarm_is_disarmed_only_if_there_is_space_in_the_lowest_unreported_quota() {
    let disarms = |seen: Observed, quota: &str| {
        let mut seen = seen;
        Arc::get_mut(&mut seen.cluster).unwrap().spec.quota = Some(quota.to_owned());
        seen.etcd.alarms = vec![(1, Alarm::NoSpace), (3, Alarm::NoSpace)];
        let plan = after(&seen, 60);
        let disarmed = plan.effects.iter().filter_map(|effect| match effect {
            Effect::Act(EtcdAct::Change { change: EtcdChange::Disarm { id }, .. }) => Some(*id),
            _ => None,
        });
        (disarmed.collect::<Vec<_>>(), plan.next)
    };
    assert_eq!(disarms(silent(filled(500 << 20, "1Gi")), "8Gi").0, [0_u64; 0], "it may have no more than 272 MiB");
    let (disarmed, next) = disarms(silent(filled(100 << 20, "1Gi")), "8Gi");
    assert_eq!(disarmed, [1, 3], "writes are refused as long as one is on");
    assert_eq!(next, Requeue::After(requeue::POLL_HEALTH), "clients may raise it again at once");
    assert_eq!(disarms(silent(filled(100 << 20, "1Gi")), "100Mi").0, [0_u64; 0], "the spec requests less");
    let mut reporting = filled(500 << 20, "1Gi");
    reporting.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 8 << 30);
    assert_eq!(disarms(reporting, "8Gi").0, [1, 3], "a reported quota counts");
}

#[test]
fn a_message_without_a_size_is_ignored() {
    let fails = with_message(filled(1, "1Gi"), 1, r#"{"volumeBytes":629145600}"#);
    assert_eq!(quota(&silent(fails)), Some(272 << 20), "the step failed");
    for message in [
        "",
        "{",
        "[]",
        "629145600",
        r#"{"volumeBytes":0}"#,
        r#"{"volumeBytes":-1}"#,
        r#"{"volumeBytes":1.5}"#,
        r#"{"volumeBytes":"629145600"}"#,
        r#"{"volumeBytes":99999999999999999999999}"#,
        r#"{"volumeBytes":null}"#,
        r#"{"reason":"DataMissing","message":"lost"}"#,
    ] {
        let seen = with_message(silent(filled(1, "1Gi")), 0, message);
        assert_eq!((quota(&seen), warning(&seen)), (Some(272 << 20), None), "{message}");
    }
    assert_eq!(
        quota(&silent(measuring(earlier(filled(1, "1Gi")), 600 << 20))),
        Some(272 << 20),
        "no agent lowered that"
    );
}

#[test]
fn a_smaller_file_system_restarts_no_member() {
    for volumes in ["1Gi", "1025Mi"] {
        let mut seen = measuring(filled(74 << 20, volumes), 600 << 20);
        seen.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 75 << 20);
        assert_eq!(dropped(&seen), 0, "{volumes}: the next pod has no more");
    }
    let grown = measuring(filled(74 << 20, "10Gi"), 600 << 20);
    assert_eq!(warning(&grown), None, "what was measured is of before it grew");
    let short = silent(measuring(filled(74 << 20, "10Gi"), 600 << 20));
    assert_eq!(dropped(&short), 1, "its pod was created for less");
}

#[test]
fn volumes_that_do_not_exist_do_not_count() {
    let mut seen = silent(measuring(three(&json!({ "size": 3 })), 600 << 20));
    seen.claims.clear();
    let cluster = Arc::get_mut(&mut seen.cluster).unwrap();
    cluster.status.storage = Some(EtcdStorageStatus { durable: false });
    assert_eq!(quota(&seen), Some(2 << 30), "a directory of the node has another size, and etcd its own default");
}

#[test]
fn quantities_that_earlier_managers_read_as_numbers_restart_no_member() {
    let mut seen = three(&json!({ "size": 3, "pod": { "resources": { "requests": { "cpu": 1 } } } }));
    let earlier = desired::template(&seen.cluster, true);
    assert_ne!(earlier, desired::template(&seen.cluster, false));
    for pod in &mut seen.pods {
        let running = Arc::get_mut(pod).unwrap().details.as_mut().unwrap();
        running.annotations.insert("multi-operator.example.com/template".into(), earlier.clone());
    }
    let plan = after(&seen, 60);
    assert!(touches_nothing(&plan), "{:?}", plan.effects);
    assert_eq!(reason(&plan.status.unwrap(), "Ready").1, "Running");
}
