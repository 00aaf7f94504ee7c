//! The command `etcd-operator`: what the archived operator of that name took, in the manager's own flags.
//!
//! Its flags are Go's: one dash or two, `-flag=value` or `-flag value`, and switches that stand alone. Everything else
//! still comes from the environment twins of the manager's flags.

use std::path::Path;

use crate::args::BindAddress;

mod go;

use go::{Word, Words};

/// The name by which the manager is this command.
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

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// To run with these flags of the manager.
    Run {
        /// The manager's flags.
        flags: Vec<String>,
        /// What to say in the log of flags that are not what they were.
        notes: Vec<Note>,
    },
    /// To print this and end.
    Print(String),
}

/// Something to say in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Something that is good to know.
    Info(&'static str),
    /// A flag that does nothing.
    Warning(&'static str),
}

impl Note {
    /// Says it.
    pub fn say(&self) {
        match self {
            Self::Info(text) => tracing::info!("{text}"),
            Self::Warning(text) => tracing::warn!("{text}"),
        }
    }
}

/// Whether a process called so is this command.
#[must_use]
pub fn is_called(program: &str) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == NAME)
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// What is wrong with it, or with the environment, in a sentence.
pub fn read(arguments: &[String], environment: impl Fn(&str) -> Option<String>) -> Result<Asked, String> {
    let Some(flags) = Flags::read(arguments)? else { return Ok(Asked::Print(USAGE.to_owned())) };
    if flags.version {
        return Ok(Asked::Print(format!("{NAME} Version: {}\n", env!("CARGO_PKG_VERSION"))));
    }
    let variable = |name| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let (Some(namespace), Some(pod)) = (variable(NAMESPACE), variable(POD)) else {
        return Err(format!(
            "{NAMESPACE} and {POD} must both be set: give them by fieldRef from metadata.namespace and metadata.name"
        ));
    };
    Ok(Asked::Run { flags: flags.of_the_manager(&namespace, &pod), notes: flags.notes() })
}

/// The flags, as they were given.
struct Flags {
    cluster_wide: bool,
    listen_addr: BindAddress,
    create_crd: bool,
    version: bool,
    /// Those that do nothing.
    idle: Vec<Note>,
}

impl Flags {
    /// `None` if help is asked for.
    fn read(arguments: &[String]) -> Result<Option<Self>, String> {
        let listen_addr = ":8080".parse()?;
        let mut flags = Self { cluster_wide: false, listen_addr, create_crd: true, version: false, idle: Vec::new() };
        let mut words = Words::new(arguments);
        while let Some(word) = words.next()? {
            match word.name {
                "cluster-wide" => flags.cluster_wide = word.switch()?,
                "create-crd" => flags.create_crd = word.switch()?,
                "version" => flags.version = word.switch()?,
                "listen-addr" => flags.listen_addr = address(&word, words.value(&word)?)?,
                "chaos-level" => flags.idle.push(calm(&word, words.value(&word)?)?),
                "gc-interval" => {
                    words.value(&word)?;
                    flags
                        .idle
                        .push(Note::Warning("-gc-interval is ignored: there is no collection of garbage to time"));
                }
                "h" | "help" => return Ok(None),
                other => return Err(format!("there is no flag -{other}: {NAME} -help lists what there is")),
            }
        }
        Ok(Some(flags))
    }

    /// The same in the manager's flags, which go before its variables. Of what is left out, variables decide.
    fn of_the_manager(&self, namespace: &str, pod: &str) -> Vec<String> {
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

    fn notes(mut self) -> Vec<Note> {
        if self.create_crd {
            self.idle.push(Note::Info(
                "the CRD is not created by this process: kubectl apply --server-side -k kustomize/crds does that \
                 (-create-crd=false says that you know)",
            ));
        }
        self.idle
    }
}

fn address(word: &Word<'_>, value: &str) -> Result<BindAddress, String> {
    value.parse().map_err(|why: String| word.invalid(value, &why))
}

fn calm(word: &Word<'_>, value: &str) -> Result<Note, String> {
    match value.parse::<i64>() {
        Ok(..=0) => Ok(Note::Warning("-chaos-level is ignored: this operator breaks nothing on purpose")),
        Ok(_) => Err(word.invalid(value, "this operator breaks nothing on purpose; leave the flag out")),
        Err(_) => Err(word.invalid(value, "it takes a whole number")),
    }
}

#[cfg(test)]
mod tests;
