//! Pure: messages of programs and of kubelets, shortened to the relevant part. The line with the cause comes first.

/// The longest message of a condition.
const MESSAGE: usize = 1000;
/// The longest line.
const LINE: usize = 240;
/// How many lines of a log are kept.
const LINES: usize = 3;
/// Texts that name a cause, the most reliable first.
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
/// Messages to clients while a server starts or stops are no cause.
const NOISE: [&str; 2] = ["the database system is", "terminating connection"];

/// The line of a log with the cause, and its last lines.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let rank = |line: &&&str| CAUSES.iter().position(|cause| line.contains(cause)).filter(|_| !is_noise(line));
    let cause = lines.iter().filter(|line| rank(line).is_some()).min_by_key(rank);
    let others = lines.iter().filter(|line| cause.is_none_or(|cause| cause != *line));
    let free_lines = LINES - usize::from(cause.is_some());
    let others: Vec<&&str> = others.collect();
    let last = others.iter().skip(others.len().saturating_sub(free_lines)).copied();
    let kept: Vec<String> = cause.into_iter().chain(last).map(|line| cut(line, LINE)).collect();
    kept.join("; ")
}

fn is_noise(line: &str) -> bool {
    NOISE.iter().any(|noise| line.contains(noise))
}

/// A message that fits a condition. A longer one with several lines is reduced like a log.
#[must_use]
pub fn shorten(text: String) -> String {
    match text.chars().count() > MESSAGE {
        true if text.lines().count() > LINES => excerpt(&text),
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

/// Whether the text says that a volume is full.
#[must_use]
pub fn is_full(text: &str) -> bool {
    text.contains("No space left on device") || text.contains("Disk quota exceeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_cause_comes_first() {
        let kept = excerpt(
            "LOG:  redo starts at 0/1\nPANIC:  could not write to file \"pg_wal/xlogtemp.31\": No space left on device\n\
             FATAL:  the database system is in recovery mode\nLOG:  startup process was terminated by signal 6: Aborted\n\
             LOG:  aborting startup due to startup process failure\nLOG:  database system is shut down\n",
        );
        assert!(kept.starts_with("PANIC:  could not write to file"), "{kept}");
        assert!(kept.ends_with("LOG:  database system is shut down") && is_full(&kept), "{kept}");
        assert!(excerpt("FATAL:  terminating connection\nLOG: two\nLOG: three\nLOG: four").starts_with("LOG: two"));
    }

    #[test]
    fn long_messages_are_cut() {
        let line = "x".repeat(5000);
        assert!(excerpt(&line).len() <= LINE);
        assert!(shorten(line.clone()).len() <= MESSAGE);
        let lines = format!("{line}\n{line}\nERROR: why\n{line}");
        assert!(shorten(lines.clone()).starts_with("ERROR: why") && shorten(lines).len() <= MESSAGE);
        assert_eq!(shorten("short\nlines".to_owned()), "short\nlines");
    }
}
