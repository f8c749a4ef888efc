//! Responses that are files: sent piece by piece as the client reads, as attachments, whole or in part.
//!
//! No thread blocks on a client that reads slowly.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body::Frame;
use skillrun_runs::artifacts::{Stamp, Unchanged};
use tokio::sync::mpsc;

use crate::blocking::blocking;
use crate::problem::{HttpResult, Problem, ProblemCode, of_io};

/// Size of one read.
const PIECE: usize = 256 << 10;

/// A source that can be read at any offset. Blocking.
pub(crate) trait Bytewise: Send + Sync + 'static {
    fn size(&self) -> u64;
    /// At least one byte if `at` is not the end.
    fn read(&self, from: u64, limit: usize) -> io::Result<Vec<u8>>;
}

/// A file whose size was measured once.
pub(crate) struct Whole {
    file: File,
    size: u64,
    /// For a file that other processes may write to: it is sent only while this is unchanged.
    stamp: Option<Stamp>,
}

impl Whole {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size, stamp: None })
    }

    /// An artifact, as long as it is the file that was compared. If it changes while it is being sent, the transfer is
    /// aborted.
    pub(crate) fn unchanged(artifact: Unchanged) -> Self {
        let Unchanged { file, stamp } = artifact;
        Self { file, size: stamp.size(), stamp: Some(stamp) }
    }

    /// The output of `write`, in an unnamed temporary file.
    pub(crate) fn made(folder: &std::path::Path, write: impl FnOnce(&mut File) -> HttpResult<()>) -> HttpResult<Self> {
        let failed = |error: io::Error| {
            let words = format!("failed to create the file ({error})");
            of_io(&error).unwrap_or_else(|| Problem::new(ProblemCode::Internal, words))
        };
        let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
        write(&mut file)?;
        file.flush().and_then(|()| file.rewind()).map_err(failed)?;
        Self::new(file).map_err(failed)
    }
}

impl Bytewise for Whole {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, from: u64, limit: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.size.saturating_sub(from)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; limit.min(left)];
        let read = self.file.read_at(&mut bytes, from)?;
        bytes.truncate(read);
        match self.stamp {
            Some(stamp) if Stamp::of(&self.file)? != stamp => {
                Err(io::Error::other("the file changed while it was being sent"))
            }
            Some(_) | None => Ok(bytes),
        }
    }
}

/// The name under which the client saves a file.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) media: &'static str,
    pub(crate) name: String,
}

/// A byte range, half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The range a request asks for; none for the whole file.
pub(crate) fn range(headers: &HeaderMap, size: u64) -> HttpResult<Option<ByteRange>> {
    let Some(value) = headers.get(header::RANGE).and_then(|value| value.to_str().ok()) else { return Ok(None) };
    let Some(spec) = value.strip_prefix("bytes=").filter(|spec| !spec.contains(',')) else { return Ok(None) };
    let Some((first, last)) = spec.split_once('-') else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let part = match (number(first), number(last)) {
        (Some(from), Some(last)) if from <= last => ByteRange { from, to: last.saturating_add(1).min(size) },
        (Some(from), None) if last.trim().is_empty() => ByteRange { from, to: size },
        (None, Some(count)) if first.trim().is_empty() => ByteRange { from: size.saturating_sub(count), to: size },
        (_, _) => return Ok(None),
    };
    satisfiable(part, size).map(Some)
}

pub(crate) fn satisfiable(part: ByteRange, size: u64) -> HttpResult<ByteRange> {
    if part.from < part.to && part.to <= size {
        return Ok(part);
    }
    let whole = HeaderValue::from_str(&format!("bytes */{size}")).unwrap_or(HeaderValue::from_static("bytes */0"));
    let detail = format!("the file has {size} bytes");
    Err(Problem::new(ProblemCode::RangeNotSatisfiable, detail).with_header(header::CONTENT_RANGE, whole))
}

/// Sends a source, or a range of it.
pub(crate) fn send(source: impl Bytewise, part: Option<ByteRange>, called: &Called) -> Response {
    let size = source.size();
    let ByteRange { from, to } = part.unwrap_or(ByteRange { from: 0, to: size });
    let mut response = Body::new(Pieces::of(Arc::new(source), from, to)).into_response();
    let headers = response.headers_mut();
    let mut set = |name, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, called.media.to_owned());
    set(header::CONTENT_DISPOSITION, disposition(&called.name));
    set(header::ACCEPT_RANGES, "bytes".to_owned());
    set(header::CONTENT_LENGTH, (to - from).to_string());
    if part.is_some() {
        set(header::CONTENT_RANGE, format!("bytes {from}-{}/{size}", to.saturating_sub(1)));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

/// Always an attachment, never displayed: the output of an engine must not act as a page of this server.
fn disposition(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' }).collect();
    let mut exact = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            exact.push(byte.into());
        } else {
            exact.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

struct Pieces {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
}

impl Pieces {
    fn of(source: Arc<impl Bytewise>, from: u64, to: u64) -> Self {
        let (sender, pieces) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut at = from;
            while at < to {
                let reading = source.clone();
                let limit = usize::try_from(to - at).unwrap_or(usize::MAX).min(PIECE);
                let read = blocking(move || reading.read(at, limit)).await;
                let piece = match read {
                    Ok(bytes) if bytes.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(bytes) => {
                        at += bytes.len() as u64;
                        Ok(Bytes::from(bytes))
                    }
                    Err(error) => Err(error),
                };
                let is_last = piece.is_err();
                if sender.send(piece).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self { pieces, left: to - from }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = std::task::ready!(self.pieces.poll_recv(context));
        if let Some(Ok(bytes)) = &piece {
            self.left = self.left.saturating_sub(bytes.len() as u64);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let asked = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, HeaderValue::from_str(text).unwrap());
            range(&headers, 10).map(|part| part.map(|part| (part.from, part.to))).map_err(|problem| problem.code)
        };
        for (text, expected) in [
            ("bytes=0-0", Some((0, 1))),
            ("bytes=2-5", Some((2, 6))),
            ("bytes=7-", Some((7, 10))),
            ("bytes=-3", Some((7, 10))),
            ("bytes=-30", Some((0, 10))),
            ("bytes=2-500", Some((2, 10))),
            ("bytes=5-2", None),
            ("bytes=a-b", None),
            ("bytes=1-2,4-5", None),
            ("lines=1-2", None),
            ("bytes=", None),
        ] {
            assert_eq!(asked(text), Ok(expected), "{text}");
        }
        for text in ["bytes=10-", "bytes=99-100", "bytes=-0"] {
            assert_eq!(asked(text), Err(ProblemCode::RangeNotSatisfiable), "{text}");
        }
    }

    #[test]
    fn names_cannot_break_out_of_their_header() {
        let header = disposition("a\"b\r\nX: y/字.html");
        assert!(HeaderValue::from_str(&header).is_ok());
        assert_eq!(
            header,
            "attachment; filename=\"a_b__X__y__.html\"; filename*=UTF-8''a%22b%0D%0AX%3A%20y%2F%E5%AD%97.html"
        );
    }
}
