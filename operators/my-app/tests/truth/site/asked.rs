//! What the operator asks the API server beside its stores: contents of `restartOn`, and dry runs of pods.

use std::collections::BTreeMap;
use std::time::Duration;

use api::ReconcileReason;
use api::my_app::MyAppReason;
use my_app::plan::{self, Contents, Observed, Refused, Unread};
use serde_json::Value;

use super::Site;
use super::step::Answer;
use crate::judge::Read;

/// The API server's side, and what the operator has been told so far.
#[derive(Default)]
pub(super) struct Asked {
    /// The objects that there are.
    pub(super) sources: BTreeMap<&'static str, u8>,
    /// How reads of them are answered: by what there is, by a refusal, or not at all.
    pub(super) reads: Option<Answer>,
    /// How dry runs are answered.
    pub(super) dry_runs: Option<Answer>,
    known: BTreeMap<String, Read>,
    accepted: Option<Value>,
}

/// The objects that a MyApp names, in an order of their own, and whether each may be missing.
fn named(app: &Value) -> BTreeMap<(&'static str, String), bool> {
    let entries = app["spec"]["restartOn"].as_array().into_iter().flatten();
    let named = entries.flat_map(|entry| {
        [("ConfigMap", "configMapRef"), ("Secret", "secretRef")].into_iter().filter_map(|(kind, of)| {
            let name = entry[of]["name"].as_str()?;
            Some(((kind, name.to_owned()), entry[of]["optional"] == true))
        })
    });
    named.collect()
}

impl Asked {
    /// Its time has come: what is known is read again.
    pub(super) fn read_again(&mut self, answer: Answer) {
        self.reads = Some(answer);
        let names: Vec<String> = self.known.keys().cloned().collect();
        names.iter().for_each(|name| self.read(name));
    }

    fn read(&mut self, name: &str) {
        let there = self.sources.get(name).map_or(Read::Missing, |content| Read::Content(*content));
        let read = match (self.reads.unwrap_or(Answer::Yes), self.known.get(name)) {
            (Answer::Yes, _) => there,
            (Answer::No, _) => Read::Forbidden,
            (Answer::Nothing, None) => Read::Awaited,
            // What was seen last holds until something else is seen; nobody waits for ever.
            (Answer::Nothing, Some(Read::Awaited)) => Read::Unknown,
            (Answer::Nothing, Some(before)) => before.clone(),
        };
        self.known.insert(name.to_owned(), read);
    }

    /// What is known of what a MyApp names: of each object whether it may be missing, and the last read.
    pub(super) fn look(&mut self, app: &Value) -> Vec<(String, bool, Read)> {
        let named = named(app);
        named
            .into_iter()
            .map(|((kind, name), optional)| {
                if !self.known.contains_key(&name) {
                    self.read(&name);
                }
                let read = self.known.get(&name).cloned().unwrap_or(Read::Unknown);
                (format!("{kind} {name}"), optional, read)
            })
            .collect()
    }
}

/// As the operator is told of it.
pub(super) fn contents(read: &[(String, bool, Read)]) -> Contents {
    let mut contents = Contents::default();
    for (source, optional, read) in read {
        contents.due = Some(Duration::from_secs(60));
        match read {
            Read::Content(_) => {}
            Read::Missing if *optional => {}
            Read::Missing => {
                let why = format!("restartOn: {source} does not exist");
                contents.trouble = contents.trouble.or(Some((MyAppReason::RestartSourceMissing.into(), why)));
            }
            Read::Forbidden => {
                let why = format!("restartOn: {source} cannot be read");
                contents.trouble = contents.trouble.or(Some((ReconcileReason::Forbidden.into(), why)));
            }
            Read::Awaited | Read::Unknown => {
                let is_awaited = *read == Read::Awaited;
                contents.unread = contents.unread.or_else(|| Some(Unread { source: source.clone(), is_awaited }));
            }
        }
    }
    contents.digest = digest(read);
    contents
}

/// What pods are to be started with, if all could be read.
pub(super) fn digest(read: &[(String, bool, Read)]) -> Option<String> {
    let one = |(source, optional, read): &(String, bool, Read)| match read {
        Read::Content(content) => Some(format!("{source}={content}")),
        Read::Missing if *optional => Some(format!("{source}-")),
        _ => None,
    };
    let all = read.iter().map(one).collect::<Option<Vec<_>>>()?;
    (!all.is_empty()).then(|| all.join(","))
}

impl Site {
    /// Asks in a dry run, as the operator does: what was accepted is not asked again.
    pub(super) fn try_out(&mut self, observed: &Observed) -> Option<Answer> {
        let trial = plan::trial(observed, self.world.now)?;
        if self.asked.accepted.as_ref() == Some(&trial.body) {
            return None;
        }
        let answer = self.asked.dry_runs.unwrap_or(Answer::Yes);
        self.asked.accepted = (answer == Answer::Yes).then_some(trial.body);
        Some(answer)
    }
}

/// As the operator is told of it.
pub(super) fn refused(answer: Option<Answer>) -> Option<Refused> {
    let (is_passing, message) = match answer? {
        Answer::Yes => return None,
        Answer::No => (false, "no PriorityClass of that name"),
        Answer::Nothing => (true, "failed calling webhook"),
    };
    Some(Refused { is_passing, message: message.to_owned(), due: Duration::from_secs(15) })
}
