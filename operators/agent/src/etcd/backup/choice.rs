//! Pure: from which member the snapshot is taken.

use crate::etcd::output::Candidate;
use crate::failure::{CommandFailure, Reason};

/// A follower that lags by more entries of the log than this is asked after the leader.
const MAX_LAG: u64 = 1000;

impl Candidate {
    /// Members of the group with the lowest number are tried first.
    fn group(&self, highest: u64) -> u8 {
        let lags = highest.saturating_sub(self.raft_index) > MAX_LAG;
        match () {
            () if self.member_id == self.leader => 1,
            () if lags => 2,
            () => 0,
        }
    }
}

/// The members in the order in which they are tried: followers that are up to date, the leader, and the others. Learners and corrupt members are
/// not.
pub(crate) fn order(answers: &[Result<Candidate, String>]) -> Result<Vec<Candidate>, CommandFailure> {
    let mut found: Vec<Candidate> = answers.iter().filter_map(|answer| answer.as_ref().ok()).cloned().collect();
    if let Some((one, other)) =
        found.iter().zip(found.iter().skip(1)).find(|(one, other)| one.cluster_id != other.cluster_id)
    {
        let message = format!(
            "{} and {} are members of different clusters ({:x} and {:x}): a backup is of one cluster",
            one.endpoint, other.endpoint, one.cluster_id, other.cluster_id
        );
        return Err(CommandFailure::new(Reason::BadInput, message));
    }
    let answered = !found.is_empty();
    found.retain(|member| !member.learner && !member.corrupt);
    if found.is_empty() {
        let errors: Vec<&str> = answers.iter().filter_map(|answer| answer.as_ref().err()).map(String::as_str).collect();
        let message = match answered {
            true => "all members that answer are learners or have the alarm CORRUPT".to_owned(),
            false => format!("no member answers: {}", errors.join("; ")),
        };
        return Err(CommandFailure::new(Reason::ConnectionFailed, message));
    }
    let highest = found.iter().map(|member| member.raft_index).max().unwrap_or_default();
    found.sort_by_key(|member| (member.group(highest), std::cmp::Reverse(member.raft_index)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: u64, raft_index: u64) -> Candidate {
        Candidate {
            endpoint: id.to_string(),
            cluster_id: 7,
            member_id: id,
            leader: 1,
            raft_index,
            ..Candidate::default()
        }
    }

    fn ordered(answers: &[Result<Candidate, String>]) -> Vec<u64> {
        order(answers).unwrap().iter().map(|member| member.member_id).collect()
    }

    #[test]
    fn followers_that_are_up_to_date_come_first_and_those_that_lag_last() {
        let all =
            [Ok(member(1, 5000)), Ok(member(2, 3999)), Ok(member(3, 4990)), Ok(member(4, 4995)), Err("down".into())];
        assert_eq!(ordered(&all), [4, 3, 1, 2]);
        assert_eq!(ordered(&[Ok(member(1, 9))]), [1]);
    }

    #[test]
    fn learners_and_corrupt_members_are_not_backed_up() {
        let learner = Candidate { learner: true, ..member(2, 9) };
        let corrupt = Candidate { corrupt: true, ..member(3, 9) };
        assert_eq!(ordered(&[Ok(learner.clone()), Ok(corrupt), Ok(member(1, 9))]), [1]);
        let none = order(&[Ok(learner)]).unwrap_err();
        assert!(none.message().contains("learners"), "{}", none.message());
    }

    #[test]
    fn endpoints_of_two_clusters_are_refused_and_errors_are_reported() {
        let other = Candidate { cluster_id: 8, ..member(2, 9) };
        assert_eq!(order(&[Ok(member(1, 9)), Ok(other)]).unwrap_err().reason(), Reason::BadInput);
        let down = order(&[Err("a is down".into()), Err("b is down".into())]).unwrap_err();
        assert_eq!(
            (down.reason(), down.message()),
            (Reason::ConnectionFailed, "no member answers: a is down; b is down")
        );
    }
}
