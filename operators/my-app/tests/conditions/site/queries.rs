//! The API server as the operator queries it: contents of `restartOn`, and dry runs of pods.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use my_app::plan::DryRunFailure;
use my_app::{Queries, RestartSource, SourceState};
use runtime::plan::{Create, Key};
use serde_json::Value;

use super::step::Answer;
use crate::judge::{QueryResults, Read};

/// The API server, and what the operator has learned from it so far.
#[derive(Default)]
pub(super) struct ApiServer(Mutex<State>);

#[derive(Default)]
struct State {
    /// The objects that exist, by name.
    sources: BTreeMap<&'static str, u8>,
    /// How it answers reads of them: by what exists, by a refusal, or not at all.
    reads: Option<Answer>,
    /// How it answers dry runs.
    dry_runs: Option<Answer>,
    known: BTreeMap<String, Read>,
    accepted: Option<Value>,
    /// The answer to a dry run in this reconcile.
    answered: Option<Answer>,
    /// The digests that the operator has computed so far, by content.
    digests: BTreeMap<String, String>,
}

/// The objects that a MyApp names, and whether each may be missing.
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

impl ApiServer {
    /// An object is created or changed, or deleted.
    pub(super) fn set(&self, name: &'static str, content: Option<u8>) {
        let sources = &mut self.lock().sources;
        match content {
            Some(content) => drop(sources.insert(name, content)),
            None => drop(sources.remove(name)),
        }
    }

    /// From now on it answers dry runs so.
    pub(super) fn answer_dry_runs(&self, answer: Answer) {
        self.lock().dry_runs = Some(answer);
    }

    /// From now on it answers reads so, and what is known has expired.
    pub(super) fn answer_reads(&self, answer: Answer) {
        let mut state = self.lock();
        state.reads = Some(answer);
        let names: Vec<String> = state.known.keys().cloned().collect();
        names.iter().for_each(|name| state.read(name));
    }

    /// The answers of this reconcile, from which the operator computed `digest`.
    pub(super) fn take_answers(&self, app: &Value, digest: Option<&str>) -> QueryResults {
        let mut state = self.lock();
        let read = named(app).into_iter().map(|((kind, name), optional)| {
            // The operator has never read it.
            let read = state.known.get(&name).cloned().unwrap_or(Read::Unknown);
            (format!("{kind} {name}"), optional, read)
        });
        let read: Vec<_> = read.collect();
        let content = content(&read);
        assert_eq!(
            digest.is_some(),
            content.is_some(),
            "there is a digest if and only if all content could be read: {read:?}"
        );
        if let Some((content, digest)) = content.zip(digest) {
            let before = state.digests.iter().find(|(of, known)| **of == content || *known == digest);
            assert!(
                before.is_none_or(|(of, known)| *of == content && known == digest),
                "{content}: {digest}, {before:?}"
            );
            state.digests.insert(content, digest.to_owned());
        }
        QueryResults { is_blind: false, read, digest: digest.map(ToOwned::to_owned), dry_run: state.answered.take() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(&mut self, name: &str) {
        let there = self.sources.get(name).map_or(Read::Missing, |content| Read::Content(*content));
        let read = match (self.reads.unwrap_or(Answer::Yes), self.known.get(name)) {
            (Answer::Yes, _) => there,
            (Answer::No, _) => Read::Forbidden,
            (Answer::Nothing, None) => Read::Awaited,
            // The last answer counts until the next one; pods do not wait indefinitely.
            (Answer::Nothing, Some(Read::Awaited)) => Read::Unknown,
            (Answer::Nothing, Some(before)) => before.clone(),
        };
        self.known.insert(name.to_owned(), read);
    }
}

impl Queries for ApiServer {
    async fn content(&self, source: &RestartSource) -> (SourceState, Duration) {
        assert_eq!(&*source.namespace, "n", "an object of another namespace");
        let mut state = self.lock();
        if !state.known.contains_key(&source.name) {
            state.read(&source.name);
        }
        let found = match state.known.get(&source.name) {
            Some(Read::Content(content)) => SourceState::Content([*content; 32]),
            Some(Read::Missing) => SourceState::Missing,
            Some(Read::Forbidden) => SourceState::Forbidden("forbidden".to_owned()),
            Some(Read::Awaited) => SourceState::Awaited,
            Some(Read::Unknown) | None => SourceState::Unknown,
        };
        (found, Duration::from_secs(60))
    }

    async fn dry_run(&self, _: &Key, pod: &Create) -> Option<DryRunFailure> {
        let mut state = self.lock();
        // An accepted pod is not tried again.
        if state.accepted.as_ref() == Some(&pod.body) {
            return None;
        }
        let answer = state.dry_runs.unwrap_or(Answer::Yes);
        state.accepted = (answer == Answer::Yes).then(|| pod.body.clone());
        state.answered = Some(answer);
        let (is_transient, message) = match answer {
            Answer::Yes => return None,
            Answer::No => (false, "no PriorityClass of that name"),
            Answer::Nothing => (true, "failed calling webhook"),
        };
        Some(DryRunFailure { is_transient, message: message.to_owned(), due: Duration::from_secs(15) })
    }
}

/// The content for new pods, if there is any and all of it could be read.
fn content(read: &[(String, bool, Read)]) -> Option<String> {
    let one = |(source, optional, read): &(String, bool, Read)| match read {
        Read::Content(content) => Some(format!("{source}={content}")),
        Read::Missing if *optional => Some(format!("{source}-")),
        _ => None,
    };
    let all = read.iter().map(one).collect::<Option<Vec<_>>>()?;
    (!all.is_empty()).then(|| all.join(","))
}
