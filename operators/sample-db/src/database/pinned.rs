//! Pure: the effective release and volume of a database: its spec, and what was latched when it was created.

use api::sample_db::{DatabaseStorageStatus, EngineStatus, SampleDBReason};
use runtime::projections::Pvc;

use super::observed::Observed;
use super::record;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;
use crate::operand::release::{Release, major_of};

/// The effective release and volume of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The major version of the data.
    pub major: u32,
    /// The release, if it is known: an image of the user's reports it only when it runs.
    pub release: Option<Release>,
    /// The engine's image.
    pub image: String,
    /// The PVC of the data.
    pub claim: String,
}

/// Why a spec cannot be satisfied: the condition's reason and message.
pub type SpecRefusal = (SampleDBReason, String);

impl Pinned {
    /// What was latched; in the first reconcile, what the spec and the catalog say.
    ///
    /// # Errors
    /// Why it cannot be determined.
    pub fn of(observed: &Observed) -> Result<Self, SpecRefusal> {
        let (db, latched) = (&*observed.db, &observed.db.status.engine);
        let claim = db.status.storage.claim.clone().or_else(|| adopted(observed));
        let claim = claim.unwrap_or_else(|| names::data_claim(db));
        if let Some(image) = &latched.image {
            let release = latched.version.as_deref().or(latched.running.as_deref()).and_then(Release::parse);
            let major = release.map(|release| release.major).or_else(|| major_of(image));
            return Ok(Self {
                major: major.ok_or_else(|| unknown_major(image))?,
                release,
                image: image.clone(),
                claim,
            });
        }
        if let Some(image) = &db.spec.engine.image {
            let major = major_of(image).ok_or_else(|| unknown_major(image))?;
            return Ok(Self { major, release: None, image: image.clone(), claim });
        }
        let catalog = observed.catalog.as_ref().map_err(|why| (SampleDBReason::CatalogUnreadable, why.clone()))?;
        let offer = catalog.choose(&db.spec.engine).map_err(|why| (SampleDBReason::VersionUnknown, why))?;
        Ok(Self { major: offer.release.major, release: Some(offer.release), image: offer.image.clone(), claim })
    }

    /// The engine, as status latches it.
    #[must_use]
    pub fn engine(&self, before: &EngineStatus) -> EngineStatus {
        EngineStatus {
            version: self.release.map(|release| release.to_string()).or_else(|| before.version.clone()),
            image: Some(self.image.clone()),
            ..before.clone()
        }
    }

    /// The storage, as status latches it: where the data is, and once it was observed, whose it was before.
    #[must_use]
    pub fn storage(&self, observed: &Observed, before: &DatabaseStorageStatus, seen: bool) -> DatabaseStorageStatus {
        // What an earlier database of the name left is not this one's data.
        let live = observed.claim(&self.claim).filter(|claim| observed.is_own(claim));
        let uid = live.map(|claim| claim.meta.uid.to_string());
        // A PVC that was replaced before there was any data was not the data's.
        let has_data = observed.db.status.initialization.data_created_at.is_some();
        let known = before.claim_uid.clone().filter(|_| has_data || uid.is_none());
        let claim_uid = known.or(uid);
        let is_it = |claim: &&Pvc| claim_uid.as_deref() == Some(&*claim.meta.uid);
        // A restore of a backup may have given both object and PVC new UIDs.
        let current = live.filter(|claim| seen && (is_it(claim) || record::is_of_system(claim, &observed.db.status)));
        DatabaseStorageStatus {
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

    /// Whether this reconcile finds the data that the annotation names.
    pub(super) fn takes_over(&self, observed: &Observed) -> bool {
        let before = &observed.db.status.storage;
        let seen = observed.db.status.initialization.data_created_at.is_some();
        self.storage(observed, before, seen).adopted_from.len() > before.adopted_from.len()
    }
}

/// Whose volumes and Secrets were adopted, once the data was observed: they may be retained, and adopted again. The PVC of the
/// data shows it: it bears the UID of the object that it was created for until the next reconcile marks it. A volume that the
/// annotation names next to other data is left out: as the database's own it would be marked and deleted, or taken for the
/// current one.
pub(super) fn adopted_from(observed: &Observed, before: &DatabaseStorageStatus, current: Option<&Pvc>) -> Vec<String> {
    let db = &*observed.db;
    let mut all = before.adopted_from.clone();
    let named = db.annotations.get(api::sample_db::ADOPT).filter(|uid| ***uid != *db.meta.uid);
    let theirs = |uid: &str| current.and_then(|claim| claim.labels.get(OWNER_UID)).is_some_and(|of| **of == *uid);
    all.extend(named.filter(|uid| theirs(uid) && !all.iter().any(|of| *of == ***uid)).map(|uid| uid.to_string()));
    all
}

/// The PVC of the data that the annotation names: of those that upgrades created, the last.
fn adopted(observed: &Observed) -> Option<String> {
    let (db, uid) = (&*observed.db, observed.db.annotations.get(api::sample_db::ADOPT)?);
    let theirs = observed.claims.iter().filter(|claim| claim.labels.get(OWNER_UID).is_some_and(|of| **of == **uid));
    let data = theirs.filter_map(|claim| Some((names::data_major(db, &claim.meta.key.name)?, claim)));
    data.max_by_key(|(major, _)| *major).map(|(_, claim)| claim.meta.key.name.to_string())
}

pub(super) fn unknown_major(image: &str) -> SpecRefusal {
    let message = format!(
        "the tag of engine.image {image:?} does not begin with a major version of PostgreSQL: use a tag such as postgres:17.5 \
         (a digest may follow it)"
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
