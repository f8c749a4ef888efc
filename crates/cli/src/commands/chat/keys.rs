//! Keys while a turn runs: Esc interrupts it. Other text is kept for the next prompt.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use skillrun_base::sync::lock;

/// The bytes of a key that begins with Esc come together. A terminal far away may need a moment.
const ESCAPE_DELAY: Duration = Duration::from_millis(50);

/// Most that is kept for the next prompt.
const KEPT_MAX: usize = 16 << 10;

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

/// Watches the keyboard for as long as it exists. The terminal shows no typed characters meanwhile.
pub(super) struct KeyWatch {
    before: Termios,
    /// Closing it ends the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    typed: Arc<Mutex<Vec<u8>>>,
}

impl KeyWatch {
    /// `escape` is called for each Esc.
    pub(super) fn start(escape: impl Fn() + Send + 'static) -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        let (ended, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let typed = Arc::new(Mutex::new(Vec::new()));
        let kept = typed.clone();
        tcsetattr(stdin(), OptionalActions::Now, &quiet)?;
        let watch = move || {
            while let Some(bytes) = next_bytes(&ended) {
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
        let thread = thread::Builder::new().name("keys".to_owned()).spawn(watch);
        if thread.is_err() {
            tcsetattr(stdin(), OptionalActions::Now, &before)?;
        }
        Ok(Self { before, stop: Some(stop), thread: Some(thread?), typed })
    }

    /// Ends it, and returns the text that was typed.
    pub(super) fn finish(mut self) -> String {
        self.end();
        String::from_utf8_lossy(&std::mem::take(&mut *lock(&self.typed))).into_owned()
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, there is nothing to wait for.
            let _ = thread.join();
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

/// Bytes that came together; none when the watch is over or the terminal is gone.
fn next_bytes(ended: &OwnedFd) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let delay = Timespec::try_from(ESCAPE_DELAY).ok();
        let limit = if bytes.is_empty() { None } else { delay.as_ref() };
        let terminal = stdin();
        let mut fds = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        match poll(&mut fds, limit) {
            Ok(0) => return Some(bytes),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        let [typed, over] = fds.map(|fd| fd.revents());
        if !over.is_empty() {
            return None;
        }
        if !typed.contains(PollFlags::IN) {
            return None;
        }
        let mut buffer = [0; 1024];
        match rustix::io::read(terminal, &mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
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
