//! Pure: version numbers of PostgreSQL, as its programs print them.

/// The version in `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, as 15.18.
pub(crate) fn parse(text: &str) -> Option<&str> {
    let version = text.split_once("(PostgreSQL) ")?.1.split_whitespace().next()?;
    major(version).map(|_| version)
}

/// The major version of 15.18, 15, or 16beta1.
pub(crate) fn major(version: &str) -> Option<u32> {
    let version = version.trim();
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed() {
        assert_eq!(parse("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some("15.18"));
        assert_eq!(parse("postgres (PostgreSQL) 18beta1\n"), Some("18beta1"));
        assert_eq!(parse("etcd 3.5"), None);
        assert_eq!([major("15.18"), major("9\n"), major("18beta1"), major("x")], [Some(15), Some(9), Some(18), None]);
    }
}
