//! Pure: what the server evaluates while a role creates an entry of a dump.

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::client::statements;
use crate::postgres::restore::toc::TocEntry;

/// Kinds of a superuser's entries whose creation evaluates nothing.
pub(crate) const EVALUATES_NOTHING: [&str; 7] = [
    "COLLATION",
    "CONVERSION",
    "OPERATOR",
    "SHELL TYPE",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TYPE",
];

/// What a foreign table may depend on if the superuser creates it: none of these is a user's.
const OF_FOREIGN_TABLES: [&str; 4] = ["EXTENSION", "FOREIGN DATA WRAPPER", "SCHEMA", "SERVER"];

/// Whether it has a function of users that runs when a superuser creates a server or a function with it. gaps.rs reports these.
pub(crate) fn is_called_by_superusers(
    entry: &TocEntry,
    known: &BTreeMap<u32, &TocEntry>,
    superusers: &BTreeSet<String>,
) -> bool {
    let in_c = |function: &TocEntry| matches!(language(function), Some("\"c\"" | "c"));
    let others = |need: &&TocEntry| need.kind == "FUNCTION" && !(superusers.contains(&need.owner) && in_c(need));
    ["FOREIGN DATA WRAPPER", "PROCEDURAL LANGUAGE"].contains(&entry.kind.as_str())
        && entry.needs.iter().filter_map(|id| known.get(id).copied()).any(|need| others(&need))
}

/// The language of a function, as in SQL.
pub(crate) fn language(entry: &TocEntry) -> Option<&str> {
    if !["FUNCTION", "PROCEDURE"].contains(&entry.kind.as_str()) {
        return None;
    }
    let tokens = statements::tokens(&entry.definition).ok()?;
    tokens.into_iter().find(|(token, _)| *token == "LANGUAGE").and_then(|(_, rest)| statements::name(rest.trim_start()))
}

/// Whether the creation of an entry evaluates anything. That of a function whose text is not parsed evaluates only defaults of
/// arguments; that of an aggregate only its initial values. An entry that cannot be parsed may evaluate anything.
pub(crate) fn evaluates(entry: &TocEntry) -> bool {
    let has = |keywords: &[&str]| match statements::tokens(&entry.definition) {
        Ok(tokens) => tokens.iter().any(|(token, _)| keywords.contains(token)),
        Err(_) => true,
    };
    match entry.kind.as_str() {
        "AGGREGATE" => has(&["INITCOND", "MINITCOND"]),
        "FUNCTION" | "PROCEDURE" => has(&["DEFAULT", "RETURN", "ATOMIC"]),
        kind => !EVALUATES_NOTHING.contains(&kind),
    }
}

/// Whether it depends, directly or not, on an object whose owner is not a superuser, such as a domain with a constraint, which is
/// evaluated for each constant.
pub(crate) fn needs_a_users(entry: &TocEntry, known: &BTreeMap<u32, &TocEntry>, superusers: &BTreeSet<String>) -> bool {
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
pub(crate) fn is_of_files(entry: &TocEntry, known: &BTreeMap<u32, &TocEntry>) -> bool {
    let needs = entry.needs.iter().filter_map(|id| known.get(id));
    needs.filter(|need| need.kind == "SERVER").any(|server| {
        let tokens = statements::tokens(&server.definition).unwrap_or_default();
        let of = tokens.into_iter().find(|(token, _)| *token == "WRAPPER");
        of.and_then(|(_, rest)| statements::name(rest.trim_start())) == Some("\"file_fdw\"")
    })
}

/// Whether it is a foreign table without any object of users in it.
pub(crate) fn is_plain_foreign_table(entry: &TocEntry, known: &BTreeMap<u32, &TocEntry>) -> bool {
    let inert = |need: &&TocEntry| OF_FOREIGN_TABLES.contains(&need.kind.as_str());
    entry.kind == "FOREIGN TABLE"
        && !entry.needs.is_empty()
        && entry.needs.iter().all(|id| known.get(id).is_some_and(inert))
}
