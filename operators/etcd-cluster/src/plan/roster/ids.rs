//! Pure: how members are named, and how etcd writes ids.

use crate::plan::{Member, names};

/// The name of a member: one that has never started has none but that of its host.
pub(in crate::plan) fn name(member: &Member) -> String {
    let host = member.peer_urls.first().and_then(|url| names::member_of(url));
    match (member.name.as_str(), host) {
        ("", Some(host)) => host.to_owned(),
        ("", None) => format!("{:x}", member.id),
        (name, _) => name.to_owned(),
    }
}

/// An id as etcd writes it.
#[must_use]
pub fn hex(id: u64) -> String {
    format!("{id:x}")
}

/// The id that etcd writes so.
#[must_use]
pub fn read_hex(id: &str) -> Option<u64> {
    u64::from_str_radix(id, 16).ok()
}
