//! Pure: whether the application can log in, and why not, by what the server reports about its role and its database.

/// The result of logging in as the application with the Secret's password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LoginCheck {
    /// It was not tried, or failed for another reason.
    #[default]
    Unknown,
    /// The login succeeded.
    Ok,
    /// The server has another password.
    BadPassword,
    /// Only the superuser can connect.
    Blocked,
    /// The server has no free connection at the moment.
    Busy,
    /// The application's database does not exist.
    DatabaseMissing,
    /// The server rejects the login until the user changes something: why, and what to change.
    Refused(String),
}

/// What the server's catalogs contain about the application's role and database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Whether the role exists.
    pub role: bool,
    /// Whether it has LOGIN.
    pub may_log_in: bool,
    /// Whether its password has expired.
    pub expired: bool,
    /// The role's connection limit; -1: none.
    pub role_limit: i32,
    /// Whether the database exists.
    pub database: bool,
    /// Whether the database allows connections.
    pub open: bool,
    /// The database's connection limit; -1: none.
    pub database_limit: i32,
    /// Whether the role may connect to it.
    pub may_connect: bool,
}

impl Account {
    /// Why the application of that name cannot log in until the user acts, and what to do.
    #[must_use]
    pub fn obstacle(&self, name: &str) -> Option<String> {
        let why = match self {
            Self { database: false, .. } => database_missing(name, None),
            Self { role: false, .. } => {
                format!("the role {name} does not exist: recreate it with CREATE ROLE {name} LOGIN")
            }
            Self { may_log_in: false, .. } => format!("the role {name} may not log in: run ALTER ROLE {name} LOGIN"),
            Self { expired: true, .. } => {
                format!("the password of the role {name} has expired: run ALTER ROLE {name} VALID UNTIL 'infinity'")
            }
            Self { role_limit: 0, .. } => {
                format!("the role {name} may have no connections: run ALTER ROLE {name} CONNECTION LIMIT -1")
            }
            Self { open: false, .. } => {
                format!("the database {name} allows no connections: run ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            }
            Self { database_limit: 0, .. } => {
                format!("the database {name} allows no connections: run ALTER DATABASE {name} CONNECTION LIMIT -1")
            }
            Self { may_connect: false, .. } => {
                format!(
                    "the role {name} may not connect to its database: run GRANT CONNECT ON DATABASE {name} TO {name}"
                )
            }
            _ => return None,
        };
        Some(why)
    }
}

/// What to do about a missing database, of which that snapshot is the newest.
#[must_use]
pub(crate) fn database_missing(name: &str, newest: Option<&str>) -> String {
    let snapshot = match newest {
        Some(newest) => format!("the snapshot {newest}, the newest that contains it,"),
        None => "a snapshot that contains it".to_owned(),
    };
    format!(
        "the database {name} does not exist: restore {snapshot} into a new SampleDB by bootstrap.fromSnapshot; or, if its data \
         is not needed, create an empty one with CREATE DATABASE {name} OWNER {name}, and release the snapshots that are \
         kept of the earlier one by the annotation example.com/release-snapshot"
    )
}

/// How long to wait after that many failed attempts: 2 s, doubling up to 15 s. So there are few logins per minute, whatever the
/// state of the server.
#[must_use]
pub fn retry_delay(failures: u32) -> std::time::Duration {
    std::time::Duration::from_secs((1_u64 << failures.clamp(1, 4)).min(15))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: Account = Account {
        role: true,
        may_log_in: true,
        expired: false,
        role_limit: -1,
        database: true,
        open: true,
        database_limit: 20,
        may_connect: true,
    };

    #[test]
    fn what_blocks_the_application_is_named_with_the_fix() {
        assert_eq!(SOUND.obstacle("app"), None);
        for (account, way) in [
            (Account { expired: true, ..SOUND }, "VALID UNTIL 'infinity'"),
            (Account { role_limit: 0, ..SOUND }, "ALTER ROLE app CONNECTION LIMIT -1"),
            (Account { database_limit: 0, ..SOUND }, "ALTER DATABASE app CONNECTION LIMIT -1"),
            (Account { may_log_in: false, ..SOUND }, "ALTER ROLE app LOGIN"),
            (Account { open: false, ..SOUND }, "ALLOW_CONNECTIONS true"),
            (Account { may_connect: false, ..SOUND }, "GRANT CONNECT"),
            (Account { role: false, ..SOUND }, "CREATE ROLE app"),
            (Account { database: false, ..SOUND }, "CREATE DATABASE app"),
        ] {
            let why = account.obstacle("app").unwrap();
            assert!(why.contains(way), "{why}");
        }
    }

    #[test]
    fn a_server_that_rejects_logins_is_queried_seldom() {
        let mut seconds = 0;
        let tries = (1..).take_while(|failures| {
            seconds += retry_delay(*failures).as_secs();
            seconds <= 60
        });
        // Each is a login of the superuser and one of the application.
        assert!(2 * tries.count() <= 20);
    }
}
