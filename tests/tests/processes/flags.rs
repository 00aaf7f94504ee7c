//! Flags: invalid ones end the manager with a message, valid ones take effect.

use std::time::Duration;

use e2e::process::{Launch, output};
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure};

pub async fn invalid_flags_end_the_manager_with_a_message(stage: Stage) -> Result<(), Failure> {
    let cases: [(&[&str], &str); 11] = [
        (&["--watch-namespaces", "Not_A_Namespace"], "is not a valid namespace"),
        (&["--lease-namespace", "a/b"], "is not a valid namespace"),
        (&["--lease-name", "UPPER"], "the name is invalid: use at most 253 of a-z"),
        (&["--concurrency", "0"], "from 1 to 256"),
        (&["--reconcile-timeout", "soon"], "from 1 to 3600"),
        (&["--metrics-bind-address", "here"], "IP:PORT"),
        (&["--log-format", "xml"], "text or json"),
        (&["--take-over=maybe"], "true or false"),
        (&["--etcd-scope=everything"], "clusterwide"),
        (&["--agent-image="], "as in a pod"),
        (&["--no-such-flag"], "--no-such-flag"),
    ];
    for (arguments, sentence) in cases {
        let (code, _, stderr) = output(arguments, &[]).await?;
        ensure(code == Some(2) && stderr.contains(sentence), || {
            format!("{arguments:?} ended with {code:?}: {stderr}")
        })?;
    }
    // The same from the environment, where the variable has to be found.
    let (code, _, stderr) = output(&[], &[("CONCURRENCY", "many")]).await?;
    ensure(code == Some(2) && stderr.contains("from 1 to 256"), || format!("CONCURRENCY=many: {code:?}: {stderr}"))?;
    let (code, _, stderr) = output(&[], &[("KUBECONFIG", "/nowhere")]).await?;
    ensure(code == Some(1) && stderr.contains("no cluster to talk to: set KUBECONFIG"), || {
        format!("{code:?}: {stderr}")
    })?;

    let install = stage.install().await?;
    let mut manager = Launch::default().flag("--controllers=sample,samples").start(&install)?;
    let (status, _) = manager.ends(DEFAULT_TIMEOUT).await?;
    let log = manager.log();
    let reported = log.contains(
        "unknown controller \"samples\"; use my-app, sample, sample-db, sample-db-snapshot, etcd-cluster, etcd-backup, etcd-restore, or * for all",
    );
    ensure(status.code() == Some(1) && reported, || format!("{status}: {log}"))?;

    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let mut manager = Launch::default().env("METRICS_BIND_ADDRESS", &address).start(&install)?;
    let (status, _) = manager.ends(DEFAULT_TIMEOUT).await?;
    let log = manager.log();
    let reported = log.contains(&format!("cannot listen at {address}")) && log.contains("choose another address");
    ensure(status.code() == Some(1) && reported, || format!("{status}: {log}"))
}

pub async fn help_names_the_environment_variable_of_every_flag(_: Stage) -> Result<(), Failure> {
    let (code, help, _) = output(&["--help"], &[]).await?;
    ensure(code == Some(0), || format!("--help ended with {code:?}"))?;
    // Those that begin with a short form are --help and --version.
    let flags = help.lines().filter(|line| line.trim_start().starts_with("--")).count();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let twins = help.matches("[env: ").count();
    ensure(flags >= 17 && twins == flags, || format!("{flags} flags, {twins} twins: {help}"))?;
    for twin in
        ["CONTROLLERS", "WATCH_NAMESPACE", "LEASE_NAME", "LEASE_NAMESPACE", "LOG_LEVEL", "METRICS_SECURE", "ETCD_SCOPE"]
    {
        ensure(help.contains(&format!("[env: {twin}=")), || format!("{twin} is missing:\n{help}"))?;
    }
    Ok(())
}

pub async fn one_controller_watches_its_own_kinds_only(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let mut manager = Launch::default().through(&proxy).flag("--controllers=sample").start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    stage.app("web").await?;
    stage.sample("kept", "kept").await?;
    stage.sample_kept("kept", "kept", DEFAULT_TIMEOUT).await?;
    sleep(Duration::from_secs(1)).await;
    let asked = proxy.journal();
    let mut kinds: Vec<&str> =
        asked.iter().filter(|call| call.is_watch() && !call.is_lease()).map(|c| &*c.resource).collect();
    kinds.sort_unstable();
    kinds.dedup();
    ensure(kinds == ["configmaps", "samples"], || format!("it watches {kinds:?}"))?;
    let agents: Vec<&str> =
        asked.iter().map(|call| &*call.agent).filter(|a| !a.starts_with("multi-operator/")).collect();
    ensure(agents.is_empty(), || format!("requests that do not say who sends them: {agents:?}"))
}
