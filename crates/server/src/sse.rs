//! Server-sent events: a stream that forwards pieces as they arrive, keeps its connection alive, and ends when the
//! source or the server does.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use http_body::Frame;
use tokio::sync::watch;

use crate::event_stream::EventStream;
use crate::feed::frames::{HEARTBEAT, OPENING};
use crate::metrics::OpenStream;
use crate::stopping::stopped;

/// The header a browser sends when it reconnects: the id of the last event it has.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Maximum interval between two pieces; a comment fills longer gaps.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// The source of the pieces of a stream. A piece is requested when the previous one is being sent, so a slow reader
/// slows down its source.
pub(crate) trait PieceSource: Send + 'static {
    /// The next piece; none at the end. The future may be dropped while it waits.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A response that streams from `pieces_of` until it ends or the server does.
pub(crate) fn stream(pieces_of: impl PieceSource, stop: watch::Receiver<bool>, open: OpenStream) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        // For proxies that buffer responses.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    let streaming = Streaming { pieces_of, stop, stage: Stage::New, _open: open };
    (headers, Extension(EventStream), Body::new(Pieces { next: Some(Box::pin(streaming.next())) })).into_response()
}

struct Streaming<G> {
    pieces_of: G,
    stop: watch::Receiver<bool>,
    stage: Stage,
    _open: OpenStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Going,
}

impl<G: PieceSource> Streaming<G> {
    async fn next(mut self) -> (Self, Option<Bytes>) {
        if self.stage == Stage::New {
            self.stage = Stage::Going;
            return (self, Some(Bytes::from_static(OPENING.as_bytes())));
        }
        let piece = tokio::select! {
            piece = self.pieces_of.next() => piece,
            () = tokio::time::sleep(HEARTBEAT_INTERVAL) => Some(Bytes::from_static(HEARTBEAT.as_bytes())),
            () = stopped(&mut self.stop) => None,
        };
        (self, piece)
    }
}

type NextPiece<G> = Pin<Box<dyn Future<Output = (Streaming<G>, Option<Bytes>)> + Send>>;

/// The body: polled when there is room for more, so that one piece at a time is being sent.
struct Pieces<G> {
    /// None after the end.
    next: Option<NextPiece<G>>,
}

impl<G: PieceSource> http_body::Body for Pieces<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let (streaming, piece) = ready!(next.as_mut().poll(context));
        self.next = piece.is_some().then(|| Box::pin(streaming.next()) as NextPiece<G>);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;

    use super::*;
    use crate::metrics::Metrics;

    /// Returns its pieces, and then waits indefinitely.
    struct ScriptedSource(Vec<&'static str>);

    impl PieceSource for ScriptedSource {
        async fn next(&mut self) -> Option<Bytes> {
            if self.0.is_empty() { std::future::pending().await } else { Some(Bytes::from(self.0.remove(0))) }
        }
    }

    async fn text(body: &mut Body) -> Option<String> {
        let frame = body.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_beats_and_ends_with_the_server() {
        let (stop, stopping) = watch::channel(false);
        let metrics = Arc::new(Metrics::new());
        let mut body = stream(ScriptedSource(vec!["a", "b"]), stopping, metrics.stream()).into_body();
        assert_eq!(text(&mut body).await.as_deref(), Some("retry: 1000\n\n"));
        assert_eq!(text(&mut body).await.as_deref(), Some("a"));
        assert_eq!(text(&mut body).await.as_deref(), Some("b"));
        for _ in 0..2 {
            let begin = tokio::time::Instant::now();
            assert_eq!(text(&mut body).await.as_deref(), Some(HEARTBEAT));
            assert_eq!(begin.elapsed(), HEARTBEAT_INTERVAL);
        }
        assert_eq!(metrics.open_streams(), 1);
        stop.send_replace(true);
        assert_eq!(text(&mut body).await, None);
        drop(body);
        assert_eq!(metrics.open_streams(), 0, "a client that leaves frees its place");
    }
}
