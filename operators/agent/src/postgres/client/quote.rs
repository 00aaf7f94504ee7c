//! Pure: names and texts in SQL and in connection strings, and SQL for psql.

/// A name, always quoted: so it is never a keyword, and keeps its case.
pub(crate) use postgres_protocol::escape::escape_identifier as identifier;
/// A text. One with a backslash is in E'' form, which does not depend on `standard_conforming_strings`.
pub(crate) use postgres_protocol::escape::escape_literal as literal;

/// A connection string with only the database: libpq would take a bare name with `=` in it for such a string.
pub(crate) fn database(name: &str) -> String {
    format!("dbname='{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// SQL that psql sends without parsing it: backslash commands, variables and `;` in it have no effect.
///
/// (psql's manual, `\gexec`: what it executes is sent to the server literally.)
pub(crate) fn opaque(sql: &str) -> String {
    let hex = sql.bytes().fold(String::with_capacity(sql.len() * 2), |mut hex, byte| {
        for half in [byte >> 4, byte & 15] {
            hex.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
        hex
    });
    format!("SELECT pg_catalog.convert_from(pg_catalog.decode('{hex}', 'hex'), 'UTF8') \\gexec")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_cannot_be_left() {
        assert_eq!(identifier("a\"b; DROP"), "\"a\"\"b; DROP\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\' b"), " E'a\\\\'' b'");
        assert_eq!(database("a=b' \\c"), "dbname='a=b\\' \\\\c'");
        assert!(opaque("\\! id").contains("decode('5c21206964', 'hex')"));
    }
}
