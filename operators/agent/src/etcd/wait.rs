//! `agent etcd-wait`: the init step of a member of an etcd cluster.

use crate::cli::WaitOptions;
use crate::etcd::data;
use crate::etcd::dns;
use crate::etcd::limits::measured;
use crate::etcd::peers;
use crate::etcd::plan::{asks_cluster, listed_members};
use crate::failure::{Failure, Reason};
use crate::install;
use crate::progress::WaitLogger;

pub(crate) fn wait(options: &WaitOptions) -> Result<(), Failure> {
    may_start(options)?;
    if let Some(measured) = measured(&options.member.data_dir) {
        // Without that report the operator goes by what the PVC requests.
        let _ = crate::termination_message::leave(&measured);
    }
    Ok(())
}

fn may_start(options: &WaitOptions) -> Result<(), Failure> {
    if let Some(directory) = &options.install {
        install::install(directory)?;
    }
    let data = data::present(&options.member.data_dir)?;
    if data {
        // The others know its name, and dial it until it answers. They may have to wait for a resolver to forget the
        // address that it had before; it reaches them meanwhile.
        return Ok(());
    }
    // Being listed comes first: a resolver that is asked too early remembers for seconds that there was no such name.
    if asks_cluster(&options.member.subject(), data, options.member.expect)? {
        wait_to_be_listed(options)?;
    }
    dns::wait_for_own_name(&options.member.url.host, &options.member.own_addresses, options.dns_timeout)
}

fn wait_to_be_listed(options: &WaitOptions) -> Result<(), Failure> {
    let member = &options.member;
    let Some(peers) = &member.peers_url else {
        return Err(Failure::new(
            Reason::NotListed,
            "--peers-url is missing: the agent asks there whether the member is listed",
        ));
    };
    let mut progress = WaitLogger::new(format!("the cluster lists {}", member.url));
    loop {
        let listing = peers::ask(peers, member, None, &mut progress);
        let state = listing.to_string();
        if listed_members(&member.subject(), listing)?.is_some() {
            progress.done(&format!("the cluster lists {}", member.url));
            return Ok(());
        }
        progress.update(&state);
        progress.pause();
    }
}
