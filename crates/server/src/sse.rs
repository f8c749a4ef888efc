//! Server-sent events: a stream that is given what comes, keeps its connection alive, and ends when it must.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use http_body::Frame;
use tokio::sync::{mpsc, watch};

use crate::feed::frames::{HEARTBEAT, OPENING};
use crate::metrics::OpenStream;
use crate::stopping::stopped;

/// A comment at least so often.
pub(crate) const BEAT: Duration = Duration::from_secs(15);

/// What gives a stream its pieces. Each is asked for when the one before is on its way: whoever reads slowly is asked
/// for slowly.
pub(crate) trait Giver: Send + 'static {
    /// The next piece; none at the end. May be dropped while it waits.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A response that streams from `giver` until it ends or the server does.
pub(crate) fn stream(mut giver: impl Giver, mut stop: watch::Receiver<bool>, open: OpenStream) -> Response {
    // One piece at a time: this task waits until it is taken.
    let (sender, pieces) = mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        let _open = open;
        if sender.send(Bytes::from_static(OPENING.as_bytes())).await.is_err() {
            return;
        }
        loop {
            let piece = tokio::select! {
                piece = giver.next() => match piece {
                    Some(piece) => piece,
                    None => return,
                },
                () = tokio::time::sleep(BEAT) => Bytes::from_static(HEARTBEAT.as_bytes()),
                () = stopped(&mut stop) => return,
                () = sender.closed() => return,
            };
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        // For proxies that collect before they pass on.
        (http::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::new(Pieces(pieces))).into_response()
}

struct Pieces(mpsc::Receiver<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
