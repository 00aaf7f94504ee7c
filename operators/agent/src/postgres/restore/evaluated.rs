//! Pure: what the server evaluates while an entry of a dump is created, by whichever role.

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::client::statements;
use crate::postgres::restore::toc::Entry;

/// What of a superuser's evaluates nothing while it is made, whatever it is made of.
pub(crate) const EVALUATES_NOTHING: [&str; 7] = [
    "COLLATION",
    "CONVERSION",
    "OPERATOR",
    "SHELL TYPE",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TYPE",
];

/// What a foreign table may need, if the superuser makes it: nothing in it is a user's.
const OF_FOREIGN_TABLES: [&str; 4] = ["EXTENSION", "FOREIGN DATA WRAPPER", "SCHEMA", "SERVER"];

/// What a superuser makes of these calls their functions: for each server, for each function. gaps.rs names them.
pub(crate) fn is_called_by_superusers(
    entry: &Entry,
    known: &BTreeMap<u32, &Entry>,
    superusers: &BTreeSet<String>,
) -> bool {
    let in_c = |function: &Entry| matches!(language(function), Some("\"c\"" | "c"));
    let others = |need: &&Entry| need.kind == "FUNCTION" && !(superusers.contains(&need.owner) && in_c(need));
    ["FOREIGN DATA WRAPPER", "PROCEDURAL LANGUAGE"].contains(&entry.kind.as_str())
        && entry.needs.iter().filter_map(|id| known.get(id).copied()).any(|need| others(&need))
}

/// The language of a function, as SQL has its name.
pub(crate) fn language(entry: &Entry) -> Option<&str> {
    if !["FUNCTION", "PROCEDURE"].contains(&entry.kind.as_str()) {
        return None;
    }
    let words = statements::words(&entry.definition).ok()?;
    words.into_iter().find(|(word, _)| *word == "LANGUAGE").and_then(|(_, rest)| statements::name(rest.trim_start()))
}

/// A function whose text is not parsed evaluates nothing, unless it has an argument with a default; an aggregate a constant that it
/// begins with. What cannot be read may evaluate anything.
pub(crate) fn evaluates(entry: &Entry) -> bool {
    let has = |keywords: &[&str]| match statements::words(&entry.definition) {
        Ok(words) => words.iter().any(|(word, _)| keywords.contains(word)),
        Err(_) => true,
    };
    match entry.kind.as_str() {
        "AGGREGATE" => has(&["INITCOND", "MINITCOND"]),
        "FUNCTION" | "PROCEDURE" => has(&["DEFAULT", "RETURN", "ATOMIC"]),
        kind => !EVALUATES_NOTHING.contains(&kind),
    }
}

/// Whether it needs, by whatever way, what is no superuser's: a constant of a domain, which a constant is checked by.
pub(crate) fn needs_a_users(entry: &Entry, known: &BTreeMap<u32, &Entry>, superusers: &BTreeSet<String>) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), entry.needs.clone());
    while let Some(id) = left.pop() {
        let Some(need) = known.get(&id).filter(|_| seen.insert(id)) else { continue };
        if need.kind != "SCHEMA" && !need.owner.is_empty() && !superusers.contains(&need.owner) {
            return true;
        }
        left.extend(&need.needs);
    }
    false
}

/// Whether a foreign table is one of `file_fdw`, whose files and programs only some roles may name.
pub(crate) fn is_of_files(entry: &Entry, known: &BTreeMap<u32, &Entry>) -> bool {
    let needs = entry.needs.iter().filter_map(|id| known.get(id));
    needs.filter(|need| need.kind == "SERVER").any(|server| {
        let words = statements::words(&server.definition).unwrap_or_default();
        let of = words.into_iter().find(|(word, _)| *word == "WRAPPER");
        of.and_then(|(_, rest)| statements::name(rest.trim_start())) == Some("\"file_fdw\"")
    })
}

/// Whether it is a foreign table in which nothing is a user's.
pub(crate) fn is_plain_foreign_table(entry: &Entry, known: &BTreeMap<u32, &Entry>) -> bool {
    let inert = |need: &&Entry| OF_FOREIGN_TABLES.contains(&need.kind.as_str());
    entry.kind == "FOREIGN TABLE"
        && !entry.needs.is_empty()
        && entry.needs.iter().all(|id| known.get(id).is_some_and(inert))
}
