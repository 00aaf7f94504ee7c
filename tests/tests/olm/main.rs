//! Installs by the Operator Lifecycle Manager's own programs, on a cluster that has them and serves this project's catalog
//! (`scripts/olm up --local`). One file per behavior, one test at a time: a cluster has room for one install.

mod images;
mod lifecycle;
mod modes;
mod needless;
mod removed_first;
mod speed;
mod two_installs;
