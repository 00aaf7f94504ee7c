//! PostgreSQL servers over the network.

use agent_protocol::PgUpgradeResult;

use super::change::{self, RemainingSessions};
use super::client::{PostgresClient, ServerFuture};
use super::connect::{ConnectError, ServerAddress};
use super::query;
use crate::database::ServerInfo;
use crate::operand::kinds::SampleDB;
use crate::password::Password;
use crate::queries::ServerAccess;

/// Connections as the superuser, at the address of the pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct LivePostgres;

impl PostgresClient for LivePostgres {
    fn info<'a>(
        &'a self,
        db: &'a SampleDB,
        access: &'a ServerAccess,
        reload: bool,
        report_refusal: bool,
    ) -> ServerFuture<'a, Result<ServerInfo, ConnectError>> {
        Box::pin(async move { query::server(&ServerAddress::of(access), db, access, reload, report_refusal).await })
    }

    fn ping<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, bool> {
        Box::pin(async move { query::ping(&ServerAddress::of(access), access).await })
    }

    fn copy_result<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<Option<PgUpgradeResult>, ConnectError>> {
        Box::pin(async move { query::copy_result(&ServerAddress::of(access), access).await })
    }

    fn set_password<'a>(
        &'a self,
        access: &'a ServerAccess,
        role: &'a str,
        password: &'a Password,
    ) -> ServerFuture<'a, Result<(), ConnectError>> {
        Box::pin(async move { change::password(&ServerAddress::of(access), access, role, password).await })
    }

    fn set_parameters<'a>(
        &'a self,
        access: &'a ServerAccess,
        set: &'a [(String, String)],
        reset: &'a [String],
    ) -> ServerFuture<'a, Result<Option<String>, ConnectError>> {
        Box::pin(async move { change::parameters(&ServerAddress::of(access), access, set, reset).await })
    }

    fn allow_clients<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, Result<(), ConnectError>> {
        Box::pin(async move { change::allow_clients(&ServerAddress::of(access), access).await })
    }

    fn block_clients<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<RemainingSessions, ConnectError>> {
        Box::pin(async move { change::block_clients(&ServerAddress::of(access), access).await })
    }

    fn is_blocking<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, bool> {
        Box::pin(async move { change::is_blocking(&ServerAddress::of(access)).await })
    }

    fn end_others<'a>(
        &'a self,
        access: &'a ServerAccess,
        remaining: &'a mut RemainingSessions,
    ) -> ServerFuture<'a, Result<(), ConnectError>> {
        Box::pin(async move { change::end_others(&ServerAddress::of(access), access, remaining).await })
    }
}
