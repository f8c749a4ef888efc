//! One attempt's evidence while it is being written: the same steps that a [`Feed`] returns later.
//!
//! The host reports how far each stream can be read. A record beyond that waits, and so does every record behind it:
//! the order of the index is the order of the steps. Ends of streams and acts of the host wait for nothing else,
//! because everything that came before them precedes them in the index.

use std::path::{Path, PathBuf};

use skillrun_model::AttemptNumber;

use crate::Stream;
use crate::chunks::{ChunkReader, Writer};
use crate::error::EvidenceError;
use crate::feed::{Feed, FeedStep, Reach};
use crate::folder::{feed_of, streams_of};
use crate::names;
use crate::patterns::Patterns;

/// How far each stream can be read, in bytes, as reported by the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    pub stdout: u64,
    pub stderr: u64,
    pub pty: u64,
}

impl Extent {
    pub fn of(self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
            Stream::Pty => self.pty,
        }
    }
}

/// Returns the bytes of an attempt that is running.
#[derive(Debug)]
pub struct LiveFeed {
    audit: PathBuf,
    number: AttemptNumber,
    patterns: Patterns,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The index has no record yet, or does not exist. Which streams there are, and whether the terminal alone stands
    /// for stdout, is not known before the first record: all files of an attempt are created before it, but one by one.
    Waiting(Option<ChunkReader>),
    Reading(Box<Feed>),
}

impl LiveFeed {
    /// Begins at the first byte. The files need not exist yet.
    pub fn open(audit: &Path, attempt: AttemptNumber) -> Result<Self, EvidenceError> {
        let patterns = Patterns::default();
        let mut feed = Self { audit: audit.to_owned(), number: attempt, patterns, state: State::Waiting(None) };
        feed.look_for_record()?;
        Ok(feed)
    }

    /// Hides patterns too; call it before the first step. See [`Feed::hiding`].
    #[must_use]
    pub fn hiding(self, patterns: &Patterns) -> Self {
        let state = match self.state {
            State::Waiting(chunks) => State::Waiting(chunks),
            State::Reading(feed) => State::Reading(Box::new(feed.hiding(patterns))),
        };
        Self { patterns: patterns.clone(), state, ..self }
    }

    /// The next step; none when there is none yet. Steps beyond `extent` are returned by a later call.
    pub fn next_step(&mut self, extent: Extent) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        self.look_for_record()?;
        match &mut self.state {
            State::Waiting(_) => Ok(None),
            State::Reading(feed) => feed.next_within(Reach::To(extent)),
        }
    }

    /// Bytes given out so far.
    pub fn position(&self, stream: Stream) -> u64 {
        match &self.state {
            State::Waiting(_) => 0,
            State::Reading(feed) => feed.position(stream),
        }
    }

    /// The host no longer writes: its record is on the disk, or it is gone. The returned feed continues with the
    /// remaining steps, to the end, as if it had been read all along.
    pub fn finish(self) -> Result<Feed, EvidenceError> {
        match self.state {
            State::Waiting(_) => {
                let chunks = ChunkReader::open(&self.audit.join(names::chunks(self.number)))?;
                let feed = feed_of(&self.audit, self.number, chunks, streams_of(&self.audit, self.number)?)?;
                Ok(feed.hiding(&self.patterns))
            }
            State::Reading(mut feed) => {
                feed.measure()?;
                Ok(*feed)
            }
        }
    }

    fn look_for_record(&mut self) -> Result<(), EvidenceError> {
        let State::Waiting(waiting) = &mut self.state else { return Ok(()) };
        let path = self.audit.join(names::chunks(self.number));
        if waiting.is_none() {
            *waiting = ChunkReader::open_growing(&path)?;
        }
        let Some(mut chunks) = waiting.take() else { return Ok(()) };
        let Some(record) = chunks.next_written(Writer::AtWork).map_err(|e| EvidenceError::new(path, e))? else {
            *waiting = Some(chunks);
            return Ok(());
        };
        let feed = feed_of(&self.audit, self.number, Some(chunks), streams_of(&self.audit, self.number)?)?;
        let mut feed = feed.hiding(&self.patterns);
        feed.put_back(record);
        self.state = State::Reading(Box::new(feed));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use skillrun_model::EndedBy;

    use super::*;
    use crate::Recorder;
    use crate::testing::{Recording, RecordingAct, recording_acts, report, step_text, steps};

    const ONE: AttemptNumber = AttemptNumber(1);

    fn audit(recording: &Recording) -> PathBuf {
        recording.path().join(".audit")
    }

    fn take(feed: &mut LiveFeed, extent: Extent, given: &mut Vec<String>) {
        while let Some(step) = feed.next_step(extent).expect("readable") {
            given.push(step_text(&step));
        }
    }

    /// The steps to the end, and the problems.
    fn to_end(feed: LiveFeed, mut given: Vec<String>) -> (Vec<String>, Vec<String>) {
        let mut feed = feed.finish().expect("readable");
        given.extend(steps(&mut feed));
        (given, feed.problems())
    }

    fn everything() -> Extent {
        Extent { stdout: u64::MAX, stderr: u64::MAX, pty: u64::MAX }
    }

    #[test]
    fn nothing_comes_before_there_are_files() {
        let recording = Recording::new(&[]);
        let mut feed = LiveFeed::open(&audit(&recording), ONE).expect("nothing to read");
        assert!(feed.next_step(everything()).expect("nothing").is_none());
        let mut recorder = Recorder::create(&audit(&recording), ONE, &[Stream::Stdout]).expect("files");
        assert!(feed.next_step(everything()).expect("nothing").is_none());
        recorder.act(7, EndedBy::Stall).expect("an act");
        let mut given = Vec::new();
        take(&mut feed, Extent::default(), &mut given);
        assert_eq!(given, ["7 stall"]);
        let nowhere = LiveFeed::open(&audit(&recording).join("nowhere"), ONE).expect("nothing to read");
        assert_eq!(to_end(nowhere, vec![]), (vec![], vec![]));
    }

    #[test]
    fn a_record_beyond_the_extent_holds_back_all_that_follow() {
        let recording = Recording::new(&[]);
        let mut recorder = Recorder::create(&audit(&recording), ONE, &[Stream::Stdout, Stream::Stderr]).expect("files");
        let mut feed = LiveFeed::open(&audit(&recording), ONE).expect("nothing to read");
        for (t_ns, stream) in [(1, Stream::Stdout), (2, Stream::Stderr)] {
            recorder.write(stream, b"ab").expect("written");
            recorder.clear(stream, 2);
            recorder.announce(t_ns).expect("announced");
            recorder.end(t_ns + 2, stream).expect("the end");
        }
        let mut given = Vec::new();
        take(&mut feed, Extent { stdout: 1, stderr: 2, pty: 0 }, &mut given);
        assert_eq!(given, [""; 0]);
        take(&mut feed, Extent { stdout: 2, stderr: 1, pty: 0 }, &mut given);
        assert_eq!(given, ["1 stdout ab", "3 stdout over"]);
        assert_eq!((feed.position(Stream::Stdout), feed.position(Stream::Stderr)), (2, 0));
        assert_eq!(to_end(feed, given), recording.steps());
    }

    /// A line that was still being written was treated as a torn one, and nothing behind it was ever read.
    #[test]
    fn a_line_that_is_being_written_is_waited_for() {
        let index = concat!(
            "{\"t_ns\":1,\"stream\":\"stdout\",\"from\":0,\"to\":2}\n \n",
            "{\"t_ns\":2,\"eof\":\"stdout\"}\n{\"t_ns\":3,\"act\":\"linger\"}\n",
        );
        let expected = ["1 stdout ab", "2 stdout over", "3 linger"];
        let recording = Recording::new(&[("stdout.1.log", b"ab"), ("chunks.1.jsonl", b"")]);
        let mut feed = LiveFeed::open(&audit(&recording), ONE).expect("readable");
        let path = audit(&recording).join("chunks.1.jsonl");
        let mut file = OpenOptions::new().append(true).open(path).expect("the index");
        let mut given = Vec::new();
        for byte in index.bytes() {
            file.write_all(&[byte]).expect("written");
            take(&mut feed, everything(), &mut given);
        }
        assert_eq!(given, expected);
        file.write_all(b"{\"t_ns\":4,").expect("written");
        take(&mut feed, everything(), &mut given);
        let (given, problems) = to_end(feed, given);
        assert_eq!((given, problems.len()), (expected.map(str::to_owned).to_vec(), 1));
        assert_eq!(problems, recording.steps().1);
    }

    fn wirings() -> impl Strategy<Value = &'static [Stream]> {
        const WIRINGS: [&[Stream]; 4] =
            [&[Stream::Stdout], &[Stream::Stdout, Stream::Stderr], &Stream::ALL, &[Stream::Pty]];
        select(&WIRINGS[..])
    }

    /// What else may be in the index when the host was killed.
    fn tails() -> impl Strategy<Value = &'static str> {
        select(vec![
            "",
            "",
            "{\"t_ns\":1",
            "nonsense\n",
            "{\"t_ns\":9,\"stream\":\"stdout\",\"from\":0,\"to\":99999999}\n",
        ])
    }

    proptest! {
        #[test]
        fn a_living_attempt_gives_the_steps_of_a_finished_one(
            streams in wirings(),
            acts in recording_acts(vec(any::<u8>(), 0..12), 150_000, 60),
            tail in tails(),
        ) {
            let recording = Recording::new(&[]);
            let audit = audit(&recording);
            let mut feed = LiveFeed::open(&audit, ONE).expect("nothing to read");
            let mut recorder = Recorder::create(&audit, ONE, streams).expect("files");
            let mut told = [0; 3];
            let mut given = Vec::new();
            for (t_ns, act) in (1..).zip(acts) {
                if let RecordingAct::Read(parts) = act {
                    let extent = report(&recorder, parts, &mut told);
                    take(&mut feed, extent, &mut given);
                    let given_out: u64 = Stream::ALL.into_iter().map(|stream| feed.position(stream)).sum();
                    prop_assert!(given_out <= told.iter().sum());
                } else if matches!(act, RecordingAct::Restart) {
                    given.clear();
                    feed = LiveFeed::open(&audit, ONE).expect("readable");
                } else {
                    act.record(&mut recorder, t_ns);
                }
            }
            drop(recorder);
            let mut index = OpenOptions::new().append(true).open(audit.join(names::chunks(ONE))).expect("the index");
            index.write_all(tail.as_bytes()).expect("written");
            prop_assert_eq!(to_end(feed, given), recording.steps());
        }
    }
}
