//! Loading a logical snapshot into a server. Each entry of the dump is executed by its owner, since it may run code that a user
//! wrote ([decision 033](../../../../docs/decisions/033-loaded-by-owners.md)).
//!
//! | file | contents |
//! |---|---|
//! | `command.rs`, `verify.rs`, `checks.rs` | `pg-restore`; `pg-verify`, which restores into a throwaway server; the user's checks of it |
//! | `toc.rs`, `evaluated.rs` | the entries of a dump; what the server evaluates while it creates one; pure |
//! | `load_plan.rs`, `load_role.rs`, `privileges.rs` | which role executes which entry, in which order, and which privileges that takes; pure |
//! | `load_snapshot.rs`, `load.rs`, `post_data.rs`, `materialized_views.rs` | the roles and databases of a snapshot; one database: definitions and rows; what follows the rows; materialized views |
//! | `logins.rs` | roles that log in for the duration of a load |

pub(crate) mod checks;
pub(crate) mod command;
pub(crate) mod evaluated;
pub(crate) mod load;
pub(crate) mod load_plan;
pub(crate) mod load_role;
pub(crate) mod load_snapshot;
pub(crate) mod logins;
pub(crate) mod materialized_views;
pub(crate) mod post_data;
pub(crate) mod privileges;
pub(crate) mod toc;
pub(crate) mod verify;
