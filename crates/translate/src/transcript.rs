//! FCMP to readable text for a terminal. The texts in events are already free of control characters.

mod calls;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use skillrun_model::checks::CheckStatus;
use skillrun_model::delegation::SubagentObserved;
use skillrun_model::fcmp::data::{AssistantToolCall, RawLine, ToolCallStatus};
use skillrun_model::fcmp::{FcmpData, FcmpEvent};
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::presenters::{self, Presenter, TurnEnding};
use skillrun_model::rasp::Level;
use skillrun_model::rasp::data::MessageOrigin;
use skillrun_model::status::Phase;
use skillrun_model::workflow::item_name;
use skillrun_model::{AttemptNumber, ExecutionMode, RunStatus};

pub use calls::CallLayout;
use calls::{Calls, Heading};

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 6;
/// Characters of the input of a call, where the call is named again above its output.
const REPEATED_CHARS: usize = 60;

/// Writes a conversation as text, event by event.
#[derive(Debug, Default)]
pub struct Transcript {
    style: TranscriptStyle,
    calls: Calls,
    attempt: Option<AttemptNumber>,
    /// The last message, so that a question that repeats it is not printed twice.
    last_message: String,
    mode: Option<ExecutionMode>,
    /// The last plan.
    plan: String,
    /// The turn has a message, which is not an answer if the turn does not complete.
    turn_has_text: bool,
}

/// How a conversation is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TranscriptStyle {
    pub asks: Asks,
    pub calls: CallLayout,
    pub lines: LineLimit,
}

/// How much is shown of one line of tool input, tool output, noise or diagnostic. Messages are always whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineLimit {
    /// For a pipe.
    #[default]
    Whole,
    /// For a terminal with this number of columns.
    Columns(usize),
}

/// Which code shows how a question can be answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asks {
    #[default]
    Here,
    /// The code that prints this also asks, with options to choose from.
    Elsewhere,
}

impl Transcript {
    pub fn new(style: TranscriptStyle) -> Self {
        Self { style, calls: Calls::new(style.calls), ..Self::default() }
    }

    /// The text to print when one more event has come; empty when there is nothing to show. Of an event that is not
    /// `shown`, only what later events refer to is kept.
    pub fn event(&mut self, event: &FcmpEvent, shown: Shown) -> String {
        let text = self.text(event);
        let call = if let FcmpData::AssistantToolCall(call) = &event.data { Some(call) } else { None };
        match shown {
            Shown::Yes => self.calls.push(event, text, || call.map(heading).unwrap_or_default()),
            Shown::No => {
                if let Some(call) = call {
                    self.calls.skip(call, heading(call));
                }
                String::new()
            }
        }
    }

    /// What was held back, when nothing more comes.
    pub fn finish(&mut self) -> String {
        self.calls.finish()
    }

    fn text(&mut self, event: &FcmpEvent) -> String {
        let mut text = self.separator(event.meta.attempt);
        let lines = self.style.lines;
        // Writing to a string cannot fail.
        let _ = match &event.data {
            FcmpData::ConversationStarted(started) => {
                self.mode = Some(started.mode);
                writeln!(text, "{} · {} · {}", started.title, started.mode, event.run_id)
            }
            FcmpData::TurnStarted(_) => {
                self.turn_has_text = false;
                Ok(())
            }
            FcmpData::UserMessage(message) if message.replayed => {
                writeln!(text, "! the session was lost; another one begins, with a transcript of this conversation")
            }
            FcmpData::UserMessage(message) => match (message.origin, message.interaction_id) {
                // The reply, the decision or the request has shown it.
                (MessageOrigin::Skill | MessageOrigin::Policy, _)
                | (MessageOrigin::User | MessageOrigin::Orchestrator, Some(_)) => Ok(()),
                (MessageOrigin::User | MessageOrigin::Orchestrator, None) => {
                    writeln!(text, "{}", message.origin).and_then(|()| indented(&mut text, &message.text))
                }
            },
            FcmpData::TurnEnded(ended) => {
                let shown = presenters::of_turn(TurnEnding::of_state(ended.state), Presenter::Cli);
                match (shown.is_answer, self.turn_has_text) {
                    (true, _) => Ok(()),
                    (false, true) => writeln!(
                        text,
                        "! the turn {} · {}: the text above is not an answer",
                        shown.words, ended.reason_code
                    ),
                    // The end of the run says the same, where it ends.
                    (false, false) => match self.mode {
                        Some(ExecutionMode::Auto | ExecutionMode::Interactive) => Ok(()),
                        Some(ExecutionMode::Conversation) | None => {
                            writeln!(text, "! the turn {} · {}", shown.words, ended.reason_code)
                        }
                    },
                }
            }
            FcmpData::SubagentStarted(child) => {
                writeln!(text, "child {} · {} · {}", child.title, child.engine, child.child_run_id)
            }
            FcmpData::SubagentEnded(end) => {
                let shown = presenters::of_child(end.status.into(), Presenter::Cli);
                let seconds = end.elapsed_ms / 1000;
                writeln!(text, "child {} {} · {} · {seconds} s", end.child_run_id, shown.words, end.reason_code)
                    .and_then(|()| end.summary.iter().try_for_each(|summary| indented(&mut text, summary)))
            }
            FcmpData::StepStarted(step) => {
                let trial = if step.trial > 1 { format!(" · try {}", step.trial) } else { String::new() };
                writeln!(text, "step {}{trial}", item_name(&step.step_id, step.item))
            }
            FcmpData::StepEnded(step) => {
                let shown = presenters::of_step(step.state.into(), Presenter::Cli);
                let name = item_name(&step.step_id, step.item);
                writeln!(text, "step {name} {} · {}", shown.words, step.reason_code)
                    .and_then(|()| step.details.iter().try_for_each(|details| indented(&mut text, details)))
            }
            FcmpData::WorkflowEnded(end) => {
                writeln!(text, "the workflow {}", presenters::of_workflow(end.outcome, Presenter::Cli).words)
            }
            FcmpData::SubagentObserved(observed) => subagent(&mut text, observed, lines),
            FcmpData::CheckEnded(end) => {
                let seconds = end.elapsed_ms / 1000;
                let words = presenters::of_check(end.status, Presenter::Cli).words;
                writeln!(text, "check {} {words} · {} · {seconds} s", end.name, end.command)
                    .and_then(|()| end.details.iter().try_for_each(|details| indented(&mut text, details)))
                    .and_then(|()| match (end.status, &end.output_tail) {
                        (CheckStatus::Passed, _) | (_, None) => Ok(()),
                        (_, Some(tail)) => indented(&mut text, tail),
                    })
            }
            FcmpData::AssistantFinal(message) => {
                self.turn_has_text = true;
                let mark = if message.partial { " (partial: the message was cut off)" } else { "" };
                let words = without_envelope(&message.text);
                self.last_message.clone_from(&words);
                if words.trim().is_empty() && !message.text.trim().is_empty() {
                    // Nothing but a question, which follows.
                    return text;
                }
                writeln!(text, "assistant{mark}").and_then(|()| indented(&mut text, &words))
            }
            FcmpData::AssistantReasoning(reasoning) => {
                writeln!(text, "reasoning").and_then(|()| indented(&mut text, &reasoning.text))
            }
            FcmpData::AssistantToolCall(call) => {
                let name = call.name.as_deref().or(self.calls.name(call)).unwrap_or("tool");
                match call.status {
                    ToolCallStatus::Started => {
                        let input = call
                            .input
                            .as_ref()
                            .map(|i| lines.fit(i.0.get(), "tool  ".len() + name.len()))
                            .unwrap_or_default();
                        writeln!(text, "tool {name} {input}")
                    }
                    ToolCallStatus::Completed => output(&mut text, call.output.as_deref(), lines),
                    ToolCallStatus::Failed => {
                        let reason = call.reason.as_deref().unwrap_or("no reason given");
                        let reason = lines.fit(reason, "tool  failed: ".len() + name.len());
                        writeln!(text, "tool {name} failed: {reason}")
                            .and_then(|()| output(&mut text, call.output.as_deref(), lines))
                    }
                }
            }
            // The run rests; nothing is asked.
            FcmpData::UserInputRequired(pending) if pending.scope == Scope::Prompt => Ok(()),
            FcmpData::UserInputRequired(pending) => {
                let is_told = pending.prompt.trim() == self.last_message.trim();
                question(&mut text, pending, is_told, self.style.asks)
            }
            FcmpData::UserInputReplied(reply) => {
                writeln!(text, "user ({})", reply.resolution_mode).and_then(|()| indented(&mut text, &reply.text))
            }
            FcmpData::AutoDecided(decision) => {
                writeln!(text, "decided by policy {}: {}", decision.policy, decision.instruction)
            }
            FcmpData::TimedOut(_) => writeln!(text, "no answer before the deadline"),
            FcmpData::ArtifactCreated(artifact) => writeln!(text, "file {} ({} bytes)", artifact.path, artifact.size),
            FcmpData::DiagnosticWarning(warning) => {
                let mark = match warning.severity {
                    Level::Info => "·",
                    Level::Warning => "!",
                    Level::Error => "✗",
                };
                let count = warning.count.map(|n| format!(" ({n})")).unwrap_or_default();
                writeln!(text, "{mark} {}{count}\n  {}", warning.code, lines.fit(&warning.message, 2))
            }
            FcmpData::RawStdout(raw) => raw_line(&mut text, "stdout", raw, lines),
            FcmpData::RawStderr(raw) => raw_line(&mut text, "stderr", raw, lines),
            FcmpData::ConversationStatus(change) if change.phase == Some(Phase::Interrupting) => {
                writeln!(text, "! the user interrupts the turn")
            }
            FcmpData::ConversationStatus(change) if change.phase == Some(Phase::Checking) => {
                writeln!(text, "… running {}", change.detail.as_deref().unwrap_or("checks"))
            }
            FcmpData::ConversationStatus(change) if change.phase == Some(Phase::Planning) => match &change.detail {
                // Engines report a plan at each change of their work, also where it stays the same.
                Some(plan) if *plan != self.plan => {
                    self.plan.clone_from(plan);
                    writeln!(text, "plan").and_then(|()| indented(&mut text, plan))
                }
                Some(_) | None => Ok(()),
            },
            FcmpData::ConversationStatus(change) => match change.status {
                Some(RunStatus::WaitingUser) if self.style.asks == Asks::Here => {
                    writeln!(text, "… waiting for the user")
                }
                Some(_) | None => Ok(()),
            },
            // The final message contains the same text.
            FcmpData::AssistantDelta(_) => Ok(()),
            FcmpData::ConversationCompleted(ended)
            | FcmpData::ConversationFailed(ended)
            | FcmpData::ConversationCanceled(ended) => {
                // A done marker does not explain a failure; its error does.
                let code = ended.error.as_ref().map_or(ended.reason_code, |error| error.code);
                writeln!(text, "\n== run {} · {code}", ended.state)
            }
        };
        text
    }

    fn separator(&mut self, attempt: AttemptNumber) -> String {
        if attempt == AttemptNumber::BEFORE_FIRST || self.attempt == Some(attempt) {
            return String::new();
        }
        self.attempt = Some(attempt);
        format!("\n-- attempt {attempt}\n")
    }
}

/// Whether an event is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Yes,
    No,
}

fn heading(call: &AssistantToolCall) -> Heading {
    let name = call.name.clone().unwrap_or_else(|| "tool".to_owned());
    let input = call.input.as_ref().map(|input| first_line(input.0.get(), REPEATED_CHARS)).unwrap_or_default();
    Heading { line: format!("tool {name} {input}\n"), name }
}

/// A message without the question in it: that is printed as a question.
fn without_envelope(text: &str) -> String {
    const TAGS: (&str, &str) = ("<ASK_USER_YAML>", "</ASK_USER_YAML>");
    let (mut words, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(TAGS.0)
        && let Some((_, after)) = behind.split_once(TAGS.1)
    {
        words.push_str(before);
        rest = after;
    }
    words.push_str(rest);
    words
}

fn indented(text: &mut String, body: &str) -> std::fmt::Result {
    body.trim_end().lines().try_for_each(|line| writeln!(text, "  {line}"))
}

fn output(text: &mut String, output: Option<&str>, limit: LineLimit) -> std::fmt::Result {
    let lines: Vec<&str> = output.unwrap_or_default().trim_end().lines().collect();
    for line in lines.iter().take(OUTPUT_LINES) {
        writeln!(text, "  > {}", limit.fit(line, 4))?;
    }
    match lines.len().saturating_sub(OUTPUT_LINES) {
        0 => Ok(()),
        more => writeln!(text, "  > … {more} more lines"),
    }
}

/// What the engine says, marked as such: no run stands behind it.
fn subagent(text: &mut String, observed: &SubagentObserved, limit: LineLimit) -> std::fmt::Result {
    let name = observed.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let said = observed.state.as_deref().map(|state| format!(" · the engine says: {state}")).unwrap_or_default();
    writeln!(text, "subagent of the engine{name} · {}{said}", observed.subagent_id)?;
    let texts = [("", &observed.task), ("> ", &observed.text)];
    for (mark, said) in texts {
        if let Some(said) = said {
            writeln!(text, "  {mark}{}", limit.fit(said.trim_start(), 2 + mark.len()))?;
        }
    }
    Ok(())
}

fn raw_line(text: &mut String, stream: &str, raw: &RawLine, limit: LineLimit) -> std::fmt::Result {
    match (raw.text.as_deref(), raw.lines) {
        (Some(line), _) if line.trim().is_empty() => Ok(()),
        (Some(line), _) => writeln!(text, "  {stream}| {}", limit.fit(line.trim_end(), 4 + stream.len())),
        (None, Some(1)) => writeln!(text, "  {stream}| (1 line that the parser did not know; it is in the evidence)"),
        (None, Some(lines)) => {
            writeln!(text, "  {stream}| ({lines} lines that the parser did not know; they are in the evidence)")
        }
        (None, None) => writeln!(text, "  {stream}| (text not kept, only its byte range)"),
    }
}

fn question(text: &mut String, pending: &Pending, is_told: bool, asks: Asks) -> std::fmt::Result {
    let where_it_is = if is_told { ": the message above" } else { "" };
    writeln!(text, "question {} ({}){where_it_is}", pending.interaction_id.0, pending.kind)?;
    if !is_told {
        indented(text, &pending.prompt)?;
    }
    for option in pending.options.iter().filter(|_| asks == Asks::Here) {
        let mark = if option.default { "  (default)" } else { "" };
        writeln!(text, "  - {}: {}{mark}", option.value, option.label)?;
    }
    Ok(())
}

impl LineLimit {
    /// The first line of a text that stands behind this many columns.
    fn fit(self, text: &str, behind: usize) -> String {
        match self {
            Self::Whole => text.lines().next().unwrap_or_default().to_owned(),
            // The mark takes one more column.
            Self::Columns(columns) => first_line(text, columns.saturating_sub(behind + 1).max(NARROW)),
        }
    }
}

/// Characters that are shown of a line, however narrow the terminal is.
const NARROW: usize = 20;

fn first_line(text: &str, chars: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(chars) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
