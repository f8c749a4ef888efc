//! What is typed while a run is followed in a terminal. [`KeyWatch`] watches the keys while a turn runs: Esc interrupts
//! it, and other text is kept for the next prompt. [`LineWatch`] reads one line, which is an answer or the next prompt.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getpgrp;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use skillrun_base::sync::lock;
use skillrun_runs::prompt::PromptFault;

use super::ask::Typed;

/// The bytes of a key that begins with Esc come together. A terminal far away may need a moment.
const ESCAPE_DELAY: Duration = Duration::from_millis(50);

/// Most that is kept for the next prompt.
const KEPT_MAX: usize = 16 << 10;

/// The interval at which a job in the background checks whether it is in the foreground again.
const FOREGROUND_CHECK_INTERVAL: Duration = Duration::from_millis(200);

const ESCAPE: u8 = 0x1b;

/// What bytes from the terminal mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Escape,
    /// Part of a text.
    Byte(u8),
}

/// The keys in bytes that came together. Sequences of other keys, such as the arrows, mean nothing here.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != ESCAPE {
            // Backspace and other control keys have nothing to act on.
            if first >= 0x20 && first != 0x7f || first == b'\n' {
                keys.push(Key::Byte(first));
            }
            continue;
        }
        match behind.split_first() {
            None => keys.push(Key::Escape),
            Some((&ESCAPE, _)) => keys.push(Key::Escape),
            // `ESC [` and `ESC O` begin a sequence, which ends with a letter or `~`.
            Some((b'[' | b'O', parameters)) => {
                let end = parameters.iter().position(|byte| (0x40..=0x7e).contains(byte));
                rest = end.map_or(&[][..], |end| &parameters[end + 1..]);
            }
            // Alt and a key.
            Some((_, after)) => rest = after,
        }
    }
    keys
}

/// Whether another job has the terminal. To read from it or to change its mode would stop this process.
fn is_in_background() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp())
}

/// Ends a thread that reads from the terminal.
#[derive(Debug)]
struct Reading<T> {
    /// Closing it ends the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Reading<T> {
    /// `read` returns soon after the other end of its pipe is closed.
    fn start(read: impl FnOnce(&OwnedFd) -> T + Send + 'static) -> io::Result<Self> {
        let (ended, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let thread = thread::Builder::new().name("keyboard".to_owned()).spawn(move || read(&ended))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// None if it has ended before.
    fn end(&mut self) -> Option<T> {
        drop(self.stop.take());
        // If it panicked, there is nothing to wait for.
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

/// Watches the keyboard for as long as it exists. The terminal shows no typed characters meanwhile.
#[derive(Debug)]
pub(crate) struct KeyWatch {
    before: Termios,
    reading: Reading<()>,
    typed: Arc<Mutex<Vec<u8>>>,
}

impl KeyWatch {
    /// `escape` is called for each Esc. None in the background, where no key is for this process.
    pub(crate) fn start(escape: impl Fn() + Send + 'static) -> io::Result<Option<Self>> {
        if is_in_background() {
            return Ok(None);
        }
        let before = tcgetattr(stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        let typed = Arc::new(Mutex::new(Vec::new()));
        let kept = typed.clone();
        tcsetattr(stdin(), OptionalActions::Now, &quiet)?;
        let watch = move |ended: &OwnedFd| {
            while let Some(bytes) = next_bytes(ended) {
                for key in keys(&bytes) {
                    match key {
                        Key::Escape => escape(),
                        Key::Byte(byte) => {
                            let mut kept = lock(&kept);
                            if kept.len() < KEPT_MAX {
                                kept.push(byte);
                            }
                        }
                    }
                }
            }
        };
        let reading = Reading::start(watch);
        if reading.is_err() {
            tcsetattr(stdin(), OptionalActions::Now, &before)?;
        }
        Ok(Some(Self { before, reading: reading?, typed }))
    }

    /// Ends it, and returns the text that was typed.
    pub(crate) fn finish(mut self) -> String {
        self.end();
        String::from_utf8_lossy(&std::mem::take(&mut *lock(&self.typed))).into_owned()
    }

    fn end(&mut self) {
        // In the background, the shell has restored the terminal already.
        if self.reading.end().is_some() && !is_in_background() {
            // If the terminal is gone, there is nothing to restore.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
        }
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads one line, which the terminal lets the user edit.
#[derive(Debug)]
pub(crate) struct LineWatch {
    reading: Reading<Vec<u8>>,
}

impl LineWatch {
    /// `begun` was typed before and is the beginning of the line. `typed` is called once, unless the watch is ended
    /// before.
    pub(crate) fn start(begun: String, typed: impl FnOnce(Typed) + Send + 'static) -> io::Result<Self> {
        let read = move |ended: &OwnedFd| {
            let mut line = begun.into_bytes();
            loop {
                match next_read(ended, None) {
                    Next::Bytes(bytes) => line.extend(bytes),
                    Next::Stopped => return line,
                    Next::Silence => {}
                    // What has no Enter behind it is not sent.
                    Next::Over => {
                        typed(Typed::End);
                        return Vec::new();
                    }
                }
                if line.last() == Some(&b'\n') {
                    line.pop();
                    typed(text_of(line));
                    return Vec::new();
                }
            }
        };
        Ok(Self { reading: Reading::start(read)? })
    }

    /// Ends it, and returns the beginning of a line that is not complete.
    pub(crate) fn finish(mut self) -> String {
        String::from_utf8_lossy(&self.reading.end().unwrap_or_default()).into_owned()
    }
}

impl Drop for LineWatch {
    fn drop(&mut self) {
        self.reading.end();
    }
}

fn text_of(line: Vec<u8>) -> Typed {
    match String::from_utf8(line) {
        Ok(line) => Typed::Line(line),
        Err(error) => Typed::Unusable(PromptFault::NotUtf8 { at: error.utf8_error().valid_up_to() }),
    }
}

/// What came from the terminal next.
enum Next {
    Bytes(Vec<u8>),
    /// Nothing in time.
    Silence,
    /// The watch is over.
    Stopped,
    /// Ctrl-D, or the terminal is gone.
    Over,
}

/// One read, as soon as there is something to read.
fn next_read(ended: &OwnedFd, limit: Option<Duration>) -> Next {
    loop {
        let is_ours = !is_in_background();
        let limit = if is_ours { limit } else { Some(FOREGROUND_CHECK_INTERVAL) };
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let terminal = stdin();
        // What is typed in the background is for another job.
        let wanted = if is_ours { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = [PollFd::new(&terminal, wanted), PollFd::new(ended, PollFlags::IN)];
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) if is_ours => return Next::Silence,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Next::Over,
        }
        let [typed, over] = fds.map(|fd| fd.revents());
        if !over.is_empty() {
            return Next::Stopped;
        }
        if typed.is_empty() || is_in_background() {
            continue;
        }
        let mut buffer = [0; 1024];
        return match rustix::io::read(terminal, &mut buffer) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => Next::Over,
            Ok(count) => Next::Bytes(buffer[..count].to_vec()),
        };
    }
}

/// Bytes that came together; none when the watch is over or the terminal is gone.
fn next_bytes(ended: &OwnedFd) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        match next_read(ended, (!bytes.is_empty()).then_some(ESCAPE_DELAY)) {
            Next::Bytes(more) => bytes.extend(more),
            Next::Silence => return Some(bytes),
            Next::Stopped | Next::Over => return None,
        }
        // Only a lone Esc at the end may be the beginning of another key.
        if bytes.last() != Some(&ESCAPE) || bytes.len() >= KEPT_MAX {
            return Some(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (usize, String) {
        let keys = keys(bytes);
        let escapes = keys.iter().filter(|key| **key == Key::Escape).count();
        let text: Vec<u8> =
            keys.iter().filter_map(|key| if let Key::Byte(byte) = key { Some(*byte) } else { None }).collect();
        (escapes, String::from_utf8(text).expect("text"))
    }

    #[test]
    fn only_the_escape_key_itself_is_an_escape() {
        let cases: [(&[u8], usize, &str); 9] = [
            (b"\x1b", 1, ""),
            (b"\x1b\x1b", 2, ""),
            (b"\x1b[A", 0, ""),
            (b"\x1bOP\x1b[15~x", 0, "x"),
            (b"\x1b[200~pasted\x1b[201~", 0, "pasted"),
            (b"a\x1bbc", 0, "ac"),
            (b"next \xc3\xa4\n\x7f\x01", 0, "next ä\n"),
            (b"ab\x1b", 1, "ab"),
            (b"\x1b[", 0, ""),
        ];
        for (bytes, escapes, text) in cases {
            assert_eq!(read(bytes), (escapes, text.to_owned()), "{bytes:?}");
        }
    }
}
