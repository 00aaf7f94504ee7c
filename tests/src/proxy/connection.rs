//! A connection that can be frozen: it stays open, accepts nothing more, delivers nothing more, and reports no error. A network
//! behaves like this when a device between the ends has forgotten a connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What is known of one connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) hangs: AtomicBool,
    pub(super) carries_watch: AtomicBool,
    /// It ends with a reset instead of a proper end.
    pub(super) resets: AtomicBool,
}

/// The stream of such a connection.
pub(super) struct Hangable {
    pub(super) stream: TcpStream,
    pub(super) connection: Arc<Connection>,
}

impl Hangable {
    fn hangs(&self) -> bool {
        self.connection.hangs.load(Ordering::SeqCst)
    }
}

impl Drop for Hangable {
    fn drop(&mut self) {
        if self.connection.resets.load(Ordering::SeqCst) {
            drop(self.stream.set_zero_linger());
        }
    }
}

impl AsyncRead for Hangable {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Never woken again: a connection that hangs hangs for good.
        if self.hangs() { Poll::Pending } else { Pin::new(&mut self.stream).poll_read(cx, buffer) }
    }
}

impl AsyncWrite for Hangable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.hangs() { Poll::Pending } else { Pin::new(&mut self.stream).poll_write(cx, bytes) }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.hangs() { Poll::Pending } else { Pin::new(&mut self.stream).poll_flush(cx) }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.hangs() { Poll::Pending } else { Pin::new(&mut self.stream).poll_shutdown(cx) }
    }
}
