//! Pure: which privileges a definition takes that its owner may lack by now, such as to create in a schema: they were there when it
//! was made, and are lent for the load.

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::client::quote::identifier;
use crate::postgres::client::statements;
use crate::postgres::restore::evaluated::language;
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::toc::Entry;

/// One right, on what is named as SQL has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Privilege {
    Use(String),
    Create(String),
    Execute(String),
    Type(String),
    Language(String),
    Server(String),
    Refer(String),
    Insert(String),
}

impl Privilege {
    /// `USAGE ON SCHEMA "a"`, as GRANT and REVOKE have it.
    pub(crate) fn of(&self) -> String {
        match self {
            Self::Use(schema) => format!("USAGE ON SCHEMA {schema}"),
            Self::Create(schema) => format!("CREATE ON SCHEMA {schema}"),
            Self::Execute(function) => format!("EXECUTE ON ROUTINE {function}"),
            Self::Type(name) => format!("USAGE ON TYPE {name}"),
            Self::Language(name) => format!("USAGE ON LANGUAGE {name}"),
            Self::Server(name) => format!("USAGE ON FOREIGN SERVER {name}"),
            Self::Refer(table) => format!("REFERENCES ON TABLE {table}"),
            Self::Insert(table) => format!("INSERT ON TABLE {table}"),
        }
    }

    /// The function that returns whether a role has it, and what it is asked.
    pub(crate) fn question(&self) -> (&'static str, &str, &'static str) {
        match self {
            Self::Use(schema) => ("has_schema_privilege", schema, "USAGE"),
            Self::Create(schema) => ("has_schema_privilege", schema, "CREATE"),
            Self::Execute(function) => ("has_function_privilege", function, "EXECUTE"),
            Self::Type(name) => ("has_type_privilege", name, "USAGE"),
            Self::Language(name) => ("has_language_privilege", name, "USAGE"),
            Self::Server(name) => ("has_server_privilege", name, "USAGE"),
            Self::Refer(table) => ("has_table_privilege", table, "REFERENCES"),
            Self::Insert(table) => ("has_table_privilege", table, "INSERT"),
        }
    }
}

/// What makes nothing that is in a schema by itself.
const WITHIN: [&str; 13] = [
    "CHECK CONSTRAINT",
    "DEFAULT",
    "FK CONSTRAINT",
    "INDEX ATTACH",
    "MATERIALIZED VIEW DATA",
    "POLICY",
    "ROW SECURITY",
    "RULE",
    "SEQUENCE OWNED BY",
    "TABLE ATTACH",
    "TABLE DATA",
    "TRIGGER",
    "ACL",
];

/// What an entry takes of a role that is no superuser.
pub(crate) fn privileges(entry: &Entry, who: &LoadRole, known: &BTreeMap<u32, &Entry>) -> BTreeSet<Privilege> {
    let mut found = BTreeSet::new();
    if *who == LoadRole::Superuser {
        return found;
    }
    if !entry.schema.is_empty() {
        found.insert(Privilege::Use(identifier(&entry.schema)));
        if !WITHIN.contains(&entry.kind.as_str()) {
            found.insert(Privilege::Create(identifier(&entry.schema)));
        }
    }
    found.extend(entry.copied_into().map(|schema| Privilege::Use(schema.to_owned())));
    if entry.kind == "TABLE DATA" && matches!(who, LoadRole::StandIn(_)) {
        // It may be an extension's, which the stand-in has not made.
        found.insert(Privilege::Insert(format!("{}.{}", identifier(&entry.schema), identifier(&entry.tag))));
    }
    // Those that every database has, or that are an extension's, have no entry.
    found.extend(language(entry).map(|name| Privilege::Language(name.to_owned())));
    let needs = entry.needs.iter().filter_map(|id| known.get(id));
    for need in needs {
        if !need.schema.is_empty() {
            found.insert(Privilege::Use(identifier(&need.schema)));
        }
        // What a superuser has, its stand-in has not; what a role of PostgreSQL's has was made by the same stand-in.
        let stands_in = matches!(who, LoadRole::StandIn(superuser) if !superuser.starts_with("pg_"));
        if need.owner != entry.owner || stands_in {
            found.extend(of_need(need));
        }
        if entry.kind == "FK CONSTRAINT" {
            found.extend(referred(need, entry, known));
        }
    }
    found
}

fn of_need(need: &Entry) -> Option<Privilege> {
    let name = need.name()?.to_owned();
    match need.kind.as_str() {
        "FUNCTION" | "PROCEDURE" => Some(Privilege::Execute(signature(need, &name)?)),
        "TYPE" | "DOMAIN" => Some(Privilege::Type(name)),
        "SERVER" => Some(Privilege::Server(name)),
        _ => None,
    }
}

/// A function with the types of its arguments. In the name that is dropped, arguments have names, too, which GRANT takes, and the
/// question for a right does not.
fn signature(function: &Entry, name: &str) -> Option<String> {
    let schema = statements::name(name)?;
    let own = statements::name(name[schema.len()..].strip_prefix('.')?)?;
    // In the tag the function's own name is not quoted.
    let types = function.tag.strip_prefix(&own.trim_matches('"').replace("\"\"", "\""))?;
    Some(format!("{schema}.{own}{types}"))
}

/// The table that a foreign key refers to: it needs that table, or the constraint or index on it.
fn referred(need: &Entry, key: &Entry, known: &BTreeMap<u32, &Entry>) -> Vec<Privilege> {
    let through = need.needs.iter().filter_map(|id| known.get(id).copied()).filter(|_| need.kind != "TABLE");
    let tables = [need].into_iter().chain(through).filter(|table| table.kind == "TABLE" && table.owner != key.owner);
    tables.filter_map(|table| Some(Privilege::Refer(table.name()?.to_owned()))).collect()
}
