//! Flags. Each has an environment variable, because OLM can set nothing else; an empty variable counts as unset.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::Resettable;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser};
use etcd_cluster::Scope;
use runtime::leader_election::LeaseName;
use runtime::telemetry::{LogFormat, parse_filter};

use crate::compat::{self, LegacyCommand, LogNote};
use crate::error::ManagerError;

mod bind_address;

pub use bind_address::BindAddress;

/// Runs the operators of multi-operator: one process, one cache, several controllers.
#[derive(Clone, Debug, Parser)]
#[command(name = "manager", version)]
pub struct Args {
    /// Controllers to run, separated by commas; * runs all of them
    #[arg(long, env = "CONTROLLERS", default_value = "*")]
    pub controllers: ControllerSelection,

    /// Namespaces to watch, separated by commas; empty watches all. For a list, permissions within them are enough
    #[arg(long = "watch-namespaces", env = "WATCH_NAMESPACE", default_value = "", value_name = "NAMESPACES")]
    pub watch_namespaces: WatchedNamespaces,

    /// Which EtcdClusters to manage: clusterwide, those with the annotation; namespaced, those without it; auto, both if the
    /// manager watches all namespaces, else those without it
    #[arg(long, env = "ETCD_SCOPE", default_value = "auto", value_name = "SCOPE")]
    pub etcd_scope: Scope,

    /// Image whose /agent runs in the pods of etcd members, databases and their Jobs [default: the image of this manager's
    /// own pod]
    #[arg(long, env = "AGENT_IMAGE", value_parser = image, value_name = "IMAGE")]
    pub agent_image: Option<String>,

    /// Which pod fields MyApps may override: none, placement (where pods run; labels and annotations) or all
    #[arg(long, env = "POD_OVERRIDES", default_value_t, value_name = "LIMIT")]
    pub pod_overrides: my_app::plan::OverrideLimit,

    /// Name of the Lease that elects a leader, and names this install
    #[arg(long, env = "LEASE_NAME", default_value = "multi-operator", value_parser = object_name)]
    pub lease_name: String,

    /// Namespace of the Lease [default: POD_NAMESPACE, else that of the service account or kubeconfig]
    #[arg(long, env = "LEASE_NAMESPACE", value_parser = namespace)]
    lease_namespace: Option<String>,

    #[arg(long, env = "POD_NAMESPACE", hide = true, value_parser = namespace)]
    pod_namespace: Option<String>,

    /// Identity of this process in the Lease; the manager appends a random part [default: the host name]
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub identity: Option<String>,

    /// Disable leader election. Use only if no other replica can run
    #[arg(long, env = "NO_LEADER_ELECTION", value_parser = boolean, default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub no_leader_election: bool,

    /// Take over objects that another install manages, even if its Lease is held or cannot be read
    #[arg(long, env = "TAKE_OVER", value_parser = boolean, default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub take_over: bool,

    /// Format of log lines, which go to stderr: text or json
    #[arg(long, env = "LOG_FORMAT", default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,

    /// Log level: error, warn, info, debug, trace, off, or directives such as info,runtime=debug
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_parser = log_level, value_name = "FILTER")]
    pub log_level: String,

    /// Objects that each controller reconciles concurrently, 1 to 256
    #[arg(long, env = "CONCURRENCY", default_value = "8", value_parser = concurrency, value_name = "NUMBER")]
    pub concurrency: usize,

    /// Seconds that one reconcile may take, 1 to 3600
    #[arg(long, env = "RECONCILE_TIMEOUT", default_value = "60", value_parser = timeout, value_name = "SECONDS")]
    pub reconcile_timeout: Duration,

    /// Address of /metrics: ADDRESS:PORT or :PORT; 0 disables metrics
    #[arg(long, env = "METRICS_BIND_ADDRESS", default_value = "0.0.0.0:8443", value_name = "ADDRESS")]
    pub metrics_bind_address: BindAddress,

    /// Serve metrics over HTTPS, to clients that the API server authorizes. If false: over HTTP, to every client, so bind to
    /// 127.0.0.1
    #[arg(long, env = "METRICS_SECURE", value_parser = boolean, default_value = "true", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub metrics_secure: bool,

    /// Directory with tls.crt and tls.key for metrics, which the manager rereads when they change [default: a self-signed
    /// certificate]
    #[arg(long, env = "METRICS_CERT_DIR", value_name = "DIRECTORY")]
    pub metrics_cert_dir: Option<PathBuf>,

    /// Address of /healthz and /readyz, over HTTP: ADDRESS:PORT or :PORT; 0 disables them. May be the address of metrics over
    /// HTTP
    #[arg(long, env = "HEALTH_PROBE_BIND_ADDRESS", default_value = "0.0.0.0:8081", value_name = "ADDRESS")]
    pub health_probe_bind_address: BindAddress,

    /// Threads that run controllers, 1 to 64
    #[arg(long, env = "WORKER_THREADS", default_value = "2", value_parser = threads, value_name = "NUMBER")]
    pub worker_threads: usize,

    /// Messages for the log, written once it is initialized.
    #[arg(skip)]
    pub notes: Vec<LogNote>,
}

impl Args {
    /// Parses flags and environment, as the command that the program name selects. On `--help` and on errors, prints a message and
    /// exits.
    #[must_use]
    pub fn read() -> Self {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let text = |argument: &OsString| argument.to_string_lossy().into_owned();
        let program = arguments.first().map(text).unwrap_or_default();
        if !compat::is_called(&program) {
            return Self::parsed(&arguments);
        }
        let legacy: Vec<String> = arguments.iter().skip(1).map(text).collect();
        match compat::read(&legacy, |name| std::env::var(name).ok()) {
            Ok(LegacyCommand::Run { flags, notes }) => {
                let arguments: Vec<OsString> = std::iter::once(program).chain(flags).map(OsString::from).collect();
                Self { notes, ..Self::parsed(&arguments) }
            }
            Ok(LegacyCommand::Print(text)) => {
                print!("{text}");
                std::process::exit(0);
            }
            Err(why) => {
                eprintln!("{}: {why}", compat::NAME);
                std::process::exit(2);
            }
        }
    }

    /// Parses these flags, and nothing of the environment.
    ///
    /// # Errors
    /// A flag is unknown or its value invalid.
    pub fn of(flags: &[&str]) -> Result<Self, ManagerError> {
        let command = Self::command().mut_args(|argument| argument.env(Resettable::Reset));
        let arguments = std::iter::once("manager").chain(flags.iter().copied());
        Ok(Self::from_arg_matches(&command.try_get_matches_from(arguments)?)?)
    }

    fn parsed(arguments: &[OsString]) -> Self {
        let command = Self::command().mut_args(|argument| {
            let value = argument.get_env().and_then(std::env::var_os);
            if value.is_some_and(|value| value.is_empty()) { argument.env(Resettable::Reset) } else { argument }
        });
        Self::from_arg_matches(&command.get_matches_from(arguments)).unwrap_or_else(|error| error.exit())
    }

    /// The Lease to contend for; `inferred` is the namespace of the service account or kubeconfig.
    #[must_use]
    pub fn lease(&self, inferred: &str) -> LeaseName {
        let given = [&self.lease_namespace, &self.pod_namespace].into_iter().flatten().next();
        LeaseName { namespace: given.map_or(inferred, String::as_str).to_owned(), name: self.lease_name.clone() }
    }
}

/// Which controllers to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerSelection(Option<Vec<String>>);

impl ControllerSelection {
    /// The selected ones of `known`, in the order of `known`.
    ///
    /// # Errors
    /// A message that lists `known`: a selected name is not among them.
    pub fn select<'known>(&self, known: &[&'known str]) -> Result<Vec<&'known str>, String> {
        let Some(wanted) = &self.0 else { return Ok(known.to_vec()) };
        match wanted.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!("unknown controller {name:?}; use {}, or * for all", known.join(", "))),
            None => Ok(known.iter().copied().filter(|name| wanted.iter().any(|wanted| wanted == name)).collect()),
        }
    }
}

impl FromStr for ControllerSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = list(text);
        Ok(Self(if names.is_empty() || names.iter().any(|name| name == "*") { None } else { Some(names) }))
    }
}

/// The namespaces to watch; an empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedNamespaces(pub Vec<String>);

impl FromStr for WatchedNamespaces {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list(text).iter().map(|name| namespace(name)).collect::<Result<_, _>>().map(Self)
    }
}

/// The entries of a comma-separated list in their order, trimmed, without duplicates and empty ones.
fn list(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    matches!(bytes.len(), 1..=63)
        && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|byte| alphanumeric(*byte))
}

fn namespace(text: &str) -> Result<String, String> {
    let name = text.trim();
    if is_label(name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "{name:?} is not a valid namespace: use at most 63 of a-z, 0-9 and -, starting and ending with a letter or digit"
    ))
}

fn object_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if runtime::names::is_dns_subdomain(name) {
        return Ok(name.to_owned());
    }
    Err("the name is invalid: use at most 253 of a-z, 0-9, - and ., starting and ending with a letter or digit"
        .to_owned())
}

fn image(text: &str) -> Result<String, String> {
    let name = text.trim();
    if !name.is_empty() && !name.contains(char::is_whitespace) {
        return Ok(name.to_owned());
    }
    Err("the value must be an image reference as in a pod, such as registry.example.com/multi-operator:1.0".to_owned())
}

fn boolean(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("the value must be true or false".to_owned()),
    }
}

fn log_level(text: &str) -> Result<String, String> {
    parse_filter(text).map(|_| text.to_owned())
}

fn within(text: &str, low: usize, high: usize) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| format!("the value must be an integer from {low} to {high}"))
}

fn concurrency(text: &str) -> Result<usize, String> {
    within(text, 1, 256)
}

fn timeout(text: &str) -> Result<Duration, String> {
    within(text, 1, 3600).map(|seconds| Duration::from_secs(seconds as u64))
}

fn threads(text: &str) -> Result<usize, String> {
    within(text, 1, 64)
}

#[cfg(test)]
mod tests;
