//! The documented EtcdCluster becomes three members, one after another, and then costs nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use api::ConditionStatus;
use api::etcd_cluster::{EtcdCluster, MemberRole};
use e2e::cluster;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::objects::{ManagedKind, serves};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::time::sleep;

use crate::writes::{calls, lines, settled};

/// config/samples/etcd_cluster.yaml, which is what the documentation shows.
const DOCUMENTED: &str = include_str!("../../../config/samples/etcd_cluster.yaml");
const NAME: &str = "example-etcd-cluster";
/// The operator queries the members twice in it.
const WINDOW: Duration = Duration::from_secs(20);

/// TestCreateCluster and TestReadyMembersStatus of coreos/etcd-operator, TestEtcdClusterFunctionality of
/// etcd-io/etcd-operator.
#[tokio::test]
async fn the_documented_manifest_becomes_three_members() {
    let ns = namespace("etcd-create").await;
    let etcd = Etcd { ns: &ns, name: NAME };
    let (history, begun) = (etcd.record().await, Instant::now());
    ns.apply(DOCUMENTED).await;
    let cluster = etcd.runs(3).await;
    println!("apply to 3 voters and Ready=True; other tests ran meanwhile: {:.1?}", begun.elapsed());
    came_one_by_one(&history.objects());
    says_so(&cluster);
    kubectl_shows_it(&etcd, &cluster).await;
    has_its_objects(&etcd).await;
    let added: BTreeSet<String> =
        etcd.events().await.into_iter().filter(|e| e.0 == "New Member Added").map(|e| e.1).collect();
    let named = ids(&cluster).keys().map(|name| format!("New member {name} added to cluster")).collect();
    assert_eq!(added, named);

    let audit = cluster::audit();
    settled(&audit, &ns).await;
    let quiet = audit.mark().expect("the audit log can be read");
    sleep(WINDOW).await;
    let asked = calls(&quiet, &ns);
    assert!(asked.is_empty(), "a cluster that is as wished cost requests:\n{}", lines(&asked));

    for member in ids(&cluster).keys() {
        let health = etcd.asks(member, "health").await;
        assert!(health.contains(r#""health":"true""#), "{member}: {health}");
    }
    let writer = Writer::start(&etcd).await;
    writer.writes(50).await;
    let verdict = writer.verdict(&cluster).await;
    // The writer gives each put 1.5 s, which a machine that is slower than the reference may exceed. A refusal is wrong on any.
    let timeouts = verdict.errors.iter().filter(|(error, _)| error.starts_with("no answer within"));
    let timeouts: u64 = timeouts.map(|(_, count)| count).sum();
    let excused = if verdict.slowness > 1.5 { timeouts } else { 0 };
    assert_eq!(verdict.unacknowledged, excused, "{verdict:#?}");
}

/// etcd's list grew by one at a time, with no more than one that did not vote.
fn came_one_by_one(history: &[EtcdCluster]) {
    let reported: Vec<_> = history.iter().filter_map(|cluster| cluster.status.as_ref()).collect();
    let sizes: Vec<i32> = reported.iter().map(|status| status.size).collect();
    assert!(sizes.windows(2).all(|pair| (0..=1).contains(&(pair[1] - pair[0]))), "{sizes:?}");
    let joining = |role| matches!(role, MemberRole::Learner | MemberRole::Joining);
    for status in reported {
        let joining = status.member_statuses.iter().filter(|m| m.id.is_some() && joining(m.role)).count();
        assert!(joining <= 1, "{:#?}", status.member_statuses);
    }
}

fn says_so(cluster: &EtcdCluster) {
    let status = cluster.status.as_ref().expect("a status");
    for (type_, expected) in [
        ("Ready", ConditionStatus::True),
        ("Available", ConditionStatus::True),
        ("QuorumHealthy", ConditionStatus::True),
        ("Durable", ConditionStatus::True),
        ("Recovering", ConditionStatus::False),
        ("Scaling", ConditionStatus::False),
        ("Upgrading", ConditionStatus::False),
    ] {
        let condition = cluster.condition(type_).unwrap_or_else(|| panic!("no condition {type_}"));
        assert_eq!(condition.status, expected, "{condition:?}");
        if let Some(updated) = condition.last_update_time {
            assert_eq!(updated, condition.last_transition_time, "{condition:?}");
        }
    }
    assert_eq!(status.contract.conditions.len(), 7, "{:#?}", status.contract.conditions);
    let names: Vec<String> = ids(cluster).into_keys().collect();
    assert_eq!(status.members.ready, names);
    assert!(names.iter().all(|name| name.starts_with(NAME) && name.len() == NAME.len() + 11), "{names:?}");
    assert_eq!(status.service_name.as_deref(), Some("example-etcd-cluster-client"));
    assert_eq!((status.client_port, status.control_paused, status.size), (Some(2379), false, 3));
    assert!(status.leader.as_ref().is_some_and(|leader| names.contains(leader)), "{status:#?}");
    assert!(status.cluster_id.is_some() && status.db_size.is_some() && status.reason.is_none(), "{status:#?}");
}

async fn kubectl_shows_it(etcd: &Etcd<'_>, cluster: &EtcdCluster) {
    let columns = etcd.ns.kubectl(&["get", "etcd", NAME]).await.ok();
    let (head, row) = columns.trim_end().split_once('\n').expect("a head and a row");
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["NAME", "SIZE", "READY", "VERSION", "PHASE", "REASON", "AGE"]
    );
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells[..5], [NAME, "3", "3/3", "3.6.16", "Running"], "{columns}");
    let pods = etcd.ns.kubectl(&["get", "pods", "--selector=app=etcd", "--no-headers"]).await.ok();
    let pods: Vec<Vec<&str>> = pods.lines().map(|line| line.split_whitespace().take(3).collect()).collect();
    let wanted: Vec<Vec<&str>> = cluster
        .status
        .iter()
        .flat_map(|status| &status.members.ready)
        .map(|name| vec![name, "1/1", "Running"])
        .collect();
    assert_eq!(pods, wanted);
    for (name, pod) in etcd.pods().await {
        assert!(serves(&pod));
        let labels = pod.metadata.labels.unwrap_or_default();
        assert_eq!(labels.get("etcd_node"), Some(&name));
        assert_eq!(labels.get("etcd_cluster").map(String::as_str), Some(NAME));
    }
}

async fn has_its_objects(etcd: &Etcd<'_>) {
    let peers = etcd.ns.get::<Service>(NAME).await.spec.expect("a Service");
    assert_eq!((peers.cluster_ip.as_deref(), peers.publish_not_ready_addresses), (Some("None"), Some(true)));
    let ports = |service: &k8s_openapi::api::core::v1::ServiceSpec| -> Vec<i32> {
        service.ports.iter().flatten().map(|port| port.port).collect()
    };
    assert_eq!(ports(&peers), [2379, 2380]);
    let clients = etcd.ns.get::<Service>(&format!("{NAME}-client")).await.spec.expect("a Service");
    assert_eq!(ports(&clients), [2379]);
    assert!(clients.cluster_ip.is_some_and(|ip| ip != "None"));
    let budget = etcd.ns.get::<PodDisruptionBudget>(NAME).await;
    assert_eq!(budget.spec.and_then(|spec| spec.min_available), Some(IntOrString::Int(2)));
}
