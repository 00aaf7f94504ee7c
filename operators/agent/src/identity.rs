//! Whose data a volume holds: a note beside it of the peer URL that its member was made with.
//!
//! etcd keeps that URL in its data, and ignores the flag from then on. A copy of a volume that is started in another namespace (a
//! backup that was restored there, say) is to all members the one that it was copied from: it calls on them under their own
//! addresses, and counts in their quorum with what it has. So what is noted for another namespace is not started.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Reason};
use crate::url::PeerUrl;

/// The note, beside the data on the volume.
fn file(data_dir: &Path) -> PathBuf {
    data_dir.parent().unwrap_or(data_dir).join("peer-url")
}

/// Refuses data of another member than the one with that URL. Where nothing is noted, nothing is known.
pub(crate) fn check(data_dir: &Path, url: &PeerUrl) -> Result<(), Failure> {
    let Ok(noted) = fs::read_to_string(file(data_dir)) else { return Ok(()) };
    if is_same(noted.trim(), url) {
        return Ok(());
    }
    let sentence = format!(
        "{} holds the data of the member {}, and this one is {url}: it would take part in the other's cluster, under that one's \
         name, so etcd is not started; to have what is in it here, restore a snapshot of that cluster (etcdctl snapshot save) \
         into a new one",
        data_dir.display(),
        noted.trim()
    );
    Err(Failure::new(Reason::ForeignData, sentence))
}

/// Notes whose data that is, or is about to be.
///
/// Best effort: a full volume takes no note, and its data must not stay down because of that.
pub(crate) fn note(data_dir: &Path, url: &PeerUrl, data: bool) {
    let file = file(data_dir);
    if data && file.exists() {
        return;
    }
    if let Err(error) = fs::write(&file, format!("{url}\n")) {
        eprintln!("whose data it is cannot be noted in {}: {error}", file.display());
    }
}

/// Whether two URLs are of the same member: its name, its cluster's and its namespace's. What follows is the domain of cluster DNS,
/// which may be spelled out or not.
fn is_same(noted: &str, url: &PeerUrl) -> bool {
    let Ok(noted) = noted.parse::<PeerUrl>() else { return true };
    member(&noted).zip(member(url)).is_none_or(|(noted, url)| noted == url)
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
        let folder = std::env::temp_dir().join(format!("agent-identity-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let data = folder.join("data");
        let (prod, drill) = (url("http://c-0.c.prod.svc:2380"), url("http://c-0.c.drill.svc:2380"));
        check(&data, &prod).unwrap();
        note(&data, &prod, false);
        check(&data, &prod).unwrap();
        check(&data, &url("http://c-0.c.prod.svc.cluster.local:2380")).unwrap();
        let refusal = check(&data, &drill).unwrap_err();
        assert_eq!(refusal.reason(), Reason::ForeignData);
        note(&data, &drill, true);
        assert!(check(&data, &drill).is_err(), "what is noted of data stays");
        note(&data, &drill, false);
        check(&data, &drill).unwrap();
        fs::write(file(&data), "").unwrap();
        check(&data, &drill).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
