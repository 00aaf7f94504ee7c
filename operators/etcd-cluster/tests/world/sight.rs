//! What the operator sees of the world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use etcd_cluster::EtcdCluster;
use etcd_cluster::plan::placement::Beside;
use etcd_cluster::plan::proven::Proven;
use etcd_cluster::plan::unlabeled::{self, Found};
use etcd_cluster::plan::version::Version;
use etcd_cluster::plan::{self, Etcd, NextTrial, Observed};
use runtime::cache::{Entry, View};
use runtime::namespaces::Termination;
use runtime::plan::Owner;
use runtime::views::{Claim, Pod};

use crate::bench::Bench;
use crate::raft::hash;

impl Bench {
    /// As the operator looks, but for the clients that it looks with.
    pub fn look(&mut self, cluster: &Arc<EtcdCluster>) -> Observed {
        let key = &cluster.meta.key;
        let owner = Owner { kind: EtcdCluster::KIND.qualified().into(), name: key.name.clone() };
        let pods = self.stores.pods.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        let pods: Vec<_> = pods.collect();
        let foreign = unlabeled::foreign(cluster, &pods);
        let pods = pods.into_iter().filter(|pod| pod.meta.controlled_by(&cluster.meta.uid) && unlabeled::is_seen(pod));
        let mut pods: Vec<Arc<Pod>> = pods.collect();
        let claims = self.stores.claims.owned(&key.namespace, &owner).into_iter();
        let mut claims: Vec<Arc<Claim>> = claims.filter_map(Entry::into_object).collect();
        let unseen = unlabeled::unseen(cluster, pods.iter().map(|pod| &**pod), claims.iter().map(|claim| &**claim));
        let mut taken = BTreeSet::new();
        for name in unseen {
            match self.world.get(Pod::KIND, &key.sibling(&name)).map(|live| unlabeled::found(cluster, live)) {
                Some(Found::Own(pod)) => pods.push(pod),
                Some(Found::Taken) => drop(taken.insert(name.into())),
                None => {}
            }
        }
        let pull = plan::pull::take(cluster, &mut pods);
        let trials = plan::placement::take(cluster, &mut pods);
        unlabeled::claims::accept(cluster, &pods, &mut claims);
        let mut found = self.read_claims(cluster, &pods, &mut claims, None);
        let address = |pod: &Arc<Pod>| Some((pod.meta.key.name.clone(), pod.running.as_ref()?.ip.clone()?));
        let places: Vec<_> = pods.iter().filter(|pod| plan::may_be_asked(pod)).filter_map(address).collect();
        let cluster = &plan::recovered::recovered(cluster, &claims);
        let latched = cluster.status.cluster_id.as_deref().and_then(plan::roster::read_hex);
        let etcd = match places.as_slice() {
            [] => Etcd::default(),
            places => self.etcds.look(places, &self.unreached(), latched),
        };
        found.extend(self.read_claims(cluster, &pods, &mut claims, Some(&etcd)));
        self.names += 1;
        let mut observed = Observed {
            peers: self.stores.services.child(key, &cluster.meta),
            clients: self.stores.services.child(&key.sibling(&plan::objects::client_service(cluster)), &cluster.meta),
            budget: self.stores.budgets.child(key, &cluster.meta),
            claims,
            pods,
            pull,
            pull_refused: false,
            trials,
            beside: None,
            taken,
            cluster_version: self.cluster_version(cluster, &etcd),
            etcd,
            receiving: BTreeSet::new(),
            foreign,
            found,
            proven: BTreeMap::new(),
            refused: None,
            options_refused: None,
            published: Vec::new(),
            fresh_name: plan::names::of(cluster, hash(&[&self.names.to_string()])).into(),
            default_class: cluster.status.storage.is_none().then_some(Ok(self.default_class)),
            strangers: Some(Vec::new()),
            termination: self.going.then_some(Termination::Namespace),
            dictated_users: false,
            agent_image: "agent:1".into(),
            cluster: cluster.clone(),
        };
        unlabeled::claims::unmark(&mut observed);
        plan::anew::distrust(&mut observed);
        plan::options::leave_out(&mut observed);
        observed.proven = self.proven(&plan::proven::to_read(&observed));
        if !self.mute && plan::awaits_dns(&observed) {
            observed.published = self.kubelet.published();
        }
        if plan::trial(&observed, self.now).is_some() {
            observed.refused.clone_from(&self.refuses);
        }
        match plan::next_trial(&observed, self.now) {
            Some((NextTrial::Image, _)) => observed.pull_refused = self.refuses.is_some(),
            Some((NextTrial::Placement(_), _)) if self.refuses.is_some() => observed.beside = Some(Beside::Impossible),
            Some((NextTrial::Placement(member), _)) => {
                let live = self.world.get(Pod::KIND, &key.sibling(&member));
                observed.beside = live.and_then(|live| plan::placement::beside(&observed.cluster, live));
            }
            None => {}
        }
        observed
    }

    /// Reads claims that no watch tells of by their names.
    fn read_claims(
        &self,
        cluster: &EtcdCluster,
        pods: &[Arc<Pod>],
        claims: &mut Vec<Arc<Claim>>,
        etcd: Option<&Etcd>,
    ) -> unlabeled::claims::Found {
        let mut found = unlabeled::claims::Found::default();
        for name in unlabeled::claims::unseen(cluster, pods, claims, etcd) {
            let live = self.world.get(Claim::KIND, &self.key.sibling(&name));
            found.extend(unlabeled::claims::read(cluster, pods, &name, live, claims));
        }
        found
    }

    /// What the claims of these members tell of the pods that they had.
    fn proven(&self, members: &[Arc<str>]) -> BTreeMap<Box<str>, Proven> {
        let told = |name: &Arc<str>| {
            let claim = self.world.get(Claim::KIND, &self.key.sibling(name))?;
            let told = claim["metadata"]["annotations"][plan::objects::PROVEN_SPEC].as_str()?;
            Some(((**name).into(), serde_json::from_str(told).ok()?))
        };
        members.iter().filter_map(told).collect()
    }

    /// The version that all members have agreed upon, if they are to run another minor version.
    fn cluster_version(&self, cluster: &EtcdCluster, etcd: &Etcd) -> Option<String> {
        let asked = cluster.spec.version.as_deref().or(cluster.status.target_version.as_deref());
        let asked = Version::parse(asked?)?;
        let mut answers = etcd.endpoints.values().flatten();
        answers.find(|endpoint| Version::parse(&endpoint.version).is_some_and(|runs| runs.minor != asked.minor))?;
        self.cluster().map(|cluster| format!("3.{}.0", cluster.minor))
    }
}
