//! The command `etcd-operator`: translates the flags of the archived operator of that name into flags of the manager.
//!
//! They have Go's syntax: one dash or two, `-flag=value` or `-flag value`; a boolean flag needs no value. All other settings come from
//! the environment variables of the manager's flags.

use std::path::Path;

use crate::args::BindAddress;

mod go;

use go::{FlagParser, GoFlag};

/// The program name by which the manager runs as this command.
pub const NAME: &str = "etcd-operator";

const NAMESPACE: &str = "MY_POD_NAMESPACE";
const POD: &str = "MY_POD_NAME";

const USAGE: &str = "\
Runs the operator of EtcdClusters, with the flags of the archived etcd-operator.

Usage: etcd-operator [flags]

  -cluster-wide           watch all namespaces, and manage the EtcdClusters that are annotated
                          etcd.database.coreos.com/scope: clusterwide; without it, those in the namespace
                          MY_POD_NAMESPACE that are not annotated
  -listen-addr ADDRESS    address of /metrics, /healthz and /readyz, over HTTP (default 0.0.0.0:8080)
  -create-crd             accepted; the CRDs come with the manifests
  -chaos-level NUMBER     ignored with a warning; values above 0 are rejected
  -gc-interval DURATION   ignored with a warning
  -version                print the version and exit
  -help                   print this and exit

MY_POD_NAMESPACE and MY_POD_NAME must be set. The environment variables that `manager --help` lists work too, except for
those that this command sets.
";

/// What a command line requests.
#[derive(Debug, PartialEq, Eq)]
pub enum LegacyCommand {
    /// To run with these flags of the manager.
    Run {
        /// Flags of the manager.
        flags: Vec<String>,
        /// Messages about flags with another effect than in the archived operator.
        notes: Vec<LogNote>,
    },
    /// To print this and exit.
    Print(String),
}

/// A message for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogNote {
    /// Information.
    Info(&'static str),
    /// A flag that is ignored.
    Warning(&'static str),
}

impl LogNote {
    /// Logs it.
    pub fn log(&self) {
        match self {
            Self::Info(text) => tracing::info!("{text}"),
            Self::Warning(text) => tracing::warn!("{text}"),
        }
    }
}

/// Whether a process of this program name is this command.
#[must_use]
pub fn is_called(program: &str) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == NAME)
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// A message: the command line or the environment is invalid.
pub fn read(arguments: &[String], environment: impl Fn(&str) -> Option<String>) -> Result<LegacyCommand, String> {
    let Some(flags) = Flags::read(arguments)? else { return Ok(LegacyCommand::Print(USAGE.to_owned())) };
    if flags.version {
        return Ok(LegacyCommand::Print(format!("{NAME} Version: {}\n", env!("CARGO_PKG_VERSION"))));
    }
    let variable = |name| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let (Some(namespace), Some(pod)) = (variable(NAMESPACE), variable(POD)) else {
        return Err(format!(
            "{NAMESPACE} and {POD} must both be set; set them by fieldRef from metadata.namespace and metadata.name"
        ));
    };
    Ok(LegacyCommand::Run { flags: flags.manager_flags(&namespace, &pod), notes: flags.notes() })
}

/// The flags of a command line.
struct Flags {
    cluster_wide: bool,
    listen_addr: BindAddress,
    create_crd: bool,
    version: bool,
    /// A message for each flag that is ignored.
    ignored: Vec<LogNote>,
}

impl Flags {
    /// `None` if the command line requests help.
    fn read(arguments: &[String]) -> Result<Option<Self>, String> {
        let listen_addr = ":8080".parse()?;
        let mut flags =
            Self { cluster_wide: false, listen_addr, create_crd: true, version: false, ignored: Vec::new() };
        let mut parser = FlagParser::new(arguments);
        while let Some(flag) = parser.next()? {
            match flag.name {
                "cluster-wide" => flags.cluster_wide = flag.boolean()?,
                "create-crd" => flags.create_crd = flag.boolean()?,
                "version" => flags.version = flag.boolean()?,
                "listen-addr" => flags.listen_addr = address(&flag, parser.value(&flag)?)?,
                "chaos-level" => flags.ignored.push(chaos_note(&flag, parser.value(&flag)?)?),
                "gc-interval" => {
                    parser.value(&flag)?;
                    flags.ignored.push(LogNote::Warning(
                        "-gc-interval is ignored: Kubernetes collects the garbage of this operator",
                    ));
                }
                "h" | "help" => return Ok(None),
                other => return Err(format!("unknown flag -{other}; {NAME} -help lists the flags")),
            }
        }
        Ok(Some(flags))
    }

    /// The flags of the manager. They take precedence over environment variables, which set all other flags.
    fn manager_flags(&self, namespace: &str, pod: &str) -> Vec<String> {
        let (watched, scope) = if self.cluster_wide { ("", "clusterwide") } else { (namespace, "namespaced") };
        let address = self.listen_addr;
        vec![
            format!("--controllers={}", etcd_cluster::EtcdClusterOperator::NAME),
            format!("--watch-namespaces={watched}"),
            format!("--etcd-scope={scope}"),
            format!("--lease-name={NAME}"),
            format!("--lease-namespace={namespace}"),
            format!("--identity={pod}"),
            format!("--metrics-bind-address={address}"),
            "--metrics-secure=false".to_owned(),
            format!("--health-probe-bind-address={address}"),
        ]
    }

    fn notes(mut self) -> Vec<LogNote> {
        if self.create_crd {
            self.ignored.push(LogNote::Info(
                "the manager does not create the CRD: install it with kubectl apply --server-side -k kustomize/crds; \
                 -create-crd=false turns this message off",
            ));
        }
        self.ignored
    }
}

fn address(flag: &GoFlag<'_>, value: &str) -> Result<BindAddress, String> {
    value.parse().map_err(|why: String| flag.invalid(value, &why))
}

fn chaos_note(flag: &GoFlag<'_>, value: &str) -> Result<LogNote, String> {
    match value.parse::<i64>() {
        Ok(..=0) => Ok(LogNote::Warning("-chaos-level is ignored: this operator does not inject faults")),
        Ok(_) => Err(flag.invalid(value, "this operator does not inject faults; remove the flag")),
        Err(_) => Err(flag.invalid(value, "the value must be an integer")),
    }
}

#[cfg(test)]
mod tests;
