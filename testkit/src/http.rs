//! A plain HTTP client for tests and measurements: one connection per request, every byte in hand. So a test can send
//! what no polite client would, and stop reading when it likes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Nothing in a test takes longer.
pub const HTTP_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct Client {
    pub address: SocketAddr,
    /// Sent with every request that does not bring its own.
    pub token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, HTTP_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HTTP_TIMEOUT))?;
        stream.set_write_timeout(Some(HTTP_TIMEOUT))?;
        Ok(stream)
    }

    /// The first lines of a request, up to the empty one.
    pub fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !has("host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        if let Some(token) = self.token.as_ref().filter(|_| !has("authorization")) {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Answer> {
        let length = body.len().to_string();
        let mut all = headers.to_vec();
        all.push(("Connection", "close"));
        if !body.is_empty() || method == "POST" {
            all.push(("Content-Length", &length));
        }
        let mut stream = self.connect()?;
        stream.write_all(self.head(method, path, &all).as_bytes())?;
        stream.write_all(body)?;
        answer(stream)
    }

    pub fn get(&self, path: &str) -> io::Result<Answer> {
        self.request("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &serde_json::Value) -> io::Result<Answer> {
        self.request("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Opens a stream of events. It is the caller's to read on or to drop.
    pub fn events(&self, path: &str, headers: &[(&str, &str)]) -> io::Result<Opened> {
        let mut stream = self.connect()?;
        stream.write_all(self.head("GET", path, headers).as_bytes())?;
        let mut reader = BufReader::new(stream);
        let (status, headers) = read_head(&mut reader)?;
        if status != 200 {
            let body = read_body(&mut reader, status, &headers)?;
            return Ok(Opened::No(Answer { status, headers, body }));
        }
        Ok(Opened::Stream(Events { body: Chunked { reader, left: 0, is_over: false }, line: Vec::new() }))
    }
}

/// What came of opening a stream.
#[derive(Debug)]
pub enum Opened {
    Stream(Events),
    /// Another answer than 200.
    No(Answer),
}

impl Opened {
    /// # Panics
    /// When there is no stream.
    pub fn stream(self) -> Events {
        match self {
            Self::Stream(events) => events,
            Self::No(answer) => panic!("no stream: {} {}", answer.status, answer.text()),
        }
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).unwrap_or_default()
    }
}

/// A stream of events that is being read.
#[derive(Debug)]
pub struct Events {
    body: Chunked,
    line: Vec<u8>,
}

impl Events {
    /// The next event; none when the stream ended as it should. Comments are passed over.
    pub fn next_event(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut has_any = false;
        loop {
            let Some(line) = self.next_line()? else { return Ok(None) };
            if line.is_empty() {
                if has_any {
                    return Ok(Some(event));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => event.id = Some(value.to_owned()),
                "event" => event.event = Some(value.to_owned()),
                "data" => {
                    has_any = true;
                    event.data.push_str(value);
                }
                _ => {}
            }
        }
    }

    fn next_line(&mut self) -> io::Result<Option<String>> {
        self.line.clear();
        loop {
            let Some(byte) = self.body.next_byte()? else { return Ok(None) };
            if byte == b'\n' {
                return Ok(Some(String::from_utf8_lossy(&self.line).into_owned()));
            }
            self.line.push(byte);
        }
    }

    pub fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.body.reader.get_ref().set_read_timeout(Some(timeout))
    }

    pub fn socket(&self) -> &TcpStream {
        self.body.reader.get_ref()
    }
}

/// A body in chunks.
#[derive(Debug)]
struct Chunked {
    reader: BufReader<TcpStream>,
    left: u64,
    is_over: bool,
}

impl Chunked {
    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        if self.is_over {
            return Ok(None);
        }
        if self.left == 0 {
            self.left = chunk_size(&mut self.reader)?;
            if self.left == 0 {
                self.is_over = true;
                return Ok(None);
            }
        }
        let buffer = self.reader.fill_buf()?;
        let Some(byte) = buffer.first().copied() else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        self.reader.consume(1);
        self.left -= 1;
        if self.left == 0 {
            // The end of the chunk's line.
            let mut end = [0; 2];
            self.reader.read_exact(&mut end)?;
        }
        Ok(Some(byte))
    }
}

fn chunk_size(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let digits = line.trim().split(';').next().unwrap_or_default();
    let size =
        u64::from_str_radix(digits, 16).map_err(|_| io::Error::other(format!("no size of a chunk: {line:?}")))?;
    if size == 0 {
        let mut end = String::new();
        reader.read_line(&mut end)?;
    }
    Ok(size)
}

/// Reads an answer to its end.
pub fn answer(stream: TcpStream) -> io::Result<Answer> {
    let mut reader = BufReader::new(stream);
    let (status, headers) = read_head(&mut reader)?;
    let body = read_body(&mut reader, status, &headers)?;
    Ok(Answer { status, headers, body })
}

fn read_head(reader: &mut impl BufRead) -> io::Result<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|word| word.trim().parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status: {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let text = line.trim_end();
        if text.is_empty() {
            return Ok((status, headers));
        }
        if let Some((name, value)) = text.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}

fn read_body(reader: &mut impl BufRead, status: u16, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
    let value = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut body = Vec::new();
    if matches!(status, 204 | 304) {
        return Ok(body);
    }
    if value("transfer-encoding") == Some("chunked") {
        loop {
            let size = chunk_size(reader)?;
            if size == 0 {
                return Ok(body);
            }
            reader.by_ref().take(size).read_to_end(&mut body)?;
            reader.read_exact(&mut [0; 2])?;
        }
    }
    match value("content-length").and_then(|length| length.parse().ok()) {
        Some(length) => reader.by_ref().take(length).read_to_end(&mut body)?,
        // It continues until the connection is closed.
        None => reader.read_to_end(&mut body)?,
    };
    Ok(body)
}
