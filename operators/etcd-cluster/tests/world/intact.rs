//! What a world can do without.

use etcd_cluster::plan::Member;
use runtime::cache::Projection;
use runtime::plan::{Key, Kind};
use runtime::projections::{Claim, Pod};

use crate::bench::Bench;
use crate::faults::{LABELS, name_of};
use crate::kubelet::is_pull;

impl Bench {
    /// Whether what others have is still a majority's without this one.
    pub fn may_destroy(&self, name: &str) -> bool {
        let Some(cluster) = self.cluster() else { return self.etcds.clusters.values().all(|cluster| !cluster.written) };
        let is = |member: &&Member| name_of(member) == name;
        if !cluster.voters().any(|member| is(&member)) {
            return true;
        }
        let others = cluster.voters().filter(|member| !is(member) && self.is_intact(member));
        others.count() >= cluster.quorum()
    }

    fn is_intact(&self, member: &Member) -> bool {
        let Some(volume) = self.volume_of(&member.name) else { return false };
        let going = |kind: Kind| {
            let live = self.world.get(kind, &self.key.sibling(&member.name));
            live.is_none_or(|live| {
                !live["metadata"]["deletionTimestamp"].is_null() || live["status"]["phase"] == "Lost"
            })
        };
        let kind = if volume.starts_with("empty-") { Pod::KIND } else { Claim::KIND };
        !going(kind) && self.etcds.volumes.get(&volume).is_some_and(|data| !data.broken && data.member == member.id)
    }

    /// Whether status or a claim names a pod, or it is the first one. Of others, made in the very moment in which a user edits the
    /// spec so that status cannot be written, nothing tells once their labels are gone: they wait to be listed until their
    /// cluster is deleted.
    pub fn is_named(&self, pod: &str) -> bool {
        let statuses = self.status()["memberStatuses"].as_array();
        statuses.is_some_and(|all| all.iter().any(|status| status["name"] == pod))
            || self.world.get(Claim::KIND, &self.key.sibling(pod)).is_some()
            || self.pods().len() == 1
    }

    /// Whether pods, and claims of members, have the labels that they are found by. Where they do not, status alone may tell of them.
    pub fn is_labeled(&self) -> bool {
        let pods = self.world.all(Pod::KIND).filter(|(key, _)| !is_pull(key));
        let listed =
            |key: &Key| self.cluster().is_some_and(|of| of.members.iter().any(|member| name_of(member) == &*key.name));
        let claims = self.world.all(Claim::KIND).filter(|(key, _)| listed(key));
        pods.chain(claims).all(|(_, live)| {
            let labels = &live["metadata"]["labels"];
            LABELS.iter().all(|(label, wrong)| labels[label].as_str().is_some_and(|is| Some(is) != *wrong))
        })
    }

    /// Whether a first member has run of which nobody may have been told: then it cannot be known what its data is of.
    pub fn is_unknown(&self) -> bool {
        self.cluster_id().is_none() && !self.etcds.clusters.is_empty()
    }

    /// What a member's data is on.
    pub fn volume_of(&self, name: &str) -> Option<String> {
        let key = self.key.sibling(name);
        let uid = |kind: Kind| Some(self.world.get(kind, &key)?["metadata"]["uid"].as_str()?.to_owned());
        uid(Claim::KIND).or_else(|| uid(Pod::KIND).map(|uid| format!("empty-{uid}")))
    }
}
