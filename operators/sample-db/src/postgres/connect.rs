//! Connections, with deadlines.

use std::time::Duration;

use api::sample_db::SampleDBReason;
use runtime::Error;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use crate::operand::names::{PORT, SUPERUSER};
use crate::queries::ServerAccess;

/// How long connecting may take, and all queries over the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const WORK_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of the superuser's sessions, whatever `ALTER DATABASE` and `ALTER ROLE` have set: statements mean what they say, are
/// permitted, and are not logged.
const OPTIONS: &str = "-c search_path= -c role=none -c session_preload_libraries= -c local_preload_libraries= \
    -c default_transaction_read_only=off -c standard_conforming_strings=on -c datestyle=ISO -c statement_timeout=0 -c lock_timeout=5s \
    -c log_statement=none -c log_min_error_statement=panic -c log_min_duration_statement=-1";

/// An option of servers since 17. A superuser may have created an event trigger with a function of another role, which would run
/// at each login of a superuser.
const NO_EVENT_TRIGGERS: &str = "-c event_triggers=off";
/// The first major version with this option.
const KNOWN_SINCE: u32 = 17;

/// Why a server could not be queried.
#[derive(Debug)]
pub enum ConnectError {
    /// It rejects the password; for the superuser also: it does not allow that role, or the role is not a superuser.
    BadPassword,
    /// It answers with this error.
    Server(SqlState, String),
    /// It does not answer: why.
    NoAnswer(String),
}

impl From<tokio_postgres::Error> for ConnectError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(server) if *server.code() == SqlState::INVALID_PASSWORD => Self::BadPassword,
            // The message does not include the statement, which may contain a secret.
            Some(server) => Self::Server(server.code().clone(), server.message().to_owned()),
            None => Self::NoAnswer(with_causes(&error)),
        }
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::BadPassword => Self::transient(
                SampleDBReason::AuthenticationFailed,
                "the server rejects the superuser password of its Secret",
            ),
            ConnectError::Server(_, why) | ConnectError::NoAnswer(why) => {
                Self::transient(SampleDBReason::ConnectionFailed, why)
            }
        }
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The address of a server.
pub(super) struct ServerAddress<'a> {
    host: &'a str,
}

impl<'a> ServerAddress<'a> {
    pub(super) fn of(access: &'a ServerAccess) -> Self {
        Self { host: &access.ip }
    }

    /// A connection of the superuser to the database `postgres`, or to template1 if that was dropped or allows no connections.
    pub(super) async fn superuser(&self, access: &ServerAccess) -> Result<Client, ConnectError> {
        match self.superuser_of(access, "postgres").await {
            Err(ConnectError::Server(SqlState::UNDEFINED_DATABASE | SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, _)) => {
                self.superuser_of(access, "template1").await
            }
            connected => connected,
        }
    }

    /// A connection of the superuser to a database.
    pub(super) async fn superuser_of(&self, access: &ServerAccess, database: &str) -> Result<Client, ConnectError> {
        let password = access.superuser_password.text();
        if access.major.is_none_or(|major| major >= KNOWN_SINCE) {
            let options = format!("{OPTIONS} {NO_EVENT_TRIGGERS}");
            match self.open(SUPERUSER, password, database, Some(&options)).await {
                // The image does not name its version, or the wrong one.
                Err(ConnectError::Server(SqlState::UNDEFINED_OBJECT, _)) => {}
                opened => return opened.map_err(superuser_error),
            }
        }
        self.open(SUPERUSER, password, database, Some(OPTIONS)).await.map_err(superuser_error)
    }

    /// A connection like an application's.
    pub(super) async fn connect(&self, user: &str, password: &str, database: &str) -> Result<Client, ConnectError> {
        self.open(user, password, database, None).await
    }

    async fn open(
        &self,
        user: &str,
        password: &str,
        database: &str,
        options: Option<&str>,
    ) -> Result<Client, ConnectError> {
        let mut config = Config::new();
        if let Some(options) = options {
            config.options(options);
        }
        config.host(self.host).port(u16::try_from(PORT).unwrap_or(5432));
        config.user(user).password(password).dbname(database).application_name("multi-operator");
        config.ssl_mode(SslMode::Disable).connect_timeout(CONNECT_TIMEOUT);
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, config.connect(NoTls)).await;
        let (client, connection) =
            connected.map_err(|_| ConnectError::NoAnswer("the server does not answer within 3 s".to_owned()))??;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to PostgreSQL ended");
            }
        });
        Ok(client)
    }
}

/// Runs queries with a deadline.
pub(super) async fn with_deadline<T>(work: impl Future<Output = Result<T, ConnectError>>) -> Result<T, ConnectError> {
    let done = tokio::time::timeout(WORK_TIMEOUT, work).await;
    done.unwrap_or_else(|_| Err(ConnectError::NoAnswer("the server does not answer within 10 s".to_owned())))
}

/// Maps the errors for a superuser that may not log in (`NOLOGIN`, a line of `pg_hba.conf`), or is none any more, to a bad
/// password: in all these cases only a start with another password helps.
pub(super) fn superuser_error(error: ConnectError) -> ConnectError {
    match error {
        ConnectError::Server(SqlState::INVALID_AUTHORIZATION_SPECIFICATION | SqlState::INSUFFICIENT_PRIVILEGE, _) => {
            ConnectError::BadPassword
        }
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superuser_that_may_not_log_in_counts_as_a_bad_password() {
        let is_bad_password = |code: SqlState| {
            matches!(superuser_error(ConnectError::Server(code, String::new())), ConnectError::BadPassword)
        };
        assert!(
            is_bad_password(SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
                && is_bad_password(SqlState::INSUFFICIENT_PRIVILEGE)
        );
        assert!(!is_bad_password(SqlState::CANNOT_CONNECT_NOW) && !is_bad_password(SqlState::TOO_MANY_CONNECTIONS));
    }
}
