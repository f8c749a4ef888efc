//! Output derived from the Log: its lines, the conversation, or text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::time::Duration;

use serde::Deserialize;
use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, EventLog, Limits, LogLine, Page, Seq, Tail, Tailed};
use skillrun_model::fcmp::{FcmpEvent, Meta};
use skillrun_model::wire::LineWriter;
use skillrun_model::{IgnoredError, RunId, RunStatus};
use skillrun_runs::conversation::{ConversationItem, ConversationReader};
use skillrun_runtime::views::is_whole;
use skillrun_translate::transcript::{Asks, CallLayout, LineLimit, Shown, Transcript, TranscriptStyle};

use super::{Follow, Part, What, warn_if_unowned};
use crate::exit::{run_state, run_words};
use crate::failure::Failure;
use crate::live::{Erasing, LIVE_INTERVAL, LiveLine, LiveRun};
use crate::output::{Output, harmless};
use crate::place::{CommandContext, note};
use crate::words::{newer_events, plain_lines};

/// On a file system without change notifications, the Log is polled at this interval.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

pub(super) fn print(
    place: &CommandContext,
    run: RunId,
    what: What,
    part: Part,
    follow: Follow,
    output: Output,
) -> Result<(), Failure> {
    let last = Seq(place.log.head(run)?.next_seq.0.saturating_sub(1));
    let counts_rasp = matches!(what, What::Rasp | What::Transcript);
    if counts_rasp && part.after > last.0 {
        return Err(Failure::Input(format!(
            "the Log of run {run} has {last} events; there is none after {}",
            part.after
        )));
    }
    let mut printer = Printer::new(run, what, part, follow, output);
    match follow {
        Follow::No => {
            // A conversation that was written once stays the same, whatever version reads it now.
            let fcmp = place.folder(run).fcmp();
            let kept = if counts_rasp || !is_whole(&fcmp) { None } else { File::open(fcmp).ok() };
            match kept {
                Some(kept) => printer.kept(BufReader::new(kept))?,
                None => read(place, run, &mut printer, follow)?,
            }
        }
        Follow::Yes => read(place, run, &mut printer, follow)?,
    }
    let newer = printer.reader.newer_events();
    printer.finish()?;
    if newer > 0 {
        note(&newer_events(newer));
    }
    Ok(())
}

/// Prints the Log. A follower waits for more, also while questions are open, until the last event is printed.
fn read(place: &CommandContext, run: RunId, printer: &mut Printer, follow: Follow) -> Result<(), Failure> {
    let cursor = match (printer.what, follow) {
        (What::Rasp, Follow::No) => Cursor { epoch: None, after: Seq(printer.part.after) },
        (What::Rasp | What::Transcript | What::Fcmp | What::Document, _) => Cursor::BEGINNING,
    };
    let mut tail = Tail::new(&place.log, run, cursor)?;
    let mut told = None;
    let mut wait = Duration::ZERO;
    let mut line = LiveLine::new();
    let audit = place.folder(run).audit();
    loop {
        match tail.next(Limits::default(), wait)? {
            Tailed::Page(page) => {
                printer.page(&page)?;
                wait = Duration::ZERO;
            }
            Tailed::Reset(_) => printer.reset(),
            Tailed::TimedOut if follow == Follow::No => return Ok(()),
            Tailed::TimedOut => {
                // Everything was read.
                let status = printer.state.status;
                if told != Some(status) {
                    told = Some(status);
                    at_rest(place, run, &printer.state);
                }
                printer.live.draw(&mut line, &printer.state, &audit);
                wait = if line.is_possible() { LIVE_INTERVAL } else { POLL_INTERVAL };
            }
        }
        if follow == Follow::Yes && printer.state.is_over() {
            return Ok(());
        }
    }
}

/// Notes why no more output appears.
fn at_rest(place: &CommandContext, run: RunId, state: &State) {
    match (state.status, &state.question) {
        (Some(RunStatus::WaitingUser), Some(_)) => {
            let command = crate::commands::interactions::reply_command(&run.to_string());
            note(&format!("the run {}: {command}", run_words(run_state(state))));
        }
        (Some(RunStatus::Queued | RunStatus::Running), _) => warn_if_unowned(place, run),
        (_, _) => {}
    }
}

/// Prints events that come in the order of the Log.
struct Printer {
    what: What,
    part: Part,
    state: State,
    reader: ConversationReader,
    transcript: Transcript,
    style: TranscriptStyle,
    output: Output,
    live: LiveRun,
    lines: LineWriter,
    /// Of the document.
    is_first: bool,
}

/// What it takes to choose a line of FCMP.
#[derive(Deserialize)]
struct Head {
    seq: u64,
    meta: Meta,
}

impl Printer {
    fn new(run: RunId, what: What, part: Part, follow: Follow, output: Output) -> Self {
        let style = TranscriptStyle {
            asks: Asks::Here,
            calls: match follow {
                Follow::Yes => CallLayout::Live,
                Follow::No => CallLayout::Whole,
            },
            lines: output.terminal_width().map_or(LineLimit::Whole, LineLimit::Columns),
        };
        let mut printer = Self {
            what,
            part,
            state: State::default(),
            reader: ConversationReader::default(),
            transcript: Transcript::new(style),
            style,
            output,
            live: LiveRun::default(),
            lines: LineWriter::new(match what {
                What::Fcmp | What::Document if io::stdout().is_terminal() => {
                    Box::new(JsonForTerminal::new(Erasing(io::stdout())))
                }
                What::Transcript | What::Rasp | What::Fcmp | What::Document => Box::new(Erasing(io::stdout())),
            }),
            is_first: true,
        };
        if what == What::Document {
            // Kept until the document is written; an error is reported then.
            printer.lines.plain(&format!("{{\"run_id\":\"{run}\",\"events\":[\n")).ignored();
        }
        printer
    }

    /// Events were lost in a power failure: the Log is printed again from its beginning.
    fn reset(&mut self) {
        note("the Log was truncated; it is printed again from the beginning");
        self.state = State::default();
        self.live = LiveRun::default();
        self.reader = ConversationReader::default();
        self.transcript = Transcript::new(self.style);
        self.part.after = 0;
    }

    fn page(&mut self, page: &Page) -> Result<(), Failure> {
        match self.what {
            What::Rasp => page.lines().try_for_each(|line| self.rasp(&line))?,
            What::Transcript | What::Fcmp | What::Document => {
                let mut reader = std::mem::take(&mut self.reader);
                reader.translate(page, |item| match item {
                    ConversationItem::Event(event) => {
                        self.state.evolve(event);
                        self.live.evolve(event);
                        Ok(())
                    }
                    ConversationItem::Said(event) => self.said(&event),
                })?;
                self.reader = reader;
            }
        }
        self.lines.flush().map_err(to_stdout)
    }

    /// The exact bytes of the line; on a terminal, equivalent JSON without characters that hide or reverse text.
    fn rasp(&mut self, line: &LogLine<'_>) -> Result<(), Failure> {
        // A line of a later version is printed too.
        let event = line.known_event();
        if let Some(event) = &event {
            self.state.evolve(event);
            self.live.evolve(event);
        }
        let is_wanted = event.is_none_or(|event| self.part.has_attempt(event.attempt_number));
        if line.seq.0 <= self.part.after || !is_wanted {
            return Ok(());
        }
        let mut out = Erasing(io::stdout().lock());
        let shown = io::stdout().is_terminal().then(|| harmless(&String::from_utf8_lossy(line.json())));
        let json = shown.as_deref().map_or(line.json(), str::as_bytes);
        out.write_all(json).and_then(|()| out.write_all(b"\n")).map_err(to_stdout)
    }

    fn said(&mut self, event: &FcmpEvent) -> Result<(), Failure> {
        let is_wanted = self.part.has_attempt(event.meta.attempt);
        match self.what {
            What::Transcript => {
                // Events that are left out are read too: a later event may refer to them.
                let is_shown = is_wanted && event.meta.rasp_seq > self.part.after;
                let text = self.transcript.event(event, if is_shown { Shown::Yes } else { Shown::No });
                self.text(&text)
            }
            What::Fcmp | What::Document if !is_wanted || event.seq <= self.part.after => Ok(()),
            What::Fcmp => self.lines.fcmp(event).map_err(to_stdout),
            What::Document => {
                self.separate()?;
                self.lines.fcmp(event).map_err(to_stdout)
            }
            What::Rasp => Ok(()),
        }
    }

    /// `fcmp.jsonl`, as it was written when the run ended.
    fn kept(&mut self, lines: impl BufRead) -> Result<(), Failure> {
        for line in lines.lines() {
            let line = line.map_err(|error| Failure::internal(format!("fcmp.jsonl: {error}"), error))?;
            let head: Head = serde_json::from_str(&line)
                .map_err(|error| Failure::internal(format!("fcmp.jsonl: {error}"), error))?;
            if !self.part.has_attempt(head.meta.attempt) || head.seq <= self.part.after {
                continue;
            }
            if self.what == What::Document {
                self.separate()?;
            }
            self.lines.plain(&(line + "\n")).map_err(to_stdout)?;
        }
        self.lines.flush().map_err(to_stdout)
    }

    fn separate(&mut self) -> Result<(), Failure> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        self.lines.plain(comma).map_err(to_stdout)
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.lines.plain(&self.output.fit(&plain_lines(text))).map_err(to_stdout)
    }

    fn finish(mut self) -> Result<(), Failure> {
        let held = self.transcript.finish();
        self.text(&held)?;
        if self.what == What::Document {
            self.lines.plain("]}\n").map_err(to_stdout)?;
        }
        self.lines.flush().map_err(to_stdout)
    }
}

/// Writes lines of JSON to a terminal, without characters that hide or reverse text.
struct JsonForTerminal<W> {
    out: W,
    /// A line that has not ended.
    begun: Vec<u8>,
}

impl<W: Write> JsonForTerminal<W> {
    fn new(out: W) -> Self {
        Self { out, begun: Vec::new() }
    }
}

impl<W: Write> Write for JsonForTerminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                self.out.write_all(harmless(&String::from_utf8_lossy(&line)).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn to_stdout(error: io::Error) -> Failure {
    Failure::Write { path: "stdout".to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_hides_nothing_however_it_is_cut() {
        let json = "{\"a\":\"\u{202e}txt.exe\u{9b}é\"}\n[1]\n";
        for size in 1..=json.len() {
            let mut out = JsonForTerminal::new(Vec::new());
            json.as_bytes().chunks(size).for_each(|piece| out.write_all(piece).expect("written"));
            let shown = String::from_utf8(out.out).expect("text");
            assert_eq!(shown, "{\"a\":\"\\u202etxt.exe\\u009bé\"}\n[1]\n", "pieces of {size}");
        }
    }
}
