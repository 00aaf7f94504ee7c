//! Runs a user's SQL once: all of it together with the record that it ran, or nothing.

use std::fs;
use std::path::Path;

use agent_protocol::SqlFile;

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::postgres::client::quote::literal;
use crate::postgres::client::session::{SAFE_PATH, Session};
use crate::postgres::client::statements;
use crate::postgres::client::tools::{Connection, Tools};

pub(crate) struct InitScript {
    /// The file's name, for messages.
    name: String,
    text: String,
    secret: bool,
}

/// Reads a file, and makes all checks that are possible before anything runs.
pub(crate) fn read(file: &SqlFile) -> Result<InitScript, CommandFailure> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let script = InitScript { name, text: read_text(&file.path)?, secret: file.secret };
    let wrong =
        |line, why: &str| CommandFailure::new(Reason::SqlFailed, format!("{}, line {line}: {why}", script.name));
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

fn read_text(path: &Path) -> Result<String, CommandFailure> {
    fs::read_to_string(path)
        .map_err(|error| CommandFailure::new(Reason::BadInput, format!("{} cannot be read: {error}", path.display())))
}

const TRANSACTION: &str = "SELECT pg_catalog.txid_current()";

/// Returns whether it ran now, and the number of statements. The application runs it, in a connection of its own: SQL could reset
/// the role of a superuser who has set the application's role.
pub(crate) fn run(
    tools: &Tools,
    application: &Connection,
    database: &str,
    key: &str,
    scripts: &[InitScript],
) -> Result<(bool, usize), CommandFailure> {
    let mut session = Session::connect(tools, application, database)?;
    // Objects of other roles in the application's schemas must not shadow the ledger, or an operator.
    session.query(SAFE_PATH)?;
    session.query("BEGIN")?;
    // A concurrent run waits here, and then finds the record.
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
        return Err(CommandFailure::new(Reason::SqlFailed, "the SQL ended the transaction that the agent runs it in"));
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

fn run_script(session: &mut Session<'_>, script: &InitScript) -> Result<usize, CommandFailure> {
    // `read` has split it without an error.
    let found = statements::split(&script.text).unwrap_or_default();
    for statement in &found {
        session.run(statement.text).map_err(|failure| {
            let line = statement.line + lines_before(statement.text, failure.message());
            let reason = match failure.reason() {
                Reason::ToolFailed | Reason::PermissionDenied => Reason::SqlFailed,
                other => other,
            };
            let text = failure.message().trim_start_matches("psql: ");
            CommandFailure::new(reason, format!("{}, line {line}: {text}", script.name))
        })?;
    }
    Ok(found.len())
}

/// The number of lines before the server's `at character N` in a statement.
fn lines_before(statement: &str, message: &str) -> usize {
    let position = message.rsplit_once(" at character ").map_or("", |(_, rest)| rest);
    let digits = position.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
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
