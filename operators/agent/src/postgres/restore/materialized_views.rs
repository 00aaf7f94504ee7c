//! Materialized views, which are filled in the end, by queries of their owners. A dump has nothing of what they held.

use crate::failure::{Failure, Reason};
use crate::postgres::restore::load::Load;
use crate::postgres::restore::load_plan::Run;
use crate::postgres::restore::load_role::LoadRole;
use crate::postgres::restore::logins::Logins;

/// What becomes of a load when a query of an owner's fails, which may read tables of another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfilled {
    /// The view stays unfilled, with a warning: all rows are there, and it can be filled later.
    Told,
    /// It fails, where the server of before still holds what the view held.
    Refused,
}

/// Fills them all. Returns warnings.
pub(crate) fn fill(load: &Load<'_>, logins: &Logins<'_>, unfilled: Unfilled) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    for run in &load.plan.views {
        // Each is tried, whatever became of those before it.
        let Err(failure) = load.run_with(run, logins, &["--jobs=1"]) else { continue };
        let may_be = unfilled == Unfilled::Told || matches!(run.who, LoadRole::StandIn(_));
        let left = if is_a_querys(&failure) { left(load, run)? } else { Vec::new() };
        // By which a query says that another server cannot be reached is none of this one's.
        let failed = |failure: Failure| match left.is_empty() {
            true => failure,
            false => Failure::new(Reason::RestoreFailed, failure.message()),
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

/// Whether the server has answered each statement, and refused some of them. Pure.
fn is_a_querys(failure: &Failure) -> bool {
    let mut answers = failure.message().split("could not execute query: ").skip(1).peekable();
    let of_the_server = [Reason::NoSpace, Reason::DataCorrupt].contains(&failure.reason());
    answers.peek().is_some() && answers.all(|answer| answer.starts_with("ERROR:")) && !of_the_server
}

/// Those of a run that are not filled, as SQL names them.
fn left(load: &Load<'_>, run: &Run) -> Result<Vec<String>, Failure> {
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
    fn what_a_query_says_is_told_from_what_ends_a_session() {
        let of = |reason, message: &str| is_a_querys(&Failure::new(reason, message));
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
