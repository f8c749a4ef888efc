//! FCMP to readable text for a terminal. The texts in events are already free of control characters.

use std::fmt::Write;

use skillrun_model::fcmp::data::{RawLine, ToolCallStatus};
use skillrun_model::fcmp::{FcmpData, FcmpEvent};
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::Level;
use skillrun_model::{AttemptNumber, RunStatus};

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 6;
/// Characters of one line of tool input, tool output, noise or diagnostic that are shown: most of 80 columns.
const LINE_CHARS: usize = 66;

/// Writes a conversation as text, event by event.
#[derive(Debug, Default)]
pub struct Transcript {
    asks: Asks,
    attempt: Option<AttemptNumber>,
    /// The last message, so that a question that repeats it is not printed twice.
    last_message: String,
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
    pub fn new(asks: Asks) -> Self {
        Self { asks, ..Self::default() }
    }

    /// The text of one event; empty when there is nothing to show.
    pub fn event(&mut self, event: &FcmpEvent) -> String {
        let mut text = self.separator(event.meta.attempt);
        // Writing to a string cannot fail.
        let _ = match &event.data {
            FcmpData::ConversationStarted(started) => {
                writeln!(text, "{} · {} · {}", started.title, started.mode, event.run_id)
            }
            FcmpData::AssistantFinal(message) => {
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
                let name = call.name.as_deref().unwrap_or("tool");
                match call.status {
                    ToolCallStatus::Started => {
                        let input = call.input.as_ref().map(|i| shorten(i.0.get())).unwrap_or_default();
                        writeln!(text, "tool {name} {input}")
                    }
                    ToolCallStatus::Completed => output(&mut text, call.output.as_deref()),
                    ToolCallStatus::Failed => {
                        let reason = shorten(call.reason.as_deref().unwrap_or("no reason given"));
                        writeln!(text, "tool {name} failed: {reason}")
                            .and_then(|()| output(&mut text, call.output.as_deref()))
                    }
                }
            }
            FcmpData::UserInputRequired(pending) => {
                let is_told = pending.prompt.trim() == self.last_message.trim();
                question(&mut text, pending, is_told, self.asks)
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
                writeln!(text, "{mark} {}{count}\n  {}", warning.code, shorten(&warning.message))
            }
            FcmpData::RawStdout(raw) => raw_line(&mut text, "stdout", raw),
            FcmpData::RawStderr(raw) => raw_line(&mut text, "stderr", raw),
            FcmpData::ConversationStatus(change) => match change.status {
                Some(RunStatus::WaitingUser) if self.asks == Asks::Here => writeln!(text, "… waiting for the user"),
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

fn output(text: &mut String, output: Option<&str>) -> std::fmt::Result {
    let lines: Vec<&str> = output.unwrap_or_default().trim_end().lines().collect();
    for line in lines.iter().take(OUTPUT_LINES) {
        writeln!(text, "  > {}", shorten(line))?;
    }
    match lines.len().saturating_sub(OUTPUT_LINES) {
        0 => Ok(()),
        more => writeln!(text, "  > … {more} more lines"),
    }
}

fn raw_line(text: &mut String, stream: &str, raw: &RawLine) -> std::fmt::Result {
    match (raw.text.as_deref(), raw.lines) {
        (Some(line), _) if line.trim().is_empty() => Ok(()),
        (Some(line), _) => writeln!(text, "  {stream}| {}", shorten(line.trim_end())),
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

fn shorten(line: &str) -> String {
    let line = line.lines().next().unwrap_or_default();
    match line.char_indices().nth(LINE_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
