//! The owner's side.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use skillrun_base::unix_socket::{connect, through};

use super::message::{Envelope, LINE_MAX, OwnerError, OwnerErrorKind, OwnerReply, OwnerRequest, VERSION};
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use skillrun_base::files;
use skillrun_base::wait::wait_until;
use skillrun_model::IgnoredError;

/// Conversations at the same time; more clients wait in the system's backlog.
const CONVERSATIONS: usize = 32;

/// How long conversations in progress are waited for at the end.
const CLOSING: Duration = Duration::from_secs(10);

/// How long a client may take to send its request.
const CLIENT_REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// An owner that listens. When it is dropped its socket is removed, so that it is not taken for an owner that died.
#[derive(Debug)]
pub struct Listening {
    socket: PathBuf,
    is_over: Arc<AtomicBool>,
    talking: Conversations,
    left: Left,
}

impl Listening {
    pub fn begin(runtime: &Arc<Runtime>) -> Result<Self, RuntimeError> {
        let folder = runtime.data().owners();
        let name = format!("{}.sock", std::process::id());
        let socket = folder.join(&name);
        let failed = |error| RuntimeError::file(&socket, "created")(error);
        files::create_private_folder(&folder).map_err(failed)?;
        let listener = bind(&folder, &name).map_err(failed)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (runtime, over) = (Arc::downgrade(runtime), is_over.clone());
        let talking = Conversations::default();
        let conversations = talking.clone();
        let listen = move || {
            for client in listener.incoming() {
                let Some(runtime) = runtime.upgrade() else { return };
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(client) = client else {
                    // Most likely no free descriptors; that passes.
                    thread::sleep(Duration::from_millis(50));
                    continue;
                };
                while conversations.count() >= CONVERSATIONS {
                    thread::sleep(Duration::from_millis(5));
                }
                let place = conversations.begin();
                let spawned = thread::Builder::new().name("client".to_owned()).spawn(move || {
                    let _place = place;
                    // A client that disconnects finds the result in the Log.
                    converse(&runtime, &client).ignored();
                });
                drop(spawned);
            }
        };
        thread::Builder::new().name("owner".to_owned()).spawn(listen).map_err(failed)?;
        Ok(Self { socket, is_over, talking, left: Left::Nothing })
    }

    /// Accepts no more clients, and waits for the conversations in progress.
    pub fn close(&mut self) {
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        // Wakes the thread that waits for clients.
        connect(&self.socket).ignored();
        wait_until(CLOSING, Duration::from_millis(2), || self.talking.count() == 0);
    }

    /// Runs are left without an owner: the socket stays, so that the next owner takes them over.
    pub fn leave_runs(&mut self) {
        self.left = Left::Runs;
    }
}

/// Whether work is left when an owner ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Runs,
}

/// The number of conversations in progress.
#[derive(Debug, Clone, Default)]
struct Conversations(Arc<AtomicUsize>);

/// One conversation; it ends when this is dropped, in any case.
struct Conversation(Conversations);

impl Conversations {
    fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    fn begin(&self) -> Conversation {
        self.0.fetch_add(1, Ordering::AcqRel);
        Conversation(self.clone())
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.close();
        match self.left {
            Left::Nothing => drop(fs::remove_file(&self.socket)),
            Left::Runs => {}
        }
    }
}

fn bind(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let folder = File::open(folder)?;
    let path = through(&folder, name);
    // Left by a process that had our process id before: it must still be found, because it stands for runs without an
    // owner.
    fs::rename(&path, through(&folder, &format!("was-{name}"))).ignored();
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn converse(runtime: &Arc<Runtime>, client: &UnixStream) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_REQUEST_TIMEOUT))?;
    client.set_write_timeout(Some(CLIENT_REQUEST_TIMEOUT))?;
    let mut line = Vec::new();
    BufReader::new(client.take(LINE_MAX)).read_until(b'\n', &mut line)?;
    let asked = match serde_json::from_slice::<Envelope>(&line) {
        Ok(envelope) if envelope.skillrun_client != VERSION => failed(
            OwnerErrorKind::Version,
            format!("this owner speaks version {VERSION} of the protocol, not {}", envelope.skillrun_client),
        ),
        Ok(envelope) => carry_out(runtime, envelope.ask),
        Err(error) => failed(OwnerErrorKind::Other, format!("this is not a request: {error}")),
    };
    let mut answer = serde_json::to_vec(&asked)?;
    answer.push(b'\n');
    (&*client).write_all(&answer)
}

fn failed(kind: OwnerErrorKind, message: String) -> OwnerReply {
    OwnerReply::Failed { error: OwnerError { kind, message } }
}

fn carry_out(runtime: &Arc<Runtime>, ask: OwnerRequest) -> OwnerReply {
    let done = match ask {
        OwnerRequest::Reply { run, reply } => runtime.reply(run, reply),
        OwnerRequest::Cancel { run, by } => runtime.cancel(run, &by),
        OwnerRequest::Interrupt { run, by, say } => runtime.interrupt(run, &by, say),
        OwnerRequest::Close { run, by } => runtime.close(run, &by),
        OwnerRequest::Delegate { run, request } => {
            let not_here = || failed(OwnerErrorKind::Held, format!("this process does not work on run {run}"));
            let delegated = |response| OwnerReply::Delegated { response: Box::new(response) };
            return runtime.delegate_here(run, *request).map_or_else(not_here, delegated);
        }
        OwnerRequest::TakeUp { run } => runtime.take_up(run).map(drop),
        OwnerRequest::LetGo { run } => {
            runtime.let_go(run);
            Ok(())
        }
        OwnerRequest::Hello => Ok(()),
    };
    match done {
        Ok(()) => OwnerReply::Done { ok: true },
        Err(error) => OwnerReply::Failed { error: OwnerError::of(&error) },
    }
}
