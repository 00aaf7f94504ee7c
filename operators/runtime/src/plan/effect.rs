//! Pure: what a plan may ask for.

use std::convert::Infallible;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::meta::{Key, Kind, Meta};
use crate::apply::drift::repair::{Restore, restoring};
use crate::apply::drift::{Additions, Fingerprint, Made, are_defaults_known};

/// One step of a plan. Each may fail, and each may be repeated.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<X = Infallible> {
    /// Make a child exist as rendered.
    Apply(Apply),
    /// Make a child that is never applied again: pods, claims, Jobs.
    Create(Create),
    /// Delete a child.
    Delete(Delete),
    /// An act upon the live system behind the object: the operator performs it.
    Act(X),
}

/// A server-side apply of a child, with the controller's field manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// The child's kind.
    pub kind: Kind,
    /// The child's namespace and name.
    pub key: Key,
    /// The child as it should be: all that we want to own of it, and nothing else.
    pub body: Value,
    /// The uid of the child that the cache holds and that is ours. Without it the child is created, or a live look precedes
    /// the first apply.
    pub seen: Option<Box<str>>,
    /// Whether a child that the cache does not hold is made by a plain creation, which costs the API server about half of
    /// what an apply costs it. (docs/decisions/040-made-by-a-creation.md)
    pub creates: bool,
    /// Applies as `<this>/<field manager>`, to keep fields from vanishing that the controller stops sending.
    pub hand_over: Option<&'static str>,
    /// Whether others have added what this would leave and what is to go: the child is then patched instead.
    pub repairs: bool,
    /// Whether fields of ours are owned by a creation or a patch, not by apply.
    pub unapplied: bool,
    /// Whether these are gathered first, so that this takes away those that it does not send.
    pub gathers: bool,
    /// The child as it is, whole, where others have changed what a creation or a patch of ours has made and nothing else is to be
    /// done.
    pub live: Option<Arc<str>>,
}

impl Apply {
    /// Applies `object`, which must serialise to a JSON object.
    ///
    /// # Panics
    /// If `object` cannot be serialised to JSON (no type of k8s-openapi does that).
    #[must_use]
    pub fn new(kind: Kind, key: Key, object: &impl Serialize) -> Self {
        let mut body = serde_json::to_value(object).expect("Kubernetes objects are JSON");
        body["apiVersion"] = json!(kind.api_version());
        body["kind"] = json!(kind.kind);
        body["metadata"]["name"] = json!(&*key.name);
        body["metadata"]["namespace"] = json!(&*key.namespace);
        let creates = are_defaults_known(&kind);
        Self {
            kind,
            key,
            body,
            seen: None,
            creates,
            hand_over: None,
            repairs: false,
            unapplied: false,
            gathers: false,
            live: None,
        }
    }

    /// The same of a child that takes the place of the one that is there.
    #[must_use]
    pub fn anew(self) -> Self {
        Self { seen: None, repairs: false, unapplied: false, gathers: false, live: None, ..self }
    }

    /// What holds an object of ours itself: these finalizers and no other of ours, by a field manager that owns nothing else.
    #[must_use]
    pub fn finalizers(kind: Kind, meta: &Meta, finalizers: &[&str]) -> Self {
        Self::part(kind, meta, "finalizer", &json!({ "metadata": { "finalizers": finalizers } }))
    }

    /// These fields of an object that is there, by the field manager `<part>/<field manager>`, which owns nothing else: they and
    /// what is applied otherwise take nothing of each other away.
    #[must_use]
    pub fn part(kind: Kind, meta: &Meta, part: &'static str, fields: &impl Serialize) -> Self {
        let seen = Some(meta.uid.clone());
        Self { seen, hand_over: Some(part), ..Self::new(kind, meta.key.clone(), fields) }
    }

    /// What the cache would hold of the child after this apply.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_rendered(&self.body)
    }

    /// The same of the child's spec alone.
    #[must_use]
    pub fn spec(&self) -> Fingerprint {
        Fingerprint::of_rendered(&self.body["spec"])
    }

    /// This apply, unless the live child already is as rendered.
    #[must_use]
    pub fn unless(mut self, live: Option<(&Meta, Fingerprint)>) -> Option<Self> {
        if let Some((meta, fingerprint)) = live {
            if fingerprint == self.fingerprint() {
                return None;
            }
            self.seen = Some(meta.uid.clone());
        }
        Some(self)
    }

    /// This apply, unless the live child already is as rendered and others have added nothing that is to go.
    #[must_use]
    pub fn over(self, live: Option<(&Meta, Fingerprint, &Additions)>) -> Option<Self> {
        let Some((meta, fingerprint, additions)) = live else { return Some(self) };
        let repairs = additions.outlast(&self.body);
        if !repairs && self.has_made(fingerprint, additions) {
            return None;
        }
        let unapplied = additions.unapplied.as_ref();
        let others = Made::of_rendered(&self.kind, &self.body).others;
        let gathers = unapplied.is_some_and(|unapplied| unapplied.first != others);
        let live = unapplied.filter(|_| !repairs && !gathers).and_then(|unapplied| unapplied.whole.clone());
        Some(Self { seen: Some(meta.uid.clone()), repairs, unapplied: unapplied.is_some(), gathers, live, ..self })
    }

    /// The patch that puts back what others have changed or removed; `None` if it takes an apply.
    #[must_use]
    pub fn restores(&self) -> Option<Restore> {
        let live = serde_json::from_str(self.live.as_deref()?).ok()?;
        restoring(&live, &self.body)
    }

    /// Whether a child of which that is ours is as this makes it, what others have added apart.
    #[must_use]
    pub fn has_made(&self, fingerprint: Fingerprint, additions: &Additions) -> bool {
        let as_sent = || fingerprint == self.fingerprint();
        let Some(unapplied) = &additions.unapplied else { return as_sent() };
        // Another fingerprint than its own was learned from the answer to a write.
        let learned = fingerprint != unapplied.made.others;
        learned && as_sent() || unapplied.made.is_made_of(&Made::of_rendered(&self.kind, &self.body))
    }
}

/// The creation of a child whose spec cannot be changed afterwards. If the name is taken, whose it is decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// The child's kind.
    pub kind: Kind,
    /// The child's namespace and name.
    pub key: Key,
    /// The child.
    pub body: Value,
}

impl Create {
    /// Creates `object`, which must serialise to a JSON object.
    ///
    /// # Panics
    /// If `object` cannot be serialised to JSON (no type of k8s-openapi does that).
    #[must_use]
    pub fn new(kind: Kind, key: Key, object: &impl Serialize) -> Self {
        let Apply { kind, key, body, .. } = Apply::new(kind, key, object);
        Self { kind, key, body }
    }
}

/// What the API server says of a creation that it was asked for in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It would create the object.
    Accepted,
    /// It would not: its message.
    Rejected(String),
    /// It has not said: why.
    Unknown(String),
}

/// A deletion that only succeeds for the very object that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The child's kind.
    pub kind: Kind,
    /// The child's namespace and name.
    pub key: Key,
    /// The uid it was seen with.
    pub uid: Box<str>,
    /// The version it was seen with, where what decides may change: labels that tell what a volume holds, for example.
    pub version: Option<u64>,
    /// What must not exist, by a live look, for the child to be deleted: the user of a volume, for example.
    pub unless: Option<(Kind, Key)>,
    /// Whether it goes at once, without the time that a pod gets to end by itself: where what it does counts no more.
    pub at_once: bool,
}

impl Delete {
    /// The deletion of an object as it was seen.
    #[must_use]
    pub fn of(kind: Kind, meta: &Meta) -> Self {
        Self { kind, key: meta.key.clone(), uid: meta.uid.clone(), version: None, unless: None, at_once: false }
    }
}
