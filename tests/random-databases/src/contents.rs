//! What a server holds, in lines that are the same on another server if that holds the same.

use std::collections::BTreeMap;
use std::fmt;

use crate::{MAINTENANCE, Server, allow_connections, closed, printed, stderr};

/// All databases but the server's own templates. `$1` is one of them, as a literal.
const DATABASES: &str = "SELECT datname FROM pg_database WHERE datname !~ '^template' ORDER BY datname COLLATE \"C\"";
/// The provider of its locale is known since 15, and the locale has had another name since 17.
const PLACE: &str = "SELECT concat_ws(' ', pg_get_userbyid(datdba), encoding, datcollate, datctype, to_jsonb(d)->>'datlocprovider', \
coalesce(to_jsonb(d)->>'daticulocale', to_jsonb(d)->>'datlocale'), datistemplate, \
datallowconn, datconnlimit, shobj_description(oid, 'pg_database'), (SELECT string_agg(setconfig::text, ' ' ORDER BY setrole) \
FROM pg_db_role_setting WHERE setdatabase = d.oid)) FROM pg_database d WHERE datname = $1";

/// Passwords are kept, except those that do not come from the snapshot: the superuser's and the application's.
const ROLES: &str = "SELECT concat_ws(' ', 'role', r.rolname, r.rolsuper, r.rolcanlogin, r.rolcreatedb, r.rolcreaterole, \
r.rolbypassrls, (SELECT setconfig FROM pg_db_role_setting WHERE setrole = r.oid AND setdatabase = 0), CASE WHEN r.rolsuper OR r.rolname = 'app' THEN '' ELSE md5(r.rolpassword) END, \
shobj_description(r.oid, 'pg_authid'), (SELECT string_agg(pg_get_userbyid(m.roleid), ',' ORDER BY \
pg_get_userbyid(m.roleid)) FROM pg_auth_members m WHERE m.member = r.oid)) FROM pg_authid r \
WHERE r.rolname !~ '^(pg_|multi_operator)' ORDER BY r.rolname COLLATE \"C\"";

/// Names are written with their schemas, and values in one way, whatever the database is set to.
const SESSION: &str = "SET search_path = ''; SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; \
SET extra_float_digits = 1; ";
/// A query for each table and sequence, and for what is partitioned by the hash of an enumeration's value, or of a text that may equal
/// another one, instead of its partitions, whose rows differ from server to server. How many values a sequence holds ready is not
/// kept; a view that was not filled cannot be read. The schema is the operator's, which notes in it what it does.
const QUERIES: &str = "WITH by_hash AS (SELECT p.partrelid AS oid FROM pg_partitioned_table p JOIN pg_opclass o \
ON o.oid = ANY (p.partclass) WHERE p.partstrat = 'h' AND (o.opcname = 'enum_ops' OR EXISTS (SELECT FROM pg_collation l \
WHERE l.oid = ANY (p.partcollation) AND NOT l.collisdeterministic))) SELECT CASE WHEN c.relkind = 'S' \
THEN format('SELECT %L, 0, concat_ws('' '', last_value, is_called) FROM %s', 'sequence ' || name, name) \
WHEN NOT c.relispopulated THEN format('SELECT %L, 0, %L', 'table ' || name, 'not filled') \
ELSE format('SELECT %L, count(*), md5(string_agg(the_row::text, %L ORDER BY the_row::text COLLATE \"C\")) \
FROM %s the_row', 'table ' || name, '|', CASE WHEN c.relkind = 'p' THEN name ELSE 'ONLY ' || name END) END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, \
format('%I.%I', n.nspname, c.relname) name WHERE (c.relkind IN ('m', 'S') OR c.relkind = 'r' AND NOT EXISTS \
(SELECT FROM pg_inherits i JOIN by_hash ON by_hash.oid = i.inhparent WHERE i.inhrelid = c.oid) \
OR c.oid IN (SELECT oid FROM by_hash)) AND n.nspname !~ '^pg_' \
AND n.nspname NOT IN ('information_schema', 'multi_operator') ORDER BY name COLLATE \"C\"";
/// A dump of definitions has nothing of large objects.
const LARGE_OBJECTS: &str = "SELECT 'large objects', count(*), md5(string_agg(concat_ws(' ', oid, encode(lo_get(oid), 'hex'), \
pg_get_userbyid(lomowner), (SELECT string_agg(one::text, ' ' ORDER BY one::text COLLATE \"C\") FROM unnest(lomacl) one), \
obj_description(oid, 'pg_largeobject')), ' ' ORDER BY oid)) FROM pg_largeobject_metadata";

/// What a server holds.
#[derive(Debug)]
pub struct Contents {
    /// Lines, by the name of the database; the lines of the server as a whole have an empty name.
    lines_of: BTreeMap<String, Vec<String>>,
    /// How much that is.
    pub totals: Totals,
}

/// How much a server holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Databases, `postgres` among them.
    pub databases: usize,
    /// Definitions, as `pg_dump` writes them.
    pub objects: usize,
    /// Tables and materialized views.
    pub tables: usize,
    /// Their rows.
    pub rows: u64,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { databases, objects, tables, rows } = self;
        write!(f, "{databases} databases, {objects} objects, {tables} tables, {rows} rows")
    }
}

/// Reads all databases of a server. Those that take no connections are opened meanwhile.
#[must_use]
pub fn contents(server: &impl Server) -> Contents {
    let mut totals = Totals::default();
    let mut lines_of = BTreeMap::from([(String::new(), lines(&server.sql(MAINTENANCE, ROLES)))]);
    let closed = closed(server);
    for database in server.sql(MAINTENANCE, DATABASES).lines() {
        let literal = format!("'{}'", database.replace('\'', "''"));
        let mut found = vec![server.sql(MAINTENANCE, &PLACE.replace("$1", &literal))];
        let is_closed = closed.iter().any(|closed| closed == database);
        if is_closed {
            allow_connections(server, database, true);
        }
        let (definitions, sums) = (definitions(server, database), sums(server, database));
        if is_closed {
            allow_connections(server, database, false);
        }
        totals.databases += 1;
        totals.objects += definitions.iter().filter(|line| line.starts_with("CREATE ")).count();
        totals.tables += sums.iter().filter(|line| line.starts_with("table ")).count();
        totals.rows += sums.iter().filter(|line| line.starts_with("table ")).map(|line| rows(line)).sum::<u64>();
        found.extend(definitions);
        found.extend(sums);
        lines_of.insert(database.to_owned(), found);
    }
    Contents { lines_of, totals }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Of a line `name|rows|sum`.
fn rows(line: &str) -> u64 {
    line.rsplit('|').nth(1).and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn sums(server: &impl Server, database: &str) -> Vec<String> {
    let queries = server.sql(database, &format!("{SESSION}{QUERIES}"));
    // As one query: some versions of psql print the last one's answer alone.
    let all: Vec<&str> = queries.lines().chain([LARGE_OBJECTS]).collect();
    lines(&server.sql(database, &format!("{SESSION}{}", all.join(" UNION ALL "))))
}

fn definitions(server: &impl Server, database: &str) -> Vec<String> {
    let output = server.pg_dump(database, &["--schema-only", "--exclude-schema=multi_operator"]);
    assert!(output.status.success(), "pg_dump of {database:?}: {}", stderr(&output));
    comparable(&printed(&output))
}

/// The lines of a dump, without what differs each time, or by the version of the server.
fn comparable(dump: &str) -> Vec<String> {
    let noise = |line: &str| line.is_empty() || ["--", "\\", "SET "].iter().any(|start| line.starts_with(start));
    let (mut kept, mut in_view) = (Vec::new(), false);
    for line in dump.lines().filter(|line| !noise(line)) {
        if line.starts_with("CREATE VIEW ") || line.starts_with("CREATE MATERIALIZED VIEW ") {
            in_view = true;
        } else if in_view && !line.contains("FROM ") {
            kept.push(unqualified(line));
            in_view = !line.ends_with(';');
            continue;
        }
        in_view &= !line.ends_with(';');
        // The server stores options of a dictionary with the quotes with which they were given.
        let is_options = line.starts_with("    ") && line.ends_with("' );");
        kept.push(if is_options { line.replace('"', "") } else { line.to_owned() });
    }
    kept
}

/// From 16 on, a server writes the columns of a view over a single table without the table's name.
fn unqualified(line: &str) -> String {
    let part = |part: &str| match part.strip_suffix('.') {
        // Quoted, as `quote_all_identifiers` has it.
        Some(before) if before.ends_with('"') => before.rsplitn(3, '"').nth(2).unwrap_or_default().to_owned(),
        Some(before) => before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').to_owned(),
        None => part.to_owned(),
    };
    line.split_inclusive('.').map(part).collect()
}

/// What two servers do not have in common; `stories` are what [`crate::make`] returned.
#[must_use]
pub fn difference(before: &Contents, after: &Contents, stories: &[String]) -> Option<String> {
    let none = Vec::new();
    let mut names: Vec<&String> = before.lines_of.keys().chain(after.lines_of.keys()).collect();
    names.sort();
    names.dedup();
    let differs = |name: &&String| {
        let there = |of: &Contents| if of.lines_of.contains_key(*name) { "" } else { " (no such database)" }.to_owned();
        let of = |of: &'_ BTreeMap<String, Vec<String>>| of.get(*name).unwrap_or(&none).clone();
        let (then, now) = (of(&before.lines_of), of(&after.lines_of));
        let (missing, new) = (without(&then, &now), without(&now, &then));
        let story = stories.iter().find(|story| story.starts_with(&format!("{name} of ")));
        let difference = format!(
            "{name:?}: missing{} {missing:#?}, new{} {new:#?}; {}",
            there(after),
            there(before),
            story.map_or("", |story| story)
        );
        (!missing.is_empty() || !new.is_empty()).then_some(difference)
    };
    let found: Vec<String> = names.iter().filter_map(differs).collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

/// The lines of one list that the other has not, or not as often.
fn without(these: &[String], those: &[String]) -> Vec<String> {
    let mut rest: Vec<&String> = those.iter().collect();
    let is_left = |line: &&String| match rest.iter().position(|other| other == line) {
        Some(at) => {
            rest.swap_remove(at);
            false
        }
        None => true,
    };
    these.iter().filter(is_left).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_read_the_same_on_old_and_new_servers() {
        let old = "--\nSET a = b;\nCREATE VIEW odd.seen1 WITH (security_barrier='true') AS\n SELECT base1.a\n   FROM odd.base1\n  WHERE \
                   (base1.b = 1);\nALTER TABLE odd.seen1 OWNER TO app;\n";
        let new = old.replace("base1.a", "a").replace("base1.b", "b");
        assert_eq!(comparable(old), comparable(&new));
        assert_eq!(comparable(old).last().map(String::as_str), Some("ALTER TABLE odd.seen1 OWNER TO app;"));
        assert!(comparable(old).contains(&"   FROM odd.base1".to_owned()));
        let quoted = |text: &str| text.replace("a\n", "\"a\"\n").replace("b =", "\"b\" =");
        let old = quoted(old).replace("base1.", "\"base1\".");
        assert_eq!(comparable(&old), comparable(&quoted(&new)), "{old}");
    }

    #[test]
    fn options_of_dictionaries_read_the_same_however_they_are_quoted() {
        let plain = "CREATE TEXT SEARCH DICTIONARY odd.stem (\n    TEMPLATE = pg_catalog.snowball,\n    language = 'english' );\n";
        assert_eq!(comparable(plain), comparable(&plain.replace("language", "\"language\"")));
    }

    #[test]
    fn each_difference_is_named() {
        let holding = |database: &str, lines: &[&str]| Contents {
            lines_of: BTreeMap::from([(database.to_owned(), lines.iter().map(ToString::to_string).collect())]),
            totals: Totals::default(),
        };
        let one = holding("one", &["a", "b", "b"]);
        assert_eq!(difference(&one, &holding("one", &["b", "a", "b"]), &[]), None);
        let found = difference(&one, &holding("one", &["a", "b"]), &["one of app: 3".to_owned()]).unwrap_or_default();
        assert!(found.contains("\"b\"") && found.contains("one of app: 3"), "{found}");
        let found = difference(&one, &holding("two", &["a"]), &[]).unwrap_or_default();
        assert_eq!(found.matches("no such database").count(), 2, "{found}");
    }
}
