//! Pure: the catalog of PostgreSQL releases, with their images.

use std::collections::BTreeMap;

use api::sample_db::Engine;
use serde::{Deserialize, Serialize};

use crate::operand::release::Release;

/// A release that is available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The release.
    pub release: Release,
    /// Its image.
    pub image: String,
    /// The major versions from which it may be upgraded to. Empty: all earlier ones.
    pub upgradable_from: Vec<u32>,
}

/// All releases that are available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// Sorted by release.
    offers: Vec<CatalogEntry>,
    /// The release for specs that name none.
    default: Option<Release>,
}

/// The value of an entry in the catalog's ConfigMap, whose key is the release.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CatalogValue {
    image: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    default: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    upgradable_from: Vec<u32>,
}

/// The releases of a manager without a catalog, and the repository of their images.
const BUILT_IN: [Release; 4] = [
    Release { major: 13, minor: 23 },
    Release { major: 15, minor: 18 },
    Release { major: 15, minor: 20 },
    Release { major: 17, minor: 12 },
];
const REPOSITORY: &str = "docker.io/library/postgres";

impl Default for Catalog {
    fn default() -> Self {
        let offer =
            |release| CatalogEntry { release, image: format!("{REPOSITORY}:{release}"), upgradable_from: Vec::new() };
        Self { offers: BUILT_IN.map(offer).into(), default: BUILT_IN.last().copied() }
    }
}

impl Catalog {
    /// Parses a ConfigMap. Each key is a release such as `17.12`, each value JSON:
    /// `{"image": "docker.io/library/postgres:17.12", "default": true, "upgradableFrom": [15]}`.
    ///
    /// # Errors
    /// Which entry is wrong, and why.
    pub fn parse(entries: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut catalog = Self { offers: Vec::new(), default: None };
        for (key, value) in entries {
            let release = Release::parse(key).filter(|release| release.to_string() == *key);
            let release = release.ok_or_else(|| format!("{key:?} is not a release such as 17.12"))?;
            let entry: CatalogValue = serde_json::from_str(value).map_err(|error| format!("{key}: {error}"))?;
            if entry.default && catalog.default.replace(release).is_some() {
                return Err(format!("{key}: only one release can be the default"));
            }
            catalog.offers.push(CatalogEntry { release, image: entry.image, upgradable_from: entry.upgradable_from });
        }
        catalog.offers.sort_by_key(|offer| offer.release);
        Ok(catalog)
    }

    /// The ConfigMap's data, as [`Self::parse`] reads it.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, String> {
        let entry = |offer: &CatalogEntry| {
            let default = self.default == Some(offer.release);
            CatalogValue { image: offer.image.clone(), default, upgradable_from: offer.upgradable_from.clone() }
        };
        let text = |offer: &CatalogEntry| serde_json::to_string(&entry(offer)).unwrap_or_default();
        self.offers.iter().map(|offer| (offer.release.to_string(), text(offer))).collect()
    }

    /// The release to run, with its image, for the spec of an engine.
    ///
    /// # Errors
    /// Why there is none.
    pub fn choose(&self, engine: &Engine) -> Result<&CatalogEntry, String> {
        let Some(version) = &engine.version else {
            let default = self.default.and_then(|release| self.offer(release)).or_else(|| self.offers.last());
            return default.ok_or_else(|| "the catalog is empty".to_owned());
        };
        let found = match version.parse() {
            Ok(major) => self.newest(major),
            Err(_) => Release::parse(version).and_then(|release| self.offer(release)),
        };
        found.ok_or_else(|| {
            let known: Vec<String> = self.offers.iter().map(|offer| offer.release.to_string()).collect();
            format!("the catalog has no PostgreSQL {version}: set engine.version to one of {}", known.join(", "))
        })
    }

    /// The newest release of a major version.
    #[must_use]
    pub fn newest(&self, major: u32) -> Option<&CatalogEntry> {
        self.offers.iter().rfind(|offer| offer.release.major == major)
    }

    /// That exact release.
    #[must_use]
    pub fn offer(&self, release: Release) -> Option<&CatalogEntry> {
        self.offers.iter().find(|offer| offer.release == release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(catalog: &Catalog, version: Option<&str>) -> Result<String, String> {
        let engine = Engine { version: version.map(str::to_owned), ..Engine::default() };
        catalog.choose(&engine).map(|offer| offer.image.clone())
    }

    #[test]
    fn the_newest_of_a_major_version_the_release_or_the_default() {
        let catalog = Catalog::default();
        assert_eq!(chosen(&catalog, None).unwrap(), "docker.io/library/postgres:17.12");
        assert_eq!(chosen(&catalog, Some("15")).unwrap(), "docker.io/library/postgres:15.20");
        assert_eq!(chosen(&catalog, Some("13.23")).unwrap(), "docker.io/library/postgres:13.23");
        assert_eq!(Catalog::parse(&catalog.entries()), Ok(catalog.clone()));
        assert!(chosen(&catalog, Some("15.1")).unwrap_err().contains("13.23, 15.18, 15.20, 17.12"));
    }

    #[test]
    fn a_config_map_is_parsed_and_its_errors_are_reported() {
        let entries = |entries: &[(&str, &str)]| {
            Catalog::parse(&entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        let catalog = entries(&[("15.18", r#"{"image": "pg:15.18"}"#), ("15.20", r#"{"image": "pg:15.20"}"#)]).unwrap();
        assert_eq!(chosen(&catalog, Some("15")).unwrap(), "pg:15.20");
        assert_eq!(chosen(&catalog, None).unwrap(), "pg:15.20");
        assert!(entries(&[("latest", "{}")]).unwrap_err().contains("not a release"));
        assert!(entries(&[("15.18", "{}")]).unwrap_err().contains("image"));
        let two = [("15.18", r#"{"image": "a", "default": true}"#), ("15.20", r#"{"image": "b", "default": true}"#)];
        assert!(entries(&two).unwrap_err().contains("only one"));
    }
}
