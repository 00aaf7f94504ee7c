//! Pure: which release a database should run, compared with the one that it runs.

use api::sample_db::{SampleDBReason, UpgradePolicy};

use super::catalog::{Catalog, CatalogEntry};
use super::observed::Observed;
use super::pinned::{Pinned, SpecRefusal, unknown_major};
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::operand::release::{Release, major_of};

/// The release that a database should run, compared with the one that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseTarget {
    /// The same.
    Current,
    /// This one, by an upgrade.
    Upgrade(TargetRelease),
    /// This one, but the policy leaves the upgrade to the user.
    Available(TargetRelease),
    /// The one in the spec is not possible: why. The running one stays.
    Refused(SpecRefusal),
}

/// The release that an upgrade leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRelease {
    /// The major version.
    pub major: u32,
    /// The release, unless the image is the user's, which reports it when it runs.
    pub release: Option<Release>,
    /// The image.
    pub image: String,
}

impl TargetRelease {
    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.release.map_or_else(|| self.major.to_string(), |release| release.to_string())
    }
}

impl From<&CatalogEntry> for TargetRelease {
    fn from(offer: &CatalogEntry) -> Self {
        Self { major: offer.release.major, release: Some(offer.release), image: offer.image.clone() }
    }
}

/// Compares the spec with what is latched and what runs.
#[must_use]
pub fn target(observed: &Observed, pinned: &Pinned) -> ReleaseTarget {
    let db = &*observed.db;
    let goal = match asked(observed, pinned) {
        Err(refusal) => return ReleaseTarget::Refused(refusal),
        Ok(None) => return ReleaseTarget::Current,
        Ok(Some(goal)) => goal,
    };
    let failed = &db.status.upgrade;
    if failed.retry_after_generation == Some(db.meta.generation) {
        let why = failed.message.clone().unwrap_or_default();
        let why = format!("{why}; it is tried again once the spec changes");
        return ReleaseTarget::Refused((SampleDBReason::UpgradeFailed, why));
    }
    match db.spec.upgrade.policy {
        UpgradePolicy::Auto => ReleaseTarget::Upgrade(goal),
        UpgradePolicy::Manual => ReleaseTarget::Available(goal),
    }
}

/// Whether the spec still requests the upgrade to `goal`: not if it was reverted, leads elsewhere, or leaves upgrades to the user
/// by now.
#[must_use]
pub fn is_still_requested(observed: &Observed, pinned: &Pinned, goal: &TargetRelease) -> bool {
    let auto = observed.db.spec.upgrade.policy == UpgradePolicy::Auto;
    match asked(observed, pinned) {
        Ok(wanted) => auto && wanted.is_some_and(|wanted| wanted.image == goal.image || is_later(&wanted, goal)),
        // A catalog that is unreadable for a moment cancels nothing.
        Err((reason, _)) => reason == SampleDBReason::CatalogUnreadable,
    }
}

/// Whether it is a later release of the same version, new in the catalog: the upgrade in progress comes first.
fn is_later(wanted: &TargetRelease, goal: &TargetRelease) -> bool {
    wanted.major == goal.major && wanted.release.zip(goal.release).is_some_and(|(wanted, goal)| wanted > goal)
}

/// The release in the spec, if it is not the running one.
fn asked(observed: &Observed, pinned: &Pinned) -> Result<Option<TargetRelease>, SpecRefusal> {
    let goal = match &observed.db.spec.engine.image {
        Some(image) if *image == pinned.image => return Ok(None),
        Some(image) => {
            let major = major_of(image).ok_or_else(|| unknown_major(image))?;
            TargetRelease { major, release: None, image: image.clone() }
        }
        None => {
            let catalog = observed.catalog.as_ref().map_err(|why| (SampleDBReason::CatalogUnreadable, why.clone()))?;
            match offer(observed, pinned, catalog)? {
                Some(offer) => TargetRelease::from(offer),
                None => return Ok(None),
            }
        }
    };
    if goal.major < pinned.major {
        return Err(downgrade(&goal.name(), &pinned.major.to_string()));
    }
    Ok(Some(goal))
}

/// The release of the catalog that the spec requests, if it is later than the running one.
fn offer<'a>(
    observed: &Observed,
    pinned: &Pinned,
    catalog: &'a Catalog,
) -> Result<Option<&'a CatalogEntry>, SpecRefusal> {
    let engine = &observed.db.spec.engine;
    let asked = match &engine.version {
        Some(_) => Some(catalog.choose(engine).map_err(|why| (SampleDBReason::VersionUnknown, why))?),
        // The default may be another major version by now.
        None => catalog.newest(pinned.major),
    };
    let Some((offer, runs)) = asked.zip(pinned.release) else { return Ok(None) };
    if offer.release < runs {
        // A spec without a version, or with a major one only, requests no downgrade.
        let exact = engine.version.as_deref().is_some_and(|version| version.contains('.'));
        let back = exact || offer.release.major < runs.major;
        return if back { Err(downgrade(&offer.release.to_string(), &runs.to_string())) } else { Ok(None) };
    }
    let known = offer.release.major == runs.major
        || offer.upgradable_from.is_empty()
        || offer.upgradable_from.contains(&runs.major);
    if !known {
        let from: Vec<String> = offer.upgradable_from.iter().map(u32::to_string).collect();
        let why = format!(
            "the catalog allows upgrades to PostgreSQL {} only from {}, and this is {runs}: upgrade to one of these first",
            offer.release,
            from.join(", ")
        );
        return Err((SampleDBReason::UpgradePathUnknown, why));
    }
    Ok((offer.release > runs).then_some(offer))
}

/// That a downgrade is not possible.
pub(super) fn downgrade(to: &str, from: &str) -> SpecRefusal {
    let why = format!(
        "the data is of PostgreSQL {from}, and a downgrade to {to} is not possible: set engine.version to {from} or later, or \
         create a new SampleDB from a snapshot that was taken before the upgrade"
    );
    (SampleDBReason::DowngradeRefused, why)
}

/// The StatefulSet of the server that an upgrade of `db` leads to.
#[must_use]
pub fn target_server_name(db: &SampleDB) -> Option<String> {
    goal(db).map(|goal| names::upgrade_server(db, goal.major))
}

/// The release that the upgrade leads to, as recorded.
pub(super) fn goal(db: &SampleDB) -> Option<TargetRelease> {
    let engine = &db.status.engine;
    let (target, image) = engine.target.as_ref().zip(engine.target_image.clone())?;
    let release = Release::parse(target);
    let major = release.map(|release| release.major).or_else(|| target.parse().ok())?;
    Some(TargetRelease { major, release, image })
}
