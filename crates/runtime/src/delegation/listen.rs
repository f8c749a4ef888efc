//! The socket of a parent: bound while a worker of this process works on the run. One JSON line each way per
//! connection.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use skillrun_base::files;
use skillrun_base::unix_socket::{connect, through};
use skillrun_lifecycle::run::State;
use skillrun_model::delegation::{DelegationRefusal, DelegationResponse, RefusalReason};
use skillrun_model::{IgnoredError, RunId};

use super::board::{ChildBoard, Posted};
use super::desk::ChildDesk;
use super::token;
use crate::runtime::Inner;
use skillrun_collect::plan::delegation::{DelegationEnvelope, REQUEST_MAX, VERSION};

/// Requests of one parent at the same time; more are refused.
const REQUESTS_MAX: usize = 32;

/// How long a process may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The socket of one run. When it is dropped, no request is accepted any more, and waits end.
#[derive(Debug)]
pub(crate) struct DelegationSocket {
    pub(crate) board: Arc<ChildBoard>,
    path: PathBuf,
    /// Of the socket file: another owner may have replaced it.
    inode: u64,
    is_over: Arc<AtomicBool>,
}

impl DelegationSocket {
    pub(crate) fn begin(inner: &Arc<Inner>, run: RunId, state: &State) -> io::Result<Self> {
        let data = &inner.config.tools.data;
        let path = token::socket(data, run);
        let folder = token::folder(data, run);
        files::create_private_folder(&data.delegation())?;
        files::create_private_folder(&folder)?;
        let opened = File::open(&folder)?;
        let place = through(&opened, token::SOCKET);
        // Left by an earlier owner of this run, of which this process is the owner now.
        fs::remove_file(&place).ignored();
        let listener = UnixListener::bind(&place)?;
        fs::set_permissions(&place, Permissions::from_mode(0o600))?;
        let inode = fs::symlink_metadata(&path)?.ino();
        let board = Arc::new(ChildBoard::new(Posted::of(state)));
        let is_over = Arc::new(AtomicBool::new(false));
        let desk = ChildDesk { inner: inner.clone(), parent: run, board: board.clone() };
        let over = is_over.clone();
        let listen = move || accept_requests(&listener, &desk, &over);
        thread::Builder::new().name("delegation".to_owned()).spawn(listen)?;
        Ok(Self { board, path, inode, is_over })
    }
}

impl Drop for DelegationSocket {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.board.close();
        // Wakes the thread that waits for requests.
        connect(&self.path).ignored();
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            fs::remove_file(&self.path).ignored();
        }
    }
}

fn accept_requests(listener: &UnixListener, desk: &ChildDesk, is_over: &Arc<AtomicBool>) {
    let under_way = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(client) = client else {
            // Most likely no free descriptors; that passes.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        if under_way.load(Ordering::Acquire) >= REQUESTS_MAX {
            let sentence = "too many requests of this run are under way; wait for their answers and try again";
            let answer = refused(RefusalReason::Unavailable, sentence);
            write(&client, &answer).ignored();
            continue;
        }
        let (desk, place) = (desk.clone(), RequestPlace::take(&under_way));
        let spawned = thread::Builder::new().name("delegation request".to_owned()).spawn(move || {
            let _place = place;
            // A process that has disconnected can send its request again.
            converse(&desk, &client).ignored();
        });
        drop(spawned);
    }
}

/// One request that is under way; it ends when this is dropped.
struct RequestPlace(Arc<AtomicUsize>);

impl RequestPlace {
    fn take(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count.clone())
    }
}

impl Drop for RequestPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn converse(desk: &ChildDesk, client: &UnixStream) -> io::Result<()> {
    client.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    client.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let mut line = Vec::new();
    BufReader::new(client.take(REQUEST_MAX + 1)).read_until(b'\n', &mut line)?;
    write(client, &answer(desk, &line))
}

fn answer(desk: &ChildDesk, line: &[u8]) -> DelegationResponse {
    if line.len() as u64 > REQUEST_MAX {
        let sentence =
            format!("the request has more than {REQUEST_MAX} bytes; put long text into a file of the workspace");
        return refused(RefusalReason::LimitReached, sentence);
    }
    let envelope: DelegationEnvelope = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) => return refused(RefusalReason::Invalid, format!("this is not a request: {error}")),
    };
    if envelope.skillrun_delegation != VERSION {
        let other = envelope.skillrun_delegation;
        return refused(RefusalReason::Invalid, format!("this owner speaks version {VERSION}, not {other}"));
    }
    if !token::is_valid(&desk.inner.config.tools.data.run(desk.parent), &envelope.token) {
        let sentence = "the token is not that of the process that works on this run now; it cannot delegate";
        return refused(RefusalReason::WrongToken, sentence);
    }
    desk.answer(envelope.ask)
}

fn refused(reason: RefusalReason, message: impl Into<String>) -> DelegationResponse {
    DelegationResponse::Refused { refusal: DelegationRefusal { reason, message: message.into() } }
}

fn write(client: &UnixStream, answer: &DelegationResponse) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    (&*client).write_all(&line)
}
