//! Everything that Applications have been, for what must not happen meanwhile, and for what came first.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::{Environment, NAMESPACE};

/// What is printed of an Application at each change. Its conditions are last: only their text may have a `|`.
const FIELDS: &str = "jsonpath={.metadata.name}|{.status.sync.status}|{.status.health.status}|\
    {.status.operationState.phase}|{.status.operationState.startedAt}|{.status.sync.revision}|\
    {.status.conditions}{\"\\n\"}";

/// An Application at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Synced, `OutOfSync`, Unknown; empty before the first comparison.
    pub sync: String,
    /// Healthy, Progressing, Degraded, Missing, Suspended.
    pub health: String,
    /// Running, Succeeded, Failed; empty before the first sync.
    pub phase: String,
    /// When the last sync began.
    pub started: String,
    /// What it was compared with.
    pub revision: String,
    /// What Argo CD said of it, and, if it was not as it should be, the custom resources of its environment of themselves.
    pub said: String,
}

impl Seen {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.splitn(7, '|').map(str::to_owned);
        let mut next = || fields.next();
        Some(Self {
            name: next()?,
            sync: next()?,
            health: next()?,
            phase: next()?,
            started: next()?,
            revision: next()?,
            said: next()?,
        })
    }

    /// Whether the Application was the same.
    fn is_like(&self, other: &Self) -> bool {
        let but_said = |seen: &Self| Self { said: String::new(), ..seen.clone() };
        but_said(self) == but_said(other)
    }

    /// Whether it is as it should be.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.sync == "Synced" && self.health == "Healthy"
    }
}

/// What the custom resources of that Application's environment say of themselves, if it is the one that has them.
async fn conditions(application: &str) -> Option<String> {
    let environment = Environment::all().into_iter().find(|one| application == format!("{}-instances", one.name()))?;
    let fields = "jsonpath={range .items[*]}{.kind}/{.metadata.name}: {.status.conditions}{\"\\n\"}{end}";
    let kinds = "myapp,sample,sampledb,etcdcluster,sampledbsnapshot";
    let get = ["get", kinds, "--namespace", environment.name(), "--output", fields];
    // An environment that is still being installed does not have these kinds.
    let said = environment.kubectl(&get).await;
    Some(said.stdout + &said.stderr)
}

/// Watches all Applications until it is dropped.
pub struct Recorder {
    seen: Arc<Mutex<Vec<Seen>>>,
    watch: Child,
    reading: JoinHandle<()>,
}

impl Recorder {
    /// Begins.
    ///
    /// # Panics
    /// Without kubectl.
    #[must_use]
    pub fn start() -> Self {
        let mut watch = Command::new("kubectl")
            .args(["get", "applications", "--namespace", NAMESPACE, "--watch", "--output", FIELDS])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("kubectl is needed on PATH");
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let record = seen.clone();
        let mut lines = BufReader::new(watch.stdout.take().expect("stdout is piped")).lines();
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let mut read = Seen::read(&line).unwrap_or_else(|| panic!("kubectl printed {line}"));
                if !read.is_healthy() {
                    read.said += &conditions(&read.name).await.unwrap_or_default();
                }
                record.lock().unwrap_or_else(PoisonError::into_inner).push(read);
            }
        });
        Self { seen, watch, reading }
    }

    /// All that was seen until now, in order, without repetitions of an Application's state.
    ///
    /// # Panics
    /// If watching has ended meanwhile: then nothing is known.
    pub fn seen(&mut self) -> Vec<Seen> {
        let ended = self.watch.try_wait().expect("a child can be asked");
        assert!(ended.is_none() && !self.reading.is_finished(), "the watch of the Applications has ended: {ended:?}");
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut changes: Vec<Seen> = Vec::new();
        for seen in all {
            if !changes.iter().rev().find(|before| before.name == seen.name).is_some_and(|before| before.is_like(&seen))
            {
                changes.push(seen);
            }
        }
        changes
    }
}
