//! Pure: PostgreSQL releases, and what an image's name says about them.

use std::fmt;

/// A release, such as 17.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The major version. A server cannot read the data of another one.
    pub major: u32,
    /// The minor version: bug fixes, with the same data format.
    pub minor: u32,
}

impl Release {
    /// Parses `17.12`, with any suffix of a distribution.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, rest) = text.split_once('.')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { major: major.parse().ok()?, minor: digits.parse().ok()? })
    }

    /// Whether the agent refuses to dump a server of this release while clients work in it (CVE-2024-7348), as in
    /// `operators/agent/src/postgres/client/databases.rs`.
    #[must_use]
    pub fn is_unsafe_to_dump(self) -> bool {
        const SAFE_SINCE: [(u32, u32); 5] = [(12, 20), (13, 16), (14, 13), (15, 8), (16, 4)];
        SAFE_SINCE.iter().any(|(major, minor)| self.major == *major && self.minor < *minor)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The major version in an image's tag, such as `postgres:17.5` or `postgres:17-alpine`.
pub(crate) fn major_of(image: &str) -> Option<u32> {
    let (_, tag) = image.split('@').next()?.rsplit('/').next()?.split_once(':')?;
    let digits: String = tag.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|major| *major >= 10)
}

/// An image's registry and repository, without tag and digest.
pub(crate) fn repository(image: &str) -> &str {
    let tagged = image.split('@').next().unwrap_or(image);
    let tag = tagged.rfind(':').filter(|at| !tagged[*at..].contains('/'));
    tag.map_or(tagged, |at| &tagged[..at])
}
