//! Pure: who executes what of a dump, and in which order.
//!
//! Code that a user wrote runs wherever PostgreSQL evaluates something: in a CHECK for each row, and in a constant of a
//! definition that is merely parsed. So each entry is executed by its owner, and by the superuser only if it is of a kind
//! that evaluates nothing ([decision 033](../../../../../docs/decisions/033-loaded-by-owners.md)).

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::restore::evaluated::{
    evaluates, is_called_by_superusers, is_of_files, is_plain_foreign_table, needs_a_users,
};
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::privileges::{Privilege, privileges};
use crate::postgres::restore::toc::{Entry, Section};

/// Entries that one session executes in the order of the archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) who: LoadRole,
    pub(crate) ids: Vec<u32>,
    /// What the role needs for it, and may lack.
    pub(crate) privileges: BTreeSet<Privilege>,
}

/// The parts of a load, in this order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadPlan {
    /// The database itself, its settings and grants.
    pub(crate) database: Vec<u32>,
    pub(crate) definitions: Vec<Run>,
    pub(crate) rows: Vec<Run>,
    /// Large objects and values of sequences: the superuser's.
    pub(crate) values: Vec<u32>,
    /// Indexes, constraints, triggers.
    pub(crate) post_data: Vec<Run>,
    /// Comments and grants: the superuser's.
    pub(crate) grants: Vec<u32>,
    /// Materialized views, which are filled by queries of their owners.
    pub(crate) views: Vec<Run>,
    /// Event triggers and their comments: the superuser's, after everything that would fire them.
    pub(crate) last: Vec<u32>,
}

impl LoadPlan {
    /// All roles other than the superuser, which have to log in.
    pub(crate) fn roles(&self) -> BTreeSet<&LoadRole> {
        let runs = self.definitions.iter().chain(&self.rows).chain(&self.post_data).chain(&self.views);
        runs.map(|run| &run.who).filter(|who| **who != LoadRole::Superuser).collect()
    }
}

/// What the superuser executes, whomever it belongs to: nothing of a user's is evaluated, and most only it may do.
const INERT: [&str; 24] = [
    "ACCESS METHOD",
    "BLOB",
    "BLOB COMMENTS",
    "BLOB METADATA",
    "BLOBS",
    "CAST",
    "EXTENSION",
    "FOREIGN DATA WRAPPER",
    "OPERATOR CLASS",
    "OPERATOR FAMILY",
    "PROCEDURAL LANGUAGE",
    "PUBLICATION",
    "PUBLICATION TABLE",
    "PUBLICATION TABLES IN SCHEMA",
    "SCHEMA",
    "SEQUENCE SET",
    "SERVER",
    "SUBSCRIPTION",
    "SUBSCRIPTION TABLE",
    "TEXT SEARCH PARSER",
    "TEXT SEARCH TEMPLATE",
    "TRANSFORM",
    "USER MAPPING",
    "EVENT TRIGGER",
];

/// What of a superuser's is executed by a stand-in: it may hold or call what others wrote.
const RELATIONS: [&str; 20] = [
    "CHECK CONSTRAINT",
    "CONSTRAINT",
    "DEFAULT",
    "FK CONSTRAINT",
    "FOREIGN TABLE",
    "INDEX",
    "INDEX ATTACH",
    "MATERIALIZED VIEW",
    "MATERIALIZED VIEW DATA",
    "POLICY",
    "ROW SECURITY",
    "RULE",
    "SEQUENCE",
    "SEQUENCE OWNED BY",
    "STATISTICS",
    "TABLE",
    "TABLE ATTACH",
    "TABLE DATA",
    "TRIGGER",
    "VIEW",
];

/// Grants on these are there before what may use them, since without grants every role may. Only the owner may use a table
/// until it is granted.
const OPEN_AT_FIRST: [&str; 9] =
    ["AGGREGATE ", "DOMAIN ", "FOREIGN ", "FUNCTION ", "LANGUAGE ", "PROCEDURE ", "SCHEMA ", "SERVER ", "TYPE "];

/// Sets of pg_dump's own, which pg_restore reads whatever its options are.
const SETTINGS: [&str; 3] = ["ENCODING", "STDSTRINGS", "SEARCHPATH"];

/// An error is a message: an entry that no role can execute.
pub(crate) fn plan(entries: &[Entry], superusers: &BTreeSet<String>) -> Result<LoadPlan, String> {
    let known: BTreeMap<u32, &Entry> = entries.iter().map(|entry| (entry.id, entry)).collect();
    if let Some(entry) = entries.iter().find(|entry| is_called_by_superusers(entry, &known, superusers)) {
        return Err(format!(
            "{} {} of the dump uses a function that is not a C function of a superuser",
            entry.kind, entry.tag
        ));
    }
    let chosen: Vec<(&Entry, LoadRole)> =
        entries.iter().map(|entry| Ok((entry, who(entry, &known, superusers)?))).collect::<Result<_, String>>()?;
    let owners: BTreeSet<&str> = chosen
        .iter()
        .filter_map(|(_, who)| if let LoadRole::Owner(name) = who { Some(name.as_str()) } else { None })
        .collect();
    let mut loading = LoadPlan::default();
    let mut groups = Groups::default();
    for (entry, who) in &chosen {
        let kind = entry.kind.as_str();
        let add = |runs: &mut Vec<Run>| append(runs, entry, who, &known);
        match kind {
            _ if SETTINGS.contains(&kind) => {}
            "DATABASE" | "DATABASE PROPERTIES" => loading.database.push(entry.id),
            "ACL" | "COMMENT" | "SECURITY LABEL" if entry.tag.starts_with("DATABASE ") => {
                loading.database.push(entry.id)
            }
            "ACL" if is_early(entry, &owners) => append(&mut loading.definitions, entry, &LoadRole::Superuser, &known),
            "COMMENT" | "SECURITY LABEL" if entry.tag.starts_with("EVENT TRIGGER ") => loading.last.push(entry.id),
            "ACL" | "COMMENT" | "SECURITY LABEL" | "DEFAULT ACL" => loading.grants.push(entry.id),
            "EVENT TRIGGER" => loading.last.push(entry.id),
            "MATERIALIZED VIEW DATA" => add(&mut loading.views),
            "TABLE DATA" => add(&mut loading.rows),
            _ if entry.section == Section::Data => loading.values.push(entry.id),
            _ if entry.section == Section::Later && *who == LoadRole::Superuser => loading.grants.push(entry.id),
            _ if entry.section == Section::Later => groups.add(entry, who, &known),
            _ => add(&mut loading.definitions),
        }
    }
    loading.rows = merged(loading.rows);
    loading.post_data = groups.runs;
    Ok(loading)
}

fn who(entry: &Entry, known: &BTreeMap<u32, &Entry>, superusers: &BTreeSet<String>) -> Result<LoadRole, String> {
    let kind = entry.kind.as_str();
    let beside = ["ACL", "COMMENT", "SECURITY LABEL", "DEFAULT ACL", "DATABASE", "DATABASE PROPERTIES"];
    if INERT.contains(&kind) || SETTINGS.contains(&kind) || beside.contains(&kind) {
        return Ok(LoadRole::Superuser);
    }
    // What attaches one thing to another has no owner in some versions: it is that of what is attached.
    let of_needs = || entry.needs.iter().filter_map(|id| known.get(id)).map(|need| need.owner.as_str());
    let owner = Some(entry.owner.as_str()).into_iter().chain(of_needs()).find(|owner| !owner.is_empty());
    let Some(owner) = owner else {
        return Err(format!("{kind} {} of the dump has no owner, so no role can load it", entry.tag));
    };
    // A role of PostgreSQL's own never logs in.
    let system = owner.starts_with("pg_");
    // Some options of foreign tables are for superusers alone, such as the file that is read. What is an owner's is handed to it at
    // once, and its owner adds to it.
    let is_added_by_a_stand_in = system || (superusers.contains(owner) && is_added_to(entry, known));
    let names_a_file = superusers.contains(owner) || is_of_files(entry, known);
    if is_plain_foreign_table(entry, known) && names_a_file && !is_added_by_a_stand_in {
        return Ok(LoadRole::Superuser);
    }
    let holds = RELATIONS.contains(&kind) || (evaluates(entry) && needs_a_users(entry, known, superusers));
    if system || (superusers.contains(owner) && holds) {
        return Ok(LoadRole::StandIn(owner.to_owned()));
    }
    Ok(if superusers.contains(owner) { LoadRole::Superuser } else { LoadRole::Owner(owner.to_owned()) })
}

/// What needs a foreign table as its owner made it: a stand-in makes those to which it adds something later.
fn is_added_to(entry: &Entry, known: &BTreeMap<u32, &Entry>) -> bool {
    let reads = |other: &Entry| ["MATERIALIZED VIEW", "VIEW"].contains(&other.kind.as_str());
    let adds =
        |other: &&Entry| RELATIONS.contains(&other.kind.as_str()) && !reads(other) && other.needs.contains(&entry.id);
    known.values().any(adds)
}

/// A function that only its owner's code can reach is the same before its grants and after them.
fn is_early(entry: &Entry, owners: &BTreeSet<&str>) -> bool {
    let open = OPEN_AT_FIRST.iter().any(|kind| entry.tag.starts_with(kind));
    let alone = owners.iter().all(|owner| *owner == entry.owner);
    open && (!alone || entry.tag.starts_with("SCHEMA "))
}

/// Adds to the last run, or begins one.
fn append(runs: &mut Vec<Run>, entry: &Entry, who: &LoadRole, known: &BTreeMap<u32, &Entry>) {
    match runs.last_mut() {
        Some(run) if run.who == *who => {
            run.ids.push(entry.id);
            run.privileges.extend(privileges(entry, who, known));
        }
        _ => runs.push(Run { who: who.clone(), ids: vec![entry.id], privileges: privileges(entry, who, known) }),
    }
}

/// One run a role: rows need nothing of one another.
fn merged(runs: Vec<Run>) -> Vec<Run> {
    let mut of: BTreeMap<LoadRole, Run> = BTreeMap::new();
    for run in runs {
        match of.get_mut(&run.who) {
            Some(there) => {
                there.ids.extend(run.ids);
                there.privileges.extend(run.privileges);
            }
            None => drop(of.insert(run.who.clone(), run)),
        }
    }
    of.into_values().collect()
}

/// Runs of what comes after the rows. An entry joins an earlier run of its role if all that it needs is there by then: few
/// large runs make indexes side by side.
#[derive(Default)]
struct Groups {
    runs: Vec<Run>,
    at: BTreeMap<u32, usize>,
}

impl Groups {
    fn add(&mut self, entry: &Entry, who: &LoadRole, known: &BTreeMap<u32, &Entry>) {
        let least = entry.needs.iter().filter_map(|id| self.at.get(id)).max().copied().unwrap_or(0);
        let found = (least..self.runs.len()).find(|at| self.runs[*at].who == *who);
        let at = found.unwrap_or(self.runs.len());
        if found.is_none() {
            self.runs.push(Run { who: who.clone(), ids: Vec::new(), privileges: BTreeSet::new() });
        }
        self.runs[at].ids.push(entry.id);
        self.runs[at].privileges.extend(privileges(entry, who, known));
        self.at.insert(entry.id, at);
    }
}

#[cfg(test)]
#[path = "load_plan_tests.rs"]
mod tests;
