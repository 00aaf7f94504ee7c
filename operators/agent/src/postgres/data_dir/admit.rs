//! Restores a superuser that the data no longer admits, since the role lost LOGIN, SUPERUSER or its name. No connection can
//! restore that, but the server in single-user mode can.

use std::fs::File;
use std::path::Path;

use crate::failure::{CommandFailure, Reason};
use crate::files::{self, ScratchDirectory};
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE};
use crate::postgres::client::quote::identifier;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{self, Tools};
use crate::postgres::data_dir::server::PrivateServer;

/// Starts a private server, as [`PrivateServer::start`] does, in which PGUSER is a superuser.
pub(crate) fn start<'a>(
    tools: &'a Tools,
    data: &Path,
    run: &Path,
    settings: &str,
    lock: &File,
) -> Result<PrivateServer<'a>, CommandFailure> {
    let server = PrivateServer::start(tools, data, run, settings, Some(lock))?;
    let superuser = tools::superuser();
    let missing = match is_superuser(tools, &server, &superuser) {
        Ok(true) => return Ok(server),
        Ok(false) => false,
        Err(failure) if failure.reason() == Reason::AuthenticationFailed => {
            failure.message().contains("does not exist")
        }
        // The next connection reports it.
        Err(_) => return Ok(server),
    };
    eprintln!("the data no longer admits role {superuser} as a superuser; restoring that");
    server.stop()?;
    let keyword = if missing { "CREATE" } else { "ALTER" };
    let statement = format!("{keyword} ROLE {} WITH SUPERUSER LOGIN", identifier(&superuser));
    single_user(tools, data, run, settings, &statement)?;
    PrivateServer::start(tools, data, run, settings, Some(lock))
}

fn is_superuser(tools: &Tools, server: &PrivateServer<'_>, superuser: &str) -> Result<bool, CommandFailure> {
    let mut session = Session::open(tools, &server.connection(superuser), MAINTENANCE)?;
    let sql = "SELECT pg_catalog.to_json(rolsuper) FROM pg_catalog.pg_roles WHERE rolname = session_user";
    Ok(session.query_bool(sql)?.unwrap_or(false))
}

/// Runs a statement in single-user mode (postgres(1)): as the bootstrap superuser, whatever its name and attributes are by now.
/// Each line is a statement there.
fn single_user(tools: &Tools, data: &Path, run: &Path, settings: &str, statement: &str) -> Result<(), CommandFailure> {
    let directory = ScratchDirectory::new(run.join(format!("alone-{}", std::process::id())))?;
    let unusable = |error| files::failed("written", directory.path(), &error, Reason::CannotStart);
    let (conf, script) = (directory.path().join("postgresql.conf"), directory.path().join("script.sql"));
    let lines = format!("SET default_transaction_read_only = off\n{statement}\n");
    files::write(&conf, settings).and_then(|()| files::write(&script, &lines)).map_err(unusable)?;
    let mut command = tools.command("postgres");
    command.arg("--single").arg("-D").arg(data).arg(format!("--config_file={}", conf.display())).arg(TEMPLATE);
    command.stdin(File::open(&script).map_err(unusable)?);
    // If the statement failed, the next session reports it.
    tools.run(&mut command, Reason::CannotStart).map(|_| ())
}
