//! The writer (`tests/writer`): a pod that puts numbered keys through the client service.

use std::collections::BTreeMap;
use std::time::Duration;

use api::etcd_cluster::EtcdCluster;
use serde::Deserialize;

use super::{Etcd, ids};
use crate::namespace::Namespace;
use crate::patience::{Bar, Moment};

/// The writer of one cluster.
pub struct Writer<'a> {
    ns: &'a Namespace,
    pod: String,
    begun: Moment,
}

/// What the writer found.
#[derive(Debug, Deserialize)]
pub struct Verdict {
    /// How many puts were acknowledged.
    pub acknowledged: u64,
    /// How many were not.
    pub unacknowledged: u64,
    /// The longest time between two acknowledgements.
    pub longest_refusal_ms: u64,
    /// How many acknowledged keys are not there, or not as they were acknowledged.
    pub lost: Option<u64>,
    /// Each member, as it answers.
    #[serde(default)]
    pub members: Vec<MemberAnswer>,
    /// The differences between members' answers, as messages.
    #[serde(default)]
    pub wrong: Vec<String>,
    /// How often each error was answered.
    pub errors: BTreeMap<String, u64>,
    /// How many authorities its next connection with TLS accepts.
    #[serde(default)]
    pub authorities: usize,
    /// How many times as slow as the reference machine this one was while the writer wrote.
    #[serde(skip)]
    pub slowness: f64,
}

/// A member, as it answers.
#[derive(Debug, Deserialize)]
pub struct MemberAnswer {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// What it runs.
    pub version: String,
    /// Whether it does not vote.
    pub learner: bool,
}

impl<'a> Writer<'a> {
    /// Starts it for a cluster, and waits until it writes.
    pub async fn start(etcd: &Etcd<'a>) -> Self {
        Self::with(etcd, 100, 0).await
    }

    /// Starts it with a pause between puts, and values of so many bytes.
    pub async fn with(etcd: &Etcd<'a>, pause_ms: u64, bytes: u64) -> Self {
        let pod = format!("{}-writer", etcd.name);
        Self::at(etcd, pod, "http", &format!("{pause_ms}', '{bytes}"), "writer").await
    }

    /// Starts one that has the certificate in the Secret `writer`, and writes with TLS or without.
    pub async fn with_certificate(etcd: &Etcd<'a>, scheme: &str) -> Self {
        Self::at(etcd, format!("{}-writer-{scheme}", etcd.name), scheme, "100", "writer").await
    }

    /// Starts one that has the certificate which the operator issues for applications.
    pub async fn with_issued_certificate(etcd: &Etcd<'a>) -> Self {
        let secret = format!("{}-client-tls", etcd.name);
        Self::at(etcd, format!("{}-writer-issued", etcd.name), "https", "100", &secret).await
    }

    async fn at(etcd: &Etcd<'a>, pod: String, scheme: &str, arguments: &str, secret: &str) -> Self {
        let (ns, cluster, begun) = (etcd.ns, etcd.name, Moment::now());
        ns.apply(&format!(
            "
apiVersion: v1
kind: Pod
metadata: {{name: {pod}}}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
  - name: writer
    image: localhost/etcd-writer:dev
    args: ['{scheme}://{cluster}-client.{namespace}.svc:2379', '{arguments}']
    volumeMounts: [{{name: tls, mountPath: /tls, readOnly: true}}]
    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}, readOnlyRootFilesystem: true}}
  volumes: [{{name: tls, secret: {{secretName: {secret}, optional: true}}}}]
",
            namespace = ns.name
        ))
        .await;
        let writer = Self { ns, pod, begun };
        // From none on: a small database may be full before the first answer of the writer's comes.
        writer.has_written(5).await;
        writer
    }

    async fn ask(&self, path: &str) -> Result<Verdict, String> {
        let reported = self.ns.proxied(&self.pod, 8080, path).await?;
        let verdict: Verdict = serde_json::from_str(&reported).map_err(|error| format!("{error}: {reported}"))?;
        Ok(Verdict { slowness: self.begun.passed().slowness(), ..verdict })
    }

    /// Waits until its next connection accepts so many authorities.
    pub async fn knows_authorities(&self, count: usize) {
        let knows = || async {
            let found = self.ask("progress").await?.authorities;
            if found == count { Ok(()) } else { Err(format!("it knows {found}")) }
        };
        self.ns.eventually(&format!("the writer to know {count} authorities"), knows).await;
    }

    /// Waits until so many more puts have been acknowledged.
    pub async fn writes(&self, more: u64) {
        let acknowledged = self.ns.eventually("an answer of the writer's", || self.ask("progress")).await.acknowledged;
        self.has_written(acknowledged + more).await;
    }

    async fn has_written(&self, puts: u64) {
        self.ns
            .eventually(&format!("{puts} puts in all"), || async {
                let progress = self.ask("progress").await?;
                if progress.acknowledged >= puts { Ok(()) } else { Err(format!("{progress:?}")) }
            })
            .await;
    }

    /// How far it is.
    ///
    /// # Panics
    /// If it does not answer.
    pub async fn progress(&self) -> Verdict {
        self.ask("progress").await.expect("the writer answers")
    }

    /// Takes it away.
    pub async fn stop(self) {
        drop(self.ns.kubectl(&["delete", "pod", &self.pod, "--wait=true"]).await.ok());
    }

    /// Everything that was acknowledged is read back, and the members are compared.
    ///
    /// # Panics
    /// If something was lost, or members differ; also from what the status says.
    pub async fn verdict(&self, cluster: &EtcdCluster) -> Verdict {
        let verdict = self.ask("verdict").await.unwrap_or_else(|error| panic!("the writer does not answer: {error}"));
        assert!(verdict.lost == Some(0) && verdict.wrong.is_empty(), "{verdict:#?}");
        let reported: BTreeMap<String, String> =
            verdict.members.iter().map(|member| (member.name.clone(), member.id.clone())).collect();
        assert_eq!(reported, ids(cluster), "etcd's members and those of the status: {verdict:#?}");
        assert!(!verdict.members.iter().any(|member| member.learner), "{verdict:#?}");
        println!(
            "{}: {} puts acknowledged, 0 lost, {} not acknowledged, longest refusal {} ms {:?}",
            self.pod, verdict.acknowledged, verdict.unacknowledged, verdict.longest_refusal_ms, verdict.errors
        );
        verdict
    }
}

impl Verdict {
    /// Writes were never refused for longer, in normal time.
    ///
    /// # Panics
    /// If they were.
    pub fn never_refused_for(&self, longest: Duration) {
        let refusal = Duration::from_millis(self.longest_refusal_ms);
        let held = Bar::work(longest).holds("the longest refusal of writes", refusal, self.slowness);
        held.unwrap_or_else(|missed| panic!("{missed}: {self:#?}"));
    }
}
