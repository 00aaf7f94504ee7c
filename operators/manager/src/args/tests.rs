//! Flags, as users and OLM write them.

use my_app::plan::OverrideLimit;

use super::*;

fn parse(flags: &[&str]) -> Result<Args, String> {
    Args::try_parse_from([&["manager"], flags].concat()).map_err(|error| error.to_string())
}

#[test]
fn the_definition_is_valid_and_every_flag_has_an_environment_variable() {
    Args::command().debug_assert();
    for argument in Args::command().get_arguments().filter(|argument| argument.get_long().is_some()) {
        assert!(argument.get_env().is_some(), "--{} has none", argument.get_id());
    }
}

#[test]
fn defaults_are_as_documented() {
    let args = parse(&[]).unwrap();
    assert_eq!(args.controllers, ControllerSelection(None));
    assert_eq!(args.watch_namespaces, WatchedNamespaces::default());
    assert_eq!((args.concurrency, args.reconcile_timeout, args.worker_threads), (8, Duration::from_secs(60), 2));
    assert_eq!(args.metrics_bind_address.to_string(), "0.0.0.0:8443");
    assert_eq!(args.health_probe_bind_address.to_string(), "0.0.0.0:8081");
    assert!(args.metrics_secure && !args.no_leader_election && !args.take_over);
    assert!(matches!(args.etcd_scope, Scope::Auto) && args.agent_image.is_none());
    assert_eq!(args.pod_overrides, OverrideLimit::Placement);
}

#[test]
fn the_limit_of_pod_overrides_is_parsed() {
    assert_eq!(parse(&["--pod-overrides=all"]).unwrap().pod_overrides, OverrideLimit::All);
    assert!(parse(&["--pod-overrides=some"]).unwrap_err().contains("none, placement or all"));
}

#[test]
fn flags_of_etcd_clusters_are_validated() {
    assert!(matches!(parse(&["--etcd-scope=clusterwide"]).unwrap().etcd_scope, Scope::Clusterwide));
    let why = parse(&["--etcd-scope=everything"]).unwrap_err();
    assert!(["auto", "namespaced", "clusterwide"].iter().all(|scope| why.contains(scope)), "{why}");
    assert_eq!(parse(&["--agent-image", " i:1"]).unwrap().agent_image.as_deref(), Some("i:1"));
    for junk in ["", " ", "two words"] {
        assert!(parse(&["--agent-image", junk]).unwrap_err().contains("as in a pod"), "{junk:?}");
    }
}

#[test]
fn the_flags_of_etcd_operator_are_flags_of_the_manager() {
    let pod = |name: &str| name.starts_with("MY_POD_").then(|| "team-a".to_owned());
    for arguments in [&[][..], &["-cluster-wide".to_owned(), "-listen-addr=:9090".to_owned()]] {
        let Ok(LegacyCommand::Run { flags, .. }) = compat::read(arguments, pod) else { panic!("{arguments:?}") };
        let args = parse(&flags.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(args.watch_namespaces.0.is_empty(), !arguments.is_empty());
        assert_eq!(args.metrics_bind_address, args.health_probe_bind_address);
        assert_eq!(args.lease("elsewhere").to_string(), "team-a/etcd-operator");
    }
}

#[test]
fn namespaces_are_trimmed_and_deduplicated() {
    assert_eq!("".parse(), Ok(WatchedNamespaces(vec![])));
    assert_eq!(" , ".parse(), Ok(WatchedNamespaces(vec![])));
    assert_eq!("b, a ,b,".parse(), Ok(WatchedNamespaces(vec!["b".into(), "a".into()])));
    for junk in ["Upper", "under_score", "-dash", "dash-", "a.b", &"x".repeat(64)] {
        assert!(junk.parse::<WatchedNamespaces>().unwrap_err().contains("at most 63"), "{junk}");
    }
}

#[test]
fn controllers_are_chosen_from_the_known() {
    let known = ["my-app", "sample"];
    let select = |text: &str| text.parse::<ControllerSelection>().unwrap().select(&known);
    assert_eq!(select("*"), Ok(vec!["my-app", "sample"]));
    assert_eq!(select(""), Ok(vec!["my-app", "sample"]));
    assert_eq!(select("sample, my-app,sample"), Ok(vec!["my-app", "sample"]));
    assert_eq!(select("sample"), Ok(vec!["sample"]));
    assert_eq!(select("etcd").unwrap_err(), "unknown controller \"etcd\"; use my-app, sample, or * for all");
}

#[test]
fn addresses_are_full_or_a_port_or_off() {
    let address = |text: &str| text.parse::<BindAddress>().map(|address| address.to_string());
    assert_eq!(address("0"), Ok("0".into()));
    assert_eq!(address(":8443"), Ok("0.0.0.0:8443".into()));
    assert_eq!(address("[::1]:9"), Ok("[::1]:9".into()));
    for junk in ["", "8443", "localhost:1", "1.2.3.4", ":99999"] {
        assert!(address(junk).unwrap_err().contains("127.0.0.1:8443"), "{junk}");
    }
}

#[test]
fn boolean_flags_need_no_value() {
    assert!(parse(&["--take-over"]).unwrap().take_over);
    assert!(!parse(&["--take-over=false"]).unwrap().take_over);
    assert!(!parse(&["--metrics-secure=false"]).unwrap().metrics_secure);
    assert!(parse(&["--take-over=perhaps"]).unwrap_err().contains("true or false"));
    assert_eq!((boolean("On"), boolean("0")), (Ok(true), Ok(false)));
}

#[test]
fn errors_name_the_bounds_of_numbers_and_levels() {
    assert!(parse(&["--concurrency", "257"]).unwrap_err().contains("1 to 256"));
    assert!(parse(&["--concurrency", "many"]).unwrap_err().contains("1 to 256"));
    assert!(parse(&["--reconcile-timeout", "0"]).unwrap_err().contains("1 to 3600"));
    assert!(parse(&["--log-level", "runtime=loud"]).unwrap_err().contains("info,runtime=debug"));
    assert!(parse(&["--log-format", "xml"]).unwrap_err().contains("text or json"));
    assert!(parse(&["--lease-name", "Not_A_Name"]).unwrap_err().contains("a-z"));
}

#[test]
fn the_namespace_of_the_lease_is_that_of_the_flag_else_of_the_pod_else_of_the_client() {
    let lease = |flags: &[&str]| parse(flags).unwrap().lease("inferred").to_string();
    assert_eq!(lease(&["--lease-namespace", "flag", "--pod-namespace", "pod"]), "flag/multi-operator");
    assert_eq!(lease(&["--pod-namespace", "pod"]), "pod/multi-operator");
    assert_eq!(lease(&["--lease-name", "other"]), "inferred/other");
}
