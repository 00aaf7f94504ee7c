//! Options of etcd that a cluster may set. The operator itself sets those that concern membership, listeners or data.

/// The options that a spec may set, by the names of etcd's flags. etcd itself rejects options that its version lacks,
/// which the cluster's conditions report.
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

/// The CEL rule for the keys of the options.
pub(super) const KNOWN: &str = "self.all(k, k in ['auto-compaction-mode', 'auto-compaction-retention', \
    'backend-batch-interval', 'backend-batch-limit', 'election-timeout', 'enable-grpc-gateway', \
    'grpc-keepalive-interval', 'grpc-keepalive-min-time', 'grpc-keepalive-timeout', 'heartbeat-interval', \
    'log-format', 'log-level', 'max-request-bytes', 'max-snapshots', 'max-txn-ops', 'max-wals', 'metrics', \
    'pre-vote', 'snapshot-count'])";
/// The message for other keys.
pub(super) const KNOWN_MESSAGE: &str = "options must be among auto-compaction-mode, auto-compaction-retention, \
    backend-batch-interval, backend-batch-limit, election-timeout, enable-grpc-gateway, grpc-keepalive-interval, \
    grpc-keepalive-min-time, grpc-keepalive-timeout, heartbeat-interval, log-format, log-level, max-request-bytes, \
    max-snapshots, max-txn-ops, max-wals, metrics, pre-vote and snapshot-count, without leading dashes (the limit of \
    the database's size is spec.quota); the operator manages membership, listeners and the data directory";

/// No option is set both as a flag and as a variable, because etcd then exits at once.
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
