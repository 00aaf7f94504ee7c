//! The server of a test, and its clients.

use std::fs;
use std::process::{Child, Command, Output};

use crate::support::{Fixture, PASSWORD, signal, stderr};

/// A running server, killed when dropped.
pub struct Server<'a> {
    pub(super) fixture: &'a Fixture,
    pub(super) child: Option<Child>,
}

impl Server<'_> {
    pub fn psql(&self, user: &str, password: &str, database: &str, sql: &str) -> Output {
        self.client(user, password, database).args(["-c", sql]).output().unwrap()
    }

    pub fn client(&self, user: &str, password: &str, database: &str) -> Command {
        let mut command = self.fixture.program("psql");
        command.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", &self.fixture.host, "-U", user, "-d", database]);
        // Whatever a database or a role sets: tests run on busy machines.
        command.env("PGPASSWORD", password).env("PGOPTIONS", "-c statement_timeout=0");
        command
    }

    /// The result of the superuser's query.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.psql("boss", PASSWORD, database, sql);
        assert!(output.status.success(), "{sql}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn pid(&self) -> String {
        let text = fs::read_to_string(self.fixture.path("volume/data/postmaster.pid")).unwrap();
        text.lines().next().unwrap().to_owned()
    }

    /// Kills all processes at once, as when memory is short or a node fails.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        // A server that could not continue has exited by itself.
        if child.try_wait().unwrap().is_none() {
            let pid = self.pid();
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            signal("-KILL", &format!("{pid} {children}"));
        }
        let _ = child.wait();
    }

    pub fn stop(mut self) {
        signal("-INT", &self.pid());
        assert!(self.child.take().unwrap().wait().unwrap().success(), "{}", self.fixture.log());
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}
