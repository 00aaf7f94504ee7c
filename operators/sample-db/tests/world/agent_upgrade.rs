//! `pg-upgrade`, a stage a tick.

use runtime::testing::FakeCluster;
use serde_json::json;

use crate::data::Data;
use crate::infrastructure::Infrastructure;
use crate::kubelet::{End, PodState, failure};
use crate::pods::KubeletPod;

impl Infrastructure {
    /// Stage 1 checks, stage 2 blocks clients and reads, stage 3 writes to the new server.
    pub fn upgrade(
        &mut self,
        cluster: &FakeCluster,
        pod: &KubeletPod,
        state: &mut PodState,
        fails_at: Option<u32>,
    ) -> Option<End> {
        let old = match self.connect(cluster, pod, state) {
            Ok(claim) => claim,
            Err(_) if state.scratch.is_some() => return failure("ConnectionFailed", "the old server is gone"),
            Err(end) => return end,
        };
        let new = pod.flag("--to").and_then(|address| self.claim_of(&address));
        let Some((new, there)) = new.and_then(|new| Some((new.clone(), self.disks.data(&new)?.clone()))) else {
            return failure("ConnectionFailed", "the new server is gone");
        };
        let from = self.disks.data(&old)?.clone();
        let major: u32 = pod.flag("--major").and_then(|major| major.parse().ok())?;
        let other = pod.flag("--from-system-identifier").is_some_and(|id| id != from.id);
        if other || from.major >= major || there.major != major {
            return failure("ForeignData", "the server is another one");
        }
        let stage = state.scratch.as_ref().map_or(1, |_| 3);
        if fails_at.is_some_and(|at| stage >= at) {
            return failure("ToolFailed", "it was configured to");
        }
        let result = |at: i64| json!({ "systemIdentifier": there.id, "version": pod.release(), "closedAt": at });
        if let Some(copy) = state.scratch.clone() {
            let at = copy.copy.as_ref().map_or(0, |of| of.1);
            let Data { id, major, owner, allows_clients, superuser, settings, .. } = there.clone();
            let data = Data { id, major, owner, allows_clients, superuser, settings, blocked_since: None, ..copy };
            self.disks.volume(&new).data = Some(data);
            return Some((0, result(at)));
        }
        match &there.copy {
            Some((of, at)) if *of == from.id && !from.allows_clients && from.blocked_since == Some(*at) => {
                return Some((0, result(*at)));
            }
            None if there.app.is_none() && there.rows.is_empty() => {}
            _ => return failure("ForeignData", "the new server is not empty"),
        }
        if state.age < 2 {
            return None;
        }
        let at = self.now.as_millisecond();
        let data = self.disks.volume(&old).data.as_mut()?;
        (data.allows_clients, data.blocked_since) = (false, Some(at));
        state.scratch = Some(Data { copy: Some((from.id.clone(), at)), ..data.clone() });
        // Roles come first: from here on, applications could log in if clients were allowed.
        self.disks.volume(&new).data.as_mut()?.app.clone_from(&from.app);
        None
    }
}
