//! The evidence of one attempt while it is being written: recorder, secrets, budget, and errors.

use std::io;
use std::ops::Range;

use skillrun_evidence::Recorder;
use skillrun_model::{EndedBy, IgnoredError, Stream};

use super::deadlines::Moment;
use crate::secrets::{Scanner, Secrets};

/// Why nothing more is recorded.
#[derive(Debug)]
pub(crate) enum RecordingProblem {
    /// The byte budget is used up.
    Budget,
    /// A file could not be written.
    Disk(io::Error),
}

impl RecordingProblem {
    pub(crate) fn ended_by(&self) -> EndedBy {
        match self {
            Self::Budget => EndedBy::Budget,
            Self::Disk(_) => EndedBy::HostError,
        }
    }
}

#[derive(Debug)]
pub(crate) struct AttemptEvidence {
    pub(crate) recorder: Recorder,
    scanners: [Scanner; 3],
    stdin_scanner: Scanner,
    /// The start of the recorder's time.
    pub(crate) begun: Moment,
    last_announced: Moment,
    pub(crate) trouble: Option<RecordingProblem>,
    pub(crate) discarded: u64,
    pub(crate) reads: u64,
    last_bytes: [Option<u8>; 3],
    /// Since when the end of a string is held back, because a secret may continue in another one.
    strings_held: [Option<Moment>; 3],
}

/// Reads within this time share a record.
const TOGETHER: Moment = 1_000_000;

/// Maximum time for which the end of a string is held back: a reader may be waiting for it.
const STRINGS_HELD: Moment = 1_000_000_000;

impl AttemptEvidence {
    pub(crate) fn new(recorder: Recorder, begun: Moment) -> Self {
        Self {
            recorder,
            scanners: [Scanner::new(), Scanner::new(), Scanner::new()],
            stdin_scanner: Scanner::new(),
            begun,
            last_announced: begun.saturating_sub(TOGETHER),
            trouble: None,
            discarded: 0,
            reads: 0,
            last_bytes: [None; 3],
            strings_held: [None; 3],
        }
    }

    fn time(&self, now: Moment) -> u64 {
        now.saturating_sub(self.begun)
    }

    /// Records bytes of a stream. Bytes that cannot be kept are counted.
    pub(crate) fn take(&mut self, now: Moment, secrets: &Secrets, stream: Stream, bytes: &[u8], max_bytes: u64) {
        self.reads += 1;
        if self.trouble.is_some() {
            self.discarded += bytes.len() as u64;
            return;
        }
        let room = usize::try_from(max_bytes.saturating_sub(self.recorder.total())).unwrap_or(usize::MAX);
        let before = self.recorder.written(stream);
        let kept = &bytes[..bytes.len().min(room)];
        if let Err(error) = self.recorder.write(stream, kept) {
            self.trouble = Some(RecordingProblem::Disk(error));
        } else if kept.len() < bytes.len() {
            self.trouble = Some(RecordingProblem::Budget);
        }
        let written = (self.recorder.written(stream) - before) as usize;
        self.discarded += (bytes.len() - written) as u64;
        let written = &bytes[..written];
        self.last_bytes[stream.index()] = written.last().copied().or(self.last_bytes[stream.index()]);
        let mut found = Vec::new();
        let clear = self.scanners[stream.index()].push(secrets, written, &mut found);
        self.hide(stream, found);
        self.recorder.clear(stream, clear);
        let held = &mut self.strings_held[stream.index()];
        *held = self.scanners[stream.index()].holds_strings().then(|| held.unwrap_or(now));
    }

    fn hide(&mut self, stream: Stream, ranges: Vec<Range<u64>>) {
        for range in ranges {
            if let Err(error) = self.recorder.hide(stream, range) {
                self.trouble.get_or_insert(RecordingProblem::Disk(error));
            }
        }
    }

    /// No bytes arrived in time to decide whether a secret continues in another string.
    fn release_strings(&mut self, now: Moment) {
        for stream in Stream::ALL {
            let at = stream.index();
            if self.strings_held[at].is_some_and(|since| now >= since.saturating_add(STRINGS_HELD)) {
                self.strings_held[at] = None;
                let mut found = Vec::new();
                self.scanners[at].release(&mut found);
                self.hide(stream, found);
                self.recorder.clear(stream, self.scanners[at].clear());
            }
        }
    }

    /// Records input of the process.
    pub(crate) fn gave(&mut self, secrets: &Secrets, bytes: &[u8]) {
        if let Err(error) = self.recorder.write_stdin(bytes) {
            self.trouble.get_or_insert(RecordingProblem::Disk(error));
        }
        let mut found = Vec::new();
        self.stdin_scanner.push(secrets, bytes, &mut found);
        for range in found {
            self.recorder.hide_stdin(range).ignored();
        }
    }

    /// Whether everything so far ends with a whole line, and no secret has begun.
    pub(crate) fn is_at_line_end(&self, stream: Stream) -> bool {
        let is_clear = self.scanners[stream.index()].end() == self.clear_to(stream);
        is_clear && self.last_bytes[stream.index()].is_none_or(|byte| byte == b'\n')
    }

    /// The stream continues in another part, in the middle of a line and perhaps of a secret: a possible beginning is
    /// hidden here, the rest is searched there.
    pub(crate) fn cut(&mut self, stream: Stream, next: &mut Self) {
        let scanner = &self.scanners[stream.index()];
        let held = scanner.unfinished();
        next.scanners[stream.index()] = scanner.continued();
        self.hide(stream, held);
    }

    fn clear_to(&self, stream: Stream) -> u64 {
        self.recorder.clear_to(stream)
    }

    /// When the pending bytes will be announced.
    pub(crate) fn announce_at(&self) -> Option<Moment> {
        let news = self.recorder.has_news().then_some(self.last_announced.saturating_add(TOGETHER));
        let held = self.strings_held.iter().flatten().map(|since| since.saturating_add(STRINGS_HELD));
        held.chain(news).min()
    }

    pub(crate) fn announce(&mut self, now: Moment) {
        self.release_strings(now);
        self.last_announced = now;
        let time = self.time(now);
        if let Err(error) = self.recorder.announce(time) {
            self.trouble.get_or_insert(RecordingProblem::Disk(error));
        }
    }

    pub(crate) fn end(&mut self, now: Moment, stream: Stream) {
        let time = self.time(now);
        if self.trouble.is_some() && !self.recorder.is_over(stream) {
            // The rest of a secret that has begun here may be among the bytes that could not be kept.
            let unfinished = self.scanners[stream.index()].unfinished();
            unfinished.into_iter().for_each(|range| drop(self.recorder.hide(stream, range)));
        }
        self.strings_held[stream.index()] = None;
        if let Err(error) = self.recorder.end(time, stream) {
            self.trouble.get_or_insert(RecordingProblem::Disk(error));
        }
    }

    pub(crate) fn act(&mut self, now: Moment, act: EndedBy) {
        let time = self.time(now);
        if let Err(error) = self.recorder.act(time, act) {
            self.trouble.get_or_insert(RecordingProblem::Disk(error));
        }
    }
}
