//! Connections: how many, how long their requests may take to arrive, and how they end.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::front::Front;
use crate::stopping::stopped;

/// How long a request may take until its headers are there; so long a connection may also be idle.
const HEADERS_WITHIN: Duration = Duration::from_secs(30);

/// Most bytes of headers, and what is held for a client that does not read.
const BUFFER: usize = 64 << 10;

const HEADERS: usize = 100;

/// How long requests under way are waited for at the end.
const CLOSING: Duration = Duration::from_secs(10);

/// After an accept that failed, most likely for want of descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// Takes connections until it is told to stop, and then waits for those under way.
pub(crate) async fn serve(
    listener: TcpListener,
    front: Arc<Front>,
    connections: usize,
    mut stop: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(connections));
    loop {
        // At the bound nobody is let in; the system lets a few more wait.
        let accepted = tokio::select! {
            accepted = next(&listener, &places) => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, place)) => {
                tokio::spawn(connection(stream, front.clone(), stop.clone(), place));
            }
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
    drop(listener);
    let all = u32::try_from(connections).unwrap_or(u32::MAX);
    // Whoever is not done by then comes again.
    tokio::time::timeout(CLOSING, places.acquire_many(all)).await.ok();
}

async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

async fn connection(
    stream: TcpStream,
    front: Arc<Front>,
    mut stop: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    // Events are small and must not wait for more.
    stream.set_nodelay(true).ok();
    let answer = service_fn(move |request| {
        let front = front.clone();
        async move { Ok::<_, std::convert::Infallible>(front.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(BUFFER)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // A client that breaks off is no trouble of ours.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await.ok();
        }
    }
}
