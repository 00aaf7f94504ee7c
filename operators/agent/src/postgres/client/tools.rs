//! The engine's own programs: where they are, and how the agent runs them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::diagnosis;
use crate::postgres::client::quote;
use crate::postgres::client::version_number;

/// The environment variables with the passwords of the superuser and of the application's role, which no output may show.
pub(crate) const PASSWORD: &str = "PGPASSWORD";
pub(crate) const OWNER_PASSWORD: &str = "OWNER_PASSWORD";

#[derive(Debug)]
pub(crate) struct Tools {
    directory: PathBuf,
    secrets: Vec<String>,
    version: OnceLock<String>,
}

impl Tools {
    /// The directory of the server's own program, since on Debian the clients in PATH are wrappers which need Perl.
    ///
    /// PATH comes first (the official images have the directory there), then where Debian and PGDG put it.
    pub(crate) fn find() -> Result<Self, CommandFailure> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directory = std::env::split_paths(&path)
            .chain(versions(Path::new("/usr/lib/postgresql")))
            .chain([PathBuf::from("/usr/local/bin")])
            .find(|directory| directory.join("postgres").is_file() && directory.join("initdb").is_file());
        let message = "there is no PostgreSQL in PATH, in /usr/lib/postgresql/*/bin or in /usr/local/bin";
        let directory = directory.ok_or_else(|| CommandFailure::new(Reason::ToolMissing, message))?;
        let secrets = [PASSWORD, OWNER_PASSWORD].into_iter().filter_map(|name| std::env::var(name).ok()).collect();
        Ok(Self { directory, secrets, version: OnceLock::new() })
    }

    /// A program of the engine, without the environment variables that would change its connections.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.directory.join(program));
        for (name, _) in std::env::vars_os() {
            let own = name.to_string_lossy();
            if (own.starts_with("PG") && !own.starts_with("PGSSL")) || own == OWNER_PASSWORD {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").env("PGCONNECT_TIMEOUT", "10").env("PGAPPNAME", "multi-operator");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a program until it exits. Returns its output, or a failure from its standard error.
    pub(crate) fn run(&self, command: &mut Command, otherwise: Reason) -> Result<String, CommandFailure> {
        let program = name(command);
        let output = command.output().map_err(|error| self.not_started(&program, &error))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let stderr = if stderr.trim().is_empty() { output.status.to_string() } else { stderr.into_owned() };
            return Err(self.failure(&program, &stderr, otherwise));
        }
        if !stderr.trim().is_empty() {
            eprintln!("{}", diagnosis::excerpt(&stderr, &self.secrets));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) fn not_started(&self, program: &str, error: &std::io::Error) -> CommandFailure {
        CommandFailure::new(
            Reason::ToolMissing,
            format!("{program} in {} cannot be run: {error}", self.directory.display()),
        )
    }

    /// A failure from what a program wrote to its standard error.
    pub(crate) fn failure(&self, program: &str, stderr: &str, otherwise: Reason) -> CommandFailure {
        CommandFailure::new(
            diagnosis::classify(stderr, otherwise),
            format!("{program}: {}", diagnosis::excerpt(stderr, &self.secrets)),
        )
    }

    /// The major version of the programs; 0 if they do not report it.
    pub(crate) fn major(&self) -> u32 {
        self.version().ok().and_then(|version| version_number::major(&version)).unwrap_or_default()
    }

    /// The version of the programs: 15.18. It is read once.
    pub(crate) fn version(&self) -> Result<String, CommandFailure> {
        if let Some(version) = self.version.get() {
            return Ok(version.clone());
        }
        let printed = self.run(self.command("postgres").arg("--version"), Reason::ToolFailed)?;
        let message =
            || CommandFailure::new(Reason::ToolFailed, format!("postgres reports no version: {}", printed.trim()));
        let version = version_number::parse(&printed).ok_or_else(message)?;
        Ok(self.version.get_or_init(|| version.to_owned()).clone())
    }
}

/// The directories of all versions: first the one that PG_MAJOR names, then from the newest to the oldest.
fn versions(directory: &Path) -> Vec<PathBuf> {
    let named = std::env::var("PG_MAJOR").ok().and_then(|text| text.parse::<u32>().ok());
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let mut found: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    found.sort_by_key(|version| (Some(*version) != named, std::cmp::Reverse(*version)));
    found.into_iter().map(|version| directory.join(version.to_string()).join("bin")).collect()
}

pub(crate) fn name(command: &Command) -> String {
    let path = Path::new(command.get_program());
    path.file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
}

/// A server's address, and the role to connect as.
#[derive(Clone)]
pub(crate) struct Connection {
    /// A name or an address, or the directory of a socket.
    host: String,
    port: String,
    pub(crate) user: String,
    password: Option<String>,
    /// Settings that only a superuser may set, and only servers of 17 and later have.
    guard: &'static str,
}

/// A superuser may have created an event trigger with a function of another role. It would run in the sessions of every
/// superuser: at each login (17 and later), and at each definition.
const NO_EVENT_TRIGGERS: &str = " -c event_triggers=off";

impl Connection {
    /// From PGHOST, PGPORT (5432), PGUSER (postgres) and PGPASSWORD in the environment.
    pub(crate) fn from_environment() -> Result<Self, CommandFailure> {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let message = "PGHOST is not set: the agent needs the host of the server";
        Ok(Self {
            host: value("PGHOST").ok_or_else(|| CommandFailure::new(Reason::BadInput, message))?,
            port: value("PGPORT").unwrap_or_else(|| "5432".into()),
            user: superuser(),
            password: value(PASSWORD),
            guard: "",
        })
    }

    /// The same superuser, at a server of the same version as the programs.
    pub(crate) fn of_this_version(self, tools: &Tools) -> Self {
        Self { guard: if tools.major() >= 17 { NO_EVENT_TRIGGERS } else { "" }, ..self }
    }

    /// A private server, which trusts all clients of its socket.
    pub(crate) fn local(socket: &Path, user: &str) -> Self {
        let host = socket.to_string_lossy().into_owned();
        Self { host, port: "5432".into(), user: user.into(), password: None, guard: "" }
    }

    /// The same user, at another server.
    pub(crate) fn with_server(&self, host: &str, port: Option<&str>) -> Self {
        Self { host: host.into(), port: port.map_or_else(|| self.port.clone(), Into::into), ..self.clone() }
    }

    pub(crate) fn with_user(&self, user: &str, password: Option<&str>) -> Self {
        Self { user: user.into(), password: password.map(Into::into), guard: "", ..self.clone() }
    }

    /// A client program with the server's address, and the password in its environment; it never prompts.
    pub(crate) fn client(&self, tools: &Tools, program: &str) -> Command {
        let mut command = tools.command(program);
        command.env("PGHOST", &self.host).env("PGPORT", &self.port);
        if let Some(password) = &self.password {
            command.env(PASSWORD, password);
        }
        command.arg("--no-password").arg(format!("--username={}", self.user));
        command
    }

    /// The same for a program whose connection string names the database, with settings (`-c name=value`) of its sessions.
    pub(crate) fn client_of(&self, tools: &Tools, program: &str, database: &str, settings: &str) -> Command {
        let mut command = self.client(tools, program);
        command.arg(format!("--dbname={}", quote::database(database)));
        command.env("PGOPTIONS", format!("{settings}{}", self.guard));
        command
    }
}

/// PGUSER, or else the name that the official image gives its superuser.
pub(crate) fn superuser() -> String {
    std::env::var("PGUSER").ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "postgres".into())
}
