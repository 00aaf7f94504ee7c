//! The data volume: made once, and never again. Pure.

use runtime::plan::Effect;
use runtime::views::Claim;

use super::Step;
use crate::plan::objects::{self, OWNER_UID};
use crate::plan::wish::{Refusal, Wish};
use crate::plan::{Observed, names};

/// What an earlier database of the name has left is told before anything else: what else it left is to be kept with it.
pub(super) fn left(observed: &Observed, wish: &Wish) -> Option<Step> {
    let made = observed.db.status.initialization.data_created_at.is_some();
    let data = |claim: &&Claim| names::data_major(&observed.db, &claim.meta.key.name).filter(|_| !made);
    let meant = |claim: &&Claim| *claim.meta.key.name == *wish.claim || data(claim).is_some();
    let claims = observed.claims.iter().map(|claim| &**claim).filter(|claim| !claim.meta.deleting);
    let others = claims.filter(meant).filter(|claim| !observed.is_own(claim));
    others.max_by_key(data).and_then(|claim| is_others(observed, claim)).map(Step::stuck)
}

/// The data volume: made once, and never again.
pub(super) fn volume(observed: &Observed, wish: &Wish) -> Option<Step> {
    let db = &*observed.db;
    let lasting = db.status.initialization.data_created_at.is_some();
    let Some(claim) = observed.claim(&wish.claim) else {
        if lasting {
            let message = format!(
                "the claim {} of the data is gone: bring it back, or make a new SampleDB with bootstrap.fromSnapshot",
                wish.claim
            );
            return Some(Step::Stuck("DataMissing", message));
        }
        let apply = Effect::Apply(objects::data_claim(db, &wish.claim));
        return Some(Step::take(apply, "Provisioning", "making the data volume"));
    };
    if claim.meta.deleting {
        return Some(Step::Wait("WaitingForDeletion", format!("the claim {} is being deleted", wish.claim)));
    }
    let replaced = db.status.storage.claim_uid.as_deref().is_some_and(|uid| uid != &*claim.meta.uid);
    (lasting && replaced).then(|| {
        let message = format!(
            "the claim {} is not the one that the data were on: bring that one back, or make a new SampleDB with \
             bootstrap.fromSnapshot",
            wish.claim
        );
        Step::Stuck("DataMissing", message)
    })
}

/// Why a claim of the right name is not to be used.
fn is_others(observed: &Observed, claim: &Claim) -> Option<Refusal> {
    let owner = claim.labels.get(OWNER_UID).map_or("", String::as_str);
    (!observed.is_own(claim)).then(|| {
        let message = format!(
            "the claim {} was left by an earlier SampleDB of this name: to take its data over, annotate this one with \
             {}={owner}; else delete the claim, or rename this SampleDB",
            claim.meta.key.name,
            api::sample_db::ADOPT
        );
        ("VolumeLeft", message)
    })
}
