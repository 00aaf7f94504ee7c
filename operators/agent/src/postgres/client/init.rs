//! `agent pg-init`: creates role and database, and runs the user's SQL once.

use std::time::Instant;

use agent_protocol::{CreatedByInit, PgInit, PgInitResult, count};

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::init_sql::{self, InitScript};
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::scram;
use crate::postgres::client::session::{Session, UNLOGGED};
use crate::postgres::client::tools::{Connection, OWNER_PASSWORD, Tools};
use crate::postgres::timed::seconds;

/// The default key in the ledger for the SQL.
const LEDGER_KEY: &str = "init";

/// The schema belongs to the superuser; the application may add rows to the ledger, and change none.
const LEDGER: &str = "CREATE SCHEMA IF NOT EXISTS multi_operator;
CREATE TABLE IF NOT EXISTS multi_operator.ledger (key text PRIMARY KEY, checksum text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT pg_catalog.now())";

/// Whether the schema or the table is not the superuser's: an application that created them earlier could have put anything
/// there.
const FOREIGN: &str = "SELECT 1 FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c
ON c.relnamespace = n.oid AND c.relname = 'ledger' WHERE n.nspname = 'multi_operator'
AND (n.nspowner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)
  OR c.relkind <> 'r' OR c.relowner <> n.nspowner)";

/// A lock for as long as the session lives. Two concurrent runs would change the same rows of catalogs, which the server rejects
/// ("tuple concurrently updated"), and the first that ends would let the server log statements of the other. If a client vanishes
/// with its node, keepalives end its session within a minute.
const ONE_AT_A_TIME: &str =
    "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext('multi_operator.init'))";

pub(crate) fn init(options: &PgInit) -> Result<PgInitResult, CommandFailure> {
    let since = Instant::now();
    let scripts: Vec<InitScript> = options.sql.0.iter().map(init_sql::read).collect::<Result<_, _>>()?;
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    if connection.user == options.owner {
        return Err(CommandFailure::new(
            Reason::BadInput,
            "--owner is the superuser; an application needs a role of its own",
        ));
    }
    let password = std::env::var(OWNER_PASSWORD).ok().filter(|password| !password.is_empty());
    let message = || CommandFailure::new(Reason::BadPassword, format!("{OWNER_PASSWORD} is unset or empty"));
    let password = password.ok_or_else(message)?;
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
    session.query(UNLOGGED)?;
    session.query(ONE_AT_A_TIME)?;
    let role = ensure_role(&mut session, &options.owner, &password)?;
    let database = ensure_database(&mut session, options)?;
    let mut in_database = Session::open(&tools, &connection, &options.database)?;
    if in_database.query_one(FOREIGN)?.is_some() {
        let message = format!(
            "the schema multi_operator of database {}, or the table ledger in it, is not the superuser's, and the operator \
             records there what has run: rename the schema, or drop it (ALTER SCHEMA multi_operator RENAME TO another_name)",
            identifier(&options.database)
        );
        return Err(CommandFailure::new(Reason::ForeignData, message));
    }
    let owner = identifier(&options.owner);
    in_database.query(&format!(
        "BEGIN; SET LOCAL client_min_messages = error; {LEDGER}; GRANT USAGE ON SCHEMA multi_operator TO {owner}; \
         GRANT SELECT, INSERT ON multi_operator.ledger TO {owner}; COMMIT"
    ))?;
    let suppressed = SuppressedLog::begin(&mut session, options)?;
    let application = connection.with_user(&options.owner, Some(&password));
    let outcome = init_sql::run(
        &tools,
        &application,
        &options.database,
        options.ledger_key.as_deref().unwrap_or(LEDGER_KEY),
        &scripts,
    );
    suppressed.end(&mut session)?;
    let (ran, statements) = outcome?;
    let created = CreatedByInit { role, database };
    Ok(PgInitResult { ran, statements: count(statements), created, seconds: seconds(since) })
}

/// Creates the role, or sets its password to that of the Secret. Returns whether it was created.
fn ensure_role(session: &mut Session<'_>, name: &str, password: &str) -> Result<bool, CommandFailure> {
    let sql = format!("SELECT pg_catalog.to_json(rolsuper) FROM pg_catalog.pg_roles WHERE rolname = {}", literal(name));
    let existing: Option<bool> = session.query_json(&sql)?.pop();
    if existing == Some(true) {
        let message = format!("role {} is a superuser; the role of an application must not be one", identifier(name));
        return Err(CommandFailure::new(Reason::BadInput, message));
    }
    let keyword = if existing.is_some() { "ALTER" } else { "CREATE" };
    session.run(&format!(
        "{keyword} ROLE {} WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE \
         NOREPLICATION NOBYPASSRLS PASSWORD {}",
        identifier(name),
        literal(&scram::verifier(password))
    ))?;
    Ok(existing.is_none())
}

/// Creates the database if it does not exist. Returns whether it was created.
fn ensure_database(session: &mut Session<'_>, options: &PgInit) -> Result<bool, CommandFailure> {
    let existing = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", literal(&options.database));
    if session.query_one(&existing)?.is_some() {
        return Ok(false);
    }
    let (name, owner) = (identifier(&options.database), identifier(&options.owner));
    session.query(&format!(
        "CREATE DATABASE {name} OWNER {owner} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'"
    ))?;
    Ok(true)
}

/// Keeps failed statements of the application out of the server's log. It is a setting of role and database, since the
/// application itself must not have the privilege to set it.
struct SuppressedLog(String);

impl SuppressedLog {
    fn begin(session: &mut Session<'_>, options: &PgInit) -> Result<Self, CommandFailure> {
        let statement =
            format!("ALTER ROLE {} IN DATABASE {}", identifier(&options.owner), identifier(&options.database));
        session.query(&format!("{statement} SET log_min_error_statement = panic"))?;
        Ok(Self(statement))
    }

    /// Resets the setting. If this run is killed, the next one does that.
    fn end(self, session: &mut Session<'_>) -> Result<(), CommandFailure> {
        session.query(&format!("{} RESET log_min_error_statement", self.0)).map(|_| ())
    }
}
