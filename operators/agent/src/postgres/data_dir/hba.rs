//! Pure: `pg_hba.conf`: who may connect.

use agent_protocol::{AccessRules, PgPrepare};

use crate::postgres::client::quote;

/// The first line says who wrote the file, and how it lets in: the operator may have replaced it over a connection while
/// the server ran, and that must hold when the server starts again.
const MARK: &str = "# multi-operator: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Every role, with its password.
    Open,
    /// The superuser alone: while the data is moved to another version.
    Closed,
}

impl Access {
    /// Whom the operator wants to allow; `None`: as pg_hba.conf has it by now.
    pub(crate) fn asked_for(options: &PgPrepare) -> Option<Self> {
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

    /// In the data directory, beside `pg_hba.conf`.
    pub(crate) fn file(self) -> String {
        format!("pg_hba.{}.conf", self.word())
    }

    /// As the file that is there has it; a file that is not ours says nothing.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let word = text.lines().next()?.strip_prefix(MARK)?;
        [Self::Open, Self::Closed].into_iter().find(|access| access.word() == word.trim())
    }
}

/// The whole file. `all` as a database does not stand for replication, which a base backup needs.
pub(crate) fn render(access: Access, superuser: &str) -> String {
    let superuser = quote::identifier(superuser);
    let who = match access {
        Access::Open => "all",
        Access::Closed => &superuser,
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

/// The whole file of a closed server while something is loaded: members of `group` come in, too, whose passwords only the
/// agent knows. By its first line it is closed, should the agent be killed.
pub(crate) fn loading(superuser: &str, group: &str) -> String {
    format!(
        "{}host all +{group} all scram-sha-256\nlocal all +{group} scram-sha-256\n",
        render(Access::Closed, superuser)
    )
}

/// The last line of a file that shuts out all but the superuser for the sake of a copy. A copy is good while it stands
/// there: what admits others replaces the file.
const SINCE: &str = "# closed for a copy since ";

/// The whole file, with the moment in milliseconds since 1970.
pub(crate) fn shut(superuser: &str, since: u64) -> String {
    format!("{}{SINCE}{since}\n", render(Access::Closed, superuser))
}

/// The moment of such a file, if it is whole.
pub(crate) fn shut_since(text: &str, superuser: &str) -> Option<u64> {
    let since = text.lines().last()?.strip_prefix(SINCE)?.parse().ok()?;
    (text == shut(superuser, since)).then_some(since)
}

/// The file for `access`, in place of `text`. While it is to stay shut it keeps the moment.
pub(crate) fn renewed(text: &str, access: Access, superuser: &str) -> String {
    match shut_since(text, superuser) {
        Some(since) if access == Access::Closed => shut(superuser, since),
        _ => render(access, superuser),
    }
}

/// For a private server: its socket is in a private directory, and it listens nowhere else.
pub(crate) const TRUST: &str = "local all all trust\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_what_it_admits() {
        for access in [Access::Open, Access::Closed] {
            assert_eq!(Access::of(&render(access, "postgres")), Some(access));
        }
        assert_eq!(Access::of("# PostgreSQL Client Authentication\n"), None);
        assert_eq!(Access::of(""), None);
    }

    #[test]
    fn a_server_that_is_loaded_counts_as_closed() {
        let text = loading("boss", "group");
        assert_eq!(Access::of(&text), Some(Access::Closed));
        assert_eq!(renewed(&text, Access::Closed, "boss"), render(Access::Closed, "boss"));
        assert!(text.contains("\nhost all +group all scram-sha-256\n") && !text.contains("host all all"));
    }

    #[test]
    fn the_moment_stays_while_it_is_closed() {
        let text = shut("boss", 7);
        assert_eq!((Access::of(&text), shut_since(&text, "boss")), (Some(Access::Closed), Some(7)));
        assert_eq!(renewed(&text, Access::Closed, "boss"), text);
        assert_eq!(shut_since(&renewed(&text, Access::Open, "boss"), "boss"), None);
        // A file of which only a part was written, and one that the operator replaced.
        assert_eq!(shut_since(&text[..text.len() - 1], "boss"), None);
        assert_eq!(shut_since(&render(Access::Closed, "boss"), "boss"), None);
    }

    #[test]
    fn closed_admits_the_superuser_only() {
        let closed = render(Access::Closed, "boss");
        assert!(closed.contains("host all \"boss\" all scram-sha-256"));
        assert!(!closed.contains("host all all") && !closed.contains("trust"));
        assert!(render(Access::Open, "boss").contains("host all all all scram-sha-256"));
    }
}
