//! etcd, through etcd-client.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{
    AlarmAction, AlarmOptions, AlarmResponse, AlarmType, Client, GetOptions, MemberAddOptions, MemberListResponse,
    StatusResponse,
};
use futures::future::{join_all, ready};
use futures::{StreamExt, TryStreamExt, stream};
use runtime::Error;
use tokio::time::Instant;

use super::act;
use super::client::{EtcdClient, Place};
use super::fault::Fault;
use super::look::{self, Alarms, Answer, Status};
use super::pool::Pool;
use super::rooms::Rooms;
use crate::plan::{Change, Etcd, EtcdAct, Member};

/// How long each answer of a look may take.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a whole look may take.
const LOOK: Duration = Duration::from_millis(4500);
/// How long a member may take to show that it can be asked for a change.
const REACH: Duration = Duration::from_secs(1);
/// How long a change may take.
const CHANGE: Duration = Duration::from_secs(5);
/// How long the log may take to grow.
const FILL: Duration = Duration::from_secs(45);
/// How many entries may be under way at once.
const AT_ONCE: usize = 64;
/// How many members are asked for the list, one after the other.
const TRIES: usize = 2;
/// A key that is read for the sake of reading. Nobody need have it.
const KEY: &str = "multi-operator/health";

/// A key that is written for the sake of writing, and deleted at once.
const TOUCHED: &str = "multi-operator/upgrade";

/// The real etcd.
#[derive(Debug, Default)]
pub struct Live {
    pool: Pool,
    /// Members that have said that they cannot hand leadership over: their addresses, and the versions that they ran then.
    /// Forgotten with the manager, which then asks once more.
    keep_leading: Mutex<BTreeSet<(Box<str>, String)>>,
    rooms: Rooms,
}

impl EtcdClient for Live {
    async fn look(&self, places: &[Place], latched: Option<u64>) -> Etcd {
        if places.is_empty() {
            return Etcd::default();
        }
        let deadline = Instant::now() + LOOK;
        let answers = join_all(places.iter().map(|place| self.answer(place))).await;
        let (members, alarms) = match look::whom_to_ask(&answers, latched) {
            Ok(able) => self.listed(&answers, &able, deadline).await,
            Err(nobody) => (Err(nobody), Vec::new()),
        };
        let denied = members.is_err() && look::is_denied(&answers);
        let endpoint = |answer: Answer| {
            (answer.pod, answer.status.map(|status| status.endpoint).map_err(|fault| fault.to_string()))
        };
        Etcd { endpoints: answers.into_iter().map(endpoint).collect(), members, alarms, denied, alone: false }
    }

    async fn cluster_version(&self, address: &str) -> Option<String> {
        super::http::cluster_version(address).await
    }

    async fn receivers(&self, address: &str) -> BTreeSet<u64> {
        super::http::receivers(address).await
    }

    async fn act(&self, act: EtcdAct) -> Result<(), Error> {
        let mut last = None;
        for address in &act.via {
            // What has gone to nobody may go to somebody else; what may have been sent may not. So find out beforehand
            // whether there is anybody.
            match self.status(address, REACH).await {
                Err(fault) if !fault.is_answer() => last = Some(fault),
                told => {
                    let version = told.map(|status| status.endpoint.version).unwrap_or_default();
                    return self.change(address, version, &act.change).await;
                }
            }
        }
        Err(act::nobody(last.as_ref()))
    }
}

impl Live {
    /// None is connected yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    async fn status(&self, address: &str, deadline: Duration) -> Result<Status, Fault> {
        let until = Instant::now() + deadline;
        let mut told = self.pool.call(address, deadline, status).await;
        if let Err(Fault::Broken(_)) = told {
            // Perhaps only the connection was out of date, since the member has been restarted or is gone.
            told = self.pool.call(address, until.saturating_duration_since(Instant::now()), status).await;
        }
        match told {
            Ok(status) => Ok(status.into()),
            // All the same how much time was left for another connection.
            Err(Fault::Silent(_)) => Err(Fault::Silent(deadline)),
            Err(fault) => Err(fault),
        }
    }

    async fn answer(&self, (pod, address): &Place) -> Answer {
        let mut status = self.status(address, ANSWER).await;
        if let Ok(Status { endpoint, .. }) = &mut status {
            endpoint.room = self.rooms.of(address);
            endpoint.keeps_leading = self.keep_leading().contains(&(address.clone(), endpoint.version.clone()));
        }
        Answer { pod: Arc::clone(pod), address: address.clone(), status }
    }

    /// The members and alarms, as the first of those says that can.
    async fn listed(
        &self,
        answers: &[Answer],
        able: &[(&Answer, &Status)],
        deadline: Instant,
    ) -> (Result<Vec<Member>, String>, Alarms) {
        let mut why_not = None;
        for (&(answer, status), tries) in able.iter().zip((1..=TRIES.min(able.len())).rev()) {
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now).div_f64(tries as f64);
            match self.list(&answer.address, status, now + share.min(ANSWER)).await {
                Ok((members, alarms)) => match look::why_not_the_list(answers, (answer, status), &members) {
                    None => return (Ok(members), alarms),
                    Some(why) => _ = why_not.get_or_insert(why),
                },
                Err(fault) => _ = why_not.get_or_insert_with(|| look::why_no_list(&answer.pod, &fault)),
            }
        }
        let known = able.first().and_then(|(_, status)| status.alarms.clone());
        (Err(why_not.unwrap_or_default()), known.unwrap_or_default())
    }

    /// The members and alarms, as one member says that has quorum.
    async fn list(&self, address: &str, status: &Status, until: Instant) -> Result<(Vec<Member>, Alarms), Fault> {
        let left = || until.saturating_duration_since(Instant::now());
        // The member answers the list from what it has applied, whether or not it has quorum. A linearizable read before
        // it makes the member agree with the leader, and the leader with a quorum, and apply all that had been agreed
        // on by then; so the list is no older than the read.
        match self.pool.call(address, left(), read).await {
            // etcd looks at who asks when it has the agreement: this answer proves quorum as well.
            Ok(()) | Err(Fault::Denied(_)) => (),
            Err(fault) => return Err(fault),
        }
        let members = self.pool.call(address, left(), list_members).await?;
        let alarms = match &status.alarms {
            Some(told) => told.clone(),
            // Costs an entry in etcd's log, so it is not asked for where a status tells.
            None => look::alarms(&self.pool.call(address, left(), list_alarms).await?),
        };
        Ok((look::members(&members), alarms))
    }

    /// Changes etcd through the member at `address`, which runs that version.
    async fn change(&self, address: &str, version: String, change: &Change) -> Result<(), Error> {
        let deadline = if matches!(change, Change::Fill { .. }) { FILL } else { CHANGE };
        let made = self.pool.call(address, deadline, async |client| make(client, change).await).await;
        if matches!((change, &made), (Change::MoveLeader { .. }, Err(Fault::Unimplemented))) {
            self.keep_leading().insert((address.into(), version));
        }
        made.or_else(|fault| act::outcome(change, &fault))
    }

    fn keep_leading(&self) -> MutexGuard<'_, BTreeSet<(Box<str>, String)>> {
        self.keep_leading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn status(mut client: Client) -> Result<StatusResponse, etcd_client::Error> {
    client.status().await
}

/// A linearizable read.
async fn read(mut client: Client) -> Result<(), etcd_client::Error> {
    let options = GetOptions::new().with_limit(1).with_count_only();
    client.get(KEY, Some(options)).await.map(drop)
}

async fn list_members(mut client: Client) -> Result<MemberListResponse, etcd_client::Error> {
    client.member_list().await
}

async fn list_alarms(mut client: Client) -> Result<AlarmResponse, etcd_client::Error> {
    client.alarm(AlarmAction::Get, AlarmType::None, None).await
}

/// To ask for alarms goes through the log like a write, and changes nothing (`Alarm` in `server/etcdserver/v3_server.go` and in
/// `apply`, from 3.0 to 3.7).
async fn fill(client: &Client, entries: u64) -> Result<(), etcd_client::Error> {
    let ask = |_| list_alarms(client.clone());
    let asked = stream::iter(0..entries).map(ask).buffer_unordered(AT_ONCE);
    asked.try_for_each(|_| ready(Ok(()))).await
}

async fn make(mut client: Client, change: &Change) -> Result<(), etcd_client::Error> {
    match change {
        Change::Add { peer_url, learner } => {
            let options = learner.then(|| MemberAddOptions::new().with_is_learner());
            client.member_add([peer_url], options).await.map(drop)
        }
        Change::Promote { id } => client.member_promote(*id).await.map(drop),
        Change::Remove { id, .. } => client.member_remove(*id).await.map(drop),
        Change::MoveLeader { to } => client.move_leader(*to).await.map(drop),
        Change::Disarm { id } => {
            let mut of = AlarmOptions::new();
            of.with_member(*id);
            client.alarm(AlarmAction::Deactivate, AlarmType::Nospace, Some(of)).await.map(drop)
        }
        Change::Fill { entries } => fill(&client, *entries).await,
        Change::Touch => {
            client.put(TOUCHED, "", None).await?;
            client.delete(TOUCHED, None).await.map(drop)
        }
    }
}
