//! The engine's output in all attempts, in recorded order, as text.

use std::collections::VecDeque;
use std::fs;

use serde::Deserialize;
use skillrun_evidence::error::EvidenceErrorKind;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Attempt, Extent, Feed, FeedStep, Folder, HostRecord, LiveFeed, Patterns, Stream, names};
use skillrun_model::{AttemptNumber, Wiring};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::retention::is_evidence_removed;

use super::CastError;
use super::clock::Micros;
use super::decode::{Decoder, LineEnds};

/// Some text of one stream.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Never before the previous chunk.
    pub(super) at: Micros,
    pub(super) attempt: AttemptNumber,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Chunks<'a> {
    run: &'a RunFolder,
    patterns: Patterns,
    /// None where there is no evidence.
    folder: Option<Folder>,
    left: VecDeque<AttemptNumber>,
    playing: Option<Playing>,
    next: Option<Chunk>,
    last: Micros,
}

/// The attempt that is being read.
#[derive(Debug)]
struct Playing {
    attempt: AttemptNumber,
    /// When it began.
    begin: Micros,
    source: Source,
    /// By [`Stream::index`]; none for those that are not shown.
    decoders: [Option<Decoder>; 3],
}

#[derive(Debug)]
enum Source {
    Recorded(Box<Feed>),
    /// The run is not over, and there are patterns: a line without its end is not shown. Later bytes are not waited
    /// for.
    Live(Box<LiveFeed>, Extent),
}

impl<'a> Chunks<'a> {
    pub(super) fn open(run: &'a RunFolder, patterns: Patterns) -> Result<Self, CastError> {
        let is_removed = is_evidence_removed(&run.audit());
        let folder = match Folder::open(run.root()) {
            _ if is_removed => None,
            Ok(folder) => Some(folder.hiding(&patterns)),
            Err(error) if matches!(error.kind, EvidenceErrorKind::NoFolder | EvidenceErrorKind::NoAttempt) => None,
            Err(error) => return Err(error.into()),
        };
        let left = folder.as_ref().map(Folder::attempts).unwrap_or_default().into();
        Ok(Self { run, patterns, folder, left, playing: None, next: None, last: Micros(0) })
    }

    pub(super) fn peek(&mut self) -> Result<Option<&Chunk>, CastError> {
        while self.next.is_none() {
            if self.playing.is_none() {
                let Some(number) = self.left.pop_front() else { break };
                self.playing = self.begin(number)?;
                continue;
            }
            let Some(playing) = &mut self.playing else { break };
            match playing.next()? {
                Played::Text(at, text) => {
                    self.last = self.last.max(at);
                    self.next =
                        Some(Chunk { at: self.last, attempt: playing.attempt, text }).filter(|c| !c.text.is_empty());
                }
                Played::Nothing => {}
                Played::Over => self.playing = None,
            }
        }
        Ok(self.next.as_ref())
    }

    pub(super) fn take(&mut self) -> Option<Chunk> {
        self.next.take()
    }

    fn begin(&mut self, number: AttemptNumber) -> Result<Option<Playing>, CastError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let attempt = folder.attempt(number)?;
        let audit = self.run.audit();
        let host = HostRecord::read(&audit, number).ok().flatten();
        let is_over = host.is_some() || !self.left.is_empty() || self.run.result().exists();
        let source = if is_over || self.patterns.is_empty() {
            attempt.feed().map(|feed| Source::Recorded(Box::new(feed)))
        } else {
            let size = |stream| size(self.run, number, stream);
            let extent = Extent { stdout: size(Stream::Stdout), stderr: size(Stream::Stderr), pty: size(Stream::Pty) };
            LiveFeed::open(&audit, number).map(|feed| Source::Live(Box::new(feed.hiding(&self.patterns)), extent))
        };
        // The note is written before anything is removed: without a note now, the mask was still complete.
        if is_evidence_removed(&audit) {
            return Err(CastError::EvidenceRemoved);
        }
        let wiring = host.map(|host| host.wiring).or_else(|| wiring_noted(self.run, number));
        let decoders = decoders(self.run, &attempt, wiring);
        // A clock that was set back does not make one attempt overlap the next.
        let begin = attempt.meta.started_at.map_or(self.last, Micros::of).max(self.last);
        Ok(Some(Playing { attempt: number, begin, source: source?, decoders }))
    }
}

enum Played {
    Text(Micros, String),
    Nothing,
    Over,
}

impl Playing {
    fn next(&mut self) -> Result<Played, CastError> {
        let step = match &mut self.source {
            Source::Recorded(feed) => feed.next_step()?,
            Source::Live(feed, extent) => feed.next_step(*extent)?,
        };
        let Some(FeedStep { t_ns, kind }) = step else { return Ok(Played::Over) };
        let at = self.begin.plus_nanos(t_ns);
        Ok(match kind {
            StepKind::Bytes { stream, bytes } => match &mut self.decoders[stream.index()] {
                Some(decoder) => Played::Text(at, decoder.take(bytes)),
                None => Played::Nothing,
            },
            StepKind::Eof(stream) => match &mut self.decoders[stream.index()] {
                Some(decoder) => Played::Text(at, decoder.end().to_owned()),
                None => Played::Nothing,
            },
            StepKind::Act(_) => Played::Nothing,
        })
    }
}

/// How much of a stream exists now, with or without records.
fn size(run: &RunFolder, number: AttemptNumber, stream: Stream) -> u64 {
    fs::metadata(run.audit().join(names::log(stream, number))).map_or(0, |metadata| metadata.len())
}

/// Which streams are shown, and how. The terminal's recording replaces both streams where it contains both; with split
/// terminals a host records only what was written to the controlling one, and that is shown beside them.
fn decoders(run: &RunFolder, attempt: &Attempt, wiring: Option<Wiring>) -> [Option<Decoder>; 3] {
    let size = |stream| size(run, attempt.number, stream);
    let pty = size(Stream::Pty);
    let has_pty = pty > 0 && !attempt.is_one_pty();
    let wiring = wiring.unwrap_or(match (attempt.is_one_pty(), has_pty) {
        (true, _) => Wiring::OnePty,
        (false, true) => Wiring::SplitPty,
        (false, false) => Wiring::Pipes,
    });
    let is_copy = has_pty && pty >= size(Stream::Stdout).saturating_add(size(Stream::Stderr));
    let (line_ends, shown) = match wiring {
        Wiring::Pipes => (LineEnds::WithReturn, [true, true, false]),
        Wiring::OnePty => (LineEnds::AsTheyAre, [true, true, false]),
        Wiring::SplitPty if is_copy => (LineEnds::AsTheyAre, [false, false, true]),
        Wiring::SplitPty => (LineEnds::AsTheyAre, [true, true, true]),
    };
    shown.map(|is_shown| is_shown.then(|| Decoder::new(line_ends)))
}

/// The wiring of an attempt whose host has not written its record, from the view of it.
fn wiring_noted(run: &RunFolder, number: AttemptNumber) -> Option<Wiring> {
    #[derive(Deserialize)]
    struct Noted {
        wiring: Option<Wiring>,
    }
    let text = fs::read(run.audit().join(names::meta(number))).ok()?;
    serde_json::from_slice::<Noted>(&text).ok()?.wiring
}
