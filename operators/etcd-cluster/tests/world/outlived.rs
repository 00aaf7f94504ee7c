//! A spec that members have run with stops working, or works only for a while: another one repairs the cluster, one member at a
//! time.

use serde_json::json;

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::stories::{settle, version};

/// The image that members run.
const IMAGE: &str = "quay.io/coreos/etcd:v3.6.16";

fn settled() -> Bench {
    let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16" }));
    settle(&mut bench);
    bench
}

/// The image of all members is deleted, and that many members lose their pods.
fn without_its_image(lost: usize) -> Bench {
    let mut bench = settled();
    bench.kubelet.missing.insert(IMAGE.to_owned());
    (0..lost).for_each(|pod| bench.take(&Step::Evict(pod)));
    bench.take(&Step::Calm(20));
    assert_eq!(bench.etcds.processes.len(), 3 - lost, "{}", bench.story());
    bench
}

fn is_cured(mut bench: Bench, edit: impl FnOnce(&mut Bench)) {
    edit(&mut bench);
    bench.take(&Step::Calm(90));
    assert!(bench.is("Ready"), "{}", bench.story());
    settle(&mut bench);
}

#[test]
fn another_version_or_repository_replaces_a_deleted_image() {
    for lost in 1..=3 {
        is_cured(without_its_image(lost), |bench| bench.take(&Step::Edit(Edit::Version(version("3.6.99")))));
        is_cured(without_its_image(lost), |bench| {
            bench.edit(|object| object["spec"]["repository"] = json!("mirror/etcd"))
        });
    }
}

#[test]
fn a_wrong_correction_is_tried_on_one_member_and_can_be_corrected() {
    for lost in 1..=3 {
        let mut bench = without_its_image(lost);
        bench.take(&Step::Edit(Edit::Option { good: false }));
        bench.take(&Step::Calm(30));
        let tried = seen(&bench.world).into_iter().filter(|pod| pod.bad_option).count();
        assert_eq!(tried, 1, "{}", bench.story());
        is_cured(bench, |bench| {
            bench.edit(|object| {
                object["spec"]["repository"] = json!("mirror/etcd");
                object["spec"].as_object_mut().map(|spec| spec.remove("options"));
            });
        });
    }
}

/// If probes only connect, an unreachable member looks to the operator and to the kubelet like one that hangs.
#[test]
fn a_member_that_hangs_undetected_by_probes_gets_one_new_pod() {
    for (version, times) in [("3.3.27", 1), ("3.6.16", 0)] {
        let mut bench = Bench::new(&json!({ "size": 3, "version": version }));
        settle(&mut bench);
        let uids = |bench: &Bench| {
            seen(&bench.world).into_iter().map(|pod| pod.uid).collect::<std::collections::BTreeSet<_>>()
        };
        let before = uids(&bench);
        bench.take(&Step::Cut { pod: 1, cut: true });
        bench.take(&Step::Calm(50));
        assert_eq!(uids(&bench), before, "it is given two minutes");
        for _ in 0..5 {
            bench.take(&Step::Calm(30));
            bench.take(&Step::Wait(3));
        }
        let pods = uids(&bench);
        assert_eq!(pods.difference(&before).count(), times, "{}", bench.story());
        bench.take(&Step::Calm(100));
        assert_eq!(uids(&bench), pods, "once: {}", bench.story());
        settle(&mut bench);
    }
}

#[test]
fn pods_that_the_kubelet_rejects_at_once_are_replaced_with_delays_and_reported() {
    let mut bench = settled();
    bench.edit(|object| object["spec"]["pod"]["labels"]["rejected"] = json!("yes"));
    let (mut pods, mut reported) = (std::collections::BTreeSet::new(), 0);
    // Four minutes.
    for _ in 0..120 {
        bench.round();
        pods.extend(seen(&bench.world).into_iter().filter(|pod| pod.rejected).map(|pod| pod.uid));
        let ready = bench.condition("Ready").map(|ready| ready["message"].to_string()).unwrap_or_default();
        reported += usize::from(ready.contains("SysctlForbidden: forbidden sysctl"));
    }
    assert!((2..=8).contains(&pods.len()), "{} pods: {}", pods.len(), bench.story());
    assert!(reported > 90, "it is reported {reported} times of 120: {}", bench.story());
    is_cured(bench, |bench| bench.edit(|object| drop(object["spec"].as_object_mut().map(|spec| spec.remove("pod")))));
}

#[test]
fn a_spec_that_works_only_for_a_while_can_be_reverted() {
    let mut bench = settled();
    bench.edit(|object| object["spec"]["pod"]["labels"]["fragile"] = json!("yes"));
    settle(&mut bench);
    // All were observed to run with it; then none does.
    bench.kubelet.worn = true;
    bench.take(&Step::Calm(20));
    assert!(bench.etcds.processes.is_empty(), "{}", bench.story());
    is_cured(bench, |bench| bench.edit(|object| drop(object["spec"].as_object_mut().map(|spec| spec.remove("pod")))));
}
