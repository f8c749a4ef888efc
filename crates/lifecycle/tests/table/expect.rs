//! The table of contract R3.5: one function per row, and what a row of the test may add to it.

use serde_json::{Map, Value};
use skillrun_lifecycle::Settled;
use skillrun_model::verdict::Rule;
use skillrun_model::{Code, CompletionState, ExecutionMode, RunStatus, TurnState};

use super::build::{How, Turn};

/// A decision, as far as the table defines it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expect {
    rule: Rule,
    turn: TurnState,
    completion: CompletionState,
    reason: Code,
    run: RunStatus,
    error: Option<Code>,
    warnings: Vec<Code>,
    notices: Vec<Code>,
    output: Option<Map<String, Value>>,
    prompt: Option<String>,
}

impl From<&Settled> for Expect {
    fn from(settled: &Settled) -> Self {
        let verdict = &settled.verdict;
        Self {
            rule: verdict.rule,
            turn: verdict.turn,
            completion: verdict.completion,
            reason: verdict.reason_code,
            run: verdict.run_status,
            error: verdict.error.as_ref().map(|error| error.code),
            warnings: verdict.warnings.clone(),
            notices: settled.notices.iter().map(|notice| notice.code).collect(),
            output: verdict.output.clone(),
            prompt: verdict.pending.as_ref().map(|pending| pending.prompt.clone()),
        }
    }
}

impl Expect {
    fn new(rule: Rule, turn: TurnState, completion: CompletionState, reason: Code, run: RunStatus) -> Self {
        // `error.code` is the reason code unless another is named.
        let error = (run == RunStatus::Failed).then_some(reason);
        let (warnings, notices, output, prompt) = (Vec::new(), Vec::new(), None, None);
        Self { rule, turn, completion, reason, run, error, warnings, notices, output, prompt }
    }

    pub(crate) fn error(self, code: Code) -> Self {
        Self { error: Some(code), ..self }
    }

    pub(crate) fn warns(self, warnings: &[Code]) -> Self {
        Self { warnings: warnings.to_vec(), ..self }
    }

    pub(crate) fn notes(self, notices: &[Code]) -> Self {
        Self { notices: notices.to_vec(), ..self }
    }

    pub(crate) fn output(self, json: &str) -> Self {
        Self { output: Some(serde_json::from_str(json).expect("an object")), ..self }
    }

    /// The text of an answer without objects is the output.
    pub(crate) fn text(self, text: &str) -> Self {
        Self { output: Some(Map::from_iter([("text".to_owned(), Value::from(text))])), ..self }
    }

    /// As a conversation has it: the same turn, the same error, and the run waits for the next prompt.
    pub(crate) fn rests(self) -> Self {
        Self { run: RunStatus::WaitingUser, prompt: Some(NEXT_PROMPT.to_owned()), ..self }
    }

    pub(crate) fn turn(self, turn: TurnState) -> Self {
        Self { turn, ..self }
    }

    pub(crate) fn rule(&self) -> Rule {
        self.rule
    }
}

pub(crate) fn rule_1() -> Expect {
    let (turn, completion) = (TurnState::Interrupted, CompletionState::Interrupted);
    Expect::new(Rule::Canceled, turn, completion, Code::Canceled, RunStatus::Canceled)
}

/// The run rests: it waits for the next prompt, with the error of the turn.
pub(crate) const NEXT_PROMPT: &str = "The turn is over. Send the next prompt.";

pub(crate) fn rule_1b() -> Expect {
    let (turn, completion) = (TurnState::Interrupted, CompletionState::Interrupted);
    Expect::new(Rule::Interrupted, turn, completion, Code::Interrupted, RunStatus::WaitingUser).rests()
}

/// A clean final of a conversation.
pub(crate) fn rule_14_conversation() -> Expect {
    let (turn, completion) = (TurnState::Completed, CompletionState::AwaitingUserInput);
    Expect::new(Rule::Waiting, turn, completion, Code::CleanFinal, RunStatus::WaitingUser).rests()
}

/// A clean end of a conversation's turn without an answer.
pub(crate) fn rule_14_no_answer() -> Expect {
    broken(Rule::Waiting, TurnState::Failed, Code::AnswerMissing).rests()
}

/// Rules that end a run early: completion is interrupted, the run failed.
fn broken(rule: Rule, turn: TurnState, reason: Code) -> Expect {
    Expect::new(rule, turn, CompletionState::Interrupted, reason, RunStatus::Failed)
}

pub(crate) fn rule_2(turn: TurnState) -> Expect {
    broken(Rule::Limit, turn, Code::LimitReached)
}

pub(crate) fn rule_2b(turn: TurnState) -> Expect {
    broken(Rule::Failure, turn, Code::EngineFailed)
}

fn completed(rule: Rule, reason: Code, run: RunStatus) -> Expect {
    Expect::new(rule, TurnState::Completed, CompletionState::Completed, reason, run)
}

pub(crate) fn rule_3() -> Expect {
    completed(Rule::MarkerOutputInvalid, Code::DoneMarkerOutputInvalid, RunStatus::Failed)
        .error(Code::OutputSchemaInvalid)
}

/// "An output that is not there is OUTPUT_MISSING."
pub(crate) fn rule_3_missing() -> Expect {
    rule_3().error(Code::OutputMissing)
}

pub(crate) fn rule_3b() -> Expect {
    completed(Rule::MarkerInteractive, Code::DoneMarkerFound, RunStatus::Succeeded)
}

pub(crate) fn rule_3c() -> Expect {
    completed(Rule::MarkerAuto, Code::DoneMarkerFound, RunStatus::Succeeded)
}

pub(crate) fn rule_3c_failed() -> Expect {
    completed(Rule::MarkerAuto, Code::DoneMarkerFound, RunStatus::Failed).error(Code::EngineExitNonzero)
}

/// Rule 3b or 3c.
pub(crate) fn done(mode: ExecutionMode) -> Expect {
    match mode {
        ExecutionMode::Auto => rule_3c(),
        ExecutionMode::Interactive => rule_3b(),
        ExecutionMode::Conversation => panic!("a conversation has no marker"),
    }
}

pub(crate) fn rule_4() -> Expect {
    broken(Rule::TimedOut, TurnState::TimedOut, Code::Timeout)
}

pub(crate) fn rule_5(reason: Code) -> Expect {
    broken(Rule::HostEnded, TurnState::Interrupted, reason)
}

pub(crate) fn rule_5b(reason: Code) -> Expect {
    broken(Rule::NotStarted, TurnState::Failed, reason)
}

pub(crate) fn rule_6(turn: TurnState) -> Expect {
    broken(Rule::BadExit, turn, Code::EngineFailed)
}

pub(crate) fn rule_7(turn: TurnState) -> Expect {
    broken(Rule::EndMissing, turn, Code::EngineEndMissing)
}

pub(crate) fn rule_7b() -> Expect {
    let (turn, completion) = (TurnState::Interrupted, CompletionState::Unknown);
    Expect::new(Rule::ExitUnknown, turn, completion, Code::ExitUnknown, RunStatus::Failed)
}

pub(crate) fn rule_8() -> Expect {
    broken(Rule::AnswerMissing, TurnState::Failed, Code::AnswerMissing)
}

/// The agent says itself that it is not done.
pub(crate) fn rule_8b() -> Expect {
    let (turn, completion) = (TurnState::Completed, CompletionState::Unknown);
    Expect::new(Rule::AgentNotDone, turn, completion, Code::AgentNotDone, RunStatus::Failed)
        .notes(&[Code::DoneMarkerFalse])
}

/// With a schema; without one the reason is [`Code::CleanFinal`].
pub(crate) fn rule_9() -> Expect {
    completed(Rule::AutoValid, Code::OutputValid, RunStatus::Succeeded).warns(&[Code::CompletedWithoutDoneMarker])
}

pub(crate) fn rule_9_no_schema() -> Expect {
    completed(Rule::AutoValid, Code::CleanFinal, RunStatus::Succeeded).warns(&[Code::CompletedWithoutDoneMarker])
}

/// A run without a skill.
pub(crate) fn rule_9_prompt() -> Expect {
    completed(Rule::AutoValid, Code::CleanFinal, RunStatus::Succeeded)
}

/// The same in interactive mode.
pub(crate) fn rule_11_prompt() -> Expect {
    completed(Rule::SoftCompletion, Code::CleanFinal, RunStatus::Succeeded)
}

/// The marker was required.
pub(crate) fn rule_9_failed(reason: Code) -> Expect {
    completed(Rule::AutoValid, reason, RunStatus::Failed).error(Code::DoneMarkerMissing)
}

/// Its diagnostic comes after those of the answer.
pub(crate) fn rule_10(reason: Code, notices: &[Code]) -> Expect {
    let (turn, completion) = (TurnState::Completed, CompletionState::Unknown);
    let error = if reason == Code::OutputMissing { reason } else { Code::OutputSchemaInvalid };
    Expect::new(Rule::AutoInvalid, turn, completion, reason, RunStatus::Failed)
        .error(error)
        .notes(&[notices, &[Code::UnexpectedCompletionState]].concat())
}

pub(crate) fn rule_11() -> Expect {
    completed(Rule::SoftCompletion, Code::OutputValid, RunStatus::Succeeded)
        .warns(&[Code::InteractiveCompletedWithoutDoneMarker])
}

fn awaiting(rule: Rule, run: RunStatus) -> Expect {
    let (turn, completion) = (TurnState::Completed, CompletionState::AwaitingUserInput);
    Expect::new(rule, turn, completion, Code::TurnEndedWithoutMarker, run)
}

pub(crate) fn rule_12() -> Expect {
    awaiting(Rule::MaxAttempt, RunStatus::Failed).error(Code::InteractiveMaxAttemptExceeded)
}

pub(crate) fn rule_13() -> Expect {
    awaiting(Rule::SessionMissing, RunStatus::Failed).error(Code::SessionIdMissing)
}

pub(crate) fn rule_14(prompt: &str) -> Expect {
    Expect { prompt: Some(prompt.to_owned()), ..awaiting(Rule::Waiting, RunStatus::WaitingUser) }
}

/// A row of the test.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The rule or sentence of the contract it comes from.
    pub(crate) origin: &'static str,
    pub(crate) turn: Turn,
    pub(crate) how: How,
    pub(crate) expect: Expect,
}

/// The rows of one part.
#[derive(Debug, Default)]
pub(crate) struct Rows(pub(crate) Vec<Row>);

impl Rows {
    pub(crate) fn row(&mut self, name: &str, origin: &'static str, turn: Turn, how: How, expect: Expect) {
        self.0.push(Row { name: name.to_owned(), origin, turn, how, expect });
    }

    /// The same in both modes.
    pub(crate) fn both(&mut self, name: &str, origin: &'static str, turn: Turn, how: How, expect: Expect) {
        self.each(name, origin, turn, how, |_| expect.clone());
    }

    /// Both modes: the outcome of auto, then that of interactive.
    pub(crate) fn modes(&mut self, name: &str, origin: &'static str, turn: Turn, how: How, outcomes: (Expect, Expect)) {
        self.each(name, origin, turn, how, |mode| match mode {
            ExecutionMode::Auto => outcomes.0.clone(),
            ExecutionMode::Interactive => outcomes.1.clone(),
            ExecutionMode::Conversation => panic!("a conversation has rows of its own"),
        });
    }

    /// Both modes, each with its own outcome.
    pub(crate) fn each(
        &mut self,
        name: &str,
        origin: &'static str,
        turn: Turn,
        how: How,
        expect: impl Fn(ExecutionMode) -> Expect,
    ) {
        for mode in [ExecutionMode::Auto, ExecutionMode::Interactive] {
            self.row(&format!("{name}, {mode}"), origin, turn.clone(), how.clone().mode(mode), expect(mode));
        }
    }
}
