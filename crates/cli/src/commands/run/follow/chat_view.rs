//! A conversation as `skillrun chat` shows it. The prompts are on the terminal already. Pure.

use skillrun_model::fcmp::data::{AssistantToolCall, ToolCallStatus, TurnEnded};
use skillrun_model::fcmp::{FcmpData, FcmpEvent};
use skillrun_model::interaction::Scope;
use skillrun_model::presenters::{self, Presenter};
use skillrun_model::rasp::Level;
use skillrun_model::workflow::item_name;
use skillrun_model::{Code, TurnState};
use skillrun_translate::transcript::Shown;

use crate::output::cut;

/// Columns where the width of the terminal is not known.
const WIDTH: usize = 80;

#[derive(Debug)]
pub(super) struct ChatView {
    width: usize,
    /// The turn has a message, which is not an answer if the turn does not complete.
    has_text: bool,
}

impl ChatView {
    pub(super) fn new(width: Option<usize>) -> Self {
        Self { width: width.unwrap_or(WIDTH), has_text: false }
    }

    /// The text to print when one more event has come; empty when there is nothing to show.
    pub(super) fn event(&mut self, event: &FcmpEvent, shown: Shown) -> String {
        let text = self.text(&event.data);
        match shown {
            Shown::Yes => text,
            Shown::No => String::new(),
        }
    }

    fn text(&mut self, data: &FcmpData) -> String {
        match data {
            FcmpData::TurnStarted(_) => {
                self.has_text = false;
                String::new()
            }
            FcmpData::AssistantFinal(message) => {
                let mark = if message.partial { "\n! the message was cut off" } else { "" };
                let words = message.text.trim_end();
                if words.is_empty() {
                    return String::new();
                }
                self.has_text = true;
                format!("{words}{mark}\n")
            }
            FcmpData::SubagentStarted(child) => {
                self.line("· ", &format!("child {} · {} · {}", child.title, child.engine, child.child_run_id))
            }
            FcmpData::SubagentEnded(end) => {
                let words = presenters::of_child(end.status.into(), Presenter::Cli).words;
                self.line("· ", &format!("child {} {words} · {}", end.child_run_id, end.reason_code))
            }
            FcmpData::StepStarted(step) => self.line("· ", &format!("step {}", item_name(&step.step_id, step.item))),
            FcmpData::StepEnded(step) => {
                let words = presenters::of_step(step.state.into(), Presenter::Cli).words;
                let name = item_name(&step.step_id, step.item);
                self.line("· ", &format!("step {name} {words} · {}", step.reason_code))
            }
            FcmpData::WorkflowEnded(end) => {
                let words = presenters::of_workflow(end.outcome, Presenter::Cli).words;
                self.line("· ", &format!("the workflow {words}"))
            }
            FcmpData::SubagentObserved(observed) => {
                let name = observed.name.as_ref().or(observed.task.as_ref()).unwrap_or(&observed.subagent_id);
                let said = observed.state.as_deref().map(|state| format!(" · the engine says: {state}"));
                self.line("· ", &format!("subagent of the engine: {name}{}", said.unwrap_or_default()))
            }
            FcmpData::CheckEnded(end) => {
                let words = presenters::of_check(end.status, Presenter::Cli).words;
                self.line("· ", &format!("check {} {words}", end.name))
            }
            FcmpData::AssistantReasoning(reasoning) => self.line("· ", &reasoning.text),
            FcmpData::AssistantToolCall(call) => self.call(call),
            FcmpData::TurnEnded(ended) => self.turn_ended(ended),
            FcmpData::UserInputRequired(question) => match question.scope {
                Scope::Prompt => String::new(),
                // The message of the agent has the question.
                Scope::Turn if self.has_text => String::new(),
                Scope::Turn | Scope::Call | Scope::Step => format!("? {}\n", question.prompt.trim_end()),
            },
            FcmpData::AutoDecided(decision) => {
                format!("! decided by policy {}: {}\n", decision.policy, decision.instruction)
            }
            FcmpData::TimedOut(_) => "! no answer came before the deadline\n".to_owned(),
            FcmpData::ArtifactCreated(file) => format!("· file {} ({} bytes)\n", file.path, file.size),
            // The end of the turn has the error of the engine.
            FcmpData::DiagnosticWarning(warning) if warning.code == Code::EngineError => String::new(),
            FcmpData::DiagnosticWarning(warning) => match warning.severity {
                Level::Info => String::new(),
                Level::Warning | Level::Error => self.line("! ", &format!("{}: {}", warning.code, warning.message)),
            },
            FcmpData::ConversationFailed(ended) => {
                let error = ended.error.as_ref();
                let why = error.map_or(String::new(), |error| format!(": {} · {}", error.code, error.message));
                format!("! the conversation has failed{why}\n")
            }
            FcmpData::ConversationCanceled(_) => "! the conversation was canceled\n".to_owned(),
            // The terminal has it, or it is not part of a conversation.
            FcmpData::ConversationStarted(_)
            | FcmpData::ConversationStatus(_)
            | FcmpData::ConversationCompleted(_)
            | FcmpData::UserMessage(_)
            | FcmpData::UserInputReplied(_)
            | FcmpData::AssistantDelta(_)
            | FcmpData::RawStdout(_)
            | FcmpData::RawStderr(_) => String::new(),
        }
    }

    fn turn_ended(&self, ended: &TurnEnded) -> String {
        let what = match ended.state {
            TurnState::Completed => return String::new(),
            TurnState::PartialFailed | TurnState::Failed => "failed",
            TurnState::Interrupted => "was interrupted",
            TurnState::TimedOut => "ran into a time limit",
        };
        let why = ended.error.as_ref().map_or(String::new(), |error| format!(": {} · {}", error.code, error.message));
        let text = if self.has_text { "; the text above is not an answer" } else { "" };
        format!("! the turn {what}{why}{text}\n")
    }

    fn call(&self, call: &AssistantToolCall) -> String {
        let name = call.name.as_deref().unwrap_or("tool");
        match call.status {
            ToolCallStatus::Started => {
                let input = call.input.as_ref().map(|input| input.0.get()).unwrap_or_default();
                self.line("· ", &format!("{name} {input}"))
            }
            ToolCallStatus::Completed => String::new(),
            ToolCallStatus::Failed => {
                let reason = call.reason.as_deref().unwrap_or("no reason was given");
                self.line("· ", &format!("{name} failed: {reason}"))
            }
        }
    }

    /// The first line of a text, as far as there is room.
    fn line(&self, mark: &str, text: &str) -> String {
        let first = text.trim().lines().next().unwrap_or_default();
        if first.is_empty() {
            return String::new();
        }
        format!("{}\n", cut(&format!("{mark}{first}"), self.width))
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::codes::ErrorCategory;
    use skillrun_model::fcmp::data::{AssistantFinal, AssistantReasoning, TurnStarted};
    use skillrun_model::verdict::RunError;

    use super::*;

    fn message(text: &str, partial: bool) -> FcmpData {
        let (message_id, text) = ("m1".to_owned(), text.to_owned());
        FcmpData::AssistantFinal(AssistantFinal { message_id, text, partial, structured_payload: None })
    }

    fn ended(state: TurnState, error: Option<&str>) -> FcmpData {
        let error = error.map(|words| RunError::new(ErrorCategory::Engine, Code::EngineFailed, words));
        let reason_code = Code::EngineFailed;
        FcmpData::TurnEnded(TurnEnded {
            state,
            reason_code,
            answer_message_id: None,
            error,
            limit: None,
            deadline_at: None,
            next_actions: Vec::new(),
        })
    }

    fn shown(events: &[FcmpData]) -> String {
        let mut view = ChatView::new(Some(20));
        events.iter().map(|data| view.text(data)).collect()
    }

    #[test]
    fn answer_is_shown_as_it_is() {
        let turn = [FcmpData::TurnStarted(TurnStarted {}), message("Hello.\n\n- one\n", false)];
        let events = [&turn[..], &[ended(TurnState::Completed, None)]].concat();
        assert_eq!(shown(&events), "Hello.\n\n- one\n");
    }

    #[test]
    fn text_of_a_broken_turn_is_not_called_an_answer() {
        let start = || FcmpData::TurnStarted(TurnStarted {});
        let failed = [start(), message("Half of", true), ended(TurnState::PartialFailed, Some("no model"))];
        let expected = "Half of\n! the message was cut off\n\
                        ! the turn failed: ENGINE_FAILED · no model; the text above is not an answer\n";
        assert_eq!(shown(&failed), expected);
        let silent = [start(), ended(TurnState::TimedOut, Some("too slow"))];
        assert_eq!(shown(&silent), "! the turn ran into a time limit: ENGINE_FAILED · too slow\n");
        // A text of the turn before is not the text of this one.
        let next = [start(), message("Good.", false), start(), ended(TurnState::Interrupted, None)];
        assert_eq!(shown(&next), "Good.\n! the turn was interrupted\n");
    }

    #[test]
    fn long_lines_of_work_are_cut() {
        let reasoning =
            FcmpData::AssistantReasoning(AssistantReasoning { text: "a very long thought of it\nmore".into() });
        assert_eq!(shown(&[reasoning]), "· a very long thoug…\n");
    }
}
