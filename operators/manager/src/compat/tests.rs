//! Command lines of manifests for the archived operator.

use super::*;

const IN_A_POD: [(&str, &str); 2] = [(NAMESPACE, "team-a"), (POD, "etcd-operator-1")];

fn parse(line: &str, variables: &[(&str, &str)]) -> Result<LegacyCommand, String> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&arguments, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
}

fn run(line: &str) -> (Vec<String>, Vec<LogNote>) {
    match parse(line, &IN_A_POD) {
        Ok(LegacyCommand::Run { flags, notes }) => (flags, notes),
        other => panic!("{line}: {other:?}"),
    }
}

fn rejection(line: &str) -> String {
    parse(line, &IN_A_POD).expect_err(line)
}

#[test]
fn the_command_is_known_by_its_file_name() {
    for program in ["etcd-operator", "/usr/local/bin/etcd-operator", "./etcd-operator"] {
        assert!(is_called(program), "{program}");
    }
    for program in ["", "/", "manager", "/manager", "/etcd-operator/manager", "etcd-operator.old"] {
        assert!(!is_called(program), "{program}");
    }
}

#[test]
fn without_flags_it_watches_its_own_namespace() {
    let expected = [
        "--controllers=etcd-cluster",
        "--watch-namespaces=team-a",
        "--etcd-scope=namespaced",
        "--lease-name=etcd-operator",
        "--lease-namespace=team-a",
        "--identity=etcd-operator-1",
        "--metrics-bind-address=0.0.0.0:8080",
        "--metrics-secure=false",
        "--health-probe-bind-address=0.0.0.0:8080",
    ];
    assert_eq!(run("").0, expected);
}

#[test]
fn cluster_wide_watches_all_namespaces() {
    for line in ["-cluster-wide", "--cluster-wide", "-cluster-wide=true", "--cluster-wide=T", "-cluster-wide --"] {
        let flags = run(line).0;
        assert_eq!(flags[1..3], ["--watch-namespaces=", "--etcd-scope=clusterwide"], "{line}");
        assert_eq!(flags[4], "--lease-namespace=team-a", "{line}");
    }
    assert_eq!(run("-cluster-wide -cluster-wide=false"), run(""));
}

#[test]
fn values_follow_an_equals_sign_or_a_blank() {
    let lines = [
        "-listen-addr=:9090",
        "--listen-addr :9090",
        "-listen-addr 0.0.0.0:9090",
        "-listen-addr=:1 -listen-addr=:9090",
    ];
    for line in lines {
        let flags = run(line).0;
        assert_eq!(flags[6], "--metrics-bind-address=0.0.0.0:9090", "{line}");
        assert_eq!(flags[8], "--health-probe-bind-address=0.0.0.0:9090", "{line}");
    }
    assert_eq!(rejection("-listen-addr"), "-listen-addr needs a value");
    assert!(rejection("-listen-addr here").contains("IP:PORT"));
    // As in Go, the next argument is the value, even if it looks like a flag.
    assert!(rejection("-listen-addr -cluster-wide").starts_with("-listen-addr: invalid value \"-cluster-wide\""));
}

#[test]
fn ignored_flags_are_logged() {
    let crd = |notes: &[LogNote]| notes.iter().any(|note| matches!(note, LogNote::Info(text) if text.contains("CRD")));
    assert!(crd(&run("").1) && crd(&run("-create-crd").1) && crd(&run("-create-crd=1").1));
    assert_eq!(run("-create-crd=false").1, []);
    let warnings = run("-create-crd=false -chaos-level -1 -gc-interval=10m").1;
    let warns =
        |text: &str| warnings.iter().any(|note| matches!(note, LogNote::Warning(warning) if warning.contains(text)));
    assert!(warnings.len() == 2 && warns("-chaos-level") && warns("-gc-interval"), "{warnings:?}");
}

#[test]
fn chaos_is_rejected() {
    let why = "-chaos-level: invalid value \"1\": this operator does not inject faults; remove the flag";
    assert_eq!(rejection("-chaos-level=1"), why);
    assert!(rejection("-chaos-level some").contains("integer"));
}

#[test]
fn arguments_that_are_not_flags_are_rejected() {
    for line in ["true", "-cluster-wide true", "-- -cluster-wide", "-"] {
        assert!(rejection(line).contains("no other arguments"), "{line}");
    }
    for line in ["---cluster-wide", "-=x", "--=x"] {
        assert!(rejection(line).contains("is not a flag: use -name"), "{line}");
    }
    assert!(rejection("-pv-provisioner=x").contains("unknown flag -pv-provisioner"));
    assert!(rejection("-cluster-wide=perhaps").contains("true or false"));
}

#[test]
fn version_and_help_need_no_pod() {
    let printed = |line| match parse(line, &[]) {
        Ok(LegacyCommand::Print(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(printed("-version"), format!("etcd-operator Version: {}\n", env!("CARGO_PKG_VERSION")));
    for line in ["-h", "-help", "--help", "-cluster-wide -h"] {
        assert!(printed(line).contains("-cluster-wide"), "{line}");
    }
    for line in ["-version=false", ""] {
        assert!(parse(line, &[]).is_err(), "{line}");
    }
}

#[test]
fn both_variables_are_required() {
    let blank = [(NAMESPACE, "team-a"), (POD, " ")];
    for variables in [&[][..], &IN_A_POD[..1], &IN_A_POD[1..], &blank] {
        let why = parse("", variables).unwrap_err();
        assert!(why.starts_with("MY_POD_NAMESPACE and MY_POD_NAME must both be set"), "{why}");
    }
}
