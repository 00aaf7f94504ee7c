//! Everything that Applications have been, for what must not happen meanwhile, and for what came first.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::{Environment, NAMESPACE};

/// What is printed of an Application at each change.
const FIELDS: &str = "jsonpath={.metadata.name}|{.status.sync.status}|{.status.health.status}|\
    {.status.operationState.phase}|{.status.operationState.startedAt}|{.status.sync.revision}{\"\\n\"}";

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
}

impl Seen {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('|').map(str::to_owned);
        let mut next = || fields.next();
        Some(Self {
            name: next()?,
            sync: next()?,
            health: next()?,
            phase: next()?,
            started: next()?,
            revision: next()?,
        })
    }

    /// Whether it is as it should be.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.sync == "Synced" && self.health == "Healthy"
    }
}

/// What the custom resources of an Application's environment say of themselves, when it is not as it should be: nothing of it
/// is left in the Application itself.
async fn conditions(seen: &Seen) -> Option<String> {
    let environment = Environment::all().into_iter().find(|one| seen.name == format!("{}-instances", one.name()))?;
    let fields = "jsonpath={range .items[*]}{.kind}/{.metadata.name}: {.status.conditions}{\"\\n\"}{end}";
    let kinds = "myapp,sample,sampledb,etcdcluster,sampledbsnapshot";
    let get = ["get", kinds, "--namespace", environment.name(), "--output", fields];
    // In an environment that is still being made there are no such kinds.
    let said = environment.kubectl(&get).await;
    Some(format!("{} {} {}:\n{}{}", seen.name, seen.sync, seen.health, said.stdout, said.stderr))
}

/// Watches all Applications until it is dropped.
pub struct Recorder {
    seen: Arc<Mutex<Vec<Seen>>>,
    troubles: Arc<Mutex<Vec<String>>>,
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
        let troubles = Arc::<Mutex<Vec<String>>>::default();
        let of_troubles = troubles.clone();
        let mut lines = BufReader::new(watch.stdout.take().expect("stdout is piped")).lines();
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let read = Seen::read(&line).unwrap_or_else(|| panic!("kubectl printed {line}"));
                let trouble = if read.is_well() { None } else { conditions(&read).await };
                record.lock().unwrap_or_else(PoisonError::into_inner).push(read);
                of_troubles.lock().unwrap_or_else(PoisonError::into_inner).extend(trouble);
            }
        });
        Self { seen, troubles, watch, reading }
    }

    /// What the custom resources said while an Application was not as it should be, in order.
    #[must_use]
    pub fn troubles(&self) -> String {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
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
            if changes.iter().rev().find(|before| before.name == seen.name) != Some(&seen) {
                changes.push(seen);
            }
        }
        changes
    }
}
