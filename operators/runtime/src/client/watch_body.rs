//! The body of a watch, which ends after an outage of the API server: only the next event would show whether its connection has
//! survived, and it may never come.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

use crate::outage::Outages;

/// A body that ends shortly after the next outage at the latest.
pub struct WatchBody<B> {
    body: B,
    outage: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<B> WatchBody<B> {
    pub(super) fn new(body: B, outages: Outages) -> Self {
        Self { body, outage: Box::pin(async move { outages.resumed().await }) }
    }
}

impl<B: Body + Unpin> Body for WatchBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        // Received frames come first, so that no event is cut.
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending if self.outage.as_mut().poll(context).is_ready() => Poll::Ready(None),
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
