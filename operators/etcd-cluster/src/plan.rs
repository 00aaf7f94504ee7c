//! What to do about an EtcdCluster. Pure.

mod observed;

pub use observed::{Alarm, Change, Endpoint, Etcd, EtcdAct, Member, Observed};
