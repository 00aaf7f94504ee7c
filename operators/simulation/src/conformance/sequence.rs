//! The sequences of calls that seeds determine.

use serde_json::{Value, json};

use super::call::{CONTINUE, Call, JSON, NO_UID, OLD_VERSION, UID, VERSION, escaped};
use super::subject::{Field, METADATA, SUBJECTS, Subject, parsed};
use crate::random::Random;

mod fields;
mod writes;

#[cfg(test)]
mod tests;

const OBJECT_METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const LIST_METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const MANAGERS: [&str; 3] = ["alpha", "beta", "gamma"];
/// Selectors of labels that only objects of a sequence have: each namespace has a ConfigMap beside them.
const SELECTORS: [&str; 4] = ["tier", "tier=a", "tier!=a,tier", "tier in (a,b)"];

/// The calls of a seed: 6 to 12 on one or two objects of one kind in that namespace.
///
/// No other object of the kind is in the namespace, except for its ConfigMap `kube-root-ca.crt`.
#[must_use]
pub fn draw(seed: u64, namespace: &str) -> Vec<Call> {
    let mut random = Random::new(seed);
    let Some(subject) = random.pick(SUBJECTS) else { return Vec::new() };
    let objects = if random.chance(300) { 2 } else { 1 };
    let sequence = Sequence {
        collection: format!("{}/namespaces/{namespace}/{}", subject.root, subject.plural),
        // Sorted after the ConfigMap of the namespace, so that a page of a list does not end with one more to come.
        names: (0..objects).map(|number| format!("z-{seed:x}-{number}")).collect(),
        count: usize::try_from(random.between(6, 12)).unwrap_or(6),
        random,
        subject,
        calls: Vec::new(),
        ended: false,
    };
    sequence.drawn()
}

struct Sequence {
    random: Random,
    subject: &'static Subject,
    collection: String,
    names: Vec<String>,
    count: usize,
    calls: Vec<Call>,
    /// What comes next would depend on how fast a controller is.
    ended: bool,
}

impl Sequence {
    fn drawn(mut self) -> Vec<Call> {
        if self.random.chance(900) {
            for name in self.names.clone() {
                if self.random.chance(500) { self.create(&name) } else { self.apply(&name) }
            }
        }
        while self.calls.len() < self.count && !self.ended {
            self.step();
        }
        // A step may be more than one call.
        self.calls.truncate(self.count);
        self.calls
    }

    fn step(&mut self) {
        let name = self.random.pick(&self.names).cloned().unwrap_or_default();
        match self.random.below(100) {
            0..7 => self.create(&name),
            7..14 => self.get(&name),
            14..39 => self.apply(&name),
            39..49 => self.update(&name),
            49..60 => self.merge(&name),
            60..70 => self.json_patch(&name),
            70..78 => self.status(&name),
            78..86 => self.delete(&name),
            86..91 => self.list(&name),
            91..94 => self.unknown(&name),
            94..97 => self.refused(&name),
            _ => self.fixed(&name),
        }
    }

    /// A call with a body about an object, to the rest of its path.
    fn write(&mut self, method: &'static str, name: &str, rest: &str, format: &'static str, body: Value) -> Call {
        let object = format!("{}/{name}", self.collection);
        let accept = if self.random.chance(200) { OBJECT_METADATA } else { JSON };
        let path = format!("{object}{rest}");
        let contended = self.subject.contended;
        let content_type = Some(format);
        Call { method, path, content_type, accept, body, edits: None, object: Some(object), contended }
    }

    fn manager(&mut self) -> &'static str {
        self.random.pick(&MANAGERS).copied().unwrap_or_default()
    }

    fn get(&mut self, name: &str) {
        let scale = if self.subject.scale && self.random.chance(200) { "/scale" } else { "" };
        let call = self.write("GET", name, scale, JSON, Value::Null);
        let accept = if scale.is_empty() { call.accept } else { JSON };
        self.calls.push(Call { content_type: None, accept, ..call });
    }

    fn delete(&mut self, name: &str) {
        if self.subject.kept {
            return self.get(name);
        }
        let mut options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
        if self.random.chance(400) {
            let uid = if self.random.chance(700) { UID } else { NO_UID };
            options["preconditions"] = json!({ "uid": uid });
        }
        if self.random.chance(250) {
            let version = if self.random.chance(600) { VERSION } else { OLD_VERSION };
            options["preconditions"]["resourceVersion"] = json!(version);
        }
        if let Some(policy) = self.random.pick(&["", "Background", "Background", "Foreground", "Orphan"])
            && !policy.is_empty()
        {
            options["propagationPolicy"] = json!(policy);
            // The garbage collector removes the finalizer that this leads to.
            self.ended = *policy != "Background";
        }
        let call = self.write("DELETE", name, "", JSON, options);
        self.calls.push(call);
    }

    fn list(&mut self, name: &str) {
        let mut parameters = match self.random.below(4) {
            0 => format!("fieldSelector=metadata.name%3D{name}"),
            1 if self.subject.plural != "configmaps" => String::new(),
            _ => {
                let selector = self.random.pick(&SELECTORS).copied().unwrap_or_default();
                format!("labelSelector={}", escaped(selector))
            }
        };
        let limit = self.random.pick(&["", "limit=1", "limit=500"]).copied().unwrap_or_default();
        if !limit.is_empty() {
            let and = if parameters.is_empty() { "" } else { "&" };
            parameters.push_str(&format!("{and}{limit}"));
        }
        let accept = if self.random.chance(200) { LIST_METADATA } else { JSON };
        let path = format!("{}?{parameters}", self.collection);
        let read = Call { accept, object: None, content_type: None, ..self.write("GET", name, "", JSON, Value::Null) };
        let pages = if limit == "limit=1" { vec![String::new(), CONTINUE.to_owned()] } else { vec![String::new()] };
        self.calls.extend(pages.into_iter().map(|page| Call { path: format!("{path}{page}"), ..read.clone() }));
    }
}
