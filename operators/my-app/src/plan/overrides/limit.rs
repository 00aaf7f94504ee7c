//! Pure: how much of pods the administrator lets MyApps override.

use std::fmt;
use std::str::FromStr;

/// How much of pods MyApps may override; the administrator decides (docs/security.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Nothing.
    None,
    /// Where pods run, and with which priority; labels and annotations.
    #[default]
    Placement,
    /// All that a pod may have in the namespace.
    All,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Self::None),
            "placement" => Ok(Self::Placement),
            "all" => Ok(Self::All),
            _ => Err("the value must be none, placement or all".to_owned()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Placement => "placement",
            Self::All => "all",
        })
    }
}
