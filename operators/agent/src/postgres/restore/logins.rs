//! Roles that log in for the time of a load, each with a password that only the agent knows.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Reason};
use crate::postgres::client::marker_tables::LENT;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::scram;
use crate::postgres::client::session::{Session, UNLOGGED};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::hba::{self, Access};
use crate::postgres::files;
use crate::postgres::restore::load_role::LoadRole;

/// Of a role: superuser, may log in, verifier of its password, until when, and how many connections.
type Login = (bool, bool, Option<String>, Option<String>, i32);

/// What the rules of a closed server let in while something is loaded.
pub(crate) const LOADING: &str = "multi_operator_loading";

/// How long the server may take to read its rules.
const ADMITTED_WITHIN: Duration = Duration::from_secs(30);

pub(crate) struct Logins<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    by_way_of: &'a str,
    /// Whether the server outlives a run that is killed.
    recorded: bool,
    lent: BTreeMap<LoadRole, Lent>,
    /// Where the rules are that were closed before.
    rules: Option<String>,
}

struct Lent {
    role: String,
    password: String,
    /// Gives back what the role had; a stand-in had nothing, and goes.
    undo: Option<String>,
}

impl<'a> Logins<'a> {
    pub(crate) fn new(tools: &'a Tools, connection: &'a Connection, by_way_of: &'a str, recorded: bool) -> Self {
        Self { tools, connection, by_way_of, recorded, lent: BTreeMap::new(), rules: None }
    }

    /// Lets these roles log in.
    pub(crate) fn lend(&mut self, roles: &BTreeSet<&LoadRole>) -> Result<(), Failure> {
        let mut session = Session::open(self.tools, self.connection, self.by_way_of)?;
        session.query(UNLOGGED)?;
        for who in roles {
            if !self.lent.contains_key(who) {
                let lent = self.lend_to(&mut session, who)?;
                self.lent.insert((*who).clone(), lent);
            }
        }
        self.admit(&mut session)
    }

    /// As whom a run is executed.
    pub(crate) fn connection(&self, who: &LoadRole) -> Result<Connection, Failure> {
        if *who == LoadRole::Superuser {
            return Ok(self.connection.clone());
        }
        let nobody = || Failure::new(Reason::ToolFailed, format!("{who:?} has no login"));
        let lent = self.lent.get(who).ok_or_else(nobody)?;
        Ok(self.connection.with_user(&lent.role, Some(&lent.password)))
    }

    /// As the role of that name; none, if it has not been let in.
    pub(crate) fn of_role(&self, role: &str) -> Option<Connection> {
        let lent = self.lent.values().find(|lent| lent.role == role)?;
        Some(self.connection.with_user(&lent.role, Some(&lent.password)))
    }

    /// The stand-ins, and for whom they stand in.
    pub(crate) fn stand_ins(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lent.iter().filter_map(|(who, lent)| match who {
            LoadRole::StandIn(superuser) => Some((lent.role.as_str(), superuser.as_str())),
            _ => None,
        })
    }

    /// Everything is as it was before: to be called after a failure, too.
    pub(crate) fn give_back(&mut self) -> Result<(), Failure> {
        if self.lent.is_empty() && self.rules.is_none() {
            return Ok(());
        }
        let mut session = Session::open(self.tools, self.connection, self.by_way_of)?;
        session.query(UNLOGGED)?;
        // First the rules block all logins, then roles get back the passwords that others know.
        if let Some(path) = self.rules.take() {
            write_rules(&mut session, &path, &hba::render(Access::Closed, &self.connection.user))?;
        }
        let (owners, stand_ins): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.lent).into_values().partition(|lent| lent.undo.is_some());
        for lent in owners {
            session.run(lent.undo.as_deref().unwrap_or_default())?;
            if self.recorded {
                forget(&mut session, &lent.role)?;
            }
        }
        // One that still owns something after a load that failed stays, until that is dropped and loaded again.
        for lent in stand_ins {
            let dropped = Session::open(self.tools, self.connection, self.by_way_of)
                .and_then(|mut session| session.query(&format!("DROP ROLE IF EXISTS {}", identifier(&lent.role))));
            if let Err(failure) = dropped {
                eprintln!("cannot drop role {}: {}", lent.role, failure.message());
            }
        }
        session.query(&format!("DROP ROLE IF EXISTS {}", identifier(LOADING))).map(|_| ())
    }

    fn lend_to(&self, session: &mut Session<'_>, who: &LoadRole) -> Result<Lent, Failure> {
        let password = files::secret()?;
        let verifier = literal(&scram::verifier(&password));
        ensure_role(session, LOADING, "NOLOGIN")?;
        let lent = match who {
            LoadRole::StandIn(superuser) => {
                let role = stand_in(superuser);
                ensure_role(session, &role, "NOSUPERUSER")?;
                Lent { role, password, undo: None }
            }
            LoadRole::Owner(role) => {
                let undo = self.undo(session, role)?;
                Lent { role: role.clone(), password, undo: Some(undo) }
            }
            LoadRole::Superuser => return Err(Failure::new(Reason::ToolFailed, "the superuser needs no login")),
        };
        let role = identifier(&lent.role);
        let until =
            if lent.undo.as_ref().is_some_and(|undo| undo.contains(UNTIL)) { " VALID UNTIL 'infinity'" } else { "" };
        session.run(&format!("ALTER ROLE {role} LOGIN CONNECTION LIMIT -1 PASSWORD {verifier}{until}"))?;
        session.query(&format!("GRANT {} TO {role}", identifier(LOADING)))?;
        Ok(lent)
    }

    /// What gives back what a role has now; one of a run that was killed has what that run recorded.
    fn undo(&self, session: &mut Session<'_>, role: &str) -> Result<String, Failure> {
        let sql = format!(
            "SELECT pg_catalog.json_build_array(rolsuper, rolcanlogin, rolpassword, rolvaliduntil::text, rolconnlimit) \
             FROM pg_catalog.pg_authid WHERE rolname = {}",
            literal(role)
        );
        let found: Option<Login> = session.query_json(&sql)?.pop();
        let missing = || Failure::new(Reason::RestoreFailed, format!("the owner {} does not exist", identifier(role)));
        let (superuser, login, password, until, limit) = found.ok_or_else(missing)?;
        if superuser {
            let message = format!("role {} owns objects to load, and has become a superuser", identifier(role));
            return Err(Failure::new(Reason::RestoreFailed, message));
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

    /// A closed server admits only the superuser.
    fn admit(&mut self, session: &mut Session<'_>) -> Result<(), Failure> {
        let Some(lent) = self.lent.values().next() else { return Ok(()) };
        let file = "SELECT pg_catalog.json_build_array(pg_catalog.current_setting('hba_file'), \
                    pg_catalog.pg_read_file(pg_catalog.current_setting('hba_file')))";
        let (path, text) = session.query_json::<(String, String)>(file)?.pop().unwrap_or_default();
        if self.rules.is_some() || Access::of(&text) != Some(Access::Closed) {
            return Ok(());
        }
        self.rules = Some(path.clone());
        write_rules(session, &path, &hba::loading(&self.connection.user, LOADING))?;
        let comes = self.connection.with_user(&lent.role, Some(&lent.password));
        let end = Instant::now() + ADMITTED_WITHIN;
        loop {
            match Session::connect(self.tools, &comes, self.by_way_of).and_then(|mut session| session.query("SELECT 1"))
            {
                Err(failure) if failure.message().contains("no pg_hba.conf entry") && Instant::now() < end => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(failure) if failure.message().contains("no pg_hba.conf entry") => return Err(failure),
                // Whatever else keeps it out of this database is none of the rules.
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

/// Gives back what a run that was killed has lent.
pub(crate) fn give_back_recorded(session: &mut Session<'_>) -> Result<(), Failure> {
    session.query(UNLOGGED)?;
    LENT.ensure(session)?;
    let recorded: Vec<(String, String)> =
        session.query_json("SELECT pg_catalog.json_build_array(role, undo) FROM multi_operator.lent")?;
    for (role, undo) in recorded {
        // Nothing is lent to a superuser.
        let there = format!("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {} AND NOT rolsuper", literal(&role));
        if session.query_one(&there)?.is_some() && gives_back(&undo, &role) {
            session.run(&undo)?;
        }
        forget(session, &role)?;
    }
    Ok(())
}

/// Whether a record is of the form that [`Logins::undo`] writes: it gives a role its login and password, and nothing else. A role
/// that may write to all tables is no superuser. Pure.
fn gives_back(undo: &str, role: &str) -> bool {
    let Some(rest) = undo.strip_prefix(&format!("ALTER ROLE {} ", identifier(role))) else { return false };
    // Outside of quotes, where a doubled quote leaves a text and enters it again.
    let outside: String = rest.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let known = ["LOGIN", "NOLOGIN", "CONNECTION", "LIMIT", "PASSWORD", "NULL", "VALID", "UNTIL"];
    let plain = |word: &str| known.contains(&word) || word.parse::<i32>().is_ok();
    !rest.contains('\\') && outside.split_whitespace().all(plain)
}

fn forget(session: &mut Session<'_>, role: &str) -> Result<(), Failure> {
    session.run(&format!("DELETE FROM multi_operator.lent WHERE role = {}", literal(role)))
}

fn ensure_role(session: &mut Session<'_>, role: &str, attributes: &str) -> Result<(), Failure> {
    let there = format!("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {}", literal(role));
    let verb = if session.query_one(&there)?.is_some() { "ALTER" } else { "CREATE" };
    session.query(&format!("{verb} ROLE {} {attributes}", identifier(role))).map(|_| ())
}

fn write_rules(session: &mut Session<'_>, path: &str, text: &str) -> Result<(), Failure> {
    session.write_file(path, text.trim_end())?;
    session.query("SELECT pg_catalog.pg_reload_conf()").map(|_| ())
}

/// Names of roles are cut after 63 bytes, so two of them may begin alike.
fn stand_in(superuser: &str) -> String {
    let sum = files::sha256(superuser.as_bytes());
    format!("multi_operator_stand_in_{}", &sum[..16])
}

#[cfg(test)]
mod tests {
    use super::gives_back;

    #[test]
    fn a_note_gives_back_a_login_and_nothing_else() {
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
