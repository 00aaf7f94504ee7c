//! Pure: the roles of a snapshot, adapted to the server that they are restored into.

use std::collections::BTreeSet;

use crate::postgres::client::quote;
use crate::postgres::client::statements::{self, Unterminated};

/// The file of a snapshot that has them.
pub(crate) const GLOBALS: &str = "globals.sql";

/// The roles of the server that is restored into.
#[derive(Debug)]
pub(crate) struct ExistingRoles<'a> {
    /// The agent's own role there, which stays as it is.
    pub(crate) superuser: &'a str,
    /// The agent's role when the snapshot was taken. It may own objects, so it must exist, without any attributes.
    pub(crate) superuser_then: &'a str,
    /// All existing roles, which keep their passwords and attributes.
    pub(crate) roles: BTreeSet<String>,
}

/// The statements of `pg_dumpall --globals-only` that are to be run.
///
/// An existing role keeps its password and attributes, since clients of the new server use those. Memberships and settings come
/// from the snapshot. Tablespaces are left out: they are directories of another machine.
pub(crate) fn adapted(globals: &str, existing: &ExistingRoles<'_>) -> Result<Vec<String>, Unterminated> {
    Ok(split(globals)?.into_iter().filter_map(|statement| adapt(statement, existing)).collect())
}

/// The statements, byte for byte, without `\restrict` and `\unrestrict`, with which newer minor versions begin and end, for psql
/// alone. These are where a statement begins; in a literal the same text is data.
fn split(text: &str) -> Result<Vec<&str>, Unterminated> {
    let mut found = Vec::new();
    for statement in statements::split(text)? {
        match after_restriction(statement.text) {
            Some(rest) => found.extend(split(rest)?),
            None => found.push(statement.text),
        }
    }
    Ok(found)
}

/// What follows the line of `\restrict` or `\unrestrict` that a text begins with.
fn after_restriction(text: &str) -> Option<&str> {
    let is_one = text.starts_with("\\restrict ") || text.starts_with("\\unrestrict ");
    is_one.then(|| text.split_once('\n').map_or("", |(_, rest)| rest))
}

fn adapt(statement: &str, existing: &ExistingRoles<'_>) -> Option<String> {
    let own = |role: &str| role == existing.superuser || role == existing.superuser_then;
    let stays = if let Some((role, _)) = after(statement, "CREATE ROLE ") {
        !existing.roles.contains(&role) && role != existing.superuser
    } else if let Some((role, rest)) = after(statement, "ALTER ROLE ") {
        let attributes = rest.trim_start().starts_with("WITH ");
        !(own(&role) || attributes && existing.roles.contains(&role))
    } else if let Some((role, _)) = after(statement, "COMMENT ON ROLE ") {
        !own(&role)
    } else {
        let others = ["SET ", "CREATE TABLESPACE", "ALTER TABLESPACE", "COMMENT ON TABLESPACE"];
        !others.iter().any(|other| statement.starts_with(other)) && !statement.contains(" ON TABLESPACE ")
    };
    stays.then(|| without_grantor(statement).to_owned())
}

/// The name after some keywords, and the rest.
fn after<'a>(statement: &'a str, keywords: &str) -> Option<(String, &'a str)> {
    let rest = statement.strip_prefix(keywords)?;
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
        return Some((rest[..end].to_owned(), &rest[end..]));
    };
    let mut name = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character != '"' {
            name.push(character);
        } else if characters.next_if(|(_, next)| *next == '"').is_some() {
            name.push('"');
        } else {
            return Some((name, &quoted[at + 1..]));
        }
    }
    None
}

/// Removes the grantor of a membership: it does not matter, and on another version the role may be missing or lack the privilege.
fn without_grantor(statement: &str) -> &str {
    if !statement.starts_with("GRANT ") {
        return statement;
    }
    statement.rsplit_once(" GRANTED BY ").map_or(statement, |(grant, _)| grant)
}

/// Settings whose values are lists of quoted names, which only the server itself can parse.
const LISTS: [&str; 6] = [
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

/// `ALTER ROLE ALL SET`, which pg_dumpall leaves out, of `name=value` as the catalog has it.
pub(crate) fn setting_of_all(setting: &str) -> Option<String> {
    let (name, value) = setting.split_once('=')?;
    let quoted: Vec<String> = name.split('.').map(quote::identifier).collect();
    let (quoted, value) = (quoted.join("."), quote::literal(value));
    if !LISTS.contains(&name) {
        return Some(format!("ALTER ROLE ALL SET {quoted} TO {value};\n"));
    }
    let name = quote::literal(name);
    Some(format!(
        "SELECT pg_catalog.set_config({name}, {value}, false);\nALTER ROLE ALL SET {quoted} FROM CURRENT;\n\
         SELECT pg_catalog.set_config({name}, '', false);\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOBALS: &str = r#"--
-- PostgreSQL database cluster dump
--

\restrict abc

SET default_transaction_read_only = off;
SET client_encoding = 'UTF8';

CREATE ROLE app;
ALTER ROLE app WITH NOSUPERUSER LOGIN PASSWORD 'SCRAM-SHA-256$4096:a;b$c:d';
CREATE ROLE "o""dd one";
ALTER ROLE "o""dd one" WITH NOSUPERUSER;
COMMENT ON ROLE "o""dd one" IS 'it''s; odd';
CREATE ROLE postgres;
ALTER ROLE postgres WITH SUPERUSER PASSWORD 'x';
ALTER ROLE app SET search_path TO 'a', 'b';
GRANT app TO "o""dd one" WITH INHERIT TRUE GRANTED BY postgres;
CREATE TABLESPACE t OWNER app LOCATION '/x';

\unrestrict abc
"#;

    fn adapted_for(superuser: &str, superuser_then: &str, roles: &[&str]) -> Vec<String> {
        let roles = roles.iter().map(ToString::to_string).collect();
        adapted(GLOBALS, &ExistingRoles { superuser, superuser_then, roles }).unwrap()
    }

    #[test]
    fn all_roles_but_ones_own() {
        assert_eq!(
            adapted_for("postgres", "postgres", &["postgres"]),
            [
                "CREATE ROLE app",
                "ALTER ROLE app WITH NOSUPERUSER LOGIN PASSWORD 'SCRAM-SHA-256$4096:a;b$c:d'",
                r#"CREATE ROLE "o""dd one""#,
                r#"ALTER ROLE "o""dd one" WITH NOSUPERUSER"#,
                r#"COMMENT ON ROLE "o""dd one" IS 'it''s; odd'"#,
                "ALTER ROLE app SET search_path TO 'a', 'b'",
                r#"GRANT app TO "o""dd one" WITH INHERIT TRUE"#,
            ]
        );
    }

    #[test]
    fn literals_stay_as_they_are() {
        let literal = "COMMENT ON ROLE app IS 'one\r\ntwo\n\\restrict three\n\\unrestrict four\r\n'";
        let globals = GLOBALS.replace("CREATE ROLE postgres;", &format!("{literal};\nCREATE ROLE postgres;"));
        let existing = ExistingRoles { superuser: "postgres", superuser_then: "postgres", roles: BTreeSet::new() };
        let statements = adapted(&globals, &existing).unwrap();
        assert!(statements.iter().any(|statement| statement == literal), "{statements:?}");
        assert_eq!(statements.len(), adapted(GLOBALS, &existing).unwrap().len() + 1);
    }

    #[test]
    fn commands_for_psql_are_removed_wherever_statements_begin() {
        let existing = ExistingRoles { superuser: "postgres", superuser_then: "postgres", roles: BTreeSet::new() };
        let sql = |text: &str| adapted(text, &existing).unwrap();
        assert_eq!(sql("\\restrict a\n-- none\n\\unrestrict a\n\n-- end"), Vec::<String>::new());
        assert_eq!(sql("-- roles\r\n\\restrict a\r\n\r\nCREATE ROLE b;\n\\unrestrict a"), ["CREATE ROLE b"]);
    }

    #[test]
    fn settings_of_all_roles_are_carried_over() {
        assert_eq!(setting_of_all("lock_timeout=11s").unwrap(), "ALTER ROLE ALL SET \"lock_timeout\" TO '11s';\n");
        assert_eq!(setting_of_all("a.b=c=d").unwrap(), "ALTER ROLE ALL SET \"a\".\"b\" TO 'c=d';\n");
        let list = setting_of_all("search_path=\"$user\", public").unwrap();
        assert!(list.contains("set_config('search_path', '\"$user\", public', false)"), "{list}");
        let existing = ExistingRoles { superuser: "boss", superuser_then: "boss", roles: BTreeSet::new() };
        assert_eq!(
            adapted(&list, &existing).unwrap().len(),
            3,
            "none of it is taken for a setting of pg_dumpall's session"
        );
        assert_eq!(setting_of_all("nothing"), None);
    }

    #[test]
    fn an_existing_role_keeps_its_password() {
        let statements = adapted_for("postgres", "postgres", &["app", "o\"dd one"]);
        assert_eq!(statements.len(), 3, "{statements:?}");
        assert!(statements.iter().all(|statement| !statement.contains(" WITH NOSUPERUSER")));
    }

    #[test]
    fn the_earlier_superuser_is_created_without_attributes() {
        let statements = adapted_for("boss", "postgres", &["boss"]);
        assert!(statements.contains(&"CREATE ROLE postgres".to_owned()));
        assert!(!statements.iter().any(|statement| statement.starts_with("ALTER ROLE postgres")));
    }
}
