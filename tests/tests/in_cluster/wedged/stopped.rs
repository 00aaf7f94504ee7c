//! A server that is stopped by SIGSTOP, as one whose disk hangs: it accepts connections, by its kernel, and answers none.

use std::cell::Cell;
use std::time::{Duration, Instant};

use e2e::namespace::Namespace;
use e2e::objects::serves;
use e2e::wait::wait_until;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;
use tokio::time::sleep;

use super::databases::serving;
use super::logins::{self, Log};
use super::{Says, Server, Wedge};

pub const STATE: &str = "a server that is stopped by SIGSTOP";
/// Logins a minute.
const BAR: f64 = 20.0;
/// The frozen server is not restarted while requests are counted: by default it is after two minutes, and is healthy again.
const SPEC: &str =
    "{engine: {maxSilenceSeconds: 3600, parameters: {log_connections: 'on'}}, backup: {immediate: false}}";

/// Sends the signal in $2 to the process that is number 1 in its own PID namespace, in a container of the pod with the uid
/// in $1, and is no sandbox. Kubelets write uids in cgroups' names with `-` or with `_`.
const SIGNAL: &str = r#"
signaled=0
for process in /proc/[0-9]*; do
  { read -r name <"$process/comm" && cgroups=$(<"$process/cgroup"); } 2>/dev/null || continue
  [[ $name == postgres && ( $cgroups == *"$1"* || $cgroups == *"${1//-/_}"* ) ]] || continue
  while read -r key numbers; do
    if [[ $key == NSpid: && ${numbers##*[[:space:]]} == 1 ]]; then kill -s "$2" "${process##*/}" && signaled=1; fi
  done <"$process/status"
done
[[ $signaled == 1 ]]
"#;

/// A pod that sees all processes of its node. Within a container, nothing can stop its first process.
pub struct Hand {
    ns: Namespace,
    stopped: Cell<Option<(Instant, Log)>>,
}

impl Hand {
    /// Creates one, in a namespace that allows it.
    pub async fn new(turn: &Namespace) -> Self {
        let ns = turn.another("wedged-hand", &[("pod-security.kubernetes.io/enforce", "privileged")]).await;
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": "hand" },
            "spec": {
                "hostPID": true,
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "hand",
                    "image": "docker.io/library/postgres:17",
                    "command": ["sleep", "7200"],
                    "securityContext": { "privileged": true, "runAsUser": 0 },
                }],
            },
        });
        ns.apply(&pod.to_string()).await;
        ns.until::<Pod, ()>("hand", "a pod with a shell", |pod| pod.is_some_and(serves).then_some(())).await;
        Self { ns, stopped: Cell::new(None) }
    }

    /// Signals the server in that pod.
    async fn signal(&self, server: &Pod, signal: &str) {
        let uid = server.uid().expect("a pod has a uid");
        let bash = ["exec", "hand", "--", "bash", "-c", SIGNAL, "signal", &uid, signal];
        drop(self.ns.kubectl(&bash).await.ok());
    }
}

/// Stops the server of a database that serves.
pub async fn stopped(ns: Namespace, hand: &Hand) -> Wedge {
    serving(&ns, SPEC).await;
    let log = logins::so_far(&ns, "shop-0").await.expect("the log can be read");
    assert!(log.logins > 0, "the log of shop-0 has no login: is log_connections off?");
    hand.signal(&ns.get("shop-0").await, "STOP").await;
    hand.stopped.set(Some((Instant::now(), log)));
    Wedge::reached(ns, Says::new("sampledb/shop", "Ready", "False", ""), Server::None).await
}

/// Has the server go on: it then takes all connections that came while it was stopped, and logs them. Prints how many a minute
/// they were; also what is wrong with that.
pub async fn logins(name: &str, ns: &Namespace, hand: &Hand) -> Option<String> {
    let (since, before) = hand.stopped.take()?;
    let minutes = since.elapsed().as_secs_f64() / 60.0;
    hand.signal(&ns.get("shop-0").await, "CONT").await;
    let count = wait_until("the server to have logged them", Duration::from_secs(120), || async {
        let (first, _) = logins::since(&before, ns, "shop-0").await?;
        sleep(Duration::from_secs(2)).await;
        let (then, _) = logins::since(&before, ns, "shop-0").await?;
        let ended = then.exact && then.count > 0 && then.count == first.count;
        if ended { Ok(then.count) } else { Err(format!("{then:?}, two seconds after {first:?}")) }
    })
    .await;
    let logins = count as f64 / minutes;
    println!("wedged | {name} | {count} logins in {minutes:.1} minutes: {logins:.1} a minute");
    (logins > BAR).then(|| format!("{name}: {logins:.1} logins a minute, at most {BAR}"))
}
