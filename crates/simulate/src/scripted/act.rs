//! Does what the script says: the only part that touches files, streams, signals and the clock.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::stdio::{stderr, stdout};
use serde_json::{Map, Value, json};
use skillrun_model::delegation::DelegationRequest;
use skillrun_plan::delegation::DelegationAddress;

use super::formats::{self, Line, Lines, Sink};
use super::play::{Action, Play, Scene};
use super::request::Request;
use super::said::{self, Said};
use super::script::{MAX_BYTES, Script, Turn};
use super::session::{self, Progress, Store};
use super::words::{Life, Prompt, Words, WordsError};
use crate::pattern;
use crate::process::{LIFE, die, end_some_day, write_all};

const USAGE: u8 = 64;
const MISMATCH: u8 = 65;
const FAILED: u8 = 74;

/// How long the owner of the run is looked for.
const OWNER_SEARCH_TIMEOUT: Duration = Duration::from_secs(30);
const OWNER_SEARCH_INTERVAL: Duration = Duration::from_millis(50);

const FLOOD: usize = 64 * 1024;
/// Most that is kept of what the user says.
const SAID_MAX: usize = 1 << 20;

/// Why nothing more is done.
enum Stop {
    Exit(u8),
    /// A stream takes no more bytes. Nothing is said: the reader is gone.
    StreamGone,
    Told {
        code: u8,
        sentence: String,
    },
}

pub(super) fn refuse(error: &WordsError) -> u8 {
    say(error);
    USAGE
}

pub(super) fn run(words: &Words) -> u8 {
    match perform(words) {
        Stop::Exit(code) => code,
        Stop::StreamGone => FAILED,
        Stop::Told { code, sentence } => {
            say(sentence);
            code
        }
    }
}

fn say(sentence: impl Display) {
    // Stderr may be gone as well; the exit code is reported anyway.
    let _ = write_all(stderr(), format!("{}: {sentence}\n", super::SUBCOMMAND).as_bytes());
}

fn failed(what: impl Display, error: impl Display) -> Stop {
    Stop::Told { code: FAILED, sentence: format!("{what} ({error})") }
}

fn perform(words: &Words) -> Stop {
    let whole = || -> Result<Stop, Stop> {
        end_some_day().map_err(|error| failed("its watch cannot be started", error))?;
        let (script, bytes) = read_script(words)?;
        let request = words.run.as_deref().map(|path| {
            let read = Request::read(path, &script.file_slots());
            read.map_err(|error| failed(path.display(), error))
        });
        let request = request.transpose()?;
        Engine::begin(words, &script, request.as_ref(), &bytes)?.turns()
    };
    whole().unwrap_or_else(|stop| stop)
}

/// The name of the script without its folder, which in a run is long and says nothing: the sentence may be cut off.
fn name_of(script: &Path) -> impl Display {
    script.file_name().unwrap_or(script.as_os_str()).display()
}

/// The same for a process that may have none.
fn script_name(words: &Words) -> String {
    words.script.as_deref().map_or_else(|| "no script".to_owned(), |script| name_of(script).to_string())
}

fn read_script(words: &Words) -> Result<(Script, Vec<u8>), Stop> {
    let Some(script) = &words.script else { return Ok((Script::echo(), Vec::new())) };
    let path = name_of(script);
    let bad = |problem: &dyn Display| Stop::Told { code: USAGE, sentence: format!("{path}: {problem}") };
    let mut bytes = Vec::new();
    // One byte more than the limit, so that too large a file is distinguished from one that just fits.
    let file = File::open(script);
    file.and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)).map_err(|error| bad(&error))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| bad(&"it is not UTF-8"))?;
    let script = Script::read(text).map_err(|error| bad(&error))?;
    script.check(words.profile, words.life).map_err(|error| bad(&error))?;
    Ok((script, bytes))
}

struct Engine<'a> {
    words: &'a Words,
    /// Those of the script that are for this run.
    turns: &'a [Turn],
    request: Option<&'a Request>,
    store: Option<Store>,
    session: String,
    /// Of the turn that is played next.
    progress: Progress,
    /// What the user says to it.
    reply: String,
}

impl<'a> Engine<'a> {
    fn begin(words: &'a Words, script: &'a Script, request: Option<&'a Request>, bytes: &[u8]) -> Result<Self, Stop> {
        // A session that cannot be resumed is not stored.
        let resumable = words.profile.continuation() == skillrun_model::status::Continuation::Resumable;
        let store = resumable.then(|| Store::new(words.state.as_deref()));
        let (session, before) = match &words.resume {
            Some(id) => {
                let known = store.as_ref().map(|store| store.load(id)).transpose();
                let known = known.map_err(|error| failed(format!("session {id}"), error))?.flatten();
                (id.clone(), Some(known.ok_or_else(|| refuse_session(words, id))?))
            }
            None => (script.session.clone().unwrap_or_else(|| session::derived(words.profile, bytes)), None),
        };
        let reply = match (&words.prompt, words.life) {
            (Prompt::Absent, _) => String::new(),
            (Prompt::Given(text), _) => text.clone(),
            (Prompt::Stdin, Life::OneTurn) => read_all()?,
            (Prompt::Stdin, Life::Sticky) => said::of_line(&read_line()?.ok_or(Stop::Exit(0))?),
        };
        let progress = match before {
            Some(progress) => Progress { turn: progress.turn.saturating_add(1), ..progress },
            None => Progress { turn: 1, prompt: reply.clone() },
        };
        Ok(Self { words, turns: script.turns_for(request), request, store, session, progress, reply })
    }

    /// Plays turns for as long as the process lives.
    fn turns(mut self) -> Result<Stop, Stop> {
        loop {
            self.turn()?;
            let is_last = self.words.script.is_some() && self.progress.turn >= self.turns.len();
            match self.words.life {
                Life::OneTurn => return Ok(Stop::Exit(0)),
                Life::Sticky if is_last => return Ok(Stop::Exit(0)),
                Life::Sticky => {}
            }
            self.reply = match read_line()? {
                Some(line) => said::of_line(&line),
                None => return Ok(Stop::Exit(0)),
            };
            self.progress.turn += 1;
        }
    }

    fn turn(&self) -> Result<(), Stop> {
        let number = self.progress.turn;
        // Without a script all turns are the same.
        let index = if self.words.script.is_some() { number.checked_sub(1) } else { Some(0) };
        let Some(turn) = index.and_then(|index| self.turns.get(index)) else {
            let (path, count) = (script_name(self.words), self.turns.len());
            let sentence = format!("{path}: turn {number} was asked for, and it has {count}");
            return Err(Stop::Told { code: MISMATCH, sentence });
        };
        // Before the session's name is printed: a reader that has seen it may resume it.
        if let Some(store) = &self.store {
            store.save(&self.session, &self.progress).map_err(|error| failed("its session cannot be kept", error))?;
        }
        let said = Said {
            prompt: &self.progress.prompt,
            reply: &self.reply,
            permission: None,
            delegated: None,
            request: self.request,
        };
        let scene = Scene { profile: self.words.profile, session: &self.session, turn: number, said };
        let mut play = Play::new(turn, scene);
        let mut actions = play.begin();
        loop {
            actions.into_iter().try_for_each(|action| self.act(action))?;
            if let Some(request) = play.take_delegation() {
                let response = delegate(&request);
                actions = play.delegated(request, response);
                continue;
            }
            if !play.is_waiting() {
                return Ok(());
            }
            actions = play.go_on(read_line()?.as_deref());
        }
    }

    fn act(&self, action: Action) -> Result<(), Stop> {
        match action {
            Action::Write(line) => write(&line),
            Action::Flood(bytes) => flood(bytes),
            Action::Sleep(time) => {
                thread::sleep(time);
                Ok(())
            }
            Action::File { path, content } => {
                write_inside(&path, content.as_bytes()).map_err(|error| failed(path.display(), error))
            }
            Action::Ignore(signal) => ignore(signal),
            Action::TurnOver => Ok(()),
            Action::Exit(code) => Err(Stop::Exit(code)),
            Action::Hang => loop {
                thread::sleep(LIFE);
            },
            Action::Crash(signal) => die(signal).map_err(|error| failed("a signal to itself", error)),
            Action::Mismatch(sentence) => {
                let sentence = format!("{}: {sentence}", script_name(self.words));
                Err(Stop::Told { code: MISMATCH, sentence })
            }
        }
    }
}

/// Sends a request to the owner of the run. What cannot be sent is a refusal, as a model would see it.
fn delegate(request: &Map<String, Value>) -> Value {
    let refused = |why: String| json!({"is": "refused", "refusal": {"reason": "unavailable", "message": why}});
    let Some(address) = DelegationAddress::of(|name| std::env::var_os(name)) else {
        return refused("this run may not delegate".to_owned());
    };
    let request = match serde_json::from_value(Value::Object(request.clone())) {
        Ok(request) => request,
        Err(error) => return refused(error.to_string()),
    };
    let until = Instant::now() + OWNER_SEARCH_TIMEOUT;
    loop {
        match address.ask(DelegationRequest::clone(&request)) {
            Ok(response) => return serde_json::to_value(response).unwrap_or(Value::Null),
            // The run has no owner at this moment.
            Err(_) if Instant::now() < until => thread::sleep(OWNER_SEARCH_INTERVAL),
            Err(error) => return refused(error.to_string()),
        }
    }
}

/// Ends as the real engine does when it does not know the session.
fn refuse_session(words: &Words, session: &str) -> Stop {
    let mut lines = Lines::default();
    let code = formats::refuse_session(words.profile, session, &mut lines);
    match lines.0.iter().try_for_each(write) {
        Ok(()) => Stop::Exit(code),
        Err(stop) => stop,
    }
}

fn read_all() -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(SAID_MAX as u64).read_to_end(&mut bytes);
    read.map_err(|error| failed("stdin", error))?;
    // Every byte is a part of what was said, also the end of the last line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line of stdin; none at its end. Of one that is too long the beginning is kept.
fn read_line() -> Result<Option<String>, Stop> {
    let mut stdin = io::stdin().lock();
    let mut line = Vec::new();
    let mut limited = (&mut stdin).take(SAID_MAX as u64);
    let count = limited.read_until(b'\n', &mut line).map_err(|error| failed("stdin", error))?;
    if count == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if count == SAID_MAX {
        stdin.skip_until(b'\n').map_err(|error| failed("stdin", error))?;
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

fn write(line: &Line) -> Result<(), Stop> {
    let written = match line.to {
        Sink::Stdout => write_all(stdout(), &line.bytes),
        Sink::Stderr => write_all(stderr(), &line.bytes),
    };
    written.map_err(|_| Stop::StreamGone)
}

fn flood(bytes: u64) -> Result<(), Stop> {
    let mut buffer = vec![0; FLOOD];
    let mut offset = 0;
    while offset < bytes {
        let length = (bytes - offset).min(FLOOD as u64);
        let piece = &mut buffer[..length as usize];
        pattern(offset, piece);
        offset += length;
        // The line after the flood must be one of its own.
        if let Some(last) = piece.last_mut().filter(|_| offset == bytes) {
            *last = b'\n';
        }
        write_all(stdout(), piece).map_err(|_| Stop::StreamGone)?;
    }
    Ok(())
}

/// Walks down from the working folder without following a link, and makes the folders that are not there: what a script
/// writes stays below, whatever another process has put there.
fn write_inside(path: &Path, content: &[u8]) -> io::Result<()> {
    let names: Vec<_> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    let Some((name, folders)) = names.split_last() else { return Err(io::ErrorKind::InvalidFilename.into()) };
    let folder_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder: OwnedFd = openat(CWD, ".", folder_flags, Mode::empty())?;
    for name in folders {
        match mkdirat(&folder, *name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = openat(&folder, *name, folder_flags, Mode::empty())?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&folder, *name, flags, Mode::from_raw_mode(0o666))?;
    File::from(file).write_all(content)
}

/// A handler that does nothing but note it, since to ignore a signal for good takes `unsafe` code.
fn ignore(signal: Signal) -> Result<(), Stop> {
    let noted = Arc::new(AtomicBool::new(false));
    let registered = signal_hook::flag::register(signal.as_raw(), noted);
    registered.map(drop).map_err(|error| failed("a signal cannot be ignored", error))
}
