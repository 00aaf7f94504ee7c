//! The faults that a proxy injects into requests.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::call::Call;
use crate::patience::timeout;

/// What happens to a request.
#[derive(Clone)]
pub enum Fault {
    /// It is answered with that code, and never reaches the API server.
    Answer(u16),
    /// It is answered as by an API server that has never heard of its kind, in plain text.
    NotServed,
    /// It reaches the API server; what that answers is thrown away, and this code answered instead.
    AppliedThen(u16),
    /// It continues after this time, whether the rule is lifted by then or not.
    Late(Duration),
    /// It waits, and continues once the rule is lifted.
    Hold,
    /// It reaches the API server; no answer comes until the rule is lifted.
    AppliedThenHold,
    /// A watch: it opens, and says at once that its version is too old.
    Expired,
    /// A watch: it opens, and its events wait until the rule is lifted.
    HoldEvents,
    /// A list or watch: each object passes through this function.
    Alter(Arc<dyn Fn(&mut Value) + Send + Sync>),
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(code) => write!(f, "answer {code}"),
            Self::NotServed => f.write_str("say that there is no such kind"),
            Self::AppliedThen(code) => write!(f, "apply, then answer {code}"),
            Self::Late(after) => write!(f, "go on after {after:?}"),
            Self::Hold => f.write_str("hold"),
            Self::AppliedThenHold => f.write_str("apply, then hold"),
            Self::Expired => f.write_str("say that the version is too old"),
            Self::HoldEvents => f.write_str("hold events"),
            Self::Alter(_) => f.write_str("alter objects"),
        }
    }
}

/// Which requests are spoiled, and how often.
pub struct Rule {
    when: Box<dyn Fn(&Call) -> bool + Send + Sync>,
    skip: usize,
    times: usize,
    pub(super) fault: Fault,
    seen: AtomicUsize,
    hits: watch::Sender<usize>,
    lifted: watch::Sender<bool>,
}

impl Rule {
    /// Spoils every request that fits.
    pub fn new(when: impl Fn(&Call) -> bool + Send + Sync + 'static, fault: Fault) -> Self {
        let (seen, hits, lifted) = (AtomicUsize::new(0), watch::Sender::new(0), watch::Sender::new(false));
        Self { when: Box::new(when), skip: 0, times: usize::MAX, fault, seen, hits, lifted }
    }

    /// Lets the first few pass.
    #[must_use]
    pub fn skip(self, skip: usize) -> Self {
        Self { skip, ..self }
    }

    /// Ends after so many.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Whether this request is to be spoiled; counts it.
    fn takes(&self, call: &Call) -> bool {
        if !(self.when)(call) {
            return false;
        }
        let index = self.seen.fetch_add(1, Ordering::SeqCst);
        index >= self.skip && index - self.skip < self.times
    }

    pub(super) fn hit(&self) {
        self.hits.send_modify(|hits| *hits += 1);
    }

    pub(super) async fn until_lifted(&self) {
        // The sender lives as long as the rule.
        drop(self.lifted.subscribe().wait_for(|lifted| *lifted).await);
    }
}

/// All rules of a proxy.
#[derive(Default)]
pub(super) struct Rules(Mutex<Vec<Arc<Rule>>>);

impl Rules {
    /// The first rule that takes this request.
    pub(super) fn find(&self, call: &Call) -> Option<Arc<Rule>> {
        self.rules().iter().find(|rule| rule.takes(call)).cloned()
    }

    fn rules(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Rule>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rule in force. It stays in force until it is lifted, even if this value is dropped.
#[derive(Clone)]
pub struct InForce {
    rules: Arc<Rules>,
    rule: Arc<Rule>,
}

impl InForce {
    pub(super) fn new(rules: &Arc<Rules>, rule: Rule) -> Self {
        let rule = Arc::new(rule);
        rules.rules().push(rule.clone());
        Self { rules: rules.clone(), rule }
    }

    /// Lifts it, and releases what it held.
    pub fn lift(&self) {
        self.rules.rules().retain(|rule| !Arc::ptr_eq(rule, &self.rule));
        self.rule.lifted.send_replace(true);
    }

    /// How many requests it has spoiled. One that is applied first counts once it has been.
    #[must_use]
    pub fn hits(&self) -> usize {
        *self.rule.hits.borrow()
    }

    /// Waits until it has spoiled so many.
    ///
    /// # Errors
    /// If that takes longer than `limit`.
    pub async fn reaches(&self, hits: usize, limit: Duration) -> Result<(), String> {
        let mut count = self.rule.hits.subscribe();
        let reached = timeout(limit, count.wait_for(|count| *count >= hits)).await;
        let (fault, hit) = (&self.rule.fault, self.hits());
        reached.map(drop).map_err(|late| format!("the rule to {fault:?} was hit {hit} times, not {hits}: {late}"))
    }
}
