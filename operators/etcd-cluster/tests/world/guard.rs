//! The invariants of a world.

use std::collections::{BTreeMap, BTreeSet};

use api::etcd_cluster::RestoreStage;
use etcd_cluster::plan::{EtcdAct, EtcdChange, EtcdPlan, Observed};
use jiff::Timestamp;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::{Effect, Key};
use runtime::projections::{Pod, Pvc};
use runtime::testing::FakeCluster;
use runtime::testing::fault_injection::ActAnswer;

use crate::asked::change_of;
use crate::faults::name_of;
use crate::kubelet::{Kubelet, seen};
use crate::raft::{Cluster, Etcds};
use crate::snapshot::{ClaimSeen, Snapshot};

/// Checks the invariants.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Pods that the operator has deleted or changed, by uid, with their previous image; until their process is another one.
    doomed: BTreeMap<String, (String, String)>,
    before: Snapshot,
    /// The number of membership changes in this reconcile.
    changes: usize,
    /// The id of the cluster, once it is latched.
    latched: Option<u64>,
    /// Whether all members are stopped, because the cluster begins again from a snapshot.
    restoring: bool,
    /// Whether the cluster has no pods after this plan, as the spec requests.
    hibernating: bool,
    /// The number of leadership transfers.
    pub led: usize,
}

impl Guard {
    /// Records the state before a reconcile, and checks the plan.
    pub fn before(
        &mut self,
        world: &FakeCluster,
        etcds: &Etcds,
        cut: &BTreeSet<String>,
        observed: &Observed,
        plan: &EtcdPlan,
    ) {
        self.changes = 0;
        self.before = Snapshot::of(world);
        let storage = observed.cluster.spec.storage.as_ref();
        self.before.retain = storage.is_none_or(|storage| storage.on_delete == api::etcd_cluster::OnDelete::Retain);
        self.before.size = usize::try_from(observed.cluster.spec.size).unwrap_or(0);
        self.before.listed = self.listed(etcds);
        self.before.terminating = observed.cluster.meta.deleting;
        let status = &observed.cluster.status;
        let latched = status.cluster_id.as_deref().and_then(|id| u64::from_str_radix(id, 16).ok());
        let deletes =
            |uid: &str| plan.effects.iter().any(|of| matches!(of, Effect::Delete(delete) if *delete.uid == *uid));
        let stops = observed.pods.iter().all(|pod| pod.meta.deleting || deletes(&pod.meta.uid));
        // Data in pods would be lost: the operator refuses it.
        let durable = status.storage.as_ref().is_some_and(|storage| storage.durable);
        self.hibernating = observed.cluster.spec.hibernate && durable && stops;
        self.restoring = status.restore.as_ref().is_some_and(|restore| restore.ended_at.is_none());
        let begins = status.restore.as_ref().is_some_and(|restore| restore.stage == RestoreStage::Beginning);
        let is_same = self.latched.is_none() || latched.is_none() || self.latched == latched;
        assert!(is_same || begins, "another cluster is latched");
        self.latched = latched.or(self.latched);
        let disruptive = |effect: &&Effect<EtcdAct>| match effect {
            Effect::Delete(_) => true,
            Effect::Act(act) => is_of_membership(change_of(act).1),
            _ => false,
        };
        let disruptions = plan.effects.iter().filter(disruptive).count();
        assert!(disruptions <= 1 || self.restoring || self.hibernating, "one step at a time: {:?}", plan.effects);
        if observed.etcd.members.is_err() && self.latched.is_some() {
            // An isolated member does not help the others, and a new pod may repair it. No other member depends on the quorum of
            // a single member, and each change of its spec replaces its pod.
            let alone = self.cluster(etcds).is_some_and(|cluster| cluster.voters().count() == 1);
            // To the operator, a member that it cannot reach and that has no quorum is like an isolated one.
            let unknown = |pod: &str| cut.contains(pod) && !is_ready(world, &observed.cluster.meta.key.sibling(pod));
            let runs = |pod: &str| {
                let reachable = etcds.processes.get(pod).is_some_and(|process| process.reachable);
                reachable && !alone && !unknown(pod)
            };
            let works = |uid: &str| seen(world).iter().any(|pod| pod.uid == uid && runs(&pod.name));
            // In a recovery that the status has recorded, and before the cluster hibernates, all pods are stopped.
            let recovers = self.restoring
                || self.hibernating
                || status.recovery.as_ref().is_some_and(|recovery| recovery.ended_at.is_none());
            let destructive = |effect: &Effect<EtcdAct>| match effect {
                Effect::Delete(delete) => delete.kind == Pvc::KIND || works(&delete.uid) && !recovers,
                Effect::Act(_) => true,
                Effect::Apply(apply) => {
                    let retired = &apply.body["metadata"]["labels"]["multi-operator.example.com/retired"];
                    !retired.is_null() && !self.restoring
                }
                Effect::Create(_) => false,
            };
            assert!(!plan.effects.iter().any(destructive), "without quorum: {:?}", plan.effects);
        }
        assert!(plan.effects.is_empty() || !observed.cluster.spec.paused, "paused");
        let starts =
            plan.effects.iter().any(|effect| matches!(effect, Effect::Create(create) if create.kind == Pod::KIND));
        let stopped = self.hibernating && observed.pods.is_empty() && !self.restoring;
        assert!(!(starts && stopped), "hibernating: {:?}", plan.effects);
    }

    /// Checks whether a pod may get another image now.
    pub fn rolls(&self, etcds: &Etcds, kubelet: &Kubelet, observed: &Observed, plan: &EtcdPlan, now: Timestamp) {
        let mut unsettled = kubelet.unstable(now);
        // The operator cannot know of a start that its stores have not received.
        let containers =
            observed.live_pods().flat_map(|(pod, running)| running.containers.iter().map(move |of| (pod, of)));
        let heard: BTreeSet<_> = containers.map(|(pod, of)| (&*pod.meta.key.name, of.restarts)).collect();
        unsettled.retain(|name, restarts| heard.contains(&(*name, *restarts)));
        for effect in &plan.effects {
            let Effect::Apply(apply) = effect else { continue };
            let member = &*apply.key.name;
            if apply.kind == Pod::KIND && apply.body["spec"].is_object() && etcds.processes.contains_key(member) {
                assert!(unsettled.is_empty(), "{member} is given an image, and {unsettled:?} are not ready for good");
            }
        }
    }

    /// Performs an act, and checks its result.
    pub fn act(
        &mut self,
        etcds: &mut Etcds,
        observed: &Observed,
        act: &EtcdAct,
        cut: &BTreeSet<String>,
        answer: ActAnswer,
    ) -> Result<(), Error> {
        let had = self.has_quorum(etcds);
        let (_, change) = change_of(act);
        let removed = match change {
            EtcdChange::Remove { id, .. } => self.needed(etcds, observed, *id, cut),
            _ => None,
        };
        let (done, outcome) = etcds.act(act, cut, answer);
        if !done {
            return outcome;
        }
        self.led += usize::from(matches!(change, EtcdChange::MoveLeader { .. }));
        self.changes += usize::from(is_of_membership(change));
        if self.changes > 1 {
            etcds.violations.push("two changes of membership in one pass".to_owned());
        }
        if let Some(name) = removed {
            etcds.violations.push(format!("{name} is removed, and is healthy"));
        }
        let voting_alone = matches!(change, EtcdChange::Add { learner: false, .. }) && self.voters(etcds) == 2;
        if had && !self.has_quorum(etcds) && !voting_alone {
            etcds.violations.push(format!("{:?} takes quorum away", change));
        }
        let learners = self.cluster(etcds).map_or(0, |cluster| cluster.members.iter().filter(|m| m.learner).count());
        if learners > 1 {
            etcds.violations.push(format!("{learners} learners at once"));
        }
        outcome
    }

    /// The name of a healthy, desired member, which must not be removed.
    fn needed(&self, etcds: &Etcds, observed: &Observed, id: u64, cut: &BTreeSet<String>) -> Option<String> {
        let cluster = self.cluster(etcds)?;
        let (pod, _) = etcds.up(self.latched?, id)?;
        let votes = cluster.voters().any(|member| member.id == id);
        let marked = observed.pods.iter().any(|seen| {
            let running = seen.details.as_ref().filter(|_| &*seen.meta.key.name == pod);
            running.is_some_and(|running| running.annotations.contains_key("multi-operator.example.com/retiring"))
        });
        let ephemeral = observed.cluster.status.storage.as_ref().is_some_and(|storage| !storage.durable);
        let doomed =
            observed.claims.iter().any(|claim| &*claim.meta.key.name == pod && (claim.meta.deleting || claim.lost));
        let wanted =
            cluster.members.len() <= self.before.size && !marked && !ephemeral && !doomed && !cut.contains(pod);
        (votes && cluster.leader != 0 && wanted).then(|| pod.to_owned())
    }

    /// Checks what a reconcile did to pods and PVCs.
    pub fn after(&mut self, world: &FakeCluster, etcds: &mut Etcds) {
        let had = self.has_quorum(etcds);
        let now = Snapshot::of(world);
        for (uid, (name, image, deleting)) in &self.before.pods {
            let after = now.pods.get(uid);
            let hit = after.is_none_or(|(_, now, terminating)| now != image || (*terminating && !deleting));
            if hit {
                self.doomed.insert(uid.clone(), (name.clone(), image.clone()));
            }
            if after.is_some_and(|(_, image, _)| image.is_empty()) {
                etcds.violations.push(format!("pod {name} has lost its image: the API server refuses that"));
            }
        }
        if had && !self.restoring && !self.hibernating && !self.has_quorum(etcds) && self.voters(etcds) > 2 {
            let doomed: Vec<&String> = self.doomed.values().map(|(name, _)| name).collect();
            etcds.violations.push(format!("quorum is lost by what was done to the pods {doomed:?}"));
        }
        // The oldest of many retired PVCs are deleted while the members are healthy.
        let kept = self.before.claims.values().filter(|claim| claim.retired && !claim.deleting).count();
        let many = had && kept > (2 * self.before.size).max(5);
        for (uid, ClaimSeen { name, deleting, retired, filled, held }) in &self.before.claims {
            let after = now.claims.get(uid);
            let deleted = after.is_none_or(|now| now.deleting && !deleting);
            let put_away = after.is_some_and(|now| now.retired && !retired);
            let released = after.is_some_and(|now| *held && !now.held) && !retired && !self.before.terminating;
            if deleted && *filled && self.before.retain && !(*retired && many) {
                etcds.violations.push(format!("claim {name} is deleted, and should be retained"));
            }
            if (deleted || put_away || released)
                && !self.restoring
                && self.before.listed.contains(name)
                && self.listed(etcds).contains(name)
            {
                etcds.violations.push(format!("claim {name} is given up, and its member is listed"));
            }
        }
    }

    /// Checks the state.
    pub fn check_state(&mut self, world: &FakeCluster, etcds: &mut Etcds) {
        let pods = seen(world);
        self.doomed.retain(|uid, (name, image)| {
            let same = pods.iter().any(|pod| pod.uid == *uid && (pod.image != *image || pod.deleting));
            same && etcds.processes.contains_key(name)
                && !pods.iter().any(|pod| pod.uid == *uid && !pod.deleting && runs(etcds, name, &pod.image))
        });
        let claims: Vec<&String> = pods.iter().filter_map(|pod| pod.claim.as_ref()).collect();
        if claims.iter().collect::<BTreeSet<_>>().len() < claims.len() {
            etcds.violations.push(format!("two pods have one claim: {claims:?}"));
        }
    }

    fn cluster<'e>(&self, etcds: &'e Etcds) -> Option<&'e Cluster> {
        etcds.clusters.get(&self.latched?)
    }

    /// The names of the members; before a cluster is latched, of all clusters.
    fn listed(&self, etcds: &Etcds) -> BTreeSet<String> {
        let clusters = etcds.clusters.iter().filter(|(id, _)| self.latched.is_none_or(|latched| latched == **id));
        clusters.flat_map(|(_, cluster)| &cluster.members).map(|member| name_of(member).to_owned()).collect()
    }

    fn voters(&self, etcds: &Etcds) -> usize {
        self.cluster(etcds).map_or(0, |cluster| cluster.voters().count())
    }

    /// Whether there is a majority, without pods that the operator has deleted or changed.
    fn has_quorum(&self, etcds: &Etcds) -> bool {
        let Some((id, cluster)) = self.latched.zip(self.cluster(etcds)) else { return false };
        let doomed = |pod: &str| self.doomed.values().any(|(name, _)| name == pod);
        let up = etcds.voters_up(id).into_iter().filter_map(|voter| etcds.up(id, voter));
        up.filter(|(pod, _)| !doomed(pod)).count() >= cluster.quorum()
    }
}

/// Whether the kubelet reports a pod as ready.
fn is_ready(world: &FakeCluster, pod: &Key) -> bool {
    let conditions = world.get(Pod::KIND, pod).and_then(|pod| pod["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|of| of["type"] == "Ready" && of["status"] == "True"))
}

fn is_of_membership(change: &EtcdChange) -> bool {
    !matches!(
        change,
        EtcdChange::MoveLeader { .. }
            | EtcdChange::Touch
            | EtcdChange::SetAuthentication { .. }
            | EtcdChange::Fill { .. }
            | EtcdChange::Compact { .. }
            | EtcdChange::Defragment { .. }
            | EtcdChange::Disarm { .. }
    )
}

/// Whether the process of a pod is of that image.
fn runs(etcds: &Etcds, pod: &str, image: &str) -> bool {
    etcds.processes.get(pod).is_some_and(|process| image.ends_with(&format!(":v{}", process.version)))
}
