//! One attempt's evidence, record by record, in the order of the chunk index; the same code for a living attempt's
//! files and for old ones.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use skillrun_model::EndedBy;

use crate::Stream;
use crate::chunks::{ChunkKind, ChunkReader};
use crate::error::EvidenceError;
use crate::mask::Mask;

/// Most bytes given out at once.
const PIECE: usize = 64 * 1024;

/// What happened next. `t_ns` counts from the start of the attempt.
#[derive(Debug)]
pub struct Step<'a> {
    pub t_ns: u64,
    pub kind: StepKind<'a>,
}

#[derive(Debug)]
pub enum StepKind<'a> {
    Bytes { stream: Stream, bytes: &'a [u8] },
    Eof(Stream),
    Act(EndedBy),
}

#[derive(Debug)]
pub(crate) struct StreamFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) len: u64,
}

/// Gives out the bytes of one attempt.
#[derive(Debug)]
pub struct Feed {
    files: [Option<StreamFile>; 3],
    position: [u64; 3],
    ended: [bool; 3],
    /// The index said something the file does not have; what follows on that stream is not used.
    torn: [bool; 3],
    /// The index had a line that is no record.
    index_torn: bool,
    /// The index, until it is used up.
    chunks: Option<ChunkReader>,
    /// What is given out once there is no index, or no longer one.
    queue: VecDeque<Queued>,
    /// What is left of the record at hand.
    pending: Option<(Stream, u64)>,
    pty_is_stdout: bool,
    mask: Mask,
    buffer: Vec<u8>,
    now: u64,
}

#[derive(Debug, Clone, Copy)]
enum Queued {
    Whole(Stream),
    Eof(Stream),
}

impl Feed {
    pub(crate) fn new(
        files: [Option<StreamFile>; 3],
        chunks: Option<ChunkReader>,
        mask: Mask,
        pty_is_stdout: bool,
    ) -> Self {
        let queue = if chunks.is_some() {
            VecDeque::new()
        } else {
            Stream::ALL.into_iter().flat_map(|s| [Queued::Whole(s), Queued::Eof(s)]).collect()
        };
        Self {
            files,
            position: [0; 3],
            ended: [false; 3],
            torn: [false; 3],
            index_torn: false,
            chunks,
            queue,
            pending: None,
            pty_is_stdout,
            mask,
            buffer: vec![0; PIECE],
            now: 0,
        }
    }

    /// Bytes given out so far.
    pub fn position(&self, stream: Stream) -> u64 {
        self.position[stream.index()]
    }

    /// What of the index could not be used, in words; empty when all is well. Ask at the end.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.index_torn {
            problems.push("the chunk index has a line that is no record; what follows it was not used".to_owned());
        }
        for stream in Stream::ALL {
            let Some(file) = &self.files[stream.index()] else { continue };
            let name = stream.source();
            if self.torn[stream.index()] {
                problems.push(format!("the chunk index does not fit {name}; reading of {name} stopped there"));
            } else if self.position[stream.index()] < file.len {
                let left = file.len - self.position[stream.index()];
                problems.push(format!("{left} bytes of {name} have no record in the chunk index and were not read"));
            }
        }
        problems
    }

    /// The next step, or none when everything was given out. Each stream that exists ends exactly once.
    pub fn next_step(&mut self) -> Result<Option<Step<'_>>, EvidenceError> {
        loop {
            if let Some((stream, left)) = self.pending.take() {
                let piece = left.min(PIECE as u64) as usize;
                self.pending = Some((stream, left - piece as u64)).filter(|(_, left)| *left > 0);
                self.fill(stream, piece)?;
                let bytes = &self.buffer[..piece];
                return Ok(Some(Step { t_ns: self.now, kind: StepKind::Bytes { stream, bytes } }));
            }
            let kind = if self.chunks.is_some() { self.from_index()? } else { self.from_queue() };
            match kind {
                Progress::Step(kind) => return Ok(Some(Step { t_ns: self.now, kind })),
                Progress::GoOn => {}
                Progress::Done => return Ok(None),
            }
        }
    }

    fn from_index(&mut self) -> Result<Progress, EvidenceError> {
        let Some(chunks) = &mut self.chunks else { return Ok(Progress::GoOn) };
        let Some(record) = chunks.next_record().map_err(|e| EvidenceError::new("chunk index", e))? else {
            self.index_torn = chunks.is_torn();
            self.chunks = None;
            self.queue = Stream::ALL.into_iter().map(Queued::Eof).collect();
            return Ok(Progress::GoOn);
        };
        self.now = record.t_ns;
        Ok(match record.kind {
            ChunkKind::Act(act) => Progress::Step(StepKind::Act(act)),
            ChunkKind::Eof(stream) => self.end(self.seen_as(stream)),
            ChunkKind::Bytes { stream, from, len } => {
                self.accept(self.seen_as(stream), from, len);
                Progress::GoOn
            }
        })
    }

    fn from_queue(&mut self) -> Progress {
        match self.queue.pop_front() {
            None => Progress::Done,
            Some(Queued::Eof(stream)) => self.end(stream),
            Some(Queued::Whole(stream)) => {
                let len = self.files[stream.index()].as_ref().map_or(0, |f| f.len);
                self.pending = Some((stream, len)).filter(|_| len > 0);
                Progress::GoOn
            }
        }
    }

    fn seen_as(&self, stream: Stream) -> Stream {
        match stream {
            Stream::Pty if self.pty_is_stdout => Stream::Stdout,
            Stream::Stdout | Stream::Stderr | Stream::Pty => stream,
        }
    }

    fn end(&mut self, stream: Stream) -> Progress {
        let first = !std::mem::replace(&mut self.ended[stream.index()], true);
        if first && self.files[stream.index()].is_some() {
            Progress::Step(StepKind::Eof(stream))
        } else {
            Progress::GoOn
        }
    }

    fn accept(&mut self, stream: Stream, from: Option<u64>, len: u64) {
        let at = stream.index();
        let from = from.unwrap_or(self.position[at]);
        let in_file = self.files[at].as_ref().is_some_and(|f| from.checked_add(len).is_some_and(|to| to <= f.len));
        if self.torn[at] || self.ended[at] || from != self.position[at] || !in_file {
            self.torn[at] = true;
        } else if len > 0 {
            self.pending = Some((stream, len));
        }
    }

    fn fill(&mut self, stream: Stream, len: usize) -> Result<(), EvidenceError> {
        let at = stream.index();
        let Some(file) = &mut self.files[at] else { return Ok(()) };
        let bytes = &mut self.buffer[..len];
        file.file
            .seek(SeekFrom::Start(self.position[at]))
            .and_then(|_| file.file.read_exact(bytes))
            .map_err(|e| EvidenceError::new(&file.path, e))?;
        self.mask.apply(stream, self.position[at], bytes);
        self.position[at] += len as u64;
        Ok(())
    }
}

enum Progress {
    Step(StepKind<'static>),
    GoOn,
    Done,
}
