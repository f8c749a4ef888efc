//! A catalog agrees with its Logs, whatever happened to it.

mod damage;
mod fold;
mod measure;
mod query;
mod refresh;
mod some;
mod together;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use skillrun_lifecycle::run::State;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource};
use skillrun_model::rasp::data::*;
use skillrun_model::rasp::{ControlData, Correlation, Data, Event, EvidenceData, Level, RawRef, Source, SourceStream};
use skillrun_model::status::{CompletionState, EndedBy, TurnState};
use skillrun_model::verdict::{Rule, RunError, Verdict};
use skillrun_model::{AttemptNumber, EngineName, ExecutionMode, InteractionId, ProfileId, RunId, RunStatus, Timestamp};
use tempfile::TempDir;

use super::*;
use skillrun_log::file::Boot;
use skillrun_log::{Durability, EventLog, FileLog, Seq};

/// A data folder.
struct World {
    folder: TempDir,
    log: FileLog,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let log = FileLog::new(folder.path().join("runs"));
        Self { folder, log }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("catalog.sqlite")
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("catalog.sqlite-journal")
    }

    fn events(&self, run: RunId) -> PathBuf {
        self.log.runs().join(run.to_string()).join("events.jsonl")
    }

    /// Appends events to a Log, which is created if needed, as one batch. It has no writer afterwards.
    fn append(&self, run: RunId, data: &[Data]) {
        let next = if self.events(run).exists() {
            self.log.open(run).expect("opened").head.next_seq
        } else {
            self.log.create(run).expect("made").next_seq
        };
        let events: Vec<_> = (next.0..).zip(data).map(|(seq, data)| event_of(run, seq, data.clone())).collect();
        self.log.append(run, next, &events, Durability::Derived).expect("appended");
        self.log.release(run);
    }

    fn open(&self) -> (Catalog, Opened) {
        self.open_in("this boot")
    }

    fn open_in(&self, boot: &str) -> (Catalog, Opened) {
        Catalog::in_boot(&self.path(), self.log.runs(), Boot(Some(boot.to_owned()))).expect("a catalog")
    }

    /// All rows, after a refresh.
    fn rows(&self, catalog: &mut Catalog) -> Vec<Row> {
        catalog.refresh(&self.log).expect("refreshed");
        catalog.list(&Query::default()).expect("a list")
    }

    /// All rows as an empty catalog computes them.
    fn rows_from_scratch(&self) -> Vec<Row> {
        let (mut catalog, opened) = Catalog::open(Path::new("/dev/null/catalog"), self.log.runs()).expect("a catalog");
        assert!(matches!(opened, Opened::InMemory { .. }));
        self.rows(&mut catalog)
    }
}

fn run_id(number: u8) -> RunId {
    RunId::new(1_700_000_000_000, [number; 10])
}

fn moment(millis: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(millis * 1_000_000)
}

fn event_of(run: RunId, seq: u64, data: Data) -> Event {
    let (stream, parser, confidence) = if matches!(data, Data::Evidence(_)) {
        (SourceStream::Stdout, Some(ProfileId::PlainText), 0.3)
    } else {
        (SourceStream::Control, None, 1.0)
    };
    Event {
        run_id: run,
        seq,
        ts: moment(seq * 10),
        attempt_number: AttemptNumber(u32::try_from(seq / 10).expect("small")),
        source: Source { engine: EngineName::new("scripted"), stream, parser, confidence },
        level: Level::Info,
        data,
        correlation: Correlation {
            session_id: seq.is_multiple_of(5).then(|| format!("session {seq}").into()),
            request_id: seq.is_multiple_of(2).then(|| format!("request {seq}")),
            ..Correlation::default()
        },
        raw_ref: RawRef { stdout_from: seq, stdout_to: seq + 1, ..RawRef::default() },
    }
}

fn text(len: usize) -> Data {
    Data::Evidence(EvidenceData::RawStdout(RawText::new("x".repeat(len))))
}

fn started(skill: Option<&str>, engine: &str) -> Data {
    let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
    let started = RunStarted::new(engine, ExecutionMode::Interactive, versions);
    Data::Control(ControlData::RunStarted(RunStarted { skill: skill.map(str::to_owned), ..started }))
}

fn status(status: RunStatus) -> Data {
    Data::Control(ControlData::status(status))
}

fn message(id: &str, text: &str, partial: bool) -> Data {
    Data::Evidence(EvidenceData::MessageFinal(MessageFinal { partial, ..MessageFinal::new(id, text) }))
}

fn taken_back(id: &str) -> Data {
    let voided = Diagnostic { message_id: Some(id.to_owned()), ..Diagnostic::new(Code::MessageVoided, "") };
    Data::Evidence(EvidenceData::ParserWarning(voided))
}

fn usage(input_tokens: Option<u64>, output_tokens: Option<u64>) -> Data {
    Data::Control(ControlData::TurnUsage(TurnUsage { input_tokens, output_tokens, ..TurnUsage::default() }))
}

fn attempt_started() -> Data {
    let (engine_version, host_pid) = (Some("1.2".to_owned()), Some(7));
    let started = AttemptStarted::new(ProfileId::PlainText, moment(5));
    Data::Control(ControlData::AttemptStarted(AttemptStarted { engine_version, host_pid, ..started }))
}

fn pending(id: u32, prompt: &str) -> Pending {
    Pending {
        kind: InteractionKind::ChooseOne,
        options: vec![AskOption { value: "a".to_owned(), label: "A".to_owned(), default: true }],
        ui_hints: Some(json!({"rows": [1, 2.5, {"b": null, "a": "\u{2028}"}]})),
        default_decision_policy: DecisionPolicy::SafeDefault,
        policy_source: PolicySource::Skill,
        context: Some(json!("because")),
        deadline: Some(moment(u64::from(id) * 1_000)),
        on_deadline: OnDeadline::AutoReply,
        ..Pending::open_text(InteractionId(id), AttemptNumber(1), prompt)
    }
}

fn ask(id: u32, prompt: &str) -> Data {
    Data::Control(ControlData::InteractionRequested(pending(id, prompt)))
}

fn error(code: Code) -> RunError {
    RunError { details: vec!["a".to_owned()], ..RunError::new(ErrorCategory::Engine, code, "it failed") }
}

fn attempt_ended(output: Option<Map<String, Value>>, failure: Option<Code>) -> Data {
    let (turn, completion) = (TurnState::Completed, CompletionState::Completed);
    let verdict = Verdict {
        confidence: 0.3,
        error: failure.map(error),
        warnings: vec![Code::LingerEnded],
        output,
        pending: Some(pending(3, "?")),
        answer_message_id: Some("m".to_owned()),
        ..Verdict::new(Rule::Waiting, turn, completion, Code::CleanFinal, RunStatus::Succeeded)
    };
    let exit = Exit { code: Some(0), signal: None, ended_by: Some(EndedBy::Exited) };
    let ended = AttemptEnded { elapsed_ms: Some(3), ..AttemptEnded::new(verdict, exit) };
    Data::Control(ControlData::AttemptEnded(Box::new(ended)))
}

fn failed(code: Code) -> Data {
    Data::Control(ControlData::RunFailed(RunFailed::new(error(code), Vec::new())))
}

fn completed() -> Data {
    Data::Control(ControlData::RunCompleted(RunCompleted::new(Code::CleanFinal)))
}

fn canceled() -> Data {
    Data::Control(ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None }))
}

/// A short life: begun, asked, answered, done.
fn life() -> Vec<Data> {
    vec![
        started(Some("haiku"), "scripted"),
        status(RunStatus::Queued),
        status(RunStatus::Running),
        attempt_started(),
        text(300),
        attempt_ended(None, None),
        ask(1, "Which colour?"),
        status(RunStatus::WaitingUser),
    ]
}

/// Any event, in any order: the fold is total.
fn any_data() -> impl Strategy<Value = Data> {
    let statuses = prop::sample::select(RunStatus::ALL.to_vec());
    let replied = |id| {
        let reply = InteractionReplied::new(InteractionId(id), ResolutionMode::UserReply, "blue \u{85}");
        Data::Control(ControlData::InteractionReplied(InteractionReplied { files: vec!["f".to_owned()], ..reply }))
    };
    let timeout = |id, fails| {
        let (interaction_id, deadline) = (InteractionId(id), None);
        let fails_with = Some(Code::InteractionWaitTimeout).filter(|_| fails);
        let timeout = InteractionTimeout { interaction_id, deadline, fails_with };
        Data::Control(ControlData::InteractionTimeout(timeout))
    };
    let decision = |id| {
        let (interaction_id, policy) = (InteractionId(id), DecisionPolicy::EngineJudgement);
        let (source, reason) = (Some(AutoDecisionSource::AutoDecideTimeout), Some(AutoDecideReason::UserNoReply));
        let decision = AutoDecision { interaction_id, source, reason, policy, instruction: "go".to_owned() };
        Data::Control(ControlData::AutoDecision(decision))
    };
    let output = prop::option::of(prop::collection::btree_map("[a-zü]{1,3}", any::<f64>(), 0..4));
    prop_oneof![
        2 => Just(started(Some("haiku"), "scripted")),
        1 => Just(started(None, "codex")),
        6 => statuses.prop_map(status),
        4 => Just(attempt_started()),
        4 => (output, any::<bool>()).prop_map(|(output, fails)| {
            let output = output.map(|map| map.into_iter().map(|(key, value)| (key, json!(value))).collect());
            attempt_ended(output, Some(Code::EngineFailed).filter(|_| fails))
        }),
        4 => (1..5_u32, ".{0,300}").prop_map(|(id, prompt)| ask(id, &prompt)),
        4 => (1..5_u32).prop_map(replied),
        2 => (1..5_u32, any::<bool>()).prop_map(move |(id, fails)| timeout(id, fails)),
        2 => (1..5_u32).prop_map(decision),
        1 => Just(completed()),
        2 => (1..4_u32, ".{0,300}", any::<bool>()).prop_map(|(id, text, cut)| message(&id.to_string(), &text, cut)),
        1 => (1..4_u32).prop_map(|id| taken_back(&id.to_string())),
        1 => (any::<Option<u64>>(), any::<Option<u64>>()).prop_map(|(input, output)| usage(input, output)),
        1 => Just(failed(Code::EngineNotFound)),
        1 => Just(canceled()),
        8 => (0..2_000_usize).prop_map(text),
    ]
}
