//! Command lines of old manifests.

use super::*;

const IN_A_POD: [(&str, &str); 2] = [(NAMESPACE, "team-a"), (POD, "etcd-operator-1")];

fn ask(line: &str, variables: &[(&str, &str)]) -> Result<Asked, String> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&arguments, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
}

fn run(line: &str) -> (Vec<String>, Vec<Note>) {
    match ask(line, &IN_A_POD) {
        Ok(Asked::Run { flags, notes }) => (flags, notes),
        other => panic!("{line}: {other:?}"),
    }
}

fn refused(line: &str) -> String {
    ask(line, &IN_A_POD).expect_err(line)
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
    assert_eq!(refused("-listen-addr"), "-listen-addr needs a value");
    assert!(refused("-listen-addr here").contains("IP:PORT"));
    // As in Go, the next word is the value, whatever it looks like.
    assert!(refused("-listen-addr -cluster-wide").starts_with("-listen-addr cannot be \"-cluster-wide\""));
}

#[test]
fn flags_that_do_nothing_are_told() {
    let crd = |notes: &[Note]| notes.iter().any(|note| matches!(note, Note::Info(text) if text.contains("CRD")));
    assert!(crd(&run("").1) && crd(&run("-create-crd").1) && crd(&run("-create-crd=1").1));
    assert_eq!(run("-create-crd=false").1, []);
    let warnings = run("-create-crd=false -chaos-level -1 -gc-interval=10m").1;
    let said = |text: &str| warnings.iter().any(|note| matches!(note, Note::Warning(said) if said.contains(text)));
    assert!(warnings.len() == 2 && said("-chaos-level") && said("-gc-interval"), "{warnings:?}");
}

#[test]
fn chaos_is_refused() {
    let why = "-chaos-level cannot be \"1\": this operator breaks nothing on purpose; leave the flag out";
    assert_eq!(refused("-chaos-level=1"), why);
    assert!(refused("-chaos-level some").contains("whole number"));
}

#[test]
fn what_is_no_flag_is_refused_instead_of_forgotten() {
    for line in ["true", "-cluster-wide true", "-- -cluster-wide", "-"] {
        assert!(refused(line).contains("only flags are taken"), "{line}");
    }
    for line in ["---cluster-wide", "-=x", "--=x"] {
        assert!(refused(line).contains("is no flag: a flag is -name"), "{line}");
    }
    assert!(refused("-pv-provisioner=x").contains("there is no flag -pv-provisioner"));
    assert!(refused("-cluster-wide=perhaps").contains("true or false"));
}

#[test]
fn version_and_help_need_no_pod() {
    let printed = |line| match ask(line, &[]) {
        Ok(Asked::Print(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(printed("-version"), format!("etcd-operator Version: {}\n", env!("CARGO_PKG_VERSION")));
    for line in ["-h", "-help", "--help", "-cluster-wide -h"] {
        assert!(printed(line).contains("-cluster-wide"), "{line}");
    }
    for line in ["-version=false", ""] {
        assert!(ask(line, &[]).is_err(), "{line}");
    }
}

#[test]
fn both_variables_are_needed() {
    let blank = [(NAMESPACE, "team-a"), (POD, " ")];
    for variables in [&[][..], &IN_A_POD[..1], &IN_A_POD[1..], &blank] {
        let why = ask("", variables).unwrap_err();
        assert!(why.starts_with("MY_POD_NAMESPACE and MY_POD_NAME must both be set"), "{why}");
    }
}
