//! The input of the engine: inputs of the owner, each once, or the content of a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;

use rustix::event::PollFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, write};
use skillrun_evidence::os_text::from_hex;

use crate::protocol::{INPUT_MAX, InputAnswer};
use crate::wiring::{Input, end_of_input, terminal_would_cut};

/// Maximum number of ids that are remembered; after that no more input is accepted. Numeric ids do not count: for those
/// the highest is enough.
const IDS_MAX: usize = 1 << 16;

/// Longest id.
const ID_MAX: usize = 256;

/// Size of one read from a file.
const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Inputs {
    end: Input,
    file: Option<File>,
    waiting: Option<Waiting>,
    written: Ids,
    /// Closed as soon as nothing is pending.
    is_closing: bool,
    /// Bytes since the last line end.
    line: usize,
}

/// Ids that were written.
#[derive(Debug, Default)]
struct Ids {
    /// Numbers only grow, so this one and all lower ones were written or never will be.
    highest: Option<u64>,
    others: HashSet<String>,
}

impl Ids {
    fn number(id: &str) -> Option<u64> {
        id.parse().ok().filter(|number: &u64| number.to_string() == id)
    }

    fn contains(&self, id: &str) -> bool {
        match Self::number(id) {
            Some(number) => self.highest.is_some_and(|highest| number <= highest),
            None => self.others.contains(id),
        }
    }

    /// Only ever the last one.
    fn remove(&mut self, id: &str) {
        match Self::number(id) {
            Some(number) => self.highest = number.checked_sub(1),
            None => {
                self.others.remove(id);
            }
        }
    }

    fn insert(&mut self, id: &str) {
        match Self::number(id) {
            Some(number) => self.highest = Some(number),
            None => {
                self.others.insert(id.to_owned());
            }
        }
    }
}

#[derive(Debug)]
struct Waiting {
    from: Origin,
    bytes: Vec<u8>,
    done: usize,
}

/// Where bytes come from.
#[derive(Debug)]
enum Origin {
    Owner {
        id: String,
    },
    File,
    /// Bytes of the host itself: a terminal has no end of file, and the key for it has the same effect.
    EndKey,
}

/// The result of writing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wrote {
    /// Bytes the kernel accepted, to be recorded.
    pub(crate) bytes: Vec<u8>,
    /// The input of the owner that is finished.
    pub(crate) answer: Option<(String, InputAnswer)>,
}

impl Inputs {
    pub(crate) fn new(end: Input, file: Option<File>) -> Self {
        Self { end, file, waiting: None, written: Ids::default(), is_closing: false, line: 0 }
    }

    /// The descriptor, when there is something to write.
    pub(crate) fn polled(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let has_something = self.waiting.is_some() || self.file.is_some();
        self.end().filter(|_| has_something).map(|end| (end.as_fd(), PollFlags::OUT))
    }

    fn end(&self) -> Option<&OwnedFd> {
        match &self.end {
            Input::Closed => None,
            Input::Pipe(end) | Input::Terminal(end) => Some(end),
        }
    }

    /// Accepts an input of the owner. The answer is sent at once if it is refused, else when it is written.
    pub(crate) fn accept(&mut self, id: String, text: Option<String>, hex: Option<&str>) -> Option<InputAnswer> {
        if id.len() > ID_MAX {
            return Some(InputAnswer::TooLarge);
        }
        if self.written.contains(&id) {
            return Some(InputAnswer::Repeated);
        }
        let bytes = match (text, hex) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(hex)) => match from_hex(hex) {
                Some(bytes) => bytes,
                None => return Some(InputAnswer::Unreadable),
            },
            (None, None) => Vec::new(),
        };
        let refused = match &self.end {
            Input::Closed => Some(InputAnswer::Closed),
            Input::Pipe(_) | Input::Terminal(_) if self.is_closing || self.file.is_some() => Some(InputAnswer::Closed),
            Input::Pipe(_) | Input::Terminal(_) if self.waiting.is_some() => Some(InputAnswer::Busy),
            Input::Pipe(_) | Input::Terminal(_) if bytes.len() > INPUT_MAX => Some(InputAnswer::TooLarge),
            Input::Pipe(_) | Input::Terminal(_) if self.written.others.len() >= IDS_MAX => Some(InputAnswer::Closed),
            Input::Terminal(end) if terminal_would_cut(end, self.line, &bytes) => Some(InputAnswer::LineTooLong),
            Input::Pipe(_) | Input::Terminal(_) => None,
        };
        if refused.is_none() {
            self.written.insert(&id);
            self.waiting = Some(Waiting { from: Origin::Owner { id }, bytes, done: 0 });
        }
        refused
    }

    /// Discards the input that was accepted last, of which nothing was written.
    pub(crate) fn take_back(&mut self) {
        if let Some(Waiting { from: Origin::Owner { id }, .. }) = self.waiting.take_if(|waiting| waiting.done == 0) {
            self.written.remove(&id);
        }
    }

    /// No more input, once everything before is written.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
        self.close_if_done();
    }

    fn close_if_done(&mut self) {
        if self.is_closing && self.waiting.is_none() && self.file.is_none() {
            match &self.end {
                Input::Terminal(_) => {
                    // It is queued like everything else: a terminal that is full now may be read later.
                    let bytes = end_of_input(self.line).to_vec();
                    self.waiting = Some(Waiting { from: Origin::EndKey, bytes, done: 0 });
                }
                Input::Pipe(_) | Input::Closed => self.end = Input::Closed,
            }
        }
    }

    /// Writes as much as the kernel accepts.
    pub(crate) fn write(&mut self) -> Wrote {
        let mut wrote = Wrote::default();
        if self.waiting.is_none() {
            self.fill_from_file();
        }
        let (Some(waiting), Some(end)) = (&mut self.waiting, Self::end_of(&self.end)) else {
            self.close_if_done();
            return wrote;
        };
        let is_gone = match write(end, &waiting.bytes[waiting.done..]) {
            Ok(count) => {
                let taken = &waiting.bytes[waiting.done..waiting.done + count];
                match waiting.from {
                    Origin::Owner { .. } | Origin::File => wrote.bytes.extend_from_slice(taken),
                    Origin::EndKey => {}
                }
                self.line = match taken.iter().rposition(|byte| *byte == b'\n') {
                    Some(at) => count - at - 1,
                    None => self.line + count,
                };
                waiting.done += count;
                false
            }
            Err(Errno::AGAIN | Errno::INTR) => false,
            Err(_) => true,
        };
        let is_done = waiting.done == waiting.bytes.len();
        if (is_gone || is_done)
            && let Some(waiting) = self.waiting.take()
        {
            match waiting.from {
                Origin::Owner { id } => {
                    let answer = if is_done { InputAnswer::Written } else { InputAnswer::Closed };
                    wrote.answer = Some((id, answer));
                }
                Origin::File => {}
                Origin::EndKey => self.end = Input::Closed,
            }
        }
        if is_gone {
            // An owner that sends it again, perhaps because it did not receive the answer, must not get the answer that
            // it was written.
            if let Some((id, _)) = &wrote.answer {
                self.written.remove(id);
            }
            // The process has closed its input, or is gone.
            self.end = Input::Closed;
            self.file = None;
        }
        self.close_if_done();
        wrote
    }

    fn end_of(end: &Input) -> Option<&OwnedFd> {
        match end {
            Input::Closed => None,
            Input::Pipe(end) | Input::Terminal(end) => Some(end),
        }
    }

    fn fill_from_file(&mut self) {
        let Some(file) = &mut self.file else { return };
        let mut bytes = vec![0; PIECE];
        match file.read(&mut bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                self.waiting = Some(Waiting { from: Origin::File, bytes, done: 0 });
            }
            // The end; a file that cannot be read any further ends there too.
            Ok(_) | Err(_) => {
                self.file = None;
                self.is_closing = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    /// Inputs that are not refused.
    fn inputs() -> (Inputs, OwnedFd) {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        (Inputs::new(Input::Pipe(write), None), read)
    }

    fn give(inputs: &mut Inputs, id: &str) -> InputAnswer {
        let refused = inputs.accept(id.to_owned(), Some(String::new()), None);
        refused.unwrap_or_else(|| inputs.write().answer.expect("an answer").1)
    }

    #[test]
    fn an_id_is_written_once() {
        let (mut inputs, _read) = inputs();
        for id in ["a", "b", "7", "07", "8", ""] {
            assert_eq!(give(&mut inputs, id), InputAnswer::Written, "{id}");
            assert_eq!(give(&mut inputs, id), InputAnswer::Repeated, "{id}");
        }
        assert_eq!(give(&mut inputs, "a"), InputAnswer::Repeated);
        assert_eq!(give(&mut inputs, "6"), InputAnswer::Repeated, "numbers only grow");
    }

    #[test]
    fn an_input_that_is_taken_back_is_written_later() {
        let (mut inputs, _read) = inputs();
        assert_eq!(give(&mut inputs, "6"), InputAnswer::Written);
        for id in ["7", "name"] {
            assert_eq!(inputs.accept(id.to_owned(), Some("text".to_owned()), None), None);
            inputs.take_back();
            assert_eq!(inputs.write(), Wrote::default(), "nothing waits");
            assert_eq!(give(&mut inputs, id), InputAnswer::Written);
        }
        assert_eq!(give(&mut inputs, "6"), InputAnswer::Repeated);
    }

    #[test]
    fn numbers_have_no_end_and_names_a_bound() {
        let (mut inputs, _read) = inputs();
        for number in 0..IDS_MAX + 10 {
            assert_eq!(give(&mut inputs, &number.to_string()), InputAnswer::Written);
        }
        for number in 0..IDS_MAX {
            assert_eq!(give(&mut inputs, &format!("name {number}")), InputAnswer::Written);
        }
        assert_eq!(give(&mut inputs, "one more"), InputAnswer::Closed);
    }
}
