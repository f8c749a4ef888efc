//! A folder of evidence for tests, and the steps that a feed returns for it.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use skillrun_model::{AttemptNumber, EndedBy};
use tempfile::TempDir;

use crate::feed::{FeedStep, StepKind};
use crate::{Attempt, Extent, Feed, Folder, Patterns, Recorder, Stream};

/// A run's folder with `.audit/` in it, removed when dropped.
#[derive(Debug)]
pub(crate) struct Recording {
    dir: TempDir,
}

impl Recording {
    /// Files of `.audit` and their content.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let recording = Self { dir: tempfile::tempdir().expect("a folder for temporary files") };
        fs::create_dir(recording.path().join(".audit")).expect("a new folder");
        for (name, content) in files {
            recording.write(&format!(".audit/{name}"), content);
        }
        recording
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.path().join(name), content).expect("a file of the test's own");
    }

    pub(crate) fn folder(&self) -> Folder {
        Folder::open(self.path()).expect("a folder with attempts")
    }

    pub(crate) fn attempt(&self) -> Attempt {
        self.folder().attempt(AttemptNumber(1)).expect("attempt 1")
    }

    /// All steps of attempt 1 as text, and the problems of the index.
    pub(crate) fn steps(&self) -> (Vec<String>, Vec<String>) {
        let mut feed = self.attempt().feed().expect("a feed");
        let steps = steps(&mut feed);
        (steps, feed.problems())
    }
}

/// `moment stream bytes`, `moment stream over`, `moment act`.
pub(crate) fn steps(feed: &mut Feed) -> Vec<String> {
    let mut steps = Vec::new();
    while let Some(step) = feed.next_step().expect("a step") {
        steps.push(step_text(&step));
    }
    steps
}

pub(crate) fn step_text(step: &FeedStep<'_>) -> String {
    let what = match step.kind {
        StepKind::Bytes { stream, bytes } => format!("{} {}", stream.source(), bytes.escape_ascii()),
        StepKind::Eof(stream) => format!("{} over", stream.source()),
        StepKind::Act(act) => act.to_string(),
    };
    format!("{} {what}", step.t_ns)
}

pub(crate) fn patterns(all: &[&str]) -> Patterns {
    let all: Vec<String> = all.iter().map(|pattern| (*pattern).to_owned()).collect();
    Patterns::new(&all).expect("patterns")
}

/// What happens while an attempt is recorded and read.
#[derive(Debug, Clone)]
pub(crate) enum RecordingAct {
    Write(Stream, Vec<u8>),
    /// Everything behind what is clear is hidden.
    Hide(Stream),
    /// This many more bytes are clear.
    Clear(Stream, u64),
    Announce,
    End(Stream),
    Host(EndedBy),
    /// The given quarters of the recorded bytes that were not reported yet are reported to the reader, which then
    /// reads.
    Read([u64; 3]),
    /// The reader is killed, and another one begins.
    Restart,
}

/// At most `most` acts. Each write is such a piece, one in ten a piece of `long` bytes.
pub(crate) fn recording_acts(
    piece: impl Strategy<Value = Vec<u8>> + 'static,
    long: usize,
    most: usize,
) -> impl Strategy<Value = Vec<RecordingAct>> {
    let stream = || select(Stream::ALL.to_vec());
    let act = prop_oneof![
        9 => (stream(), piece).prop_map(|(stream, bytes)| RecordingAct::Write(stream, bytes)),
        1 => stream().prop_map(move |stream| RecordingAct::Write(stream, vec![b'0'; long])),
        2 => stream().prop_map(RecordingAct::Hide),
        6 => (stream(), select(vec![1, 3, u64::MAX])).prop_map(|(stream, count)| RecordingAct::Clear(stream, count)),
        6 => Just(RecordingAct::Announce),
        1 => stream().prop_map(RecordingAct::End),
        1 => select(vec![EndedBy::Stall, EndedBy::Linger]).prop_map(RecordingAct::Host),
        6 => [0..=4u64, 0..=4u64, 0..=4u64].prop_map(RecordingAct::Read),
        1 => Just(RecordingAct::Restart),
    ];
    proptest::collection::vec(act, 0..most)
}

impl RecordingAct {
    /// Does the host's part; the reader's part is left to the test.
    pub(crate) fn record(self, recorder: &mut Recorder, t_ns: u64) {
        match self {
            Self::Write(stream, bytes) if !recorder.is_over(stream) => recorder.write(stream, &bytes),
            Self::Hide(stream) => recorder.hide(stream, recorder.clear_to(stream)..recorder.written(stream)),
            Self::Clear(stream, count) => {
                recorder.clear(stream, recorder.clear_to(stream).saturating_add(count));
                Ok(())
            }
            Self::Announce => recorder.announce(t_ns),
            Self::End(stream) => recorder.end(t_ns, stream),
            Self::Host(act) => recorder.act(t_ns, act),
            Self::Write(..) | Self::Read(_) | Self::Restart => Ok(()),
        }
        .expect("recorded");
    }
}

/// Reports more of what was recorded: these quarters of what was not reported yet.
pub(crate) fn report(recorder: &Recorder, quarters: [u64; 3], told: &mut [u64; 3]) -> Extent {
    for stream in Stream::ALL {
        let at = stream.index();
        told[at] += (recorder.recorded(stream) - told[at]) * quarters[at] / 4;
    }
    let [stdout, stderr, pty] = *told;
    Extent { stdout, stderr, pty }
}
