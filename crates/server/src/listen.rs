//! Connections: how many there may be, how long their requests may take to arrive, and how they end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::event_stream::{self, EventStream, Handover};
use crate::front::Front;
use crate::places::{Entered, Places};
use crate::stopping::stopped;
use skillrun_model::IgnoredError;

/// Time limit for the headers of a request, and for an idle connection. A connection without a valid credential has
/// less time, see [`crate::places`].
const HEADERS_WITHIN: Duration = Duration::from_secs(30);

/// Maximum size of the headers, and of the buffer for a client that does not read.
const BUFFER: usize = 64 << 10;

const HEADERS: usize = 100;

/// Time limit for requests under way when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause after a failed accept, which most likely failed for lack of descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Sockets in addition to the places: connections that have lost their place and are about to be closed.
const CLOSING_SOCKETS: usize = 64;

/// The requested number of connections, reduced to what the descriptors allow: half of the descriptors are reserved for
/// files and host processes. The soft limit is raised as far as allowed.
pub(crate) fn with_descriptors(connections: usize) -> usize {
    let wanted = connections.saturating_mul(2) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None means that there is no limit.
    let Some(soft) = current.filter(|soft| *soft < wanted) else { return connections };
    let raised = maximum.map_or(wanted, |hard| hard.min(wanted)).max(soft);
    let got = match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => soft,
    };
    connections.min(usize::try_from(got / 2).unwrap_or(usize::MAX))
}

/// Accepts connections until the server stops, and then waits for those under way.
pub(crate) async fn serve(
    listener: TcpListener,
    front: Arc<Front>,
    places: Arc<Places>,
    connections: usize,
    mut stop: watch::Receiver<bool>,
) {
    let all = connections + CLOSING_SOCKETS;
    let sockets = Arc::new(Semaphore::new(all));
    loop {
        let accepted = tokio::select! {
            accepted = next(&listener, &sockets) => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, socket, peer)) => {
                // Dropped, and so closed, if there is no place; the bounds prevent that.
                if let Some(entered) = places.enter(peer) {
                    tokio::spawn(connection(stream, front.clone(), stop.clone(), entered, socket));
                }
            }
            Err(_) => {
                places.make_room();
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    let all = u32::try_from(all).unwrap_or(u32::MAX);
    // Clients that are not done by then reconnect.
    tokio::time::timeout(DRAIN_TIMEOUT, sockets.acquire_many(all)).await.ignored();
}

async fn next(
    listener: &TcpListener,
    sockets: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit, std::net::IpAddr)> {
    let socket = sockets.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, socket, peer.ip()))
}

async fn connection(
    stream: TcpStream,
    front: Arc<Front>,
    mut stop: watch::Receiver<bool>,
    entered: Entered,
    socket: OwnedSemaphorePermit,
) {
    // Events are small and must not be delayed for more data.
    stream.set_nodelay(true).ignored();
    let place = entered.place().clone();
    let handover = Arc::new(Handover::default());
    let (given, is_first) = (handover.clone(), AtomicBool::new(true));
    let answer = service_fn(move |request| {
        let (front, place, given) = (front.clone(), place.clone(), given.clone());
        // Of a later request, a part of the response before it may still be in the buffer of the connection.
        let may_be_given = is_first.swap(false, Ordering::Relaxed) && event_stream::fits(&request);
        // Boxed, so that its memory is freed when the response begins: a stream lives for hours after that.
        Box::pin(async move {
            let response = front.answer(request, &place).await;
            if may_be_given && response.extensions().get::<EventStream>().is_some() {
                given.give(response);
                // The connection ends this.
                std::future::pending::<()>().await;
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted));
            }
            Ok(response)
        })
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(BUFFER)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that disconnects is not an error of the server.
    let event_stream = tokio::select! {
        _ = &mut connection => None,
        response = handover.taken() => Some(response),
        () = entered.closed() => None,
        () = stopped(&mut stop) => {
            Pin::new(&mut connection).graceful_shutdown();
            tokio::select! {
                _ = &mut connection => None,
                response = handover.taken() => Some(response),
                () = entered.closed() => None,
            }
        }
    };
    if let Some(response) = event_stream {
        let stream = connection.into_parts().io.into_inner();
        // A task of its own, which has no room for what only other requests need.
        tokio::spawn(event_stream::send(stream, response, entered, socket));
    }
}
