//! What happened in each attempt, from the Log; and how much was recorded, from the evidence.

use std::path::Path;

use serde::Serialize;
use skillrun_evidence::names;
use skillrun_model::rasp::data::Exit;
use skillrun_model::rasp::{Data, Event};
use skillrun_model::status::{CompletionState, TurnState};
use skillrun_model::verdict::Rule;
use skillrun_model::{AttemptNumber, Code, Stream, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Attempts {
    pub(super) list: Vec<Attempt>,
}

#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    pub(super) number: AttemptNumber,
    pub(super) started_at: Timestamp,
    /// None while it goes on.
    pub(super) ended: Option<Ended>,
    /// On its streams; none where the evidence is gone.
    pub(super) bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Ended {
    pub(super) at: Timestamp,
    /// Of the settle table.
    pub(super) rule: Rule,
    pub(super) turn: TurnState,
    pub(super) completion: CompletionState,
    pub(super) reason_code: Code,
    pub(super) exit: Exit,
}

impl Attempts {
    pub(super) fn take(&mut self, event: &Event) {
        let number = event.attempt_number;
        if let Data::AttemptStarted(started) = &event.data {
            self.list.push(Attempt { number, started_at: started.started_at, ended: None, bytes: None });
        } else if let Data::AttemptEnded(ended) = &event.data {
            let verdict = &ended.verdict;
            let ended = Ended {
                at: event.ts,
                rule: verdict.rule,
                turn: verdict.turn,
                completion: verdict.completion,
                reason_code: verdict.reason_code,
                exit: ended.exit.clone(),
            };
            if let Some(attempt) = self.list.iter_mut().rev().find(|attempt| attempt.number == number) {
                attempt.ended = Some(ended);
            }
        }
    }

    pub(super) fn measure(&mut self, audit: &Path) {
        for attempt in &mut self.list {
            let len = |stream: &Stream| std::fs::metadata(audit.join(names::log(*stream, attempt.number))).ok();
            let [stdout, stderr, pty] = Stream::ALL.map(|stream| len(&stream).map(|found| found.len()));
            // The terminal's copy has the same bytes again, unless it is all there is.
            let streams = [stdout, stderr].into_iter().flatten().reduce(|one, other| one + other);
            attempt.bytes = streams.or(pty);
        }
    }
}
