//! Which clusters an install manages, by the rule of the archived operator: an annotation assigns a cluster to an install that
//! watches all namespaces.

use std::fmt;
use std::str::FromStr;

use api::etcd_cluster::CLUSTERWIDE;

/// Which clusters an install manages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// If all namespaces are watched, those without the annotation or with `clusterwide`; otherwise those without it.
    #[default]
    Auto,
    /// Those without the annotation.
    Namespaced,
    /// Those with the annotation `etcd.database.coreos.com/scope: clusterwide`.
    Clusterwide,
}

impl Scope {
    /// Whether the install manages a cluster with that value of the annotation.
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
            _ => Err("it must be auto, namespaced or clusterwide".to_owned()),
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
