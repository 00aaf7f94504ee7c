//! PostgreSQL release and parameters.

use std::collections::BTreeMap;

use kube::KubeSchema;
use kube::core::Message;
use serde::{Deserialize, Serialize};

use super::absent::non_empty;
use crate::my_app::IMAGE;

/// PostgreSQL release and parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.?version.orValue('') == '' || self.?image.orValue('') == ''").message(
    "engine takes version (whose image the catalog has) or image, not both: omit one of them"
))]
pub struct Engine {
    /// PostgreSQL version: a major one such as `"17"`, of which the catalog's newest release runs, or a release such as
    /// `"17.5"`. Default: the catalog's at creation, latched in status. Raising the major version upgrades the
    /// database.
    #[serde(default, deserialize_with = "non_empty", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self.matches('^([1-9][0-9]([.](0|[1-9][0-9]{0,2}))?)?$')").message(
        "engine.version must be a quoted PostgreSQL version, 10 or later: a major version such as '17' or a release \
         such as '17.5'"
    ))]
    pub version: Option<String>,

    /// Image that replaces the catalog's, laid out like docker.io/library/postgres. Excludes `version`.
    #[serde(default, deserialize_with = "non_empty", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new(format!("self == '' || {IMAGE}")).message(
        "engine.image must be a reference such as postgres:17.5, registry.example.com:5000/team/postgres:17 or \
         name@sha256:<64 hex digits>"
    ))]
    pub image: Option<String>,

    /// PostgreSQL parameters by lower-case name, such as `work_mem: 16MB`, at most 64; quote numbers and on/off.
    /// PostgreSQL decides whether a change reloads or restarts the server. Parameters that affect access, recovery or
    /// durability are reserved for the operator and rejected.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = { "type": "string", "maxLength": 1024 }))]
    #[x_kube(validation = Rule::new(
        "self.all(k, k.matches('^[a-z_][a-z0-9_]{0,62}([.][a-z_][a-z0-9_]{0,62})?$'))"
    ).message(
        "engine.parameters must have names of PostgreSQL parameters in lower case, such as work_mem, timezone or \
         pg_stat_statements.max"
    ))]
    #[x_kube(validation = Rule::new("self.all(k, !self[k].matches('[\\\\x00-\\\\x1f\\\\x7f]'))").message(
        "engine.parameters: a value must be one line without control characters"
    ))]
    #[x_kube(validation = Rule::new(format!("!self.exists(k, {})", denied("k"))).message(denied_message()))]
    #[x_kube(validation = Rule::new(
        "!('wal_level' in self) || self['wal_level'].lowerAscii() in ['replica', 'logical']"
    ).message("engine.parameters: wal_level must be replica or logical: physical backups need at least replica"))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub parameters: BTreeMap<String, String>,

    /// Seconds that the server may be neither ready nor answering before the operator restarts it, 30 to 86400.
    /// Default: 120. The operator does not restart a server that reports recovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 86_400))]
    pub max_silence_seconds: Option<i64>,
}

impl Engine {
    /// Seconds that the server may not answer.
    #[must_use]
    pub fn max_silence_seconds(&self) -> i64 {
        self.max_silence_seconds.unwrap_or(120)
    }
}

/// Parameters that no spec may set.
pub const DENIED_PARAMETERS: [&str; 82] = [
    // The server's address, its files, and access to it.
    "bonjour",
    "bonjour_name",
    "cluster_name",
    "config_file",
    "data_directory",
    "db_user_namespace",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "include",
    "include_dir",
    "include_if_exists",
    "krb_server_keyfile",
    "listen_addresses",
    "oauth_validator_libraries",
    "password_encryption",
    "port",
    "reserved_connections",
    "stats_temp_directory",
    "superuser_reserved_connections",
    // Parameters that run programs or load code.
    "dynamic_library_path",
    "extension_control_path",
    "jit_provider",
    // Archiving, recovery and replication.
    "hot_standby",
    "max_wal_senders",
    "primary_conninfo",
    "primary_slot_name",
    "promote_trigger_file",
    "recovery_end_command",
    "recovery_min_apply_delay",
    "restore_command",
    "sync_replication_slots",
    "synchronized_standby_slots",
    "synchronous_standby_names",
    // Data integrity.
    "allow_in_place_tablespaces",
    "allow_system_table_mods",
    "data_sync_retry",
    "fsync",
    "full_page_writes",
    "ignore_checksum_failure",
    "ignore_invalid_pages",
    "ignore_system_indexes",
    "session_replication_role",
    "zero_damaged_pages",
    // Logs go to the pod's logs.
    "event_source",
    "log_destination",
    "log_directory",
    "log_file_mode",
    "log_filename",
    "logging_collector",
    // Fixed by the program or at initdb, or settable per session only: the server would not start.
    "block_size",
    "data_checksums",
    "data_directory_mode",
    "debug_assertions",
    "huge_pages_status",
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "lc_collate",
    "lc_ctype",
    "max_function_args",
    "max_identifier_length",
    "max_index_keys",
    "num_os_semaphores",
    "role",
    "seed",
    "segment_size",
    "server_encoding",
    "server_version",
    "server_version_num",
    "session_authorization",
    "shared_memory_size",
    "shared_memory_size_in_huge_pages",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
    "wal_block_size",
    "wal_segment_size",
    // Parameters that would block writers or the operator itself.
    "default_transaction_read_only",
    "exit_on_error",
    "post_auth_delay",
    "pre_auth_delay",
];

/// Prefixes of parameters that no spec may set.
pub const DENIED_PREFIXES: [&str; 6] = ["archive_", "log_syslog", "recovery_target", "ssl", "syslog_", "unix_socket_"];

/// Whether a spec may not set a parameter; ignores case.
#[must_use]
pub fn is_denied(parameter: &str) -> bool {
    let name = parameter.to_ascii_lowercase();
    DENIED_PARAMETERS.contains(&name.as_str()) || DENIED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The same, in CEL.
fn denied(name: &str) -> String {
    let names = DENIED_PARAMETERS.map(|denied| format!("'{denied}'")).join(", ");
    format!("{name} in [{names}] || {name}.matches('^({})')", DENIED_PREFIXES.join("|"))
}

/// Names the rejected parameter: the list is too long to search.
fn denied_message() -> Message {
    Message::Expression(format!(
        "'engine.parameters: omit ' + self.filter(k, {})[0] + ': parameters that affect access, recovery, durability or the \
         location of files are reserved for the operator'",
        denied("k")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denies_in_any_letters_and_by_beginnings() {
        for name in ["port", "Port", "ssl", "ssl_cert_file", "archive_command", "unix_socket_directories", "fsync"] {
            assert!(is_denied(name), "{name}");
        }
        for name in ["work_mem", "max_connections", "shared_preload_libraries", "pg_stat_statements.max", "timezone"] {
            assert!(!is_denied(name), "{name}");
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let names: std::collections::BTreeSet<_> = DENIED_PARAMETERS.iter().collect();
        assert_eq!(names.len(), DENIED_PARAMETERS.len());
    }
}
