//! The body of a watch that ends with an outage of the API server: whether its connection survived that is known only when
//! something comes through it, and that may be never.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

use crate::outage::Outages;

/// A body that ends at the latest shortly after the next outage.
pub struct Until<B> {
    body: B,
    outage: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<B> Until<B> {
    pub(super) fn new(body: B, outages: Outages) -> Self {
        Self { body, outage: Box::pin(async move { outages.resumed().await }) }
    }
}

impl<B: Body + Unpin> Body for Until<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        // What has come is taken first, so that nothing is cut in the middle.
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
