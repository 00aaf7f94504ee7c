//! Pure: which release a database should run beside the one it runs.

use api::sample_db::{SampleDBReason, UpgradePolicy};

use super::catalog::{Catalog, CatalogEntry};
use super::observed::Observed;
use super::pinned::{Pinned, Refusal, untold};
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::operand::release::{Release, major_of};

/// What a database should run beside what it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing else.
    Current,
    /// This, by an upgrade.
    Upgrade(TargetRelease),
    /// This, but nobody is to do it by itself.
    Available(TargetRelease),
    /// What the spec asks for, which cannot be had: why. What runs goes on.
    Refused(Refusal),
}

/// What an upgrade leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRelease {
    /// The major version.
    pub major: u32,
    /// The release, unless the image is the user's: then it says so when it is looked at.
    pub release: Option<Release>,
    /// The image.
    pub image: String,
}

impl TargetRelease {
    /// What people call it.
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

/// Judges what the spec asks for by what is latched and what runs.
#[must_use]
pub fn target(observed: &Observed, pinned: &Pinned) -> Target {
    let db = &*observed.db;
    let goal = match asked(observed, pinned) {
        Err(refusal) => return Target::Refused(refusal),
        Ok(None) => return Target::Current,
        Ok(Some(goal)) => goal,
    };
    let failed = &db.status.upgrade;
    if failed.retry_after_generation == Some(db.meta.generation) {
        let why = failed.message.clone().unwrap_or_default();
        let why = format!("{why}; it is tried again once the spec changes");
        return Target::Refused((SampleDBReason::UpgradeFailed, why));
    }
    match db.spec.upgrade.policy {
        UpgradePolicy::Auto => Target::Upgrade(goal),
        UpgradePolicy::Manual => Target::Available(goal),
    }
}

/// Whether the spec still asks for the upgrade that leads to `goal`: not if it has been set back, leads elsewhere, or leaves
/// upgrades to a person by now.
#[must_use]
pub fn is_asked_for(observed: &Observed, pinned: &Pinned, goal: &TargetRelease) -> bool {
    let auto = observed.db.spec.upgrade.policy == UpgradePolicy::Auto;
    match asked(observed, pinned) {
        Ok(wanted) => auto && wanted.is_some_and(|wanted| wanted.image == goal.image || is_later(&wanted, goal)),
        // What cannot be read for a moment takes nothing back.
        Err((reason, _)) => reason == SampleDBReason::CatalogUnreadable,
    }
}

/// Whether it is another release of the same version, which the catalog has got since: the one that is under way comes first.
fn is_later(wanted: &TargetRelease, goal: &TargetRelease) -> bool {
    wanted.major == goal.major && wanted.release.zip(goal.release).is_some_and(|(wanted, goal)| wanted > goal)
}

/// What the spec asks for, if that is not what runs.
fn asked(observed: &Observed, pinned: &Pinned) -> Result<Option<TargetRelease>, Refusal> {
    let goal = match &observed.db.spec.engine.image {
        Some(image) if *image == pinned.image => return Ok(None),
        Some(image) => {
            let major = major_of(image).ok_or_else(|| untold(image))?;
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

/// The release of the catalog that the spec asks for, if it is a later one than that which runs.
fn offer<'a>(observed: &Observed, pinned: &Pinned, catalog: &'a Catalog) -> Result<Option<&'a CatalogEntry>, Refusal> {
    let engine = &observed.db.spec.engine;
    let asked = match &engine.version {
        Some(_) => Some(catalog.choose(engine).map_err(|why| (SampleDBReason::VersionUnknown, why))?),
        // Today's default may be another major version than that of then.
        None => catalog.newest(pinned.major),
    };
    let Some((offer, runs)) = asked.zip(pinned.release) else { return Ok(None) };
    if offer.release < runs {
        // One who asks for nothing, or for a major version, asks for no way back.
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
            "the catalog lets PostgreSQL {} be upgraded to from {} only, and this is {runs}: go through one of them",
            offer.release,
            from.join(", ")
        );
        return Err((SampleDBReason::UpgradePathUnknown, why));
    }
    Ok((offer.release > runs).then_some(offer))
}

/// That there is no way back to an earlier release.
pub(super) fn downgrade(to: &str, from: &str) -> Refusal {
    let why = format!(
        "the data are of PostgreSQL {from}, and there is no way back to {to}: set engine.version to {from} or later, or \
         make a new SampleDB from a snapshot of before"
    );
    (SampleDBReason::DowngradeRefused, why)
}

/// The StatefulSet of the server that an upgrade of `db` leads to.
#[must_use]
pub fn successor(db: &SampleDB) -> Option<String> {
    goal(db).map(|goal| names::upgrade_server(db, goal.major))
}

/// What the upgrade leads to, as it was written down.
pub(super) fn goal(db: &SampleDB) -> Option<TargetRelease> {
    let engine = &db.status.engine;
    let (target, image) = engine.target.as_ref().zip(engine.target_image.clone())?;
    let release = Release::parse(target);
    let major = release.map(|release| release.major).or_else(|| target.parse().ok())?;
    Some(TargetRelease { major, release, image })
}
