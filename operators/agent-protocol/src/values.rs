//! Values of flags that several commands have, with their defaults.

use std::fmt;
use std::num::ParseIntError;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// A day: no clock can count some numbers of seconds, and no wait needs more.
const LONGEST: u64 = 86_400;

/// How long something may take, a day at most; `DEFAULT` seconds unless a flag says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds<const DEFAULT: u64>(pub Duration);

impl<const DEFAULT: u64> Default for Seconds<DEFAULT> {
    fn default() -> Self {
        Self(Duration::from_secs(DEFAULT))
    }
}

impl<const DEFAULT: u64> Deref for Seconds<DEFAULT> {
    type Target = Duration;

    fn deref(&self) -> &Duration {
        &self.0
    }
}

impl<const DEFAULT: u64> fmt::Display for Seconds<DEFAULT> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_secs().fmt(formatter)
    }
}

impl<const DEFAULT: u64> FromStr for Seconds<DEFAULT> {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|seconds: u64| Self(Duration::from_secs(seconds.min(LONGEST))))
    }
}

/// How many programs or tasks work at once: 1 or more, 1 by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs(pub u16);

impl Default for Jobs {
    fn default() -> Self {
        Self(1)
    }
}

impl Deref for Jobs {
    type Target = u16;

    fn deref(&self) -> &u16 {
        &self.0
    }
}

impl fmt::Display for Jobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(0) => Err("it must be 1 or more".to_owned()),
            Ok(jobs) => Ok(Self(jobs)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A directory with space for sockets and short-lived files: /tmp by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir(pub PathBuf);

impl Default for RunDir {
    fn default() -> Self {
        Self("/tmp".into())
    }
}

impl Deref for RunDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for RunDir {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(formatter)
    }
}

impl From<std::ffi::OsString> for RunDir {
    fn from(path: std::ffi::OsString) -> Self {
        Self(path.into())
    }
}
