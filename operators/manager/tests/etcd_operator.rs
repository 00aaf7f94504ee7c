//! The manager called by the name `etcd-operator`, up to where it would need a cluster.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

const IN_A_POD: [(&str, &str); 2] = [("MY_POD_NAMESPACE", "team-a"), ("MY_POD_NAME", "etcd-operator-1")];

fn called(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
    // The kubeconfig of the user who runs the test must not be found.
    command.arg0(name).args(arguments).env_clear().env("KUBECONFIG", "/nowhere").envs(environment.iter().copied());
    command.output().expect("the manager can be run")
}

fn ends(output: &Output, code: i32, message: &str) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.code() == Some(code) && text.contains(message), "{:?}: {text}", output.status);
}

#[test]
fn the_flags_are_those_of_the_archived_operator() {
    ends(&called("etcd-operator", &["-version"], &[]), 0, "etcd-operator Version: ");
    ends(&called("/usr/local/bin/etcd-operator", &["-help"], &[]), 0, "-cluster-wide");
    ends(&called("etcd-operator", &["-no-such-flag"], &IN_A_POD), 2, "unknown flag -no-such-flag");
    ends(&called("etcd-operator", &["-chaos-level=1"], &IN_A_POD), 2, "does not inject faults");
    ends(&called("etcd-operator", &["-cluster-wide"], &IN_A_POD[..1]), 2, "MY_POD_NAME must both be set");
    ends(&called("manager", &["-version"], &[]), 2, "unexpected argument");
}

#[test]
fn the_managers_environment_variables_apply() {
    ends(&called("etcd-operator", &[], &IN_A_POD), 1, "no cluster to talk to");
    let loud = [IN_A_POD[0], IN_A_POD[1], ("LOG_LEVEL", "runtime=loud")];
    ends(&called("etcd-operator", &[], &loud), 2, "info,runtime=debug");
}

#[test]
fn ignored_flags_are_logged() {
    let flags = ["-gc-interval", "10m", "-chaos-level=-1", "-cluster-wide"];
    let output = called("etcd-operator", &flags, &IN_A_POD);
    for message in ["kustomize/crds", "-gc-interval is ignored", "-chaos-level is ignored"] {
        ends(&output, 1, message);
    }
}
