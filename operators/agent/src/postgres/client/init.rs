//! `agent pg-init`: role, database, and the SQL that is run once.

use std::time::Instant;

use agent_protocol::{CreatedByInit, PgInit, PgInitResult, count};

use crate::failure::{Failure, Reason};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::init_sql::{self, Script};
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::scram;
use crate::postgres::client::session::{Session, UNLOGGED};
use crate::postgres::client::tools::{Connection, OWNER_PASSWORD, Tools};
use crate::postgres::timed::seconds;

/// The key of the record that the SQL ran.
const LEDGER_KEY: &str = "init";

/// The schema is the superuser's; the application may add to the ledger, and change nothing in it.
const LEDGER: &str = "CREATE SCHEMA IF NOT EXISTS multi_operator;
CREATE TABLE IF NOT EXISTS multi_operator.ledger (key text PRIMARY KEY, checksum text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT pg_catalog.now())";

/// An application that made the schema before could have put anything there.
const FOREIGN: &str = "SELECT 1 FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c
ON c.relnamespace = n.oid AND c.relname = 'ledger' WHERE n.nspname = 'multi_operator'
AND (n.nspowner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)
  OR c.relkind <> 'r' OR c.relowner <> n.nspowner)";

/// One at a time, for as long as the session lives. Two at once change the same rows of catalogs, which the server refuses
/// ("tuple concurrently updated"), and the first that ends has the server log what the other says. A peer that is gone
/// without a word, with its node, loses its session within a minute.
const ALONE: &str = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext('multi_operator.init'))";

pub(crate) fn init(options: &PgInit) -> Result<PgInitResult, Failure> {
    let since = Instant::now();
    let scripts: Vec<Script> = options.sql.0.iter().map(init_sql::read).collect::<Result<_, _>>()?;
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    if connection.user == options.owner {
        return Err(Failure::new(Reason::BadInput, "--owner is the superuser; an application needs a role of its own"));
    }
    let password = std::env::var(OWNER_PASSWORD).ok().filter(|password| !password.is_empty());
    let message = || Failure::new(Reason::BadPassword, format!("{OWNER_PASSWORD} is unset or empty"));
    let password = password.ok_or_else(message)?;
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
    session.query(UNLOGGED)?;
    session.query(ALONE)?;
    let role = ensure_role(&mut session, &options.owner, &password)?;
    let database = ensure_database(&mut session, options)?;
    let mut inside = Session::open(&tools, &connection, &options.database)?;
    if inside.query_one(FOREIGN)?.is_some() {
        let message = format!(
            "the schema multi_operator of database {}, or the table ledger in it, is not the superuser's, and the operator \
             records there what has run: rename the schema, or drop it (ALTER SCHEMA multi_operator RENAME TO another_name)",
            identifier(&options.database)
        );
        return Err(Failure::new(Reason::ForeignData, message));
    }
    let owner = identifier(&options.owner);
    inside.query(&format!(
        "BEGIN; SET LOCAL client_min_messages = error; {LEDGER}; GRANT USAGE ON SCHEMA multi_operator TO {owner}; \
         GRANT SELECT, INSERT ON multi_operator.ledger TO {owner}; COMMIT"
    ))?;
    let quiet = Quiet::begin(&mut session, options)?;
    let application = connection.with_user(&options.owner, Some(&password));
    let outcome = init_sql::run(
        &tools,
        &application,
        &options.database,
        options.ledger_key.as_deref().unwrap_or(LEDGER_KEY),
        &scripts,
    );
    quiet.end(&mut session)?;
    let (ran, statements) = outcome?;
    let created = CreatedByInit { role, database };
    Ok(PgInitResult { ran, statements: count(statements), created, seconds: seconds(since) })
}

/// Whether the role had to be made. Its password is set in any case: the Secret is what holds.
fn ensure_role(session: &mut Session<'_>, name: &str, password: &str) -> Result<bool, Failure> {
    let sql = format!("SELECT pg_catalog.to_json(rolsuper) FROM pg_catalog.pg_roles WHERE rolname = {}", literal(name));
    let there: Option<bool> = session.query_json(&sql)?.pop();
    if there == Some(true) {
        let message = format!("role {} is a superuser; the role of an application must not be one", identifier(name));
        return Err(Failure::new(Reason::BadInput, message));
    }
    let verb = if there.is_some() { "ALTER" } else { "CREATE" };
    session.run(&format!(
        "{verb} ROLE {} WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE \
         NOREPLICATION NOBYPASSRLS PASSWORD {}",
        identifier(name),
        literal(&scram::verifier(password))
    ))?;
    Ok(there.is_none())
}

/// Whether the database had to be made.
fn ensure_database(session: &mut Session<'_>, options: &PgInit) -> Result<bool, Failure> {
    let there = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", literal(&options.database));
    if session.query_one(&there)?.is_some() {
        return Ok(false);
    }
    let (name, owner) = (identifier(&options.database), identifier(&options.owner));
    session.query(&format!(
        "CREATE DATABASE {name} OWNER {owner} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'"
    ))?;
    Ok(true)
}

/// While it lives, what the application says in the database does not get into the server's log when it fails. It is a
/// setting of role and database, as the application itself must not have the right to it.
struct Quiet(String);

impl Quiet {
    fn begin(session: &mut Session<'_>, options: &PgInit) -> Result<Self, Failure> {
        let place = format!("ALTER ROLE {} IN DATABASE {}", identifier(&options.owner), identifier(&options.database));
        session.query(&format!("{place} SET log_min_error_statement = panic"))?;
        Ok(Self(place))
    }

    /// If this is not reached, the next run does it.
    fn end(self, session: &mut Session<'_>) -> Result<(), Failure> {
        session.query(&format!("{} RESET log_min_error_statement", self.0)).map(|_| ())
    }
}
