//! Pure: the table of contents of an archive of pg_dump, from the file `toc.dat` of its directory.
//!
//! `pg_restore --list` prints the same, but in lines with names that users chose: a name with spaces can look like another owner.
//! The file has a length before each text, as pg_restore itself reads it (src/bin/pg_dump/pg_backup_archiver.c).

use crate::postgres::client::statements;

/// When pg_restore executes an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TocSection {
    /// With the object that it belongs to: comments, grants.
    #[default]
    Accompanying,
    Definitions,
    Data,
    /// Indexes, constraints, triggers: after the rows.
    Later,
}

/// An entry of the archive. They are in the order in which pg_restore would execute them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TocEntry {
    /// Its number in a list for `pg_restore --use-list`.
    pub(crate) id: u32,
    /// Its kind: `TABLE`, `FK CONSTRAINT`, `TABLE DATA`.
    pub(crate) kind: String,
    /// Its name in pg_dump's own form: only for messages, and for the object of an ACL or a comment.
    pub(crate) tag: String,
    pub(crate) schema: String,
    pub(crate) owner: String,
    /// `DROP TABLE "a"."b";`: has its full name, quoted as in SQL.
    pub(crate) drop: String,
    pub(crate) definition: String,
    /// `COPY "a"."b" ("c") FROM stdin;`, for rows.
    pub(crate) copy: String,
    pub(crate) section: TocSection,
    /// The entries that it depends on.
    pub(crate) needs: Vec<u32>,
}

impl TocEntry {
    /// Its name in SQL, if pg_dump has it.
    pub(crate) fn name(&self) -> Option<&str> {
        let rest = self.drop.trim().strip_prefix("DROP ")?.strip_prefix(self.kind.as_str())?;
        let name = rest.trim().trim_end_matches(';');
        // The functions of a type are dropped with it. A name ends with a quote or a parenthesis.
        Some(name.strip_suffix(" CASCADE").unwrap_or(name)).filter(|name| !name.is_empty() && !name.contains('\n'))
    }

    /// The schema of the table that its rows are copied into, quoted as in SQL. Rows of a partition may go through another table.
    pub(crate) fn copied_into(&self) -> Option<&str> {
        statements::name(self.copy.strip_prefix("COPY ")?)
    }
}

/// The arguments of the statement that sets a sequence: name, value, and whether the value has been used.
pub(crate) fn setval(definition: &str) -> Option<&str> {
    definition.trim().strip_prefix("SELECT pg_catalog.setval(")?.strip_suffix(");")
}

const MAGIC: &[u8] = b"PGDMP";

/// The versions of the format, since PostgreSQL 9.2, 12 and 16, 16, 17: the code below reads or skips what each added.
const OLDEST: (u8, u8) = (1, 12);
const NEWEST: (u8, u8) = (1, 16);

/// Parses the file. The error is a message.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<TocEntry>, String> {
    let mut read = TocReader { rest: bytes, integer: 4 };
    if read.take(MAGIC.len())? != MAGIC {
        return Err("it is not an archive of pg_dump".into());
    }
    let (major, minor, _revision) = (read.byte()?, read.byte()?, read.byte()?);
    let version = (major, minor);
    if !(OLDEST..=NEWEST).contains(&version) {
        return Err(format!("it is an archive of version {major}.{minor}, which is not supported"));
    }
    read.integer = usize::from(read.byte()?);
    if read.integer == 0 || read.integer > 8 {
        return Err(format!("it has integers of {} bytes", read.integer));
    }
    let (_offset, _format) = (read.byte()?, read.byte()?);
    // The kind of compression, or its level.
    if version >= (1, 15) {
        read.byte()?;
    } else {
        read.number()?;
    }
    // The time; then the database, the server's version and pg_dump's.
    for _ in 0..7 {
        read.number()?;
    }
    for _ in 0..3 {
        read.text()?;
    }
    let count = read.unsigned()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(entry(&mut read, version)?);
    }
    Ok(entries)
}

fn entry(read: &mut TocReader<'_>, version: (u8, u8)) -> Result<TocEntry, String> {
    let id = read.unsigned()?;
    // Whether it has data; its catalog, and its OID there.
    read.number()?;
    read.text()?;
    read.text()?;
    let (tag, kind) = (read.text()?, read.text()?);
    let section = match read.number()? {
        2 => TocSection::Definitions,
        3 => TocSection::Data,
        4 => TocSection::Later,
        _ => TocSection::Accompanying,
    };
    let (definition, drop) = (read.text()?, read.text()?);
    let copy = read.text()?;
    // Then its schema, and its tablespace.
    let schema = read.text()?;
    read.text()?;
    if version >= (1, 14) {
        read.text()?;
    }
    if version >= (1, 16) {
        read.number()?;
    }
    let owner = read.text()?;
    // Whether its rows have OIDs, which no table has any more.
    read.text()?;
    let mut needs = Vec::new();
    while let Some(text) = read.optional_text()? {
        needs.push(text.parse().map_err(|_| format!("entry {id} needs {text:?}"))?);
    }
    // The file of its data.
    read.text()?;
    Ok(TocEntry { id, kind, tag, schema, owner, drop, definition, copy, section, needs })
}

struct TocReader<'a> {
    rest: &'a [u8],
    /// How many bytes an integer has, after its sign.
    integer: usize,
}

impl<'a> TocReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("it is truncated")?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|taken| taken[0])
    }

    fn number(&mut self) -> Result<i64, String> {
        let negative = self.byte()? != 0;
        let bytes = self.take(self.integer)?;
        let value = bytes.iter().rev().fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
        let value = i64::try_from(value).map_err(|_| "it has a number that is too large")?;
        Ok(if negative { -value } else { value })
    }

    fn unsigned(&mut self) -> Result<u32, String> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| format!("it has {number} where a count or an ID should be"))
    }

    fn optional_text(&mut self) -> Result<Option<String>, String> {
        let Ok(length) = usize::try_from(self.number()?) else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(self.take(length)?).into_owned()))
    }

    fn text(&mut self) -> Result<String, String> {
        self.optional_text().map(Option::unwrap_or_default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &mut Vec<u8>, value: i32) {
        bytes.push(u8::from(value < 0));
        bytes.extend(value.unsigned_abs().to_le_bytes());
    }

    fn text(bytes: &mut Vec<u8>, value: &str) {
        number(bytes, i32::try_from(value.len()).unwrap());
        bytes.extend(value.as_bytes());
    }

    /// As `WriteHead` and `WriteToc` write it.
    fn archive(minor: u8, entries: &[TocEntry]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, minor, 0, 4, 8, 5]);
        if minor >= 15 {
            bytes.push(1);
        } else {
            number(&mut bytes, -1);
        }
        (0..7).for_each(|part| number(&mut bytes, part));
        ["app", "15.18", "17.2"].iter().for_each(|part| text(&mut bytes, part));
        number(&mut bytes, i32::try_from(entries.len()).unwrap());
        for entry in entries {
            number(&mut bytes, i32::try_from(entry.id).unwrap());
            number(&mut bytes, 0);
            for part in ["1259", "16385", &entry.tag, &entry.kind] {
                text(&mut bytes, part);
            }
            number(&mut bytes, 2);
            for part in [&entry.definition, &entry.drop] {
                text(&mut bytes, part);
            }
            text(&mut bytes, &entry.copy);
            text(&mut bytes, &entry.schema);
            text(&mut bytes, "");
            if minor >= 14 {
                text(&mut bytes, "heap");
            }
            if minor >= 16 {
                number(&mut bytes, 114);
            }
            text(&mut bytes, &entry.owner);
            text(&mut bytes, "false");
            entry.needs.iter().for_each(|id| text(&mut bytes, &id.to_string()));
            number(&mut bytes, -1);
            text(&mut bytes, "3000.dat.gz");
        }
        bytes
    }

    fn table() -> TocEntry {
        TocEntry {
            id: 215,
            kind: "TABLE".into(),
            tag: "t public postgres".into(),
            schema: "public".into(),
            owner: "app".into(),
            drop: "DROP TABLE \"public\".\"t public postgres\";\n".into(),
            definition: "CREATE TABLE".into(),
            copy: String::new(),
            section: TocSection::Definitions,
            needs: vec![6, 900],
        }
    }

    #[test]
    fn the_value_of_a_sequence_is_read() {
        let definition = "SELECT pg_catalog.setval('\"public\".\"a\"', 42, true);\n\n\n";
        assert_eq!(setval(definition), Some("'\"public\".\"a\"', 42, true"));
        assert_eq!(setval("SELECT 1;"), None);
    }

    #[test]
    fn rows_have_the_schema_of_their_copy_statement() {
        let of = |copy: &str| TocEntry { copy: copy.into(), ..table() };
        assert_eq!(of("COPY \"a\"\".\"\"b\".\"t\" (\"c\") FROM stdin;").copied_into(), Some("\"a\"\".\"\"b\""));
        assert_eq!(of("COPY \"a.b\".\"t\" FROM stdin;").copied_into(), Some("\"a.b\""));
        assert_eq!(table().copied_into(), None);
    }

    #[test]
    fn every_version_is_read() {
        let entries = [
            table(),
            TocEntry { id: 4, kind: "ENCODING".into(), section: TocSection::Definitions, ..TocEntry::default() },
        ];
        for minor in 12..=16 {
            assert_eq!(parse(&archive(minor, &entries)).unwrap(), entries, "1.{minor}");
        }
    }

    #[test]
    fn a_truncated_or_unknown_archive_is_rejected() {
        let whole = archive(14, &[table()]);
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_err(), "{length}");
        }
        assert!(parse(&archive(17, &[])).unwrap_err().contains("1.17"));
    }

    #[test]
    fn a_name_is_that_of_the_drop_statement() {
        assert_eq!(table().name(), Some("\"public\".\"t public postgres\""));
        let base =
            TocEntry { kind: "TYPE".into(), drop: "DROP TYPE \"public\".\"a CASCADE\" CASCADE;\n".into(), ..table() };
        assert_eq!(base.name(), Some("\"public\".\"a CASCADE\""));
        assert_eq!(TocEntry { drop: String::new(), ..table() }.name(), None);
        assert_eq!(TocEntry { drop: "DROP TABLE \"a\nb\";".into(), ..table() }.name(), None);
    }
}
