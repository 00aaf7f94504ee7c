//! Connections, with deadlines.

use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::Access;
use crate::plan::objects::{PORT, SUPERUSER};

/// How long a connection may take, and what is asked over it.
const CONNECT: Duration = Duration::from_secs(3);
const WORK: Duration = Duration::from_secs(10);

/// Nothing that a user made is found in place of what is meant, whatever a database or a role has set.
const ALONE: &str = "-c search_path= -c role=none -c default_transaction_read_only=off";

/// Why a server could not be asked.
#[derive(Debug)]
pub(super) enum Refused {
    /// It does not take the password.
    BadPassword,
    /// Anything else, in words.
    Failed(String),
}

impl From<tokio_postgres::Error> for Refused {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(said) if *said.code() == SqlState::INVALID_PASSWORD => Self::BadPassword,
            // The statement, which may hold what is nobody's business, is not part of the message.
            Some(said) => Self::Failed(said.message().to_owned()),
            None => Self::Failed(sentence(&error)),
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

    /// A connection of the superuser to the database that every server has, and nothing of what is said over it in the log.
    pub(super) async fn superuser(&self, access: &Access) -> Result<Client, Refused> {
        let client = self.connect(SUPERUSER, access.system.text(), "postgres").await?;
        client
            .batch_execute(
                "SET log_statement = none; SET log_min_error_statement = panic; SET log_min_duration_statement = -1",
            )
            .await?;
        Ok(client)
    }

    /// A connection.
    pub(super) async fn connect(&self, user: &str, password: &str, database: &str) -> Result<Client, Refused> {
        let mut config = Config::new();
        config.host(self.host).port(u16::try_from(PORT).unwrap_or(5432));
        config.user(user).password(password).dbname(database).application_name("multi-operator");
        if user == SUPERUSER {
            config.options(ALONE);
        }
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
