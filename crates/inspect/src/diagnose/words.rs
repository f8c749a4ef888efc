//! The texts of a diagnosis. Those of states come from the table of all presenters, so that partial is shown as partial
//! and failure as failure everywhere.

use skillrun_model::interaction::OnDeadline;
use skillrun_model::presenters::{self, Presenter, RunState, TurnEnding};
use skillrun_model::rasp::data::{AttemptEnded, ResolutionMode};
use skillrun_model::status::CompletionState;
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{Code, EndedBy, RunStatus, TurnState};

use super::{CheckTopic, MomentKind, PassageKind};

pub fn run(state: RunState) -> &'static str {
    presenters::of_run(state, Presenter::Cli).words
}

pub fn turn(turn: TurnState) -> &'static str {
    presenters::of_turn(TurnEnding::of_state(turn), Presenter::Cli).words
}

pub fn completion(completion: CompletionState) -> &'static str {
    match completion {
        CompletionState::Completed => "the work is done",
        CompletionState::AwaitingUserInput => "the agent waits for an answer",
        CompletionState::Interrupted => "the work was interrupted",
        CompletionState::Unknown => "it is unknown whether the work is done",
    }
}

pub fn ended_by(ended_by: EndedBy) -> &'static str {
    match ended_by {
        EndedBy::Exited => "it ended by itself",
        EndedBy::HardTimeout => "ended by the host, its time was up",
        EndedBy::Stall => "ended by the host, it was silent for too long",
        EndedBy::Linger => "ended by the host after its answer was finished",
        EndedBy::WaitTimeout => "ended by the host, no answer came in time",
        EndedBy::Canceled => "ended by the host, the run was canceled",
        EndedBy::Interrupted => "ended by the host, the turn was interrupted",
        EndedBy::Budget => "ended by the host, it exceeded its output limit",
        EndedBy::MemoryLimit => "ended by the host, it exceeded its memory limit",
        EndedBy::ProcessLimit => "ended by the host, it exceeded its limit of processes",
        EndedBy::CpuLimit => "ended by the host, it exceeded its limit of processor time",
        EndedBy::DiskLimit => "ended by the host, it exceeded its disk limit",
        EndedBy::HostError => "ended by the host, which could not continue",
        EndedBy::HostLost => "its host was lost",
        EndedBy::NotStarted => "it never started",
    }
}

pub fn topic(check: CheckTopic) -> &'static str {
    match check {
        CheckTopic::ToolPairing => "tool calls",
        CheckTopic::TurnRecords => "turn records",
        CheckTopic::PartialAnswers => "partial answers",
        CheckTopic::FailureClass => "failures",
        CheckTopic::OutputCut => "output cut",
        CheckTopic::UserMessage => "user messages",
        CheckTopic::ReplayBalance => "replay",
    }
}

pub fn resolution(mode: ResolutionMode) -> &'static str {
    match mode {
        ResolutionMode::UserReply => "answered",
        ResolutionMode::AutoDecideTimeout => "decided automatically, no answer came in time",
        ResolutionMode::PermissionPolicy => "decided by the permissions of the run",
    }
}

pub fn on_deadline(on_deadline: OnDeadline) -> &'static str {
    match on_deadline {
        OnDeadline::Wait => "it waits as long as it takes",
        OnDeadline::AutoReply => "then it is answered automatically",
        OnDeadline::FailRun => "then the run fails",
        OnDeadline::HoldStep => "then the step counts as not decided",
    }
}

pub fn moment(what: MomentKind) -> &'static str {
    match what {
        MomentKind::Created => "accepted",
        MomentKind::AttemptStarted => "started",
        MomentKind::FirstOutput => "first output",
        MomentKind::LastOutput => "last output",
        MomentKind::AttemptSettled => "settled",
        MomentKind::Asked => "asked",
        MomentKind::Rested => "at rest",
        MomentKind::Prompted => "next prompt",
        MomentKind::Answered => "answered",
        MomentKind::NotAnswered => "not answered in time",
        MomentKind::CancelAsked => "cancel requested",
        MomentKind::InterruptAsked => "interrupt requested",
        MomentKind::CloseAsked => "close requested",
        MomentKind::Ended => "over",
    }
}

/// What a passage is in a turn that ended like this. The text of a turn that did not complete is not an answer.
pub fn passage(what: PassageKind, turn: TurnState) -> &'static str {
    match what {
        PassageKind::End => "end",
        PassageKind::Marker => "done marker",
        PassageKind::Answer if presenters::is_answer(turn) => "answer",
        PassageKind::Answer => "last message",
    }
}

/// The row of the settle table that decided an attempt, in one sentence. For rows with several ends, the sentence is
/// about the actual end, so that it never contradicts the verdict.
pub fn decided(ended: &AttemptEnded) -> &'static str {
    let Verdict { rule, run_status, reason_code, error, evidence, .. } = &ended.verdict;
    let is_missing =
        *reason_code == Code::OutputMissing || error.as_ref().is_some_and(|error| error.code == Code::OutputMissing);
    let sentence = match (*rule == Rule::MarkerOutputInvalid, *rule == Rule::AutoInvalid, is_missing) {
        (true, _, true) => Some("the agent said that it was done, and its output is missing"),
        (true, _, false) => Some("the agent said that it was done, and its output does not fit the schema"),
        (_, true, true) => Some("the turn ended as it should, and its output is missing"),
        (_, true, false) => Some("the turn ended as it should, and its output does not fit the schema"),
        (false, false, _) => None,
    };
    let by_process = if *rule == Rule::MarkerAuto && *run_status == RunStatus::Succeeded {
        Some("the agent said that it was done, and its output is valid")
    } else if *rule == Rule::MarkerAuto {
        Some(
            "the agent said that it was done and its output is valid, but its process did not exit cleanly, \
             which counts in auto mode",
        )
    } else if *rule == Rule::BadExit && !evidence.end.is_empty() {
        Some("the process of the engine ended with an error or by a signal, although its turn had ended as it should")
    } else if *rule == Rule::TimedOut && ended.exit.ended_by == Some(EndedBy::Stall) {
        Some("the engine was silent for too long, and its host ended it")
    } else if *rule == Rule::TimedOut && ended.exit.ended_by == Some(EndedBy::HardTimeout) {
        Some("the engine took too long, and its host ended it")
    } else if *rule == Rule::TimedOut && ended.exit.ended_by == Some(EndedBy::WaitTimeout) {
        Some("a question was not answered in time, and the host ended the engine")
    } else if *rule == Rule::Waiting && *reason_code == Code::CleanFinal {
        Some("the turn ended as it should, and the conversation waits for the next prompt")
    } else if *rule == Rule::Waiting && *reason_code == Code::AnswerMissing {
        Some(self::rule(Rule::AnswerMissing))
    } else if *rule == Rule::Waiting {
        Some("the turn ended as it should, and the agent did not say that it was done")
    } else if *reason_code == Code::AttemptLost {
        Some("the host was lost")
    } else if *reason_code == Code::EvidenceBudget {
        Some("the engine exceeded its output limit, and its host ended it")
    } else if *reason_code == Code::MemoryLimit {
        Some("the processes exceeded their memory limit, and the host ended them")
    } else if *reason_code == Code::ProcessLimit {
        Some("there were more processes than allowed, and the host ended them")
    } else if *reason_code == Code::CpuLimit {
        Some("the processes exceeded their limit of processor time, and the host ended them")
    } else if *reason_code == Code::DiskLimit {
        Some("the processes exceeded their disk limit, and the host ended them")
    } else if *reason_code == Code::HostError {
        Some("the host could not continue")
    } else {
        None
    };
    sentence.or(by_process).unwrap_or_else(|| self::rule(*rule))
}

/// The row of the settle table, in one sentence.
pub fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::Canceled => "the run was canceled before the attempt was settled",
        Rule::Interrupted => "the user interrupted the turn before the engine ended it",
        Rule::Limit => "the engine said that it had reached a limit",
        Rule::Failure => "the engine said that its turn failed",
        Rule::MarkerOutputInvalid => {
            "the agent said that it was done, and its output is missing or does not fit the schema"
        }
        Rule::MarkerInteractive => "the agent said that it was done, and its output is valid",
        Rule::MarkerAuto => "the agent said that it was done and its output is valid; in auto mode the exit counts too",
        Rule::TimedOut => "the engine took too long, or was silent for too long, and its host ended it",
        Rule::HostEnded => "the host was lost, could not continue, or had no room for more evidence",
        Rule::NotStarted => "the process of the engine never started",
        Rule::BadExit => "the process of the engine ended with an error or by a signal",
        Rule::EndMissing => "the engine ended without an error, and without the end of its turn",
        Rule::ExitUnknown => "it is unknown how the engine ended, and the end of its turn is missing",
        Rule::AnswerMissing => "the turn ended as it should, and the agent had answered nothing",
        Rule::AgentNotDone => "the turn ended as it should, and the agent said that its work is not done",
        Rule::AutoValid => "the turn ended as it should, and the answer contains what was asked for",
        Rule::AutoInvalid => "the turn ended as it should, and its output is missing or does not fit the schema",
        Rule::SoftCompletion => "the agent did not say that it was done, but its whole answer is a valid output",
        Rule::MaxAttempt => "the turn ended without the work being done, and no further turn is allowed",
        Rule::SessionMissing => "the agent asks, but its engine never named the session that an answer would go to",
        Rule::Waiting => "the turn ended as it should, and the run waits for the user",
    }
}

/// Why a run is over, where no turn decided.
pub fn without_turn(status: RunStatus, attempts: usize, reason_code: Code) -> &'static str {
    if reason_code == Code::CheckFailed {
        return "the turn completed, and a command that was run after it did not pass";
    }
    let of_workflow = [
        Code::WorkflowCompleted,
        Code::WorkflowPartial,
        Code::WorkflowTimedOut,
        Code::WorkflowHeld,
        Code::WorkflowFailed,
    ];
    if of_workflow.contains(&reason_code) {
        return "this follows from how the steps of the workflow ended";
    }
    match (status, attempts) {
        (RunStatus::Canceled, 0) => "the run was canceled before the engine was started",
        (RunStatus::Canceled, _) => "the run was canceled between two turns",
        (RunStatus::Closed, _) => "the user closed the conversation",
        (RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser, 0)
        | (RunStatus::Succeeded | RunStatus::Failed, 0) => "no engine could be started",
        (RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser, _)
        | (RunStatus::Succeeded | RunStatus::Failed, _) => "it was decided after the last turn had ended",
    }
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};
    use serde::Serialize;
    use serde_json::{Value, json};

    use super::*;

    /// All names that the schema of an enum allows.
    fn allowed(schema: &Value) -> Vec<Value> {
        let list = |name: &str| schema[name].as_array().cloned().unwrap_or_default();
        let alone = schema.get("const").cloned();
        alone.into_iter().chain(list("enum")).chain(list("oneOf").iter().flat_map(allowed)).collect()
    }

    fn is_complete<T: Serialize + JsonSchema>(all: &[T]) {
        let (mut listed, mut allowed) =
            (Vec::from_iter(all.iter().map(|one| json!(one))), allowed(schema_for!(T).as_value()));
        listed.sort_by_key(Value::to_string);
        allowed.sort_by_key(Value::to_string);
        assert_eq!(listed, allowed);
    }

    /// An attempt that ended by a rule, as it is in the Log.
    fn ended(rule: &str, run_status: &str, reason: &str, error: &str, ended_by: &str, end: Value) -> AttemptEnded {
        let turn = "completed";
        let error = (run_status == "failed").then(|| json!({"category": "output", "code": error, "message": "x"}));
        let verdict = json!({
            "rule": rule, "turn": turn, "completion": "completed", "reason_code": reason, "run_status": run_status,
            "confidence": 1.0, "error": error, "warnings": [],
            "evidence": {"end": end, "marker": [], "answer": []},
        });
        let exit = json!({"code": null, "signal": "SIGKILL", "ended_by": ended_by});
        serde_json::from_value(json!({"verdict": verdict, "terminal_status": turn, "exit": exit})).expect("a record")
    }

    /// Found in real use: one sentence covered all ends of a rule, and so was wrong for some of them.
    #[test]
    fn the_sentence_of_a_rule_is_about_the_end_that_it_was() {
        let end = || json!([{"stream": "stdout", "from": 0, "to": 1}]);
        let sentence = |rule, status, reason, error, by| decided(&ended(rule, status, reason, error, by, end()));
        let marked = "DONE_MARKER_OUTPUT_INVALID";
        let missing = sentence("3", "failed", marked, "OUTPUT_MISSING", "exited");
        assert!(missing.ends_with("output is missing"), "{missing}");
        let misfit = sentence("3", "failed", marked, "OUTPUT_SCHEMA_INVALID", "exited");
        assert!(misfit.ends_with("does not fit the schema") && !misfit.contains("missing"), "{misfit}");
        let missing = sentence("10", "failed", "OUTPUT_MISSING", "OUTPUT_MISSING", "exited");
        assert!(missing.ends_with("output is missing"), "{missing}");
        let good = sentence("3c", "succeeded", "DONE_MARKER_FOUND", "", "exited");
        assert!(!good.contains("but"), "{good}");
        let bad = sentence("3c", "failed", "DONE_MARKER_FOUND", "ENGINE_EXIT_NONZERO", "exited");
        assert!(bad.contains("did not exit cleanly"), "{bad}");
        let stall = sentence("4", "failed", "TIMEOUT", "TIMEOUT", "stall");
        assert!(stall.contains("silent") && !stall.contains("took too long"), "{stall}");
        let hard = sentence("4", "failed", "TIMEOUT", "TIMEOUT", "hard_timeout");
        assert!(hard.contains("took too long") && !hard.contains("silent"), "{hard}");
        let exit = sentence("6", "failed", "ENGINE_FAILED", "ENGINE_FAILED", "exited");
        assert!(exit.contains("although its turn had ended"), "{exit}");
        let endless = decided(&ended("6", "failed", "ENGINE_FAILED", "ENGINE_FAILED", "exited", json!([])));
        assert_eq!(endless, rule(Rule::BadExit));
    }

    #[test]
    fn lists_that_no_macro_makes_are_complete() {
        is_complete(MomentKind::ALL);
        is_complete(PassageKind::ALL);
    }
}
