//! The superuser's password in data that is there: lost ones come back this way, before the pod's server starts.

use std::fs::File;

use super::controldata::ControlData;
use super::prepare_options::Prepare;
use super::quote::{identifier, literal};
use super::session::{Session, UNLOGGED};
use super::standing::MAINTENANCE;
use super::tools::{self, PASSWORD, Tools};
use super::verifier::kept;
use super::{admit, configuration, folder_reader, scram};
use crate::failure::{Failure, Reason};

/// Lets a server that nobody else reaches set it, after whatever recovery the data needs. Whether it was another one.
pub(crate) fn reset(tools: &Tools, options: &Prepare, control: &ControlData, lock: &File) -> Result<bool, Failure> {
    let password = superusers_password()?;
    folder_reader::make_way(&options.data)?;
    let settings = configuration::offline(control, &[]);
    let server = admit::start(tools, &options.data, &options.run, &settings, lock)?;
    let superuser = tools::superuser();
    let mut session = Session::open(tools, &server.connection(&superuser), MAINTENANCE)?;
    let sql = format!(
        "SELECT coalesce(pg_catalog.to_json(rolpassword), 'null') FROM pg_catalog.pg_authid WHERE rolname = {}",
        literal(&superuser)
    );
    let there = session.ask_json::<Option<String>>(&sql)?.pop().flatten();
    let other = !there.is_some_and(|verifier| scram::accepts(&verifier, &password));
    if other {
        session.ask(UNLOGGED)?;
        set(&mut session, &superuser, &password)?;
    }
    drop(session);
    server.stop()?;
    Ok(other)
}

/// Makes the role, if it is not there, and the superuser with this password in any case.
pub(crate) fn set(session: &mut Session<'_>, superuser: &str, password: &str) -> Result<(), Failure> {
    // A setting of the database's could have it that nothing is written.
    session.ask("SET default_transaction_read_only = off")?;
    let there = format!("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {}", literal(superuser));
    let verb = if session.ask_one(&there)?.is_some() { "ALTER" } else { "CREATE" };
    session.run(&format!(
        "SET password_encryption = 'scram-sha-256'; {verb} ROLE {} WITH SUPERUSER LOGIN PASSWORD {} VALID UNTIL 'infinity'",
        identifier(superuser),
        literal(&kept(password)?)
    ))
}

/// initdb reads one line, and would take an empty one for no password.
pub(crate) fn superusers_password() -> Result<String, Failure> {
    let password = std::env::var(PASSWORD).unwrap_or_default();
    if password.is_empty() || password.contains(['\n', '\r']) {
        let sentence = format!("{PASSWORD} must be the superuser's password: not empty, and one line");
        return Err(Failure::new(Reason::BadPassword, sentence));
    }
    Ok(password)
}
