//! What servers answer to the superuser's requests.

use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use sample_db::database::{FileSetting, LoginCheck, ServerInfo, effective_parameters, parameter_diff};
use sample_db::{
    ConnectError, Password, PostgresClient, RemainingSessions, SampleDB, ServerAccess, ServerFuture, SqlState,
};
use tokio::time::sleep;

use super::model::{DataDirectory, PostgresServers, RunningServer};
use super::server::effective;
use crate::call_faults::CallFate;

/// How long a client waits for a server that is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The parameters that take effect at the next start.
const STARTING: [&str; 3] = ["max_connections", "shared_buffers", "shared_preload_libraries"];
/// What the operator sets besides the parameters of the spec, and the setting that goes with blocked clients.
const OWN: [(&str, Option<&str>); 3] =
    [("listen_addresses", Some("*")), ("password_encryption", Some("scram-sha-256")), ("wal_level", Some("replica"))];
const READ_ONLY: &str = "default_transaction_read_only";
/// The value that no parameter can have.
const WRONG_VALUE: &str = "wrong";
/// The size of each database, in bytes.
const BYTES: i64 = 1 << 20;

impl PostgresServers {
    /// Performs a request as the superuser.
    async fn request<T>(
        &self,
        access: &ServerAccess,
        perform: impl FnOnce(&RunningServer, &mut DataDirectory) -> T + Send,
    ) -> Result<T, ConnectError> {
        let away = |why: &str| ConnectError::NoAnswer(why.to_owned());
        let handling = self.lock().faults.draw(&access.pod);
        match handling.fate {
            CallFate::Unreachable | CallFate::Silent => {
                sleep(CONNECT_TIMEOUT).await;
                return Err(away("the server does not answer within 3 s"));
            }
            CallFate::RequestLost => {
                sleep(handling.request_latency).await;
                return Err(away("the connection was closed"));
            }
            CallFate::Answered | CallFate::AnswerLost => {}
        }
        sleep(handling.request_latency).await;
        let answer = {
            let mut state = self.lock();
            let state = &mut *state;
            let running = state.servers.get(&access.pod);
            let found = running.and_then(|running| Some((running, state.data.get_mut(&running.server.volume)?)));
            match found {
                None => None,
                Some((_, data)) if data.superuser_password != access.superuser_password.text() => {
                    Some(Err(ConnectError::BadPassword))
                }
                Some((running, data)) => Some(Ok(perform(running, data))),
            }
        };
        let Some(answer) = answer else {
            sleep(CONNECT_TIMEOUT).await;
            return Err(away("the server does not answer within 3 s"));
        };
        sleep(handling.answer_latency).await;
        if handling.fate == CallFate::AnswerLost { Err(away("the connection was closed")) } else { answer }
    }
}

impl PostgresClient for PostgresServers {
    fn info<'a>(
        &'a self,
        db: &'a SampleDB,
        access: &'a ServerAccess,
        _reload: bool,
        _report_refusal: bool,
    ) -> ServerFuture<'a, Result<ServerInfo, ConnectError>> {
        Box::pin(self.request(access, |running, data| info(db, access, running, data)))
    }

    fn ping<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, bool> {
        Box::pin(async { !matches!(self.request(access, |_, _| ()).await, Err(ConnectError::NoAnswer(_))) })
    }

    fn copy_result<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<Option<PgUpgradeResult>, ConnectError>> {
        Box::pin(self.request(access, |_, data| data.copy.clone()))
    }

    fn set_password<'a>(
        &'a self,
        access: &'a ServerAccess,
        role: &'a str,
        password: &'a Password,
    ) -> ServerFuture<'a, Result<(), ConnectError>> {
        Box::pin(async move {
            let set = |data: &mut DataDirectory| match &mut data.app_password {
                Some(present) => {
                    password.text().clone_into(present);
                    Ok(())
                }
                None => Err(ConnectError::Server(SqlState::UNDEFINED_OBJECT, format!("role {role:?} does not exist"))),
            };
            self.request(access, |_, data| set(data)).await?
        })
    }

    fn set_parameters<'a>(
        &'a self,
        access: &'a ServerAccess,
        set: &'a [(String, String)],
        reset: &'a [String],
    ) -> ServerFuture<'a, Result<Option<String>, ConnectError>> {
        Box::pin(self.request(access, move |_, data| {
            reset.iter().for_each(|name| drop(data.settings.remove(name)));
            for (name, value) in set {
                if value == WRONG_VALUE {
                    return Some(format!("invalid value for parameter {name:?}: {value:?}"));
                }
                data.settings.insert(name.clone(), value.clone());
            }
            None
        }))
    }

    fn allow_clients<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, Result<(), ConnectError>> {
        Box::pin(self.request(access, |_, data| {
            data.settings.remove(READ_ONLY);
            data.blocks_clients = false;
        }))
    }

    fn block_clients<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<RemainingSessions, ConnectError>> {
        Box::pin(self.request(access, |_, data| {
            data.blocks_clients = true;
            data.settings.insert(READ_ONLY.to_owned(), "on".to_owned());
            RemainingSessions { pod: access.pod.clone(), ..RemainingSessions::default() }
        }))
    }

    fn is_blocking<'a>(&'a self, access: &'a ServerAccess) -> ServerFuture<'a, bool> {
        Box::pin(async { self.request(access, |_, data| data.blocks_clients).await.unwrap_or_default() })
    }

    fn end_others<'a>(
        &'a self,
        access: &'a ServerAccess,
        _remaining: &'a mut RemainingSessions,
    ) -> ServerFuture<'a, Result<(), ConnectError>> {
        Box::pin(self.request(access, |_, _| ()))
    }
}

fn info(db: &SampleDB, access: &ServerAccess, running: &RunningServer, data: &DataDirectory) -> ServerInfo {
    let line = |automatic| {
        move |(name, value): (&String, &String)| FileSetting {
            name: name.clone(),
            value: value.clone(),
            automatic,
            mounted: !automatic,
        }
    };
    let lines: Vec<FileSetting> =
        running.server.mounted.iter().map(line(false)).chain(data.settings.iter().map(line(true))).collect();
    let now = effective(&running.server, data);
    let waits = |name: &&&str| now.get(**name) != running.started.get(**name);
    let restart = STARTING.iter().filter(waits).map(|name| (*name).to_owned()).collect();
    let wanted = effective_parameters(db);
    let read_only = data.blocks_clients.then_some((READ_ONLY, None));
    let own = OWN.into_iter().chain(read_only).collect();
    let known = wanted.keys().cloned().collect();
    let login = match (&data.app_password, &access.app_password) {
        _ if data.blocks_clients => LoginCheck::Blocked,
        (None, _) => LoginCheck::DatabaseMissing,
        (Some(_), None) => LoginCheck::Unknown,
        (Some(present), Some(given)) if present == given.text() => LoginCheck::Ok,
        (Some(_), Some(_)) => LoginCheck::BadPassword,
    };
    ServerInfo {
        system_identifier: data.system_identifier.clone(),
        version: running.server.version.clone(),
        login,
        parameters: parameter_diff(&wanted, &own, &lines, &known, restart),
        bytes: BYTES,
        room: None,
        attempt: None,
    }
}
