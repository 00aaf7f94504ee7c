//! Pure: which role executes which entries of a dump, and in which order.
//!
//! Users' code runs wherever PostgreSQL evaluates something: in a CHECK for each row, and for a constant in a definition that is
//! only parsed. So the owner of each entry executes it; the superuser does so only for kinds that evaluate nothing ([decision
//! 033](../../../../../docs/decisions/033-loaded-by-owners.md)).

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::restore::evaluated::{
    evaluates, is_called_by_superusers, is_of_files, is_plain_foreign_table, needs_a_users,
};
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::privileges::{Privilege, privileges};
use crate::postgres::restore::toc::{TocEntry, TocSection};

/// Entries that one session executes in the order of the archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoadStep {
    pub(crate) who: LoadRole,
    pub(crate) ids: Vec<u32>,
    /// The privileges that the role needs for it, and may lack.
    pub(crate) privileges: BTreeSet<Privilege>,
}

/// The parts of a load, in this order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadPlan {
    /// The database itself, its settings and grants.
    pub(crate) database: Vec<u32>,
    pub(crate) definitions: Vec<LoadStep>,
    pub(crate) rows: Vec<LoadStep>,
    /// Large objects and values of sequences, executed by the superuser.
    pub(crate) values: Vec<u32>,
    /// Indexes, constraints, triggers.
    pub(crate) post_data: Vec<LoadStep>,
    /// Comments and grants, executed by the superuser.
    pub(crate) grants: Vec<u32>,
    /// Materialized views, which queries of their owners fill.
    pub(crate) views: Vec<LoadStep>,
    /// Event triggers and their comments, executed by the superuser after everything that would fire them.
    pub(crate) last: Vec<u32>,
}

impl LoadPlan {
    /// All roles other than the superuser, which have to log in.
    pub(crate) fn roles(&self) -> BTreeSet<&LoadRole> {
        let runs = self.definitions.iter().chain(&self.rows).chain(&self.post_data).chain(&self.views);
        runs.map(|run| &run.who).filter(|who| **who != LoadRole::Superuser).collect()
    }
}

/// Kinds that the superuser executes for any owner: they evaluate no code of users, and most need a superuser.
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

/// Kinds that a stand-in executes for a superuser: they may contain or call other users' code.
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

/// Grants on these precede their use by others, since every role may use them by default. A table is different: by default only
/// its owner may use it.
const OPEN_AT_FIRST: [&str; 9] =
    ["AGGREGATE ", "DOMAIN ", "FOREIGN ", "FUNCTION ", "LANGUAGE ", "PROCEDURE ", "SCHEMA ", "SERVER ", "TYPE "];

/// Settings of pg_dump's own, which pg_restore always reads.
const SETTINGS: [&str; 3] = ["ENCODING", "STDSTRINGS", "SEARCHPATH"];

/// Plans a load. The error is a message: about an entry that no role can execute.
pub(crate) fn plan(entries: &[TocEntry], superusers: &BTreeSet<String>) -> Result<LoadPlan, String> {
    let known: BTreeMap<u32, &TocEntry> = entries.iter().map(|entry| (entry.id, entry)).collect();
    if let Some(entry) = entries.iter().find(|entry| is_called_by_superusers(entry, &known, superusers)) {
        return Err(format!(
            "{} {} of the dump uses a function that is not a C function of a superuser",
            entry.kind, entry.tag
        ));
    }
    let chosen: Vec<(&TocEntry, LoadRole)> =
        entries.iter().map(|entry| Ok((entry, who(entry, &known, superusers)?))).collect::<Result<_, String>>()?;
    let owners: BTreeSet<&str> = chosen
        .iter()
        .filter_map(|(_, who)| if let LoadRole::Owner(name) = who { Some(name.as_str()) } else { None })
        .collect();
    let mut plan = LoadPlan::default();
    let mut groups = Groups::default();
    for (entry, who) in &chosen {
        let kind = entry.kind.as_str();
        let add = |runs: &mut Vec<LoadStep>| append(runs, entry, who, &known);
        match kind {
            _ if SETTINGS.contains(&kind) => {}
            "DATABASE" | "DATABASE PROPERTIES" => plan.database.push(entry.id),
            "ACL" | "COMMENT" | "SECURITY LABEL" if entry.tag.starts_with("DATABASE ") => plan.database.push(entry.id),
            "ACL" if is_early(entry, &owners) => append(&mut plan.definitions, entry, &LoadRole::Superuser, &known),
            "COMMENT" | "SECURITY LABEL" if entry.tag.starts_with("EVENT TRIGGER ") => plan.last.push(entry.id),
            "ACL" | "COMMENT" | "SECURITY LABEL" | "DEFAULT ACL" => plan.grants.push(entry.id),
            "EVENT TRIGGER" => plan.last.push(entry.id),
            "MATERIALIZED VIEW DATA" => add(&mut plan.views),
            "TABLE DATA" => add(&mut plan.rows),
            _ if entry.section == TocSection::Data => plan.values.push(entry.id),
            _ if entry.section == TocSection::Later && *who == LoadRole::Superuser => plan.grants.push(entry.id),
            _ if entry.section == TocSection::Later => groups.add(entry, who, &known),
            _ => add(&mut plan.definitions),
        }
    }
    plan.rows = merged(plan.rows);
    plan.post_data = groups.runs;
    Ok(plan)
}

fn who(entry: &TocEntry, known: &BTreeMap<u32, &TocEntry>, superusers: &BTreeSet<String>) -> Result<LoadRole, String> {
    let kind = entry.kind.as_str();
    let accompanying = ["ACL", "COMMENT", "SECURITY LABEL", "DEFAULT ACL", "DATABASE", "DATABASE PROPERTIES"];
    if INERT.contains(&kind) || SETTINGS.contains(&kind) || accompanying.contains(&kind) {
        return Ok(LoadRole::Superuser);
    }
    // In some versions, an entry that attaches an object to another has no owner: it is that of the attached object.
    let of_needs = || entry.needs.iter().filter_map(|id| known.get(id)).map(|need| need.owner.as_str());
    let owner = Some(entry.owner.as_str()).into_iter().chain(of_needs()).find(|owner| !owner.is_empty());
    let Some(owner) = owner else {
        return Err(format!("{kind} {} of the dump has no owner, so no role can load it", entry.tag));
    };
    // A role of PostgreSQL itself never logs in.
    let system = owner.starts_with("pg_");
    // Only superusers may set some options of foreign tables, such as the file to read. The superuser gives an owner's table to
    // its owner at once, who then adds to it.
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

/// Whether a later entry adds to a foreign table: then the stand-in that adds to it must also have created it.
fn is_added_to(entry: &TocEntry, known: &BTreeMap<u32, &TocEntry>) -> bool {
    let reads = |other: &TocEntry| ["MATERIALIZED VIEW", "VIEW"].contains(&other.kind.as_str());
    let adds = |other: &&TocEntry| {
        RELATIONS.contains(&other.kind.as_str()) && !reads(other) && other.needs.contains(&entry.id)
    };
    known.values().any(adds)
}

/// Whether grants must precede other entries. If there is only one owner, no other role can use its functions before the grants.
fn is_early(entry: &TocEntry, owners: &BTreeSet<&str>) -> bool {
    let is_open = OPEN_AT_FIRST.iter().any(|kind| entry.tag.starts_with(kind));
    let is_single_owner = owners.iter().all(|owner| *owner == entry.owner);
    is_open && (!is_single_owner || entry.tag.starts_with("SCHEMA "))
}

/// Adds an entry to the last step, or begins a new one.
fn append(runs: &mut Vec<LoadStep>, entry: &TocEntry, who: &LoadRole, known: &BTreeMap<u32, &TocEntry>) {
    match runs.last_mut() {
        Some(run) if run.who == *who => {
            run.ids.push(entry.id);
            run.privileges.extend(privileges(entry, who, known));
        }
        _ => runs.push(LoadStep { who: who.clone(), ids: vec![entry.id], privileges: privileges(entry, who, known) }),
    }
}

/// Merges the steps of each role: rows do not depend on each other.
fn merged(runs: Vec<LoadStep>) -> Vec<LoadStep> {
    let mut of: BTreeMap<LoadRole, LoadStep> = BTreeMap::new();
    for run in runs {
        match of.get_mut(&run.who) {
            Some(step) => {
                step.ids.extend(run.ids);
                step.privileges.extend(run.privileges);
            }
            None => drop(of.insert(run.who.clone(), run)),
        }
    }
    of.into_values().collect()
}

/// The steps after the rows. An entry joins an earlier step of its role if all that it needs exists by then: few large steps
/// create indexes concurrently.
#[derive(Default)]
struct Groups {
    runs: Vec<LoadStep>,
    at: BTreeMap<u32, usize>,
}

impl Groups {
    fn add(&mut self, entry: &TocEntry, who: &LoadRole, known: &BTreeMap<u32, &TocEntry>) {
        let least = entry.needs.iter().filter_map(|id| self.at.get(id)).max().copied().unwrap_or(0);
        let found = (least..self.runs.len()).find(|at| self.runs[*at].who == *who);
        let at = found.unwrap_or(self.runs.len());
        if found.is_none() {
            self.runs.push(LoadStep { who: who.clone(), ids: Vec::new(), privileges: BTreeSet::new() });
        }
        self.runs[at].ids.push(entry.id);
        self.runs[at].privileges.extend(privileges(entry, who, known));
        self.at.insert(entry.id, at);
    }
}

#[cfg(test)]
#[path = "load_plan_tests.rs"]
mod tests;
