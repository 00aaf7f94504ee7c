//! `agent etcd-run`: looks at the data once more, and becomes etcd.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cli::{MemberOptions, RunOptions};
use crate::etcd::data::{self, StartMarker};
use crate::etcd::identity;
use crate::etcd::keeper;
use crate::etcd::limits::{Planned, QUOTA_VARIABLE, REQUEST_VARIABLE, given_quota, given_request, room};
use crate::etcd::members::Member;
use crate::etcd::peers;
use crate::etcd::plan::{PreviousRun, Start, join_arguments, listed_members, new_cluster_arguments, start};
use crate::etcd::reserve;
use crate::failure::{Failure, Reason};
use crate::progress::WaitLogger;

/// The init step has seen the member listed, so this is for a hiccup; a longer one is the kubelet's to wait out.
const LISTED_WITHIN: Duration = Duration::from_secs(30);

/// Comes back only with a failure: otherwise this process is etcd from then on.
pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let member = &options.member;
    let marker = StartMarker::new(&options.state);
    let data = data::present(&member.data_dir)?;
    if data {
        identity::check(&member.data_dir, &member.url)?;
    }
    let previous = if data { PreviousRun::None } else { marker.previous_run(&member.data_dir)? };
    let mut more = match start(&member.subject(), data, member.expect, previous)? {
        Start::OnData => {
            marker.start_on_data();
            Vec::new()
        }
        Start::NewCluster => {
            marker.first_start(&member.data_dir)?;
            new_cluster_arguments(&member.subject()).to_vec()
        }
        Start::Join => {
            let members = members_to_join(member)?;
            marker.first_start(&member.data_dir)?;
            join_arguments(&member.subject(), &members).to_vec()
        }
    };
    identity::record(&member.data_dir, &member.url, data);
    let limits = fit(options)?;
    more.extend(limits.arguments());
    Err(become_etcd(&options.command, &more, limits.quota.is_some()))
}

/// What etcd may take of its volume. Takes the reserve, and starts the keeper, which takes it back.
fn fit(options: &RunOptions) -> Result<Planned, Failure> {
    let data_dir = &options.member.data_dir;
    let request = given_request(&options.command, std::env::var_os(REQUEST_VARIABLE).as_deref());
    let limits = options.limits.on(data_dir, request);
    let Some(bytes) = limits.reserve else { return Ok(limits) };
    reserve::clear(data_dir);
    let held = reserve::secure(data_dir, bytes, &options.state)?;
    let room = if held { room(data_dir) } else { 0 };
    let variable = std::env::var_os(QUOTA_VARIABLE);
    let limits = limits.beside(data_dir, room, given_quota(&options.command, variable.as_deref()));
    let release = held && room == 0 && limits.is_reached(data_dir);
    keeper::start(data_dir, bytes, release, options.volume_port);
    Ok(limits)
}

fn members_to_join(member: &MemberOptions) -> Result<Vec<Member>, Failure> {
    let Some(peers) = &member.peers_url else {
        return Err(Failure::new(
            Reason::NotListed,
            "--peers-url is missing: the agent asks there for the members to join",
        ));
    };
    let mut progress = WaitLogger::new(format!("the cluster lists {}", member.url));
    let deadline = progress.since() + LISTED_WITHIN;
    loop {
        let listing = peers::ask(peers, member, Some(deadline), &mut progress);
        let state = listing.to_string();
        if let Some(members) = listed_members(&member.subject(), listing)? {
            return Ok(members);
        }
        if Instant::now() >= deadline {
            let seconds = LISTED_WITHIN.as_secs();
            let message = format!("the cluster does not list {} within {seconds} s: {state}", member.url);
            return Err(Failure::new(Reason::NotListed, message));
        }
        progress.update(&state);
        progress.pause();
    }
}

/// `quota` says whether a flag of these is the quota.
fn become_etcd(command: &[OsString], more: &[String], quota: bool) -> Failure {
    let Some((program, arguments)) = command.split_first() else {
        return Failure::new(Reason::CannotStart, "there is no command to start");
    };
    let mut command = Command::new(program);
    command.args(arguments).args(more);
    if quota {
        // etcd does not start where it finds both.
        command.env_remove(QUOTA_VARIABLE);
    }
    let error = command.exec();
    Failure::new(Reason::CannotStart, format!("{} cannot be started: {error}", program.display()))
}
