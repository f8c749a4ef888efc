//! What happened in each attempt, from the Log; and how much was recorded, from the evidence.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_evidence::names;
use skillrun_model::codes::NextAction;
use skillrun_model::rasp::data::{Exit, TurnLimit};
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::status::{CompletionState, TurnState};
use skillrun_model::verdict::Rule;
use skillrun_model::{AttemptNumber, Code, Stream, Timestamp};

/// A fold over the Log of a run. It holds a few words per attempt, and every attempt needs a process or a user to
/// begin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempts {
    list: Vec<Attempt>,
}

/// One turn of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Attempt {
    pub number: AttemptNumber,
    pub started_at: Timestamp,
    /// None while it is running.
    pub ended: Option<AttemptEnd>,
    /// The engine's output, each byte counted once; none where the evidence was removed.
    pub bytes: Option<u64>,
    pub streams: StreamSizes,
    /// How well its output could be read; null while it is running, and where the evidence was removed.
    pub parse: Option<ParseFigures>,
}

/// How the lines of an attempt were read, as recorded in `meta.N.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParseFigures {
    /// Lines that were read exactly.
    pub matched: u64,
    /// Lines whose meaning was inferred.
    pub inferred: u64,
    /// Lines that were kept as they are.
    pub raw: u64,
    /// Lines in the engine's format that have no known type.
    pub unknown: u64,
    /// The unknown ones by their type.
    #[serde(default)]
    pub unknown_types: BTreeMap<String, u64>,
    /// Mean of the confidences, weighted by bytes: 1.0 is an exact parse, below 0.7 is a guess.
    pub confidence: f64,
}

/// The one member of `meta.N.json` that is needed here.
#[derive(Deserialize)]
struct MetaFile {
    parse: Option<ParseFigures>,
}

/// No such file that skillrun writes is larger.
const META_MAX: u64 = 4 * 1024 * 1024;

impl ParseFigures {
    fn of(audit: &Path, number: AttemptNumber) -> Option<Self> {
        let path = audit.join(names::meta(number));
        // An engine may be able to write there: a link was not made by skillrun.
        fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let mut text = Vec::new();
        File::open(path).ok()?.take(META_MAX).read_to_end(&mut text).ok()?;
        serde_json::from_slice::<MetaFile>(&text).ok()?.parse
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttemptEnd {
    pub at: Timestamp,
    /// The rule of the settle table.
    pub rule: Rule,
    pub turn: TurnState,
    pub completion: CompletionState,
    pub reason_code: Code,
    pub exit: Exit,
    /// The limit that the turn has reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<TurnLimit>,
    /// When a time limit that the turn has reached was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// What the user could do after a turn that did not complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}

/// Bytes recorded of each stream; none where there is no recording of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StreamSizes {
    pub stdout: Option<u64>,
    pub stderr: Option<u64>,
    /// The terminal's copy, which repeats the bytes of the others.
    pub pty: Option<u64>,
    /// The input of the process.
    pub stdin: Option<u64>,
}

impl StreamSizes {
    fn of(audit: &Path, number: AttemptNumber) -> Self {
        let size = |name: String| {
            let found = fs::symlink_metadata(audit.join(name)).ok()?;
            found.is_file().then_some(found.len())
        };
        let log = |stream| size(names::log(stream, number));
        Self {
            stdout: log(Stream::Stdout),
            stderr: log(Stream::Stderr),
            pty: log(Stream::Pty),
            stdin: size(names::stdin(number)),
        }
    }

    /// The terminal's copy counts only where it is the only one.
    fn written(self) -> Option<u64> {
        let streams = [self.stdout, self.stderr].into_iter().flatten().reduce(u64::saturating_add);
        streams.or(self.pty)
    }
}

impl Attempts {
    pub fn take(&mut self, event: &Event) {
        let number = event.attempt_number;
        if let Data::Control(ControlData::AttemptStarted(started)) = &event.data {
            let streams = StreamSizes::default();
            let started_at = started.started_at;
            self.list.push(Attempt { number, started_at, ended: None, bytes: None, streams, parse: None });
        } else if let Data::Control(ControlData::AttemptEnded(ended)) = &event.data {
            let verdict = &ended.verdict;
            let end = AttemptEnd {
                at: event.ts,
                rule: verdict.rule,
                turn: verdict.turn,
                completion: verdict.completion,
                reason_code: verdict.reason_code,
                exit: ended.exit.clone(),
                limit: ended.limit,
                deadline_at: ended.deadline_at,
                next_actions: ended.next_actions.clone(),
            };
            if let Some(attempt) = self.list.iter_mut().rev().find(|attempt| attempt.number == number) {
                attempt.ended = Some(end);
            }
        }
    }

    /// Measures how much the evidence in `.audit` has of each. For a running attempt that is the amount so far.
    pub fn measure(&mut self, audit: &Path) {
        for attempt in &mut self.list {
            attempt.streams = StreamSizes::of(audit, attempt.number);
            attempt.bytes = attempt.streams.written();
            attempt.parse = attempt.ended.as_ref().and_then(|_| ParseFigures::of(audit, attempt.number));
        }
    }

    /// In the order in which they began.
    pub fn list(&self) -> &[Attempt] {
        &self.list
    }

    pub fn into_list(self) -> Vec<Attempt> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::rasp::data::{AttemptEnded, AttemptStarted};
    use skillrun_model::verdict::Verdict;
    use skillrun_model::{ProfileId, RunStatus};

    use super::*;
    use crate::testing::{Events, second};

    fn started() -> ControlData {
        ControlData::AttemptStarted(AttemptStarted::new(ProfileId::PlainText, second(0)))
    }

    fn ended(turn: TurnState, code: i32) -> ControlData {
        let (completion, reason) = (CompletionState::ALL[0], Code::ALL[0]);
        let verdict = Verdict::new(Rule::ALL[0], turn, completion, reason, RunStatus::Running);
        let exit = Exit { code: Some(code), signal: None, ended_by: None };
        ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit)))
    }

    #[test]
    fn every_end_belongs_to_its_attempt() {
        let (mut attempts, mut events) = (Attempts::default(), Events::default());
        for (number, data) in [
            (1, started()),
            (1, ended(TurnState::ALL[0], 7)),
            (2, started()),
            (9, ended(TurnState::ALL[0], 8)),
            (3, started()),
            (2, ended(TurnState::ALL[1], 9)),
        ] {
            attempts.take(&events.next(number, data));
        }
        let told: Vec<_> = attempts.list().iter().map(|one| (one.number.0, one.ended.as_ref())).collect();
        let code = |end: Option<&AttemptEnd>| end.map(|end| (end.at, end.turn, end.exit.code));
        let expected = [
            (1, Some((second(2), TurnState::ALL[0], Some(7)))),
            (2, Some((second(6), TurnState::ALL[1], Some(9)))),
            (3, None),
        ];
        assert_eq!(told.into_iter().map(|(number, end)| (number, code(end))).collect::<Vec<_>>(), expected);
    }

    /// The figures were only in a file, which no client could read.
    #[test]
    fn figures_of_the_parser_are_those_of_the_file() {
        let audit = tempfile::tempdir().expect("a folder");
        let (mut attempts, mut events) = (Attempts::default(), Events::default());
        for number in 1..=4 {
            attempts.take(&events.next(number, started()));
            if number != 2 {
                attempts.take(&events.next(number, ended(TurnState::ALL[0], 0)));
            }
        }
        let figures = serde_json::json!({
            "matched": 7, "inferred": 1, "raw": 2, "unknown": 3, "unknown_types": {"new.thing": 3}, "confidence": 0.5,
        });
        let write = |number: u32, text: String| {
            fs::write(audit.path().join(names::meta(AttemptNumber(number))), text).expect("written");
        };
        let meta = serde_json::json!({ "engine": "codex", "parse": figures }).to_string();
        write(1, meta.clone());
        write(2, meta);
        write(3, r#"{"engine":"codex"}"#.to_owned());
        write(4, "{\"parse\":".to_owned());
        attempts.measure(audit.path());
        let told: Vec<_> = attempts.list().iter().map(|one| serde_json::to_value(&one.parse).expect("JSON")).collect();
        let none = serde_json::Value::Null;
        assert_eq!(told, [figures, none.clone(), none.clone(), none], "of a settled attempt, where there are any");
    }

    #[test]
    fn bytes_are_counted_once_and_streams_apart() {
        let audit = tempfile::tempdir().expect("a folder");
        let (mut attempts, mut events) = (Attempts::default(), Events::default());
        (1..=4).for_each(|number| attempts.take(&events.next(number, started())));
        let write = |name: String, size: usize| fs::write(audit.path().join(name), vec![b'x'; size]).expect("written");
        let number = AttemptNumber;
        write(names::log(Stream::Stdout, number(1)), 10);
        write(names::log(Stream::Stderr, number(1)), 5);
        write(names::log(Stream::Pty, number(1)), 15);
        write(names::stdin(number(1)), 3);
        write(names::log(Stream::Pty, number(2)), 4);
        // A link is not a recording.
        let link = audit.path().join(names::log(Stream::Stdout, number(3)));
        std::os::unix::fs::symlink(names::stdin(number(1)), link).expect("a link");
        attempts.measure(audit.path());
        let list = attempts.into_list();
        let sizes = StreamSizes { stdout: Some(10), stderr: Some(5), pty: Some(15), stdin: Some(3) };
        assert_eq!((list[0].bytes, list[0].streams), (Some(15), sizes));
        assert_eq!((list[1].bytes, list[1].streams.pty), (Some(4), Some(4)));
        assert_eq!((list[2].bytes, list[2].streams), (None, StreamSizes::default()));
        assert_eq!(list[3].bytes, None);
        let json = serde_json::to_value(list[0].streams).expect("JSON");
        assert_eq!(json, serde_json::json!({"stdout": 10, "stderr": 5, "pty": 15, "stdin": 3}));
    }
}
