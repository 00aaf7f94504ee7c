//! Turns the authentication of etcd on and off.

use std::time::Duration;

use etcd_client::Client;
use tokio::time::Instant;

use super::channel_pool::ChannelPool;
use super::client::{ROOT, RootPassword};
use super::error::EtcdClientError;

/// Turns authentication on or off through the member at `address`. What has been done before is not done again.
///
/// # Errors
/// What etcd answers.
pub(super) async fn set(
    pool: &ChannelPool,
    address: &str,
    on: bool,
    deadline: Duration,
) -> Result<(), EtcdClientError> {
    let until = Instant::now() + deadline;
    let left = || until.saturating_duration_since(Instant::now());
    if !on {
        return pool.call(address, left(), disable).await;
    }
    let Some(root) = pool.access(address).root else {
        return Err(EtcdClientError::Rejected("the operator does not have the password of root".to_owned()));
    };
    // A connection from before says nothing about now.
    pool.forget_root(address);
    match pool.authenticate(address, left()).await {
        Err(EtcdClientError::Rejected(why)) if why == "authentication is not enabled" => {
            pool.call_without_user(address, left(), |client| enable(client, root.clone())).await
        }
        Ok(()) => Err(EtcdClientError::Rejected(
            "authentication is on, but etcd takes the operator's certificate for that of a user: give it another common name"
                .to_owned(),
        )),
        Err(error) => Err(error),
    }
}

async fn disable(client: Client) -> Result<(), etcd_client::Error> {
    client.auth_client().auth_disable().await.map(drop)
}

/// Until authentication is on, anyone may change users, so the password of an existing `root` is replaced.
async fn enable(client: Client, password: RootPassword) -> Result<(), etcd_client::Error> {
    let mut auth = client.auth_client();
    // Before 3.4, the role does not exist by itself.
    exists_already(auth.role_add(ROOT).await.map(drop), "role name already exists")?;
    if exists_already(auth.user_add(ROOT, password.expose(), None).await.map(drop), "user name already exists")? {
        auth.user_change_password(ROOT, password.expose()).await?;
    }
    auth.user_grant_role(ROOT, ROOT).await?;
    auth.auth_enable().await.map(drop)
}

/// Whether etcd refuses to add what it has.
fn exists_already(added: Result<(), etcd_client::Error>, refusal: &str) -> Result<bool, etcd_client::Error> {
    match added {
        Ok(()) => Ok(false),
        Err(etcd_client::Error::GRpcStatus(status)) if status.message().ends_with(refusal) => Ok(true),
        Err(error) => Err(error),
    }
}
