//! Observes a cluster: reads the stores and etcd, and queries the API server while a step depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::etcd_cluster::ETCD_VOLUMES;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::{Create, DryRun};
use runtime::pod::quota;
use runtime::projections::{Pod, Pvc};
use serde_json::Value;

use crate::EtcdCluster;
use crate::etcd::{MemberEndpoint, MemberTls, RootPassword};
use crate::plan::known_good::KnownGoodConfig;
use crate::plan::placement::TrialFeasibility;
use crate::plan::recovered::with_recovered_status;
use crate::plan::unlabeled::{self, PodLookup, claims};
use crate::plan::version::Version;
use crate::plan::{self, Etcd, NextCheck, Observed, member_set, names, objects};

use certificates::Identities;

pub(crate) mod by_name;
mod certificates;
mod foreign;
pub(crate) mod live;
mod queries;
mod root_password;
mod secrets;
mod stores;
mod takeover;

pub use queries::{ObjectLookup, Queries};
pub use secrets::{SecretFiles, SecretLookup};
pub use stores::{Cached, Stores};

/// How long to wait for an election before the next query.
const ELECTION_INTERVAL: Duration = Duration::from_millis(700);
/// How many times to wait for an election.
const ELECTION_ATTEMPTS: usize = 3;

/// The observed state of `cluster`.
///
/// # Errors
/// Transient, if a pod is to be created in a namespace that cannot be read.
pub async fn observe(
    stores: &Stores,
    queries: &mut impl Queries,
    agent_image: &Arc<str>,
    cluster: &Arc<EtcdCluster>,
) -> Result<Observed, Error> {
    let cached = stores.read(cluster);
    let Cached { peers, clients, budget, mut pods, image_check, trials, foreign, mut claims, restores, .. } = cached;
    let (missing_pods, backups) = (cached.missing_pods, cached.backups);
    let cluster = &plan::restore::effective(&plan::issued_tls::effective(cluster), &restores);
    let (names_taken, names_terminating) = read_pods(queries, cluster, missing_pods, &mut pods).await;
    claims::accept_unlabeled(cluster, &pods, &mut claims);
    let mut claim_lookups = read_claims(queries, cluster, &pods, &mut claims, None).await;
    let (cluster, refusal) = plan::effective_tls::effective(cluster, &pods, &claims);
    // The latched cluster id decides whose answers count.
    let cluster = &with_recovered_status(&cluster, &claims);
    let (tls, identities) = certificates::observe(queries, cluster, refusal, &pods).await;
    let root = root_password::read(queries, cluster).await;
    let password = root.as_ref().ok().and_then(Option::as_ref);
    let (earlier, unusable) = match takeover::endpoints(queries, cluster, password).await {
        Ok(earlier) => (earlier, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let mut endpoints = endpoints(cluster, &pods, &identities, password);
    endpoints.extend(earlier);
    let mut etcd = query_etcd(queries, cluster, &endpoints).await;
    let takeover = takeover::observe(stores, queries, cluster, &mut etcd, unusable).await;
    claim_lookups.extend(read_claims(queries, cluster, &pods, &mut claims, Some(&etcd)).await);
    let mut observed = Observed {
        peers,
        clients,
        budget,
        restores,
        backups,
        restore_unreadable: cached.restore_unreadable,
        etcd,
        claims,
        pods,
        image_check,
        image_check_rejected: false,
        trials,
        trial_feasibility: None,
        names_taken,
        names_terminating,
        foreign_selected: foreign,
        claim_lookups,
        dns_addresses: Vec::new(),
        known_good: BTreeMap::new(),
        pod_rejected: None,
        options_refused: None,
        tls,
        root_unusable: root.err(),
        takeover,
        cluster_version: None,
        receiving_snapshot: BTreeSet::new(),
        new_member_name: names::of(cluster, queries.random()).into(),
        default_class: None,
        foreign_pods: None,
        termination: None,
        namespace_assigns_uids: false,
        agent_image: agent_image.clone(),
        cluster: cluster.clone(),
    };
    claims::ignore_retired_labels(&mut observed);
    plan::list_of_one::distrust(&mut observed);
    plan::options::remove_refused(&mut observed);
    query_for_step(queries, &mut observed).await?;
    Ok(observed)
}

/// Reads the pods of members that the stores do not hold. Returns the names of members that foreign pods have, first those of
/// pods that stay.
async fn read_pods(
    queries: &mut impl Queries,
    cluster: &EtcdCluster,
    missing: BTreeSet<String>,
    pods: &mut Vec<Arc<Pod>>,
) -> (BTreeSet<Box<str>>, BTreeSet<Box<str>>) {
    let (mut taken, mut terminating) = (BTreeSet::new(), BTreeSet::new());
    for name in missing {
        let ObjectLookup::Found(live) = queries.object(Pod::KIND, &name).await else { continue };
        match unlabeled::classify(cluster, &live) {
            PodLookup::Own(pod) => {
                pods.retain(|cached| *cached.meta.key.name != *name);
                pods.push(pod);
            }
            PodLookup::Terminating => drop(terminating.insert(name.into())),
            PodLookup::Foreign => drop(taken.insert(name.into())),
        }
    }
    (taken, terminating)
}

/// Reads the PVCs of members that the stores do not hold.
async fn read_claims(
    queries: &mut impl Queries,
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    claims: &mut Vec<Arc<Pvc>>,
    etcd: Option<&Etcd>,
) -> claims::ClaimLookups {
    let mut found = claims::ClaimLookups::default();
    for name in claims::missing_claims(cluster, pods, claims, etcd) {
        match queries.object(Pvc::KIND, &name).await {
            ObjectLookup::Found(live) => found.extend(claims::classify(cluster, pods, &name, Some(&live), claims)),
            ObjectLookup::Absent => found.extend(claims::classify(cluster, pods, &name, None, claims)),
            ObjectLookup::Unknown => {}
        }
    }
    found
}

/// The members that can be queried: those whose pods have an address. Without an identity, a member with TLS does not answer.
fn endpoints(
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    identities: &Identities,
    root: Option<&RootPassword>,
) -> Vec<MemberEndpoint> {
    let endpoint = |pod: &Arc<Pod>| {
        let identity = plan::effective_tls::operator_secret_of(pod).and_then(|secret| identities.get(secret));
        Some(MemberEndpoint {
            pod: pod.meta.key.name.clone(),
            address: pod.details.as_ref()?.ip.clone()?,
            tls: identity.map(|identity| MemberTls {
                identity: Arc::clone(identity),
                server_name: names::host(cluster, &pod.meta.key.name),
            }),
            root: root.cloned(),
        })
    };
    pods.iter().filter(|pod| plan::may_be_queried(pod)).filter_map(endpoint).collect()
}

/// Queries etcd. While members elect a leader there is no quorum, and that takes them about a second; so a cluster that had
/// quorum is queried again before it is reported to have none.
async fn query_etcd(queries: &impl Queries, cluster: &EtcdCluster, members: &[MemberEndpoint]) -> Etcd {
    let had_quorum = cluster.status.contract.is_true(QUORUM_HEALTHY);
    let latched = cluster.status.cluster_id.as_deref().and_then(member_set::read_hex);
    let mut etcd = queries.etcd(members, latched).await;
    for _ in 0..ELECTION_ATTEMPTS {
        let answers = etcd.endpoints.values().filter(|answer| answer.is_ok()).count();
        if etcd.members.is_ok() || !had_quorum || answers <= members.len() / 2 {
            break;
        }
        queries.wait(ELECTION_INTERVAL).await;
        etcd = queries.etcd(members, latched).await;
    }
    etcd
}

/// Queries what only some steps need.
async fn query_for_step(queries: &mut impl Queries, observed: &mut Observed) -> Result<(), Error> {
    let cluster = observed.cluster.clone();
    if cluster.meta.deleting && cluster.meta.has_finalizer(ETCD_VOLUMES) {
        observed.termination = queries.termination().await;
    } else if cluster.meta.deleting {
        return Ok(());
    }
    if cluster.spec.paused {
        return Ok(());
    }
    if cluster.status.storage.is_none() {
        observed.default_class = Some(queries.default_class(&objects::default_class_probe(&cluster)).await);
    }
    if cluster.status.cluster_id.is_none() && observed.pods.is_empty() {
        let pods = queries.labeled_pods(&cluster).await;
        observed.foreign_pods = pods.map(|pods| foreign::among(&pods, &cluster));
    }
    if plan::may_create_pods(observed) {
        observed.namespace_assigns_uids = queries.assigns_uids().await?;
    }
    for name in plan::known_good::claims_to_read(observed) {
        let ObjectLookup::Found(live) = queries.object(Pvc::KIND, &name).await else { continue };
        observed.known_good.extend(known_good(&live).map(|known_good| ((*name).into(), known_good)));
    }
    observed.cluster_version = cluster_version(queries, observed).await;
    if let Some(leader) = plan::leader_of_overdue_member(observed, queries.now()) {
        observed.receiving_snapshot = queries.snapshot_receivers(&leader).await;
    }
    if plan::waits_for_dns(observed) {
        observed.dns_addresses = queries.ready_endpoints(&cluster.meta.key).await;
    }
    // Last, since which pod is next depends on all of the above.
    dry_run_pods(queries, observed).await
}

/// Asks the API server in dry runs whether it accepts the next pods: one that replaces another, or one that checks something
/// before that.
async fn dry_run_pods(queries: &impl Queries, observed: &mut Observed) -> Result<(), Error> {
    if plan::pod_to_dry_run(observed, queries.now()).is_some() {
        observed.namespace_assigns_uids = queries.assigns_uids().await?;
        if let Some((trial, replaced)) = plan::pod_to_dry_run(observed, queries.now()) {
            observed.pod_rejected = rejection(queries, &trial, replaced.as_deref()).await;
        }
    }
    let Some((next, _)) = plan::next_check(observed, queries.now()) else { return Ok(()) };
    observed.namespace_assigns_uids = queries.assigns_uids().await?;
    if let NextCheck::Placement(member) = &next {
        let live = queries.pod(member).await?;
        observed.trial_feasibility = live.and_then(|live| plan::placement::trial_feasibility(&observed.cluster, &live));
    }
    let Some((_, Some(trial))) = plan::next_check(observed, queries.now()) else { return Ok(()) };
    if rejection(queries, &trial, None).await.is_some() {
        match next {
            NextCheck::Image => observed.image_check_rejected = true,
            NextCheck::Placement(_) => observed.trial_feasibility = Some(TrialFeasibility::Impossible),
        }
    }
    Ok(())
}

/// Why the API server rejects a pod; none if it accepts it, or did not answer. A quota counts the replaced pod as well, whose
/// share becomes free.
async fn rejection(queries: &impl Queries, pod: &Create, replaced: Option<&str>) -> Option<String> {
    let DryRun::Rejected(why) = queries.dry_run(pod).await else { return None };
    let Some(replaced) = replaced.filter(|_| quota::is_exceeded(&why)) else { return Some(why) };
    match queries.pod(replaced).await {
        Ok(live) if quota::has_room_without(&why, live.as_ref()) => None,
        // A pod that cannot be read is not replaced.
        _ => Some(why),
    }
}

/// The pod template with which a member has run, as its PVC records it.
fn known_good(claim: &Value) -> Option<KnownGoodConfig> {
    serde_json::from_str(claim["metadata"]["annotations"][objects::KNOWN_GOOD_SPEC].as_str()?).ok()
}

/// The cluster version, if members are to run another minor version.
async fn cluster_version(queries: &impl Queries, observed: &Observed) -> Option<String> {
    let cluster = &observed.cluster;
    let requested = cluster.spec.version.as_deref().or(cluster.status.target_version.as_deref());
    let requested = Version::parse(requested?)?;
    let run = |pod: &&Arc<Pod>| match observed.etcd.endpoints.get(&pod.meta.key.name) {
        Some(Ok(endpoint)) => Version::parse(&endpoint.version),
        _ => None,
    };
    let differs = |pod: &&Arc<Pod>| run(pod).is_some_and(|runs| runs.minor != requested.minor);
    let pod = observed.pods.iter().find(differs)?;
    queries.cluster_version(pod.details.as_ref()?.ip.as_deref()?).await
}

#[cfg(test)]
mod tests;
