//! The `process_*` metrics that every Prometheus client has, read from /proc at each scrape.

use std::fmt::{Display, Write};
use std::fs;

/// The kernel counts CPU time for user space in hundredths of a second on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// Appends the metrics. A value that cannot be read is omitted, not zero.
pub(super) fn append(text: &mut String) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
    // The directory being read is open itself.
    let open = fs::read_dir("/proc/self/fd").map(|entries| entries.count().saturating_sub(1)).ok();

    metric(text, "process_cpu_seconds_total", "counter", "User and system CPU time in seconds", cpu_seconds(&stat));
    metric(text, "process_resident_memory_bytes", "gauge", "Resident memory in bytes", bytes(&status, "VmRSS:"));
    metric(text, "process_virtual_memory_bytes", "gauge", "Virtual memory in bytes", bytes(&status, "VmSize:"));
    metric(text, "process_open_fds", "gauge", "Open file descriptors", open);
    metric(text, "process_max_fds", "gauge", "File descriptors that may be open", max_fds(&limits));
    let started = started(&stat, &machine);
    metric(text, "process_start_time_seconds", "gauge", "Start of the process in seconds since 1970", started);
}

fn metric(text: &mut String, name: &str, kind: &str, help: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
}

/// The fields after the command's name, which may hold blanks and parentheses itself. The first is field 3 of proc(5).
fn field(stat: &str, number: usize) -> Option<f64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_PER_SECOND)
}

fn started(stat: &str, machine: &str) -> Option<f64> {
    let boot: f64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + field(stat, 22)? / TICKS_PER_SECOND)
}

fn bytes(status: &str, key: &str) -> Option<u64> {
    let kibibytes: u64 =
        status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn max_fds(limits: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_a_name_with_blanks_and_parentheses() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 4 0 1000 1 1";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(started(stat, "cpu 1\nbtime 1700000000\n"), Some(1_700_000_010.0));
        assert_eq!(cpu_seconds("junk"), None);
    }

    #[test]
    fn this_process_has_all_of_them() {
        let mut text = String::new();
        append(&mut text);
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 6, "{text}");
        // All but CPU time, which a process this young may not have used yet.
        let mut values = text.lines().filter(|line| !line.starts_with('#') && !line.contains("cpu"));
        assert!(values.all(|line| !line.ends_with(" 0")), "{text}");
    }
}
