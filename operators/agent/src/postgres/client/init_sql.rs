//! The SQL of a user's that is run once: all of it and the record that it ran, or nothing.

use std::fs;
use std::path::Path;

use agent_protocol::SqlFile;

use crate::failure::{Failure, Reason};
use crate::postgres::client::quote::literal;
use crate::postgres::client::session::{SAFE_PATH, Session};
use crate::postgres::client::statements;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::files;

pub(crate) struct Script {
    /// The file's name, for messages.
    name: String,
    text: String,
    secret: bool,
}

/// Reads a file, and finds what can be found wrong with it before anything is run.
pub(crate) fn read(file: &SqlFile) -> Result<Script, Failure> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let script = Script { name, text: read_text(&file.path)?, secret: file.secret };
    let wrong = |line, why: &str| Failure::new(Reason::SqlFailed, format!("{}, line {line}: {why}", script.name));
    let found = statements::split(&script.text);
    let found = found.map_err(|open| wrong(open.line, &format!("the {} that begins here does not end", open.what)))?;
    if let Some((line, why)) = found.iter().find_map(|one| Some((one.line, statements::refusal(one.text)?))) {
        return Err(wrong(line, why));
    }
    if script.text.contains('\0') {
        return Err(wrong(1, "it contains a NUL character"));
    }
    Ok(script)
}

fn read_text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(Reason::BadInput, format!("{} cannot be read: {error}", path.display())))
}

const TRANSACTION: &str = "SELECT pg_catalog.txid_current()";

/// Whether it ran now, and how many statements it has. It is run as the application itself, by a connection of its own:
/// a superuser who took on its role could be made to put it off again.
pub(crate) fn run(
    tools: &Tools,
    application: &Connection,
    database: &str,
    key: &str,
    scripts: &[Script],
) -> Result<(bool, usize), Failure> {
    let mut session = Session::connect(tools, application, database)?;
    // What another role has put into the application's schemas is not found in place of the ledger, or of an operator.
    session.query(SAFE_PATH)?;
    session.query("BEGIN")?;
    // Another run of this waits here, and then finds the record.
    session.query("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('multi_operator.ledger'))")?;
    let recorded = format!("SELECT 1 FROM multi_operator.ledger WHERE key = {}", literal(key));
    if session.query_one(&recorded)?.is_some() {
        return Ok((false, 0));
    }
    let transaction = session.query_one(TRANSACTION)?;
    let mut count = 0;
    for script in scripts {
        session.query("SET search_path TO public")?;
        session.set_verbosity(!script.secret)?;
        count += run_script(&mut session, script)?;
    }
    session.set_verbosity(true)?;
    if session.query_one(TRANSACTION)? != transaction {
        return Err(Failure::new(Reason::SqlFailed, "the SQL ended the transaction that the agent runs it in"));
    }
    let texts: String = scripts.iter().map(|script| script.text.as_str()).collect();
    let checksum = files::sha256(texts.as_bytes());
    session.query(&format!(
        "INSERT INTO multi_operator.ledger (key, checksum) VALUES ({}, {}); COMMIT",
        literal(key),
        literal(&checksum)
    ))?;
    Ok((true, count))
}

fn run_script(session: &mut Session<'_>, script: &Script) -> Result<usize, Failure> {
    // It was split before, without an error.
    let found = statements::split(&script.text).unwrap_or_default();
    for statement in &found {
        session.run(statement.text).map_err(|failure| {
            let line = statement.line + lines_before(statement.text, failure.message());
            let reason = match failure.reason() {
                Reason::ToolFailed | Reason::PermissionDenied => Reason::SqlFailed,
                other => other,
            };
            let text = failure.message().trim_start_matches("psql: ");
            Failure::new(reason, format!("{}, line {line}: {text}", script.name))
        })?;
    }
    Ok(found.len())
}

/// How far down in a statement the server's `at character N` is.
fn lines_before(statement: &str, message: &str) -> usize {
    let place = message.rsplit_once(" at character ").map_or("", |(_, rest)| rest);
    let digits = place.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let characters = digits.parse::<usize>().unwrap_or(1).saturating_sub(1);
    statement.chars().take(characters).filter(|c| *c == '\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_in_a_line() {
        assert_eq!(lines_before("a\nb\nc", "ERROR:  syntax error at or near \"c\" at character 5"), 2);
        assert_eq!(lines_before("\u{e4}\nb", "at character 2"), 0);
        assert_eq!(lines_before("a\nb", "ERROR:  duplicate key"), 0);
    }
}
