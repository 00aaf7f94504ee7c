//! etcd, through etcd-client.

/// For the time being.
#[derive(Debug)]
pub struct Live;
