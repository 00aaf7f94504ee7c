//! `agent etcd-wait`: the init step of a member of an etcd cluster.

use crate::cli::WaitOptions;
use crate::failure::{self, Failure, Reason};
use crate::limits::Measured;
use crate::plan::{admitted, asks_cluster};
use crate::progress::Progress;
use crate::{data, dns, install, peers};

pub(crate) fn wait(options: &WaitOptions) -> Result<(), Failure> {
    may_start(options)?;
    if let Some(measured) = Measured::of(&options.member.data_dir) {
        // Who cannot be told goes by what the claim asks for.
        let _ = failure::leave(&measured);
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
        return Err(Failure::new(Reason::NotListed, "there is no --peers-url to ask whether the member is listed"));
    };
    let mut progress = Progress::towards(format!("the cluster lists {}", member.url));
    loop {
        let listing = peers::ask(peers, member, None, &mut progress);
        let state = listing.to_string();
        if admitted(&member.subject(), listing)?.is_some() {
            progress.done(&format!("the cluster lists {}", member.url));
            return Ok(());
        }
        progress.still(&state);
        progress.pause();
    }
}
