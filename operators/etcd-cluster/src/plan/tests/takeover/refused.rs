//! What is not taken over, and why.

use super::*;

fn refused(seen: &Observed) -> String {
    let plan = after(seen, 60);
    assert!(touches_nothing(&plan), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(status.cluster_id, None);
    assert_eq!(reason(&status, "Available"), (ConditionStatus::False, "Creating".to_owned()));
    assert!(
        status.member_statuses.is_empty() && status.db_size.is_none(),
        "they belong to another cluster: {status:?}"
    );
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "TakeoverRefused".to_owned()));
    message(&status).to_owned()
}

#[test]
fn what_cannot_be_taken_over_is_left_alone() {
    let mut silent = joined(0, "Keep", &decided());
    silent.etcd.endpoints.remove("etcd-1");
    silent.takeover.addresses.remove("etcd-1");
    assert!(refused(&silent).contains("2 of 3 members answer"), "{}", refused(&silent));
    assert!(refused(&silent).contains("member etcd-1, whose peer URL is http://etcd-1.etcd.n.svc:2380"));

    let of_members = |change: &dyn Fn(&mut ListedMember)| {
        let mut seen = waiting();
        change(&mut seen.etcd.members.as_mut().unwrap()[2]);
        refused(&seen)
    };
    assert!(
        of_members(&|member| member.learner = true).contains("etcd-2 at http://etcd-2.etcd.n.svc:2380 is a learner")
    );
    assert!(of_members(&|member| member.name = String::new()).contains("has not started"));
    assert!(of_members(&|member| member.name = "etcd-1".to_owned()).contains("2 of its members are named etcd-1"));
    assert!(
        of_members(&|member| member.name = "c-aaaaaaaaaa".to_owned()).contains("metadata.name must be another one")
    );
    let https = |member: &mut ListedMember| member.peer_urls = vec!["https://etcd-2.etcd.n.svc:2380".to_owned()];
    assert!(of_members(&https).contains("set spec.TLS.static.member.peerSecret"));

    let local = |member: &mut ListedMember| member.peer_urls = vec!["http://localhost:2380".to_owned()];
    assert!(of_members(&local).contains("at which no other pod reaches it"));

    let mut other = waiting();
    for endpoint in other.etcd.endpoints.values_mut().flatten() {
        endpoint.version = "3.5.21".to_owned();
    }
    assert!(refused(&other).contains("set spec.version to a release of 3.5"), "{}", refused(&other));

    let mut alarm = waiting();
    alarm.etcd.alarms = vec![(11, Alarm::NoSpace)];
    assert!(refused(&alarm).contains("the alarm NOSPACE"));

    let mut users = waiting();
    users.etcd.authentication = Authentication::On;
    assert!(refused(&users).contains("requires a user: name the Secret"));
    users.etcd.authentication = Authentication::RootRejected("rejects the password".to_owned());
    assert!(refused(&users).contains("rejects the password"));

    let mut managed = waiting();
    managed.takeover.managed = vec![("etcd-0".to_owned(), "EtcdMember etcd-0".to_owned())];
    assert!(refused(&managed).contains("EtcdMember etcd-0 manages its pod etcd-0"));

    managed.takeover.managed[0].1 = "EtcdCluster b".to_owned();
    assert!(refused(&managed).contains("kubectl delete etcd b --cascade=orphan"));

    let mut two = waiting();
    two.takeover.clusters = 2;
    assert!(refused(&two).contains("2 different clusters"));

    let mut gone = observed(&spec("Keep"), &decided());
    gone.etcd.endpoints.insert(url("etcd-0").into(), Err("refuses connections".to_owned()));
    gone.etcd.members = Err("no member answers".to_owned());
    assign(&mut gone);
    assert!(
        refused(&gone).contains("answers; http://etcd-0.etcd.n.svc:2379 refuses connections"),
        "{}",
        refused(&gone)
    );
}

#[test]
fn other_operators_are_recognized_by_their_pods() {
    let pod = |owner: Value, labels: Value| json!({ "metadata": { "ownerReferences": [owner], "labels": labels } });
    let owner =
        |version: &str, kind: &str| json!({ "apiVersion": version, "kind": kind, "name": "x", "controller": true });
    let manager = |owner, labels, runs| crate::plan::takeover::manager_of(&pod(owner, labels), |_| runs);
    let chart = json!({ "app.kubernetes.io/managed-by": "Helm" });
    assert_eq!(manager(owner("apps/v1", "StatefulSet"), chart, true), None);
    let cozystack = "etcd-operator.cozystack.io/v1alpha2";
    assert_eq!(manager(owner(cozystack, "EtcdMember"), json!({}), true).as_deref(), Some("EtcdMember x"));
    let druid = json!({ "app.kubernetes.io/managed-by": "etcd-druid" });
    let label = "\"etcd-druid\" (label app.kubernetes.io/managed-by)";
    assert_eq!(manager(owner("apps/v1", "StatefulSet"), druid, true).as_deref(), Some(label));
    let orphan = json!({ "app.kubernetes.io/managed-by": "multi-operator" });
    assert_eq!(manager(json!({}), orphan, true), None, "its EtcdCluster was deleted without it");
    let coreos = "etcd.database.coreos.com/v1beta2";
    assert_eq!(manager(owner(coreos, "EtcdCluster"), json!({}), false), None);
    assert_eq!(manager(owner(coreos, "EtcdCluster"), json!({}), true).as_deref(), Some("EtcdCluster x"));
}

#[test]
fn peer_urls_name_pods_of_the_namespace() {
    let seen = waiting();
    let pod = |url| names::pod_in_namespace(&seen.cluster, url);
    for own in ["http://etcd-0.etcd:2380", "http://etcd-0.etcd.n:2380", "https://etcd-0.etcd.n.svc.cluster.local:2380"]
    {
        assert_eq!(pod(own), Some("etcd-0"), "{own}");
    }
    for other in ["http://10.0.0.1:2380", "http://etcd-0.etcd.other.svc:2380", "http://etcd:2380"] {
        assert_eq!(pod(other), None, "{other}");
    }
}

#[test]
fn peer_urls_of_the_host_itself_are_recognized() {
    for local in ["http://localhost:2380", "http://127.0.0.1:2380", "https://[::1]:2380", "http://0.0.0.0:2380"] {
        assert!(names::is_local(local), "{local}");
    }
    for other in ["http://etcd-0.etcd:2380", "http://10.0.0.1:2380", "https://[fd00::1]:2380"] {
        assert!(!names::is_local(other), "{other}");
    }
}
