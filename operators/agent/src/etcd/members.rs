//! Pure: the member list as etcd serves it to peers, and what a joining member needs of it.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};

use crate::etcd::url::{PeerUrl, first_label};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct MemberListEntry {
    id: u64,
    /// Empty until the member has been started once: the member itself announces its name.
    #[serde(default)]
    pub(crate) name: String,
    #[serde(rename = "peerURLs", default, deserialize_with = "null_is_empty")]
    peer_urls: Vec<String>,
}

/// Go encodes a list that was never created as null.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl MemberListEntry {
    pub(crate) fn started(&self) -> bool {
        !self.name.is_empty()
    }

    pub(crate) fn has(&self, url: &PeerUrl) -> bool {
        self.peer_urls.iter().any(|listed| url.is(listed))
    }

    /// As etcd's own tools print it.
    pub(crate) fn hex_id(&self) -> String {
        format!("{:x}", self.id)
    }
}

pub(crate) fn parse(body: &[u8]) -> Result<Vec<MemberListEntry>, String> {
    serde_json::from_slice(body).map_err(|error| format!("its answer is not a member list: {error}"))
}

/// The value of `--initial-cluster` for the member `name` at `url`.
///
/// etcd matches the entries to members by their URLs. Names only distinguish entries, so each must be unique: etcd would read two
/// members under one name as one member with two addresses.
pub(crate) fn initial_cluster(members: &[MemberListEntry], name: &str, url: &PeerUrl) -> String {
    let mut taken = HashSet::from([name.to_owned()]);
    let mut entries = Vec::new();
    for member in members {
        let entry = if member.has(url) { name.to_owned() } else { other_name(member, &mut taken) };
        entries.extend(member.peer_urls.iter().map(|peer| format!("{entry}={peer}")));
    }
    entries.join(",")
}

fn other_name(member: &MemberListEntry, taken: &mut HashSet<String>) -> String {
    let label = member.peer_urls.first().and_then(|url| first_label(url));
    let wanted = if member.started() { Some(member.name.as_str()) } else { label };
    match wanted {
        Some(name) if taken.insert(name.to_owned()) => name.to_owned(),
        _ => member.hex_id(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn member(id: u64, name: &str, url: &str) -> MemberListEntry {
        MemberListEntry { id, name: name.into(), peer_urls: vec![url.into()] }
    }

    fn url(text: &str) -> PeerUrl {
        text.parse().unwrap()
    }

    #[test]
    fn reads_what_etcd_writes() {
        // The first is as etcd 3.6 printed it; IDs need all 64 bits.
        let body = br#"[{"id":10276657743932975437,"peerURLs":["http://c-0.c:2380"],"name":"c-0","clientURLs":["http://c-0.c:2379"]},
            {"id":2,"peerURLs":["http://c-1.c:2380"],"isLearner":true},{"id":3,"peerURLs":null,"clientURLs":null}]"#;
        let members = parse(body).unwrap();
        assert_eq!(members[0], member(10276657743932975437, "c-0", "http://c-0.c:2380"));
        assert_eq!(members[0].hex_id(), "8e9e05c52164694d");
        assert!(members[0].started() && !members[1].started());
        assert!(members[1].has(&url("http://c-1.c:2380")) && !members[2].has(&url("http://c-1.c:2380")));
    }

    #[test]
    fn says_that_an_answer_is_no_list() {
        assert!(parse(b"<html>").unwrap_err().starts_with("its answer is not a member list: "));
        assert!(parse(br#"{"message":"no"}"#).is_err());
    }

    #[test]
    fn the_initial_cluster_names_all_members() {
        let members = [
            member(1, "c-0", "http://c-0.c.ns.svc:2380"),
            member(2, "", "http://c-1.c.ns.svc:2380/"),
            member(3, "", "http://c-2.c.ns.svc:2380"),
        ];
        assert_eq!(
            initial_cluster(&members, "c-1", &url("http://c-1.c.ns.svc:2380")),
            "c-0=http://c-0.c.ns.svc:2380,c-1=http://c-1.c.ns.svc:2380/,c-2=http://c-2.c.ns.svc:2380"
        );
    }

    #[test]
    fn each_member_has_a_name_of_its_own_and_all_its_urls() {
        let mut two = member(1, "c-0", "http://c-0.c:2380");
        two.peer_urls.push("http://10.0.0.1:2380".into());
        let members = [two, member(171, "", "http://c-1.other:2380"), member(172, "c-0", "http://x:2380")];
        assert_eq!(
            initial_cluster(&members, "c-1", &url("http://c-1.c:2380")),
            "c-0=http://c-0.c:2380,c-0=http://10.0.0.1:2380,ab=http://c-1.other:2380,ac=http://x:2380"
        );
    }
}
