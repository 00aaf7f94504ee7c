//! What happens to a world: acts of users, and faults.

use std::time::Duration;

use crate::api_server::fate::Rates;
use crate::call_faults::CallRates;
use crate::process::ManagerCommand;
use crate::user::UserAct;

/// What happens.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A user acts.
    User(UserAct),
    /// A manager is killed or stopped.
    Manager(usize, ManagerCommand),
    /// The API server does not answer for that time.
    Away(Duration),
    /// Requests and watches fail at these rates for that time.
    Storm(Rates, Duration),
    /// Calls of managers to operands fail at these rates for that time.
    OperandStorm(CallRates, Duration),
    /// The server of that number is killed, and restarted by its kubelet.
    KillOperand(u64),
    /// The API server forgets earlier changes: watches that resume from before get 410.
    Compaction,
    /// All watches are cut.
    CutWatches,
}

impl Happening {
    /// Whether it is a fault: users' acts are not.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::User(_))
    }
}
