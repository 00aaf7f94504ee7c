//! Connections, with deadlines.

use std::time::Duration;

use api::sample_db::SampleDBReason;
use runtime::Error;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use crate::operand::names::{PORT, SUPERUSER};
use crate::queries::Access;

/// How long a connection may take, and what is asked over it.
const CONNECT: Duration = Duration::from_secs(3);
const WORK: Duration = Duration::from_secs(10);

/// What holds in the superuser's sessions, whatever was set for databases and roles (`ALTER DATABASE`, `ALTER ROLE`): what
/// is asked means what it says and may be done, and nothing of what is said is in the log.
const OPTIONS: &str = "-c search_path= -c role=none -c session_preload_libraries= -c local_preload_libraries= \
    -c default_transaction_read_only=off -c standard_conforming_strings=on -c datestyle=ISO -c statement_timeout=0 -c lock_timeout=5s \
    -c log_statement=none -c log_min_error_statement=panic -c log_min_duration_statement=-1";

/// What a server of 17 or later knows besides: a superuser may have made an event trigger of what another role wrote, and that would
/// run at each login of every superuser's.
const NO_EVENT_TRIGGERS: &str = "-c event_triggers=off";
/// The first major version that knows it.
const KNOWN_SINCE: u32 = 17;

/// Why a server could not be asked.
#[derive(Debug)]
pub(super) enum Refused {
    /// It does not take the password; of the superuser's: nor lets that one in, or not as a superuser.
    BadPassword,
    /// It answers, with this.
    Said(SqlState, String),
    /// It does not answer: why.
    Failed(String),
}

impl From<tokio_postgres::Error> for Refused {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(said) if *said.code() == SqlState::INVALID_PASSWORD => Self::BadPassword,
            // The statement, which may hold what is nobody's business, is not part of the message.
            Some(said) => Self::Said(said.code().clone(), said.message().to_owned()),
            None => Self::Failed(sentence(&error)),
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::BadPassword => Self::transient(
                SampleDBReason::AuthenticationFailed,
                "the server rejects the superuser password of its Secret",
            ),
            Refused::Said(_, why) | Refused::Failed(why) => Self::transient(SampleDBReason::ConnectionFailed, why),
        }
    }
}

/// An error with its causes.
fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Where a server listens.
pub(super) struct Address<'a> {
    host: &'a str,
}

impl<'a> Address<'a> {
    pub(super) fn of(access: &'a Access) -> Self {
        Self { host: &access.ip }
    }

    /// A connection of the superuser to the database that every server has, unless somebody has dropped or closed it.
    pub(super) async fn superuser(&self, access: &Access) -> Result<Client, Refused> {
        match self.superuser_of(access, "postgres").await {
            Err(Refused::Said(SqlState::UNDEFINED_DATABASE | SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, _)) => {
                self.superuser_of(access, "template1").await
            }
            connected => connected,
        }
    }

    /// A connection of the superuser to a database.
    pub(super) async fn superuser_of(&self, access: &Access, database: &str) -> Result<Client, Refused> {
        let password = access.system.text();
        if access.major.is_none_or(|major| major >= KNOWN_SINCE) {
            let options = format!("{OPTIONS} {NO_EVENT_TRIGGERS}");
            match self.open(SUPERUSER, password, database, Some(&options)).await {
                // The image does not say its version, or another one.
                Err(Refused::Said(SqlState::UNDEFINED_OBJECT, _)) => {}
                opened => return opened.map_err(shut_out),
            }
        }
        self.open(SUPERUSER, password, database, Some(OPTIONS)).await.map_err(shut_out)
    }

    /// A connection as an application has it.
    pub(super) async fn connect(&self, user: &str, password: &str, database: &str) -> Result<Client, Refused> {
        self.open(user, password, database, None).await
    }

    async fn open(&self, user: &str, password: &str, database: &str, options: Option<&str>) -> Result<Client, Refused> {
        let mut config = Config::new();
        if let Some(options) = options {
            config.options(options);
        }
        config.host(self.host).port(u16::try_from(PORT).unwrap_or(5432));
        config.user(user).password(password).dbname(database).application_name("multi-operator");
        config.ssl_mode(SslMode::Disable).connect_timeout(CONNECT);
        let connected = tokio::time::timeout(CONNECT, config.connect(NoTls)).await;
        let (client, connection) =
            connected.map_err(|_| Refused::Failed("the server does not answer within 3 s".to_owned()))??;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to PostgreSQL ended");
            }
        });
        Ok(client)
    }
}

/// Work over a connection, with a deadline.
pub(super) async fn within<T>(work: impl Future<Output = Result<T, Refused>>) -> Result<T, Refused> {
    let done = tokio::time::timeout(WORK, work).await;
    done.unwrap_or_else(|_| Err(Refused::Failed("the server does not answer within 10 s".to_owned())))
}

/// What a server says to a superuser who may not log in (`NOLOGIN`, a line of `pg_hba.conf`), or is none any more: as with a password
/// that it does not take, nothing changes that but a start with another one.
pub(super) fn shut_out(refused: Refused) -> Refused {
    match refused {
        Refused::Said(SqlState::INVALID_AUTHORIZATION_SPECIFICATION | SqlState::INSUFFICIENT_PRIVILEGE, _) => {
            Refused::BadPassword
        }
        refused => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superuser_who_may_not_log_in_or_is_none_is_shut_out() {
        let is_shut_out = |code: SqlState| matches!(shut_out(Refused::Said(code, String::new())), Refused::BadPassword);
        assert!(
            is_shut_out(SqlState::INVALID_AUTHORIZATION_SPECIFICATION) && is_shut_out(SqlState::INSUFFICIENT_PRIVILEGE)
        );
        assert!(!is_shut_out(SqlState::CANNOT_CONNECT_NOW) && !is_shut_out(SqlState::TOO_MANY_CONNECTIONS));
    }
}
