//! A set of paths of fields, as an entry of `managedFields` holds it: a port of `fieldpath.Set` of structured-merge-diff.

mod encoding;
mod path;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::field_types::FieldType;

pub use path::{PathElement, Scalar, display};

/// A set of paths. A path in the set says nothing about the paths below it: those are in the set or not on their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<PathElement>,
    /// Never holds an empty set.
    children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Adds a path. The empty path is the whole object, whose ownership is not tracked.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether there is no path.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Whether the path is in the set.
    #[must_use]
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|set| set.contains(rest)),
        }
    }

    /// Whether each path of the other is in this one.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let has =
            |(element, set): (&PathElement, &Self)| self.children.get(element).is_some_and(|below| below.includes(set));
        other.members.is_subset(&self.members) && other.children.iter().all(has)
    }

    /// The paths below that one.
    #[must_use]
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.children.get(element)
    }

    /// The paths of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.extend(other);
        both
    }

    fn extend(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            self.children.entry(element.clone()).or_default().extend(set);
        }
    }

    /// The paths that both have.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let common = |(element, set): (&PathElement, &Self)| {
            let common = set.intersection(other.children.get(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        };
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(common).collect(),
        }
    }

    /// The paths that the other has not.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let rest = |(element, set): (&PathElement, &Self)| {
            let rest = other.children.get(element).map_or_else(|| set.clone(), |other| set.difference(other));
            (!rest.is_empty()).then(|| (element.clone(), rest))
        };
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(rest).collect(),
        }
    }

    /// The same, with each named field that has paths below it. A field of a struct is in no set that an apply makes if it has
    /// fields of its own, yet it must not be removed while those stay.
    #[must_use]
    pub fn with_named_fields(&self, types: &FieldType) -> Self {
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (element, set) in &self.children {
            let below = match element {
                PathElement::Field(name) => {
                    if types.names(name) {
                        members.insert(element.clone());
                    }
                    types.field(name)
                }
                PathElement::Key(_) | PathElement::Value(_) | PathElement::Index(_) => types.items(),
            };
            children.insert(element.clone(), set.with_named_fields(below));
        }
        Self { members, children }
    }

    /// All paths: first those of this level, then those below.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut all = Vec::new();
        self.collect(&mut Vec::new(), &mut all);
        all
    }

    fn collect(&self, path: &mut Vec<PathElement>, all: &mut Vec<Vec<PathElement>>) {
        for element in &self.members {
            all.push(path.iter().chain([element]).cloned().collect());
        }
        for (element, set) in &self.children {
            path.push(element.clone());
            set.collect(path, all);
            path.pop();
        }
    }
}

impl fmt::Display for FieldSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<String> = self.paths().iter().map(|path| display(path)).collect();
        out.write_str(&paths.join("\n"))
    }
}
