//! Pure: versions of etcd, and the upgrades that etcd allows.

use std::fmt;

/// A version of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The first number, which is 3 in all versions that this operator knows.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows a dash, such as `rc.0`.
    pub pre: String,
}

/// The lowest patch of 3.5 from which etcd's documentation allows 3.6: after earlier ones, removed members reappear or members
/// fail to start (<https://etcd.io/docs/latest/upgrades/upgrade_3_6/>).
const LOWEST_3_5_FOR_3_6: u64 = 26;

impl Version {
    /// Parses `3.6.16`, `v3.6.16`, `3.7.0-rc.0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        let (major, minor, patch) = (numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then(|| Self { major, minor, patch, pre: pre.to_owned() })
    }

    /// Whether it is that version or a later one.
    #[must_use]
    pub fn at_least(&self, major: u64, minor: u64, patch: u64) -> bool {
        self.numbers() >= (major, minor, patch)
    }

    /// Whether members of this version can join as learners (since etcd 3.4).
    #[must_use]
    pub fn has_learners(&self) -> bool {
        self.at_least(3, 4, 0)
    }

    /// Whether a leader of this version can transfer leadership (`MoveLeader`, since etcd 3.3). Before, the members elect another
    /// one after it has stopped.
    #[must_use]
    pub fn can_transfer_leadership(&self) -> bool {
        self.at_least(3, 3, 0)
    }

    /// Whether it has the same minor version.
    #[must_use]
    pub fn same_minor(&self, other: &Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// The three numbers.
    #[must_use]
    pub fn numbers(&self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch, pre } = self;
        let dash = if pre.is_empty() { "" } else { "-" };
        write!(f, "{major}.{minor}.{patch}{dash}{pre}")
    }
}

/// Whether members that run `running` may be upgraded to `target`.
///
/// etcd supports upgrades by one minor version at a time. While at least one member still runs the lower minor version, the
/// cluster uses the protocol of that version, and the others may be downgraded; once all run the higher one, they may not.
///
/// # Errors
/// Why not, and what to do instead.
pub fn may_follow(running: &[Version], target: &Version) -> Result<(), String> {
    let minor = |version: &Version| (version.major, version.minor);
    let Some(lowest) = running.iter().min_by_key(|version| version.numbers()) else { return Ok(()) };
    if minor(target) < minor(lowest) {
        return Err(format!(
            "etcd cannot be downgraded from {lowest} to {target}; set spec.version to {lowest} or later, or create a new \
             cluster for a lower minor version"
        ));
    }
    if target.major != lowest.major || target.minor > lowest.minor + 1 {
        return Err(format!(
            "etcd cannot be upgraded from {lowest} to {target}: it upgrades one minor version at a time; set spec.version to a \
             release of {}.{} first",
            lowest.major,
            lowest.minor + 1
        ));
    }
    if (target.major, target.minor) == (3, 6) && minor(lowest) == (3, 5) && lowest.patch < LOWEST_3_5_FOR_3_6 {
        return Err(format!(
            "etcd cannot be upgraded from {lowest} to {target}: 3.6 requires 3.5.{LOWEST_3_5_FOR_3_6} or later; set \
             spec.version to 3.5.{LOWEST_3_5_FOR_3_6}, or a later release of 3.5, first"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    fn refused(running: &[&str], target: &str) -> Option<String> {
        let running: Vec<Version> = running.iter().map(|text| v(text)).collect();
        may_follow(&running, &v(target)).err()
    }

    #[test]
    fn versions_are_read_and_written() {
        for text in ["3.6.16", "3.7.0-rc.0", "3.2.13"] {
            assert_eq!(v(text).to_string(), text);
            assert_eq!(v(&format!("v{text}")), v(text));
        }
        for text in ["3.6", "latest", "3.6.x", "", "3.6.1.2"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_minor_version_up_at_a_time() {
        assert_eq!(refused(&["3.4.23"; 3], "3.5.35"), None);
        assert_eq!(refused(&["3.6.16"; 3], "3.7.3"), None);
        assert!(refused(&["3.4.23"; 3], "3.6.16").unwrap().contains("to a release of 3.5 first"));
        assert!(refused(&["3.6.16"; 3], "4.0.0").is_some());
        assert!(refused(&["3.4.23", "3.5.35"], "3.6.16").is_some(), "the slowest decides");
    }

    #[test]
    fn never_down_but_back_while_one_has_not_followed() {
        assert!(refused(&["3.6.16"; 3], "3.5.35").unwrap().contains("cannot be downgraded"));
        assert_eq!(refused(&["3.6.16", "3.5.35", "3.5.35"], "3.5.35"), None);
        assert_eq!(refused(&["3.6.16"; 3], "3.6.4"), None, "patches may go both ways");
    }

    #[test]
    fn the_last_patches_of_3_5_come_before_3_6() {
        assert!(refused(&["3.5.16"; 3], "3.6.16").unwrap().contains("3.5.26"));
        assert!(refused(&["3.5.35", "3.5.25", "3.5.35"], "3.6.16").is_some());
        assert_eq!(refused(&["3.5.26"; 3], "3.6.16"), None);
    }
}
