//! What is remembered of servers, with a client that is none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_protocol::PgUpgradeResult;

use super::super::{ConnectError, PostgresClient, RemainingSessions, ServerFuture};
use super::*;
use crate::database::{ServerInfo, ServerProbe};
use crate::password::Password;

/// A server that answers while it is asked to, and counts.
#[derive(Default)]
struct Fake {
    queries: AtomicUsize,
    is_away: Mutex<bool>,
    passwords: Mutex<Vec<(String, String)>>,
}

fn answered<'a, T: Send + 'a>(answer: T) -> ServerFuture<'a, T> {
    Box::pin(async move { answer })
}

impl PostgresClient for Fake {
    fn info<'a>(
        &'a self,
        _: &'a SampleDB,
        _: &'a ServerAccess,
        _: bool,
        _: bool,
    ) -> ServerFuture<'a, Result<ServerInfo, ConnectError>> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let is_away = *self.is_away.lock().unwrap();
        let info = || ServerInfo { version: "17.12".to_owned(), login: LoginCheck::Ok, ..ServerInfo::default() };
        answered(if is_away { Err(ConnectError::NoAnswer("away".to_owned())) } else { Ok(info()) })
    }

    fn ping<'a>(&'a self, _: &'a ServerAccess) -> ServerFuture<'a, bool> {
        answered(!*self.is_away.lock().unwrap())
    }

    fn copy_result<'a>(
        &'a self,
        _: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<Option<PgUpgradeResult>, ConnectError>> {
        answered(Ok(None))
    }

    fn set_password<'a>(
        &'a self,
        _: &'a ServerAccess,
        role: &'a str,
        password: &'a Password,
    ) -> ServerFuture<'a, Result<(), ConnectError>> {
        self.passwords.lock().unwrap().push((role.to_owned(), password.text().to_owned()));
        answered(Ok(()))
    }

    fn set_parameters<'a>(
        &'a self,
        _: &'a ServerAccess,
        _: &'a [(String, String)],
        _: &'a [String],
    ) -> ServerFuture<'a, Result<Option<String>, ConnectError>> {
        answered(Ok(Some("no".to_owned())))
    }

    fn allow_clients<'a>(&'a self, _: &'a ServerAccess) -> ServerFuture<'a, Result<(), ConnectError>> {
        answered(Ok(()))
    }

    fn block_clients<'a>(
        &'a self,
        access: &'a ServerAccess,
    ) -> ServerFuture<'a, Result<RemainingSessions, ConnectError>> {
        answered(Ok(RemainingSessions { pod: access.pod.clone(), ..RemainingSessions::default() }))
    }

    fn is_blocking<'a>(&'a self, _: &'a ServerAccess) -> ServerFuture<'a, bool> {
        answered(true)
    }

    fn end_others<'a>(
        &'a self,
        _: &'a ServerAccess,
        _: &'a mut RemainingSessions,
    ) -> ServerFuture<'a, Result<(), ConnectError>> {
        answered(Ok(()))
    }
}

fn parts() -> (Arc<Fake>, Servers, SampleDB, ServerAccess) {
    let fake = Arc::new(Fake::default());
    let access = ServerAccess {
        pod: "p".into(),
        ip: "10.0.0.1".into(),
        major: Some(17),
        superuser_password: "s".into(),
        app_password: Some("a".into()),
    };
    (fake.clone(), Servers::new(fake), database(), access)
}

#[tokio::test]
async fn an_answer_is_used_until_something_changes() {
    let (fake, servers, db, access) = parts();
    let queries = || fake.queries.load(Ordering::Relaxed);
    assert_eq!(servers.query(&db, &access).await.info().unwrap().version, "17.12");
    servers.query(&db, &access).await;
    assert_eq!(queries(), 1);
    servers.query(&db, &ServerAccess { pod: "q".into(), ..access.clone() }).await;
    assert_eq!(queries(), 2);
    servers.set_password(&db, &access).await.unwrap();
    servers.query(&db, &access).await;
    assert_eq!(queries(), 3);
    let role = crate::operand::names::database(&db).to_owned();
    assert_eq!(*fake.passwords.lock().unwrap(), [(role, "a".to_owned())]);
}

#[tokio::test]
async fn a_server_is_silent_until_it_answers() {
    let (fake, servers, db, access) = parts();
    *fake.is_away.lock().unwrap() = true;
    assert_eq!(servers.query(&db, &access).await, ServerProbe::Failed("away".to_owned()));
    assert!(servers.silent_for(&db.meta.key).is_some());
    *fake.is_away.lock().unwrap() = false;
    servers.ping(&db, &access).await;
    assert_eq!(servers.silent_for(&db.meta.key), None);
}

#[tokio::test]
async fn a_rejected_parameter_is_reported_until_the_spec_changes() {
    let (_, servers, mut db, access) = parts();
    servers.set_parameters(&db, &access, &[], &[]).await.unwrap();
    let refused = servers.query(&db, &access).await.info().unwrap().parameters.refused.clone();
    assert_eq!(refused.as_deref(), Some("no"));
    db.spec.engine.parameters = [("work_mem".to_owned(), "8MB".to_owned())].into();
    assert_eq!(servers.query(&db, &access).await.info().unwrap().parameters.refused, None);
}
