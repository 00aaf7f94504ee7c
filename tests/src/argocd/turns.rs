//! Which test may change what while others read it.

use tokio::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Staging and production: changed by one test, or read by many.
static WATCHED: RwLock<()> = RwLock::const_new(());
/// Dev, and the git repository: changed by one.
static CHANGED: Mutex<()> = Mutex::const_new(());

/// Held by a test that changes only dev.
pub async fn one_environment() -> MutexGuard<'static, ()> {
    CHANGED.lock().await
}

/// Held by a test that changes more.
pub async fn everything() -> (RwLockWriteGuard<'static, ()>, MutexGuard<'static, ()>) {
    (WATCHED.write().await, CHANGED.lock().await)
}

/// Held by a test that changes nothing, and during which no test may change staging and production.
pub async fn read_only() -> RwLockReadGuard<'static, ()> {
    WATCHED.read().await
}
