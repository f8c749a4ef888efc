use proptest::prelude::*;
use serde_json::json;
use skillrun_model::codes::{ErrorCategory, NextActionKind};
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::data::{
    AttemptStarted, Exit, InteractionReplied, MessageFinal, ResolutionMode, RunCanceled, RunCompleted, RunFailed,
    RunStarted, Versions,
};
use skillrun_model::rasp::{Correlation, Level, RawRef, Source, SourceStream, SpanRef};
use skillrun_model::status::TurnState;
use skillrun_model::verdict::{Rule, VerdictEvidence};
use skillrun_model::{EngineName, ExecutionMode, InteractionId, ProfileId};

use super::*;
use crate::RunFolder;

fn run_id() -> RunId {
    RunId::new(1, [1; 10])
}

/// A Log that is being written.
struct Log {
    events: Vec<Event>,
    attempt: AttemptNumber,
    nanos: u64,
}

impl Log {
    fn new() -> Self {
        let mut log = Self { events: Vec::new(), attempt: AttemptNumber(0), nanos: 0 };
        let versions = Versions { skillrun: "0".into(), engine: None, profile: 1 };
        let mode = ExecutionMode::Interactive;
        log.control(ControlData::RunStarted(RunStarted::new("scripted", mode, versions)));
        log
    }

    /// A Log whose first attempt has begun.
    fn begun() -> Self {
        let mut log = Self::new();
        log.attempt();
        log
    }

    fn add(&mut self, stream: SourceStream, raw_ref: RawRef, data: Data) {
        self.nanos += 1_000_000_000;
        self.events.push(Event {
            run_id: run_id(),
            seq: self.events.len() as u64 + 1,
            ts: Timestamp::EPOCH.plus_nanos(self.nanos),
            attempt_number: self.attempt,
            source: Source { engine: EngineName::new("scripted"), stream, parser: None, confidence: 1.0 },
            level: Level::Info,
            data,
            correlation: Correlation::default(),
            raw_ref,
        });
    }

    fn control(&mut self, data: ControlData) {
        self.add(SourceStream::Control, RawRef::default(), Data::Control(data));
    }

    fn attempt(&mut self) {
        self.attempt.0 += 1;
        let started_at = Timestamp::EPOCH.plus_nanos(self.nanos + 5);
        self.control(ControlData::AttemptStarted(AttemptStarted::new(ProfileId::PlainText, started_at)));
    }

    fn message(&mut self, id: &str, text: &str, range: (u64, u64)) {
        self.message_on(SourceStream::Stdout, id, text, range);
    }

    fn message_on(&mut self, stream: SourceStream, id: &str, text: &str, (from, to): (u64, u64)) {
        let raw_ref = match stream {
            SourceStream::Stderr => RawRef { stderr_from: from, stderr_to: to, ..RawRef::default() },
            SourceStream::Stdout | SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => {
                RawRef { stdout_from: from, stdout_to: to, ..RawRef::default() }
            }
        };
        self.add(stream, raw_ref, Data::Evidence(EvidenceData::MessageFinal(MessageFinal::new(id, text))));
    }

    fn ended(&mut self, verdict: Verdict) {
        let exit = Exit { code: Some(0), signal: None, ended_by: None };
        self.control(ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit))));
    }

    fn replied(&mut self) {
        let replied = InteractionReplied::new(InteractionId(1), ResolutionMode::UserReply, "yes");
        self.control(ControlData::InteractionReplied(replied));
    }

    fn completed(&mut self) {
        let result = Some("result.json".into());
        self.control(ControlData::RunCompleted(RunCompleted { result, ..RunCompleted::new(Code::DoneMarkerFound) }));
    }

    fn completed_with(&mut self, verdict: Verdict) {
        self.ended(verdict);
        self.completed();
    }

    fn failed(&mut self) {
        let error = RunError::new(ErrorCategory::Engine, Code::EngineFailed, "no");
        let next_actions = vec![NextAction { action: NextActionKind::Retry, command: "skillrun retry".into() }];
        self.control(ControlData::RunFailed(RunFailed::new(error, next_actions)));
    }

    fn canceled(&mut self) {
        self.control(ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None }));
    }

    fn fold(&self) -> ResultFold {
        let mut fold = ResultFold::default();
        self.events.iter().for_each(|event| fold.event(event));
        fold
    }

    fn result(&self) -> RunResult {
        let result = self.fold().finish(run_id()).expect("it is over");
        assert_eq!(self.read_again().fold().finish(run_id()), Some(result.clone()), "made again from the Log");
        result
    }

    /// The same events as a reader of the Log has them.
    fn read_again(&self) -> Self {
        let again = |event: &Event| {
            let line = serde_json::to_string(event).expect("JSON");
            Event::from_json(&line).expect("an event")
        };
        Self { events: self.events.iter().map(again).collect(), attempt: self.attempt, nanos: self.nanos }
    }
}

fn span(from: u64, to: u64) -> SpanRef {
    SpanRef { stream: SourceStream::Stdout, from, to }
}

fn verdict(turn: TurnState, run_status: RunStatus, answer: Option<&str>, spans: &[SpanRef]) -> Verdict {
    Verdict {
        confidence: 0.8,
        answer_message_id: answer.map(str::to_owned),
        evidence: VerdictEvidence { answer: spans.to_vec(), ..VerdictEvidence::default() },
        ..Verdict::new(Rule::Waiting, turn, CompletionState::Completed, Code::DoneMarkerFound, run_status)
    }
}

fn succeeded(answer: &str) -> Verdict {
    verdict(TurnState::Completed, RunStatus::Succeeded, Some(answer), &[])
}

fn waiting(answer: &str) -> Verdict {
    verdict(TurnState::Completed, RunStatus::WaitingUser, Some(answer), &[])
}

#[test]
fn a_run_that_succeeded() {
    let mut log = Log::begun();
    log.message("m1", "I look around.", (0, 10));
    log.message("m2", "Done.\n```json\n{\"__SKILL_DONE__\": true}\n```", (10, 20));
    assert_eq!(log.fold().finish(run_id()), None, "it is not over");
    let mut done = succeeded("m2");
    done.output = json!({"a": 1}).as_object().cloned();
    done.warnings = vec![Code::LingerEnded];
    log.ended(done);
    assert_eq!(log.fold().finish(run_id()), None, "it is not over");
    log.completed();
    let result = log.result();
    let text = serde_json::to_string_pretty(&result).expect("JSON");
    assert!(!text.contains("__SKILL_DONE__"), "the marker is control only: {text}");
    let expected = json!({
        "run_id": run_id(),
        "status": "succeeded",
        "output": {"a": 1},
        "text": "Done.",
        "warnings": ["LINGER_ENDED"],
        "artifacts": [],
        "usage": null,
        "completion": {"state": "completed", "reason_code": "DONE_MARKER_FOUND", "confidence": 0.8},
        "timing": {
            "created_at": "1970-01-01T00:00:01.000000Z",
            "started_at": "1970-01-01T00:00:01.000000Z",
            "ended_at": "1970-01-01T00:00:06.000000Z",
            "elapsed_ms": 5000,
        },
        "attempts": 1,
        "next_actions": [],
    });
    assert_eq!(serde_json::to_value(&result).expect("JSON"), expected);
    assert_eq!(serde_json::from_str::<RunResult>(&text).expect("a result"), result);
}

#[test]
fn a_run_that_failed_tells_why_and_what_to_do() {
    let mut log = Log::new();
    log.failed();
    let result = log.result();
    assert_eq!((result.status, result.attempts, result.completion), (RunStatus::Failed, 0, None));
    assert_eq!(result.error.map(|error| error.code), Some(Code::EngineFailed));
    assert_eq!(result.next_actions.len(), 1);
    assert_eq!(result.timing.started_at, None);
}

/// Pitfall 6: an answer from an earlier turn shown for a failed later one.
#[test]
fn an_answer_of_an_earlier_turn_is_not_that_of_a_later_one() {
    let mut asked = Log::begun();
    asked.message("m1", "Which one?", (0, 10));
    asked.ended(waiting("m1"));

    let mut later_failed = Log { events: asked.events.clone(), ..asked };
    later_failed.replied();
    let replied = Log { events: later_failed.events.clone(), ..later_failed };
    later_failed.attempt();
    later_failed.message("m2", "I begin", (10, 20));
    later_failed.ended(verdict(TurnState::PartialFailed, RunStatus::Failed, None, &[]));
    later_failed.failed();
    assert_eq!(later_failed.result().text, None);

    let mut not_started = Log { events: replied.events.clone(), ..replied };
    not_started.failed();
    assert_eq!(not_started.result().text, None, "the second turn never began");

    let mut lost = Log { events: asked.events.clone(), ..asked };
    lost.attempt();
    lost.failed();
    assert_eq!(lost.result().text, None, "the second turn was never settled");

    let mut canceled = Log { events: asked.events.clone(), ..asked };
    canceled.canceled();
    assert_eq!(canceled.result().text.as_deref(), Some("Which one?"), "nothing came after it");
}

#[test]
fn an_incomplete_turn_has_no_answer() {
    for turn in TurnState::ALL {
        let mut log = Log::begun();
        log.message("m1", "text", (0, 10));
        log.ended(verdict(*turn, RunStatus::Failed, Some("m1"), &[]));
        log.failed();
        assert_eq!(log.result().text.is_some(), *turn == TurnState::Completed, "{turn}");
    }
}

#[test]
fn text_after_an_unanswered_question_does_not_count() {
    let mut log = Log::begun();
    log.message("m1", "done", (0, 10));
    let mut done = succeeded("m1");
    done.output = Some(Map::new());
    log.ended(done);
    log.failed();
    let result = log.result();
    assert_eq!((result.text, result.output), (None, None));
}

#[test]
fn messages_that_the_engine_went_on_with_are_one_answer() {
    let joined = |spans: &[SpanRef]| {
        let mut log = Log::begun();
        log.message("m0", "before ", (0, 5));
        log.message("m1", "first, ", (5, 10));
        log.message_on(SourceStream::Stderr, "e", "noise", (0, 5));
        log.message("m2", "second", (10, 20));
        log.message("m3", "after", (20, 30));
        log.ended(verdict(TurnState::Completed, RunStatus::Succeeded, Some("m2"), spans));
        log.completed();
        log.result().text.expect("a text")
    };
    assert_eq!(joined(&[span(5, 10), span(10, 20)]), "first, second");
    assert_eq!(joined(&[span(10, 20)]), "second");
    assert_eq!(joined(&[span(77, 78)]), "second", "ranges of another recording do not matter");
    assert_eq!(joined(&[]), "second");
}

#[test]
fn a_message_made_of_pieces_has_them_all_in_the_verdict() {
    let mut log = Log::begun();
    log.message("m1", "first ", (0, 5));
    let pieces = vec![span(5, 8), span(9, 12)];
    let message = MessageFinal { spans: pieces.clone(), ..MessageFinal::new("m2", "second") };
    log.add(
        SourceStream::Stdout,
        RawRef { stdout_from: 5, stdout_to: 12, ..RawRef::default() },
        Data::Evidence(EvidenceData::MessageFinal(message)),
    );
    let spans = [&[span(0, 5)], pieces.as_slice()].concat();
    log.ended(verdict(TurnState::Completed, RunStatus::Succeeded, Some("m2"), &spans));
    log.completed();
    assert_eq!(log.result().text.as_deref(), Some("first second"));
}

#[test]
fn few_texts_are_kept_and_the_answer_is_among_them() {
    let mut fold = ResultFold::default();
    let mut log = Log::begun();
    log.message("answer", "the answer", (0, 10));
    let large = "x".repeat(1 << 20);
    for n in 0..1_000 {
        log.message_on(SourceStream::Stderr, &format!("e{n}"), &large[..1 << (n % 12)], (n, n + 1));
    }
    for event in &log.events {
        fold.event(event);
        let kept = &fold.messages.stderr_len();
        assert!(*kept <= 64);
    }
    log.completed_with(succeeded("answer"));
    assert_eq!(log.result().text.as_deref(), Some("the answer"), "another stream does not push it out");
    let mut log = Log::begun();
    (0..100).for_each(|n| log.message(&format!("m{n}"), &large, (n, n + 1)));
    assert!(log.fold().messages.bytes() <= 9 << 20, "{}", log.fold().messages.bytes());
}

#[test]
fn messages_that_were_taken_back_make_room() {
    let mut log = Log::begun();
    log.message("answer", "the answer", (0, 10));
    for n in 0..100 {
        let id = format!("v{n}");
        log.message(&id, "void", (n, n + 1));
        let voided = Diagnostic { message_id: Some(id), ..Diagnostic::new(Code::MessageVoided, "") };
        let voided = Data::Evidence(EvidenceData::ParserWarning(voided));
        log.add(SourceStream::Stdout, RawRef::default(), voided);
    }
    log.completed_with(succeeded("answer"));
    assert_eq!(log.result().text.as_deref(), Some("the answer"));
}

#[test]
fn usage_is_that_of_all_attempts() {
    let usage = |input, reasoning, reported: Value| TurnUsage {
        input_tokens: Some(input),
        output_tokens: None,
        cached_input_tokens: Some(1),
        reasoning_tokens: reasoning,
        reported: serde_json::from_value(reported).expect("a map"),
    };
    let mut log = Log::begun();
    log.control(ControlData::TurnUsage(usage(5, None, json!({"cost": 0.25, "model": "a", "by": {"x": 1, "z": -3}}))));
    log.ended(waiting("m"));
    log.attempt();
    log.control(ControlData::TurnUsage(usage(
        7,
        Some(2),
        json!({"cost": 0.5, "model": "b", "by": {"x": 2, "y": 3, "z": 1}}),
    )));
    log.completed_with(succeeded("m"));
    let total = log.result().usage.expect("usage");
    assert_eq!((total.input_tokens, total.output_tokens), (Some(12), None));
    assert_eq!((total.cached_input_tokens, total.reasoning_tokens), (Some(2), Some(2)));
    let reported = serde_json::to_value(total.reported).expect("JSON");
    assert_eq!(reported, json!({"cost": 0.75, "model": "b", "by": {"x": 3, "y": 3, "z": -2}}));
    assert_eq!(log.result().attempts, 2);
}

/// The figures of a claude run with two turns, from its recording; they were added up to 0.0018.
#[test]
fn the_cost_of_a_session_counts_once() {
    let usage = |reported: Value| {
        let reported = serde_json::from_value(reported).expect("a map");
        ControlData::TurnUsage(TurnUsage { input_tokens: Some(100), reported, ..TurnUsage::default() })
    };
    let mut log = Log::begun();
    log.control(usage(json!({"total_cost_usd": 0.0006000000000000001})));
    log.ended(waiting("m"));
    log.attempt();
    log.control(usage(json!({"total_cost_usd": 0.0012000000000000001})));
    log.completed_with(succeeded("m"));
    let total = log.result().usage.expect("usage");
    assert_eq!((total.input_tokens, &total.reported["total_cost_usd"]), (Some(200), &json!(0.0012000000000000001)));
    assert_eq!(total.session_cost_usd(), Some(0.0012000000000000001));
}

#[test]
fn sums_beyond_all_bounds_are_no_panic() {
    let mut total = TurnUsage { input_tokens: Some(u64::MAX), ..TurnUsage::default() };
    total.reported.insert("n".into(), json!(u64::MAX));
    total.reported.insert("f".into(), json!(f64::MAX));
    let more = total.clone();
    usage::add(&mut total, &more);
    assert_eq!(total.input_tokens, Some(u64::MAX));
    assert_eq!(total.reported["n"], json!(u64::MAX as f64 * 2.0));
    assert_eq!(total.reported["f"], json!(f64::MAX), "there is no larger one");
}

#[test]
fn warnings_are_told_once() {
    let mut log = Log::new();
    let warned = |mut verdict: Verdict, codes: &[Code]| {
        verdict.warnings = codes.to_vec();
        verdict
    };
    log.attempt();
    log.ended(warned(waiting("m"), &[Code::LingerEnded]));
    log.attempt();
    log.control(skillrun_lifecycle::closing::warning(Code::ArtifactsCut, "many".into()).data);
    log.control(skillrun_lifecycle::closing::warning(Code::DoneMarkerRepeated, "noticed only".into()).data);
    log.ended(warned(succeeded("m"), &[Code::DoneMarkerFalse, Code::LingerEnded]));
    log.completed();
    assert_eq!(log.result().warnings, [Code::LingerEnded, Code::ArtifactsCut, Code::DoneMarkerFalse]);
    let mut from_engine = Log::new();
    let cut = Data::Evidence(EvidenceData::ParserWarning(Diagnostic::new(Code::ArtifactsCut, "many")));
    from_engine.add(SourceStream::Stdout, RawRef::default(), cut);
    from_engine.failed();
    assert_eq!(from_engine.result().warnings, [], "an engine cannot say that");
}

#[test]
fn artifacts_are_as_they_were_last() {
    let mut log = Log::new();
    let created = |path: &str, change| ControlData::ArtifactCreated(ArtifactCreated { path: path.into(), change });
    let indexed = |path: &str, size| {
        let (hash, media_type) = ("00".to_owned(), "text/plain".to_owned());
        ControlData::ArtifactIndexed(ArtifactIndexed { path: path.into(), size, hash, media_type, role: None })
    };
    log.attempt();
    for path in ["b", "a", "gone", "unread"] {
        log.control(created(path, FileChange::Created));
        log.control(indexed(path, 1));
    }
    log.attempt();
    log.control(created("a", FileChange::Modified));
    log.control(indexed("a", 2));
    log.control(created("gone", FileChange::Deleted));
    log.control(created("unread", FileChange::Modified));
    log.failed();
    let paths: Vec<(String, u64)> = log.result().artifacts.into_iter().map(|a| (a.path, a.size)).collect();
    assert_eq!(paths, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
}

#[test]
fn an_output_that_is_too_large_for_its_event_is_brought() {
    let mut log = Log::begun();
    let mut done = succeeded("m");
    done.output_bytes = Some(70_000);
    log.ended(done);
    let mut fold = log.fold();
    assert_eq!(fold.missing_output(), Some((AttemptNumber(1), 70_000)));
    let output = json!({"large": true}).as_object().cloned().expect("an object");
    fold.large_output(output.clone());
    assert_eq!(fold.missing_output(), None);
    fold.large_output(Map::new());
    log.completed();
    fold.event(log.events.last().expect("the end"));
    assert_eq!(fold.finish(run_id()).expect("over").output, Some(output), "the first stays");
    let mut small = ResultFold::default();
    small.large_output(Map::new());
    small.event(log.events.last().expect("the end"));
    assert_eq!(small.finish(run_id()).expect("over").output, None, "none is missing");
}

#[test]
fn nothing_follows_the_last_event() {
    let mut log = Log::new();
    log.completed();
    log.failed();
    assert_eq!(log.result().status, RunStatus::Succeeded);
    assert_eq!(log.result().error, None);
}

#[test]
fn the_file_is_written_whole_and_read_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::at(dir.path());
    assert_eq!(read(&folder).expect("readable"), None);
    let mut log = Log::new();
    log.completed();
    let result = log.result();
    write(&folder, &result).expect("written");
    assert_eq!(read(&folder).expect("readable"), Some(result));
    std::fs::write(folder.result(), "{").expect("written");
    read(&folder).expect_err("not a result");
    std::fs::File::create(folder.result()).expect("a file").set_len(1 << 40).expect("sparse");
    let error = read(&folder).expect_err("too large");
    assert!(error.to_string().contains("larger than"), "{error}");
}

proptest! {
    /// A writer has moments to the nanosecond and numbers as an engine's JSON gave them; a reader of the Log has what
    /// was written. Both must get the same result.
    #[test]
    fn the_result_is_the_same_from_the_log(created in 0_u64..4_000_000_000, took in 0_u64..4_000_000_000, number: f64) {
        prop_assume!(number.is_finite());
        let mut log = Log::new();
        log.events[0].ts = Timestamp::EPOCH.plus_nanos(created);
        log.attempt();
        let mut usage = TurnUsage::default();
        usage.reported.insert("cost".into(), json!(number));
        log.control(ControlData::TurnUsage(usage));
        let mut done = succeeded("m");
        done.output = json!({"number": number}).as_object().cloned();
        log.ended(done);
        log.completed();
        log.events.last_mut().expect("the end").ts = Timestamp::EPOCH.plus_nanos(created + took);
        let live = serde_json::to_string(&log.result()).expect("JSON");
        let later = serde_json::to_string(&log.read_again().fold().finish(run_id())).expect("JSON");
        prop_assert_eq!(live, later);
    }
}

#[test]
fn a_closed_conversation_counts_its_turns() {
    let prompt = || {
        let next = Pending::open_text(InteractionId(1), AttemptNumber(1), "?");
        Some(Pending { scope: Scope::Prompt, ..next })
    };
    let rested = |turn, answer| Verdict { pending: prompt(), ..verdict(turn, RunStatus::WaitingUser, answer, &[]) };
    let mut log = Log::begun();
    log.message("m1", "first", (0, 5));
    log.ended(rested(TurnState::Completed, Some("m1")));
    log.replied();
    log.attempt();
    log.ended(rested(TurnState::Failed, None));
    assert_eq!(log.fold().turn_text(), None, "the last turn has no answer");
    log.replied();
    log.attempt();
    log.message("m2", "third", (5, 9));
    log.ended(rested(TurnState::Completed, Some("m2")));
    assert_eq!(log.fold().turn_text(), Some("third"));
    log.control(ControlData::RunCompleted(RunCompleted::new(Code::Closed)));
    let result = log.result();
    assert_eq!((result.status, result.text.as_deref()), (RunStatus::Closed, Some("third")));
    assert_eq!(result.turns, BTreeMap::from([(TurnState::Completed, 2), (TurnState::Failed, 1)]));
}
