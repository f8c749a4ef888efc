//! The suite of all Logs, and failures that only files can have.

mod descriptors;
mod index;
mod outside;
mod processes;
mod recent;
mod recovery;

use std::fs;
use std::path::PathBuf;

use skillrun_model::RunId;
use tempfile::TempDir;

use super::FileLog;
use super::lock::Boot;
use crate::conformance::{self, MANY, events, page, read_all, run_id, text_event};
use crate::*;

conformance::conform!(|| {
    let folder = TempDir::new().expect("a folder");
    (FileLog::new(folder.path().join("runs")), folder)
});

/// A folder of runs, and one of them.
struct Fixture {
    folder: TempDir,
    run: RunId,
}

impl Fixture {
    /// A Log with a number of events and without a writer.
    fn new(count: u64) -> Self {
        let fixture = Self { folder: TempDir::new().expect("a folder"), run: run_id(1) };
        let log = fixture.log();
        log.create(fixture.run).expect("a Log");
        for from in (1..=count).step_by(100) {
            let batch = events(fixture.run, from, (from + 100).min(count + 1));
            log.append(fixture.run, Seq(from), &batch, Durability::Derived).expect("appended");
        }
        fixture
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn log(&self) -> FileLog {
        FileLog::new(self.runs())
    }

    /// The same folder after a reboot.
    fn log_in_boot(&self, boot: &str) -> FileLog {
        FileLog::in_boot(self.runs(), Boot(Some(boot.to_owned())))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.runs().join(self.run.to_string()).join(name)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path("events.jsonl")).expect("the Log")
    }

    fn set_bytes(&self, bytes: &[u8]) {
        fs::write(self.path("events.jsonl"), bytes).expect("written");
    }
}
