//! Pure: the effects of a step of a restore.

use runtime::cache::Projection as _;
use runtime::plan::{Delete, Effect};
use runtime::projections::Pod;

use crate::plan::member_set::MemberSet;
use crate::plan::restore::{RestoreStep, new_claims, replaced, under_way};
use crate::plan::{EtcdAct, Observed, objects};

/// The effects.
pub(super) fn of(observed: &Observed, members: &MemberSet<'_>, step: &RestoreStep) -> Vec<Effect<EtcdAct>> {
    let uid = under_way(&observed.cluster).map_or("", |progress| progress.uid.as_str());
    match step {
        RestoreStep::Begin { .. } | RestoreStep::Forget | RestoreStep::BeginAgain | RestoreStep::Cancel => Vec::new(),
        RestoreStep::Stop => delete_pods(observed).collect(),
        RestoreStep::Keep => {
            let claims = members.all.iter().filter_map(|member| member.claim);
            claims.map(|claim| Effect::Apply(objects::replaced(claim, uid))).collect()
        }
        // The new member first: its pod has the labels of the cluster.
        RestoreStep::Return if !observed.pods.is_empty() => delete_pods(observed).collect(),
        // Its PVC is retired and not deleted, because only labels tell it from those of earlier members.
        RestoreStep::Return => {
            let unwanted = new_claims(&observed.cluster, members).map(objects::retired);
            unwanted.chain(replaced(observed, uid).map(objects::returned)).map(Effect::Apply).collect()
        }
    }
}

fn delete_pods(observed: &Observed) -> impl Iterator<Item = Effect<EtcdAct>> {
    let running = observed.pods.iter().filter(|pod| !pod.meta.deleting);
    running.map(|pod| Effect::Delete(Delete::of(Pod::KIND, &pod.meta)))
}
