//! What is measured of single objects: told as long as the object is there, and no longer. (The recorder of the process
//! keeps for ever what it has once been told of.)

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::plan::meta::Key;

/// A family of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Whether it only grows.
    pub counter: bool,
}

/// Of which object, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    controller: &'static str,
    key: Key,
    /// One more label, if the family has one.
    label: Option<(&'static str, Cow<'static, str>)>,
}

static ALL: Mutex<BTreeMap<Family, BTreeMap<Series, f64>>> = Mutex::new(BTreeMap::new());

/// The series of one object of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    /// The controller's name.
    pub controller: &'static str,
    /// The object.
    pub key: &'a Key,
}

impl Of<'_> {
    /// Sets a value, with one more label if the family has one.
    pub fn set(&self, family: Family, label: Option<(&'static str, &'static str)>, value: f64) {
        let label = label.map(|(name, value)| (name, Cow::Borrowed(value)));
        *lock().entry(family).or_default().entry(self.series(label)).or_default() = value;
    }

    /// Sets the one value of a family whose label's text changes: with any other text it is told no more.
    pub fn set_only(&self, family: Family, (label, text): (&'static str, &str), value: f64) {
        let wanted = self.series(Some((label, Cow::Owned(text.to_owned()))));
        let mut all = lock();
        let series = all.entry(family).or_default();
        series.retain(|of, _| of.controller != wanted.controller || of.key != wanted.key || *of == wanted);
        *series.entry(wanted).or_default() = value;
    }

    /// Sets the values of a family of which each has one of these texts as its label: those of other texts are told no more.
    pub fn set_each(&self, family: Family, label: &'static str, texts: &[&'static str], value: f64) {
        let mut all = lock();
        let series = all.entry(family).or_default();
        series.retain(|of, _| of.controller != self.controller || of.key != *self.key);
        for text in texts {
            series.insert(self.series(Some((label, Cow::Borrowed(text)))), value);
        }
    }

    /// Tells a value no more.
    pub fn unset(&self, family: Family) {
        lock().entry(family).or_default().retain(|of, _| of.controller != self.controller || of.key != *self.key);
    }

    /// Adds to a value.
    pub fn add(&self, family: Family, more: f64) {
        *lock().entry(family).or_default().entry(self.series(None)).or_default() += more;
    }

    fn series(&self, label: Option<(&'static str, Cow<'static, str>)>) -> Series {
        Series { controller: self.controller, key: self.key.clone(), label }
    }
}

/// Forgets an object that is gone.
pub fn forget(controller: &str, key: &Key) {
    for series in lock().values_mut() {
        series.retain(|of, _| of.controller != controller || of.key != *key);
    }
}

/// Writes all of them, in the text format of Prometheus. Names of objects need no escaping; of a label's text, what would
/// end it is left out.
pub fn append(text: &mut String) {
    for (family, all) in &*lock() {
        if all.is_empty() {
            continue;
        }
        let kind = if family.counter { "counter" } else { "gauge" };
        let _ = writeln!(text, "# HELP {} {}\n# TYPE {} {kind}", family.name, family.help, family.name);
        for (Series { key, label, .. }, value) in all {
            let label = label.as_ref().map_or_else(String::new, |(name, value)| {
                format!(",{name}=\"{}\"", value.replace(['"', '\\', '\n'], ""))
            });
            let (namespace, name) = (&key.namespace, &key.name);
            let _ = writeln!(text, "{}{{namespace=\"{namespace}\",name=\"{name}\"{label}}} {value}", family.name);
        }
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<Family, BTreeMap<Series, f64>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Family = Family { name: "thing_size", help: "How large it is", counter: false };
    const PARTS: Family = Family { name: "thing_parts_total", help: "Parts so far", counter: true };

    #[test]
    fn what_is_gone_is_not_told() {
        let (one, other) = (Key::new("n", "one"), Key::new("n", "other"));
        for key in [&one, &other] {
            let of = Of { controller: "thing", key };
            of.set(SIZE, Some(("part", "head")), 2.5);
            of.add(PARTS, 1.0);
            of.add(PARTS, 1.0);
        }
        forget("thing", &one);
        let mut text = String::new();
        append(&mut text);
        // Other tests of this process record series of their own.
        let text: String = text.lines().filter(|line| line.contains("thing_")).flat_map(|line| [line, "\n"]).collect();
        let expected = "# HELP thing_parts_total Parts so far\n# TYPE thing_parts_total counter\n\
            thing_parts_total{namespace=\"n\",name=\"other\"} 2\n\
            # HELP thing_size How large it is\n# TYPE thing_size gauge\n\
            thing_size{namespace=\"n\",name=\"other\",part=\"head\"} 2.5\n";
        assert_eq!(text, expected);
        of_a_text_that_changes_the_last_is_told(&one, &other);
    }

    fn of_a_text_that_changes_the_last_is_told(one: &Key, other: &Key) {
        const RELEASE: Family = Family { name: "release_info", help: "Which one", counter: false };
        let of = Of { controller: "release", key: one };
        of.set_only(RELEASE, ("version", "1"), 1.0);
        Of { controller: "release", key: other }.set_only(RELEASE, ("version", "1"), 1.0);
        of.set_only(RELEASE, ("version", "2\"}"), 1.0);
        let told = |family| lock()[&family].keys().map(|of| of.label.clone().unwrap().1).collect::<Vec<_>>();
        assert_eq!(told(RELEASE), ["2\"}", "1"]);
        let mut text = String::new();
        append(&mut text);
        assert!(text.contains("release_info{namespace=\"n\",name=\"one\",version=\"2}\"} 1\n"), "{text}");
        of.unset(RELEASE);
        assert_eq!(told(RELEASE), ["1"]);
        of.set_each(RELEASE, "version", &["3", "4"], 1.0);
        of.set_each(RELEASE, "version", &["4"], 1.0);
        assert_eq!(told(RELEASE), ["4", "1"]);
    }
}
