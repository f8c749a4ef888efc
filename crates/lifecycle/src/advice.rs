//! The texts of errors, and what to do next.

use skillrun_model::codes::{Code, ErrorCategory, NextAction, NextActionKind};
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::status::EndedBy;
use skillrun_model::verdict::{RunError, Verdict};
use skillrun_model::{RunId, RunStatus, TurnState};
use skillrun_parse::last_lines::LastWords;
use skillrun_parse::{ansi, classify};

use crate::control::ProcessExit;

/// Most errors that are listed; a schema can report very many.
const DETAILS_MAX: usize = 20;

fn error(category: ErrorCategory, code: Code, message: impl Into<String>) -> RunError {
    // Engines put escape sequences into their errors; the shown text has none.
    RunError::new(category, code, ansi::strip(&message.into()))
}

/// An error that is fully described by its code.
pub(crate) fn plain(category: ErrorCategory, code: Code) -> RunError {
    error(category, code, code.summary())
}

pub(crate) fn limit(words: Option<&str>) -> RunError {
    error(ErrorCategory::Engine, Code::LimitReached, words.unwrap_or(Code::LimitReached.summary()))
}

/// These texts alone distinguish which of the times was too short; the code is the same. Logs contain them, so they do
/// not change.
const STALLED: &str = "the engine wrote nothing for too long and was ended";
const NOT_ANSWERED: &str = "a question waited for an answer past its deadline and the engine was ended";

pub(crate) fn timeout(ended_by: Option<EndedBy>) -> RunError {
    let message = match ended_by {
        Some(EndedBy::Stall) => STALLED,
        Some(EndedBy::WaitTimeout) => NOT_ANSWERED,
        _ => "the engine ran longer than allowed and was ended",
    };
    error(ErrorCategory::Timeout, Code::Timeout, message)
}

pub(crate) fn not_started(code: Code, words: Option<&str>) -> RunError {
    error(ErrorCategory::Engine, code, words.unwrap_or(code.summary()))
}

/// The host ended the attempt, or is gone.
pub(crate) fn host(code: Code, words: Option<&str>) -> RunError {
    error(ErrorCategory::Host, code, words.unwrap_or(code.summary()))
}

/// The system's words for a full disk, which a host passes on.
const NO_SPACE: &str = "No space left on device";

fn exit_words(exit: &ProcessExit) -> String {
    match exit {
        ProcessExit::Code(code) => format!("the engine exited with code {code}"),
        ProcessExit::Signal(signal) => format!("the engine was ended by {signal}"),
        ProcessExit::Unknown => "the exit status of the engine is not known".to_owned(),
    }
}

/// The process did not end well, though its answer is complete. `outlived`: it ended first, and a process that it had
/// started completed the answer.
pub(crate) fn bad_exit(exit: &ProcessExit, outlived: bool, code: Code) -> RunError {
    let when = if outlived {
        "before its answer was finished; a process that it had started finished the answer"
    } else {
        "after its finished answer"
    };
    error(ErrorCategory::Engine, code, format!("{} {when}", exit_words(exit)))
}

/// The engine's turn failed, or its process did. `stderr` explains a process that reported nothing in its format.
pub(crate) fn engine(
    session_refused: bool,
    category: ErrorCategory,
    words: Option<&str>,
    stderr: Option<&LastWords>,
    exit: &ProcessExit,
) -> RunError {
    let message = match (words, stderr) {
        (Some(words), _) => words.to_owned(),
        (None, Some(LastWords::Reason { message, .. })) => format!("{message} ({})", exit_words(exit)),
        (None, Some(LastWords::Line(line))) => format!("{}; the last line on stderr: {line}", exit_words(exit)),
        (None, None) => exit_words(exit),
    };
    if session_refused {
        error(ErrorCategory::Session, Code::SessionNotFound, message)
    } else {
        error(category, Code::EngineFailed, message)
    }
}

/// A required MCP server did not start.
pub(crate) fn server(name: &str) -> RunError {
    error(ErrorCategory::Engine, Code::McpServerFailed, format!("the required MCP server \"{name}\" did not start"))
}

/// The process exited with code 0, and its turn has no end.
pub(crate) fn end_missing(stderr: Option<&LastWords>) -> RunError {
    match stderr {
        Some(LastWords::Reason { message, category }) => {
            let message = format!("{message} (the engine exited with code 0 and without an end event)");
            error(*category, Code::EngineEndMissing, message)
        }
        // Many engines write lines that explain nothing to stderr.
        Some(LastWords::Line(_)) | None => plain(ErrorCategory::Engine, Code::EngineEndMissing),
    }
}

pub(crate) fn output(code: Code, errors: &[String]) -> RunError {
    let details = errors.iter().take(DETAILS_MAX).cloned().collect();
    let first = errors.first().map(String::as_str).unwrap_or_default();
    let what = if code == Code::OutputMissing {
        "the output is missing"
    } else {
        "the output does not fit the skill's schema"
    };
    let message = format!("{what}: {first}");
    RunError { details, ..error(ErrorCategory::Output, code, message) }
}

/// What the user can do about a verdict, each with the command to run.
pub fn next_actions(verdict: &Verdict, run: RunId) -> Vec<NextAction> {
    match (verdict.run_status, &verdict.error) {
        (RunStatus::WaitingUser, _) => with_commands(&[NextActionKind::Reply], run),
        (RunStatus::Failed, Some(error)) => next_actions_for(error, run),
        (RunStatus::Failed, None)
        | (
            RunStatus::Queued | RunStatus::Running | RunStatus::Succeeded | RunStatus::Closed | RunStatus::Canceled,
            _,
        ) => Vec::new(),
    }
}

/// What the user can do after a turn, each with the command to run; nothing after a turn that completed. Only from the
/// verdict, so that every reader of the same evidence derives the same actions.
pub fn after_turn(verdict: &Verdict, run: RunId) -> Vec<NextAction> {
    match verdict.turn {
        TurnState::Completed => return Vec::new(),
        TurnState::PartialFailed | TurnState::Failed | TurnState::Interrupted | TurnState::TimedOut => {}
    }
    match (verdict.run_status, &verdict.error) {
        (RunStatus::WaitingUser, error) => {
            let is_at_rest = verdict.pending.as_ref().is_some_and(|pending| pending.scope == Scope::Prompt);
            let mut actions = with_commands(&[NextActionKind::Reply], run);
            // What repairs the cause, or does the work elsewhere. The next prompt is the retry in the same run.
            let more = error.iter().flat_map(|error| next_actions_for(error, run));
            actions.extend(more.filter(|next| next.action != NextActionKind::Retry));
            actions.extend(is_at_rest.then(|| with_commands(&[NextActionKind::Close], run)).into_iter().flatten());
            actions
        }
        (RunStatus::Canceled, _) => after_cancel(run),
        (RunStatus::Failed | RunStatus::Queued | RunStatus::Running, Some(error)) => next_actions_for(error, run),
        (RunStatus::Failed | RunStatus::Queued | RunStatus::Running, None)
        | (RunStatus::Succeeded | RunStatus::Closed, _) => with_commands(&[NextActionKind::Diagnose], run),
    }
}

/// The same, where another run takes its place: the only thing left to do is to look at that run.
pub(crate) fn after_retry(mut actions: Vec<NextAction>, retry: Option<PlannedRetry>) -> Vec<NextAction> {
    if let Some(PlannedRetry { run_id, .. }) = retry {
        for action in actions.iter_mut().filter(|action| action.action == NextActionKind::RetryLater) {
            action.command = format!("skillrun show {run_id}");
        }
    }
    actions
}

/// Inserts the engine's own login command, where it is known.
pub fn name_login(actions: &mut [NextAction], login: &str) {
    for action in actions.iter_mut().filter(|action| action.action == NextActionKind::LoginEngine) {
        login.clone_into(&mut action.command);
    }
}

/// Inserts what the run was made of: its engine, and the folder of its skill, if it has one.
pub fn name_parts(actions: &mut [NextAction], engine: &str, skill: Option<&str>) {
    for action in actions {
        if action.action == NextActionKind::InstallEngine {
            action.command = format!("skillrun engines install {engine}");
        } else if let (NextActionKind::FixSkill, Some(skill)) = (action.action, skill) {
            action.command = format!("skillrun skills validate {}", as_word(skill));
        }
    }
}

/// As one word of a command line.
fn as_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What the user can do about a run that was canceled.
pub fn after_cancel(run: RunId) -> Vec<NextAction> {
    with_commands(&[NextActionKind::Retry], run)
}

/// What the user can do about an error.
pub(crate) fn next_actions_for(error: &RunError, run: RunId) -> Vec<NextAction> {
    let kinds: &[NextActionKind] = match error.category {
        ErrorCategory::Quota => &[NextActionKind::RetryLater, NextActionKind::RetryOtherEngine],
        ErrorCategory::Auth => &[NextActionKind::LoginEngine, NextActionKind::Retry],
        ErrorCategory::Network => &[NextActionKind::Retry, NextActionKind::InspectEvidence],
        ErrorCategory::Workflow => &[NextActionKind::ShowWorkflow, NextActionKind::RetryFailedSteps],
        ErrorCategory::Timeout if error.code == Code::WorkflowTimedOut => {
            &[NextActionKind::ShowWorkflow, NextActionKind::RetryFailedSteps]
        }
        ErrorCategory::Timeout => &[NextActionKind::RaiseTimeout, NextActionKind::InspectEvidence],
        // What is missing according to the agent is in its messages, not in the output.
        ErrorCategory::Output if error.code == Code::AgentNotDone => {
            &[NextActionKind::InspectEvidence, NextActionKind::Retry, NextActionKind::RetryOtherEngine]
        }
        ErrorCategory::Output if error.code == Code::CheckFailed => &[NextActionKind::Diagnose, NextActionKind::Retry],
        ErrorCategory::Output => &[NextActionKind::FixOutput, NextActionKind::FixSkill, NextActionKind::Retry],
        ErrorCategory::Session => &[NextActionKind::Retry, NextActionKind::Diagnose],
        ErrorCategory::Interaction if error.code == Code::InteractiveMaxAttemptExceeded => {
            &[NextActionKind::RaiseMaxAttempt, NextActionKind::Retry]
        }
        ErrorCategory::Interaction => &[NextActionKind::RaiseTimeout, NextActionKind::Retry],
        ErrorCategory::Host if error.message.contains(NO_SPACE) => &[NextActionKind::FreeDisk, NextActionKind::Retry],
        ErrorCategory::Host => &[NextActionKind::Retry, NextActionKind::Diagnose],
        ErrorCategory::Skill => &[NextActionKind::FixSkill],
        ErrorCategory::Input if error.code == Code::InputChanged => &[NextActionKind::Retry, NextActionKind::Diagnose],
        ErrorCategory::Usage | ErrorCategory::Input => &[NextActionKind::FixInput],
        ErrorCategory::Engine if error.code == Code::EngineNotFound => &[NextActionKind::InstallEngine],
        ErrorCategory::Engine if classify::names_unknown_model(&error.message) => {
            &[NextActionKind::ChooseModel, NextActionKind::RetryOtherEngine, NextActionKind::InspectEvidence]
        }
        ErrorCategory::Engine => {
            &[NextActionKind::InspectEvidence, NextActionKind::Retry, NextActionKind::RetryOtherEngine]
        }
        ErrorCategory::Canceled | ErrorCategory::Internal => &[NextActionKind::Diagnose],
    };
    let mut actions = with_commands(kinds, run);
    let raises = match (error.category, error.message.as_str()) {
        // The time for answers was too short.
        (ErrorCategory::Interaction, _) | (ErrorCategory::Timeout, NOT_ANSWERED) => "--session-timeout",
        (ErrorCategory::Timeout, STALLED) => "--stall",
        (_, _) => "--timeout",
    };
    for action in &mut actions {
        if action.action == NextActionKind::RaiseTimeout {
            action.command = format!("skillrun retry {run} {raises} SECONDS");
        } else if action.action == NextActionKind::FixSkill {
            // Where the folder of the skill is not known, as in a recording.
            action.command = format!("skillrun explain {}", error.code);
        }
    }
    actions
}

fn with_commands(kinds: &[NextActionKind], run: RunId) -> Vec<NextAction> {
    kinds.iter().map(|kind| NextAction { action: *kind, command: command(*kind, run) }).collect()
}

/// The command that does it. Words in capitals are for the user to fill in.
pub fn command(kind: NextActionKind, run: RunId) -> String {
    match kind {
        NextActionKind::Reply => format!("skillrun reply {run} TEXT"),
        NextActionKind::Close => format!("skillrun close {run}"),
        NextActionKind::Retry | NextActionKind::RetryLater => format!("skillrun retry {run}"),
        NextActionKind::RetryOtherEngine => format!("skillrun retry {run} --engine ENGINE"),
        NextActionKind::RaiseTimeout => format!("skillrun retry {run} --timeout SECONDS"),
        NextActionKind::RaiseMaxAttempt => format!("skillrun retry {run} --max-attempt N"),
        NextActionKind::ChooseModel => format!("skillrun retry {run} --model MODEL"),
        // Not the command that shows this advice.
        NextActionKind::FixOutput => format!("skillrun logs {run}"),
        NextActionKind::FixSkill => "skillrun skills list".to_owned(),
        NextActionKind::FixInput => format!("skillrun retry {run} --input FILE"),
        NextActionKind::LoginEngine | NextActionKind::InstallEngine => "skillrun engines list".to_owned(),
        NextActionKind::InspectEvidence => format!("skillrun logs {run} --rasp"),
        NextActionKind::Diagnose => format!("skillrun diagnose {run}"),
        NextActionKind::FreeDisk => "skillrun gc".to_owned(),
        NextActionKind::RetryFailedSteps => format!("skillrun workflow retry {run} --from-failed"),
        NextActionKind::ShowWorkflow => format!("skillrun workflow show {run}"),
    }
}
