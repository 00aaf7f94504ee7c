//! What may be destroyed without loss.

use etcd_cluster::plan::ListedMember;
use runtime::cache::Projection;
use runtime::plan::{Key, ResourceKind};
use runtime::projections::{Pod, Pvc};

use crate::bench::Bench;
use crate::faults::{LABELS, name_of};
use crate::kubelet::is_pull;

impl Bench {
    /// Whether the others still have the data of a majority without this one.
    pub fn may_destroy(&self, name: &str) -> bool {
        let Some(cluster) = self.cluster() else { return self.etcds.clusters.values().all(|cluster| !cluster.written) };
        let is = |member: &&ListedMember| name_of(member) == name;
        if !cluster.voters().any(|member| is(&member)) {
            return true;
        }
        let others = cluster.voters().filter(|member| !is(member) && self.is_intact(member));
        others.count() >= cluster.quorum()
    }

    fn is_intact(&self, member: &ListedMember) -> bool {
        let Some(volume) = self.volume_of(&member.name) else { return false };
        let terminating = |kind: ResourceKind| {
            let live = self.world.get(kind, &self.key.sibling(&member.name));
            live.is_none_or(|live| {
                !live["metadata"]["deletionTimestamp"].is_null() || live["status"]["phase"] == "Lost"
            })
        };
        let kind = if volume.starts_with("empty-") { Pod::KIND } else { Pvc::KIND };
        !terminating(kind)
            && self.etcds.volumes.get(&volume).is_some_and(|data| !data.broken && data.member == member.id)
    }

    /// Whether status or a PVC names a pod, or it is the first one. Other pods, created at the moment when an edit of the
    /// spec keeps status from being written, are unknown once their labels are removed: they wait to be listed until their
    /// cluster is deleted.
    pub fn is_named(&self, pod: &str) -> bool {
        let statuses = self.status()["memberStatuses"].as_array();
        statuses.is_some_and(|all| all.iter().any(|status| status["name"] == pod))
            || self.world.get(Pvc::KIND, &self.key.sibling(pod)).is_some()
            || self.pods().len() == 1
    }

    /// Whether pods and PVCs of members have the labels by which they are found. Otherwise only status may identify them.
    pub fn is_labeled(&self) -> bool {
        let pods = self.world.all(Pod::KIND).filter(|(key, _)| !is_pull(key));
        let listed =
            |key: &Key| self.cluster().is_some_and(|of| of.members.iter().any(|member| name_of(member) == &*key.name));
        let claims = self.world.all(Pvc::KIND).filter(|(key, _)| listed(key));
        pods.chain(claims).all(|(_, live)| {
            let labels = &live["metadata"]["labels"];
            LABELS.iter().all(|(label, wrong)| labels[label].as_str().is_some_and(|is| Some(is) != *wrong))
        })
    }

    /// Whether a first member has run without being recorded: then its data cannot be identified.
    pub fn is_unknown(&self) -> bool {
        self.cluster_id().is_none() && !self.etcds.clusters.is_empty()
    }

    /// The volume of a member's data.
    pub fn volume_of(&self, name: &str) -> Option<String> {
        let key = self.key.sibling(name);
        let uid = |kind: ResourceKind| Some(self.world.get(kind, &key)?["metadata"]["uid"].as_str()?.to_owned());
        uid(Pvc::KIND).or_else(|| uid(Pod::KIND).map(|uid| format!("empty-{uid}")))
    }
}
