//! `agent etcd-wait`: the init step of a member of an etcd cluster.

use crate::cli::WaitOptions;
use crate::etcd::data;
use crate::etcd::dns;
use crate::etcd::limits::measured;
use crate::etcd::peers;
use crate::etcd::plan::{asks_cluster, listed_members};
use crate::failure::{CommandFailure, Reason};
use crate::install;
use crate::progress::WaitLogger;

pub(crate) fn wait(options: &WaitOptions) -> Result<(), CommandFailure> {
    may_start(options)?;
    if let Some(measured) = measured(&options.member.data_dir) {
        // Without that report, the operator assumes what the PVC requests.
        let _ = crate::termination_message::write(&measured);
    }
    Ok(())
}

fn may_start(options: &WaitOptions) -> Result<(), CommandFailure> {
    if let Some(directory) = &options.install {
        install::install(directory)?;
    }
    let data = data::present(&options.member.data_dir)?;
    if data {
        // The other members know its name, and dial it until it answers. Their resolver may still cache its earlier address;
        // meanwhile it reaches them.
        return Ok(());
    }
    // The wait to be listed comes first: a resolver that is queried too early caches for seconds that there is no such name.
    if asks_cluster(&options.member.identity(), data, options.member.expect)? {
        wait_to_be_listed(options)?;
    }
    dns::wait_for_own_name(&options.member.url.host, &options.member.own_addresses, options.dns_timeout)
}

fn wait_to_be_listed(options: &WaitOptions) -> Result<(), CommandFailure> {
    let member = &options.member;
    let Some(peers) = &member.peers_url else {
        return Err(CommandFailure::new(
            Reason::NotListed,
            "--peers-url is missing: the agent needs it to check whether the member is listed",
        ));
    };
    let mut progress = WaitLogger::new(format!("the cluster lists {}", member.url));
    loop {
        let listing = peers::query(peers, member, None, &mut progress)?;
        let state = listing.to_string();
        if listed_members(&member.identity(), listing)?.is_some() {
            progress.done(&format!("the cluster lists {}", member.url));
            return Ok(());
        }
        progress.update(&state);
        progress.pause();
    }
}
