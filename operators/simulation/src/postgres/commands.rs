//! The agent's commands, by the rules of `operators/agent/src/postgres`: each takes effect at once, at its end.

use agent_protocol::{
    AccessRules, Command, CreatedByInit, FailureReason, PgInit, PgInitResult, PgPrepare, PgPrepareResult,
    PgVersionResult,
};
use serde_json::{Value, json};

use super::connection::{Unfinished, connect, version};
use super::model::PostgresServers;
use super::snapshots;
use crate::actors::pods::program::ContainerRun;

/// Does what a command does. Returns its result.
pub(super) fn perform(
    servers: &PostgresServers,
    run: &ContainerRun<'_>,
    command: &Command,
) -> Result<Value, Unfinished> {
    match command {
        Command::PgPrepare(of) => prepare(servers, run, of),
        Command::PgInit(of) => init(servers, run, of),
        Command::PgVersion(_) => Ok(json!(PgVersionResult { version: version(run) })),
        Command::PgDump(of) if of.offline.is_none() => snapshots::take(servers, run, &of.to, false),
        Command::PgBasebackup(of) => snapshots::take(servers, run, &of.to, true),
        Command::PgVerify(of) => snapshots::verify(servers, run, of),
        Command::PgPrune(of) => snapshots::prune(servers, run, of),
        other => Err(Unfinished::Unmodelled(format!("the command {other:?}"))),
    }
}

/// `agent pg-prepare`: checks the data, or creates it.
fn prepare(servers: &PostgresServers, run: &ContainerRun<'_>, of: &PgPrepare) -> Result<Value, Unfinished> {
    let (Some(volume), Some(password), None) = (run.claim("data"), run.variable("PGPASSWORD"), &of.from) else {
        return Err(Unfinished::Unmodelled("pg-prepare without a PVC or a password, or from a snapshot".to_owned()));
    };
    if servers.lock().servers.values().any(|running| running.server.volume == volume) {
        return Err(Unfinished::Waits(FailureReason::DataInUse, "another server uses the data".to_owned()));
    }
    let present = servers.data(&volume);
    let initialised = present.is_none();
    let data = match present {
        None if !of.initialise => {
            return Err(Unfinished::failed(FailureReason::DataMissing, "the data directory is empty"));
        }
        None => servers.initialize(&volume, &password),
        Some(data) if data.major != of.major => {
            return Err(Unfinished::failed(FailureReason::WrongMajor, "the data is of another version"));
        }
        Some(data) => match &of.system_identifier {
            Some(known) if *known != data.system_identifier => {
                return Err(Unfinished::failed(FailureReason::ForeignData, "the data is another's"));
            }
            None if of.owner.is_some() && of.owner != data.owner => {
                return Err(Unfinished::failed(FailureReason::ForeignData, "the data was created for another"));
            }
            _ => data,
        },
    };
    let sets_password = of.reset_password && data.superuser_password != password;
    servers.edit(&volume, |data| {
        if initialised {
            (data.major, data.owner) = (of.major, of.owner.clone());
        }
        if sets_password {
            data.superuser_password.clone_from(&password);
        }
        match of.rules() {
            AccessRules::Keep => {}
            AccessRules::Open => data.blocks_clients = false,
            AccessRules::Closed => data.blocks_clients = true,
        }
        data.copy = None;
        data.settings.clear();
    });
    let access = servers.data(&volume).map_or("open", |data| if data.blocks_clients { "closed" } else { "open" });
    Ok(json!(PgPrepareResult {
        system_identifier: Some(data.system_identifier),
        version: version(run),
        initialised,
        access: access.to_owned(),
        password_set: sets_password,
        ..PgPrepareResult::default()
    }))
}

/// `agent pg-init`: the role and the database of the application.
fn init(servers: &PostgresServers, run: &ContainerRun<'_>, of: &PgInit) -> Result<Value, Unfinished> {
    let volume = connect(servers, run)?;
    let Some(password) = run.variable("OWNER_PASSWORD").filter(|_| of.sql.0.is_empty()) else {
        return Err(Unfinished::Unmodelled("pg-init with SQL, or without the password of the application".to_owned()));
    };
    let mut is_new = false;
    servers.edit(&volume, |data| {
        is_new = data.app_password.is_none();
        data.app_password = Some(password);
    });
    let created = CreatedByInit { role: is_new, database: is_new };
    Ok(json!(PgInitResult { created, ..PgInitResult::default() }))
}
