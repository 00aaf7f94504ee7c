//! Fills materialized views at the end of a load, by queries of their owners: a dump lacks their contents.

use crate::failure::{CommandFailure, Reason};
use crate::postgres::restore::load::DatabaseLoad;
use crate::postgres::restore::load_plan::LoadStep;
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::logins::Logins;

/// What to do if the query of a view fails. It may read tables of another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfilled {
    /// Warn, and leave the view unfilled: no rows are lost, and it can be filled later.
    Warn,
    /// Fail: the old server still has the contents of the view.
    Refused,
}

/// Fills them all. Returns warnings.
pub(crate) fn fill(
    load: &DatabaseLoad<'_>,
    logins: &Logins<'_>,
    unfilled: Unfilled,
) -> Result<Vec<String>, CommandFailure> {
    let mut warnings = Vec::new();
    for run in &load.plan.views {
        // Try each, also after a failure.
        let Err(failure) = load.run_with(run, logins, &["--jobs=1"]) else { continue };
        let may_be = unfilled == Unfilled::Warn || matches!(run.who, LoadRole::StandIn(_));
        let left = if is_a_querys(&failure) { left(load, run)? } else { Vec::new() };
        // A view's query may fail because another server cannot be reached: that is no ConnectionFailed of this server.
        let failed = |failure: CommandFailure| match left.is_empty() {
            true => failure,
            false => CommandFailure::new(Reason::RestoreFailed, failure.message()),
        };
        match left.split_first() {
            Some((first, others)) if may_be => {
                let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
                warnings.push(format!(
                    "database {}: materialized views stay unfilled, REFRESH them: {first}{more}: {}",
                    load.database,
                    failure.message()
                ));
            }
            _ => return Err(failed(failure)),
        }
    }
    Ok(warnings)
}

/// Whether the server has executed or rejected each statement, so that queries of views caused the failure. Pure.
fn is_a_querys(failure: &CommandFailure) -> bool {
    let mut answers = failure.message().split("could not execute query: ").skip(1).peekable();
    let of_the_server = [Reason::NoSpace, Reason::DataCorrupt].contains(&failure.reason());
    answers.peek().is_some() && answers.all(|answer| answer.starts_with("ERROR:")) && !of_the_server
}

/// The views of a step that are not filled, with their names in SQL.
fn left(load: &DatabaseLoad<'_>, run: &LoadStep) -> Result<Vec<String>, CommandFailure> {
    let sql = "SELECT pg_catalog.json_build_array(n.nspname::text, c.relname::text, pg_catalog.format('%I.%I', n.nspname, c.relname)) \
               FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.relkind = 'm' AND NOT c.relispopulated ORDER BY n.nspname, c.relname";
    let all: Vec<(String, String, String)> = load.superuser(load.database)?.query_json(sql)?;
    let of_run = |(schema, name, _): &(String, String, String)| {
        load.entries.iter().any(|entry| run.ids.contains(&entry.id) && entry.schema == *schema && entry.tag == *name)
    };
    Ok(all.into_iter().filter(of_run).map(|(.., shown)| shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_queries_are_distinguished_from_a_lost_session() {
        let of = |reason, message: &str| is_a_querys(&CommandFailure::new(reason, message));
        let query = "pg_restore: error: could not execute query: ";
        let refused = format!(
            "{query}ERROR:  could not connect to server \"s\"\nDETAIL:  server closed the connection unexpectedly"
        );
        assert!(of(Reason::ConnectionFailed, &refused));
        assert!(of(Reason::RestoreFailed, &format!("{query}ERROR:  division by zero\n{refused}")));
        assert!(!of(Reason::NoSpace, &format!("{query}ERROR:  could not extend file: No space left on device")));
        assert!(!of(Reason::ConnectionFailed, &format!("{refused}\n{query}no connection to the server")));
        assert!(!of(Reason::ConnectionFailed, &format!("{query}FATAL:  terminating connection")));
        assert!(!of(Reason::ConnectionFailed, "pg_restore: error: connection to server at \"s\" failed"));
    }
}
