//! Pure: what programs and kubelets say, cut to what is of use: the line that names the cause comes first.

/// The longest message of a condition.
const MESSAGE: usize = 1000;
/// The longest line.
const LINE: usize = 240;
/// How many lines are told.
const LINES: usize = 3;
/// What tells a cause, the surest first.
const CAUSES: [&str; 8] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Cannot allocate memory",
    "out of memory",
    "PANIC:",
    "FATAL:",
    "ERROR:",
];
/// What clients are told while a server starts or ends is no cause.
const NOISE: [&str; 2] = ["the database system is", "terminating connection"];

/// Of a log, the line that tells the cause, and the last ones.
#[must_use]
pub(crate) fn log(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let rank = |line: &&&str| CAUSES.iter().position(|cause| line.contains(cause)).filter(|_| !is_noise(line));
    let cause = lines.iter().filter(|line| rank(line).is_some()).min_by_key(rank);
    let others = lines.iter().filter(|line| cause.is_none_or(|cause| cause != *line));
    let room = LINES - usize::from(cause.is_some());
    let others: Vec<&&str> = others.collect();
    let last = others.iter().skip(others.len().saturating_sub(room)).copied();
    let told: Vec<String> = cause.into_iter().chain(last).map(|line| cut(line, LINE)).collect();
    told.join("; ")
}

fn is_noise(line: &str) -> bool {
    NOISE.iter().any(|noise| line.contains(noise))
}

/// A message, no longer than a condition's may be; of a longer one that has lines, what a log is told by.
#[must_use]
pub(crate) fn message(text: String) -> String {
    match text.chars().count() > MESSAGE {
        true if text.lines().count() > LINES => log(&text),
        true => cut(&text, MESSAGE),
        false => text,
    }
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(longest.saturating_sub(4)).collect();
    cut.push_str(" ...");
    cut
}

/// Whether what is said is that a volume is full.
#[must_use]
pub(crate) fn is_full(text: &str) -> bool {
    text.contains("No space left on device") || text.contains("Disk quota exceeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_the_cause_comes_first() {
        let told = log(
            "LOG:  redo starts at 0/1\nPANIC:  could not write to file \"pg_wal/xlogtemp.31\": No space left on device\n\
             FATAL:  the database system is in recovery mode\nLOG:  startup process was terminated by signal 6: Aborted\n\
             LOG:  aborting startup due to startup process failure\nLOG:  database system is shut down\n",
        );
        assert!(told.starts_with("PANIC:  could not write to file"), "{told}");
        assert!(told.ends_with("LOG:  database system is shut down") && is_full(&told), "{told}");
        assert!(log("FATAL:  terminating connection\nLOG: two\nLOG: three\nLOG: four").starts_with("LOG: two"));
    }

    #[test]
    fn kilobytes_are_cut() {
        let line = "x".repeat(5000);
        assert!(log(&line).len() <= LINE);
        assert!(message(line.clone()).len() <= MESSAGE);
        let lines = format!("{line}\n{line}\nERROR: why\n{line}");
        assert!(message(lines.clone()).starts_with("ERROR: why") && message(lines).len() <= MESSAGE);
        assert_eq!(message("short\nlines".to_owned()), "short\nlines");
    }
}
