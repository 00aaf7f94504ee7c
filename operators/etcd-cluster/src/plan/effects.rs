//! Pure: what a step takes.

use api::etcd_cluster::OnDelete;
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect};
use runtime::projections::{Claim, Pod};

use super::membership::Step;
use super::objects::Start;
use super::proven::{self, Made};
use super::roster::{Node, Roster};
use super::wish::Wish;
use super::{Change, EtcdAct, Observed, hold, leaving_3_6, names, objects};
use super::{placement, pull};

/// The effects of `step`, in order.
pub(super) fn of(observed: &Observed, roster: &Roster<'_>, wish: &Wish, step: &Step) -> Vec<Effect<EtcdAct>> {
    let cluster = &*observed.cluster;
    let node = |name: &str| roster.nodes.iter().find(|node| node.name == name);
    match step {
        Step::Rest | Step::Wait(_) | Step::Stuck(..) => Vec::new(),
        Step::Adopt { names } => {
            let claims = observed.claims.iter().filter(|claim| names.iter().any(|name| **name == *claim.meta.key.name));
            claims.map(|claim| Effect::Apply(objects::adopted(cluster, claim))).collect()
        }
        Step::Start { name, start } => {
            // The claim first: a pod whose claim is not there yet is put back by the scheduler, for a second or more.
            let pod = match (start, proven::made(observed, roster, wish, name)) {
                (Start::Join, _) => objects::pod(observed, cluster, &wish.joining(roster), name, *start),
                (Start::Again, Made::AsBefore(then)) => objects::pod(observed, &then.0, &then.1, name, *start),
                _ => objects::pod(observed, cluster, wish, name, *start),
            };
            let claim = wish.durable && node(name).is_none_or(|node| node.claim.is_none());
            let claim = claim.then(|| {
                Effect::Apply(objects::claim(cluster, name, objects::Known::beside(roster, *start == Start::Join)))
            });
            claim.into_iter().chain([Effect::Create(pod)]).collect()
        }
        Step::Add { name, learner } => {
            let change = Change::Add { peer_url: names::peer_url(cluster, name), learner: *learner };
            vec![Effect::Act(EtcdAct { via: via(roster, None), change })]
        }
        Step::Nudge { .. } => {
            vec![Effect::Act(EtcdAct { via: via(roster, None), change: Change::Fill { entries: 1 } })]
        }
        Step::Promote { id, .. } => {
            vec![Effect::Act(EtcdAct { via: via(roster, None), change: Change::Promote { id: *id } })]
        }
        Step::Remove { name, id, .. } => {
            let pod = node(name).and_then(|node| node.pod);
            let marked = node(name).is_some_and(|node| node.annotation(objects::RETIRING).is_some());
            let mark = pod.filter(|pod| !marked && !pod.meta.deleting).map(objects::retiring);
            // The pod may go before status has told of that, and a list of one is not believed then.
            let claim = node(name).and_then(|node| node.claim).filter(|claim| !objects::is_retiring(claim));
            let noted = claim.map(|claim| objects::marked_as_retiring(claim, true));
            let key = || cluster.meta.key.sibling(name);
            let no_pod = pod.is_none().then(|| (Pod::KIND, key()));
            let no_claim = wish.durable && pod.is_none() && node(name).is_none_or(|node| node.claim.is_none());
            let absent = no_pod.into_iter().chain(no_claim.then(|| (Claim::KIND, key()))).collect();
            let learner = node(name).is_some_and(Node::is_learner);
            // One that its kubelet finds ready may be counted upon, too, though it does not answer the manager.
            let counts = |other: &&Node<'_>| other.is_healthy() || other.ready;
            let others = roster.voters().filter(|other| !learner && other.name != *name).filter(counts);
            let staying = others.map(|other| cluster.meta.key.sibling(&other.name)).collect();
            let change = Change::Remove { id: *id, absent, staying };
            let act = Effect::Act(EtcdAct { via: via(roster, Some(name)), change });
            mark.into_iter().chain(noted).map(Effect::Apply).chain([act]).collect()
        }
        Step::MoveLeader { to, .. } => {
            let heir = node(to).and_then(|node| node.member);
            let leader = roster.leader().and_then(address);
            let act = heir
                .zip(leader)
                .map(|(heir, leader)| EtcdAct { via: vec![leader], change: Change::MoveLeader { to: heir.id } });
            act.map(Effect::Act).into_iter().collect()
        }
        Step::Upgrade { name } => {
            let pod = node(name).and_then(|node| node.pod);
            let image = pod.map(|pod| Effect::Apply(objects::next_image(pod, wish)));
            farewell(observed, roster, node(name), wish).into_iter().chain(image).collect()
        }
        Step::Disarm { ids } => {
            let disarm = |id: &u64| EtcdAct { via: via(roster, None), change: Change::Disarm { id: *id } };
            ids.iter().map(disarm).map(Effect::Act).collect()
        }
        Step::Fill { name, entries, .. } => {
            let via = node(name).and_then(address).into_iter().collect();
            vec![Effect::Act(EtcdAct { via, change: Change::Fill { entries: *entries } })]
        }
        Step::Pull { beside } => vec![Effect::Create(pull::pod(observed, roster, wish, beside))],
        Step::DropPull { .. } => observed.pull.as_deref().map(delete_pod).into_iter().collect(),
        Step::Try { member, whole } => {
            placement::pod(observed, wish, member, *whole).map(Effect::Create).into_iter().collect()
        }
        Step::DropTrials => placement::left(observed).map(delete_pod).collect(),
        Step::DropPod { name } => {
            let deletion = node(name).and_then(|node| node.pod).map(delete_pod);
            farewell(observed, roster, node(name), wish).into_iter().chain(deletion).collect()
        }
        Step::Renew { name } => {
            let mark = proven::mark_of(wish);
            let claim = node(name).and_then(|node| node.claim);
            let noted = |claim: &&Claim| claim.labels.get(objects::NEXT) == Some(&mark);
            let note = claim.filter(|claim| !noted(claim)).map(|claim| objects::next(claim, Some(&mark)));
            let deletion = node(name).and_then(|node| node.pod).map(delete_pod);
            let farewell = farewell(observed, roster, node(name), wish);
            farewell.into_iter().chain(note.map(Effect::Apply)).chain(deletion).collect()
        }
        Step::DropClaim { name } => {
            let claim = node(name).and_then(|node| node.claim);
            let drop = claim.filter(|claim| !claim.meta.deleting).map(|claim| drop_claim(observed, claim));
            claim.and_then(hold::release).into_iter().chain(drop.into_iter().flatten()).collect()
        }
    }
}

/// What a member needs before it leaves a version; see [`Change::Touch`] and [`Change::Fill`].
fn farewell(observed: &Observed, roster: &Roster<'_>, node: Option<&Node<'_>>, wish: &Wish) -> Option<Effect<EtcdAct>> {
    let node = node.filter(|node| node.is_healthy())?;
    let change = match leaving_3_6::entries_to_fill(observed, roster, node, &wish.version) {
        _ if leaving_3_6::crosses(node, &wish.version, 5) => Change::Touch,
        // What takes longer has been done before, step by step.
        Ok(Some(entries)) if observed.cluster.status.filling_from.is_none() => Change::Fill { entries },
        _ => return None,
    };
    Some(Effect::Act(EtcdAct { via: vec![address(node)?], change }))
}

fn delete_pod(pod: &Pod) -> Effect<EtcdAct> {
    Effect::Delete(Delete::of(Pod::KIND, &pod.meta))
}

/// By policy: gone, or kept apart; not while a pod uses it, whatever the cache says of pods.
///
/// What never held anything that others do not is not kept: claims without a volume, and those of members that never voted,
/// which would pile up where members join in vain. That a member never voted is told by its claim, of which the label goes as
/// soon as it is seen to vote; and it is off the list of those who hold quorum by now. So they have all that was ever
/// acknowledged, and it has nothing but copies of that. Should its claim have changed meanwhile, nothing is deleted.
fn drop_claim(observed: &Observed, claim: &Claim) -> Vec<Effect<EtcdAct>> {
    let cluster = &*observed.cluster;
    let used_by = Some((Pod::KIND, claim.meta.key.clone()));
    let delete = Delete { unless: used_by, ..Delete::of(Claim::KIND, &claim.meta) };
    match objects::policy(cluster) {
        OnDelete::Delete => vec![Effect::Delete(delete)],
        OnDelete::Retain if (claim.bound || claim.lost) && !objects::has_yet_to_vote(claim) => {
            let disowned = objects::is_owned_in_vain(cluster, claim).then(|| objects::adopted(cluster, claim));
            disowned.into_iter().chain([objects::retired(claim)]).map(Effect::Apply).collect()
        }
        OnDelete::Retain => vec![Effect::Delete(Delete { version: Some(claim.meta.version), ..delete })],
    }
}

/// Through whom to change membership: those that are healthy, the leader first; not the one concerned, if others are there.
fn via(roster: &Roster<'_>, without: Option<&str>) -> Vec<Box<str>> {
    let leader = roster.leader().map(|leader| leader.name.as_str());
    let mut healthy: Vec<&Node<'_>> =
        roster.voters().filter(|node| node.is_healthy() && Some(node.name.as_str()) != without).collect();
    healthy.sort_by_key(|node| Some(node.name.as_str()) != leader);
    healthy.into_iter().filter_map(address).collect()
}

fn address(node: &Node<'_>) -> Option<Box<str>> {
    node.running()?.ip.clone()
}
