//! Pure: names of members, and etcd's notation of ids.

use crate::plan::{ListedMember, names};

/// The name of a member. A member that has never started has no name in etcd's list: its host is its name.
pub(in crate::plan) fn name(listed: &ListedMember) -> String {
    let host = listed.peer_urls.first().and_then(|url| names::member_of(url));
    match (listed.name.as_str(), host) {
        ("", Some(host)) => host.to_owned(),
        ("", None) => hex(listed.id),
        (name, _) => name.to_owned(),
    }
}

/// An id as etcd prints it.
#[must_use]
pub fn hex(id: u64) -> String {
    format!("{id:x}")
}

/// Parses an id that etcd printed.
#[must_use]
pub fn read_hex(id: &str) -> Option<u64> {
    u64::from_str_radix(id, 16).ok()
}
