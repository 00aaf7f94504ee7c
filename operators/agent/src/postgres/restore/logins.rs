//! Roles that log in during a load, each with a password that only the agent knows.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::postgres::client::marker_tables::LENT;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::scram;
use crate::postgres::client::session::{Session, UNLOGGED};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::hba::{self, HbaAccess};
use crate::postgres::restore::load_role::LoadRole;

/// The attributes of a role: superuser, login, password verifier, valid until, connection limit.
type RoleAttributes = (bool, bool, Option<String>, Option<String>, i32);

/// The group that a closed server admits during a load.
pub(crate) const LOADING: &str = "multi_operator_loading";

/// How long the server may take to apply its rules.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Logins<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    via_database: &'a str,
    /// Whether to record the roles' earlier attributes, for a server that outlives this run if it is killed.
    recorded: bool,
    lent: BTreeMap<LoadRole, LentLogin>,
    /// The path of pg_hba.conf, if the server was closed before.
    rules: Option<String>,
}

struct LentLogin {
    role: String,
    password: String,
    /// The SQL that restores the role's earlier attributes; none for a stand-in, which is dropped.
    undo: Option<String>,
}

impl<'a> Logins<'a> {
    pub(crate) fn new(tools: &'a Tools, connection: &'a Connection, via_database: &'a str, recorded: bool) -> Self {
        Self { tools, connection, via_database, recorded, lent: BTreeMap::new(), rules: None }
    }

    /// Allows these roles to log in.
    pub(crate) fn lend(&mut self, roles: &BTreeSet<&LoadRole>) -> Result<(), CommandFailure> {
        let mut session = Session::open(self.tools, self.connection, self.via_database)?;
        session.query(UNLOGGED)?;
        for who in roles {
            if !self.lent.contains_key(who) {
                let lent = self.lend_to(&mut session, who)?;
                self.lent.insert((*who).clone(), lent);
            }
        }
        self.admit(&mut session)
    }

    /// The connection of the role that executes a step.
    pub(crate) fn connection(&self, who: &LoadRole) -> Result<Connection, CommandFailure> {
        if *who == LoadRole::Superuser {
            return Ok(self.connection.clone());
        }
        let missing = || CommandFailure::new(Reason::ToolFailed, format!("{who:?} has no login"));
        let lent = self.lent.get(who).ok_or_else(missing)?;
        Ok(self.connection.with_user(&lent.role, Some(&lent.password)))
    }

    /// The connection of the role of that name; none if it may not log in.
    pub(crate) fn of_role(&self, role: &str) -> Option<Connection> {
        let lent = self.lent.values().find(|lent| lent.role == role)?;
        Some(self.connection.with_user(&lent.role, Some(&lent.password)))
    }

    /// The stand-ins, each with its superuser.
    pub(crate) fn stand_ins(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lent.iter().filter_map(|(who, lent)| match who {
            LoadRole::StandIn(superuser) => Some((lent.role.as_str(), superuser.as_str())),
            _ => None,
        })
    }

    /// Restores all roles and rules, also after a failure.
    pub(crate) fn give_back(&mut self) -> Result<(), CommandFailure> {
        if self.lent.is_empty() && self.rules.is_none() {
            return Ok(());
        }
        let mut session = Session::open(self.tools, self.connection, self.via_database)?;
        session.query(UNLOGGED)?;
        // First the rules block all logins, then roles get back the passwords that others know.
        if let Some(path) = self.rules.take() {
            write_rules(&mut session, &path, &hba::render(HbaAccess::Closed, &self.connection.user))?;
        }
        let (owners, stand_ins): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.lent).into_values().partition(|lent| lent.undo.is_some());
        for lent in owners {
            session.run(lent.undo.as_deref().unwrap_or_default())?;
            if self.recorded {
                forget(&mut session, &lent.role)?;
            }
        }
        // After a failed load, a stand-in that still owns objects stays until these are dropped and loaded again.
        for lent in stand_ins {
            let dropped = Session::open(self.tools, self.connection, self.via_database)
                .and_then(|mut session| session.query(&format!("DROP ROLE IF EXISTS {}", identifier(&lent.role))));
            if let Err(failure) = dropped {
                eprintln!("cannot drop role {}: {}", lent.role, failure.message());
            }
        }
        session.query(&format!("DROP ROLE IF EXISTS {}", identifier(LOADING))).map(|_| ())
    }

    fn lend_to(&self, session: &mut Session<'_>, who: &LoadRole) -> Result<LentLogin, CommandFailure> {
        let password = files::secret()?;
        let verifier = literal(&scram::verifier(&password));
        ensure_role(session, LOADING, "NOLOGIN")?;
        let lent = match who {
            LoadRole::StandIn(superuser) => {
                let role = stand_in(superuser);
                ensure_role(session, &role, "NOSUPERUSER")?;
                LentLogin { role, password, undo: None }
            }
            LoadRole::Owner(role) => {
                let undo = self.undo(session, role)?;
                LentLogin { role: role.clone(), password, undo: Some(undo) }
            }
            LoadRole::Superuser => return Err(CommandFailure::new(Reason::ToolFailed, "the superuser needs no login")),
        };
        let role = identifier(&lent.role);
        let until =
            if lent.undo.as_ref().is_some_and(|undo| undo.contains(UNTIL)) { " VALID UNTIL 'infinity'" } else { "" };
        session.run(&format!("ALTER ROLE {role} LOGIN CONNECTION LIMIT -1 PASSWORD {verifier}{until}"))?;
        session.query(&format!("GRANT {} TO {role}", identifier(LOADING)))?;
        Ok(lent)
    }

    /// The SQL that restores a role's current attributes. Records it, if the server outlives this run.
    fn undo(&self, session: &mut Session<'_>, role: &str) -> Result<String, CommandFailure> {
        let sql = format!(
            "SELECT pg_catalog.json_build_array(rolsuper, rolcanlogin, rolpassword, rolvaliduntil::text, rolconnlimit) \
             FROM pg_catalog.pg_authid WHERE rolname = {}",
            literal(role)
        );
        let found: Option<RoleAttributes> = session.query_json(&sql)?.pop();
        let missing =
            || CommandFailure::new(Reason::RestoreFailed, format!("the owner {} does not exist", identifier(role)));
        let (superuser, login, password, until, limit) = found.ok_or_else(missing)?;
        if superuser {
            let message = format!("role {} owns objects to load, and has become a superuser", identifier(role));
            return Err(CommandFailure::new(Reason::RestoreFailed, message));
        }
        let login = if login { "LOGIN" } else { "NOLOGIN" };
        let password = password.map_or_else(|| "NULL".to_owned(), |verifier| literal(&verifier));
        let until = until.map_or_else(String::new, |until| format!("{UNTIL}{}", literal(&until)));
        let undo =
            format!("ALTER ROLE {} {login} CONNECTION LIMIT {limit} PASSWORD {password}{until}", identifier(role));
        if self.recorded {
            session.run(&format!(
                "INSERT INTO multi_operator.lent (role, undo) VALUES ({}, {})",
                literal(role),
                literal(&undo)
            ))?;
        }
        Ok(undo)
    }

    /// Makes a closed server, which admits only the superuser, admit these roles too.
    fn admit(&mut self, session: &mut Session<'_>) -> Result<(), CommandFailure> {
        let Some(lent) = self.lent.values().next() else { return Ok(()) };
        let file = "SELECT pg_catalog.json_build_array(pg_catalog.current_setting('hba_file'), \
                    pg_catalog.pg_read_file(pg_catalog.current_setting('hba_file')))";
        let (path, text) = session.query_json::<(String, String)>(file)?.pop().unwrap_or_default();
        if self.rules.is_some() || HbaAccess::of(&text) != Some(HbaAccess::Closed) {
            return Ok(());
        }
        self.rules = Some(path.clone());
        write_rules(session, &path, &hba::loading(&self.connection.user, LOADING))?;
        let probe = self.connection.with_user(&lent.role, Some(&lent.password));
        let end = Instant::now() + ADMISSION_TIMEOUT;
        loop {
            match Session::connect(self.tools, &probe, self.via_database)
                .and_then(|mut session| session.query("SELECT 1"))
            {
                Err(failure) if failure.message().contains("no pg_hba.conf entry") && Instant::now() < end => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(failure) if failure.message().contains("no pg_hba.conf entry") => return Err(failure),
                // Other errors do not come from the rules.
                _ => return Ok(()),
            }
        }
    }
}

impl Drop for Logins<'_> {
    fn drop(&mut self) {
        if let Err(failure) = self.give_back() {
            eprintln!("cannot restore the logins of roles: {}", failure.message());
        }
    }
}

const UNTIL: &str = " VALID UNTIL ";

/// Restores the logins that an earlier run lent before it was killed.
pub(crate) fn give_back_recorded(session: &mut Session<'_>) -> Result<(), CommandFailure> {
    session.query(UNLOGGED)?;
    LENT.ensure(session)?;
    let recorded: Vec<(String, String)> =
        session.query_json("SELECT pg_catalog.json_build_array(role, undo) FROM multi_operator.lent")?;
    for (role, undo) in recorded {
        // The agent lends nothing to a superuser.
        let existing = format!("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {} AND NOT rolsuper", literal(&role));
        if session.query_one(&existing)?.is_some() && gives_back(&undo, &role) {
            session.run(&undo)?;
        }
        forget(session, &role)?;
    }
    Ok(())
}

/// Whether a record has the form that [`Logins::undo`] writes: it restores a role's login and password, and nothing else. A role
/// that may write to all tables, and so to this one, need not be a superuser. Pure.
fn gives_back(undo: &str, role: &str) -> bool {
    let Some(rest) = undo.strip_prefix(&format!("ALTER ROLE {} ", identifier(role))) else { return false };
    // The text outside of quotes: a doubled quote ends a text and begins another one.
    let outside: String = rest.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let known = ["LOGIN", "NOLOGIN", "CONNECTION", "LIMIT", "PASSWORD", "NULL", "VALID", "UNTIL"];
    let plain = |word: &str| known.contains(&word) || word.parse::<i32>().is_ok();
    !rest.contains('\\') && outside.split_whitespace().all(plain)
}

fn forget(session: &mut Session<'_>, role: &str) -> Result<(), CommandFailure> {
    session.run(&format!("DELETE FROM multi_operator.lent WHERE role = {}", literal(role)))
}

fn ensure_role(session: &mut Session<'_>, role: &str, attributes: &str) -> Result<(), CommandFailure> {
    let existing = format!("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {}", literal(role));
    let keyword = if session.query_one(&existing)?.is_some() { "ALTER" } else { "CREATE" };
    session.query(&format!("{keyword} ROLE {} {attributes}", identifier(role))).map(|_| ())
}

fn write_rules(session: &mut Session<'_>, path: &str, text: &str) -> Result<(), CommandFailure> {
    session.write_file(path, text.trim_end())?;
    session.query("SELECT pg_catalog.pg_reload_conf()").map(|_| ())
}

/// The name of a stand-in. PostgreSQL truncates names after 63 bytes, so it has a checksum of the superuser's name.
fn stand_in(superuser: &str) -> String {
    let sum = files::sha256(superuser.as_bytes());
    format!("multi_operator_stand_in_{}", &sum[..16])
}

#[cfg(test)]
mod tests {
    use super::gives_back;

    #[test]
    fn a_record_restores_a_login_and_nothing_else() {
        let of = |rest: &str| gives_back(&format!("ALTER ROLE \"a b\" {rest}"), "a b");
        assert!(of("LOGIN CONNECTION LIMIT -1 PASSWORD 'SCRAM-SHA-256$4096:a/b+c=$d:e' VALID UNTIL '2001-01-01'"));
        assert!(of("NOLOGIN CONNECTION LIMIT 3 PASSWORD NULL"));
        assert!(of("LOGIN CONNECTION LIMIT -1 PASSWORD 'it''s SUPERUSER'"));
        for planted in [
            "SUPERUSER",
            "LOGIN; ALTER ROLE x SUPERUSER",
            "LOGIN PASSWORD 'a' SUPERUSER",
            "LOGIN PASSWORD E'\\' SUPERUSER --'",
            "SET work_mem = 1",
            "LOGIN PASSWORD $$ $$ CREATEROLE",
        ] {
            assert!(!of(planted), "{planted}");
        }
        assert!(!gives_back("ALTER ROLE \"a\" LOGIN", "b"));
    }
}
