use super::*;

fn soon() -> Instant {
    Instant::now() + CONNECT_TIMEOUT
}

#[tokio::test]
async fn a_connection_with_another_password_is_closed() {
    let pool = ChannelPool::default();
    let reach = |password: Option<&str>| {
        let root = password.map(RootPassword::new);
        pool.reach(&[MemberEndpoint { root, ..MemberEndpoint::plain("a", "10.0.0.1") }]);
        let known = |user| pool.lock().by_user.contains_key(&("10.0.0.1".into(), user));
        (known(User::None), known(User::Root))
    };
    reach(Some("one"));
    let (client, _) = pool.channel("10.0.0.1", User::None, soon()).await.unwrap();
    pool.lock().keep("10.0.0.1", User::Root, client, Instant::now());
    assert_eq!(reach(Some("one")), (true, true));
    assert_eq!(reach(Some("two")), (true, false));
    assert_eq!(reach(None), (true, false));
    assert!(pool.access("10.0.0.1").root.is_none());
}

#[test]
fn urls_bracket_ipv6_addresses() {
    assert_eq!(endpoint("10.1.2.3", None).0, "http://10.1.2.3:2379");
    assert_eq!(endpoint("fd00::7", None).0, "http://[fd00::7]:2379");
}

#[tokio::test]
async fn a_connection_is_kept_while_it_is_used() {
    let pool = ChannelPool::default();
    for address in ["10.0.0.1", "10.0.0.2"] {
        pool.channel(address, User::None, soon()).await.unwrap();
    }
    let mut channels = pool.lock();
    let start = Instant::now();
    for round in 0..3 {
        let now = start + round * (IDLE_TIMEOUT - Duration::from_secs(1));
        assert_eq!(channels.known("10.0.0.1", User::None, now).map(|(_, number)| number), Some(1));
    }
    assert_eq!(channels.by_user.len(), 1, "the other one is closed");
    assert!(channels.known("10.0.0.2", User::None, start).is_none());
}

#[tokio::test]
async fn only_the_connection_that_failed_is_dropped() {
    let pool = ChannelPool::default();
    let number = async || pool.channel("10.0.0.1", User::None, soon()).await.unwrap().1;
    assert_eq!((number().await, number().await), (1, 1));
    pool.forget("10.0.0.1", User::None, 1);
    assert_eq!(number().await, 2);
    pool.forget("10.0.0.1", User::None, 1);
    assert_eq!(number().await, 2);
}

#[tokio::test]
async fn an_invalid_address_is_an_error() {
    let error = ChannelPool::default().channel("a b", User::None, soon()).await.err().unwrap();
    assert!(!error.is_answer(), "{error:?}");
}

#[tokio::test]
async fn a_timeout_is_reported_in_the_same_words_each_time() {
    const SILENT: &str = "127.91.17.3";
    let _silent = std::net::TcpListener::bind((SILENT, PORT)).unwrap();
    let (pool, deadline) = (ChannelPool::default(), Duration::from_millis(50));
    for _ in 0..2 {
        let call = |mut client: Client| async move { client.status().await.map(drop) };
        assert_eq!(pool.call(SILENT, deadline, call).await, Err(EtcdClientError::Timeout(deadline)));
        assert_eq!(pool.call_without_user(SILENT, deadline, call).await, Err(EtcdClientError::Timeout(deadline)));
    }
}
