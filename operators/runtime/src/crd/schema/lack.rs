//! Pure: what a CRD can lack, and how that is told.

use std::fmt;

/// A step on the way to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The field of that name.
    Field(Box<str>),
    /// Every item of a list.
    Items,
    /// Every value of a map.
    Values,
}

/// Something that a CRD lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The version, or the CRD is not there at all.
    Version(&'static str),
    /// Namespaces: its objects are in none.
    Namespaces,
    /// The subresource status.
    Status,
    /// A field.
    Field(Vec<Step>),
    /// A field of that type.
    Type {
        /// The field.
        field: Vec<Step>,
        /// What is needed.
        needed: Box<str>,
        /// What it is.
        served: Box<str>,
    },
}

impl Lack {
    pub(super) fn clause(&self) -> Option<String> {
        match self {
            Self::Version(version) => Some(format!("it does not serve {version}, or is not there")),
            Self::Namespaces => Some("its objects are in no namespace".to_owned()),
            Self::Status => Some("it has no subresource status, so that no status can be written".to_owned()),
            Self::Field(_) => None,
            Self::Type { field, needed, served } => {
                Some(format!("{} is of type {served} instead of {needed}", Path(field)))
            }
        }
    }

    pub(super) fn field(&self) -> Option<String> {
        match self {
            Self::Field(path) => Some(Path(path).to_string()),
            _ => None,
        }
    }
}

/// A path as `kubectl explain` and JSONPath have it.
pub(super) struct Path<'a>(pub(super) &'a [Step]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.0 {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Items => f.write_str("[]")?,
                Step::Values => f.write_str(".*")?,
            }
        }
        Ok(())
    }
}
