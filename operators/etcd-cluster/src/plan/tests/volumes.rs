//! Volumes: what was measured of them, and what pods were made for.

use runtime::projections::{Ended, Running};

use super::members::{after, three, touches_nothing};
use super::space::filled;
use super::*;
use crate::plan::space;

/// Changes how the pod of each member fares.
fn each(seen: &mut Observed, change: impl Fn(&mut Running)) {
    seen.pods.iter_mut().for_each(|pod| change(Arc::get_mut(pod).unwrap().running.as_mut().unwrap()));
}

/// The init step of each member has left these words.
fn leaving(mut seen: Observed, code: i32, words: &str) -> Observed {
    each(&mut seen, |running| {
        let wait = running.containers.iter_mut().find(|container| &*container.name == "wait").unwrap();
        wait.ended = Some(Ended { code, message: words.into() });
    });
    seen
}

fn measuring(seen: Observed, bytes: u64) -> Observed {
    leaving(seen, 0, &json!({ "volumeBytes": bytes }).to_string())
}

/// The same, of a version that does not tell its quota.
fn silent(mut seen: Observed) -> Observed {
    seen.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 0);
    seen
}

/// The same, with pods that an earlier manager has made.
fn earlier(mut seen: Observed) -> Observed {
    each(&mut seen, |running| {
        let volume: u64 = running.annotations.remove("multi-operator.example.com/volume").unwrap().parse().unwrap();
        let quota = etcd_sizing::quota(volume).to_string();
        running.annotations.insert("multi-operator.example.com/quota".into(), quota);
    });
    seen
}

fn quota(seen: &Observed) -> Option<i64> {
    space::quota(seen, &Roster::of(seen, Timestamp::UNIX_EPOCH))
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
fn pods_that_an_earlier_manager_made_stay() {
    for db_size in [20 << 20, 230 << 20, 272 << 20] {
        let seen = earlier(filled(db_size, "1Gi"));
        let running = seen.pods[0].running.as_ref().unwrap();
        // What such pods have on clusters: it must not come out otherwise from the same spec.
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
fn pods_tell_what_volume_they_were_made_for() {
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
    assert!(reason == "SpaceLow" && message.contains("70.0 MiB of the 75.0 MiB"), "{reason}: {message}");
    let mut asks_more = measuring(filled(1 << 20, "1Gi"), 600 << 20);
    asks_more.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 200 << 20);
    let (reason, message) = warning(&asks_more).unwrap();
    assert!(reason == "QuotaTooLarge" && message.contains("volumes of 600.0 MiB"), "{reason}: {message}");
}

#[test]
fn a_database_that_was_larger_than_its_quota_when_its_pod_was_made_may_grow_by_a_tenth() {
    let words = json!({ "volumeBytes": 1_u64 << 30, "databaseBytes": 400_u64 << 20 }).to_string();
    let seen = silent(leaving(filled(400 << 20, "1Gi"), 0, &words));
    assert_eq!((quota(&seen), warning(&seen).unwrap().0), (Some(440 << 20), "SpaceLow".to_owned()));
    let words = json!({ "volumeBytes": 1_u64 << 30, "databaseBytes": 100_u64 << 20 }).to_string();
    assert_eq!(quota(&silent(leaving(filled(1, "1Gi"), 0, &words))), Some(272 << 20));
}

/// The last member, a follower, has been full, and is up again.
fn was_full(mut seen: Observed) -> Observed {
    let etcd = &mut Arc::get_mut(&mut seen.pods[2]).unwrap().running.as_mut().unwrap().containers.last_mut().unwrap();
    let message = "panic: write /var/etcd/data/member/snap/db: no space left on device".into();
    etcd.ended = Some(Ended { code: 2, message });
    seen
}

#[test]
fn a_quota_of_the_specs_own_that_filled_a_volume_counts_for_as_much_as_fits() {
    let quota_of = |seen: Observed| {
        let mut seen = seen;
        Arc::get_mut(&mut seen.cluster).unwrap().spec.quota = Some("8Gi".to_owned());
        quota(&seen)
    };
    assert_eq!(quota_of(silent(filled(1, "1Gi"))), Some(8 << 30));
    assert_eq!(quota_of(silent(was_full(filled(1, "1Gi")))), Some(272 << 20), "its agent may have lowered it so far");
    let mut tells = was_full(filled(1, "1Gi"));
    tells.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 500 << 20);
    assert_eq!(quota_of(tells), Some(500 << 20), "who tells is believed");
}

#[test]
fn a_quota_of_the_specs_own_that_was_lowered_comes_back_once_volumes_have_grown() {
    let filled = |volumes: &str, quota: i64| {
        let mut seen = filled(500 << 20, volumes);
        let quotas = seen.etcd.endpoints.values_mut().map(|endpoint| &mut endpoint.as_mut().unwrap().quota);
        quotas.for_each(|told| *told = quota);
        let cluster = Arc::get_mut(&mut seen.cluster).unwrap();
        cluster.spec.quota = Some("8Gi".to_owned());
        let template = wish::template(cluster, false);
        each(&mut seen, |running| {
            running.annotations.insert("multi-operator.example.com/template".into(), template.clone());
        });
        seen
    };
    assert_eq!(dropped(&filled("10Gi", 500 << 20)), 1, "one after the other");
    assert_eq!(dropped(&filled("1Gi", 500 << 20)), 0, "the next pod has no more");
    assert_eq!(dropped(&filled("10Gi", 8 << 30)), 0, "it has what is asked for");
    assert_eq!(dropped(&silent(was_full(filled("10Gi", 0)))), 1, "one that does not tell");
    assert_eq!(dropped(&silent(filled("10Gi", 0))), 0);
    let mut alarmed = silent(was_full(filled("1Gi", 0)));
    alarmed.etcd.alarms = vec![(3, Alarm::NoSpace)];
    assert!(touches_nothing(&after(&alarmed, 60)), "the alarm would be back with the next write");
}

/// Its agent lowers a quota at any start that finds no room beside the reserve: etcd need not have ended for that before.
#[test]
fn an_alarm_is_taken_back_only_where_there_is_room_in_the_least_that_a_silent_member_may_have() {
    let disarms = |seen: Observed, quota: &str| {
        let mut seen = seen;
        Arc::get_mut(&mut seen.cluster).unwrap().spec.quota = Some(quota.to_owned());
        seen.etcd.alarms = vec![(1, Alarm::NoSpace), (3, Alarm::NoSpace)];
        let plan = after(&seen, 60);
        let disarmed = plan.effects.iter().filter_map(|effect| match effect {
            Effect::Act(EtcdAct { change: Change::Disarm { id }, .. }) => Some(*id),
            _ => None,
        });
        (disarmed.collect::<Vec<_>>(), plan.next)
    };
    assert_eq!(disarms(silent(filled(500 << 20, "1Gi")), "8Gi").0, [0_u64; 0], "it may have no more than 272 MiB");
    let (disarmed, next) = disarms(silent(filled(100 << 20, "1Gi")), "8Gi");
    assert_eq!(disarmed, [1, 3], "writes are refused as long as one is on");
    assert_eq!(next, Requeue::After(pause::HEALTH), "whoever writes may raise it again at once");
    assert_eq!(disarms(silent(filled(100 << 20, "1Gi")), "100Mi").0, [0_u64; 0], "what the spec asks for is less");
    let mut tells = filled(500 << 20, "1Gi");
    tells.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 8 << 30);
    assert_eq!(disarms(tells, "8Gi").0, [1, 3], "who tells is believed");
}

#[test]
fn what_is_no_size_counts_for_nothing() {
    let fails = leaving(filled(1, "1Gi"), 1, r#"{"volumeBytes":629145600}"#);
    assert_eq!(quota(&silent(fails)), Some(272 << 20), "the step failed");
    for words in [
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
        r#"{"reason":"DataMissing","message":"gone"}"#,
    ] {
        let seen = leaving(silent(filled(1, "1Gi")), 0, words);
        assert_eq!((quota(&seen), warning(&seen)), (Some(272 << 20), None), "{words}");
    }
    assert_eq!(quota(&silent(measuring(earlier(filled(1, "1Gi")), 600 << 20))), Some(272 << 20), "nobody lowered that");
}

#[test]
fn a_file_system_that_has_less_for_good_restarts_nobody() {
    for volumes in ["1Gi", "1025Mi"] {
        let mut seen = measuring(filled(74 << 20, volumes), 600 << 20);
        seen.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 75 << 20);
        assert_eq!(dropped(&seen), 0, "{volumes}: the next pod has no more");
    }
    let grown = measuring(filled(74 << 20, "10Gi"), 600 << 20);
    assert_eq!(warning(&grown), None, "what was measured is of before it grew");
    let short = silent(measuring(filled(74 << 20, "10Gi"), 600 << 20));
    assert_eq!(dropped(&short), 1, "its pod was made for less");
}

#[test]
fn nothing_is_made_of_volumes_that_are_not_there() {
    let mut seen = silent(measuring(three(&json!({ "size": 3 })), 600 << 20));
    seen.claims.clear();
    let cluster = Arc::get_mut(&mut seen.cluster).unwrap();
    cluster.status.storage = Some(StorageStatus { durable: false });
    assert_eq!(quota(&seen), Some(2 << 30), "a folder of the node has another size, and etcd its own default");
}
