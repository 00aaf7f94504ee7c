//! Pure: the mismatches of a CRD, and their messages.

use std::fmt;

/// A step of the path of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The field of that name.
    Field(Box<str>),
    /// Every item of a list.
    Items,
    /// Every value of a map.
    Values,
}

/// A mismatch between a CRD and what the manager needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrdMismatch {
    /// The CRD does not serve this version, or does not exist.
    Version(&'static str),
    /// Its objects are not namespaced.
    NotNamespaced,
    /// It has no subresource status.
    Status,
    /// It does not have this field.
    Field(Vec<PathStep>),
    /// A field has another type.
    Type {
        /// The field.
        field: Vec<PathStep>,
        /// The needed type.
        needed: Box<str>,
        /// The served type.
        served: Box<str>,
    },
}

impl CrdMismatch {
    pub(super) fn clause(&self) -> Option<String> {
        match self {
            Self::Version(version) => Some(format!("it does not serve {version}, or does not exist")),
            Self::NotNamespaced => Some("its objects are in no namespace".to_owned()),
            Self::Status => Some("it has no subresource status, so that no status can be written".to_owned()),
            Self::Field(_) => None,
            Self::Type { field, needed, served } => {
                Some(format!("{} is of type {served} instead of {needed}", FieldPath(field)))
            }
        }
    }

    pub(super) fn field(&self) -> Option<String> {
        match self {
            Self::Field(path) => Some(FieldPath(path).to_string()),
            _ => None,
        }
    }
}

/// The path of a field, as in `kubectl explain` and JSONPath.
pub(super) struct FieldPath<'a>(pub(super) &'a [PathStep]);

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.0 {
            match step {
                PathStep::Field(name) => write!(f, ".{name}")?,
                PathStep::Items => f.write_str("[]")?,
                PathStep::Values => f.write_str(".*")?,
            }
        }
        Ok(())
    }
}
