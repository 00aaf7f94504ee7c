//! Pure: the contents of `postgresql.conf`: the include of the operator's directory, and the settings of a private server.

use std::collections::BTreeMap;
use std::path::Path;

use crate::postgres::data_dir::controldata::ControlData;

const BEGIN: &str = "# multi-operator: what follows is the operator's, and wins over the lines above";

/// The location of the operator's settings.
pub(crate) enum Include<'a> {
    /// In the files of this directory.
    Directory(&'a Path),
    /// In this file.
    File(&'a Path),
}

/// `postgresql.conf` with that include at its end, instead of any earlier one.
pub(crate) fn with_include(text: &str, include: &Include<'_>) -> String {
    let own = text.split(BEGIN).next().unwrap_or_default().trim_end();
    let (directive, path) = match include {
        Include::Directory(path) => ("include_dir", path),
        Include::File(path) => ("include", path),
    };
    format!("{own}\n\n{BEGIN}\n{directive} = {}\n", setting(&path.to_string_lossy()))
}

/// A value as configuration files have it.
fn setting(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

/// The settings of a private server on the data of a database's pod: without the operator's directory, which is not mounted, and
/// able to recover the data.
///
/// Recovery fails if fewer prepared transactions, connections and replication slots are allowed than there were.
pub(crate) fn private_server_conf(control: &ControlData, more: &[(String, String)]) -> String {
    let mut settings = private_server_settings();
    for (key, least) in [
        ("max_connections", 40),
        ("max_worker_processes", 8),
        ("max_wal_senders", 0),
        ("max_prepared_transactions", 0),
        ("max_locks_per_transaction", 256),
    ] {
        settings.insert(key.into(), control.setting(key).unwrap_or(0).max(least).to_string());
    }
    settings.insert("max_replication_slots".into(), "200".into());
    // With a logical slot, a server does not start with less.
    settings.insert("wal_level".into(), "logical".into());
    render(settings, more)
}

/// The settings of a throwaway server: nothing has to reach the disk.
pub(crate) fn scratch_conf(more: &[(String, String)]) -> String {
    let mut settings = private_server_settings();
    for (key, value) in [
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
        ("max_locks_per_transaction", "256"),
        ("maintenance_work_mem", "128MB"),
        ("max_wal_size", "4GB"),
    ] {
        settings.insert(key.into(), value.into());
    }
    render(settings, more)
}

fn private_server_settings() -> BTreeMap<String, String> {
    let settings = [
        ("listen_addresses", ""),
        ("unix_socket_permissions", "0700"),
        ("logging_collector", "off"),
        ("log_destination", "stderr"),
        ("log_statement", "none"),
        ("log_min_error_statement", "panic"),
        ("archive_mode", "off"),
        ("autovacuum", "off"),
        ("jit", "off"),
        ("ssl", "off"),
        ("shared_preload_libraries", ""),
        ("session_preload_libraries", ""),
        ("local_preload_libraries", ""),
        ("cluster_name", ""),
        // A subscription would write, and run triggers of users.
        ("max_logical_replication_workers", "0"),
    ];
    settings.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn render(mut settings: BTreeMap<String, String>, more: &[(String, String)]) -> String {
    settings.extend(more.iter().cloned());
    settings.iter().map(|(key, value)| format!("{key} = {}\n", setting(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_include_is_there_once() {
        let with_include =
            |text: &str, directory: &str| super::with_include(text, &Include::Directory(Path::new(directory)));
        let first = with_include("port = 5432\n", "/etc/pg's");
        assert!(first.ends_with("include_dir = '/etc/pg''s'\n"), "{first}");
        assert_eq!(with_include(&first, "/etc/pg's"), first);
        let moved = with_include(&first, "/conf");
        assert!(
            moved.starts_with("port = 5432\n") && !moved.contains("/etc") && moved.ends_with("include_dir = '/conf'\n")
        );
        let file = super::with_include(&moved, &Include::File(Path::new("/data.proven")));
        assert!(!file.contains("/conf") && file.ends_with("include = '/data.proven'\n"), "{file}");
    }

    #[test]
    fn recovery_gets_at_least_the_earlier_limits() {
        let control = ControlData::parse(
            "Database system identifier:           7\nmax_connections setting:              300\n\
             max_prepared_xacts setting:           12\n",
        );
        let text = private_server_conf(&control.unwrap(), &[("jit".into(), "on".into())]);
        assert!(text.contains("max_connections = '300'\n"), "{text}");
        assert!(text.contains("max_prepared_transactions = '12'\n"));
        assert!(text.contains("max_logical_replication_workers = '0'\n"));
        assert!(text.contains("listen_addresses = ''\n") && text.contains("jit = 'on'\n"));
    }
}
