//! The server over a connection, as its superuser: what it says of itself, and what is changed without a restart.
//!
//! One short connection at a time for each database, with deadlines; about once a minute while all is well.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent_protocol::PgUpgradeResult;
use jiff::Timestamp;
use runtime::Error;
use runtime::plan::Key;

use crate::database::{Asked, Login, is_young, pause, wanted};
use crate::operand::database_state::shuts_out;
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::password::Password;
use crate::queries::{Access, ServerQueries};
use change::Leaving;
use connect::{Address, Refused};

mod ask;
mod change;
mod connect;

/// How long an answer is taken for true. With the pass that follows, an edit of a Secret is in force within 90 s.
const FRESH: Duration = Duration::from_secs(20);
/// How long an answer is while an upgrade opens and closes the door, and for some minutes at most.
const UPGRADING: Duration = Duration::from_secs(2);
/// After how long a password that was set, and is not taken all the same, is set again.
const SET_AGAIN: Duration = Duration::from_secs(60);
/// After how many looks in a row in which the application did not get in its rules are at fault: before, the server may have yet to read
/// what has just been written.
const LASTING: u32 = 3;
/// How long it is taken for true that one that is not ready answers, or does not.
const KNOCKED: Duration = Duration::from_secs(5);

/// What is remembered of a server between two looks.
#[derive(Default)]
struct Held {
    /// Of which pod, Secrets and spec.
    of: u64,
    answer: Option<(Instant, Asked)>,
    /// How many attempts in a row have not gone as they should.
    failures: u32,
    /// Since when it does not answer.
    silent: Option<Instant>,
    /// When the note of a copy was last looked for.
    noted: Option<Instant>,
    /// When it was last knocked at, while it is not ready.
    knocked: Option<Instant>,
    /// When the application's password was set last, if nobody has come in with it since.
    set: Option<Instant>,
    /// The pod that has read its files again since this process runs.
    reloaded: Option<String>,
    /// How many times in a row its file said what the spec says no longer.
    stale: u32,
    /// Who has yet to end since it was shut.
    leaving: Option<Leaving>,
    /// Parameters that it does not take, and why.
    refused: Option<RejectedParameters>,
}

/// Parameters that a pod's server rejected. Another pod is asked again: it may run another release.
struct RejectedParameters {
    /// Its pod's uid.
    pod: String,
    values: BTreeMap<String, String>,
    why: String,
}

impl RejectedParameters {
    /// Whether it is of these parameters, and of the server that runs now.
    fn holds(&self, db: &SampleDB, access: &Access) -> bool {
        self.pod == access.pod && self.values == db.spec.engine.parameters
    }
}

/// All servers.
#[derive(Default)]
pub(crate) struct Servers {
    held: Mutex<HashMap<Key, Held>>,
}

impl ServerQueries for Servers {
    async fn ask(&self, db: &SampleDB, access: &Access) -> Asked {
        let of = fingerprint(db, access);
        let (fresh, reload, again) = {
            let mut all = self.lock();
            let held = all.entry(db.meta.key.clone()).or_default();
            if held.of != of {
                (held.failures, held.silent) = (0, None);
            }
            let lasts = |answer| lasts(db, answer, held.failures.max(held.stale));
            let fresh = held.answer.as_ref().filter(|(at, answer)| held.of == of && at.elapsed() < lasts(answer));
            // What was changed by a process that died, or brought by the kubelet, is read now.
            let reload = held.reloaded.as_ref() != Some(&access.pod) || held.stale > 0;
            (fresh.map(|(_, answer)| answer.clone()), reload, held.failures >= LASTING)
        };
        if let Some(answer) = fresh {
            return answer;
        }
        let address = Address::of(access);
        let mut silent = false;
        let mut asked = match ask::server(&address, db, access, reload, again).await {
            Ok(answer) => Asked::Answered(Box::new(answer)),
            Err(Refused::BadPassword) => Asked::BadPassword,
            Err(Refused::Said(_, why)) => Asked::Failed(format!("it says: {why}")),
            Err(Refused::Failed(why)) => {
                self.is_silent(&db.meta.key);
                silent = true;
                Asked::Failed(why)
            }
        };
        let mut all = self.lock();
        let held = all.entry(db.meta.key.clone()).or_default();
        if let Asked::Answered(answer) = &mut asked {
            held.reloaded = Some(access.pod.clone());
            held.stale = if answer.parameters.stale.is_empty() { 0 } else { held.stale.saturating_add(1) };
            let refused = held.refused.as_ref().filter(|refused| refused.holds(db, access));
            answer.parameters.refused = refused.map(|refused| refused.why.clone());
            held.set = held.set.filter(|_| answer.login != Login::In);
            // What was set a moment ago is not set again: something else keeps the application out.
            if answer.login == Login::WrongPassword && held.set.is_some_and(|at| at.elapsed() < SET_AGAIN) {
                answer.login = Login::Refused(
                    "the password of the Secret was set, and the server does not take it all the same".to_owned(),
                );
            }
        }
        held.silent = held.silent.filter(|_| silent);
        held.failures = if is_good(&asked) { 0 } else { held.failures.saturating_add(1) };
        held.of = of;
        held.answer = Some((Instant::now(), asked.clone()));
        asked
    }

    async fn knock(&self, db: &SampleDB, access: &Access) {
        let key = &db.meta.key;
        if self.lock().get(key).and_then(|held| held.knocked).is_some_and(|at| at.elapsed() < KNOCKED) {
            return;
        }
        let answers = ask::knock(&Address::of(access), access).await;
        if !answers {
            self.is_silent(key);
        }
        let mut all = self.lock();
        let held = all.entry(key.clone()).or_default();
        held.knocked = Some(Instant::now());
        if answers {
            held.silent = None;
        }
    }

    fn silent_for(&self, key: &Key) -> Option<Duration> {
        self.lock().get(key).and_then(|held| held.silent).map(|since| since.elapsed())
    }

    fn is_away(&self, key: &Key) {
        if let Some(held) = self.lock().get_mut(key) {
            held.silent = None;
        }
    }

    async fn copied(&self, key: &Key, access: &Access, every: Duration) -> Option<PgUpgradeResult> {
        {
            let mut all = self.lock();
            let held = all.entry(key.clone()).or_default();
            if held.noted.is_some_and(|at| at.elapsed() < every) {
                return None;
            }
            held.noted = Some(Instant::now());
        }
        match ask::copied(&Address::of(access), access).await {
            Ok(said) => said,
            Err(refused) => {
                tracing::debug!(?refused, "the new server was asked in vain for the note of a copy");
                None
            }
        }
    }

    fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }
}

impl Servers {
    /// Has the server take the application's password out of the Secret.
    pub(crate) async fn set_password(&self, db: &SampleDB, access: &Access) -> Result<(), Error> {
        self.ask_again(&db.meta.key);
        let Some(app) = &access.app else { return Ok(()) };
        change::password(&Address::of(access), access, names::database(db), app).await?;
        self.lock().entry(db.meta.key.clone()).or_default().set = Some(Instant::now());
        Ok(())
    }

    /// Has the server take parameters; one that it refuses is remembered until the spec has others, or another pod comes.
    pub(crate) async fn set_parameters(
        &self,
        db: &SampleDB,
        access: &Access,
        set: &[(String, String)],
        reset: &[String],
    ) -> Result<(), Error> {
        self.ask_again(&db.meta.key);
        match change::parameters(&Address::of(access), access, set, reset).await? {
            None => Ok(()),
            Some(why) => {
                let values = db.spec.engine.parameters.clone();
                let refused = RejectedParameters { pod: access.pod.clone(), values, why };
                self.lock().entry(db.meta.key.clone()).or_default().refused = Some(refused);
                Ok(())
            }
        }
    }

    /// Lets writers in.
    pub(crate) async fn let_in(&self, db: &SampleDB, access: &Access) -> Result<(), Error> {
        self.ask_again(&db.meta.key);
        change::let_in(&Address::of(access), access).await.map_err(Error::from)
    }

    /// Shuts out all but the superuser, and ends their sessions.
    pub(crate) async fn shut_out(&self, db: &SampleDB, access: &Access) -> Result<(), Error> {
        let (key, address) = (&db.meta.key, Address::of(access));
        self.ask_again(key);
        let before = self.lock().get_mut(key).and_then(|held| held.leaving.take());
        let mut leaving = match before.filter(|leaving| leaving.pod == access.pod) {
            Some(leaving) if change::refuses(&address).await => leaving,
            _ => change::shut(&address, access).await?,
        };
        let ended = change::end_others(&address, access, &mut leaving).await;
        if ended.is_err() {
            self.lock().entry(key.clone()).or_default().leaving = Some(leaving);
        }
        ended.map_err(Error::from)
    }

    fn is_silent(&self, key: &Key) {
        self.lock().entry(key.clone()).or_default().silent.get_or_insert_with(Instant::now);
    }

    /// What it said is asked again.
    fn ask_again(&self, key: &Key) {
        if let Some(held) = self.lock().get_mut(key) {
            held.answer = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer depends on.
fn fingerprint(db: &SampleDB, access: &Access) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&access.pod, &access.ip, access.system.text(), access.app.as_ref().map(Password::text)).hash(&mut hasher);
    (wanted(db), db.status.upgrade.step.map(|step| step as u8)).hash(&mut hasher);
    hasher.finish()
}

fn lasts(db: &SampleDB, answer: &Asked, again: u32) -> Duration {
    match answer {
        _ if again > 0 => pause(again),
        Asked::Answered(_) if shuts_out(db) && is_young(db, Timestamp::now()) => UPGRADING,
        _ => FRESH,
    }
}

/// Whether there is nothing that another attempt a moment later could tell otherwise.
fn is_good(asked: &Asked) -> bool {
    asked.answer().is_some_and(|answer| matches!(answer.login, Login::In | Login::Busy | Login::WrongPassword))
}

#[cfg(test)]
mod tests;
