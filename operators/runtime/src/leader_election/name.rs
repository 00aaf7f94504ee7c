//! The names of a Lease and of its candidates.

use std::fmt;
use std::str::FromStr;

use crate::clock;

/// The namespace and the name of a Lease. Displays and parses as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The text is not the name of a Lease.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} does not name a Lease: it takes NAMESPACE/NAME")]
pub struct InvalidLeaseName(String);

impl FromStr for LeaseName {
    type Err = InvalidLeaseName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(InvalidLeaseName(text.to_owned())),
        }
    }
}

/// The identity of a candidate: the name of its pod or host, and a random part, since a restarted process has the same name.
#[must_use]
pub fn identity(pod_name: Option<&str>) -> String {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let name = pod_name.filter(|name| !name.is_empty()).map_or_else(host, str::to_owned);
    format!("{name}_{:016x}", clock::random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_names_read_as_they_are_written() {
        let lease: LeaseName = "system/multi-operator".parse().unwrap();
        assert_eq!((lease.namespace.as_str(), lease.name.as_str()), ("system", "multi-operator"));
        assert_eq!(lease.to_string(), "system/multi-operator");
        for junk in ["", "name", "/name", "namespace/", "a/b/c"] {
            assert!(junk.parse::<LeaseName>().is_err(), "{junk}");
        }
    }

    #[test]
    fn identities_start_with_the_pod_and_never_repeat() {
        let (one, two) = (identity(Some("pod-1")), identity(Some("pod-1")));
        assert!(one.starts_with("pod-1_") && one != two);
        assert!(!identity(None).starts_with('_') && !identity(Some("")).starts_with('_'));
    }
}
