//! Pure: `pg_hba.conf`: who may connect.

use agent_protocol::{AccessRules, PgPrepare};

use crate::postgres::client::quote;

/// Begins the first line, which has the writer of the file and which clients it admits. The operator may have replaced the file
/// over a connection while the server ran, and that must hold when the server starts again.
const MARK: &str = "# multi-operator: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HbaAccess {
    /// Every role, with its password.
    Open,
    /// The superuser alone, during a major upgrade.
    Closed,
}

impl HbaAccess {
    /// The access that the operator requests; none to keep that of the existing pg_hba.conf.
    pub(crate) fn requested(options: &PgPrepare) -> Option<Self> {
        match options.rules() {
            AccessRules::Keep => None,
            AccessRules::Open => Some(Self::Open),
            AccessRules::Closed => Some(Self::Closed),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }

    /// The name of its file in the data directory, next to `pg_hba.conf`.
    pub(crate) fn file(self) -> String {
        format!("pg_hba.{}.conf", self.word())
    }

    /// The access of an existing file; none if the agent has not written it.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let word = text.lines().next()?.strip_prefix(MARK)?;
        [Self::Open, Self::Closed].into_iter().find(|access| access.word() == word.trim())
    }
}

/// The complete file. `all` as a database does not include replication, which a base backup needs.
pub(crate) fn render(access: HbaAccess, superuser: &str) -> String {
    let superuser = quote::identifier(superuser);
    let who = match access {
        HbaAccess::Open => "all",
        HbaAccess::Closed => &superuser,
    };
    format!(
        "{MARK}{}\n\
         local all {superuser} scram-sha-256\n\
         local replication {superuser} scram-sha-256\n\
         host replication {superuser} all scram-sha-256\n\
         host all {who} all scram-sha-256\n",
        access.word()
    )
}

/// The complete file of a closed server during a load: it also admits the members of `group`, whose passwords only the agent
/// knows. By its first line it is closed, in case the agent is killed.
pub(crate) fn loading(superuser: &str, group: &str) -> String {
    format!(
        "{}host all +{group} all scram-sha-256\nlocal all +{group} scram-sha-256\n",
        render(HbaAccess::Closed, superuser)
    )
}

/// Begins the last line of a file that blocks all but the superuser during a copy. The copy is valid as long as this line is
/// there: to admit others, the operator replaces the file.
const SINCE: &str = "# closed for a copy since ";

/// The complete file, with the time in milliseconds since 1970.
pub(crate) fn closed_for_copy(superuser: &str, since: u64) -> String {
    format!("{}{SINCE}{since}\n", render(HbaAccess::Closed, superuser))
}

/// The time in such a file, if it is complete.
pub(crate) fn closed_since(text: &str, superuser: &str) -> Option<u64> {
    let since = text.lines().last()?.strip_prefix(SINCE)?.parse().ok()?;
    (text == closed_for_copy(superuser, since)).then_some(since)
}

/// The file for `access` that replaces `text`. If that is closed for a copy, and stays closed, the file keeps its time.
pub(crate) fn renewed(text: &str, access: HbaAccess, superuser: &str) -> String {
    match closed_since(text, superuser) {
        Some(since) if access == HbaAccess::Closed => closed_for_copy(superuser, since),
        _ => render(access, superuser),
    }
}

/// The file of a private server, which listens only at a socket in a private directory.
pub(crate) const TRUST: &str = "local all all trust\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_access_in_the_first_line() {
        for access in [HbaAccess::Open, HbaAccess::Closed] {
            assert_eq!(HbaAccess::of(&render(access, "postgres")), Some(access));
        }
        assert_eq!(HbaAccess::of("# PostgreSQL Client Authentication\n"), None);
        assert_eq!(HbaAccess::of(""), None);
    }

    #[test]
    fn a_server_that_is_loaded_counts_as_closed() {
        let text = loading("boss", "group");
        assert_eq!(HbaAccess::of(&text), Some(HbaAccess::Closed));
        assert_eq!(renewed(&text, HbaAccess::Closed, "boss"), render(HbaAccess::Closed, "boss"));
        assert!(text.contains("\nhost all +group all scram-sha-256\n") && !text.contains("host all all"));
    }

    #[test]
    fn the_time_stays_while_it_is_closed() {
        let text = closed_for_copy("boss", 7);
        assert_eq!((HbaAccess::of(&text), closed_since(&text, "boss")), (Some(HbaAccess::Closed), Some(7)));
        assert_eq!(renewed(&text, HbaAccess::Closed, "boss"), text);
        assert_eq!(closed_since(&renewed(&text, HbaAccess::Open, "boss"), "boss"), None);
        // A file that was written only in part, and one that the operator replaced.
        assert_eq!(closed_since(&text[..text.len() - 1], "boss"), None);
        assert_eq!(closed_since(&render(HbaAccess::Closed, "boss"), "boss"), None);
    }

    #[test]
    fn closed_admits_the_superuser_only() {
        let closed = render(HbaAccess::Closed, "boss");
        assert!(closed.contains("host all \"boss\" all scram-sha-256"));
        assert!(!closed.contains("host all all") && !closed.contains("trust"));
        assert!(render(HbaAccess::Open, "boss").contains("host all all all scram-sha-256"));
    }
}
