//! HTTP/1.1, as much of it as clients of models need: requests with a bounded head and body, answers whole or in chunks.

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};

/// The most bytes of a body.
pub(super) const BODY_MAX: usize = 16 * 1024 * 1024;
/// The most bytes of a request line and its headers.
const HEAD_MAX: u64 = 64 * 1024;
/// The most bytes of a line with the size of a chunk.
const SIZE_LINE_MAX: u64 = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    pub(super) query: String,
    /// Names in small letters.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether the client knows that it speaks to this machine. A page in a browser that was led here by a name of its own
    /// says that name.
    pub(super) fn is_for_loopback(&self) -> bool {
        let Some(host) = self.header("host") else { return false };
        let address = host.parse::<SocketAddr>().map(|address| address.ip());
        let address = address.or_else(|_| host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>());
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        address.map_or_else(|_| name.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
    }

    /// Whether the client wants to reuse this connection.
    pub(super) fn keeps_alive(&self) -> bool {
        !self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
}

/// Why there is no request.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoRequest {
    /// The client is gone, or was silent for too long.
    #[error("the connection is over")]
    Over,
    #[error("{message}")]
    Bad { status: u16, message: &'static str },
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Over
    }
}

fn bad(status: u16, message: &'static str) -> NoRequest {
    NoRequest::Bad { status, message }
}

/// Reads one request. `writer` is for `100 Continue`, which some clients wait for.
pub(super) fn read(reader: &mut impl BufRead, writer: &mut impl Write) -> Result<Request, NoRequest> {
    let mut head = reader.by_ref().take(HEAD_MAX);
    let first = head_line(&mut head)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad(400, "the first line is none of HTTP/1.1"));
    };
    let mut headers = Vec::new();
    loop {
        let line = head_line(&mut head)?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(bad(400, "a header without a colon"));
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if !matches!(header(&headers, "content-encoding"), None | Some("identity")) {
        return Err(bad(415, "a body must not be compressed"));
    }
    if header(&headers, "expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = match header(&headers, "transfer-encoding") {
        Some(coding) if coding.eq_ignore_ascii_case("chunked") => chunks(reader)?,
        Some(_) => return Err(bad(501, "of all transfer codings only chunks are understood")),
        None => sized(reader, header(&headers, "content-length"))?,
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Request { method: method.to_owned(), path: path.to_owned(), query: query.to_owned(), headers, body })
}

fn head_line(head: &mut io::Take<impl BufRead>) -> Result<String, NoRequest> {
    let mut line = Vec::new();
    head.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(if head.limit() == 0 { bad(431, "the head of the request is too large") } else { NoRequest::Over });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| bad(400, "the head of the request is not text"))
}

const TOO_LARGE: &str = "a body has at most 16 MiB";

fn sized(reader: &mut impl BufRead, length: Option<&str>) -> Result<Vec<u8>, NoRequest> {
    let length: usize = match length {
        None => 0,
        Some(length) => length.parse().map_err(|_| bad(400, "the length of the body is not a number"))?,
    };
    if length > BODY_MAX {
        return Err(bad(413, TOO_LARGE));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn chunks(reader: &mut impl BufRead) -> Result<Vec<u8>, NoRequest> {
    let mut body = Vec::new();
    loop {
        let line = size_line(reader)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad(400, "the size of a chunk is not a number"))?;
        if size > BODY_MAX - body.len() {
            return Err(bad(413, TOO_LARGE));
        }
        if size == 0 {
            break;
        }
        let from = body.len();
        body.resize(from + size, 0);
        reader.read_exact(&mut body[from..])?;
        if !size_line(reader)?.is_empty() {
            return Err(bad(400, "a chunk is longer than its size"));
        }
    }
    // Trailers, of which the engines send few.
    for _ in 0..16 {
        if size_line(reader)?.is_empty() {
            return Ok(body);
        }
    }
    Err(bad(400, "too much after the last chunk"))
}

fn size_line(reader: &mut impl BufRead) -> Result<String, NoRequest> {
    let mut line = Vec::new();
    reader.by_ref().take(SIZE_LINE_MAX).read_until(b'\n', &mut line)?;
    let text = line.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    match text.map(str::from_utf8) {
        Some(Ok(text)) => Ok(text.to_owned()),
        Some(Err(_)) => Err(bad(400, "the size of a chunk is not text")),
        None if line.len() as u64 == SIZE_LINE_MAX => Err(bad(400, "the size of a chunk is too long")),
        None => Err(NoRequest::Over),
    }
}

/// The head of an answer with a body of known length.
pub(super) fn whole_head(status: u16, headers: &[(&'static str, String)], length: usize) -> String {
    let mut head = format!("{}content-type: application/json\r\ncontent-length: {length}\r\n", status_line(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head + "\r\n"
}

/// The head of a stream of events.
pub(super) fn stream_head() -> String {
    let line = status_line(200);
    format!("{line}content-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n")
}

pub(super) fn chunk(bytes: &str) -> Vec<u8> {
    format!("{:x}\r\n{bytes}\r\n", bytes.len()).into_bytes()
}

/// The beginning of a chunk that will never be whole.
pub(super) fn torn_chunk() -> &'static [u8] {
    b"400\r\ndata: {\"torn"
}

pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn status_line(status: u16) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    };
    format!("HTTP/1.1 {status} {reason}\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> Result<Request, String> {
        let mut said = Vec::new();
        read(&mut &*bytes, &mut said).map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_is_read_however_its_body_comes() {
        let sized = read_all(b"POST /s/auto/v1?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello and more")
            .expect("one");
        let expected = ("/s/auto/v1", "a=b", &b"hello"[..]);
        assert_eq!((sized.path.as_str(), sized.query.as_str(), sized.body.as_slice()), expected);
        let chunked =
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n";
        assert_eq!(read_all(chunked).expect("one").body, b"hello");
        assert!(read_all(b"GET / HTTP/1.1\n\n").expect("one").keeps_alive());
        assert!(!read_all(b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").expect("one").keeps_alive());
    }

    #[test]
    fn whom_a_request_is_for_is_read_from_its_host() {
        for (host, is_for_loopback) in [
            ("127.0.0.1:4711", true),
            ("127.8.0.1", true),
            ("localhost:80", true),
            ("LocalHost", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("evil.example:4711", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1:80", false),
            ("", false),
        ] {
            let request = read_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).expect("one");
            assert_eq!(request.is_for_loopback(), is_for_loopback, "{host}");
        }
        assert!(!read_all(b"GET / HTTP/1.1\r\n\r\n").expect("one").is_for_loopback());
    }

    #[test]
    fn a_client_that_expects_100_continue_gets_it() {
        let mut said = Vec::new();
        let bytes = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
        read(&mut &bytes[..], &mut said).expect("a request");
        assert_eq!(said, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    #[test]
    fn nonsense_is_refused_and_everything_has_a_bound() {
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(70_000));
        for (bytes, words) in [
            (&b"nonsense\r\n\r\n"[..], "the first line"),
            (b"GET / HTTP/2\r\n\r\n", "the first line"),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", "without a colon"),
            (b"GET / HTTP/1.1\r\n\xff: x\r\n\r\n", "not text"),
            (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "not a number"),
            (b"POST / HTTP/1.1\r\nContent-Length: 16777217\r\n\r\n", "at most 16 MiB"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", "at most 16 MiB"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not a number"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "longer than its size"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "only chunks"),
            (b"POST / HTTP/1.1\r\nContent-Encoding: zstd\r\n\r\n", "not be compressed"),
            (b"", "is over"),
            (b"GET / HTT", "is over"),
            (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel", "is over"),
            (long.as_bytes(), "too large"),
        ] {
            let error = read_all(bytes).expect_err("no request");
            assert!(error.contains(words), "{error} for {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)]));
        }
    }
}
