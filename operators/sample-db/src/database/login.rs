//! Pure: why the application gets in, or does not, by what the server says of its role and its database.

/// How the application fares that comes with the Secret's password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// It was not tried, or failed for another reason.
    #[default]
    Unknown,
    /// It gets in.
    In,
    /// The server has another password for it.
    WrongPassword,
    /// Nobody but the superuser gets in.
    ShutOut,
    /// The server answers, and has no connection left for it at the moment.
    Busy,
    /// The server answers, and the application's database is gone.
    Gone,
    /// The server answers, and does not let it in until somebody changes something: why, and what.
    Refused(String),
}

/// What the server's catalogs say of the application's role and database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Whether the role is there.
    pub role: bool,
    /// Whether it may log in at all.
    pub may_log_in: bool,
    /// Whether its password has expired.
    pub expired: bool,
    /// How many connections it may have; -1: any number.
    pub role_limit: i32,
    /// Whether the database is there.
    pub database: bool,
    /// Whether the database takes connections.
    pub open: bool,
    /// How many it takes; -1: any number.
    pub database_limit: i32,
    /// Whether the role may connect to it.
    pub may_connect: bool,
}

impl Account {
    /// What keeps the application of that name out for good, and how it is let in again.
    #[must_use]
    pub fn obstacle(&self, name: &str) -> Option<String> {
        let why = match self {
            Self { database: false, .. } => gone(name, None),
            Self { role: false, .. } => format!("the role {name} is gone: make it again with CREATE ROLE {name} LOGIN"),
            Self { may_log_in: false, .. } => format!("the role {name} may not log in: ALTER ROLE {name} LOGIN"),
            Self { expired: true, .. } => {
                format!("the password of the role {name} has expired: ALTER ROLE {name} VALID UNTIL 'infinity'")
            }
            Self { role_limit: 0, .. } => {
                format!("the role {name} may have no connection: ALTER ROLE {name} CONNECTION LIMIT -1")
            }
            Self { open: false, .. } => {
                format!("the database {name} takes no connections: ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            }
            Self { database_limit: 0, .. } => {
                format!("the database {name} takes no connections: ALTER DATABASE {name} CONNECTION LIMIT -1")
            }
            Self { may_connect: false, .. } => {
                format!("the role {name} may not connect to its database: GRANT CONNECT ON DATABASE {name} TO {name}")
            }
            _ => return None,
        };
        Some(why)
    }
}

/// What to say of a database that is gone, of which that snapshot is the newest.
#[must_use]
pub(crate) fn gone(name: &str, newest: Option<&str>) -> String {
    let snapshot = match newest {
        Some(newest) => format!("the snapshot {newest}, the newest that holds it,"),
        None => "a snapshot that holds it".to_owned(),
    };
    format!(
        "the database {name} is gone: restore {snapshot} into a new SampleDB by bootstrap.fromSnapshot; if nobody wants what was \
         in it, CREATE DATABASE {name} OWNER {name} makes an empty one of that name, and example.com/release-snapshot releases \
         the snapshots that are kept of the earlier one"
    )
}

/// How long one failed attempt after another is waited for: 2 s, twice as long each time, and at most a quarter of a minute,
/// so that a minute sees few logins in whatever state the server is.
#[must_use]
pub fn pause(failures: u32) -> std::time::Duration {
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
    fn what_keeps_the_application_out_is_named_with_the_way_to_let_it_in() {
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
    fn a_server_that_lets_nobody_in_is_asked_seldom() {
        let mut seconds = 0;
        let tries = (1..).take_while(|failures| {
            seconds += pause(*failures).as_secs();
            seconds <= 60
        });
        // Each is a login of the superuser and one of the application.
        assert!(2 * tries.count() <= 20);
    }
}
