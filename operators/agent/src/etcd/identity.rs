//! Whose data a volume holds: a file next to it records the peer URL that its member was created with.
//!
//! etcd keeps that URL in its data, and ignores the flag from then on. If a copy of a volume is started in another namespace
//! (from a backup that was restored there, for example), all members take it for the original: it connects to them at their own
//! addresses, and its data counts in their quorum. So the agent does not start etcd on data that is recorded for another
//! namespace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::etcd::url::PeerUrl;
use crate::failure::{CommandFailure, Reason};

/// The record, next to the data on the volume.
fn file(data_dir: &Path) -> PathBuf {
    data_dir.parent().unwrap_or(data_dir).join("peer-url")
}

/// Refuses data that is recorded for another member than the one with that URL; data without a record passes.
pub(crate) fn check(data_dir: &Path, url: &PeerUrl) -> Result<(), CommandFailure> {
    let Ok(recorded) = fs::read_to_string(file(data_dir)) else { return Ok(()) };
    if is_same(recorded.trim(), url) {
        return Ok(());
    }
    let message = format!(
        "{} holds the data of the member {}, and this one is {url}: it would take part in the other's cluster, under that one's \
         name, so etcd is not started; to have what is in it here, restore a snapshot of that cluster (etcdctl snapshot save) \
         into a new one",
        data_dir.display(),
        recorded.trim()
    );
    Err(CommandFailure::new(Reason::ForeignData, message))
}

/// Records which member the data belongs to, or is about to belong to.
///
/// Best effort: a full volume takes no record, and a member must not stay down because of that.
pub(crate) fn record(data_dir: &Path, url: &PeerUrl, data: bool) {
    let file = file(data_dir);
    if data && file.exists() {
        return;
    }
    if let Err(error) = fs::write(&file, format!("{url}\n")) {
        eprintln!("cannot record in {} which member the data belongs to: {error}", file.display());
    }
}

/// Whether two URLs have the same names of member, cluster and namespace. The domain of cluster DNS, which follows, is optional.
fn is_same(recorded: &str, url: &PeerUrl) -> bool {
    let Ok(recorded) = recorded.parse::<PeerUrl>() else { return true };
    member(&recorded).zip(member(url)).is_none_or(|(recorded, url)| recorded == url)
}

/// These three labels of a host in cluster DNS.
fn member(url: &PeerUrl) -> Option<[&str; 3]> {
    let mut labels = url.host.split('.');
    let member = [labels.next()?, labels.next()?, labels.next()?];
    (labels.next() == Some("svc")).then_some(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> PeerUrl {
        url.parse().unwrap()
    }

    #[test]
    fn data_of_another_namespace_is_refused_and_of_the_same_member_it_is_not() {
        let directory = std::env::temp_dir().join(format!("agent-identity-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let data = directory.join("data");
        let (prod, drill) = (url("http://c-0.c.prod.svc:2380"), url("http://c-0.c.drill.svc:2380"));
        check(&data, &prod).unwrap();
        record(&data, &prod, false);
        check(&data, &prod).unwrap();
        check(&data, &url("http://c-0.c.prod.svc.cluster.local:2380")).unwrap();
        let refusal = check(&data, &drill).unwrap_err();
        assert_eq!(refusal.reason(), Reason::ForeignData);
        record(&data, &drill, true);
        assert!(check(&data, &drill).is_err(), "what is recorded of data stays");
        record(&data, &drill, false);
        check(&data, &drill).unwrap();
        fs::write(file(&data), "").unwrap();
        check(&data, &drill).unwrap();
        fs::remove_dir_all(&directory).unwrap();
    }
}
