//! Pure: what etcd's programs print.

use serde::Deserialize;

use crate::failure::{Reason, cut};

/// The longest text of an error.
const LONGEST: usize = 600;

/// Texts that indicate a reason; the order counts.
const SIGNS: [(Reason, &[&str]); 5] = [
    (Reason::NoSpace, &["no space left on device", "disk quota exceeded"]),
    (Reason::PermissionDenied, &["permission denied (os", ": permission denied", "read-only file system"]),
    (
        Reason::AuthenticationFailed,
        &[
            "user name is empty",
            "authentication failed",
            "invalid auth token",
            "etcdserver: permission denied",
            "tls: ",
            "x509: ",
        ],
    ),
    (Reason::Corrupt, &["sha256", "snapshot missing hash", "expected sha", "invalid database", "checksum error"]),
    (
        Reason::ConnectionFailed,
        &["context deadline exceeded", "connection refused", "transport: ", "no such host", "unavailable", "unhealthy"],
    ),
];

/// Which reason a program's standard error indicates.
pub(in crate::etcd) fn classify(stderr: &str, otherwise: Reason) -> Reason {
    let text = stderr.to_lowercase();
    let found = SIGNS.iter().find(|(_, signs)| signs.iter().any(|sign| text.contains(sign)));
    found.map_or(otherwise, |(reason, _)| *reason)
}

/// The cause in a program's standard error: the line that is no entry of a log, or the last one.
pub(in crate::etcd) fn excerpt(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    // etcdctl prints its usage after an error.
    let plain = lines().find(|line| line.starts_with("Error:") || line.starts_with("Failed to "));
    let plain = plain.or_else(|| lines().rfind(|line| !line.starts_with('{')));
    let line = plain.or_else(|| lines().next_back()).unwrap_or("it printed nothing");
    cut(line.trim_start_matches("Error:").trim(), LONGEST).to_owned()
}

/// The header of each answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Header {
    cluster_id: u64,
    member_id: u64,
    revision: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StatusLine {
    endpoint: String,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    header: Header,
    version: String,
    leader: u64,
    raft_index: u64,
    is_learner: bool,
    errors: Vec<String>,
}

/// A member, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) endpoint: String,
    pub(crate) cluster_id: u64,
    pub(crate) member_id: u64,
    pub(crate) leader: u64,
    pub(crate) raft_index: u64,
    pub(crate) version: String,
    pub(crate) learner: bool,
    /// Whether its data differs from that of the other members (alarm CORRUPT).
    pub(crate) corrupt: bool,
}

/// What `etcdctl endpoint status -w json` prints of one endpoint, and the revision of its key space.
pub(in crate::etcd) fn status(text: &str) -> Option<(Candidate, i64)> {
    let [StatusLine { endpoint, status }] = serde_json::from_str::<[StatusLine; 1]>(text).ok()?;
    let corrupt = status.errors.iter().any(|error| error.contains("CORRUPT"));
    let Header { cluster_id, member_id, revision } = status.header;
    let candidate = Candidate {
        endpoint,
        cluster_id,
        member_id,
        leader: status.leader,
        raft_index: status.raft_index,
        version: status.version,
        learner: status.is_learner,
        corrupt,
    };
    Some((candidate, revision))
}

#[derive(Debug, Deserialize)]
struct SnapshotStatus {
    revision: i64,
}

/// The revision that `etcdutl snapshot status -w json` prints.
pub(in crate::etcd) fn snapshot_revision(text: &str) -> Option<i64> {
    serde_json::from_str::<SnapshotStatus>(text).ok().map(|status| status.revision)
}

/// The hash of a member's keys and values, over all revisions that are not compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::etcd) struct KeyHash {
    /// The latest revision of the member.
    pub(in crate::etcd) revision: i64,
    pub(in crate::etcd) hash: u32,
    /// Hashes of members that are compacted up to different revisions differ.
    pub(in crate::etcd) compacted: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HashLine {
    #[serde(rename = "HashKV")]
    hash_kv: HashAnswer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HashAnswer {
    header: Header,
    hash: u32,
    compact_revision: i64,
}

/// What `etcdctl endpoint hashkv -w json` prints of one endpoint.
pub(in crate::etcd) fn key_hash(text: &str) -> Option<KeyHash> {
    let [HashLine { hash_kv }] = serde_json::from_str::<[HashLine; 1]>(text).ok()?;
    let HashAnswer { header, hash, compact_revision } = hash_kv;
    Some(KeyHash { revision: header.revision, hash, compacted: compact_revision })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 3.2.13 and 3.6.16 print it.
    #[test]
    fn the_state_of_a_member_is_read() {
        let old = r#"[{"Endpoint":"http://a:2379","Status":{"header":{"cluster_id":324952591200643719,"member_id":3319814642761637952,
            "revision":3,"raft_term":2},"version":"3.2.13","dbSize":24576,"leader":3319814642761637952,"raftIndex":6,"raftTerm":2}}]"#;
        let (member, revision) = status(old).unwrap();
        assert_eq!((member.endpoint.as_str(), member.version.as_str(), revision), ("http://a:2379", "3.2.13", 3));
        assert_eq!((member.member_id, member.raft_index), (member.leader, 6));
        let new = r#"[{"Endpoint":"http://a:2379","Status":{"header":{"cluster_id":1,"member_id":2,"revision":3,"raft_term":2},
            "version":"3.6.16","dbSize":20480,"leader":3,"raftIndex":6,"raftTerm":2,"raftAppliedIndex":6,"isLearner":true,
            "errors":["memberID:2 alarm:CORRUPT "],"downgradeInfo":{}}}]"#;
        let (member, _) = status(new).unwrap();
        assert!(member.learner && member.corrupt);
        assert_eq!(status("[]"), None);
    }

    #[test]
    fn the_revision_of_a_snapshot_is_read() {
        let text = r#"{"hash":3062316534,"revision":4,"totalKey":8,"totalSize":20480,"version":"3.6.0"}"#;
        assert_eq!((snapshot_revision(text), snapshot_revision("Error")), (Some(4), None));
    }

    #[test]
    fn the_hash_of_a_member_is_read() {
        let text = r#"[{"Endpoint":"http://127.0.0.1:23790","HashKV":{"header":{"cluster_id":1,"member_id":2,"revision":3,
            "raft_term":2},"hash":2695939337,"compact_revision":-1,"hash_revision":3}}]"#;
        assert_eq!(key_hash(text), Some(KeyHash { revision: 3, hash: 2_695_939_337, compacted: -1 }));
    }

    #[test]
    fn the_cause_is_found_among_the_entries_of_a_log() {
        let log = "{\"level\":\"warn\",\"msg\":\"retrying\"}\nError: context deadline exceeded\n\nUSAGE:\n\tetcdctl snapshot\n";
        assert_eq!(excerpt(log), "context deadline exceeded");
        assert_eq!(classify(log, Reason::ToolFailed), Reason::ConnectionFailed);
        let full = "Error: could not fetch snapshot: write /b/x.part: no space left on device";
        assert_eq!(classify(full, Reason::ToolFailed), Reason::NoSpace);
        assert_eq!(classify("Error: expected sha256 [1], got [2]", Reason::ToolFailed), Reason::Corrupt);
        assert_eq!((excerpt("{\"a\":1}").as_str(), excerpt("").as_str()), ("{\"a\":1}", "it printed nothing"));
    }
}
