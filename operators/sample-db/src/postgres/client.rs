//! What a manager does with a PostgreSQL server, apart from how it is reached.

use std::pin::Pin;

use agent_protocol::PgUpgradeResult;

use super::change::RemainingSessions;
use super::connect::ConnectError;
use crate::database::ServerInfo;
use crate::operand::kinds::SampleDB;
use crate::password::Password;
use crate::queries::ServerAccess;

/// The answer of a server, in time: an implementation gives up after a deadline of its own.
pub type ServerFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Queries and changes of the server behind an address, as its superuser. The program reaches servers over the network; a
/// simulation answers for its own.
pub trait PostgresClient: Send + Sync {
    /// Queries a server about itself. `reload`: after it has reloaded its files. `report_refusal`: the application has not logged
    /// in for several queries, so a refusal by the rules is reported.
    fn info<'a>(
        &'a self,
        db: &'a SampleDB,
        access: &'a ServerAccess,
        reload: bool,
        report_refusal: bool,
    ) -> ServerFuture<'a, Result<ServerInfo, ConnectError>>;

    /// Whether a server answers, and serves or may serve later.
    fn ping<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, bool>;

    /// Reads the record that the agent's `pg-upgrade` leaves once a copy is complete.
    fn copy_result<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<Option<PgUpgradeResult>, ConnectError>>;

    /// Sets the password of a role.
    fn set_password<'a>(
        &'a self,
        access: &'a ServerAccess,
        role: &'a str,
        password: &'a Password,
    ) -> ServerFuture<'a, Result<(), ConnectError>>;

    /// Sets and resets parameters, and reloads. Returns the server's message if it rejects one.
    fn set_parameters<'a>(
        &'a self,
        access: &'a ServerAccess,
        set: &'a [(String, String)],
        reset: &'a [String],
    ) -> ServerFuture<'a, Result<Option<String>, ConnectError>>;

    /// Allows clients to connect.
    fn allow_clients<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, Result<(), ConnectError>>;

    /// Blocks all clients but the superuser, whose sessions become read-only by default.
    fn block_clients<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<RemainingSessions, ConnectError>>;

    /// Whether the rules that block clients are effective.
    fn is_blocking<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, bool>;

    /// Ends every other session, and waits for their end.
    fn end_others<'a>(
        &'a self,
        access: &'a ServerAccess,
        remaining: &'a mut RemainingSessions,
    ) -> ServerFuture<'a, Result<(), ConnectError>>;
}
