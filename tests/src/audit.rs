//! The API server's record of the requests of one user: its audit log.
//!
//! The log is a file of JSON lines at metadata level, named by `MULTI_OPERATOR_AUDIT_LOG` (`scripts/cluster env`). Each manager
//! of these tests has a service account of its own, so the user name identifies it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use crate::call::Call;

/// The requests that arrived from some moment on, of users whose name begins alike.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
    user: String,
    /// Where in the file its reading begins.
    from: u64,
    /// When that was. A line is written when its request has been answered: others may have seen what came of it before.
    since: Timestamp,
}

/// One line of the log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Pairs the stages of one request.
    pub id: String,
    /// When the API server received the request.
    pub received: Timestamp,
    /// `ResponseStarted` (watches only) or `ResponseComplete`.
    pub complete: bool,
    /// Who sent it.
    pub user: String,
    /// Whether that user had the permission. The request may have been rejected all the same, for example in a terminating
    /// namespace.
    pub allowed: bool,
    /// The request.
    pub call: Call,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "auditID")]
    audit_id: String,
    request_received_timestamp: Timestamp,
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    #[serde(default)]
    annotations: HashMap<String, String>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl Audit {
    /// The log from now on; `None` where the cluster has none that we can read.
    #[must_use]
    pub fn from_now(user: &str) -> Option<Self> {
        let path = PathBuf::from(std::env::var_os("MULTI_OPERATOR_AUDIT_LOG")?);
        let from = std::fs::metadata(&path).ok()?.len();
        Some(Self { path, user: user.to_owned(), from, since: Timestamp::now() })
    }

    /// The log from its beginning; `None` where the cluster has none that we can read.
    #[must_use]
    pub fn from_the_beginning(user: &str) -> Option<Self> {
        Self::from_now(user).map(|audit| Self { from: 0, since: Timestamp::MIN, ..audit })
    }

    /// The same log and user, from now on.
    ///
    /// # Errors
    /// If the file does not exist any more.
    pub fn mark(&self) -> std::io::Result<Self> {
        let from = std::fs::metadata(&self.path)?.len();
        Ok(Self { from, since: Timestamp::now(), ..self.clone() })
    }

    /// All that is logged so far of such requests.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn entries(&self) -> std::io::Result<Vec<Entry>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.from))?;
        let needle = format!("\"username\":\"{}", self.user);
        let mut entries = Vec::<Entry>::new();
        for line in BufReader::new(file).lines() {
            let line = line?;
            // Most lines are other users'; the last one may be half written.
            if line.contains(&needle)
                && let Ok(line) = serde_json::from_str::<Line>(&line)
            {
                entries.push(line.into());
            }
        }
        entries.retain(|entry| entry.received >= self.since);
        Ok(entries)
    }

    /// The requests that have been answered, watches by their beginning.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn calls(&self) -> std::io::Result<Vec<Call>> {
        let counts = |entry: &Entry| entry.complete != (entry.call.is_watch() && entry.call.code == Some(200));
        Ok(self.entries()?.into_iter().filter(counts).map(|entry| entry.call).collect())
    }

    /// Watches that have begun since the mark and not ended.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open_watches(&self) -> std::io::Result<Vec<Call>> {
        let mut open = HashMap::new();
        for entry in self.entries()?.into_iter().filter(|entry| entry.call.is_watch()) {
            if entry.complete {
                open.remove(&entry.id);
            } else {
                open.insert(entry.id, entry.call);
            }
        }
        Ok(open.into_values().collect())
    }
}

/// Whether it is a list of one namespace that was refused, and allowed when it was sent again.
#[must_use]
pub fn is_allowed_later(refused: &Entry, entries: &[Entry]) -> bool {
    let Call { verb, group, resource, namespace, .. } = &refused.call;
    let is_the_same =
        |call: &Call| (&call.verb, &call.group, &call.resource, &call.namespace) == (verb, group, resource, namespace);
    let mut since = entries.iter().skip_while(|entry| entry.id != refused.id);
    verb == "list" && !namespace.is_empty() && since.any(|entry| entry.allowed && is_the_same(&entry.call))
}

impl From<Line> for Entry {
    fn from(line: Line) -> Self {
        let object = line.object_ref;
        let call = Call {
            verb: line.verb,
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            uri: line.request_uri,
            agent: line.user_agent,
            at: Instant::now(),
            code: Some(line.response_status.code),
        };
        Self {
            id: line.audit_id,
            received: line.request_received_timestamp,
            complete: line.stage == "ResponseComplete",
            user: line.user.username,
            allowed: line.annotations.get("authorization.k8s.io/decision").is_some_and(|decision| decision == "allow"),
            call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request from before a mark may be logged after it.
    #[test]
    fn requests_count_from_the_moment_of_the_mark() {
        let path = std::env::temp_dir().join(format!("audit-{}", std::process::id()));
        let audit =
            Audit { path: path.clone(), user: "m".to_owned(), from: 0, since: "2026-01-01T00:00:01Z".parse().unwrap() };
        let line = |id: &str, received: &str| {
            serde_json::json!({
                "auditID": id, "requestReceivedTimestamp": received, "stage": "ResponseComplete", "verb": "patch",
                "requestURI": "/api/v1/namespaces/a/pods/b", "user": { "username": "m" },
            })
        };
        let lines = [line("before", "2026-01-01T00:00:00.999999Z"), line("after", "2026-01-01T00:00:01.000000Z")];
        std::fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        let entries = audit.entries();
        std::fs::remove_file(path).unwrap();
        assert_eq!(entries.unwrap().into_iter().map(|entry| entry.id).collect::<Vec<_>>(), ["after"]);
    }

    fn entry(id: &str, allowed: bool, uri: &str) -> Entry {
        let call = Call::parse("GET", uri, "");
        Entry { id: id.to_owned(), received: Timestamp::MIN, complete: true, user: String::new(), allowed, call }
    }

    #[test]
    fn only_a_list_that_was_allowed_afterwards_is() {
        let pods = "/api/v1/namespaces/a/pods";
        let of = |entries: &[Entry]| is_allowed_later(&entries[1], entries);
        let before = entry("0", true, pods);
        let refused = entry("1", false, pods);
        assert!(of(&[before.clone(), refused.clone(), entry("2", true, pods)]));
        assert!(!of(&[before.clone(), refused.clone()]));
        assert!(!of(&[before.clone(), refused.clone(), entry("2", false, pods)]));
        assert!(!of(&[before.clone(), refused, entry("2", true, "/api/v1/namespaces/b/pods")]));
        let all = "/api/v1/pods";
        assert!(
            !of(&[before.clone(), entry("1", false, all), entry("2", true, all)]),
            "OLM copies no permission to all namespaces"
        );
        let one = "/api/v1/namespaces/a/pods/one";
        assert!(!of(&[before, entry("1", false, one), entry("2", true, one)]));
    }
}
