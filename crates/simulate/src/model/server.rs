//! The server: a thread that accepts, a thread for each connection, and a bounded end of all of them.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skillrun_base::sync::{lock, wait_timeout};

use super::answer::{Mind, Reply};
use super::http::{self, NoRequest};
use super::log::Seen;
use super::plan::Pace;
use super::script::{Script, ScriptError};
use super::tape::{Ending, Tape};

/// The most connections at a time.
const CONNECTIONS_MAX: usize = 256;
/// The longest a client may be silent, or take no bytes.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// The pause after a piece of text.
const SHORT: Duration = Duration::from_millis(2);
/// The longest the end of a server takes.
const END_MAX: Duration = Duration::from_secs(2);

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// 0: one that is free.
    pub port: u16,
    /// The pause after each piece of `slow`.
    pub slow_pause: Duration,
    pub scripts: Vec<(String, Script)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 0, slow_pause: Duration::from_millis(250), scripts: Vec::new() }
    }
}

/// A model on loopback. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    mind: Mind,
    slow_pause: Duration,
    state: Mutex<State>,
    /// Something in the state has changed that another thread may wait for.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_ending: bool,
    next: u64,
    open: BTreeMap<u64, TcpStream>,
}

impl Server {
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        let mind = Mind::default();
        for (name, script) in options.scripts {
            mind.keep(&name, script).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        }
        let shared =
            Arc::new(Shared { mind, slow_pause: options.slow_pause, state: Mutex::default(), changed: Condvar::new() });
        let accepting = thread::Builder::new().name("model".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        })?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `http://127.0.0.1:PORT/s/SCENARIO`: a [`Scenario`](super::Scenario), or its name with a key.
    pub fn base(&self, scenario: impl AsRef<str>) -> String {
        format!("{}/s/{}", self.origin(), scenario.as_ref())
    }

    /// Keeps one more script.
    pub fn keep(&self, name: &str, script: Script) -> Result<(), ScriptError> {
        self.shared.mind.keep(name, script)
    }

    /// The last requests, the oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.mind.requests()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_ending = true;
        for stream in state.open.values() {
            // One that is gone already needs no end.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.shared.changed.notify_all();
        // The accepting thread checks the state when a client connects.
        let woken = TcpStream::connect_timeout(&self.address, END_MAX).is_ok();
        if let Some(accepting) = self.accepting.take().filter(|_| woken) {
            let _ = accepting.join();
        }
        let begin = Instant::now();
        let mut state = self.shared.state();
        while !state.open.is_empty() && begin.elapsed() < END_MAX {
            let left = END_MAX.saturating_sub(begin.elapsed());
            state = wait_timeout(&self.shared.changed, state, left);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits, or until the server ends.
    fn pause(&self, pause: Duration) -> io::Result<()> {
        let begin = Instant::now();
        let mut state = self.state();
        loop {
            if state.is_ending {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let Some(left) = pause.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) else { return Ok(()) };
            state = wait_timeout(&self.changed, state, left);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.state().is_ending {
            return;
        }
        match accepted {
            Ok((stream, _)) => take(stream, shared),
            // Out of descriptors, or a client that went away: neither lasts.
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Gives a connection a thread of its own, or a word when there are too many.
fn take(mut stream: TcpStream, shared: &Arc<Shared>) {
    let mut state = shared.state();
    if state.open.len() >= CONNECTIONS_MAX {
        drop(state);
        let _ = send_whole(&mut stream, &Reply::error(503, "too many connections"), Body::Sent);
        return;
    }
    let Ok(other) = stream.try_clone() else { return };
    let number = state.next;
    state.next += 1;
    state.open.insert(number, other);
    drop(state);
    let serving = Arc::clone(shared);
    let serve = move || {
        // How a connection ends is the client's affair.
        let _ = serve(stream, &serving);
        serving.state().open.remove(&number);
        serving.changed.notify_all();
    };
    if thread::Builder::new().name("model client".to_owned()).spawn(serve).is_err() {
        shared.state().open.remove(&number);
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(SILENCE_MAX))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let request = match http::read(&mut reader, &mut writer) {
            Ok(request) => request,
            Err(NoRequest::Over) => return Ok(()),
            Err(NoRequest::Bad { status, message }) => {
                send_whole(&mut writer, &Reply::error(status, message), Body::Sent)?;
                return leave(&mut reader, &writer);
            }
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // Prompts are remembered there, and scripts are changed.
        let is_refused = request.path.starts_with("/control/") && !request.is_for_loopback();
        let reply = match is_refused {
            true => Reply::error(403, "/control/ is for those who ask for 127.0.0.1 or localhost"),
            false => shared.mind.answer(&request, now),
        };
        match reply {
            Reply::Stream(tape) => send_tape(&mut writer, &tape, shared)?,
            whole @ Reply::Whole { .. } => {
                send_whole(&mut writer, &whole, if request.method == "HEAD" { Body::Held } else { Body::Sent })?;
            }
        }
        if !request.keeps_alive() {
            return Ok(());
        }
    }
}

/// Reads what is left of a bad request, within bounds: a client that is still sending would not see the answer.
fn leave(reader: &mut impl Read, writer: &TcpStream) -> io::Result<()> {
    writer.shutdown(Shutdown::Write)?;
    writer.set_read_timeout(Some(Duration::from_secs(1)))?;
    io::copy(&mut reader.take(4 * http::BODY_MAX as u64), &mut io::sink()).map(drop)
}

/// Whether the body of an answer is sent, or its length alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Sent,
    Held,
}

fn send_whole(writer: &mut TcpStream, reply: &Reply, sent: Body) -> io::Result<()> {
    let Reply::Whole { status, headers, body } = reply else { return Ok(()) };
    let mut bytes = http::whole_head(*status, headers, body.len());
    if sent == Body::Sent {
        bytes.push_str(body);
    }
    writer.write_all(bytes.as_bytes())
}

fn send_tape(writer: &mut TcpStream, tape: &Tape, shared: &Shared) -> io::Result<()> {
    writer.write_all(http::stream_head().as_bytes())?;
    for frame in &tape.frames {
        writer.write_all(&http::chunk(&frame.event))?;
        match frame.pace {
            Pace::None => {}
            Pace::Short => shared.pause(SHORT)?,
            Pace::Slow => shared.pause(shared.slow_pause)?,
        }
    }
    match tape.ending {
        Ending::Whole => writer.write_all(http::LAST_CHUNK),
        Ending::Cut => {
            writer.write_all(http::torn_chunk())?;
            writer.shutdown(Shutdown::Both)?;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use serde_json::json;

    use super::*;

    #[test]
    fn it_ends_whatever_clients_do_and_leaves_no_thread() {
        let options = Options { slow_pause: Duration::from_secs(600), ..Options::default() };
        let server = Server::start(options).expect("a server");
        let silent = TcpStream::connect(server.address).expect("a connection");
        let mut slow = TcpStream::connect(server.address).expect("a connection");
        let body = json!({"stream": true, "messages": [], "tools": [{"name": "Bash"}]}).to_string();
        let head = format!("POST /s/slow/messages HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        slow.write_all(format!("{head}{body}").as_bytes()).expect("sent");
        // After a piece of text comes the pause.
        let mut begun = BufReader::new(&slow).lines().map_while(Result::ok);
        assert!(begun.any(|line| line.contains("text_delta")), "it has begun");
        let (address, shared) = (server.address, Arc::clone(&server.shared));
        drop(server);
        assert_eq!(shared.state().open.len(), 0, "threads are left");
        TcpStream::connect(address).expect_err("no server is listening");
        drop((silent, slow));
    }
}
