//! `agent etcd-recover`: makes a member the only one of its cluster, after the others are lost.

use std::fs::File;
use std::time::Duration;

use agent_protocol::EtcdRecover;

use crate::cli::RecoverOptions;
use crate::etcd::loopback_member::{LoopbackMember, MemberStart, free_port};
use crate::etcd::programs::EtcdTools;
use crate::etcd::{data, identity, peers, reserve, wal};
use crate::failure::{CommandFailure, Reason};
use crate::files;

/// How long etcd may take to start: a large database takes minutes.
const START_TIMEOUT: Duration = Duration::from_secs(1800);

/// Recovers it, once in the life of the pod.
pub(crate) fn recover(options: &RecoverOptions) -> Result<(), CommandFailure> {
    let (member, done) = (options.member.identity(), options.state.join("recovered"));
    if options.start != EtcdRecover::START || done.exists() {
        eprintln!("member {} keeps the members that it lists", member.name);
        return Ok(());
    }
    if !data::present(member.data_dir)? {
        let message = format!(
            "member {} has no data in {}, so no cluster can be recovered from it",
            member.name,
            member.data_dir.display()
        );
        return Err(CommandFailure::new(Reason::DataMissing, message));
    }
    identity::check(member.data_dir, member.url)?;
    match wal::commit_all(member.data_dir) {
        Ok(log) => eprintln!("the log ends at entry {}, of which {} counted as committed", log.last, log.before),
        // etcd decides what it makes of its log.
        Err(error) => eprintln!("the last entries of the log may be dropped: {error}"),
    }
    let programs = EtcdTools::find()?;
    let begun = go_on_alone(options, &programs).or_else(|failure| match failure.reason() {
        // The next start of etcd takes it back.
        Reason::NoSpace if reserve::release(member.data_dir).unwrap_or(false) => go_on_alone(options, &programs),
        _ => Err(failure),
    });
    begun?;
    File::create(&done)
        .and_then(|file| file.sync_all())
        .map_err(|error| files::failed("created", &done, &error, Reason::StateUnusable))
}

/// Starts etcd, which removes all other members, and ends it.
fn go_on_alone(options: &RecoverOptions, programs: &EtcdTools) -> Result<(), CommandFailure> {
    let member = options.member.identity();
    let peer_port = free_port()?;
    let start = MemberStart {
        name: member.name,
        data_dir: member.data_dir,
        peer_url: &format!("http://127.0.0.1:{peer_port}"),
        log: options.state.join("recovery.log"),
        alone: true,
    };
    let mut etcd = LoopbackMember::start(programs, start)?;
    let revision = etcd.wait_until_serving(programs, "the member alone", START_TIMEOUT)?;
    let members = peers::count_at_loopback(peer_port)?;
    etcd.stop()?;
    if members != 1 {
        let message = format!("etcd still lists {members} members after --force-new-cluster");
        return Err(CommandFailure::new(Reason::ToolFailed, message));
    }
    let at = revision.map_or_else(String::new, |revision| format!(", at revision {revision}"));
    eprintln!("member {} is the only one now{at}", member.name);
    Ok(())
}
