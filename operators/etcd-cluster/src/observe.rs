//! Observes a cluster: what the stores hold of it, and what live systems answer, each asked only while a step depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::etcd_cluster::ETCD_VOLUMES;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::{Create, DryRun};
use runtime::pod::quota;
use runtime::projections::{Claim, Pod};
use serde_json::Value;

use crate::EtcdCluster;
use crate::etcd::Place;
use crate::plan::placement::Beside;
use crate::plan::proven::Proven;
use crate::plan::recovered::recovered;
use crate::plan::unlabeled::{self, Found, claims};
use crate::plan::version::Version;
use crate::plan::{self, Etcd, NextTrial, Observed, names, objects, roster};

pub(crate) mod by_name;
mod foreign;
pub(crate) mod live;
mod queries;
mod stores;

pub use queries::{Answer, Queries};
pub use stores::{Cached, Stores};

/// How long to wait for an election.
const ELECTION: Duration = Duration::from_millis(700);
/// How many elections to wait for.
const ELECTIONS: usize = 3;

/// What is known of `cluster` now.
///
/// # Errors
/// Transient, if a pod is to be created in a namespace that cannot be read.
pub async fn observe(
    stores: &Stores,
    queries: &mut impl Queries,
    agent_image: &Arc<str>,
    cluster: &Arc<EtcdCluster>,
) -> Result<Observed, Error> {
    let Cached { peers, clients, budget, mut pods, pull, trials, foreign, mut claims, missing_pods } =
        stores.read(cluster);
    let (taken, leaving) = read_pods(queries, cluster, missing_pods, &mut pods).await;
    claims::accept(cluster, &pods, &mut claims);
    let mut found = read_claims(queries, cluster, &pods, &mut claims, None).await;
    // The latched cluster id decides whose answers count.
    let cluster = &recovered(cluster, &claims);
    let etcd = query_etcd(queries, cluster, &endpoints(&pods)).await;
    found.extend(read_claims(queries, cluster, &pods, &mut claims, Some(&etcd)).await);
    let mut observed = Observed {
        peers,
        clients,
        budget,
        etcd,
        claims,
        pods,
        pull,
        pull_refused: false,
        trials,
        beside: None,
        taken,
        leaving,
        foreign,
        found,
        published: Vec::new(),
        proven: BTreeMap::new(),
        refused: None,
        options_refused: None,
        cluster_version: None,
        receiving: BTreeSet::new(),
        fresh_name: names::of(cluster, queries.random()).into(),
        default_class: None,
        strangers: None,
        termination: None,
        namespace_assigns_uids: false,
        agent_image: agent_image.clone(),
        cluster: cluster.clone(),
    };
    claims::unmark(&mut observed);
    plan::anew::distrust(&mut observed);
    plan::options::leave_out(&mut observed);
    query_for_step(queries, &mut observed).await?;
    Ok(observed)
}

/// Reads the pods of members that the stores do not hold. Returns the names of members that foreign pods have, first those of pods
/// that stay.
async fn read_pods(
    queries: &mut impl Queries,
    cluster: &EtcdCluster,
    missing: BTreeSet<String>,
    pods: &mut Vec<Arc<Pod>>,
) -> (BTreeSet<Box<str>>, BTreeSet<Box<str>>) {
    let (mut taken, mut leaving) = (BTreeSet::new(), BTreeSet::new());
    for name in missing {
        let Answer::Live(live) = queries.object(Pod::KIND, &name).await else { continue };
        match unlabeled::found(cluster, &live) {
            Found::Own(pod) => {
                pods.retain(|cached| *cached.meta.key.name != *name);
                pods.push(pod);
            }
            Found::Leaving => drop(leaving.insert(name.into())),
            Found::Taken => drop(taken.insert(name.into())),
        }
    }
    (taken, leaving)
}

/// Reads the PVCs of members that the stores do not hold.
async fn read_claims(
    queries: &mut impl Queries,
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    claims: &mut Vec<Arc<Claim>>,
    etcd: Option<&Etcd>,
) -> claims::Found {
    let mut found = claims::Found::default();
    for name in claims::unseen(cluster, pods, claims, etcd) {
        match queries.object(Claim::KIND, &name).await {
            Answer::Live(live) => found.extend(claims::read(cluster, pods, &name, Some(&live), claims)),
            Answer::Gone => found.extend(claims::read(cluster, pods, &name, None, claims)),
            Answer::Unknown => {}
        }
    }
    found
}

/// The members that can be queried: those whose pods have an address.
fn endpoints(pods: &[Arc<Pod>]) -> Vec<Place> {
    let address = |pod: &Arc<Pod>| Some((pod.meta.key.name.clone(), pod.running.as_ref()?.ip.clone()?));
    pods.iter().filter(|pod| plan::may_be_asked(pod)).filter_map(address).collect()
}

/// Queries etcd. While members elect a leader there is no quorum, and that takes them about a second; so a cluster that had quorum is
/// queried again before it is reported to have none.
async fn query_etcd(queries: &impl Queries, cluster: &EtcdCluster, members: &[Place]) -> Etcd {
    let had_quorum = cluster.status.contract.is_true(QUORUM_HEALTHY);
    let latched = cluster.status.cluster_id.as_deref().and_then(roster::read_hex);
    let mut etcd = queries.etcd(members, latched).await;
    for _ in 0..ELECTIONS {
        let answers = etcd.endpoints.values().filter(|answer| answer.is_ok()).count();
        if etcd.members.is_ok() || !had_quorum || answers <= members.len() / 2 {
            break;
        }
        queries.wait(ELECTION).await;
        etcd = queries.etcd(members, latched).await;
    }
    etcd
}

/// Queries what only some steps need.
async fn query_for_step(queries: &mut impl Queries, observed: &mut Observed) -> Result<(), Error> {
    let cluster = observed.cluster.clone();
    if cluster.meta.deleting && cluster.meta.is_held_by(ETCD_VOLUMES) {
        observed.termination = queries.termination().await;
    } else if cluster.meta.deleting {
        return Ok(());
    }
    if cluster.spec.paused {
        return Ok(());
    }
    if cluster.status.storage.is_none() {
        observed.default_class = Some(queries.default_class(&objects::probe_claim(&cluster)).await);
    }
    if cluster.status.cluster_id.is_none() && observed.pods.is_empty() {
        let pods = queries.labeled_pods(&cluster).await;
        observed.strangers = pods.map(|pods| foreign::among(&pods, &cluster));
    }
    if plan::may_create_pods(observed) {
        observed.namespace_assigns_uids = queries.assigns_uids().await?;
    }
    for name in plan::proven::to_read(observed) {
        let Answer::Live(live) = queries.object(Claim::KIND, &name).await else { continue };
        observed.proven.extend(proven(&live).map(|proven| ((*name).into(), proven)));
    }
    dry_run_pods(queries, observed).await?;
    observed.cluster_version = cluster_version(queries, observed).await;
    if let Some(leader) = plan::late_behind(observed, queries.now()) {
        observed.receiving = queries.receivers(&leader).await;
    }
    if plan::awaits_dns(observed) {
        observed.published = queries.ready_endpoints(&cluster.meta.key).await;
    }
    Ok(())
}

/// Has the API server judge pods that are about to be created: in place of others, or to check something before that.
async fn dry_run_pods(queries: &impl Queries, observed: &mut Observed) -> Result<(), Error> {
    if plan::trial(observed, queries.now()).is_some() {
        observed.namespace_assigns_uids = queries.assigns_uids().await?;
        if let Some((trial, replaced)) = plan::trial(observed, queries.now()) {
            observed.refused = refused(queries, &trial, replaced.as_deref()).await;
        }
    }
    let Some((next, _)) = plan::next_trial(observed, queries.now()) else { return Ok(()) };
    observed.namespace_assigns_uids = queries.assigns_uids().await?;
    if let NextTrial::Placement(member) = &next {
        let live = queries.pod(member).await?;
        observed.beside = live.and_then(|live| plan::placement::beside(&observed.cluster, &live));
    }
    let Some((_, Some(trial))) = plan::next_trial(observed, queries.now()) else { return Ok(()) };
    if refused(queries, &trial, None).await.is_some() {
        match next {
            NextTrial::Image => observed.pull_refused = true,
            NextTrial::Placement(_) => observed.beside = Some(Beside::Impossible),
        }
    }
    Ok(())
}

/// Why the API server would not create that pod. A transient failure is no reason. A quota also counts the pod that is to be replaced,
/// if there is one.
async fn refused(queries: &impl Queries, pod: &Create, replaced: Option<&str>) -> Option<String> {
    let DryRun::Rejected(why) = queries.dry_run(pod).await else { return None };
    let Some(replaced) = replaced.filter(|_| quota::is_exceeded(&why)) else { return Some(why) };
    match queries.pod(replaced).await {
        Ok(live) if quota::has_room_without(&why, live.as_ref()) => None,
        // A pod that cannot be read now is not deleted now.
        _ => Some(why),
    }
}

/// The pod template with which a member has run, as its PVC records it.
fn proven(claim: &Value) -> Option<Proven> {
    serde_json::from_str(claim["metadata"]["annotations"][objects::PROVEN_SPEC].as_str()?).ok()
}

/// The version that all members have agreed upon, if they are to run another minor version.
async fn cluster_version(queries: &impl Queries, observed: &Observed) -> Option<String> {
    let cluster = &observed.cluster;
    let asked = cluster.spec.version.as_deref().or(cluster.status.target_version.as_deref());
    let asked = Version::parse(asked?)?;
    let run = |pod: &&Arc<Pod>| match observed.etcd.endpoints.get(&pod.meta.key.name) {
        Some(Ok(endpoint)) => Version::parse(&endpoint.version),
        _ => None,
    };
    let differs = |pod: &&Arc<Pod>| run(pod).is_some_and(|runs| runs.minor != asked.minor);
    let pod = observed.pods.iter().find(differs)?;
    queries.cluster_version(pod.running.as_ref()?.ip.as_deref()?).await
}

#[cfg(test)]
mod tests;
