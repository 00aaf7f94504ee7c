//! Options of etcd that a cluster may set. What would break membership, listeners or data is the operator's own.

/// The options that may be set, by the names of etcd's flags. Options that only some versions have are refused by etcd
/// itself, which the cluster's conditions then tell.
pub const ALLOWED_OPTIONS: [&str; 19] = [
    "auto-compaction-mode",
    "auto-compaction-retention",
    "backend-batch-interval",
    "backend-batch-limit",
    "election-timeout",
    "enable-grpc-gateway",
    "grpc-keepalive-interval",
    "grpc-keepalive-min-time",
    "grpc-keepalive-timeout",
    "heartbeat-interval",
    "log-format",
    "log-level",
    "max-request-bytes",
    "max-snapshots",
    "max-txn-ops",
    "max-wals",
    "metrics",
    "pre-vote",
    "snapshot-count",
];

/// The rule of the map's keys, in CEL.
pub(super) const KNOWN: &str = "self.all(k, k in ['auto-compaction-mode', 'auto-compaction-retention', \
    'backend-batch-interval', 'backend-batch-limit', 'election-timeout', 'enable-grpc-gateway', \
    'grpc-keepalive-interval', 'grpc-keepalive-min-time', 'grpc-keepalive-timeout', 'heartbeat-interval', \
    'log-format', 'log-level', 'max-request-bytes', 'max-snapshots', 'max-txn-ops', 'max-wals', 'metrics', \
    'pre-vote', 'snapshot-count'])";
/// What is said of other keys.
pub(super) const KNOWN_MESSAGE: &str = "options takes auto-compaction-mode, auto-compaction-retention, \
    backend-batch-interval, backend-batch-limit, election-timeout, enable-grpc-gateway, grpc-keepalive-interval, \
    grpc-keepalive-min-time, grpc-keepalive-timeout, heartbeat-interval, log-format, log-level, max-request-bytes, \
    max-snapshots, max-txn-ops, max-wals, metrics, pre-vote and snapshot-count, without dashes before them (the \
    database's limit is spec.quota); membership, listeners and the data directory are the operator's own";

/// No option is given both as a flag and as a variable: etcd ends at once if it is.
pub(super) const ONCE: &str = "!has(self.pod) || !has(self.pod.etcdEnv) || self.pod.etcdEnv.all(e, \
    !(has(self.quota) && e.name == 'ETCD_QUOTA_BACKEND_BYTES') && !(has(self.options) && e.name.startsWith('ETCD_') && \
    e.name.substring(5).lowerAscii().replace('_', '-') in self.options))";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_and_message_name_every_option() {
        for option in ALLOWED_OPTIONS {
            assert!(KNOWN.contains(&format!("'{option}'")) && KNOWN_MESSAGE.contains(option), "{option}");
        }
    }
}
