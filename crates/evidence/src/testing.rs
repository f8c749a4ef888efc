//! A folder of evidence for tests, and the steps that a feed returns for it.

use std::fs;
use std::path::Path;

use skillrun_model::AttemptNumber;
use tempfile::TempDir;

use crate::feed::{FeedStep, StepKind};
use crate::{Attempt, Feed, Folder, Patterns};

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
