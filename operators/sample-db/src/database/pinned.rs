//! Pure: what a database should be now: its spec, and what was decided for it when it was made.

use api::sample_db::{EngineStatus, SampleDBReason, StorageStatus};
use runtime::projections::Claim;

use super::observed::Observed;
use super::record;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;
use crate::operand::release::{Release, major_of};

/// What a database should be now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The major version of the data.
    pub major: u32,
    /// The release, where it is known: an image of the user's says so only when it runs.
    pub release: Option<Release>,
    /// The engine's image.
    pub image: String,
    /// The claim of the data.
    pub claim: String,
}

/// Why what a spec asks for cannot be had: the condition's reason and message.
pub type Refusal = (SampleDBReason, String);

impl Pinned {
    /// What was latched; on the first look, what the spec and the catalog say.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn of(observed: &Observed) -> Result<Self, Refusal> {
        let (db, latched) = (&*observed.db, &observed.db.status.engine);
        let claim = db.status.storage.claim.clone().or_else(|| adopted(observed));
        let claim = claim.unwrap_or_else(|| names::data_claim(db));
        if let Some(image) = &latched.image {
            let release = latched.version.as_deref().or(latched.running.as_deref()).and_then(Release::parse);
            let major = release.map(|release| release.major).or_else(|| major_of(image));
            return Ok(Self { major: major.ok_or_else(|| untold(image))?, release, image: image.clone(), claim });
        }
        if let Some(image) = &db.spec.engine.image {
            let major = major_of(image).ok_or_else(|| untold(image))?;
            return Ok(Self { major, release: None, image: image.clone(), claim });
        }
        let catalog = observed.catalog.as_ref().map_err(|why| (SampleDBReason::CatalogUnreadable, why.clone()))?;
        let offer = catalog.choose(&db.spec.engine).map_err(|why| (SampleDBReason::VersionUnknown, why))?;
        Ok(Self { major: offer.release.major, release: Some(offer.release), image: offer.image.clone(), claim })
    }

    /// What of it is latched in status: the engine.
    #[must_use]
    pub fn engine(&self, before: &EngineStatus) -> EngineStatus {
        EngineStatus {
            version: self.release.map(|release| release.to_string()).or_else(|| before.version.clone()),
            image: Some(self.image.clone()),
            ..before.clone()
        }
    }

    /// What of it is latched in status: where the data are, and once they have been seen, whose they were before.
    #[must_use]
    pub fn storage(&self, observed: &Observed, before: &StorageStatus, seen: bool) -> StorageStatus {
        // What an earlier database of the name left is not this one's data.
        let live = observed.claim(&self.claim).filter(|claim| observed.is_own(claim));
        let uid = live.map(|claim| claim.meta.uid.to_string());
        // One that was replaced before there were any data was not theirs.
        let made = observed.db.status.initialization.data_created_at.is_some();
        let known = before.claim_uid.clone().filter(|_| made || uid.is_none());
        let claim_uid = known.or(uid);
        let is_it = |claim: &&Claim| claim_uid.as_deref() == Some(&*claim.meta.uid);
        // Object and claim may both have come back under other uids, from a backup.
        let current = live.filter(|claim| seen && (is_it(claim) || record::is_of_system(claim, &observed.db.status)));
        StorageStatus {
            claim: Some(self.claim.clone()),
            adopted_from: adopted_from(observed, before, current),
            claim_uid,
            storage_class_name: before
                .storage_class_name
                .clone()
                .or_else(|| live.and_then(|claim| claim.class.clone())),
            size: Some(observed.db.spec.storage.size().to_owned()),
            snapshot_claim: Some(names::snapshot_claim(&observed.db)),
            ..before.clone()
        }
    }

    /// Whether the data are being found to be those that a person has told to take over.
    pub(super) fn takes_over(&self, observed: &Observed) -> bool {
        let before = &observed.db.status.storage;
        let seen = observed.db.status.initialization.data_created_at.is_some();
        self.storage(observed, before, seen).adopted_from.len() > before.adopted_from.len()
    }
}

/// Whose volumes and Secrets were taken over, once the data have been seen: they may be retained, and taken over again. The claim
/// of the data tells, which bears the uid of whom they were made for until the next pass marks it. What a person names beside other
/// data is left out: as the database's own it would be marked, and removed, or taken for the current one.
pub(super) fn adopted_from(observed: &Observed, before: &StorageStatus, current: Option<&Claim>) -> Vec<String> {
    let db = &*observed.db;
    let mut all = before.adopted_from.clone();
    let named = db.annotations.get(api::sample_db::ADOPT).filter(|uid| ***uid != *db.meta.uid);
    let theirs = |uid: &str| current.and_then(|claim| claim.labels.get(OWNER_UID)).is_some_and(|of| **of == *uid);
    all.extend(named.filter(|uid| theirs(uid) && !all.iter().any(|of| *of == ***uid)).map(|uid| uid.to_string()));
    all
}

/// The claim of the data that a person has told to take over: of those that upgrades have made, the last.
fn adopted(observed: &Observed) -> Option<String> {
    let (db, uid) = (&*observed.db, observed.db.annotations.get(api::sample_db::ADOPT)?);
    let theirs = observed.claims.iter().filter(|claim| claim.labels.get(OWNER_UID).is_some_and(|of| **of == **uid));
    let data = theirs.filter_map(|claim| Some((names::data_major(db, &claim.meta.key.name)?, claim)));
    data.max_by_key(|(major, _)| *major).map(|(_, claim)| claim.meta.key.name.to_string())
}

pub(super) fn untold(image: &str) -> Refusal {
    let message = format!(
        "the tag of engine.image {image:?} does not begin with a major version of PostgreSQL: give a tag such as \
         postgres:17.5 (a digest may follow it)"
    );
    (SampleDBReason::VersionUnknown, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_off_the_tag() {
        assert_eq!(major_of("postgres:17.5"), Some(17));
        assert_eq!(major_of("registry:5000/team/postgres:15-alpine@sha256:0"), Some(15));
        for image in ["postgres", "postgres:latest", "registry:5000/postgres", "postgres@sha256:0", "postgres:9.6"] {
            assert_eq!(major_of(image), None, "{image}");
        }
    }
}
