//! How users delete.

use crate::api_server::request::Propagation;
use crate::random::Random;

/// How a user deletes: most do it in the background. No one orphans: what is left then is theirs.
pub(super) fn propagation(random: &mut Random) -> Propagation {
    if random.chance(300) { Propagation::Foreground } else { Propagation::Background }
}
