//! Whether everything that was acknowledged is there, and whether all members say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use etcd_client::{Client, Error, GetOptions, KeyValue, SortOrder, SortTarget};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::writing::{PREFIX, Writing, connect};

/// How long a member may take to answer anything, with tries.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const ONCE: Duration = Duration::from_secs(3);
/// The same for all keys with their values, which may be gigabytes: to read them, or to have a member hash them.
const ALL: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How many keys are read at a time, if so many of them fit into a message, of 4 MiB.
const PAGE: usize = 100;
const MESSAGE: usize = 3 << 20;
/// What gRPC calls a method that the server does not know.
const UNIMPLEMENTED: i32 = 12;
/// How many numbers are listed.
const SHOWN: usize = 10;

/// The verdict, as one line of JSON.
pub async fn of(writing: &Writing) -> Value {
    let mut verdict = writing.record.progress();
    let mut wrong = Vec::new();
    match persist(ALL, || read(writing)).await {
        Ok((found, revision)) => {
            let lost = lost(writing, &found);
            let unsure =
                writing.record.unacknowledged.iter().filter(|number| found.contains_key(&writing.key(**number)));
            verdict["unacknowledged_found"] = unsure.count().into();
            verdict["lost"] = lost.len().into();
            verdict["lost_numbers"] = lost.iter().take(SHOWN).collect::<Vec<_>>().into_iter().copied().collect();
            verdict["revision"] = revision.into();
            match persist(ONCE, || members(&writing.endpoint)).await {
                Ok(listed) => verdict["members"] = compare(listed, revision, &mut wrong).await,
                Err(error) => wrong.push(format!("the members cannot be listed: {error}")),
            }
        }
        Err(error) => wrong.push(format!("the keys cannot be read: {error}")),
    }
    verdict["wrong"] = wrong.into();
    verdict
}

/// Tries until it succeeds or the time is up; each try may take so long.
async fn persist<T, F>(once: Duration, mut ask: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, String>>,
{
    let begun = Instant::now();
    loop {
        let answer = timeout(once, ask()).await.unwrap_or_else(|_| Err(format!("no answer within {once:?}")));
        match answer {
            Err(_) if begun.elapsed() < ANSWER_TIMEOUT => sleep(POLL_INTERVAL).await,
            answer => return answer,
        }
    }
}

/// All keys of this writer, by linearizable reads, and the revision as of the last.
async fn read(writing: &Writing) -> Result<(BTreeMap<String, KeyValue>, i64), String> {
    let page = (MESSAGE / writing.value(0).len()).clamp(1, PAGE);
    pages(&mut connect(&writing.endpoint).await.map_err(message)?, writing.prefix(), page, None).await
}

/// All keys of this writer; or those that the queried member had at a revision, without a quorum.
async fn pages(
    client: &mut Client,
    prefix: &str,
    page: usize,
    at: Option<i64>,
) -> Result<(BTreeMap<String, KeyValue>, i64), String> {
    let limit = i64::try_from(page).map_err(message)?;
    let (mut found, mut from, mut revision) = (BTreeMap::new(), prefix.to_owned(), 0);
    loop {
        let end = format!("{}0", prefix.trim_end_matches('/'));
        let options = GetOptions::new().with_range(end).with_limit(limit);
        let options = options.with_sort(SortTarget::Key, SortOrder::Ascend);
        let options = at.map_or(options.clone(), |revision| options.with_serializable().with_revision(revision));
        let mut page = client.get(from.as_str(), Some(options)).await.map_err(message)?;
        revision = page.header().map_or(revision, |header| header.revision());
        for pair in page.take_kvs() {
            found.insert(String::from_utf8_lossy(pair.key()).into_owned(), pair);
        }
        match found.last_key_value() {
            Some((last, _)) if page.more() => from = format!("{last}\0"),
            _ => return Ok((found, revision)),
        }
    }
}

/// Acknowledged numbers that are missing, or are not as they were acknowledged.
fn lost(writing: &Writing, found: &BTreeMap<String, KeyValue>) -> Vec<u64> {
    let kept = |(number, revision): (&u64, &i64)| {
        let pair = found.get(&writing.key(*number));
        pair.is_some_and(|pair| {
            pair.value() == writing.value(*number).as_bytes() && pair.mod_revision() == *revision && pair.version() == 1
        })
    };
    let record = &writing.record.acknowledged;
    record.iter().filter(|entry| !kept(*entry)).map(|(number, _)| *number).collect()
}

/// A member, as the queried one lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    name: String,
    id: u64,
    learner: bool,
    url: Option<String>,
}

async fn members(endpoint: &str) -> Result<BTreeSet<Member>, String> {
    listed(&mut connect(endpoint).await.map_err(message)?).await
}

/// The list of the queried member, from its own log.
async fn listed(client: &mut Client) -> Result<BTreeSet<Member>, String> {
    let list = client.member_list().await.map_err(message)?;
    let member = |member: &etcd_client::Member| Member {
        name: member.name().to_owned(),
        id: member.id(),
        learner: member.is_learner(),
        url: member.client_urls().first().cloned(),
    };
    Ok(list.members().iter().map(member).collect())
}

/// What each member says of itself, and how that differs.
async fn compare(members: BTreeSet<Member>, revision: i64, wrong: &mut Vec<String>) -> Value {
    let (mut statuses, mut hashes) = (Vec::new(), BTreeSet::new());
    for member in &members {
        let (name, id) = (&member.name, format!("{:x}", member.id));
        let Some(url) = &member.url else {
            wrong.push(format!("member {id} is listed and has not started"));
            continue;
        };
        match persist(ALL, || ask(url, &members, revision)).await {
            Ok((version, hash, compacted)) => {
                hashes.insert((hash, compacted));
                statuses.push(
                    json!({ "name": name, "id": id, "learner": member.learner, "version": version, "hash": hash }),
                );
            }
            Err(error) => wrong.push(format!("member {name} ({id}): {error}")),
        }
    }
    if hashes.len() > 1 {
        wrong.push(format!("the members' data differs at revision {revision}: hashes and compactions {hashes:?}"));
    }
    statuses.into()
}

/// A member's version, and its hash at a revision with that of its last compaction; if it lists the same members.
async fn ask(url: &str, members: &BTreeSet<Member>, revision: i64) -> Result<(String, u32, i64), String> {
    let mut client = connect(url).await.map_err(message)?;
    let own = listed(&mut client).await?;
    if own != *members {
        return Err(format!("it lists {own:?} where others list {members:?}"));
    }
    let status = client.status().await.map_err(message)?;
    if status.leader() == 0 {
        return Err("it knows no leader".to_owned());
    }
    // A member that has not reached that revision yet returns an error, and is queried again.
    let (hash, compacted) = match client.maintenance_client().hash_kv(revision).await {
        Ok(hash) => (hash.hash(), hash.compact_version()),
        Err(Error::GRpcStatus(status)) if i32::from(status.code()) == UNIMPLEMENTED => {
            (held(&mut client, revision).await?, 0)
        }
        Err(error) => return Err(message(error)),
    };
    Ok((status.version().to_owned(), hash, compacted))
}

/// Before 3.3 members do not report a hash. The hash of this writer's keys at a revision stands for all.
async fn held(client: &mut Client, revision: i64) -> Result<u32, String> {
    let mut hasher = DefaultHasher::new();
    for (key, pair) in pages(client, PREFIX, PAGE, Some(revision)).await?.0 {
        (key, pair.value(), pair.create_revision(), pair.mod_revision(), pair.version()).hash(&mut hasher);
    }
    u32::try_from(hasher.finish() >> 32).map_err(message)
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}
