//! Forms with files: each file is written to the disk as it arrives, into a folder that is removed with the request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request};
use bytes::Bytes;
use http_body::Frame;
use tempfile::TempDir;
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;

use crate::extract::{JSON_MAX, announced, too_large, too_slow};
use crate::problem::{HttpResult, Problem, ProblemCode, of_io};
use crate::service::Service;

/// Maximum number of parts of one form.
const PARTS: usize = 200;

/// Maximum pause in a body, and minimum average rate after its first seconds.
const PAUSE: Duration = Duration::from_secs(20);
const HEAD_START: Duration = Duration::from_secs(10);
const BYTES_PER_SECOND: u64 = 16 << 10;

/// Maximum number of bytes outside of parts: before the first part, boundaries, headers, and bytes not yet consumed.
const BETWEEN: u64 = 1 << 20;

/// Maximum length of a file name; longer ones keep their end, which matters most.
const NAME: usize = 120;

/// A form that has arrived.
#[derive(Debug)]
pub(crate) struct UploadedForm {
    /// The part `request`.
    pub(crate) request: Option<Vec<u8>>,
    /// All other parts by name, in order of arrival.
    pub(crate) files: Vec<(String, PathBuf)>,
    /// The hash of everything received.
    pub(crate) fingerprint: blake3::Hash,
    /// The folder of the files; removed when this is dropped.
    pub(crate) folder: TempDir,
}

impl UploadedForm {
    /// The only file of a part.
    pub(crate) fn one(&self, part: &str) -> HttpResult<Option<PathBuf>> {
        let mut found = self.files.iter().filter(|(name, _)| name == part).map(|(_, path)| path.clone());
        match (found.next(), found.next()) {
            (first, None) => Ok(first),
            (_, Some(_)) => Err(Problem::field(part, "was sent twice")),
        }
    }

    /// Files by slot: those whose part is `files.SLOT`.
    pub(crate) fn slots(&self) -> HttpResult<BTreeMap<String, PathBuf>> {
        let mut slots = BTreeMap::new();
        for (part, path) in &self.files {
            if let Some(slot) = part.strip_prefix("files.")
                && slots.insert(slot.to_owned(), path.clone()).is_some()
            {
                return Err(Problem::field(part, "was sent twice"));
            }
        }
        Ok(slots)
    }

    /// Checks that every part is one this form accepts.
    pub(crate) fn only(&self, is_known: impl Fn(&str) -> bool) -> HttpResult<()> {
        let unknown = self.files.iter().find(|(part, _)| !is_known(part));
        unknown.map_or(Ok(()), |(part, _)| Err(Problem::field(part, "is not a part of this form")))
    }
}

/// Limits on the speed and the size of a body.
struct Pace {
    begin: Instant,
    bytes: u64,
    limit: u64,
    /// The same count as `bytes`, for the side that delivers them.
    taken: Arc<AtomicU64>,
}

impl Pace {
    fn takes(&mut self, bytes: usize) -> HttpResult<()> {
        self.bytes += bytes as u64;
        self.taken.store(self.bytes, Ordering::Relaxed);
        if self.bytes > self.limit {
            return Err(too_large(self.limit));
        }
        let late = self.begin.elapsed().saturating_sub(HEAD_START);
        if self.bytes < late.as_secs() * BYTES_PER_SECOND { Err(too_slow()) } else { Ok(()) }
    }
}

/// A body that ends with an error when too much of it belongs to no part. The parser holds those bytes in memory, and
/// scans all of them again whenever more arrive.
struct Bounded {
    body: Body,
    came: u64,
    taken: Arc<AtomicU64>,
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<HttpResult<Frame<Bytes>, axum::BoxError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame {
            self.came += frame.data_ref().map_or(0, |data| data.len() as u64);
            if self.came.saturating_sub(self.taken.load(Ordering::Relaxed)) > BETWEEN {
                return Poll::Ready(Some(Err("too many bytes between its parts".into())));
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }
}

/// Receives a whole form.
pub(crate) async fn receive(service: &Service, request: Request) -> HttpResult<UploadedForm> {
    let limit = service.around.body_max;
    if announced(request.headers()).is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let taken = Arc::new(AtomicU64::new(0));
    let request = request.map(|body| Body::new(Bounded { body, came: 0, taken: taken.clone() }));
    let mut parts = Multipart::from_request(request, &())
        .await
        .map_err(|rejection| Problem::new(ProblemCode::MediaType, rejection.body_text()))?;
    let uploads = service.data.uploads();
    let made = std::fs::create_dir_all(&uploads).and_then(|()| TempDir::new_in(&uploads));
    let folder = made.map_err(|error| not_written(&error))?;
    let mut pace = Pace { begin: Instant::now(), bytes: 0, limit, taken };
    let mut form = UploadedForm { request: None, files: Vec::new(), fingerprint: blake3::hash(b""), folder };
    let mut hasher = blake3::Hasher::new();
    let mut number = 0;
    while let Some(mut field) = soon(parts.next_field()).await? {
        number += 1;
        if number > PARTS {
            return Err(Problem::field("body", format!("a form has at most {PARTS} parts")));
        }
        let part = field.name().unwrap_or_default().to_owned();
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        if part == "request" {
            let json = small(&mut field, &mut pace).await?;
            hasher.update(&(json.len() as u64).to_le_bytes()).update(&json);
            if form.request.replace(json).is_some() {
                return Err(Problem::field("request", "was sent twice"));
            }
        } else {
            let name = safe_name(field.file_name().unwrap_or("file"));
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
            let path = form.folder.path().join(number.to_string()).join(name);
            let written = to_disk(&mut field, &path, &mut pace, &mut hasher).await?;
            hasher.update(&written.to_le_bytes());
            form.files.push((part, path));
        }
    }
    form.fingerprint = hasher.finalize();
    Ok(form)
}

fn not_written(error: &std::io::Error) -> Problem {
    let words = format!("failed to store the uploaded files ({error})");
    of_io(error).unwrap_or_else(|| Problem::new(ProblemCode::Internal, words))
}

/// The next piece, unless it takes too long.
async fn soon<T>(
    next: impl Future<Output = std::result::Result<T, axum::extract::multipart::MultipartError>>,
) -> HttpResult<T> {
    match tokio::time::timeout(PAUSE, next).await {
        Ok(Ok(piece)) => Ok(piece),
        Ok(Err(error)) => Err(Problem::field("body", format!("is not a readable form: {}", error.body_text()))),
        Err(_) => Err(too_slow()),
    }
}

async fn small(field: &mut Field<'_>, pace: &mut Pace) -> HttpResult<Vec<u8>> {
    let mut whole = Vec::new();
    while let Some(piece) = soon(field.chunk()).await? {
        pace.takes(piece.len())?;
        if whole.len() + piece.len() > JSON_MAX {
            return Err(too_large(JSON_MAX as u64));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

async fn to_disk(field: &mut Field<'_>, path: &Path, pace: &mut Pace, hasher: &mut blake3::Hasher) -> HttpResult<u64> {
    let mut written = 0;
    let folder = path.parent().unwrap_or(path);
    tokio::fs::create_dir(folder).await.map_err(|error| not_written(&error))?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).await;
    let mut file = made.map_err(|error| not_written(&error))?;
    while let Some(piece) = soon(field.chunk()).await? {
        pace.takes(piece.len())?;
        hasher.update(&piece);
        file.write_all(&piece).await.map_err(|error| not_written(&error))?;
        written += piece.len() as u64;
    }
    file.flush().await.map_err(|error| not_written(&error))?;
    Ok(written)
}

/// A name without path components that keeps its extension.
fn safe_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: Vec<char> = last.chars().filter(|c| !c.is_control()).collect();
    let name: String = plain[plain.len().saturating_sub(NAME)..].iter().collect();
    let bytes_fit = name.len() <= 255;
    if name.trim_matches('.').trim().is_empty() || !bytes_fit { "file".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere() {
        for (given, kept) in [
            ("table.csv", "table.csv"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.txt", "a b.txt"),
            ("..", "file"),
            (".", "file"),
            ("", "file"),
            ("a/", "file"),
            ("x\u{0}y\n.md", "xy.md"),
            (".env", ".env"),
        ] {
            assert_eq!(safe_name(given), kept, "{given:?}");
        }
        assert_eq!(safe_name(&format!("{}.csv", "n".repeat(500))).len(), NAME);
        assert_eq!(safe_name(&"字".repeat(200)), "file", "too long for the disk in bytes");
    }

    #[test]
    fn a_body_that_is_too_slow_or_too_large_is_refused() {
        let long_ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut pace = Pace { begin: long_ago(0), bytes: 0, limit: 10, taken: Arc::default() };
        assert!(pace.takes(10).is_ok());
        assert_eq!(pace.takes(1).unwrap_err().code, ProblemCode::BodyTooLarge);
        let mut pace = Pace { begin: long_ago(100), bytes: 0, limit: u64::MAX, taken: Arc::default() };
        assert_eq!(pace.takes(1000).unwrap_err().code, ProblemCode::BodyTooSlow);
        assert!(pace.takes(100 << 14).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_that_pauses_is_not_waited_for() {
        let begin = tokio::time::Instant::now();
        let never = soon(std::future::pending::<std::result::Result<(), _>>());
        assert_eq!(never.await.unwrap_err().code, ProblemCode::BodyTooSlow);
        assert_eq!(begin.elapsed().as_secs(), PAUSE.as_secs());
    }
}
