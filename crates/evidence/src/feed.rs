//! One attempt's evidence, record by record, in the order of the chunk index; the same code for the files of a running
//! attempt, through [`crate::LiveFeed`], and for old ones.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use skillrun_model::EndedBy;

use crate::Stream;
use crate::chunks::{ChunkKind, ChunkReader, ChunkRecord, Writer};
use crate::error::EvidenceError;
use crate::lines::Lines;
use crate::live_feed::Extent;
use crate::mask::MaskFile;
use crate::patterns::Patterns;

/// Most bytes given out at once.
const PIECE: usize = 64 * 1024;

/// What happened next. `t_ns` counts from the start of the attempt.
#[derive(Debug)]
pub struct FeedStep<'a> {
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

impl StreamFile {
    pub(crate) fn open(path: PathBuf) -> Result<Self, EvidenceError> {
        let opened = File::open(&path).and_then(|file| file.metadata().map(|metadata| (file, metadata.len())));
        match opened {
            Ok((file, len)) => Ok(Self { path, file, len }),
            Err(error) => Err(EvidenceError::new(path, error)),
        }
    }

    fn measure(&mut self) -> Result<(), EvidenceError> {
        self.len = self.file.metadata().map_err(|e| EvidenceError::new(&self.path, e))?.len();
        Ok(())
    }
}

/// How far records may be given out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reach {
    /// The host no longer writes, or new records are ignored: the end of the index is the end.
    All,
    /// The host is still writing and vouches for the bytes up to this point.
    To(Extent),
}

/// Gives out the bytes of one attempt.
#[derive(Debug)]
pub struct Feed {
    files: [Option<StreamFile>; 3],
    /// Bytes read so far.
    position: [u64; 3],
    ended: [bool; 3],
    /// The index does not match the file; later records of that stream are not used.
    torn: [bool; 3],
    /// The index had a line that is not a record.
    index_torn: bool,
    /// The index, until it has been read completely.
    chunks: Option<ChunkReader>,
    /// A record that is beyond the current reach.
    held: Option<ChunkRecord>,
    /// The steps that remain once there is no index, or the index has been read.
    queue: VecDeque<Queued>,
    /// What is left of the current record.
    pending: Option<(Stream, u64)>,
    pty_is_stdout: bool,
    mask: MaskFile,
    /// Present only when there are patterns.
    lines: Option<Lines>,
    /// A stream that is over, once the rest of its last line was given out.
    over: Option<Stream>,
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
        mask: MaskFile,
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
            held: None,
            queue,
            pending: None,
            pty_is_stdout,
            mask,
            lines: None,
            over: None,
            buffer: vec![0; PIECE],
            now: 0,
        }
    }

    /// Hides patterns too; call it before the first step.
    ///
    /// Bytes are then returned when their line is complete, at the moment of its end, so that a pattern sees the whole
    /// line; parts of a line are returned earlier only when it is longer than 64 KiB (see `lines`). The last line of a
    /// stream comes right before the end of the stream, at that moment. Acts keep their places among the ends of lines,
    /// but bytes of a line that began before an act come after it. For a reader of lines, nothing arrives later than
    /// without patterns.
    #[must_use]
    pub fn hiding(self, patterns: &Patterns) -> Self {
        Self { lines: Lines::new(patterns), ..self }
    }

    /// Bytes given out so far.
    pub fn position(&self, stream: Stream) -> u64 {
        self.lines.as_ref().map_or(self.position[stream.index()], |lines| lines.given(stream))
    }

    /// The parts of the index that could not be used, as text; empty when there are none. Call it at the end.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.index_torn {
            problems
                .push("the chunk index has a line that is not a record; everything after it was ignored".to_owned());
        }
        for stream in Stream::ALL {
            let Some(file) = &self.files[stream.index()] else { continue };
            let name = stream.source();
            if self.torn[stream.index()] {
                problems.push(format!("the chunk index does not match {name}; reading of {name} stopped there"));
            } else if self.position[stream.index()] < file.len {
                let left = file.len - self.position[stream.index()];
                problems.push(format!("{left} bytes of {name} have no record in the chunk index and were not read"));
            }
        }
        problems
    }

    /// A message about bytes that were withheld because the mask is incomplete; none when the mask is complete. Call it
    /// at the end.
    pub fn withheld(&self) -> Option<String> {
        let bytes = self.mask.withheld();
        (bytes > 0).then(|| {
            format!(
                "the mask has fewer lines than the chunk index counts; {bytes} bytes that it may hide were withheld"
            )
        })
    }

    /// The next step, or none when everything was given out. Each stream that exists ends exactly once.
    pub fn next_step(&mut self) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        self.next_within(Reach::All)
    }

    /// Puts back a record that was already read; it is returned first.
    pub(crate) fn put_back(&mut self, record: ChunkRecord) {
        self.held = Some(record);
    }

    /// Measures the files as they are now, so that everything in them can be returned.
    pub(crate) fn measure(&mut self) -> Result<(), EvidenceError> {
        self.files.iter_mut().flatten().try_for_each(StreamFile::measure)?;
        self.mask.refresh()
    }

    /// Measures the file and reads the mask, as far as a record that was just written needs more than what is known. The
    /// ranges that hide its bytes were on the disk before it, and it counts them.
    fn look_again(
        &mut self,
        stream: Stream,
        from: Option<u64>,
        len: u64,
        masks: Option<u64>,
    ) -> Result<(), EvidenceError> {
        let to = from.unwrap_or(self.position[stream.index()]).saturating_add(len);
        if let Some(file) = self.files[stream.index()].as_mut().filter(|file| file.len < to) {
            file.measure()?;
        }
        if masks.is_none() || !self.mask.knows(masks) { self.mask.refresh() } else { Ok(()) }
    }

    /// The next step, or none when there is none within reach.
    pub(crate) fn next_within(&mut self, reach: Reach) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        loop {
            if let Some(stream) = self.over.take() {
                return Ok(Some(FeedStep { t_ns: self.now, kind: StepKind::Eof(stream) }));
            }
            if let Some((stream, left)) = self.pending.take() {
                let piece = left.min(PIECE as u64) as usize;
                self.pending = Some((stream, left - piece as u64)).filter(|(_, left)| *left > 0);
                self.fill(stream, piece)?;
                if let Some(lines) = &mut self.lines {
                    let (offset, bytes) = lines.take(stream, &self.buffer[..piece]);
                    self.mask.apply(stream, offset, bytes);
                    if bytes.is_empty() {
                        continue;
                    }
                    return Ok(Some(self.lines_given(stream)));
                }
                let bytes = &self.buffer[..piece];
                return Ok(Some(FeedStep { t_ns: self.now, kind: StepKind::Bytes { stream, bytes } }));
            }
            let kind = if self.chunks.is_some() { self.next_of_index(reach)? } else { self.next_of_queue() };
            match kind {
                Progress::Step(StepKind::Eof(stream)) if self.has_rest(stream) => {
                    self.over = Some(stream);
                    return Ok(Some(self.lines_given(stream)));
                }
                Progress::Step(kind) => return Ok(Some(FeedStep { t_ns: self.now, kind })),
                Progress::GoOn => {}
                Progress::Done => return Ok(None),
            }
        }
    }

    /// Whether the end of the stream has completed a last line, which can then be returned.
    fn has_rest(&mut self, stream: Stream) -> bool {
        let Some(lines) = &mut self.lines else { return false };
        let (offset, bytes) = lines.end(stream);
        self.mask.apply(stream, offset, bytes);
        !bytes.is_empty()
    }

    fn lines_given(&self, stream: Stream) -> FeedStep<'_> {
        let bytes = self.lines.as_ref().map_or(&[][..], Lines::last);
        FeedStep { t_ns: self.now, kind: StepKind::Bytes { stream, bytes } }
    }

    fn next_of_index(&mut self, reach: Reach) -> Result<Progress, EvidenceError> {
        let Some(chunks) = &mut self.chunks else { return Ok(Progress::GoOn) };
        let writer = match reach {
            Reach::All => Writer::Gone,
            Reach::To(_) => Writer::AtWork,
        };
        let next = match self.held.take() {
            Some(record) => Some(record),
            None => chunks.next_written(writer).map_err(|e| EvidenceError::new("chunk index", e))?,
        };
        let Some(record) = next else {
            if let Reach::To(_) = reach {
                return Ok(Progress::Done);
            }
            self.index_torn = chunks.is_torn();
            self.chunks = None;
            self.queue = Stream::ALL.into_iter().map(Queued::Eof).collect();
            return Ok(Progress::GoOn);
        };
        if !self.is_within(reach, &record) {
            self.held = Some(record);
            return Ok(Progress::Done);
        }
        self.now = record.t_ns;
        Ok(match record.kind {
            ChunkKind::Act(act) => Progress::Step(StepKind::Act(act)),
            ChunkKind::Eof(stream) => self.end(self.seen_as(stream)),
            ChunkKind::Bytes { stream, from, len, masks } => {
                let stream = self.seen_as(stream);
                if let Reach::To(_) = reach {
                    self.look_again(stream, from, len, masks)?;
                }
                self.accept(stream, from, len, masks);
                Progress::GoOn
            }
        })
    }

    fn is_within(&self, reach: Reach, record: &ChunkRecord) -> bool {
        let Reach::To(extent) = reach else { return true };
        match record.kind {
            ChunkKind::Bytes { stream, from, len, masks: _ } => {
                let from = from.unwrap_or(self.position[self.seen_as(stream).index()]);
                from.checked_add(len).is_some_and(|to| to <= extent.of(stream))
            }
            // These records have no bytes, and follow the records that came before them.
            ChunkKind::Eof(_) | ChunkKind::Act(_) => true,
        }
    }

    fn next_of_queue(&mut self) -> Progress {
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

    fn accept(&mut self, stream: Stream, from: Option<u64>, len: u64, masks: Option<u64>) {
        let at = stream.index();
        let from = from.unwrap_or(self.position[at]);
        let in_file = self.files[at].as_ref().is_some_and(|f| from.checked_add(len).is_some_and(|to| to <= f.len));
        if self.torn[at] || self.ended[at] || from != self.position[at] || !in_file {
            self.torn[at] = true;
        } else if len > 0 {
            if !self.mask.knows(masks) {
                self.mask.withhold(stream, from, from + len);
            }
            self.pending = Some((stream, len));
        }
    }

    fn fill(&mut self, stream: Stream, len: usize) -> Result<(), EvidenceError> {
        let at = stream.index();
        let Some(file) = &self.files[at] else { return Ok(()) };
        let bytes = &mut self.buffer[..len];
        file.file.read_exact_at(bytes, self.position[at]).map_err(|e| EvidenceError::new(&file.path, e))?;
        // Patterns are searched in what the process wrote: a `*` of the mask must not keep one from being found.
        if self.lines.is_none() {
            self.mask.apply(stream, self.position[at], bytes);
        }
        self.position[at] += len as u64;
        Ok(())
    }
}

enum Progress {
    Step(StepKind<'static>),
    GoOn,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Recording;

    /// A record of `chunks.N.jsonl`, at the moment it begins at.
    fn chunk(stream: &str, from: u64, to: u64) -> String {
        format!("{{\"i\":0,\"t_ns\":{},\"stream\":\"{stream}\",\"from\":{from},\"to\":{to},\"batch\":0}}\n", 10 + from)
    }

    fn recording(index: &str) -> Recording {
        let files: [(&str, &[u8]); 3] =
            [("stdout.1.log", b"abcdef"), ("stderr.1.log", b"xyz"), ("chunks.1.jsonl", index.as_bytes())];
        Recording::new(&files)
    }

    #[test]
    fn bytes_come_in_the_order_of_the_index() {
        let acts =
            "{\"t_ns\":30,\"act\":\"linger\"}\n{\"t_ns\":40,\"eof\":\"stdout\"}\n{\"t_ns\":41,\"eof\":\"stderr\"}\n";
        let index = [chunk("stdout", 0, 2), chunk("stderr", 0, 3), chunk("stdout", 2, 6), acts.to_owned()].concat();
        let (steps, problems) = recording(&index).steps();
        let expected =
            ["10 stdout ab", "10 stderr xyz", "12 stdout cdef", "30 linger", "40 stdout over", "41 stderr over"];
        assert_eq!((&steps[..], &problems[..]), (&expected.map(str::to_owned)[..], &[][..]));
    }

    #[test]
    fn the_older_form_goes_on_where_it_was() {
        let index = "{\"t\":1,\"s\":\"stdout\",\"n\":4}\n{\"t\":2,\"s\":\"stderr\",\"n\":3}\n{\"t\":3,\"s\":\"stdout\",\"n\":2}\n";
        let (steps, problems) = recording(index).steps();
        let expected = [
            "1000000000 stdout abcd",
            "2000000000 stderr xyz",
            "3000000000 stdout ef",
            "3000000000 stdout over",
            "3000000000 stderr over",
        ];
        assert_eq!((steps, problems), (expected.map(str::to_owned).to_vec(), vec![]));
    }

    #[test]
    fn without_an_index_stdout_comes_first_and_whole() {
        let recording =
            Recording::new(&[("stderr.1.log", b"xyz"), ("stdout.1.log", b"abc"), ("pty-output.1.log", b"p")]);
        let (steps, problems) = recording.steps();
        let expected = ["0 stdout abc", "0 stdout over", "0 stderr xyz", "0 stderr over", "0 pty p", "0 pty over"];
        assert_eq!((steps, problems), (expected.map(str::to_owned).to_vec(), vec![]));
    }

    #[test]
    fn a_large_file_comes_in_pieces() {
        let stdout = vec![b'x'; 2 * PIECE + 1];
        let recording = Recording::new(&[("stdout.1.log", &stdout)]);
        let mut feed = recording.attempt().feed().expect("a feed");
        let mut lengths = Vec::new();
        while let Some(step) = feed.next_step().expect("a step") {
            if let StepKind::Bytes { bytes, .. } = step.kind {
                lengths.push(bytes.len());
            }
        }
        assert_eq!(lengths, [PIECE, PIECE, 1]);
        assert_eq!(feed.position(Stream::Stdout), stdout.len() as u64);
    }

    #[test]
    fn bytes_without_a_record_are_not_used() {
        let (steps, problems) = recording(&chunk("stdout", 0, 2)).steps();
        assert_eq!(steps, ["10 stdout ab", "10 stdout over", "10 stderr over"]);
        let expected = [
            "4 bytes of stdout have no record in the chunk index and were not read",
            "3 bytes of stderr have no record in the chunk index and were not read",
        ];
        assert_eq!(problems, expected);
        let (steps, problems) = recording("").steps();
        assert_eq!((steps, problems.len()), (vec!["0 stdout over".to_owned(), "0 stderr over".to_owned()], 2));
    }

    #[test]
    fn a_record_that_does_not_fit_stops_its_stream_alone() {
        let past_the_end = [chunk("stdout", 0, 2), chunk("stdout", 2, 7), chunk("stdout", 2, 4), chunk("stderr", 0, 3)];
        let gap = [chunk("stdout", 0, 2), chunk("stdout", 3, 6), chunk("stdout", 2, 6), chunk("stderr", 0, 3)];
        let overlap = [chunk("stdout", 0, 2), chunk("stdout", 1, 6), chunk("stdout", 2, 6), chunk("stderr", 0, 3)];
        let overflow = [chunk("stdout", 0, 2), chunk("stdout", 2, u64::MAX), String::new(), chunk("stderr", 0, 3)];
        let over = "{\"t_ns\":12,\"eof\":\"stdout\"}\n".to_owned();
        let after_the_end = [chunk("stdout", 0, 2), over, chunk("stdout", 2, 6), chunk("stderr", 0, 3)];
        for index in [past_the_end, gap, overlap, overflow, after_the_end] {
            let (steps, problems) = recording(&index.concat()).steps();
            let bytes: Vec<_> = steps.iter().filter(|step| !step.ends_with("over")).collect();
            assert_eq!(bytes, ["10 stdout ab", "10 stderr xyz"], "{index:?}");
            assert_eq!(steps.iter().filter(|step| step.ends_with("stdout over")).count(), 1);
            let expected = ["the chunk index does not match stdout; reading of stdout stopped there"];
            assert_eq!(problems, expected, "{index:?}");
        }
    }

    #[test]
    fn a_record_of_a_missing_file_gives_no_step() {
        let index = [chunk("stderr", 0, 3), chunk("stdout", 0, 3)].concat();
        let recording = Recording::new(&[("stdout.1.log", b"abc"), ("chunks.1.jsonl", index.as_bytes())]);
        assert_eq!(recording.steps().0, ["10 stdout abc", "10 stdout over"]);
    }

    #[test]
    fn a_torn_index_is_reported() {
        let (steps, problems) =
            recording(&[&chunk("stdout", 0, 6), "{\"t_ns\":1,\n", &chunk("stderr", 0, 3)].concat()).steps();
        assert_eq!(steps, ["10 stdout abcdef", "10 stdout over", "10 stderr over"]);
        let expected = [
            "the chunk index has a line that is not a record; everything after it was ignored",
            "3 bytes of stderr have no record in the chunk index and were not read",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_stream_ends_once() {
        let over = "{\"t_ns\":50,\"eof\":\"stdout\"}\n";
        let (steps, _) = recording(&[&chunk("stdout", 0, 6), over, over].concat()).steps();
        assert_eq!(steps, ["10 stdout abcdef", "50 stdout over", "50 stderr over"]);
    }

    #[test]
    fn the_terminal_alone_stands_for_stdout() {
        let index = [chunk("pty", 0, 2), "{\"t_ns\":20,\"eof\":\"pty\"}\n".to_owned()].concat();
        let mask = b"{\"stream\":\"pty\",\"from\":1,\"to\":2}\n";
        let files: [(&str, &[u8]); 3] =
            [("pty-output.1.log", b"ab"), ("chunks.1.jsonl", index.as_bytes()), ("redact.1.jsonl", mask)];
        let recording = Recording::new(&files);
        assert!(recording.attempt().is_one_pty());
        assert_eq!(recording.steps(), (vec!["10 stdout a*".to_owned(), "20 stdout over".to_owned()], vec![]));
        let beside = Recording::new(&[files[0], files[1], files[2], ("stderr.1.log", b"")]);
        assert!(!beside.attempt().is_one_pty());
        assert_eq!(beside.steps().0, ["10 pty a*", "20 pty over", "20 stderr over"]);
    }

    #[test]
    fn the_mask_holds_across_pieces() {
        let stdout = vec![b'x'; PIECE + 10];
        let mask = format!("{{\"stream\":\"stdout\",\"from\":{},\"to\":{}}}\n", PIECE - 2, PIECE + 3);
        let recording = Recording::new(&[("stdout.1.log", &stdout), ("redact.1.jsonl", mask.as_bytes())]);
        let mut feed = recording.attempt().feed().expect("a feed");
        let mut read = Vec::new();
        while let Some(step) = feed.next_step().expect("a step") {
            if let StepKind::Bytes { bytes, .. } = step.kind {
                read.extend_from_slice(bytes);
            }
        }
        let mut expected = stdout;
        expected[PIECE - 2..PIECE + 3].fill(b'*');
        assert!(read == expected);
    }

    /// A mask that a power cut had emptied was trusted, and the secret was shown.
    #[test]
    fn bytes_are_withheld_where_the_mask_lacks_lines() {
        let counted = |stream: &str, from: u64, to: u64, masks: u64| {
            chunk(stream, from, to).replace("}\n", &format!(",\"masks\":{masks}}}\n"))
        };
        let index = [counted("stdout", 0, 2, 0), counted("stdout", 2, 5, 1), counted("stdout", 5, 6, 1)].concat();
        let read = |mask: &[u8], hide: &[&str]| {
            let files: [(&str, &[u8]); 3] =
                [("stdout.1.log", b"abcdef"), ("chunks.1.jsonl", index.as_bytes()), ("redact.1.jsonl", mask)];
            let recording = Recording::new(&files);
            let mut feed = recording.attempt().feed().expect("a feed").hiding(&crate::testing::patterns(hide));
            let steps: Vec<_> = crate::testing::steps(&mut feed).into_iter().filter(|s| !s.ends_with("over")).collect();
            assert_eq!(feed.problems(), [""; 0]);
            (steps.join(", "), feed.withheld().is_some())
        };
        let sound = b"{\"stream\":\"stdout\",\"from\":3,\"to\":4}\n";
        assert_eq!(read(sound, &[]), ("10 stdout ab, 12 stdout c*e, 15 stdout f".to_owned(), false));
        for lost in [&b""[..], b"\0\0\0\0\0\0\0\0", b"{\"stream\":\"stdout\",\"from\":3,\"t"] {
            assert_eq!(read(lost, &[]), ("10 stdout ab, 12 stdout ***, 15 stdout *".to_owned(), true));
            assert_eq!(read(lost, &["x"]), ("15 stdout ab****".to_owned(), true), "through patterns too");
        }
        let without = Recording::new(&[("stdout.1.log", b"abcdef"), ("chunks.1.jsonl", index.as_bytes())]);
        assert_eq!(without.steps().0[1], "12 stdout ***", "a mask that is gone");
    }

    /// Showing what should be hidden is worse than showing nothing.
    #[test]
    fn a_mask_that_cannot_be_read_is_an_error() {
        let recording = recording("");
        std::fs::create_dir(recording.path().join(".audit/redact.1.jsonl")).expect("a new folder");
        assert!(recording.attempt().feed().is_err());
    }
}
