//! Words to steps. Pure: what the words mean is settled before anything is done.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use signal_hook::consts::FORBIDDEN;
use skillrun_simulate::process::signal_named;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Write {
        to: Sink,
        text: Vec<u8>,
    },
    Flood {
        to: Sink,
        bytes: u64,
    },
    Drip {
        to: Sink,
        bytes: u64,
        pause: Duration,
    },
    Sleep(Duration),
    Forever,
    Exit(u8),
    Die(Signal),
    Ignore(Signal),
    On {
        signal: Signal,
        steps: Vec<Step>,
    },
    Start {
        how: Start,
        words: Vec<OsString>,
    },
    Setsid,
    /// Waits until the parent is another process than this one.
    Gone(u64),
    Close(Stdio),
    Silence,
    Report,
    File {
        path: PathBuf,
        text: Vec<u8>,
    },
    Append {
        path: PathBuf,
        text: Vec<u8>,
    },
    Folder(PathBuf),
    Remove(PathBuf),
    Link {
        path: PathBuf,
        target: PathBuf,
    },
    Pid(PathBuf),
    WaitFile(PathBuf),
    ReadLine,
    EchoStdin,
    Turns,
    Repeat {
        times: u64,
        steps: Vec<Step>,
    },
}

/// Where bytes are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    Stdout,
    Stderr,
    Tty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdio {
    Stdin,
    Stdout,
    Stderr,
}

/// How a child is started, and whether it is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Child,
    Heir,
    Call,
    Group,
    Session,
    Orphan,
    Daemon,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordsError {
    #[error("there is no step {0}")]
    UnknownStep(String),
    #[error("{step} needs {needed} after it")]
    Missing { step: String, needed: Needed },
    #[error("{step} needs {needed}, not {found}")]
    Unfit { step: String, needed: Needed, found: String },
    #[error("{0} cannot be caught or ignored")]
    Uncatchable(String),
    #[error("a block is not closed with ]")]
    Unclosed,
    #[error("] closes nothing")]
    Stray,
    #[error("blocks are nested deeper than {MAX_DEPTH}")]
    TooDeep,
}

/// What a step wants to see next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needed {
    Text,
    Path,
    Number,
    Code,
    Signal,
    Sink,
    Stdio,
    Block,
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => r"a text (with \n, \t, \r, \\, \0, \e and \xHH alone)",
            Self::Path => "a path",
            Self::Number => "a number",
            Self::Code => "an exit code of 0 to 255",
            Self::Signal => "the name of a signal",
            Self::Sink => "stdout, stderr or tty",
            Self::Stdio => "stdin, stdout or stderr",
            Self::Block => "[ and steps",
        })
    }
}

/// The reader calls itself for each block; what is nested deeper than this is a mistake.
const MAX_DEPTH: usize = 64;

pub(super) fn parse(words: &[OsString]) -> Result<Vec<Step>, WordsError> {
    let mut reader = Reader { words, at: 0, depth: 0 };
    reader.steps()
}

struct Reader<'a> {
    words: &'a [OsString],
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Steps up to the end of the block that is open, or of all words.
    fn steps(&mut self) -> Result<Vec<Step>, WordsError> {
        let mut steps = Vec::new();
        while let Some(word) = self.words.get(self.at) {
            self.at += 1;
            if word != "]" {
                steps.push(self.step(word)?);
            } else if self.depth > 0 {
                return Ok(steps);
            } else {
                return Err(WordsError::Stray);
            }
        }
        if self.depth > 0 { Err(WordsError::Unclosed) } else { Ok(steps) }
    }

    fn step(&mut self, word: &'a OsStr) -> Result<Step, WordsError> {
        Ok(match word.as_bytes() {
            b"out" => Step::Write { to: Sink::Stdout, text: self.text(word)? },
            b"err" => Step::Write { to: Sink::Stderr, text: self.text(word)? },
            b"tty" => Step::Write { to: Sink::Tty, text: self.text(word)? },
            b"flood" => Step::Flood { to: self.take(word, Needed::Sink, sink)?, bytes: self.number(word)? },
            b"drip" => Step::Drip {
                to: self.take(word, Needed::Sink, sink)?,
                bytes: self.number(word)?,
                pause: self.millis(word)?,
            },
            b"sleep" => Step::Sleep(self.millis(word)?),
            b"forever" => Step::Forever,
            b"exit" => Step::Exit(self.take(word, Needed::Code, |code| str::from_utf8(code).ok()?.parse().ok())?),
            b"die" => Step::Die(self.take(word, Needed::Signal, signal)?),
            b"ignore" => Step::Ignore(self.catchable(word)?),
            b"on" => Step::On { signal: self.catchable(word)?, steps: self.block(word)?.0 },
            b"child" => self.start(word, Start::Child)?,
            b"heir" => self.start(word, Start::Heir)?,
            b"call" => self.start(word, Start::Call)?,
            b"group" => self.start(word, Start::Group)?,
            b"session" => self.start(word, Start::Session)?,
            b"orphan" => self.start(word, Start::Orphan)?,
            b"daemon" => self.start(word, Start::Daemon)?,
            b"late" => {
                let from = self.at;
                self.millis(word)?;
                self.text(word)?;
                let [millis, text] = [&self.words[from], &self.words[from + 1]];
                let words = vec!["sleep".into(), millis.clone(), "out".into(), text.clone()];
                Step::Start { how: Start::Orphan, words }
            }
            b"setsid" => Step::Setsid,
            b"gone" => Step::Gone(self.number(word)?),
            b"close" => Step::Close(self.take(word, Needed::Stdio, stdio)?),
            b"silence" => Step::Silence,
            b"report" => Step::Report,
            b"file" => Step::File { path: self.path(word)?, text: self.text(word)? },
            b"append" => Step::Append { path: self.path(word)?, text: self.text(word)? },
            b"folder" => Step::Folder(self.path(word)?),
            b"remove" => Step::Remove(self.path(word)?),
            b"link" => Step::Link { path: self.path(word)?, target: self.path(word)? },
            b"pid" => Step::Pid(self.path(word)?),
            b"wait-file" => Step::WaitFile(self.path(word)?),
            b"read-line" => Step::ReadLine,
            b"echo-stdin" => Step::EchoStdin,
            b"turns" => Step::Turns,
            b"repeat" => Step::Repeat { times: self.number(word)?, steps: self.block(word)?.0 },
            _ => return Err(WordsError::UnknownStep(shown(word))),
        })
    }

    /// The next word, which belongs to `step` whatever it looks like: `out ]` writes a bracket.
    fn word(&mut self, step: &OsStr, needed: Needed) -> Result<&'a OsStr, WordsError> {
        let word = self.words.get(self.at).ok_or_else(|| WordsError::Missing { step: shown(step), needed })?;
        self.at += 1;
        Ok(word)
    }

    fn take<T>(
        &mut self,
        step: &OsStr,
        needed: Needed,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, WordsError> {
        let word = self.word(step, needed)?;
        read(word.as_bytes()).ok_or_else(|| WordsError::Unfit { step: shown(step), needed, found: shown(word) })
    }

    fn text(&mut self, step: &OsStr) -> Result<Vec<u8>, WordsError> {
        self.take(step, Needed::Text, unescaped)
    }

    fn path(&mut self, step: &OsStr) -> Result<PathBuf, WordsError> {
        Ok(self.word(step, Needed::Path)?.into())
    }

    fn number(&mut self, step: &OsStr) -> Result<u64, WordsError> {
        self.take(step, Needed::Number, number)
    }

    fn millis(&mut self, step: &OsStr) -> Result<Duration, WordsError> {
        self.number(step).map(Duration::from_millis)
    }

    fn catchable(&mut self, step: &OsStr) -> Result<Signal, WordsError> {
        let caught = self.take(step, Needed::Signal, signal)?;
        // The library would panic over these.
        if FORBIDDEN.contains(&caught.as_raw()) {
            return Err(WordsError::Uncatchable(shown(&self.words[self.at - 1])));
        }
        Ok(caught)
    }

    fn start(&mut self, step: &OsStr, how: Start) -> Result<Step, WordsError> {
        let (_, words) = self.block(step)?;
        Ok(Step::Start { how, words: words.to_vec() })
    }

    /// What stands in a block: the steps, and the words of them for a child that reads them again.
    fn block(&mut self, step: &OsStr) -> Result<(Vec<Step>, &'a [OsString]), WordsError> {
        self.take(step, Needed::Block, |word| (word == b"[").then_some(()))?;
        if self.depth == MAX_DEPTH {
            return Err(WordsError::TooDeep);
        }
        self.depth += 1;
        let from = self.at;
        let steps = self.steps()?;
        self.depth -= 1;
        Ok((steps, &self.words[from..self.at - 1]))
    }
}

fn shown(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

fn sink(word: &[u8]) -> Option<Sink> {
    match word {
        b"stdout" => Some(Sink::Stdout),
        b"stderr" => Some(Sink::Stderr),
        b"tty" => Some(Sink::Tty),
        _ => None,
    }
}

fn stdio(word: &[u8]) -> Option<Stdio> {
    match word {
        b"stdin" => Some(Stdio::Stdin),
        b"stdout" => Some(Stdio::Stdout),
        b"stderr" => Some(Stdio::Stderr),
        _ => None,
    }
}

fn number(word: &[u8]) -> Option<u64> {
    let (digits, unit) = match word {
        [digits @ .., b'K'] => (digits, 1 << 10),
        [digits @ .., b'M'] => (digits, 1 << 20),
        [digits @ .., b'G'] => (digits, 1 << 30),
        digits => (digits, 1),
    };
    // `parse` alone would also take a plus sign.
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(digits).ok()?.parse::<u64>().ok()?.checked_mul(unit)
}

fn signal(word: &[u8]) -> Option<Signal> {
    signal_named(str::from_utf8(word).ok()?)
}

/// A text with its escapes replaced; none when one of them has no meaning.
fn unescaped(word: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, after @ ..] = rest {
        let (byte, left) = match (first, after) {
            (b'\\', [b'n', left @ ..]) => (b'\n', left),
            (b'\\', [b't', left @ ..]) => (b'\t', left),
            (b'\\', [b'r', left @ ..]) => (b'\r', left),
            (b'\\', [b'\\', left @ ..]) => (b'\\', left),
            (b'\\', [b'0', left @ ..]) => (0, left),
            (b'\\', [b'e', left @ ..]) => (0x1b, left),
            (b'\\', [b'x', high, low, left @ ..]) => (hex(*high)? << 4 | hex(*low)?, left),
            (b'\\', _) => return None,
            (byte, left) => (*byte, left),
        };
        text.push(byte);
        rest = left;
    }
    Some(text)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    /// Words as a shell would give them, without its quotes.
    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn steps(line: &str) -> Vec<Step> {
        parse(&words(line)).expect("words that make sense")
    }

    fn refused(line: &str) -> String {
        parse(&words(line)).expect_err("words that make no sense").to_string()
    }

    #[test]
    fn steps_take_the_words_after_them() {
        assert_eq!(steps(""), []);
        assert_eq!(
            steps(r"out a\n sleep 20 flood stderr 64K drip tty 3 10 die INT exit 7"),
            [
                Step::Write { to: Sink::Stdout, text: b"a\n".to_vec() },
                Step::Sleep(Duration::from_millis(20)),
                Step::Flood { to: Sink::Stderr, bytes: 65_536 },
                Step::Drip { to: Sink::Tty, bytes: 3, pause: Duration::from_millis(10) },
                Step::Die(Signal::INT),
                Step::Exit(7),
            ]
        );
    }

    #[test]
    fn a_text_may_look_like_anything() {
        let text = |text: &[u8]| Step::Write { to: Sink::Stdout, text: text.to_vec() };
        assert_eq!(steps("out ] out [ out exit"), [text(b"]"), text(b"["), text(b"exit")]);
        let odd = [OsString::from("out"), OsString::from_vec(vec![0xff, b'\\', b'0'])];
        assert_eq!(parse(&odd), Ok(vec![text(&[0xff, 0])]));
        assert_eq!(parse(&["out".into(), OsString::new()]), Ok(vec![text(b"")]));
    }

    #[test]
    fn escapes_stand_for_bytes() {
        assert_eq!(unescaped(br"\n\t\r\\\0\e\x1F\xfFn"), Some(b"\n\t\r\\\0\x1b\x1f\xffn".to_vec()));
        for wrong in [r"\", r"\q", r"\x", r"\x1", r"\xg0", r"a\"] {
            assert_eq!(unescaped(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_have_units_and_bounds() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"3M"), Some(3 << 20));
        for wrong in ["", "K", "+1", "-1", "1k", "1KK", "99999999999999999999", "99999999999999G"] {
            assert_eq!(number(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_block_is_read_with_all_that_is_in_it() {
        assert_eq!(
            steps("on SIGTERM [ out ] repeat 2 [ report ] ] forever"),
            [
                Step::On {
                    signal: Signal::TERM,
                    steps: vec![
                        Step::Write { to: Sink::Stdout, text: b"]".to_vec() },
                        Step::Repeat { times: 2, steps: vec![Step::Report] },
                    ],
                },
                Step::Forever,
            ]
        );
    }

    #[test]
    fn children_get_their_words_as_they_were() {
        assert_eq!(
            steps(r"daemon [ child [ out ]\n ] forever ] call [ ] late 50 x\n"),
            [
                Step::Start { how: Start::Daemon, words: words(r"child [ out ]\n ] forever") },
                Step::Start { how: Start::Call, words: vec![] },
                Step::Start { how: Start::Orphan, words: words(r"sleep 50 out x\n") },
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_said_in_a_sentence() {
        assert_eq!(refused("dance"), "there is no step dance");
        assert_eq!(refused("sleep"), "sleep needs a number after it");
        assert_eq!(refused("sleep soon"), "sleep needs a number, not soon");
        assert_eq!(refused("exit 256"), "exit needs an exit code of 0 to 255, not 256");
        assert_eq!(refused("flood stdin 1"), "flood needs stdout, stderr or tty, not stdin");
        assert_eq!(refused("die SIGNOT"), "die needs the name of a signal, not SIGNOT");
        assert_eq!(refused("ignore SIGKILL"), "SIGKILL cannot be caught or ignored");
        assert_eq!(refused("child forever"), "child needs [ and steps, not forever");
        assert_eq!(refused("child [ forever"), "a block is not closed with ]");
        assert_eq!(refused("forever ]"), "] closes nothing");
        assert_eq!(refused("late 5"), r"late needs a text (with \n, \t, \r, \\, \0, \e and \xHH alone) after it");
    }

    #[test]
    fn a_mistake_in_a_child_is_found_before_anything_is_done() {
        assert_eq!(refused("out a child [ call [ dance ] ]"), "there is no step dance");
    }

    #[test]
    fn nesting_has_a_bound() {
        let nested = |depth: usize| format!("{} {}", "call [ ".repeat(depth), "] ".repeat(depth));
        assert_eq!(steps(&nested(MAX_DEPTH)).len(), 1);
        assert_eq!(parse(&words(&nested(MAX_DEPTH + 1))), Err(WordsError::TooDeep));
    }
}
