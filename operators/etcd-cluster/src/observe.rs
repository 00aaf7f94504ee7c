//! Looks: reads the stores, asks etcd, and, only where a step depends on it, the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use api::etcd_cluster::ETCD_VOLUMES;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use jiff::Timestamp;
use runtime::Error;
use runtime::cache::{Entry, View};
use runtime::plan::Owner;
use runtime::pods;
use runtime::views::{Claim, Pod};

use crate::by_name::{Answer, Reader};
use crate::etcd::{EtcdClient, Place};
use crate::plan::placement::Beside;
use crate::plan::recovered::recovered;
use crate::plan::unlabeled::{self, Found, claims};
use crate::plan::version::Version;
use crate::plan::{self, Etcd, NextTrial, Observed, names, objects, roster};
use crate::{EtcdCluster, EtcdClusterOperator, look};

/// How long to wait for an election, and how often.
const ELECTION: Duration = Duration::from_millis(700);
const ELECTIONS: usize = 3;

impl EtcdClusterOperator {
    /// What can be seen of `cluster` now.
    ///
    /// # Errors
    /// Transient, if a pod is to be made in a namespace that was never read and cannot be.
    pub async fn look(&self, cluster: &Arc<EtcdCluster>) -> Result<Observed, Error> {
        let key = &cluster.meta.key;
        let owner = Owner { kind: EtcdCluster::KIND.qualified().into(), name: key.name.clone() };
        let pods = self.pods.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        let pods: Vec<_> = pods.collect();
        let foreign = unlabeled::foreign(cluster, &pods);
        let mut pods: Vec<_> = pods.into_iter().filter(|pod| pod.meta.controlled_by(&cluster.meta.uid)).collect();
        let pull = plan::pull::take(cluster, &mut pods);
        let trials = plan::placement::take(cluster, &mut pods);
        let claims = self.claims.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        let mut claims: Vec<_> = claims.collect();
        let mut by_name = self.by_name.reader(key);
        let unseen = unlabeled::unseen(cluster, pods.iter().map(|pod| &**pod), claims.iter().map(|claim| &**claim));
        let mut taken = BTreeSet::new();
        for name in unseen {
            let Answer::Live(live) = by_name.read(Pod::KIND, &name).await else { continue };
            match unlabeled::found(cluster, &live) {
                Found::Own(pod) => {
                    pods.retain(|seen| *seen.meta.key.name != *name);
                    pods.push(pod);
                }
                Found::Taken => drop(taken.insert(name.into())),
            }
        }
        claims::accept(cluster, &pods, &mut claims);
        let mut found = read_claims(&mut by_name, cluster, &pods, &mut claims, None).await;
        // What was latched decides whose answers count.
        let cluster = &recovered(cluster, &claims);
        let etcd = self.ask(cluster, &places(&pods)).await;
        found.extend(read_claims(&mut by_name, cluster, &pods, &mut claims, Some(&etcd)).await);
        let mut observed = Observed {
            peers: self.services.child(key, &cluster.meta),
            clients: self.services.child(&key.sibling(&objects::client_service(cluster)), &cluster.meta),
            budget: self.budgets.child(key, &cluster.meta),
            etcd,
            claims,
            pods,
            pull,
            pull_refused: false,
            trials,
            beside: None,
            taken,
            foreign,
            found,
            published: Vec::new(),
            proven: BTreeMap::new(),
            refused: None,
            options_refused: None,
            cluster_version: None,
            receiving: BTreeSet::new(),
            fresh_name: fresh_name(cluster),
            default_class: None,
            strangers: None,
            termination: None,
            dictated_users: false,
            agent_image: self.settings.agent_image.clone(),
            cluster: cluster.clone(),
        };
        claims::unmark(&mut observed);
        plan::anew::distrust(&mut observed);
        plan::options::leave_out(&mut observed);
        self.look_further(&mut observed, &mut by_name).await?;
        Ok(observed)
    }

    /// Asks etcd. While members elect another leader nobody has quorum, and that takes them about a second; so a cluster
    /// that had it is asked again before it is said to have none.
    async fn ask(&self, cluster: &EtcdCluster, places: &[Place]) -> Etcd {
        let had_quorum = cluster.status.contract.is_true(QUORUM_HEALTHY);
        let latched = cluster.status.cluster_id.as_deref().and_then(roster::read_hex);
        let mut told = self.etcd.look(places, latched).await;
        for _ in 0..ELECTIONS {
            let answers = told.endpoints.values().filter(|answer| answer.is_ok()).count();
            if told.members.is_ok() || !had_quorum || answers <= places.len() / 2 {
                break;
            }
            tokio::time::sleep(ELECTION).await;
            told = self.etcd.look(places, latched).await;
        }
        told
    }

    /// What only some steps need.
    async fn look_further(&self, observed: &mut Observed, by_name: &mut Reader<'_>) -> Result<(), Error> {
        let cluster = observed.cluster.clone();
        if cluster.meta.deleting && cluster.meta.is_held_by(ETCD_VOLUMES) {
            observed.termination = self.namespaces.termination(&cluster.meta.key.namespace, EtcdCluster::KIND).await;
        } else if cluster.meta.deleting {
            return Ok(());
        }
        if cluster.spec.paused {
            return Ok(());
        }
        if cluster.status.storage.is_none() {
            observed.default_class = Some(look::default_class(&self.client, &objects::probe_claim(&cluster)).await);
        }
        if cluster.status.cluster_id.is_none() && observed.pods.is_empty() {
            observed.strangers = look::strangers(&self.client, &cluster).await;
        }
        let wanted = usize::try_from(cluster.spec.size).unwrap_or(0);
        if observed.pods.iter().filter(|pod| !pod.meta.deleting).count() < wanted {
            self.learn_users(observed).await?;
        }
        for name in plan::proven::to_read(observed) {
            let Answer::Live(live) = by_name.read(Claim::KIND, &name).await else { continue };
            observed.proven.extend(look::proven(&live).map(|proven| ((*name).into(), proven)));
        }
        self.look_ahead(observed).await?;
        observed.cluster_version = self.cluster_version(observed).await;
        if let Some(leader) = plan::late_behind(observed, Timestamp::now()) {
            observed.receiving = self.etcd.receivers(&leader).await;
        }
        if plan::awaits_dns(observed) {
            observed.published = look::published(&self.client, &cluster.meta.key).await;
        }
        Ok(())
    }
}

impl EtcdClusterOperator {
    /// What the API server says of pods that are about to be made: in the place of others, or to find something out before that.
    async fn look_ahead(&self, observed: &mut Observed) -> Result<(), Error> {
        let key = observed.cluster.meta.key.clone();
        if plan::trial(observed, Timestamp::now()).is_some() {
            self.learn_users(observed).await?;
            if let Some((trial, replaced)) = plan::trial(observed, Timestamp::now()) {
                let replaced = replaced.map(|replaced| key.sibling(&replaced));
                observed.refused = look::refused(&self.client, &trial, replaced.as_ref()).await;
            }
        }
        let Some((next, _)) = plan::next_trial(observed, Timestamp::now()) else { return Ok(()) };
        self.learn_users(observed).await?;
        if let NextTrial::Placement(member) = &next {
            let live = pods::get(&self.client, &key.sibling(member)).await?;
            observed.beside = live.and_then(|live| plan::placement::beside(&observed.cluster, &live));
        }
        let Some((_, Some(trial))) = plan::next_trial(observed, Timestamp::now()) else { return Ok(()) };
        if look::refused(&self.client, &trial, None).await.is_some() {
            match next {
                NextTrial::Image => observed.pull_refused = true,
                NextTrial::Placement(_) => observed.beside = Some(Beside::Impossible),
            }
        }
        Ok(())
    }

    async fn learn_users(&self, observed: &mut Observed) -> Result<(), Error> {
        observed.dictated_users = self.namespaces.dictates_users(&observed.cluster.meta.key.namespace).await?;
        Ok(())
    }

    /// The version that all members have agreed upon, if they are to run another minor version.
    async fn cluster_version(&self, observed: &Observed) -> Option<String> {
        let cluster = &observed.cluster;
        let asked = cluster.spec.version.as_deref().or(cluster.status.target_version.as_deref());
        let asked = Version::parse(asked?)?;
        let run = |pod: &&Arc<Pod>| match observed.etcd.endpoints.get(&pod.meta.key.name) {
            Some(Ok(endpoint)) => Version::parse(&endpoint.version),
            _ => None,
        };
        let differs = |pod: &&Arc<Pod>| run(pod).is_some_and(|runs| runs.minor != asked.minor);
        let pod = observed.pods.iter().find(differs)?;
        self.etcd.cluster_version(pod.running.as_ref()?.ip.as_deref()?).await
    }
}

/// Reads claims of members that no watch tells of by their names.
async fn read_claims(
    by_name: &mut Reader<'_>,
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    claims: &mut Vec<Arc<Claim>>,
    etcd: Option<&Etcd>,
) -> claims::Found {
    let mut found = claims::Found::default();
    for name in claims::unseen(cluster, pods, claims, etcd) {
        match by_name.read(Claim::KIND, &name).await {
            Answer::Live(live) => found.extend(claims::read(cluster, pods, &name, Some(&live), claims)),
            Answer::Gone => found.extend(claims::read(cluster, pods, &name, None, claims)),
            Answer::Unknown => {}
        }
    }
    found
}

/// Whom to ask: members whose pods have an address.
fn places(pods: &[Arc<Pod>]) -> Vec<Place> {
    let address = |pod: &Arc<Pod>| Some((pod.meta.key.name.clone(), pod.running.as_ref()?.ip.clone()?));
    pods.iter().filter(|pod| plan::may_be_asked(pod)).filter_map(address).collect()
}

/// A member's name that nobody has had: every `RandomState` is seeded by the operating system.
fn fresh_name(cluster: &EtcdCluster) -> Arc<str> {
    names::of(cluster, RandomState::new().hash_one(0)).into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;

    /// The address of one that has ended for good may be somebody else's.
    #[test]
    fn pods_that_are_there_to_stay_are_asked() {
        let pod = |phase: &str, deleted: Value| {
            let pod = json!({ "metadata": { "namespace": "n", "name": phase, "uid": "p", "deletionTimestamp": deleted,
                "labels": { "multi-operator.example.com/owner-uid": "u" } },
                "status": { "phase": phase, "podIP": "10.0.0.1" } });
            Arc::new(Pod::decode(&pod.to_string()).unwrap())
        };
        let stays = || Value::Null;
        let pods = [pod("Running", stays()), pod("Failed", stays()), pod("Succeeded", stays())];
        let asked: Vec<_> = places(&pods).into_iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(asked, ["Running"]);
        assert!(places(&[pod("Running", json!("2026-01-01T00:00:00Z"))]).is_empty());
    }

    /// The token of each new cluster is such a name, too.
    #[test]
    fn a_fresh_name_is_another_each_time() {
        let cluster = r#"{"metadata": {"namespace": "n", "name": "c", "uid": "u"}, "spec": {"size": 3}}"#;
        let cluster = EtcdCluster::decode(cluster).unwrap();
        let names: BTreeSet<_> = (0..100).map(|_| fresh_name(&cluster)).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| names::is_ours(&cluster, name)), "{names:?}");
    }
}
