//! What happens to a world: users, faults, time.

use api::ReconcileReason;
use api::etcd_cluster::{ADOPT, MOVE_LEADER};
use etcd_cluster::EtcdClusterKind;
use etcd_cluster::plan::ListedMember;
use etcd_cluster::plan::names::member_of;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::ResourceKind;
use runtime::projections::{CustomKind as _, DisruptionBudget, Pod, Pvc, Service};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::kubelet::NODES;
use crate::raft::Cluster;
pub use crate::step::{Edit, Step, VERSIONS};

/// Edits of labels by users.
pub const LABELS: [(&str, Option<&str>); 5] = [
    ("app.kubernetes.io/managed-by", None),
    ("etcd_cluster", None),
    ("app.kubernetes.io/instance", Some("other")),
    ("multi-operator.example.com/owner-kind", None),
    ("multi-operator.example.com/owner-uid", None),
];

impl Bench {
    /// Takes a step.
    pub fn take(&mut self, step: &Step) {
        self.log(&format!("{step:?}"));
        match step {
            Step::Pass(pass) => self.pass(*pass),
            Step::See { kind, count } => self.world.deliver_events_of(kind_of(*kind), *count),
            Step::Tick => self.tick(),
            Step::Calm(rounds) => (0..*rounds).for_each(|_| self.round()),
            Step::Wait(minutes) => self.now += jiff::SignedDuration::from_mins(i64::from(*minutes)),
            Step::Edit(edit) => self.user(edit),
            Step::Kill(pod) => {
                if let Some(pod) = self.pick(*pod) {
                    self.kubelet.kill(&pod, &mut self.etcds);
                }
            }
            Step::Evict(_) | Step::EvictFully(_) | Step::DropClaim(_) | Step::Spoil { .. } | Step::Lose(_) => {
                self.damage(step);
            }
            Step::Expel(pod) => {
                if let Some(pod) = self.pick(*pod).filter(|pod| self.may_destroy(pod)) {
                    self.etcds.expel(&pod);
                }
            }
            Step::DropChild(which) => {
                let key = self.key.clone();
                match which % 3 {
                    0 => self.world.remove(Service::KIND, &key),
                    1 => self.world.remove(Service::KIND, &key.sibling("c-client")),
                    _ => self.world.remove(DisruptionBudget::KIND, &key),
                }
            }
            Step::Node { node, up: true } => drop(self.kubelet.down.remove(&(node % NODES))),
            Step::Node { node, up: false } => drop(self.kubelet.down.insert(node % NODES)),
            Step::Image { version, there } => {
                let tag = format!(":v{}", VERSIONS[version % VERSIONS.len()].trim_start_matches('v'));
                if *there {
                    self.kubelet.missing.remove(&tag)
                } else {
                    self.kubelet.missing.insert(tag)
                };
            }
            Step::Cut { pod, cut } => {
                if let Some(pod) = self.pick(*pod) {
                    if *cut {
                        self.cut.insert(pod)
                    } else {
                        self.cut.remove(&pod)
                    };
                }
            }
            Step::Mute(mute) => self.mute = *mute,
            Step::Blind(blind) => self.blind = *blind,
            Step::Pace { slow, lazy } => (self.etcds.pace.slow, self.etcds.pace.lazy) = (*slow, *lazy),
            Step::Refuse { pods, reported } => self.refuse_pods(*pods, *reported),
            Step::Alarm(full) => {
                self.etcds.full = *full;
                self.etcds.alarm |= full;
            }
            Step::Relabel { pod, label } => {
                let Some(pod) = self.pick(*pod) else { return };
                let key = self.key.sibling(&pod);
                if !self.is_named(&pod) {
                    return;
                }
                let (label, value) = LABELS[label % LABELS.len()];
                self.world.edit(Pod::KIND, &key, |pod| {
                    let labels = pod["metadata"]["labels"].as_object_mut();
                    labels.map(|labels| match value {
                        Some(value) => labels.insert(label.to_owned(), json!(value)),
                        None => labels.remove(label),
                    });
                });
            }
            Step::RelabelClaim { pod, label } => self.relabel_claim(*pod, *label),
            Step::LoseStatus => self.lose_status(),
            Step::Reborn { status } => self.reborn(*status),
            Step::Ruin { longest } => self.ruin(*longest),
            Step::GiveUp => self.give_up(),
            Step::Adopt => {
                let uid = self.earlier.clone();
                self.edit(|object| object["metadata"]["annotations"][ADOPT] = json!(uid));
            }
        }
    }

    /// Rejects pods, as a quota does; dry runs report that only if `reported`.
    pub fn refuse_pods(&mut self, pods: bool, reported: bool) {
        const WHY: &str = "exceeded quota";
        self.refuses = (pods && reported).then(|| WHY.to_owned());
        let error =
            Error::Transient { reason: ReconcileReason::Forbidden.into(), message: WHY.to_owned(), stalled: true };
        self.world.refuse(Pod::KIND, pods.then_some(error));
    }

    /// Advances everything, the operator included.
    pub fn round(&mut self) {
        self.tick();
        self.world.deliver_all_events();
        self.pass(ReconcileFaults::default());
    }

    fn user(&mut self, edit: &Edit) {
        self.edit(|object| match edit {
            Edit::Size(size) => object["spec"]["size"] = json!(size),
            Edit::Version(version) => object["spec"]["version"] = json!(VERSIONS[version % VERSIONS.len()]),
            Edit::NoVersion => object["spec"]["version"] = Value::Null,
            Edit::Restart(at) => {
                object["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = json!(at.to_string());
            }
            Edit::Paused(paused) => object["spec"]["paused"] = json!(paused),
            Edit::Hibernate(hibernate) => object["spec"]["hibernate"] = json!(hibernate),
            Edit::Quota(quota) => object["spec"]["quota"] = if *quota { json!("4Gi") } else { Value::Null },
            Edit::Option { good } => {
                object["spec"]["options"] = json!({ "max-wals": if *good { "7" } else { "many" } });
            }
            Edit::Isolated(true) => object["spec"]["pod"]["labels"]["isolated"] = json!("yes"),
            Edit::Hidden(true) => object["spec"]["pod"]["labels"]["hidden"] = json!("yes"),
            Edit::Nowhere(true) => object["spec"]["pod"]["nodeSelector"] = json!({ "disk": "none" }),
            Edit::Isolated(false) | Edit::Hidden(false) | Edit::Nowhere(false) => {
                drop(object["spec"].as_object_mut().map(|spec| spec.remove("pod")))
            }
            Edit::Lead(which) => object["metadata"]["annotations"][MOVE_LEADER] = json!(which.to_string()),
        });
    }

    /// Deletes pods or data, but never so much that no majority of voters has all data.
    fn damage(&mut self, step: &Step) {
        let (Step::Evict(pod)
        | Step::EvictFully(pod)
        | Step::DropClaim(pod)
        | Step::Spoil { pod, .. }
        | Step::Lose(pod)) = step
        else {
            return;
        };
        let Some(pod) = self.pick(*pod) else { return };
        let key = self.key.sibling(&pod);
        let goes =
            |claim: &Value| !claim["metadata"]["deletionTimestamp"].is_null() || claim["status"]["phase"] == "Lost";
        let claim = self.world.get(Pvc::KIND, &key).is_some_and(|claim| !goes(claim));
        let harmless = matches!(step, Step::Evict(_)) && claim;
        if !harmless && !self.may_destroy(&pod) || harmless && self.is_unknown() {
            return;
        }
        match step {
            Step::Spoil { wiped, .. } => {
                if self.cluster_id().is_none() {
                    return;
                }
                let Some(volume) = self.volume_of(&pod) else { return };
                self.etcds.processes.remove(&pod);
                match self.etcds.volumes.get_mut(&volume) {
                    Some(data) if !wiped => data.broken = true,
                    _ => drop(self.etcds.volumes.remove(&volume)),
                }
            }
            // Before anything is latched, this needs a user.
            Step::Lose(_) if self.cluster_id().is_none() => {}
            Step::Lose(_) => self.world.edit(Pvc::KIND, &key, |claim| claim["status"]["phase"] = json!("Lost")),
            _ => {
                if !matches!(step, Step::DropClaim(_)) {
                    self.world.delete(Pod::KIND, &key);
                }
                if !matches!(step, Step::Evict(_)) {
                    self.world.delete(Pvc::KIND, &key);
                }
            }
        }
        let learns = |cluster: &Cluster| cluster.members.iter().any(|member| member.learner && name_of(member) == pod);
        if self.cluster().is_none_or(learns) {
            // Otherwise the operator might rely on it at the same moment, without a way to know.
            self.world.deliver_all_events();
        }
    }

    /// A user removes a label of a member's PVC, or changes its value.
    fn relabel_claim(&mut self, pod: usize, label: usize) {
        // Before anything is latched, and for PVCs that no pod and no status refer to, only labels identify them.
        let Some(pod) = self.pick(pod).filter(|_| self.status()["clusterID"].is_string()) else { return };
        let is_listed = self.cluster().is_some_and(|cluster| cluster.voters().any(|member| name_of(member) == pod));
        let key = self.key.sibling(&pod);
        // A terminating PVC has to be found until its member is replaced, and one that does not record its data yet, at any time.
        let stays = self.world.get(Pvc::KIND, &key).is_some_and(|claim| {
            let labels = &claim["metadata"]["labels"];
            claim["metadata"]["deletionTimestamp"].is_null()
                && labels["multi-operator.example.com/cluster-id"].is_string()
        });
        if !is_listed || !stays {
            return;
        }
        let (label, value) = LABELS[label % LABELS.len()];
        self.world.edit(Pvc::KIND, &key, |claim| {
            let labels = claim["metadata"]["labels"].as_object_mut();
            labels.map(|labels| match value {
                Some(value) => labels.insert(label.to_owned(), json!(value)),
                None => labels.remove(label),
            });
        });
        // If its pod were deleted at the same moment, the operator could not know.
        self.world.deliver_all_events();
    }

    /// A user empties the status, unless only the status records something.
    fn lose_status(&mut self) {
        let is_found = self.latched.is_none() || self.status()["clusterID"].is_string();
        if !self.is_labeled() || self.is_unknown() || !is_found {
            return;
        }
        self.latched = self.cluster_id().map(str::to_owned);
        self.edit(|object| object["status"] = json!({}));
    }

    /// The object is deleted with what it owns, and created again.
    fn reborn(&mut self, status: bool) {
        if !status && !self.is_labeled() {
            return;
        }
        self.latched = self.cluster_id().map(str::to_owned);
        let mut object = self.object().clone();
        self.earlier = object["metadata"]["uid"].as_str().map(str::to_owned);
        if !status {
            object["status"] = json!({});
        }
        let key = self.key.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
        self.world.remove(EtcdClusterKind::KIND, &key);
        self.world.create(EtcdClusterKind::KIND, &key, object);
        self.world.deliver_all_events();
    }

    fn pick(&self, which: usize) -> Option<String> {
        let names = self.pods();
        names.get(which.checked_rem(names.len())?).cloned()
    }
}

/// A member's name, even if it has not started.
pub fn name_of(member: &ListedMember) -> &str {
    member.peer_urls.first().and_then(|url| member_of(url)).unwrap_or_default()
}

fn kind_of(which: usize) -> ResourceKind {
    match which % 5 {
        0 => Pod::KIND,
        1 => Pvc::KIND,
        2 => Service::KIND,
        3 => DisruptionBudget::KIND,
        _ => EtcdClusterKind::KIND,
    }
}
