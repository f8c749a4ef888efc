"""Breaks each rule of the completion gate and of workflows once and checks that a test fails.

contract R4.1 says that no rule or sentence about settling may be dropped from the code without a test failing; the same
holds of the rules by which the steps of workflows begin and end. Each entry of MUTATIONS breaks one of them: in FILE,
which is relative to the repository, OLD becomes NEW, and the tests named in the entry must then fail. Work is done in a
temporary copy; the repository is only read.

    python3 testkit/mutations.py              all of them; exit code 1 if one survives
    python3 testkit/mutations.py marker 3b    only those whose rule has one of these words in it
    python3 testkit/mutations.py --write      all of them, and regenerate docs/mutations.md

Compiled dependencies are kept in target/mutations, so that only the first run is slow.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NOT_COPIED = shutil.ignore_patterns("target", ".git", "node_modules")

# What must fail. Names are arguments of `cargo test`.
GATE = ["-p", "skillrun-lifecycle", "--test", "settle_table"]
QUESTION = ["-p", "skillrun-lifecycle", "--lib", "ask_user::"]
TEXT = ["-p", "skillrun-parse", "--lib", "text::"]
FACTS = ["-p", "skillrun-translate", "--lib", "facts::"]
CHECKS = ["-p", "skillrun-lifecycle", "--lib", "run::tests::checks::"]
WORKFLOW = ["-p", "skillrun-lifecycle", "--lib", "workflow::"]

SETTLE = "crates/lifecycle/src/settle.rs"
READING = "crates/lifecycle/src/reading.rs"
OUTPUT = "crates/lifecycle/src/output.rs"
PENDING = "crates/lifecycle/src/pending.rs"
ADVICE = "crates/lifecycle/src/advice.rs"
ASK = "crates/lifecycle/src/ask_user.rs"
ASK_READ = "crates/lifecycle/src/ask_user/read.rs"
MARKER = "crates/parse/src/text/marker.rs"
OBJECTS = "crates/parse/src/text/objects.rs"
JSON = "crates/parse/src/text/json.rs"
FOLD = "crates/translate/src/facts.rs"
CHECKS_RUN = "crates/lifecycle/src/run/checks.rs"
OUTCOME = "crates/lifecycle/src/workflow/outcome.rs"
JUDGE = "crates/lifecycle/src/workflow/judge.rs"
NEXT = "crates/lifecycle/src/workflow/next.rs"


class Mutation(NamedTuple):
    rule: str
    broken: str
    file: str
    old: str
    new: str
    tests: list


MUTATIONS = [
    # contract R3.5, rule by rule.
    Mutation("1", "a recorded cancel is not looked at", SETTLE,
             "if self.control.cancel_recorded {", "if false {", GATE),
    Mutation("1 before 2", "the end event is asked first", SETTLE,
             "if self.control.cancel_recorded {", "if self.control.cancel_recorded && self.clean_end {", GATE),
    Mutation("1b", "an interrupt is passed over", SETTLE,
             "if was_interrupted(self.facts, self.control, self.end.is_some()) {", "if false {", GATE),
    Mutation("1b: auto mode", "a turn of an auto run is interrupted", SETTLE,
             "        ExecutionMode::Auto => return false,\n        ExecutionMode::Interactive | ExecutionMode::Conversation => {}\n",
             "        ExecutionMode::Auto | ExecutionMode::Interactive | ExecutionMode::Conversation => {}\n", GATE),
    Mutation("1b: interactive mode", "only a conversation is interrupted", SETTLE,
             "        ExecutionMode::Auto => return false,\n        ExecutionMode::Interactive | ExecutionMode::Conversation => {}\n",
             "        ExecutionMode::Auto | ExecutionMode::Interactive => return false,\n"
             "        ExecutionMode::Conversation => {}\n", GATE),
    Mutation("1b: the interrupt stands first", "it counts after a success end too", SETTLE,
             "            Some(EndKind::Success | EndKind::Failure | EndKind::Limit) => false,",
             "            Some(EndKind::Success) => true,\n            Some(EndKind::Failure | EndKind::Limit) => false,", GATE),
    Mutation("1b: the interrupt stands first", "it counts after a failure or limit end too", SETTLE,
             "            Some(EndKind::Success | EndKind::Failure | EndKind::Limit) => false,",
             "            Some(EndKind::Success) => false,\n            Some(EndKind::Failure | EndKind::Limit) => true,", GATE),
    Mutation("1b: the interrupt stands first", "a limit that the engine continues after is an end", SETTLE,
             "            None | Some(EndKind::ProvisionalLimit | EndKind::Retracted) => true,",
             "            Some(EndKind::ProvisionalLimit) => false,\n            None | Some(EndKind::Retracted) => true,", GATE),
    Mutation("1b: no recorded act", "an end event does not count", SETTLE,
             "None => control.ended_by == Some(EndedBy::Interrupted) && !has_end,",
             "None => control.ended_by == Some(EndedBy::Interrupted),", GATE),
    Mutation("1b: no recorded act", "a process ended for an interrupt is not interrupted", SETTLE,
             "None => control.ended_by == Some(EndedBy::Interrupted) && !has_end,", "None => false,", GATE),
    Mutation("1b: waiting_user", "the run fails", SETTLE,
             "Decision::new(Rule::Interrupted, turn, completion, Code::Interrupted, RunStatus::WaitingUser)",
             "Decision::new(Rule::Interrupted, turn, completion, Code::Interrupted, RunStatus::Failed)", GATE),
    Mutation("1b: INTERRUPTED", "the reason is that of a cancel", SETTLE,
             "Decision::new(Rule::Interrupted, turn, completion, Code::Interrupted, RunStatus::WaitingUser)",
             "Decision::new(Rule::Interrupted, turn, completion, Code::Canceled, RunStatus::WaitingUser)", GATE),
    Mutation("1b: at rest", "the run asks a question", SETTLE,
             "let rests = rule == Rule::Interrupted || self.control.mode", "let rests = self.control.mode", GATE),
    Mutation("1 before 1b", "the interrupt is asked first", SETTLE,
             "if self.control.cancel_recorded {",
             "if self.control.cancel_recorded && !was_interrupted(self.facts, self.control, self.end.is_some()) {", GATE),
    Mutation("conversation: waiting_user", "a turn that failed ends the run", SETTLE,
             "ExecutionMode::Conversation => Decision { run: RunStatus::WaitingUser, ..decision },",
             "ExecutionMode::Conversation => decision,", GATE),
    Mutation("conversation: CLEAN_FINAL", "a clean final has another reason", SETTLE,
             "Decision::new(Rule::Waiting, turn, completion, Code::CleanFinal, RunStatus::WaitingUser)",
             "Decision::new(Rule::Waiting, turn, completion, Code::TurnEndedWithoutMarker, RunStatus::WaitingUser)", GATE),
    Mutation("conversation: ANSWER_MISSING", "a clean end without an answer completes the turn", SETTLE,
             "        let warnings = self.process_warnings();\n        if self.reading.answer.is_none() {",
             "        let warnings = self.process_warnings();\n        if false {", GATE),
    Mutation("conversation: warnings", "a bad exit after the answer is not told", SETTLE,
             "RunStatus::WaitingUser);\n        Decision { warnings, ..decision }\n    }",
             "RunStatus::WaitingUser);\n        drop(warnings);\n        decision\n    }", GATE),
    Mutation("conversation: no completion layer", "a marker completes the run", READING,
             "(false, _, _) | (true, ExecutionMode::Conversation, _) => return reading,", "(false, _, _) => return reading,\n"
             "        (true, ExecutionMode::Conversation, CompletionLayer::Absent) => return reading,\n"
             "        (true, ExecutionMode::Conversation, CompletionLayer::OfSkill) => {}", GATE),
    Mutation("conversation: at rest", "the run asks a question", SETTLE,
             "let rests = rule == Rule::Interrupted || self.control.mode == ExecutionMode::Conversation;",
             "let rests = rule == Rule::Interrupted;", GATE),
    Mutation("2", "a limit end counts as failure end", SETTLE,
             "                    Rule::Limit,\n", "                    Rule::Failure,\n", GATE),
    Mutation("2", "a limit end is passed over", SETTLE,
             "Some(EndKind::Limit | EndKind::ProvisionalLimit) => {",
             "Some(EndKind::Limit | EndKind::ProvisionalLimit) if self.control.attempt.0 < 9 => {}\n            "
             "Some(EndKind::Limit | EndKind::ProvisionalLimit) => {", GATE),
    Mutation("8: a limit that opencode goes on after", "it is the end even when a timeout ended it", SETTLE,
             "went_on || facts.acts", "false && went_on || facts.acts", GATE),
    Mutation("2b", "a failure end is passed over", SETTLE,
             "Some(EndKind::Failure) => {", "Some(EndKind::Failure) if self.control.attempt.0 < 9 => {}\n            "
             "Some(EndKind::Failure) => {", GATE),
    Mutation("2, 6, 7: text", "the turn is failed even with text", SETTLE,
             "if self.facts.has_text { TurnState::PartialFailed }", "if false { TurnState::PartialFailed }", GATE),
    Mutation("2, 6, 7: text", "the turn is partial_failed even without text", SETTLE,
             "if self.facts.has_text { TurnState::PartialFailed }", "if true { TurnState::PartialFailed }", GATE),
    Mutation("3", "a marker with invalid output waits", SETTLE,
             "if self.reading.carrier.is_some() {",
             "if self.reading.carrier.is_some() && matches!(self.reading.output, Output::Valid(_)) {", GATE),
    Mutation("3", "the error has the reason's code", ADVICE,
             "error(ErrorCategory::Output, code, message)",
             "error(ErrorCategory::Output, Code::DoneMarkerOutputInvalid, message)", GATE),
    Mutation("3, 10: OUTPUT_MISSING", "an output that is missing does not fit", SETTLE,
             "Output::Missing => Code::OutputMissing,\n            Output::Invalid(_) | Output::Valid(_) => Code::OutputSchemaInvalid,",
             "Output::Missing | Output::Invalid(_) | Output::Valid(_) => Code::OutputSchemaInvalid,", GATE),
    Mutation("3 before 4, 5, 6", "the process is asked before the marker", SETTLE,
             "if self.reading.carrier.is_some() {",
             "if self.reading.carrier.is_some() && self.control.exit == ProcessExit::Code(0) {", GATE),
    Mutation("3b", "warnings about the process are left out", SETTLE,
             "Decision { output: Some(output), warnings: self.process_warnings(), ..decision }\n            }\n            "
             "ExecutionMode::Auto",
             "Decision { output: Some(output), ..decision }\n            }\n            ExecutionMode::Auto", GATE),
    Mutation("3b: HOST_LOST_AFTER_DONE", "a lost host is not reported", SETTLE,
             "warnings.push(Code::HostLostAfterDone);", "", GATE),
    Mutation("3b: EXIT_NONZERO_AFTER_DONE", "a bad exit is not reported", SETTLE,
             "warnings.push(if outlived { Code::WrapperEnded } else { Code::ExitNonzeroAfterDone });", "", GATE),
    Mutation("3b: WRAPPER_ENDED", "the order of signal and end is not looked at", SETTLE,
             "act.act == EndedBy::Exited && act.after", "false && act.after", GATE),
    Mutation("3b, 3c: LINGER_ENDED", "linger is not reported", SETTLE,
             "warnings.push(Code::LingerEnded);", "", GATE),
    Mutation("3c", "auto does not ask for a clean exit", SETTLE,
             "ProcessExit::Code(_) | ProcessExit::Signal(_) => self.lingered,",
             "ProcessExit::Code(_) | ProcessExit::Signal(_) => true,", GATE),
    Mutation("3c", "linger does not excuse the exit", SETTLE,
             "ProcessExit::Code(_) | ProcessExit::Signal(_) => self.lingered,",
             "ProcessExit::Code(_) | ProcessExit::Signal(_) => false,", GATE),
    Mutation("3c: ENGINE_EXIT_NONZERO", "the error has another code", SETTLE,
             "advice::bad_exit(&self.control.exit, outlived, Code::EngineExitNonzero)",
             "advice::bad_exit(&self.control.exit, outlived, Code::EngineFailed)", GATE),
    Mutation("4", "a stall is not a timeout", SETTLE,
             "            Some(EndedBy::HardTimeout | EndedBy::Stall | EndedBy::WaitTimeout) => {\n",
             "            Some(EndedBy::Stall) => {}\n            Some(EndedBy::HardTimeout | EndedBy::WaitTimeout) => {\n", GATE),
    Mutation("4", "a hard timeout is none", SETTLE,
             "            Some(EndedBy::HardTimeout | EndedBy::Stall | EndedBy::WaitTimeout) => {\n",
             "            Some(EndedBy::HardTimeout) => {}\n            Some(EndedBy::Stall | EndedBy::WaitTimeout) => {\n", GATE),
    Mutation("4", "the turn is interrupted, not timed_out", SETTLE,
             "Decision::failed(Rule::TimedOut, TurnState::TimedOut,",
             "Decision::failed(Rule::TimedOut, TurnState::Interrupted,", GATE),
    Mutation("5: ATTEMPT_LOST", "a lost host is passed over", SETTLE,
             "Some(EndedBy::HostLost) => return Some(self.host_ended(Code::AttemptLost)),",
             "Some(EndedBy::HostLost) => {}", GATE),
    Mutation("5: EVIDENCE_BUDGET", "the byte budget is passed over", SETTLE,
             "Some(EndedBy::Budget) => return Some(self.host_ended(Code::EvidenceBudget)),",
             "Some(EndedBy::Budget) => {}", GATE),
    Mutation("5: MEMORY_LIMIT", "the memory limit is passed over", SETTLE,
             "Some(EndedBy::MemoryLimit) => return Some(self.host_ended(Code::MemoryLimit)),",
             "Some(EndedBy::MemoryLimit) => {}", GATE),
    Mutation("5: PROCESS_LIMIT", "the limit of processes is passed over", SETTLE,
             "Some(EndedBy::ProcessLimit) => return Some(self.host_ended(Code::ProcessLimit)),",
             "Some(EndedBy::ProcessLimit) => {}", GATE),
    Mutation("5: CPU_LIMIT", "the limit of processor time is passed over", SETTLE,
             "Some(EndedBy::CpuLimit) => return Some(self.host_ended(Code::CpuLimit)),",
             "Some(EndedBy::CpuLimit) => {}", GATE),
    Mutation("5: DISK_LIMIT", "the disk limit is passed over", SETTLE,
             "Some(EndedBy::DiskLimit) => return Some(self.host_ended(Code::DiskLimit)),",
             "Some(EndedBy::DiskLimit) => {}", GATE),
    Mutation("5: HOST_ERROR", "a host error is passed over", SETTLE,
             "Some(EndedBy::HostError) => return Some(self.host_ended(Code::HostError)),",
             "Some(EndedBy::HostError) => {}", GATE),
    Mutation("5b", "not found and not started are one", SETTLE,
             "if not_found { Code::EngineNotFound }", "if not_found { Code::EngineNotStarted }", GATE),
    Mutation("5b", "a process that never started is passed over", SETTLE,
             "            Some(EndedBy::NotStarted) => {\n",
             "            Some(EndedBy::NotStarted) if !self.facts.has_text => {}\n"
             "            Some(EndedBy::NotStarted) => {\n", GATE),
    Mutation("6", "a non-zero exit is passed over", SETTLE,
             "            ProcessExit::Code(_) | ProcessExit::Signal(_) => {\n                return Some(Decision::failed(\n",
             "            ProcessExit::Code(_) => {}\n            ProcessExit::Signal(_) => {\n"
             "                return Some(Decision::failed(\n", GATE),
    Mutation("6", "a signal is passed over", SETTLE,
             "            ProcessExit::Code(_) | ProcessExit::Signal(_) => {\n                return Some(Decision::failed(\n",
             "            ProcessExit::Signal(_) => {}\n            ProcessExit::Code(_) => {\n"
             "                return Some(Decision::failed(\n", GATE),
    Mutation("7", "exit 0 alone is an end", SETTLE,
             "        if self.end.is_none() {", "        if false {", GATE),
    Mutation("7: an end taken back is none", "a retracted end counts as an end", SETTLE,
             ".filter(|end| end.kind != EndKind::Retracted)", "", GATE),
    Mutation("7b", "an unknown exit without an end goes on", SETTLE,
             "ProcessExit::Unknown if self.end.is_none() => {", "ProcessExit::Unknown if false => {", GATE),
    Mutation("7b: with an end go on", "an unknown exit never goes on", SETTLE,
             "ProcessExit::Unknown if self.end.is_none() => {",
             "ProcessExit::Unknown if self.end.is_none() || self.clean_end => {", GATE),
    Mutation("7b: as for exit 0, in 3c", "an unknown exit is a bad one", SETTLE,
             "ProcessExit::Code(0) | ProcessExit::Unknown => true,\n"
             "                    ProcessExit::Code(_) | ProcessExit::Signal(_) => self.lingered,",
             "ProcessExit::Code(0) => true,\n                    "
             "ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::Unknown => self.lingered,", GATE),
    Mutation("8", "a missing answer does not fail the run", SETTLE,
             "    fn auto(&self) -> Decision {\n        if self.reading.answer.is_none() {",
             "    fn auto(&self) -> Decision {\n        if false {", GATE),
    Mutation("9: CLEAN_FINAL", "the reason does not tell whether there is a schema", SETTLE,
             "if self.control.schema.is_some() { Code::OutputValid } else { Code::CleanFinal }", "Code::OutputValid", GATE),
    Mutation("8b", "\"not done\" does not fail the run", SETTLE,
             "        if self.reading.denied {", "        if false {", GATE),
    Mutation("8b: in any closing message", "only the answer may say it", SETTLE,
             "        if self.reading.denied {", "        if self.reading.answer_denied {", GATE),
    Mutation("8b: linger is reported", "no warning beside \"not done\"", SETTLE,
             "return Decision { error: Some(error), warnings: self.process_warnings(), ..decision };",
             "return Decision { error: Some(error), ..decision };", GATE),
    Mutation("9: COMPLETED_WITHOUT_DONE_MARKER", "it is not reported", SETTLE,
             "                decision.warnings.push(Code::CompletedWithoutDoneMarker);\n", "", GATE),
    Mutation("9: require_marker", "it is not looked at", SETTLE,
             "if self.control.require_marker {", "if false {", GATE),
    Mutation("9, 10: linger is reported", "no warning beside valid output", SETTLE,
             "Decision { output: Some(output.clone()), warnings: self.process_warnings(), ..decision }\n                };",
             "Decision { output: Some(output.clone()), ..decision }\n                };", GATE),
    Mutation("10", "missing output is called invalid", SETTLE,
             "Output::Missing | Output::Valid(_) => Code::OutputMissing,",
             "Output::Missing | Output::Valid(_) => Code::OutputInvalid,", GATE),
    Mutation("10: unknown", "completion is interrupted", SETTLE,
             "                    CompletionState::Unknown,\n                    reason,\n",
             "                    CompletionState::Interrupted,\n                    reason,\n", GATE),
    Mutation("10: UNEXPECTED_COMPLETION_STATE", "the diagnostic has another code", SETTLE,
             "                        Code::UnexpectedCompletionState,", "                        Code::OutputTooLarge,", GATE),
    Mutation("11", "there is no soft completion", SETTLE,
             "            && !self.reading.asks\n", "            && false\n", GATE),
    Mutation("11: by a schema", "any object completes an interactive turn", SETTLE,
             "if let (Some(_), Output::Valid(output)) = (self.control.schema, &self.reading.soft_output)",
             "if let Output::Valid(output) = &self.reading.soft_output", GATE),
    Mutation("11: no ask_user", "a question does not block soft completion", SETTLE,
             "            && !self.reading.asks\n", "", GATE),
    Mutation("11: warning", "soft completion does not warn", SETTLE,
             "warnings.push(Code::InteractiveCompletedWithoutDoneMarker);", "", GATE),
    Mutation("11: linger is reported", "no warning beside soft completion", SETTLE,
             "            let mut warnings = self.process_warnings();\n"
             "            warnings.push(Code::Interactive",
             "            let mut warnings = Vec::new();\n            warnings.push(Code::Interactive", GATE),
    Mutation("11 before 12", "max_attempt is asked before soft evidence", SETTLE,
             "            && !self.reading.asks\n",
             "            && !self.reading.asks\n            && self.control.max_attempt.is_none()\n", GATE),
    Mutation("11 before 13", "the session is asked before soft evidence", SETTLE,
             "            && !self.reading.asks\n",
             "            && !self.reading.asks\n            && self.facts.session_id.is_some()\n", GATE),
    Mutation("12", "max_attempt is one more", SETTLE,
             "self.control.attempt.0 >= max", "self.control.attempt.0 > max", GATE),
    Mutation("12", "max_attempt is not looked at", SETTLE,
             "self.control.attempt.0 >= max", "max == 0", GATE),
    Mutation("12 before 13", "the session is asked first", SETTLE,
             "self.control.attempt.0 >= max", "self.control.attempt.0 >= max && self.facts.session_id.is_some()", GATE),
    Mutation("12, 13, 14: failed without an answer", "the turn is completed without an answer", SETTLE,
             "let turn = if self.reading.answer.is_some() { TurnState::Completed } else { TurnState::Failed };",
             "let turn = TurnState::Completed;", GATE),
    Mutation("13", "the user is asked although the answer cannot be delivered", SETTLE,
             "self.control.continuation == Continuation::Resumable && session.is_none()", "false", GATE),
    Mutation("13: resumable engine", "a sticky process needs a session id", SETTLE,
             "self.control.continuation == Continuation::Resumable && session.is_none()", "session.is_none()", GATE),
    Mutation("13: known in the run", "a session of an earlier attempt does not count", SETTLE,
             "self.facts.session_id.as_deref().or(self.control.known_session)", "self.facts.session_id.as_deref()", GATE),
    Mutation("14", "the run fails instead of waiting", SETTLE,
             "waiting(Rule::Waiting, RunStatus::WaitingUser)", "waiting(Rule::Waiting, RunStatus::Failed)", GATE),
    Mutation("14: linger is reported", "no warning beside a question", SETTLE,
             "Decision { warnings: self.process_warnings(), ..Decision::new(rule, turn, completion, reason, run) }",
             "Decision::new(rule, turn, completion, reason, run)", GATE),

    # contract R3.6 to R3.11.
    Mutation("linger: acts after the success end", "the order of acts is not looked at", SETTLE,
             "recorded.is_none_or(|act| act.after == Some(EndKind::Success))", "(recorded.is_none() || recorded.is_some())", GATE),
    Mutation("linger: no record", "an act without a record came before the end", SETTLE,
             "recorded.is_none_or(|act| act.after == Some(EndKind::Success))",
             "recorded.is_some_and(|act| act.after == Some(EndKind::Success))", GATE),
    Mutation("linger: the act that ended it", "any act tells", SETTLE,
             "let recorded = facts.acts.iter().find(|act| act.act == ended_by);", "let recorded = facts.acts.first();", GATE),
    Mutation("linger: the act that ended it", "the last act of the kind tells", SETTLE,
             "let recorded = facts.acts.iter().find(|act| act.act == ended_by);",
             "let recorded = facts.acts.iter().rev().find(|act| act.act == ended_by);", GATE),
    Mutation("linger: hard, stall, budget", "only linger itself is not a failure", SETTLE,
             "        EndedBy::Linger\n        | EndedBy::HardTimeout\n        | EndedBy::Stall\n        | EndedBy::WaitTimeout\n"
             "        | EndedBy::MemoryLimit\n        | EndedBy::ProcessLimit\n        | EndedBy::CpuLimit\n"
             "        | EndedBy::DiskLimit\n        | EndedBy::Budget\n        | EndedBy::Interrupted => {\n            let recorded",
             "        EndedBy::HardTimeout | EndedBy::Stall | EndedBy::WaitTimeout | EndedBy::Budget => false,\n"
             "        EndedBy::MemoryLimit | EndedBy::ProcessLimit | EndedBy::CpuLimit | EndedBy::DiskLimit => false,\n"
             "        EndedBy::Linger | EndedBy::Interrupted => {\n            let recorded", GATE),
    Mutation("linger: a clean end", "linger without a success end", SETTLE,
             "clean_end && recorded", "recorded", GATE),
    Mutation("linger: where the exit is the end", "an act before the exit counts as linger", SETTLE,
             "EndPolicy::Exit { .. } => return false,", "EndPolicy::Exit { .. } => {}", GATE),
    Mutation("linger: no failure", "rules 4 and 5 come before linger", SETTLE,
             ") if self.lingered => {", ") if self.lingered && self.reading.carrier.is_some() => {", GATE),
    Mutation("linger: a new turn event cancels it", "an act stays after an end that was taken back", FOLD,
             "                    seen.after[index] = seen.after[index].filter(|before| is_same(*before, end.kind));\n", "", FACTS),
    Mutation("linger: order is evidence", "acts do not know the success end", FOLD,
             "self.streams.each_ref().map(|stream| stream.end.as_ref().map(|end| end.kind))", "[None; 3]", FACTS),
    Mutation("linger: order is evidence", "any end counts as the success end", SETTLE,
             "recorded.is_none_or(|act| act.after == Some(EndKind::Success))",
             "recorded.is_none_or(|act| act.after.is_some())", GATE),
    Mutation("linger: on the stream of the end", "the end of another stream counts", FOLD,
             "after: seen.after[end_stream.index()] };", "after: seen.after.iter().flatten().next().copied() };", FACTS),
    Mutation("several ends: the last decides", "the first end decides", FOLD,
             "stream.end = Some(EndFact { kind, message, category, limit, confidence, span });",
             "stream.end.get_or_insert(EndFact { kind, message, category, limit, confidence, span });", FACTS),
    Mutation("opencode: an end is taken back", "a retraction does nothing", FOLD,
             "EndKind::Retracted => stream.end = None,", "EndKind::Retracted => {}", FACTS),
    Mutation("error.code: SESSION_NOT_FOUND", "a refused session is an engine failure", ADVICE,
             "    if session_refused {\n", "    if false && session_refused {\n", GATE),
    Mutation("error.code: SESSION_NOT_FOUND", "only the error event is asked", SETTLE,
             "self.facts.session_refused || self.end.as_ref().is_some_and(|end| end.category == ErrorCategory::Session)",
             "self.facts.session_refused", GATE),
    Mutation("error.code: SESSION_NOT_FOUND", "not for exit 0", SETTLE,
             "let error = if self.session_refused() {", "let error = if false {", GATE),
    Mutation("error.code: SESSION_NOT_FOUND", "a refusal on stderr is not seen", FOLD,
             "self.session_refused |= error.category == ErrorCategory::Session;", "", FACTS),
    Mutation("R8.1: success end is exit 0", "the exit never tells a success", SETTLE,
             "(ProcessExit::Code(0), _) => Some(TurnEnd {", "(ProcessExit::Code(9), _) => Some(TurnEnd {", GATE),
    Mutation("R8.1: error keyword and bad exit", "a keyword is not needed", SETTLE,
             "            (ProcessExit::Code(_), Some(error)) => Some(TurnEnd {\n                kind: EndKind::Failure,\n"
             "                message: Some(error.message.clone()),\n                category: error.category,\n",
             "            (ProcessExit::Code(_), error) => Some(TurnEnd {\n                kind: EndKind::Failure,\n"
             "                message: error.as_ref().map(|e| e.message.clone()),\n"
             "                category: ErrorCategory::Engine,\n", GATE),
    Mutation("R6.18: confidence", "the end has no say", SETTLE,
             "[self.end.as_ref().map(|e| e.confidence), answer.map(|a| a.confidence)]",
             "[None, answer.map(|a| a.confidence)]", GATE),
    Mutation("R6.18: confidence", "the answer has no say", SETTLE,
             "[self.end.as_ref().map(|e| e.confidence), answer.map(|a| a.confidence)]",
             "[self.end.as_ref().map(|e| e.confidence), None]", GATE),
    Mutation("R6.15: an answer needs a completed turn", "a broken turn names an answer", SETTLE,
             ".filter(|_| decision.turn == TurnState::Completed)", "", GATE),
    Mutation("R6.14: evidence", "the marker's range is the answer's", SETTLE,
             "self.reading.carrier.map(|(message, _)| spans(&message.spans)).unwrap_or_default()",
             "self.reading.carrier.and(answer).map(|message| spans(&message.spans)).unwrap_or_default()", GATE),

    # contract R4.3 to R4.9: the marker.
    Mutation("marker: only after a clean end", "text without a clean end carries a marker", READING,
             "(false, _, _) | (true, ExecutionMode::Conversation, _) => return reading,",
             "(false, ExecutionMode::Auto | ExecutionMode::Interactive, CompletionLayer::OfSkill) => {}\n        "
             "(false, _, _) | (true, ExecutionMode::Conversation, _) => return reading,", GATE),
    Mutation("marker: closing messages", "only the answer is looked at", READING,
             "before.iter().map(read_whole).chain([in_answer()]).collect()",
             "before.iter().map(read_whole).chain([in_answer()]).skip(before.len()).collect()", GATE),
    Mutation("marker: closing messages", "a tool call between does not matter", READING,
             "facts.messages.iter().rposition(|message| message.after_tool).unwrap_or(0)", "0", GATE),
    Mutation("marker: closing messages", "a tool call after all of them does not matter", READING,
             "    if facts.tool_follows {\n        return facts.messages.len();\n    }\n", "", GATE),
    Mutation("marker: closing messages", "the first tool call is the last", READING,
             "facts.messages.iter().rposition(", "facts.messages.iter().position(", GATE),
    Mutation("marker: closing messages", "the end of an open call is a call", FOLD,
             "self.call_since_message |= id.len() > CALL_ID_BYTES || self.open_calls.insert(id);",
             "self.call_since_message = true;", FACTS),
    Mutation("marker: closing messages", "a marker goes with its message", FOLD,
             "if let Some(word) = done_word(dropped.text.tail()).filter(is_needed) {",
             "if let Some(word) = done_word(dropped.text.tail()).filter(is_needed).filter(|_| false) {", FACTS),
    Mutation("marker: DONE_MARKER_BEFORE_WORK", "it is not reported", READING,
             "if let Some(message) = early.iter().rev().find(has_marker) {",
             "if let Some(message) = early.iter().rev().find(has_marker).filter(|_| false) {", GATE),
    Mutation("marker: DONE_MARKER_BEFORE_WORK", "its bytes are not reported", READING,
             "GateNotice { spans: place.spans.iter().map(span_ref).collect(), ..notice(code, message) }",
             "GateNotice { spans: place.spans.iter().take(0).map(span_ref).collect(), ..notice(code, message) }", GATE),
    Mutation("marker: first wins", "the marker of the last message wins", READING,
             "closing.iter().enumerate().find_map(", "closing.iter().enumerate().rev().find_map(", GATE),
    Mutation("marker: first wins", "the last of a message wins", MARKER,
             "                    if scan.first.is_some() {\n                        scan.repeated += 1;\n"
             "                    } else {\n",
             "                    {\n                        scan.repeated += usize::from(scan.first.is_some());\n", TEXT),
    Mutation("marker: DONE_MARKER_REPEATED", "repetition is not reported", READING,
             "if markers > 1 {", "if markers > 9 {", GATE),
    Mutation("marker: DONE_MARKER_REPEATED", "the message before does not count", READING,
             "scans().map(|s| s.repeated + usize::from(s.first.is_some())).sum()",
             "scans().rev().take(1).map(|s| s.repeated + usize::from(s.first.is_some())).sum()", GATE),
    Mutation("marker: value true", "any value is a marker", MARKER,
             "Some(Value::Bool(true)) => {", "Some(Value::Bool(_)) => {", TEXT),
    Mutation("marker: uppercase only", "lowercase is a marker", MARKER,
             "match value.shift_remove(DONE_KEY) {",
             "match value.shift_remove(DONE_KEY).or_else(|| value.shift_remove(\"__skill_done__\")) {", TEXT),
    Mutation("marker: escaped spelling", "a key with an escape is not seen", MARKER,
             " || memmem::find(json.as_bytes(), b\"\\\\u\").is_some()", "", TEXT),
    Mutation("marker: DONE_MARKER_MALFORMED", "malformed ones are not counted", MARKER,
             "malformed: mentions(text).count(),", "malformed: 0 * mentions(text).count() + 1,", TEXT),
    Mutation("marker: DONE_MARKER_MALFORMED", "only uppercase is malformed", MARKER,
             "key.eq_ignore_ascii_case(DONE_KEY.as_bytes())", "key == DONE_KEY.as_bytes()", TEXT),
    Mutation("marker: DONE_MARKER_MALFORMED", "a proper marker is malformed too", MARKER,
             "scan.malformed -= count_proper_mentions(json, b\"true\");", "", TEXT),
    Mutation("marker: DONE_MARKER_MALFORMED", "nested ones count as proper", MARKER,
             "let is_key = depth == 1 &&", "let is_key = depth >= 1 &&", TEXT),
    Mutation("marker: DONE_MARKER_MALFORMED", "the gate does not tell", READING,
             "first(&|read| read.scan.malformed > 0)", "first(&|read| read.scan.malformed > 9)", GATE),
    Mutation("marker: broken JSON", "the place is not reported", READING,
             "            if let Some(broken) = broken {\n", "            if let Some(broken) = broken.filter(|_| false) {\n", GATE),
    Mutation("marker: broken JSON", "the user sees the broken JSON", READING,
             "            hidden.extend(broken.iter().map(|broken| (broken.start, broken.end)));\n", "", GATE),
    Mutation("marker: broken JSON", "the user is not informed", READING,
             "broken.filter(|_| self.carrier.is_none()).map(", "broken.filter(|_| false).map(", GATE),
    Mutation("marker: \"not done\" blocks rule 11", "a denial does not block", SETTLE,
             "            && !self.reading.answer_denied\n", "", GATE),
    Mutation("marker: \"not done\" blocks rule 11 in the answer", "a denial in the message before blocks", SETTLE,
             "            && !self.reading.answer_denied\n", "            && !self.reading.denied\n", GATE),
    Mutation("marker: DONE_MARKER_FALSE", "it is not reported", READING,
             "if let Some((message, _)) = first(&|read| read.scan.denied) {",
             "if let Some((message, _)) = first(&|read| read.scan.denied && false) {", GATE),
    Mutation("marker: \"not done\"", "any value is a denial", MARKER,
             "Some(Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) | None => {\n",
             "Some(_) => scan.denied = true,\n                None => {\n", TEXT),
    Mutation("marker: \"not done\" is not malformed", "false is malformed", MARKER,
             "                    scan.malformed -= count_proper_mentions(json, b\"false\");\n", "", TEXT),
    Mutation("marker: places", "a fence is not known", MARKER,
             "} else if self.fenced.get(self.next_fenced) == Some(&(start, end)) {", "} else if false {", TEXT),
    Mutation("marker: places", "the whole message is not known", MARKER,
             "if self.message == (start, end) {", "if false {", TEXT),
    Mutation("marker: places", "lines of its own are not known", MARKER,
             "} else if self.is_on_own_lines(start, end) {", "} else if false {", TEXT),
    Mutation("marker: places", "what stands behind the object on its line is not seen", MARKER,
             "            && ends_line(self.text[end..].chars().find(is_visible_or_line_end))\n", "", TEXT),

    # contract R4.2: objects in text.
    Mutation("objects: in an array", "objects in arrays are roots", OBJECTS,
             "        self.taken.push(Taken { start: frame.start, end, is_object: frame.is_object });",
             "        if frame.is_object {\n            self.taken.push(Taken { start: frame.start, end, is_object: true });\n"
             "        }", TEXT),
    Mutation("objects: inside an object", "nested objects are roots too", OBJECTS,
             "        self.taken.truncate(frame.taken_before);\n", "", TEXT),
    Mutation("objects: leftmost wins", "a later, overlapping one wins", OBJECTS,
             "        if !self.is_eligible(frame) {\n            return;\n        }\n", "", TEXT),
    Mutation("objects: cut", "cut objects are not reported", OBJECTS,
             "            self.cut = Some(frame.start);\n", "", TEXT),
    Mutation("objects: cut, opens a string key", "any open brace is a cut object", OBJECTS,
             "if frame.opens_key && self.cut", "if self.cut", TEXT),
    Mutation("objects: lone surrogates", "a lone surrogate spoils the object", JSON,
             "serde_json::from_str(&repair_surrogates(text)?).ok()", "None", TEXT),

    # contract R4.10 to R4.14: the output.
    Mutation("output: the carrying object", "the nearest object before is taken", OUTPUT,
             "let found = if marker.rest.is_empty() {", "let found = if true {", GATE),
    Mutation("output: nearest before", "the last object of the message is taken", OUTPUT,
             "last_of(carrier, marker.start)", "last_of(carrier, carrier.text.len())", GATE),
    Mutation("output: nearest before", "the first object is taken", OUTPUT,
             "read.candidates(ObjectPosition::Anywhere).rev().filter", "read.candidates(ObjectPosition::Anywhere).filter", GATE),
    Mutation("output: nearest before", "only the messages before are looked at", OUTPUT,
             "last_of(carrier, marker.start).or_else(", "None.or_else(", GATE),
    Mutation("output: messages before", "the messages before are not looked at", OUTPUT,
             "before.iter().rev().find_map(|read|", "before.iter().take(0).find_map(|read|", GATE),
    Mutation("output: messages before", "only the message just before is looked at", OUTPUT,
             "before.iter().rev().find_map(|read|", "before.iter().rev().take(1).find_map(|read|", GATE),
    Mutation("output: messages before", "the first of them is taken", OUTPUT,
             "before.iter().rev().find_map(|read|", "before.iter().find_map(|read|", GATE),
    Mutation("output: OUTPUT_BEFORE_WORK", "it is not reported", READING,
             "output::last_fitting(&early_reads, schema).and_then(",
             "output::last_fitting(&early_reads, schema).filter(|_| false).and_then(", GATE),
    Mutation("output: OUTPUT_BEFORE_WORK", "it is reported though something after it fits", READING,
             "if matches!(self.output, Output::Valid(_)) || output::last_fitting(closing, schema).is_some() {", "if false {", GATE),
    Mutation("output: marker removed", "the marker stays in the object", OUTPUT,
             "        value.shift_remove(DONE_KEY);\n", "        value.get(DONE_KEY);\n", GATE),
    Mutation("output: marker removed", "the marker stays in the carrying object", MARKER,
             "match value.shift_remove(DONE_KEY) {", "match value.get(DONE_KEY).cloned() {", TEXT),
    Mutation("output: from last to first", "objects are tried from first to last", OUTPUT,
             "message.candidates(standing).rev().map(", "message.candidates(standing).map(", GATE),
    Mutation("output: from last to first", "messages are tried from first to last", OUTPUT,
             "        .iter()\n        .rev()\n        .flat_map(", "        .iter()\n        .flat_map(", GATE),
    Mutation("output: rule 11, the answer alone", "earlier messages complete an interactive turn", READING,
             "let answer_alone = &closing[closing.len().saturating_sub(1)..];", "let answer_alone = &closing[..];", GATE),
    Mutation("output: the first that validates", "only the last is tried", OUTPUT,
             "for (message, object) in from_the_last(messages, standing) {",
             "for (message, object) in from_the_last(messages, standing).take(1) {", GATE),
    Mutation("output: errors of the last", "the errors of the first are reported", OUTPUT,
             "last_errors = last_errors.or(Some(errors))", "last_errors = Some(errors)", GATE),
    Mutation("output: rule 11, standing", "an object in prose completes", OUTPUT,
             "(ObjectPosition::Alone, MarkerForm::InProse) => false,", "(ObjectPosition::Alone, MarkerForm::InProse) => true,", GATE),
    Mutation("output: rule 11, whole answer", "the whole answer does not stand alone", OUTPUT,
             "MarkerForm::WholeMessage | MarkerForm::Fenced | MarkerForm::OwnLine) => true,\n"
             "                (ObjectPosition::Alone, MarkerForm::InProse)",
             "MarkerForm::Fenced | MarkerForm::OwnLine) => true,\n"
             "                (ObjectPosition::Alone, MarkerForm::WholeMessage | MarkerForm::InProse)", GATE),
    Mutation("output: rule 11, fence", "a fence does not stand alone", OUTPUT,
             "MarkerForm::WholeMessage | MarkerForm::Fenced | MarkerForm::OwnLine) => true,\n"
             "                (ObjectPosition::Alone, MarkerForm::InProse)",
             "MarkerForm::WholeMessage | MarkerForm::OwnLine) => true,\n"
             "                (ObjectPosition::Alone, MarkerForm::Fenced | MarkerForm::InProse)", GATE),
    Mutation("output: rule 11, own lines", "lines of its own do not count", OUTPUT,
             "MarkerForm::WholeMessage | MarkerForm::Fenced | MarkerForm::OwnLine) => true,\n"
             "                (ObjectPosition::Alone, MarkerForm::InProse)",
             "MarkerForm::WholeMessage | MarkerForm::Fenced) => true,\n"
             "                (ObjectPosition::Alone, MarkerForm::OwnLine | MarkerForm::InProse)", GATE),
    Mutation("output: cut objects", "parts of a cut object are candidates", OUTPUT,
             "stands && !object.after_cut && ", "stands && ", GATE),
    Mutation("output: no envelope", "an envelope is a candidate", OUTPUT,
             " && !self.is_in_envelope(object)", "", GATE),
    Mutation("output: no envelope", "envelopes of the message before are candidates", READING,
             "MessageScan::new(message, envelopes(&ask_user::find(&message.text)))", "MessageScan::new(message, Vec::new())", GATE),
    Mutation("output: schema but no candidate", "without an object the text is validated", READING,
             "if control.schema.is_none() {", "if true {", GATE),
    Mutation("output: no schema, text", "without an object there is no output", READING,
             "if control.schema.is_none() {", "if false {", GATE),
    Mutation("output: no schema, markers", "marker objects stay in the text", OUTPUT,
             ".chain(markers.iter().copied()).collect()", ".collect()", GATE),
    Mutation("output: no schema, fences", "fences of markers stay in the text", OUTPUT,
             "shells.map(|fence| (fence.open_start, fence.end)).chain",
             "shells.map(|fence| (fence.body.1, fence.body.1)).chain", GATE),
    Mutation("output: no schema, only their fences", "fences with more in them are left out", OUTPUT,
             "!is_empty && text[at..end].trim().is_empty()", "!is_empty", GATE),
    Mutation("output: no schema, only their fences", "what stands before the marker in a fence is left out", OUTPUT,
             "        if !text[at..*from].trim().is_empty() {\n            return false;\n        }\n", "", GATE),
    Mutation("output: OUTPUT_TOO_LARGE", "it is not reported", READING,
             "        if is_cut {\n", "        if false && is_cut {\n", GATE),
    Mutation("output: OUTPUT_TOO_LARGE", "of the message before the marker it is not reported", READING,
             "is_cut = closing[..=at].iter().any(|read| read.is_cut);", "is_cut = read.is_cut;", GATE),
    Mutation("output: OUTPUT_TOO_LARGE", "parts of a larger object are candidates", OUTPUT,
             "if message.truncated { end_of_cut(text, &scan) } else { 0 }", "0", GATE),
    Mutation("output: OUTPUT_TOO_LARGE", "brackets that were opened count as the end of a larger object", OUTPUT,
             "b'}' | b']' if open == 0 => end = place + 1,", "b'}' | b']' if open < 9 => end = place + 1,", GATE),
    Mutation("output: the last 4 MiB", "the gate gets the beginning of a message", FOLD,
             "let (text, truncated) = self.text.into_tail();",
             "let (text, truncated) = (self.text.head().to_owned(), self.text.is_truncated());", FACTS),

    # contract R4.15 to R4.17: ask_user, and the payload of contract R5.1.
    Mutation("ask_user: beside a marker", "ASK_USER_IGNORED is not reported", READING,
             "if self.asks && self.carrier.is_some() {", "if false {", GATE),
    Mutation("ask_user: ASK_USER_MALFORMED", "it is not reported", READING,
             "                self.notices.push(notice(Code::AskUserMalformed, "
             "\"the question's envelope could not be read\"));\n", "", GATE),
    Mutation("ask_user: malformed blocks rule 11 too", "only a readable one blocks", READING,
             "self.asks = ask != AskUser::None;", "self.asks = matches!(ask, AskUser::Found { .. });", GATE),
    Mutation("ask_user: tags", "tags are not known", ASK,
             "let mut envelopes = tagged(answer);", "let mut envelopes = Vec::new();", QUESTION),
    Mutation("ask_user: tags", "an unclosed tag is not an envelope", ASK,
             "None => Envelope { start, end: limit, reading: None },", "None => continue,", QUESTION),
    Mutation("ask_user: fence", "a fence is not known", ASK,
             "        add_apart(&mut envelopes, fenced(answer, &fences));\n", "", QUESTION),
    Mutation("ask_user: JSON", "a JSON object is not known", ASK,
             "        add_apart(&mut envelopes, objects(answer, &fences));\n", "", QUESTION),
    Mutation("ask_user: broken JSON", "an object that is cut is not an envelope", ASK,
             "        add_apart(&mut envelopes, broken(answer, &fences));\n", "", GATE),
    Mutation("ask_user: single key", "other keys beside it do not matter", ASK_READ,
             "    if !root.is_empty() {\n        return None;\n    }\n", "", QUESTION),
    Mutation("ask_user: root key may be left out", "inside the tags it must be there", ASK_READ,
             "        Some(_) | None => read_fields(root),\n", "        Some(_) => read_fields(root),\n        None => None,\n", QUESTION),
    Mutation("ask_user: kind or prompt", "neither is needed", ASK_READ,
             "    if kind.is_none() && prompt.is_none() {\n        return None;\n    }\n", "", QUESTION),
    Mutation("ask_user: plain options", "plain options are dropped", ASK_READ,
             "        let text = scalar(item)?;\n", "        let text = scalar(item).filter(|_| false)?;\n", QUESTION),
    Mutation("ask_user: default option", "no option is the default", ASK_READ,
             "default: fields.get(\"default\").is_some_and(is_true),", "default: false,", QUESTION),
    Mutation("payload: unknown kind", "the diagnostic is not reported", ASK_READ,
             "                notes.push(AskNote::UnknownKind(name));\n",
             "                notes.extend((name == \"x\").then_some(AskNote::UnknownKind(name)));\n", QUESTION),
    Mutation("payload: kind", "the model's kind is dropped", PENDING,
             "ask.and_then(|a| a.kind).unwrap_or(InteractionKind::OpenText)", "InteractionKind::OpenText", GATE),
    Mutation("payload: prompt without envelope", "the envelope stays in the prompt", READING,
             "self.prompt = ask_user::without_envelopes(answer, &apart(hidden));", "self.prompt = answer.to_owned();", GATE),
    Mutation("payload: prompt, fallback", "an empty prompt is put to the user", PENDING,
             "if parts.is_empty() { FALLBACK_PROMPT.to_owned() }", "if parts.is_empty() { String::new() }", GATE),
    Mutation("payload: prompt", "the question's own prompt is not used", PENDING,
             "[said, broken, asked].into_iter()", "[said, broken, asked.filter(|_| false)].into_iter()", GATE),
    Mutation("payload: prompt", "the question comes first", PENDING,
             "[said, broken, asked].into_iter()", "[asked, said, broken].into_iter()", GATE),
    Mutation("payload: prompt", "the same question is put twice", PENDING,
             ".filter(|asked| !said.as_deref().is_some_and(|said| ends_with(said, asked)))", "", GATE),
    Mutation("payload: prompt, fallback", "a prompt that cannot be seen is put to the user", PENDING,
             ".filter(|prompt| !prompt.trim().is_empty())", "", GATE),
    Mutation("payload: control characters", "they stay in the prompt", PENDING,
             "Some(ansi::strip(text).into_owned()).filter(|prompt|", "Some(text.to_owned()).filter(|prompt|", GATE),
    Mutation("payload: control characters", "they stay in options", PENDING,
             "let clean = |text: &str| ansi::strip(text).into_owned();", "let clean = |text: &str| text.to_owned();", GATE),
    Mutation("payload: control characters", "they stay in hints and context", PENDING,
             "    ansi::strip_value(&mut value);\n", "    std::convert::identity(&mut value);\n", GATE),
    Mutation("payload: options", "options are dropped", PENDING,
             "ask.map(|a| a.options.iter().map(shown_option).collect()).unwrap_or_default()",
             "ask.map(|a| a.options.iter().take(0).map(shown_option).collect()).unwrap_or_default()", GATE),
    Mutation("payload: ui_hints", "hints are dropped", PENDING,
             "ask.and_then(|a| a.ui_hints.clone())", "None", GATE),
    Mutation("payload: context", "the context is dropped", PENDING,
             "ask.and_then(|a| a.context.clone())", "None", GATE),
    Mutation("payload: policy, request first", "the skill's policy comes first", PENDING,
             "        (control.request_policy, PolicySource::Request),\n        (control.skill_policy, PolicySource::Skill),\n",
             "        (control.skill_policy, PolicySource::Skill),\n        (control.request_policy, PolicySource::Request),\n",
             GATE),
    Mutation("payload: policy, skill before model", "the model's policy comes first", PENDING,
             "        (control.skill_policy, PolicySource::Skill),\n"
             "        (ask.and_then(|a| a.default_decision_policy), PolicySource::Model),\n",
             "        (ask.and_then(|a| a.default_decision_policy), PolicySource::Model),\n"
             "        (control.skill_policy, PolicySource::Skill),\n", GATE),
    Mutation("payload: policy, default", "the default is abort", PENDING,
             "(DecisionPolicy::EngineJudgement, PolicySource::Default)", "(DecisionPolicy::Abort, PolicySource::Default)",
             GATE),
    Mutation("payload: interaction_id", "it is the attempt's number", PENDING,
             "interaction_id: control.next_interaction,",
             "interaction_id: skillrun_model::InteractionId(control.attempt.0),", GATE),
    Mutation("payload: only when waiting", "every run has a question", SETTLE,
             "pending: waits.then(||", "pending: Some(waits).map(|_|", GATE),

    # The fold of facts.
    Mutation("final messages: finished", "a partial message is final", FOLD,
             "if !partial && !text.is_blank() {", "if !text.is_blank() {", FACTS),
    Mutation("final messages: not blank", "a blank message is final", FOLD,
             "if !partial && !text.is_blank() {", "if !partial {", FACTS),
    Mutation("text: message or delta", "deltas are no text", FOLD,
             "RecordKind::Delta { text, .. } => stream.has_text |= !text.trim().is_empty(),",
             "RecordKind::Delta { .. } => {}", FACTS),
    Mutation("text: non-blank", "blank deltas are text", FOLD,
             "stream.has_text |= !text.trim().is_empty()", "stream.has_text |= text.len() < 9", FACTS),
    Mutation("tool call between", "a call does not count", FOLD,
             "RecordKind::ToolStarted { id, .. } | RecordKind::ToolSeen { id, .. } => stream.call(id),",
             "RecordKind::ToolStarted { .. } | RecordKind::ToolSeen { .. } => {}", FACTS),
    Mutation("tool call between", "a result does not count", FOLD,
             "                stream.tool_since_message = true;\n                stream.open_calls",
             "                stream.open_calls", FACTS),
    Mutation("R8.3: joined texts are one message", "they stay apart", FOLD,
             "RecordKind::Join => stream.joins = true,", "RecordKind::Join => {}", FACTS),
    Mutation("R8.3: joined texts are one message", "across a tool call too", FOLD,
             "            && !after_tool\n", "", FACTS),
    Mutation("R8.3: a void message is not final", "it stays", FOLD,
             "RecordKind::Void(voided) => stream.void(&voided),", "RecordKind::Void(_) => {}", FACTS),
    Mutation("R8.3: a void message is not final", "a joined one has only its first name", FOLD,
             "            last.engine_ids.extend(engine_id.filter(|id| last.engine_ids.last() != Some(id)));\n", "", FACTS),
    Mutation("R8.3: the texts of that response", "earlier responses are void too", FOLD,
             "Voided::Response => kept.response == response,", "Voided::Response => kept.response <= response,", FACTS),
    Mutation("R8.3: the texts of that response", "a tool result begins no new response", FOLD,
             "                stream.response += 1;\n", "", FACTS),
    Mutation("void: tool calls stay between", "the call before a void message is lost", FOLD,
             "        self.tool_since_message |= tool_before;\n", "", FACTS),
    Mutation("void: tool calls stay between", "it is not handed on to the next message", FOLD,
             "kept.message.after_tool |= std::mem::take(&mut tool_before);", "tool_before = false;", FACTS),
    Mutation("void: nothing to join", "a void message is still continued", FOLD,
             "            self.joins = false;\n", "", FACTS),
    Mutation("bounded: messages", "all messages are kept", FOLD,
             "self.messages.len() > KEPT_MESSAGES ||", "false ||", FACTS),
    Mutation("bounded: bytes", "large messages are all kept", FOLD,
             "self.messages.len() > KEPT_AT_LEAST && bytes > KEPT_BYTES", "false", FACTS),
    Mutation("bounded: three are always kept", "the output's message is dropped", FOLD,
             "const KEPT_AT_LEAST: usize = 3;", "const KEPT_AT_LEAST: usize = 2;", FACTS),
    Mutation("bounded: acts", "all acts are kept", FOLD,
             "if self.acts.len() < KEPT_ACTS {", "if true {", FACTS),
    Mutation("session: the first counts", "the last counts", FOLD,
             "stream.session_id.get_or_insert((id, record.confidence));",
             "stream.session_id = Some((id, record.confidence));", FACTS),
    Mutation("R6.6: order across streams", "the streams are one", FOLD,
             "let index = record.span.stream.index();", "let index = 0;", FACTS),
    Mutation("merged recording", "it counts without being trusted", FOLD,
             "pty.end.clone().filter(|_| self.trust_merged)", "pty.end.clone()", FACTS),
    Mutation("errors: the last of the engine", "a warning counts", FOLD,
             "if error.level == Level::Error {", "if true {", FACTS),
    # contract R4.20 and R4.21.
    Mutation("R4.20: a failed check fails the run", "it is ignored", CHECKS_RUN,
             "if let Some(check) = &state.checks.failed {",
             "if let Some(check) = state.checks.failed.as_ref().filter(|_| false) {", CHECKS),
    Mutation("R4.20: all checks run first", "the run succeeds before its last check", CHECKS_RUN,
             "state.checks.passed < options.checks", "state.checks.passed + 1 < options.checks", CHECKS),
    Mutation("R4.21: the end waits for an open check", "a cancel does not wait", CHECKS_RUN,
             "if state.open_check().is_some() {", "if state.open_check().is_some() && state.canceling.is_some() {", CHECKS),
    Mutation("R4.21: a check ends once", "any check may end", CHECKS_RUN,
             "if state.open_check() != Some(end.check) {", "if state.open_check().is_none() {", CHECKS),

    # contract R5.30 and after: the outcome of a workflow, the first that fits.
    Mutation("workflow outcome: cancelled", "a cancel is passed over", OUTCOME, "    if is_canceled {", "    if false {", WORKFLOW),
    Mutation("workflow outcome: cancelled first", "a complete workflow is completed in spite of a cancel", OUTCOME,
             "    if is_canceled {", "    if is_canceled && !required.clone().all(|step| step.state == StepState::Ready) {", WORKFLOW),
    Mutation("workflow outcome: every required step", "one required step is enough", OUTCOME,
             "required.all(|step| step.state == StepState::Ready)", "required.any(|step| step.state == StepState::Ready)", WORKFLOW),
    Mutation("workflow outcome: every required step", "optional steps count", OUTCOME,
             "steps.iter().filter(|step| step.required)", "steps.iter().filter(|_| true)", WORKFLOW),
    Mutation("workflow outcome: every required step", "a partial step is enough", OUTCOME,
             "required.all(|step| step.state == StepState::Ready)", "required.all(|step| step.is_usable())", WORKFLOW),
    Mutation("workflow outcome: partial", "no step can be used", OUTCOME,
             "} else if steps.iter().any(|step| step.is_usable()) {", "} else if false {", WORKFLOW),
    Mutation("workflow outcome: all failed is failed", "a failed step can be used", OUTCOME,
             "steps.iter().any(|step| step.is_usable())", "!steps.is_empty()", WORKFLOW),
    Mutation("workflow outcome: partial before timed_out", "a timeout is asked first", OUTCOME,
             "steps.iter().any(|step| step.is_usable())",
             "!any(StepState::TimedOut) && steps.iter().any(|step| step.is_usable())", WORKFLOW),
    Mutation("workflow outcome: usable", "a partial step without an output can be used", OUTCOME,
             "StepState::Partial => self.has_output,", "StepState::Partial => true,", WORKFLOW),
    Mutation("workflow outcome: usable", "a partial step can never be used", OUTCOME,
             "StepState::Partial => self.has_output,", "StepState::Partial => false,", WORKFLOW),
    Mutation("workflow outcome: timed_out", "only the time of the workflow counts", OUTCOME,
             "is_time_up || any(StepState::TimedOut)", "is_time_up", WORKFLOW),
    Mutation("workflow outcome: timed_out", "only the time of a step counts", OUTCOME,
             "is_time_up || any(StepState::TimedOut)", "{ let _ = is_time_up; any(StepState::TimedOut) }", WORKFLOW),
    Mutation("workflow outcome: timed_out before held", "a closed question is asked first", OUTCOME,
             "is_time_up || any(StepState::TimedOut)",
             "is_time_up || any(StepState::TimedOut) && !any(StepState::Held)", WORKFLOW),
    Mutation("workflow outcome: held", "a closed question is a failure", OUTCOME,
             "} else if any(StepState::Held) {", "} else if false {", WORKFLOW),

    # What the end of a child means for its step.
    Mutation("workflow step: output", "an output that does not fit is ready", JUDGE,
             "CheckpointOutput::Invalid(why) => (StepState::Failed,", "CheckpointOutput::Invalid(why) => (StepState::Ready,", WORKFLOW),
    Mutation("workflow step: files", "missing files are passed over", JUDGE,
             "if !left.missing.is_empty() =>", "if false =>", WORKFLOW),
    Mutation("workflow step: partial", "a partial output is ready", JUDGE, "if left.is_partial =>", "if false =>", WORKFLOW),
    Mutation("workflow step: of a workflow", "a partial workflow is a failed step", JUDGE,
             "if left.reason == Code::WorkflowPartial =>", "if false =>", WORKFLOW),
    Mutation("workflow step: held", "a question without an answer is a failure or a timeout", JUDGE,
             "if is_undecided(left.reason) =>", "if false =>", WORKFLOW),
    Mutation("workflow step: time of the workflow", "a child canceled by it is cancelled", JUDGE,
             "SubagentStatus::Detached if context.workflow.is_time_up =>", "SubagentStatus::Detached if false =>", WORKFLOW),
    Mutation("workflow step: has_output", "any step that completed has one", JUDGE,
             "has_output: left.output == CheckpointOutput::Valid && matches!(", "has_output: matches!(", WORKFLOW),
    Mutation("workflow retries: closed list", "every cause allows another try", JUDGE,
             " || !step.retries.on.contains(&cause)", "", WORKFLOW),
    Mutation("workflow retries: max", "one try too many", JUDGE,
             "instance.retries >= step.retries.max", "instance.retries > step.retries.max", WORKFLOW),
    Mutation("workflow retries: engines", "a lost host leads to the next engine", JUDGE,
             "Self::Retry(RetryCause::HostLost) => false,", "Self::Retry(RetryCause::HostLost) => true,", WORKFLOW),
    Mutation("workflow retries: engines", "the next engine is never tried", JUDGE,
             "if cause.is_of_engine() && has_next {", "if false {", WORKFLOW),
    Mutation("workflow retries: stopped", "a step is tried again in a workflow that has stopped", JUDGE,
             "    if !is_ready\n        && !is_stopped\n", "    if !is_ready\n", WORKFLOW),
    Mutation("workflow hold: after", "a ready step does not ask", JUDGE,
             "(true, _, Some(AskMoment::After)) if child.item.is_none() => Some(HoldReason::After),",
             "(true, _, Some(AskMoment::After)) if child.item.is_none() => None,", WORKFLOW),
    Mutation("workflow hold: failure", "a failed step does not ask", JUDGE,
             "(false, OnStepFailure::Hold, _) => Some(HoldReason::Failure),", "(false, OnStepFailure::Hold, _) => None,", WORKFLOW),
    Mutation("workflow hold: rejected", "a rejected result counts", JUDGE,
             "                state: StepState::Failed,\n                reason: Code::StepRejected,",
             "                reason: Code::StepRejected,", WORKFLOW),

    # When steps begin, and when the workflow ends.
    Mutation("workflow needs", "a step begins before those that it needs", NEXT,
             "        if !step.needs.iter().all(is_ready) {", "        if !step.needs.iter().any(is_ready) && !step.needs.is_empty() {",
             WORKFLOW),
    Mutation("workflow needs", "a step that cannot begin never ends", NEXT,
             "} else if let Some(need) = unready {", "} else if let Some(need) = unready.filter(|_| false) {", WORKFLOW),
    Mutation("workflow stop", "a failed step never stops the others", NEXT,
             "            OnStepFailure::Stop,\n        ) => true,", "            OnStepFailure::Stop,\n        ) => false,", WORKFLOW),
    Mutation("workflow stop", "a step begins after a stop", NEXT,
             "if workflow.is_stopped || workflow.open.len()", "if workflow.open.len()", WORKFLOW),
    Mutation("workflow concurrency", "all steps begin at once", NEXT,
             " || workflow.open.len() >= plan.concurrency.max(1) as usize {", " {", WORKFLOW),
    Mutation("workflow shared folder", "a writer begins beside a reader", NEXT, " || (writes && is_folder_in_use) {", " {", WORKFLOW),
    Mutation("workflow shared folder", "a reader begins beside a writer", NEXT,
             "if (step.is_in_shared_folder() && is_writer_at_work) || (writes", "if (writes", WORKFLOW),
    Mutation("workflow hold: before", "a step begins without a question", NEXT,
             "step.ask != Some(AskMoment::Before)\n", "true\n", WORKFLOW),
    Mutation("workflow hold: closed", "a closed question is a failed step", NEXT,
             "if workflow.is_time_up { StepState::TimedOut } else { StepState::Held };",
             "if workflow.is_time_up { StepState::TimedOut } else { StepState::Failed };", WORKFLOW),
    Mutation("workflow hold: closed by time", "it is held", NEXT,
             "if workflow.is_time_up { StepState::TimedOut } else { StepState::Held };", "StepState::Held;", WORKFLOW),
    Mutation("workflow time", "the deadline is passed over", NEXT,
             "if is_late && !workflow.is_time_up && !is_canceled {", "if false {", WORKFLOW),
    Mutation("workflow time: no child is left", "the workflow ends while children work", NEXT,
             "        if !workflow.open.is_empty() {\n            let since", "        if false {\n            let since", WORKFLOW),
    Mutation("workflow cancel", "a canceled workflow goes on", NEXT,
             "        if is_canceled {\n            return ConductorStep::End;\n        }\n", "", WORKFLOW),
    Mutation("workflow items", "one item is enough", NEXT,
             "let is_complete = ready as u64 == u64::from(items);", "let is_complete = ready > 0;", WORKFLOW),
    Mutation("workflow items", "a ready item is forgotten", NEXT,
             "} else if ready > 0 || of_state(StepState::Partial) > 0 {", "} else if of_state(StepState::Partial) > 0 {", WORKFLOW),
    Mutation("workflow recovery", "a child that was not asked for is forgotten", NEXT,
             "missing_request(context).or_else(|| held(context))", "held(context)", WORKFLOW),
    Mutation("workflow recovery", "a workflow whose run has no end goes on", NEXT,
             "if let Some(ended) = &workflow.ended {", "if let Some(ended) = workflow.ended.as_ref().filter(|_| false) {", WORKFLOW),
]


class Tests:
    """Runs tests in the copy."""

    def __init__(self, copy: Path):
        self.copy = copy
        self.env = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "mutations"), "CARGO_TERM_COLOR": "never"}

    def run(self, arguments):
        command = ["cargo", "test", "--quiet", *arguments]
        done = subprocess.run(command, cwd=self.copy, env=self.env, capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stdout + done.stderr


def failed_test(output):
    """The first test that failed, with the first row of a table if it names one; none if it did not compile."""
    _, listed, failures = output.rpartition("\nfailures:\n")
    names = re.findall(r"^    (\S+)$", failures, re.MULTILINE)
    if not listed or not names:
        return None
    row = re.search(r"row\(s\):\n(.+?) \(", output)
    return f"{names[0]}: {row[1]}" if row and names[0] == "decision_table" else names[0]


def attempt(tests, mutation):
    """The test that failed, or what is wrong with the mutation."""
    path = tests.copy / mutation.file
    original = path.read_text()
    if original.count(mutation.old) != 1:
        return None, f"found {original.count(mutation.old)} times"
    path.write_text(original.replace(mutation.old, mutation.new))
    try:
        passed, output = tests.run(mutation.tests)
    finally:
        path.write_text(original)
    if passed:
        return None, "survived"
    failed = failed_test(output)
    return (failed, "killed") if failed else (None, "does not compile")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def write_table(results):
    lines = [
        "# Mutations",
        "",
        "Each rule and sentence of the contract about settling and workflows, broken once in the code, and the first test that failed.",
        "Made by `python3 testkit/mutations.py --write`; `make mutations` only checks. Do not edit by hand.",
        "",
        "| rule or sentence | what was broken | test that failed |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {cell(m.rule)} | {cell(m.broken)} | {cell(failed or outcome)} |" for m, failed, outcome in results]
    (ROOT / "docs" / "mutations.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only rules that contain one of these words")
    parser.add_argument("--write", action="store_true", help="write docs/mutations.md; not with words")
    options = parser.parse_args()
    if options.write and options.words:
        parser.error("--write takes no words: the table holds all")
    chosen = [m for m in MUTATIONS if not options.words or any(word in m.rule for word in options.words)]

    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "repository"
        # New times: an earlier run may have left what it compiled from a broken file, and cargo compares times.
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED, copy_function=shutil.copy)
        tests = Tests(copy)
        for arguments in (GATE, QUESTION, TEXT, FACTS, CHECKS, WORKFLOW):
            passed, output = tests.run(arguments)
            if not passed:
                print(output)
                print("the tests fail before anything is broken")
                return 1
        results = []
        for mutation in chosen:
            failed, outcome = attempt(tests, mutation)
            results.append((mutation, failed, outcome))
            print(f"{outcome:<9} {mutation.rule}: {mutation.broken}" + (f" ({failed})" if failed else ""), flush=True)
    if options.write:
        write_table(results)
    alive = [outcome for _, _, outcome in results if outcome != "killed"]
    print(f"{len(results) - len(alive)} of {len(results)} killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
