//! The connection of an event stream, once its response begins. It is written here, and not by hyper, which keeps two
//! buffers of 8 KiB for every connection as long as it lives: a silent stream needs none for hours.

use std::io::{self, IoSlice};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{Method, Request, Version, header, response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use skillrun_base::sync::lock;
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::places::Entered;
use skillrun_model::IgnoredError;

/// Marks a response as an event stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventStream;

/// Whether a response to this request may be written here: without a body that is still to be read, to a client that
/// understands chunks.
pub(crate) fn fits(request: &Request<Incoming>) -> bool {
    let has_body = !http_body::Body::is_end_stream(request.body());
    request.method() == Method::GET && request.version() == Version::HTTP_11 && !has_body
}

/// Passes a response from the service of a connection to the connection.
#[derive(Debug, Default)]
pub(crate) struct Handover {
    response: Mutex<Option<Response>>,
    given: Notify,
}

impl Handover {
    pub(crate) fn give(&self, response: Response) {
        *lock(&self.response) = Some(response);
        self.given.notify_one();
    }

    /// Waits for a response. May be dropped while it waits.
    pub(crate) async fn taken(&self) -> Response {
        loop {
            self.given.notified().await;
            if let Some(response) = lock(&self.response).take() {
                return response;
            }
        }
    }
}

/// Writes a response until it ends, its client disconnects, or the connection has to be closed.
pub(crate) async fn send(stream: TcpStream, response: Response, entered: Entered, _socket: OwnedSemaphorePermit) {
    tokio::select! {
        // A client that disconnects is not an error of the server.
        written = write(&stream, response) => written.ignored(),
        () = disconnected(&stream) => {}
        () = entered.closed() => {}
    }
}

async fn write(stream: &TcpStream, response: Response) -> io::Result<()> {
    let (parts, mut body) = response.into_parts();
    let head = head(&parts, SystemTime::now());
    drop(parts);
    write_all(stream, [&head, &[], &[]]).await?;
    drop(head);
    while let Some(piece) = next_piece(&mut body).await? {
        // A piece without bytes would be the end.
        if !piece.is_empty() {
            let size = format!("{:x}\r\n", piece.len());
            write_all(stream, [size.as_bytes(), &piece, b"\r\n"]).await?;
        }
    }
    write_all(stream, [b"0\r\n\r\n", &[], &[]]).await
}

async fn next_piece(body: &mut Body) -> io::Result<Option<Bytes>> {
    match body.frame().await {
        Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        Some(Err(error)) => Err(io::Error::other(error)),
        None => Ok(None),
    }
}

/// Writes the parts, together if possible.
async fn write_all(stream: &TcpStream, mut parts: [&[u8]; 3]) -> io::Result<()> {
    while parts.iter().any(|part| !part.is_empty()) {
        stream.writable().await?;
        match stream.try_write_vectored(&parts.map(IoSlice::new)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(mut written) => {
                for part in &mut parts {
                    let of_part = written.min(part.len());
                    *part = &part[of_part..];
                    written -= of_part;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until the client disconnects. A client that sends another request is disconnected: it would wait for the end of
/// the stream.
async fn disconnected(stream: &TcpStream) {
    loop {
        let read = match stream.readable().await {
            Ok(()) => stream.try_read(&mut [0; 16]),
            Err(error) => Err(error),
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => return,
        }
    }
}

fn head(parts: &response::Parts, now: SystemTime) -> Vec<u8> {
    let reason = parts.status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", parts.status.as_str()).into_bytes();
    let is_ours =
        |name: &&http::HeaderName| [header::CONNECTION, header::TRANSFER_ENCODING, header::DATE].contains(name);
    for (name, value) in parts.headers.iter().filter(|(name, _)| !is_ours(name)) {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    let date = date(now);
    head.extend_from_slice(
        format!("connection: close\r\ntransfer-encoding: chunked\r\ndate: {date}\r\n\r\n").as_bytes(),
    );
    head
}

/// A moment as in the header `Date`.
fn date(now: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut day) = (1970, days);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let of_year = |year| if is_leap(year) { 366 } else { 365 };
    while day >= of_year(year) {
        day -= of_year(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (weekday, month) = (DAYS[(days % 7) as usize], MONTHS[month % 12]);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT", day + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::response::IntoResponse;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_date_has_the_form_of_http() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (4_133_980_799, "Fri, 31 Dec 2100 23:59:59 GMT"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    async fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("connected");
        (listener.accept().await.expect("accepted").0, client)
    }

    #[tokio::test]
    async fn a_response_is_written_in_chunks_and_to_its_end() {
        let (server, mut client) = connected().await;
        // More than the buffers of the sockets hold, so that it is written in parts.
        let large = vec![b'x'; 8 << 20];
        let response = ([("x-one", "1")], Body::from(large.clone())).into_response();
        let sent = tokio::spawn(async move { write(&server, response).await });
        let mut read = Vec::new();
        client.read_to_end(&mut read).await.expect("read");
        sent.await.expect("no panic").expect("written");
        let body = read.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let head = String::from_utf8(read[..body].to_vec()).expect("text");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("\r\nx-one: 1\r\n"), "{head}");
        assert!(head.contains("\r\ntransfer-encoding: chunked\r\n") && head.contains("\r\ndate: "), "{head}");
        let expected = [b"800000\r\n".as_slice(), &large, b"\r\n0\r\n\r\n"].concat();
        assert!(read[body..] == expected, "{} bytes", read.len() - body);
    }

    #[tokio::test]
    async fn a_client_that_disconnects_is_noticed_in_silence() {
        let (server, client) = connected().await;
        drop(client);
        disconnected(&server).await;
    }

    /// A silent stream cost 18 KiB.
    #[tokio::test]
    async fn a_silent_stream_needs_little_memory() {
        let (server, _client) = connected().await;
        let silent = write(&server, Response::new(Body::empty()));
        assert!(size_of_val(&silent) < 1024, "{}", size_of_val(&silent));
    }
}
