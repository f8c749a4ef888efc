//! Connections: how many there may be, how long their requests may take to arrive, and how they end.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

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
    _socket: OwnedSemaphorePermit,
) {
    // Events are small and must not be delayed for more data.
    stream.set_nodelay(true).ignored();
    let place = entered.place().clone();
    let answer = service_fn(move |request| {
        let (front, place) = (front.clone(), place.clone());
        // Boxed, so that its memory is freed when the response begins: a stream lives for hours after that.
        Box::pin(async move { Ok::<_, std::convert::Infallible>(front.answer(request, &place).await) })
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(BUFFER)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // A client that disconnects is not an error of the server.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = entered.closed() => {}
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => drop(ended),
                () = entered.closed() => {}
            }
        }
    }
}
