//! Pure: which overrides of pods the administrator permits.

use std::fmt;
use std::str::FromStr;

/// What MyApps may override in their pods. The administrator sets it with `--pod-overrides` (docs/security.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverrideLimit {
    /// Nothing.
    None,
    /// Placement and priority, labels and annotations.
    #[default]
    Placement,
    /// Everything that the API server accepts in a pod of the namespace.
    All,
}

impl FromStr for OverrideLimit {
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

impl fmt::Display for OverrideLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Placement => "placement",
            Self::All => "all",
        })
    }
}
