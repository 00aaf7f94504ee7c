//! Logins at a server, as its own log reports them (`log_connections`).

use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// The container of the server.
const SERVER: &str = "postgres";

/// The log of the container that runs, or ran last.
#[derive(Clone, Debug)]
pub struct Log {
    /// The uid of its pod, and how often it has been started again.
    container: (Option<String>, i32),
    /// How many connections were received that are not those of the probe.
    pub logins: usize,
}

/// Logins between two reads of the log.
#[derive(Clone, Copy, Debug)]
pub struct Logins {
    pub count: usize,
    /// Whether the same container ran all the time, so that its log has all of them.
    pub exact: bool,
}

/// Connections by TCP. The probe, `pg_isready` in the pod, comes by the socket, which the log calls `[local]`.
fn count(log: &str) -> usize {
    let received = log.lines().filter(|line| line.contains("connection received: host="));
    received.filter(|line| !line.contains("host=[local]")).count()
}

async fn text(ns: &Namespace, pod: &str, options: &[&str]) -> Result<String, String> {
    let answer = ns.kubectl(&[&["logs", pod, "--container", SERVER], options].concat()).await;
    if answer.success { Ok(answer.stdout) } else { Err(answer.stderr) }
}

async fn container(ns: &Namespace, pod: &str) -> Result<(Option<String>, i32), String> {
    let pod = ns.api::<Pod>().get(pod).await.map_err(|error| error.to_string())?;
    let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let restarts = statuses.filter(|status| status.name == SERVER).map(|status| status.restart_count).sum();
    Ok((pod.uid(), restarts))
}

/// What the log has so far.
///
/// # Errors
/// If it cannot be read.
pub async fn so_far(ns: &Namespace, pod: &str) -> Result<Log, String> {
    let container = container(ns, pod).await?;
    Ok(Log { container, logins: count(&text(ns, pod, &[]).await?) })
}

/// The logins since `before`, and the log as it is now. If the container has been restarted since, the log of its predecessor
/// counts, too; logins at containers between those two are not known.
///
/// # Errors
/// If it cannot be read.
pub async fn since(before: &Log, ns: &Namespace, pod: &str) -> Result<(Logins, Log), String> {
    let now = so_far(ns, pod).await?;
    if now.container == before.container {
        let count = now.logins.checked_sub(before.logins).ok_or("its log was rotated meanwhile")?;
        return Ok((Logins { count, exact: true }, now));
    }
    let previous = count(&text(ns, pod, &["--previous"]).await.unwrap_or_default());
    let next = now.container.0 == before.container.0 && now.container.1 == before.container.1 + 1;
    let seen = if next { previous.saturating_sub(before.logins) } else { previous };
    Ok((Logins { count: seen + now.logins, exact: false }, now))
}

#[test]
fn only_connections_by_tcp_are_logins() {
    let log = "LOG:  connection received: host=[local]\n\
               LOG:  connection received: host=10.244.0.9 port=40112\n\
               LOG:  connection authenticated: identity=\"app\" method=scram-sha-256\n\
               LOG:  connection authorized: user=app database=app application_name=multi-operator\n\
               FATAL:  password authentication failed for user \"app\"\n\
               LOG:  connection received: host=10.244.0.9 port=40113\n";
    assert_eq!(count(log), 2);
}
