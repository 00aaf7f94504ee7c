//! Sets the superuser's password in existing data, before the pod's server starts: for a password that was lost.

use std::fs::File;

use agent_protocol::PgPrepare;

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::scram;
use crate::postgres::client::session::{Session, UNLOGGED};
use crate::postgres::client::tools::{self, PASSWORD, Tools};
use crate::postgres::data_dir::admit;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::controldata::ControlData;
use crate::postgres::data_dir::inspect;

/// Sets it through a private server, which first recovers the data if necessary. Returns whether it differed.
pub(crate) fn reset(
    tools: &Tools,
    options: &PgPrepare,
    control: &ControlData,
    lock: &File,
) -> Result<bool, CommandFailure> {
    let password = superusers_password()?;
    inspect::remove_stale_pid(&options.data)?;
    let settings = configuration::private_server_conf(control, &[]);
    let server = admit::start(tools, &options.data, &options.run, &settings, lock)?;
    let superuser = tools::superuser();
    let mut session = Session::open(tools, &server.connection(&superuser), MAINTENANCE)?;
    let sql = format!(
        "SELECT coalesce(pg_catalog.to_json(rolpassword), 'null') FROM pg_catalog.pg_authid WHERE rolname = {}",
        literal(&superuser)
    );
    let there = session.query_json::<Option<String>>(&sql)?.pop().flatten();
    let other = !there.is_some_and(|verifier| scram::accepts(&verifier, &password));
    if other {
        session.query(UNLOGGED)?;
        set(&mut session, &superuser, &password)?;
    }
    drop(session);
    server.stop()?;
    Ok(other)
}

/// Creates the role if it does not exist, and makes it a superuser with this password.
pub(crate) fn set(session: &mut Session<'_>, superuser: &str, password: &str) -> Result<(), CommandFailure> {
    // A setting of the database may make sessions read-only.
    session.query("SET default_transaction_read_only = off")?;
    let there = format!("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {}", literal(superuser));
    let keyword = if session.query_one(&there)?.is_some() { "ALTER" } else { "CREATE" };
    session.run(&format!(
        "{keyword} ROLE {} WITH SUPERUSER LOGIN PASSWORD {} VALID UNTIL 'infinity'",
        identifier(superuser),
        literal(&scram::verifier(password))
    ))
}

/// The superuser's password: initdb reads one line, and would take an empty one for no password.
pub(crate) fn superusers_password() -> Result<String, CommandFailure> {
    let password = std::env::var(PASSWORD).unwrap_or_default();
    if password.is_empty() || password.contains(['\n', '\r']) {
        let message = format!("{PASSWORD} must be the superuser's password: not empty, and one line");
        return Err(CommandFailure::new(Reason::BadPassword, message));
    }
    Ok(password)
}
