//! `pg_hba.conf`: who may connect. Pure.

use super::quote;

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
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }

    /// In the data folder, beside `pg_hba.conf`.
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

/// For a server that nobody else reaches: its socket is in a private folder, and it listens nowhere else.
pub(crate) const THROW_AWAY: &str = "local all all trust\n";

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
    fn closed_admits_the_superuser_only() {
        let closed = render(Access::Closed, "boss");
        assert!(closed.contains("host all \"boss\" all scram-sha-256"));
        assert!(!closed.contains("host all all") && !closed.contains("trust"));
        assert!(render(Access::Open, "boss").contains("host all all all scram-sha-256"));
    }
}
