//! Which clusters an install looks after, by the archived operator's rule: an annotation says that a cluster is for an
//! operator of the whole cluster.

use std::fmt;
use std::str::FromStr;

use api::etcd_cluster::CLUSTERWIDE;

/// Which clusters an install looks after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of them when all namespaces are watched, else those that are not annotated.
    #[default]
    Auto,
    /// Those that are not annotated.
    Namespaced,
    /// Those that are annotated `etcd.database.coreos.com/scope: clusterwide`.
    Clusterwide,
}

impl Scope {
    /// Whether a cluster annotated like this is looked after.
    #[must_use]
    pub fn manages(self, annotation: Option<&str>, all_namespaces: bool) -> bool {
        match self {
            Self::Auto if all_namespaces => annotation.is_none_or(|scope| scope == CLUSTERWIDE),
            Self::Auto | Self::Namespaced => annotation.is_none(),
            Self::Clusterwide => annotation == Some(CLUSTERWIDE),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Namespaced => "namespaced",
            Self::Clusterwide => "clusterwide",
        })
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "namespaced" => Ok(Self::Namespaced),
            "clusterwide" => Ok(Self::Clusterwide),
            _ => Err("it takes auto, namespaced or clusterwide".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_decides() {
        let annotated = Some(CLUSTERWIDE);
        let cases = [
            (Scope::Auto, true, None, true),
            (Scope::Auto, true, annotated, true),
            (Scope::Auto, false, None, true),
            (Scope::Auto, false, annotated, false),
            (Scope::Namespaced, true, annotated, false),
            (Scope::Namespaced, false, None, true),
            (Scope::Clusterwide, true, annotated, true),
            (Scope::Clusterwide, true, None, false),
            (Scope::Clusterwide, true, Some("other"), false),
        ];
        for (scope, all, annotation, managed) in cases {
            assert_eq!(scope.manages(annotation, all), managed, "{scope} {all} {annotation:?}");
        }
    }
}
