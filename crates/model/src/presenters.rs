//! One table for everything that shows a turn or a run: state × presenter → the words, whether the text is an answer, the
//! exit code and the end of a turn in the Agent Client Protocol. No presenter has words of its own for a state; `docs/presenters.md` and the words of
//! the page are made from this table.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::CheckStatus;
use crate::codes::{Code, ErrorCategory};
use crate::delegation::DelegatedState;
use crate::interaction::Scope;
use crate::status::{RunStatus, TurnState, wire_enum};
use crate::verdict::{EngineLimit, RunError, Verdict};
use crate::workflow::{StepStanding, WorkflowOutcome};

crate::word_enum! {
    /// Something that shows states.
    pub Presenter {
        /// The commands: sentences and status words in a terminal, and exit codes.
        Cli = "cli",
        /// The web page.
        Page = "page",
        /// Conversation events.
        Fcmp = "fcmp",
        /// Responses of the service.
        Http = "http",
        /// An agent of the Agent Client Protocol.
        Acp = "acp",
    }
}

wire_enum! {
    /// What presenters distinguish about a run: its status, what a waiting run waits for, and why one failed.
    RunState {
        Queued = "queued",
        Running = "running",
        /// A question is open.
        WaitingAnswer = "waiting_answer",
        /// The run is at rest, and takes the next prompt.
        WaitingPrompt = "waiting_prompt",
        Succeeded = "succeeded",
        Closed = "closed",
        Failed = "failed",
        /// Failed, because a time limit was reached.
        FailedTimeout = "failed_timeout",
        /// Failed, because the output is missing or does not fit its schema.
        FailedOutput = "failed_output",
        /// Failed: a workflow that has some usable results, but not all that it requires.
        FailedPartial = "failed_partial",
        Canceled = "canceled",
    }
}

wire_enum! {
    /// What presenters distinguish about a turn that has ended: its state, and which limit of the engine ended it.
    TurnEnding {
        Completed = "completed",
        PartialFailed = "partial_failed",
        Failed = "failed",
        /// Failed, because the engine reached the length of an answer.
        FailedTokens = "failed_tokens",
        /// Failed, because the engine reached its number of requests to the model.
        FailedRequests = "failed_requests",
        /// Failed, because the model or its service declined to answer.
        Refused = "refused",
        Interrupted = "interrupted",
        TimedOut = "timed_out",
    }
}

wire_enum! {
    /// Why an agent of the Agent Client Protocol ended a turn.
    StopReason {
        EndTurn = "end_turn",
        MaxTokens = "max_tokens",
        MaxTurnRequests = "max_turn_requests",
        Refusal = "refusal",
        Cancelled = "cancelled",
    }
}

/// How a turn ends in the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpEnd {
    /// The response to the prompt has this reason.
    Stop(StopReason),
    /// The prompt is answered with an error, because the protocol has no reason for the state.
    Error,
}

impl AcpEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop(reason) => reason.as_str(),
            Self::Error => "error",
        }
    }
}

/// How one presenter shows one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presentation {
    /// What a reader sees. After "the turn" or "the run" it makes a sentence where the presenter has sentences; on the
    /// wire it is the name of the state.
    pub words: &'static str,
    /// The last text of the agent is an answer, and may be shown as one.
    pub is_answer: bool,
    /// Of a command that ends because of this state.
    pub exit_code: Option<u8>,
    /// Of a turn, in the Agent Client Protocol. None for a run, and for other presenters.
    pub acp_end: Option<AcpEnd>,
}

impl TurnEnding {
    /// Of a turn with this verdict.
    pub fn of(verdict: &Verdict) -> Self {
        match (verdict.turn, verdict.engine_limit) {
            (TurnState::Completed, _) => Self::Completed,
            (TurnState::Interrupted, _) => Self::Interrupted,
            (TurnState::TimedOut, _) => Self::TimedOut,
            (TurnState::PartialFailed | TurnState::Failed, Some(EngineLimit::Tokens)) => Self::FailedTokens,
            (TurnState::PartialFailed | TurnState::Failed, Some(EngineLimit::Requests)) => Self::FailedRequests,
            (TurnState::PartialFailed | TurnState::Failed, Some(EngineLimit::Refusal)) => Self::Refused,
            // A version that recorded no limits recorded refusals.
            (TurnState::PartialFailed | TurnState::Failed, None) if verdict.refused => Self::Refused,
            (TurnState::PartialFailed, None) => Self::PartialFailed,
            (TurnState::Failed, None) => Self::Failed,
        }
    }

    /// Of a turn that is not known to have reached a limit of its engine.
    pub fn of_state(turn: TurnState) -> Self {
        match turn {
            TurnState::Completed => Self::Completed,
            TurnState::PartialFailed => Self::PartialFailed,
            TurnState::Failed => Self::Failed,
            TurnState::Interrupted => Self::Interrupted,
            TurnState::TimedOut => Self::TimedOut,
        }
    }

    /// The state on the wire. Whether a turn with a limit had text before it, the turn record has.
    pub fn state(self) -> TurnState {
        match self {
            Self::Completed => TurnState::Completed,
            Self::PartialFailed => TurnState::PartialFailed,
            Self::Failed | Self::FailedTokens | Self::FailedRequests | Self::Refused => TurnState::Failed,
            Self::Interrupted => TurnState::Interrupted,
            Self::TimedOut => TurnState::TimedOut,
        }
    }

    /// In a sentence about the turn.
    fn sentence(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::PartialFailed => "failed after part of an answer",
            Self::Failed | Self::FailedTokens | Self::FailedRequests | Self::Refused => "failed",
            Self::Interrupted => "was interrupted",
            Self::TimedOut => "ran out of time",
        }
    }

    /// In the Agent Client Protocol: a turn that failed is an error and not the end of a turn. A limit or a refusal of
    /// the model is an end of its own.
    pub fn acp_end(self) -> AcpEnd {
        match self {
            Self::Completed => AcpEnd::Stop(StopReason::EndTurn),
            Self::FailedTokens => AcpEnd::Stop(StopReason::MaxTokens),
            Self::FailedRequests => AcpEnd::Stop(StopReason::MaxTurnRequests),
            Self::Refused => AcpEnd::Stop(StopReason::Refusal),
            Self::Interrupted => AcpEnd::Stop(StopReason::Cancelled),
            Self::PartialFailed | Self::Failed | Self::TimedOut => AcpEnd::Error,
        }
    }
}

impl RunState {
    /// Of a run that is not known to have failed for a particular reason. `question` is the scope of the open question.
    pub fn of(status: RunStatus, question: Option<Scope>) -> Self {
        match (status, question) {
            (RunStatus::Queued, _) => Self::Queued,
            (RunStatus::Running, _) => Self::Running,
            (RunStatus::WaitingUser, Some(Scope::Prompt)) => Self::WaitingPrompt,
            (RunStatus::WaitingUser, Some(Scope::Turn | Scope::Call | Scope::Step) | None) => Self::WaitingAnswer,
            (RunStatus::Succeeded, _) => Self::Succeeded,
            (RunStatus::Closed, _) => Self::Closed,
            (RunStatus::Failed, _) => Self::Failed,
            (RunStatus::Canceled, _) => Self::Canceled,
        }
    }

    /// Of a run that failed with this error.
    pub fn of_error(error: &RunError) -> Self {
        if matches!(error.code, Code::OutputSchemaInvalid | Code::OutputMissing) {
            Self::FailedOutput
        } else if error.code == Code::WorkflowPartial {
            Self::FailedPartial
        } else if error.category == ErrorCategory::Timeout || error.code == Code::InteractionWaitTimeout {
            Self::FailedTimeout
        } else {
            Self::Failed
        }
    }

    /// The status on the wire.
    pub fn status(self) -> RunStatus {
        match self {
            Self::Queued => RunStatus::Queued,
            Self::Running => RunStatus::Running,
            Self::WaitingAnswer | Self::WaitingPrompt => RunStatus::WaitingUser,
            Self::Succeeded => RunStatus::Succeeded,
            Self::Closed => RunStatus::Closed,
            Self::Failed | Self::FailedTimeout | Self::FailedOutput | Self::FailedPartial => RunStatus::Failed,
            Self::Canceled => RunStatus::Canceled,
        }
    }

    /// The exit code of a command about the run.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Succeeded | Self::Closed => 0,
            Self::Failed => 1,
            Self::FailedTimeout => 3,
            Self::Queued | Self::Running | Self::FailedPartial => 5,
            Self::WaitingAnswer | Self::WaitingPrompt => 6,
            Self::FailedOutput => 7,
            Self::Canceled => 8,
        }
    }

    /// In a sentence about the run.
    fn sentence(self) -> &'static str {
        match self {
            Self::Queued => "waits for a slot",
            Self::Running => "is running",
            Self::WaitingAnswer => "waits for an answer",
            Self::WaitingPrompt => "waits for the next prompt",
            Self::Succeeded => "succeeded",
            Self::Closed => "was closed",
            Self::Failed | Self::FailedTimeout | Self::FailedOutput => "failed",
            Self::FailedPartial => "ended with a part of its results",
            Self::Canceled => "was canceled",
        }
    }

    /// Beside the name of a run.
    fn label(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingAnswer => "waits for an answer",
            Self::WaitingPrompt => "waits for the next prompt",
            Self::Succeeded => "succeeded",
            Self::Closed => "closed",
            Self::Failed | Self::FailedTimeout | Self::FailedOutput => "failed",
            Self::FailedPartial => "partial",
            Self::Canceled => "canceled",
        }
    }

    /// Whether `result.text` of a run in this state can be an answer. A closed run has none unless its last turn
    /// completed.
    fn is_answer(self) -> bool {
        match self {
            Self::Succeeded | Self::Closed => true,
            Self::Queued
            | Self::Running
            | Self::WaitingAnswer
            | Self::WaitingPrompt
            | Self::Failed
            | Self::FailedTimeout
            | Self::FailedOutput
            | Self::FailedPartial
            | Self::Canceled => false,
        }
    }
}

/// A run.
pub fn of_run(state: RunState, presenter: Presenter) -> Presentation {
    let (words, exit_code) = match presenter {
        Presenter::Cli => (state.sentence(), Some(state.exit_code())),
        Presenter::Page => (state.label(), None),
        Presenter::Fcmp | Presenter::Http | Presenter::Acp => (state.status().as_str(), None),
    };
    // The protocol has ends of turns only.
    Presentation { words, is_answer: state.is_answer(), exit_code, acp_end: None }
}

/// A turn that has ended.
pub fn of_turn(turn: TurnEnding, presenter: Presenter) -> Presentation {
    let (words, acp_end) = match presenter {
        Presenter::Cli | Presenter::Page => (turn.sentence(), None),
        Presenter::Fcmp | Presenter::Http => (turn.state().as_str(), None),
        Presenter::Acp => (turn.state().as_str(), Some(turn.acp_end())),
    };
    Presentation { words, is_answer: is_answer(turn.state()), exit_code: None, acp_end }
}

/// A run that another run has asked for, as its parent sees it.
pub fn of_child(state: DelegatedState, presenter: Presenter) -> Presentation {
    let sentence = match state {
        DelegatedState::Queued => "waits for a slot",
        DelegatedState::Running => "is running",
        DelegatedState::NeedsOrchestrator => "asks something",
        DelegatedState::Completed => "completed",
        DelegatedState::Failed => "failed",
        DelegatedState::TimedOut => "ran out of time",
        DelegatedState::Cancelled => "was canceled",
        DelegatedState::Detached => "is detached: how it ends is not known here",
    };
    let words = match presenter {
        Presenter::Cli | Presenter::Page => sentence,
        Presenter::Fcmp | Presenter::Http | Presenter::Acp => state.as_str(),
    };
    let is_answer = match state {
        DelegatedState::Completed => true,
        DelegatedState::Queued
        | DelegatedState::Running
        | DelegatedState::NeedsOrchestrator
        | DelegatedState::Failed
        | DelegatedState::TimedOut
        | DelegatedState::Cancelled
        | DelegatedState::Detached => false,
    };
    Presentation { words, is_answer, exit_code: None, acp_end: None }
}

/// A workflow that has ended.
pub fn of_workflow(outcome: WorkflowOutcome, presenter: Presenter) -> Presentation {
    let (words, exit_code) = match presenter {
        Presenter::Cli => {
            let (words, code) = match outcome {
                WorkflowOutcome::Completed => ("completed", 0),
                WorkflowOutcome::Partial => ("ended with a part of its results", 5),
                WorkflowOutcome::Failed => ("failed", 1),
                WorkflowOutcome::TimedOut => ("ran out of time", 3),
                WorkflowOutcome::Held => ("ended without a decision that it needed", 1),
                WorkflowOutcome::Cancelled => ("was canceled", 8),
            };
            (words, Some(code))
        }
        Presenter::Page => match outcome {
            WorkflowOutcome::Completed => ("completed", None),
            WorkflowOutcome::Partial => ("partial", None),
            WorkflowOutcome::Failed => ("failed", None),
            WorkflowOutcome::TimedOut => ("out of time", None),
            WorkflowOutcome::Held => ("not decided", None),
            WorkflowOutcome::Cancelled => ("canceled", None),
        },
        Presenter::Fcmp | Presenter::Http | Presenter::Acp => (outcome.as_str(), None),
    };
    Presentation { words, is_answer: outcome.is_ok(), exit_code, acp_end: None }
}

/// A step of a workflow.
pub fn of_step(standing: StepStanding, presenter: Presenter) -> Presentation {
    let sentence = match standing {
        StepStanding::Pending => "waits for its turn",
        StepStanding::Queued => "waits for a slot",
        StepStanding::WaitsForQuota => "waits for quota",
        StepStanding::Running => "is running",
        StepStanding::Asks => "asks something",
        StepStanding::Held => "waits for a decision",
        StepStanding::Ready => "is ready",
        StepStanding::Partial => "is partial",
        StepStanding::Failed => "failed",
        StepStanding::TimedOut => "ran out of time",
        StepStanding::Unanswered => "was not decided",
        StepStanding::Cancelled => "was canceled",
        StepStanding::Skipped => "did not begin",
    };
    let words = match presenter {
        Presenter::Cli | Presenter::Page => sentence,
        Presenter::Fcmp | Presenter::Http | Presenter::Acp => standing.as_str(),
    };
    let is_answer = match standing {
        StepStanding::Ready => true,
        StepStanding::Pending
        | StepStanding::Queued
        | StepStanding::WaitsForQuota
        | StepStanding::Running
        | StepStanding::Asks
        | StepStanding::Held
        | StepStanding::Partial
        | StepStanding::Failed
        | StepStanding::TimedOut
        | StepStanding::Unanswered
        | StepStanding::Cancelled
        | StepStanding::Skipped => false,
    };
    Presentation { words, is_answer, exit_code: None, acp_end: None }
}

/// A check that has ended.
pub fn of_check(status: CheckStatus, presenter: Presenter) -> Presentation {
    let sentence = match status {
        CheckStatus::Passed => "passed",
        CheckStatus::Failed => "failed",
        CheckStatus::TimedOut => "ran out of time",
        CheckStatus::NotStarted => "could not be started",
        CheckStatus::Canceled => "was canceled",
    };
    let words = match presenter {
        Presenter::Cli | Presenter::Page => sentence,
        Presenter::Fcmp | Presenter::Http | Presenter::Acp => status.as_str(),
    };
    Presentation { words, is_answer: false, exit_code: None, acp_end: None }
}

/// Whether the message that a turn names is an answer. Text of a turn that did not complete never is.
pub fn is_answer(turn: TurnState) -> bool {
    match turn {
        TurnState::Completed => true,
        TurnState::PartialFailed | TurnState::Failed | TurnState::Interrupted | TurnState::TimedOut => false,
    }
}

/// The table as Markdown.
pub fn page() -> String {
    let mut page = "# How states are shown\n\n\
        <!-- Generated by `make schemas` from crates/model/src/presenters.rs. -->\n\n\
        Every presenter takes its words for a state from one table in the code. Words of sentences follow \"the turn\" or\n\
        \"the run\". In `fcmp`, `http` and `acp` a state has its name on the wire.\n"
        .to_owned();
    let mut table = |title: &str, about: &str, rows: Vec<(&str, Vec<Presentation>)>| {
        let heads: String = Presenter::ALL.iter().map(|presenter| format!(" {presenter} |")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n## {title}\n\n{about}\n\n| state |{heads} answer | exit code | end in `acp` |");
        let _ = writeln!(page, "|{}", " --- |".repeat(Presenter::ALL.len() + 4));
        for (name, shown) in rows {
            let words: String = shown.iter().map(|one| format!(" {} |", one.words)).collect();
            let answer = if shown.iter().any(|one| one.is_answer) { "yes" } else { "no" };
            let exit =
                shown.iter().find_map(|one| one.exit_code).map_or_else(|| "-".to_owned(), |code| code.to_string());
            let stop = shown.iter().find_map(|one| one.acp_end).map_or("-", AcpEnd::as_str);
            let _ = writeln!(page, "| `{name}` |{words} {answer} | {exit} | {stop} |");
        }
    };
    let each = |cell: &dyn Fn(Presenter) -> Presentation| Presenter::ALL.iter().map(|one| cell(*one)).collect();
    let turns = TurnEnding::ALL.iter().map(|turn| (turn.as_str(), each(&|presenter| of_turn(*turn, presenter))));
    table(
        "Turns",
        "The message that a turn names is an answer only if the turn completed. A turn that failed because the engine\n\
         reached a limit of its own, or was refused, has a row of its own; on the wire it is `failed`, or `partial_failed`\n\
         if it had text. In the Agent Client Protocol a prompt ends with a stop reason or with a JSON-RPC error.",
        turns.collect(),
    );
    let runs = RunState::ALL.iter().map(|state| (state.as_str(), each(&|presenter| of_run(*state, presenter))));
    table(
        "Runs",
        "A waiting run is shown by what it waits for, and a failed run has the exit code of its reason. The text of a\n\
         closed run is an answer only if its last turn completed; otherwise there is none. Ctrl-C in a command that\n\
         follows a run gives 130.",
        runs.collect(),
    );
    let children =
        DelegatedState::ALL.iter().map(|state| (state.as_str(), each(&|presenter| of_child(*state, presenter))));
    table(
        "Children",
        "A run that another run has asked for, as its parent sees it. Words of sentences follow \"the child\". Its text is\n\
         an answer only if it completed.",
        children.collect(),
    );
    let workflows = WorkflowOutcome::ALL
        .iter()
        .map(|outcome| (outcome.as_str(), each(&|presenter| of_workflow(*outcome, presenter))));
    table(
        "Workflows",
        "How a workflow ended. Its result counts only if it completed; a partial one is never `ok`.",
        workflows.collect(),
    );
    let steps = StepStanding::ALL.iter().map(|step| (step.as_str(), each(&|presenter| of_step(*step, presenter))));
    table(
        "Steps of workflows",
        "Words of sentences follow \"the step\". Only a step that is ready unlocks others.",
        steps.collect(),
    );
    let checks =
        CheckStatus::ALL.iter().map(|status| (status.as_str(), each(&|presenter| of_check(*status, presenter))));
    table(
        "Checks",
        "A command that skillrun runs after the turn of a run that would succeed. Words of sentences follow \"the check\".\n\
         Its output is not an answer.",
        checks.collect(),
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::CompletionState;
    use crate::verdict::Rule;

    fn cells() -> Vec<(String, Presenter, Presentation)> {
        let turns = TurnEnding::ALL.iter().flat_map(|turn| {
            Presenter::ALL.iter().map(move |one| (format!("turn {turn}"), *one, of_turn(*turn, *one)))
        });
        let runs = RunState::ALL.iter().flat_map(|state| {
            Presenter::ALL.iter().map(move |one| (format!("run {state}"), *one, of_run(*state, *one)))
        });
        turns.chain(runs).collect()
    }

    /// Issue 22: a partial workflow is a valid outcome, and never a success.
    #[test]
    fn only_a_completed_workflow_is_shown_as_a_success() {
        for outcome in WorkflowOutcome::ALL {
            for presenter in Presenter::ALL {
                let shown = of_workflow(*outcome, *presenter);
                assert_eq!(shown.is_answer, *outcome == WorkflowOutcome::Completed, "{outcome} in {presenter}");
                assert_eq!(shown.words == "completed", *outcome == WorkflowOutcome::Completed, "{outcome}");
            }
        }
        let codes: Vec<Option<u8>> =
            WorkflowOutcome::ALL.iter().map(|outcome| of_workflow(*outcome, Presenter::Cli).exit_code).collect();
        assert_eq!(codes, [0, 5, 1, 3, 1, 8].map(Some), "completed, partial, failed, timed_out, held, cancelled");
        for standing in StepStanding::ALL {
            let is_ready = of_step(*standing, Presenter::Cli).is_answer;
            assert_eq!(is_ready, *standing == StepStanding::Ready, "{standing}");
        }
    }

    /// A whole message of a failed turn was shown as an answer.
    #[test]
    fn only_what_ended_well_is_called_an_answer_or_a_success() {
        let good = ["turn completed", "run succeeded", "run closed"];
        for (state, presenter, shown) in cells() {
            let is_good = good.contains(&state.as_str());
            assert_eq!(shown.is_answer, is_good, "{state} in {presenter}");
            let sounds_good = ["succeeded", "completed"].contains(&shown.words);
            assert!(!sounds_good || (is_good && state != "run closed"), "{state} in {presenter}: {}", shown.words);
        }
    }

    #[test]
    fn words_on_the_wire_are_the_names_of_states() {
        for (state, presenter, shown) in cells() {
            let is_wire = match presenter {
                Presenter::Cli | Presenter::Page => false,
                Presenter::Fcmp | Presenter::Http | Presenter::Acp => true,
            };
            let is_name = shown.words.parse::<RunStatus>().is_ok() || shown.words.parse::<TurnState>().is_ok();
            assert!(!is_wire || is_name, "{state} in {presenter}: {}", shown.words);
        }
    }

    #[test]
    fn a_run_at_rest_waits_for_a_prompt_and_not_for_an_answer() {
        let words = |scope| of_run(RunState::of(RunStatus::WaitingUser, scope), Presenter::Cli).words;
        assert_eq!(words(Some(Scope::Prompt)), "waits for the next prompt");
        for scope in [Some(Scope::Turn), Some(Scope::Call), None] {
            assert_eq!(words(scope), "waits for an answer");
        }
    }

    #[test]
    fn every_status_has_a_state_of_its_own() {
        for status in RunStatus::ALL {
            assert_eq!(RunState::of(*status, None).status(), *status);
        }
    }

    #[test]
    fn an_error_decides_the_exit_code_of_a_failed_run() {
        let code = |category, code| RunState::of_error(&RunError::new(category, code, "x")).exit_code();
        assert_eq!(code(ErrorCategory::Output, Code::OutputMissing), 7);
        assert_eq!(code(ErrorCategory::Output, Code::OutputSchemaInvalid), 7);
        assert_eq!(code(ErrorCategory::Timeout, Code::Timeout), 3);
        assert_eq!(code(ErrorCategory::Interaction, Code::InteractionWaitTimeout), 3);
        assert_eq!(code(ErrorCategory::Engine, Code::EngineFailed), 1);
    }

    /// Issue 26: `cancelled` only for what was interrupted, and never `end_turn` for an error.
    #[test]
    fn every_turn_has_its_end_in_the_agent_client_protocol() {
        let ends: Vec<(&str, &str)> =
            TurnEnding::ALL.iter().map(|turn| (turn.as_str(), turn.acp_end().as_str())).collect();
        let expected = [
            ("completed", "end_turn"),
            ("partial_failed", "error"),
            ("failed", "error"),
            ("failed_tokens", "max_tokens"),
            ("failed_requests", "max_turn_requests"),
            ("refused", "refusal"),
            ("interrupted", "cancelled"),
            ("timed_out", "error"),
        ];
        assert_eq!(ends, expected);
        for (state, presenter, shown) in cells() {
            let is_turn_of_acp = presenter == Presenter::Acp && state.starts_with("turn ");
            assert_eq!(shown.acp_end.is_some(), is_turn_of_acp, "{state} in {presenter}");
        }
        let mut reasons: Vec<&str> = expected.iter().map(|(_, end)| *end).filter(|end| *end != "error").collect();
        reasons.sort_unstable();
        let mut all: Vec<&str> = StopReason::ALL.iter().map(|reason| reason.as_str()).collect();
        all.sort_unstable();
        assert_eq!(reasons, all, "each stop reason has one state");
    }

    #[test]
    fn limit_of_the_engine_decides_how_a_failed_turn_is_shown() {
        let ending = |turn, engine_limit, refused| {
            let (rule, reason) = (Rule::Limit, Code::LimitReached);
            let verdict = Verdict::new(rule, turn, CompletionState::Interrupted, reason, RunStatus::WaitingUser);
            TurnEnding::of(&Verdict { engine_limit, refused, ..verdict })
        };
        for turn in [TurnState::Failed, TurnState::PartialFailed] {
            assert_eq!(ending(turn, None, false), TurnEnding::of_state(turn));
            assert_eq!(ending(turn, None, true), TurnEnding::Refused, "of an earlier version");
            assert_eq!(ending(turn, Some(EngineLimit::Tokens), false), TurnEnding::FailedTokens);
            assert_eq!(ending(turn, Some(EngineLimit::Requests), false), TurnEnding::FailedRequests);
            assert_eq!(ending(turn, Some(EngineLimit::Refusal), true), TurnEnding::Refused);
        }
        // Another rule was stronger.
        for turn in [TurnState::Completed, TurnState::Interrupted, TurnState::TimedOut] {
            assert_eq!(ending(turn, Some(EngineLimit::Tokens), false), TurnEnding::of_state(turn));
        }
        for turn in TurnState::ALL {
            assert_eq!(TurnEnding::of_state(*turn).state(), *turn);
        }
    }

    #[test]
    fn the_page_has_a_row_for_every_state() {
        let page = page();
        let names =
            TurnEnding::ALL.iter().map(|turn| turn.as_str()).chain(RunState::ALL.iter().map(|run| run.as_str()));
        for name in names {
            assert!(page.contains(&format!("\n| `{name}` |")), "{name} in {page}");
        }
        let columns: Vec<usize> =
            page.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
        assert!(columns.iter().all(|count| *count == Presenter::ALL.len() + 5), "{columns:?}");
    }
}
