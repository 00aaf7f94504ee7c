//! Pure: the privileges that a definition needs and its owner may have lost since it was created, such as CREATE on a schema. The
//! agent lends them for the load.

use std::collections::{BTreeMap, BTreeSet};

use crate::postgres::client::quote::identifier;
use crate::postgres::client::statements;
use crate::postgres::restore::evaluated::language;
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::toc::TocEntry;

/// A privilege on an object, with the object's name in SQL.
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
    /// `USAGE ON SCHEMA "a"`, for GRANT and REVOKE.
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

    /// The function that returns whether a role has it, and that function's arguments.
    pub(crate) fn check(&self) -> (&'static str, &str, &'static str) {
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

/// Kinds that create no object in a schema.
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

/// The privileges that an entry needs, if the role is not the superuser.
pub(crate) fn privileges(entry: &TocEntry, who: &LoadRole, known: &BTreeMap<u32, &TocEntry>) -> BTreeSet<Privilege> {
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
        // The table may be an extension's, which the stand-in has not created.
        found.insert(Privilege::Insert(format!("{}.{}", identifier(&entry.schema), identifier(&entry.tag))));
    }
    // Languages that every database has, or that belong to an extension, have no entry.
    found.extend(language(entry).map(|name| Privilege::Language(name.to_owned())));
    let needs = entry.needs.iter().filter_map(|id| known.get(id));
    for need in needs {
        if !need.schema.is_empty() {
            found.insert(Privilege::Use(identifier(&need.schema)));
        }
        // A stand-in lacks the privileges of its superuser; objects of PostgreSQL's own roles have the same stand-in as owner.
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

fn of_need(need: &TocEntry) -> Option<Privilege> {
    let name = need.name()?.to_owned();
    match need.kind.as_str() {
        "FUNCTION" | "PROCEDURE" => Some(Privilege::Execute(signature(need, &name)?)),
        "TYPE" | "DOMAIN" => Some(Privilege::Type(name)),
        "SERVER" => Some(Privilege::Server(name)),
        _ => None,
    }
}

/// A function with the types of its arguments. In its DROP statement, arguments also have names, which GRANT accepts, and
/// has_function_privilege does not.
fn signature(function: &TocEntry, name: &str) -> Option<String> {
    let schema = statements::name(name)?;
    let own = statements::name(name[schema.len()..].strip_prefix('.')?)?;
    // In the tag the function's own name is not quoted.
    let types = function.tag.strip_prefix(&own.trim_matches('"').replace("\"\"", "\""))?;
    Some(format!("{schema}.{own}{types}"))
}

/// The privilege on the table that a foreign key refers to: the key depends on that table, or on a constraint or index of it.
fn referred(need: &TocEntry, key: &TocEntry, known: &BTreeMap<u32, &TocEntry>) -> Vec<Privilege> {
    let through = need.needs.iter().filter_map(|id| known.get(id).copied()).filter(|_| need.kind != "TABLE");
    let tables = [need].into_iter().chain(through).filter(|table| table.kind == "TABLE" && table.owner != key.owner);
    tables.filter_map(|table| Some(Privilege::Refer(table.name()?.to_owned()))).collect()
}
