//! `agent etcd-run`: checks the data again, and becomes etcd.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use agent_protocol::TlsFileNames;

use crate::cli::{MemberOptions, RunOptions};
use crate::etcd::data::{self, StartMarker};
use crate::etcd::identity;
use crate::etcd::keeper;
use crate::etcd::limits::{QUOTA_VARIABLE, REQUEST_VARIABLE, VolumeLimits, given_quota, given_request, space};
use crate::etcd::members::MemberListEntry;
use crate::etcd::peers;
use crate::etcd::plan::{PreviousRun, StartMode, join_arguments, listed_members, new_cluster_arguments, start};
use crate::etcd::reserve;
use crate::etcd::tls::TlsFiles;
use crate::failure::{CommandFailure, Reason};
use crate::progress::WaitLogger;

/// The init step has seen the member listed, so this covers short failures; after a longer one, the kubelet restarts the
/// container.
const LISTED_WITHIN: Duration = Duration::from_secs(30);

/// Returns only with a failure: otherwise this process has become etcd.
pub(crate) fn run(options: &RunOptions) -> Result<(), CommandFailure> {
    let member = &options.member;
    let tls = tls_flags(options)?;
    let marker = StartMarker::new(&options.state);
    let data = data::present(&member.data_dir)?;
    if data {
        identity::check(&member.data_dir, &member.url)?;
    }
    let previous = if data { PreviousRun::None } else { marker.previous_run(&member.data_dir)? };
    let mut more = match start(&member.identity(), data, member.expect, previous)? {
        StartMode::OnData => {
            marker.start_on_data();
            Vec::new()
        }
        StartMode::NewCluster => {
            marker.first_start(&member.data_dir)?;
            new_cluster_arguments(&member.identity()).to_vec()
        }
        StartMode::Join => {
            let members = members_to_join(member)?;
            marker.first_start(&member.data_dir)?;
            join_arguments(&member.identity(), &members).to_vec()
        }
    };
    identity::record(&member.data_dir, &member.url, data);
    let limits = fit(options)?;
    more.extend(limits.arguments());
    more.extend(tls);
    Err(become_etcd(&options.command, &more, limits.quota.is_some()))
}

/// The flags with the files that TLS takes. Without one, etcd would end with less of an explanation.
fn tls_flags(options: &RunOptions) -> Result<Vec<String>, CommandFailure> {
    let peer = options.member.peer_files()?;
    let server = options.server_tls.as_deref().map(|directory| TlsFiles::find(directory, &TlsFileNames::SERVER));
    let (peer, server) = (peer.map(|files| files.peer_flags()), server.transpose()?.map(|files| files.server_flags()));
    Ok(peer.into_iter().chain(server).flatten().collect())
}

/// Computes how much of its volume etcd may use, takes the reserve, and starts the keeper, which takes a released one back.
fn fit(options: &RunOptions) -> Result<VolumeLimits, CommandFailure> {
    let data_dir = &options.member.data_dir;
    let request = given_request(&options.command, std::env::var_os(REQUEST_VARIABLE).as_deref());
    let limits = options.limits.fitting_volume(data_dir, request);
    let Some(bytes) = limits.reserve else { return Ok(limits) };
    reserve::clear(data_dir);
    let held = reserve::secure(data_dir, bytes, &options.state)?;
    let space = if held { space(data_dir) } else { 0 };
    let variable = std::env::var_os(QUOTA_VARIABLE);
    let limits = limits.fitting_database(data_dir, space, given_quota(&options.command, variable.as_deref()));
    let release = held && space == 0 && limits.is_reached(data_dir);
    keeper::start(data_dir, bytes, release, options.volume_port);
    Ok(limits)
}

fn members_to_join(member: &MemberOptions) -> Result<Vec<MemberListEntry>, CommandFailure> {
    let Some(peers) = &member.peers_url else {
        return Err(CommandFailure::new(
            Reason::NotListed,
            "--peers-url is missing: the agent needs it to find the members to join",
        ));
    };
    let mut progress = WaitLogger::new(format!("the cluster lists {}", member.url));
    let deadline = progress.since() + LISTED_WITHIN;
    loop {
        let listing = peers::query(peers, member, Some(deadline), &mut progress)?;
        let state = listing.to_string();
        if let Some(members) = listed_members(&member.identity(), listing)? {
            return Ok(members);
        }
        if Instant::now() >= deadline {
            let seconds = LISTED_WITHIN.as_secs();
            let message = format!("the cluster does not list {} within {seconds} s: {state}", member.url);
            return Err(CommandFailure::new(Reason::NotListed, message));
        }
        progress.update(&state);
        progress.pause();
    }
}

/// `quota` is whether one of these flags is the quota.
fn become_etcd(command: &[OsString], more: &[String], quota: bool) -> CommandFailure {
    let Some((program, arguments)) = command.split_first() else {
        return CommandFailure::new(Reason::CannotStart, "there is no command to start");
    };
    let mut command = Command::new(program);
    command.args(arguments).args(more);
    if quota {
        // etcd does not start with both.
        command.env_remove(QUOTA_VARIABLE);
    }
    let error = command.exec();
    CommandFailure::new(Reason::CannotStart, format!("{} cannot be started: {error}", program.display()))
}
