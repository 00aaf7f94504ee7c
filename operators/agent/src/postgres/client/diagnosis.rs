//! Pure: diagnosis of the standard error of PostgreSQL's programs: which failure it indicates, and its text without secrets.
//!
//! The agent runs the programs with `LC_ALL=C`, and creates clusters with C.UTF-8, so programs and server write English.

use crate::failure::{CommandFailure, Reason};

/// The maximum length of an excerpt: it must fit into a termination message.
const LONGEST: usize = 1500;

/// Texts that indicate a reason. The order counts: other failures also begin with "connection to server".
const SIGNS: [(Reason, &[&str]); 7] = [
    // The last is the server's hint if a write was short, which is no error of the operating system.
    (Reason::NoSpace, &["No space left on device", "Disk quota exceeded", "Check free disk space"]),
    (
        Reason::DataCorrupt,
        &[
            "page verification failed",
            "invalid page in block",
            "could not locate a valid checkpoint record",
            "could not locate required checkpoint record",
            "invalid primary checkpoint record",
            "is not a valid data directory",
            "incorrect checksum in control file",
            "CRC checksum does not match value stored",
            "could not read block",
        ],
    ),
    (
        Reason::WrongMajor,
        &[
            "database files are incompatible with server",
            "aborting because of server version mismatch",
            // The agent sets this only for servers of 17 and later (tools.rs).
            "unrecognized configuration parameter \"event_triggers\"",
        ],
    ),
    (
        Reason::AuthenticationFailed,
        &[
            "password authentication failed",
            "no password supplied",
            "no pg_hba.conf entry",
            "FATAL:  role \"",
            // The settings of a superuser's session, which no other role may set.
            "FATAL:  permission denied to set parameter",
        ],
    ),
    (Reason::DatabaseMissing, &["FATAL:  database \""]),
    (
        Reason::ConnectionFailed,
        &[
            "could not connect",
            "connection to server",
            "could not translate host name",
            "server closed the connection",
            "Connection refused",
            "the database system is",
            "terminating connection",
            "timeout expired",
            "SSL SYSCALL",
        ],
    ),
    (Reason::PermissionDenied, &["must be superuser", "permission denied", "Permission denied"]),
];

/// The reason that this output indicates, or else `otherwise`.
pub(crate) fn classify(stderr: &str, otherwise: Reason) -> Reason {
    let found = SIGNS.iter().find(|(_, marks)| marks.iter().any(|mark| stderr.contains(mark)));
    found.map_or(otherwise, |(reason, _)| *reason)
}

/// The last lines of a program's output, without secrets.
pub(crate) fn excerpt(stderr: &str, secrets: &[String]) -> String {
    let shown = redact(stderr.trim(), secrets);
    let least = shown.len().saturating_sub(LONGEST);
    let from = (least..=shown.len()).find(|at| shown.is_char_boundary(*at)).unwrap_or(least);
    let tail = &shown[from..];
    // Drop the first line, which is incomplete, unless there is only one.
    let tail = if from > 0 { tail.split_once('\n').map_or(tail, |(_, rest)| rest) } else { tail };
    tail.trim().to_owned()
}

/// Replaces the given secrets, SCRAM verifiers, and quoted text after PASSWORD.
pub(crate) fn redact(stderr: &str, secrets: &[String]) -> String {
    let mut shown = stderr.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        shown = shown.replace(secret.as_str(), "***");
    }
    shown = hide(&shown, "SCRAM-SHA-256$", |c| c.is_whitespace() || c == '\'' || c == '"');
    hide(&shown, "PASSWORD '", |c| c == '\'')
}

/// Replaces what follows each `mark`, up to where it ends.
fn hide(stderr: &str, mark: &str, ends: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(stderr.len());
    let mut rest = stderr;
    while let Some(at) = rest.find(mark) {
        let (before, after) = rest.split_at(at + mark.len());
        shown.push_str(before);
        shown.push_str("***");
        rest = &after[after.find(&ends).unwrap_or(after.len())..];
    }
    shown + rest
}

/// Errors in SQL from a snapshot are failures of the restore.
pub(crate) fn restore_failed(failure: CommandFailure) -> CommandFailure {
    match failure.reason() {
        Reason::ToolFailed | Reason::PermissionDenied => CommandFailure::new(Reason::RestoreFailed, failure.message()),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(stderr: &str) -> Reason {
        classify(stderr, Reason::ToolFailed)
    }

    #[test]
    fn output_is_classified() {
        assert_eq!(reason("pg_dump: error: could not write to file: No space left on device"), Reason::NoSpace);
        let short = "FATAL:  could not extend file \"base/1/4174\": wrote only 4096 of 8192 bytes at block 0\nHINT:  Check free disk space.";
        assert_eq!(reason(short), Reason::NoSpace);
        let refused = "connection to server at \"db\" (10.0.0.1), port 5432 failed: ";
        assert_eq!(reason(&format!("{refused}Connection refused")), Reason::ConnectionFailed);
        assert_eq!(
            reason(&format!("{refused}FATAL:  password authentication failed for user \"a\"")),
            Reason::AuthenticationFailed
        );
        assert_eq!(reason(&format!("{refused}FATAL:  database \"b\" does not exist")), Reason::DatabaseMissing);
        assert_eq!(
            reason(&format!("{refused}FATAL:  role \"a\" is not permitted to log in")),
            Reason::AuthenticationFailed
        );
        assert_eq!(reason(&format!("{refused}FATAL:  role \"a\" does not exist")), Reason::AuthenticationFailed);
        let older = format!("{refused}FATAL:  unrecognized configuration parameter \"event_triggers\"");
        assert_eq!(reason(&older), Reason::WrongMajor);
        let no_superuser = format!("{refused}FATAL:  permission denied to set parameter \"session_preload_libraries\"");
        assert_eq!(reason(&no_superuser), Reason::AuthenticationFailed);
        assert_eq!(
            reason("pg_dump: error: query failed: ERROR:  permission denied for table t"),
            Reason::PermissionDenied
        );
        assert_eq!(reason("PANIC:  could not locate a valid checkpoint record"), Reason::DataCorrupt);
        assert_eq!(reason("something else"), Reason::ToolFailed);
    }

    #[test]
    fn secrets_are_not_shown() {
        let stderr =
            "ERROR: role \"x\"\nLINE 1: ALTER ROLE x PASSWORD 'SCRAM-SHA-256$4096:ab$cd:ef' LOGIN; hunter2 tail";
        let shown = redact(stderr, &["hunter2".into(), String::new()]);
        assert_eq!(shown, "ERROR: role \"x\"\nLINE 1: ALTER ROLE x PASSWORD '***' LOGIN; *** tail");
        assert_eq!(redact("at SCRAM-SHA-256$4096:x", &[]), "at SCRAM-SHA-256$***");
    }

    #[test]
    fn an_excerpt_has_the_last_lines() {
        let stderr = format!("{}\nERROR: the end\n", "a line of a log\n".repeat(500));
        let shown = excerpt(&stderr, &[]);
        assert!(shown.len() <= LONGEST && shown.starts_with("a line") && shown.ends_with("ERROR: the end"));
        assert_eq!(excerpt(&"\u{e4}".repeat(2000), &[]).chars().count(), LONGEST / 2);
    }
}
