//! Puts the output of each tool call below its call. Tools that run in parallel report in any order, so that the output
//! of one call may follow the beginning of another.

use std::collections::{HashMap, VecDeque};

use skillrun_model::fcmp::data::{AssistantToolCall, ToolCallStatus};
use skillrun_model::fcmp::{FcmpData, FcmpEvent};

/// How the output of a call that does not directly follow its call is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallLayout {
    /// The call is repeated above its output: for a reader who follows, because nothing may be held back.
    #[default]
    Live,
    /// What comes after an open call is held back until the call is over, so that each call is shown once.
    Whole,
}

/// Most bytes of text that are held back; more are printed as they came.
const HELD_MAX: usize = 1024 * 1024;

/// Most open calls whose headings are kept.
const OPEN_MAX: usize = 256;

/// What is known about an open call.
#[derive(Debug, Default)]
pub(super) struct Heading {
    pub(super) name: String,
    /// The line that begins it, in short.
    pub(super) line: String,
}

/// Text that waits for an open call before it, or is one.
#[derive(Debug)]
struct Held {
    /// The call that is open.
    open: Option<String>,
    text: String,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    layout: CallLayout,
    headings: HashMap<String, Heading>,
    /// The call whose lines were printed last.
    last: Option<String>,
    held: VecDeque<Held>,
    held_bytes: usize,
}

impl Calls {
    pub(super) fn new(layout: CallLayout) -> Self {
        Self { layout, ..Self::default() }
    }

    /// The name of a call that is open.
    pub(super) fn name(&self, call: &AssistantToolCall) -> Option<&str> {
        Some(&self.headings.get(call.tool_call_id.as_deref()?)?.name)
    }

    /// A call whose beginning is not printed.
    pub(super) fn skip(&mut self, call: &AssistantToolCall, heading: Heading) {
        let Some(id) = call.tool_call_id.clone() else { return };
        match call.status {
            ToolCallStatus::Started => self.open(id, heading),
            ToolCallStatus::Completed | ToolCallStatus::Failed => {
                self.headings.remove(&id);
            }
        }
    }

    /// The text that can be printed when this event, with its own text, has come.
    pub(super) fn push(&mut self, event: &FcmpEvent, text: String, heading: impl Fn() -> Heading) -> String {
        match &event.data {
            FcmpData::AssistantToolCall(call) => match (call.status, call.tool_call_id.clone()) {
                (ToolCallStatus::Started, Some(id)) => self.started(id, heading(), text),
                (ToolCallStatus::Completed | ToolCallStatus::Failed, Some(id)) => self.ended(&id, text),
                (ToolCallStatus::Started | ToolCallStatus::Completed | ToolCallStatus::Failed, None) => {
                    self.other(text)
                }
            },
            FcmpData::ConversationCompleted(_)
            | FcmpData::ConversationFailed(_)
            | FcmpData::ConversationCanceled(_) => {
                let before = self.finish();
                before + &self.other(text)
            }
            FcmpData::ConversationStarted(_)
            | FcmpData::ConversationStatus(_)
            | FcmpData::TurnStarted(_)
            | FcmpData::UserMessage(_)
            | FcmpData::TurnEnded(_)
            | FcmpData::SubagentStarted(_)
            | FcmpData::SubagentEnded(_)
            | FcmpData::StepStarted(_)
            | FcmpData::StepEnded(_)
            | FcmpData::WorkflowEnded(_)
            | FcmpData::SubagentObserved(_)
            | FcmpData::CheckEnded(_)
            | FcmpData::AssistantDelta(_)
            | FcmpData::AssistantFinal(_)
            | FcmpData::AssistantReasoning(_)
            | FcmpData::UserInputRequired(_)
            | FcmpData::UserInputReplied(_)
            | FcmpData::AutoDecided(_)
            | FcmpData::TimedOut(_)
            | FcmpData::ArtifactCreated(_)
            | FcmpData::DiagnosticWarning(_)
            | FcmpData::RawStdout(_)
            | FcmpData::RawStderr(_) => self.other(text),
        }
    }

    /// What is still held back, when nothing more comes.
    pub(super) fn finish(&mut self) -> String {
        self.held_bytes = 0;
        self.held.drain(..).map(|held| held.text).collect()
    }

    fn open(&mut self, id: String, heading: Heading) {
        if self.headings.len() >= OPEN_MAX {
            // Calls that are never reported as over.
            self.headings.clear();
        }
        self.headings.insert(id, heading);
    }

    fn started(&mut self, id: String, heading: Heading, text: String) -> String {
        self.open(id.clone(), heading);
        match self.layout {
            CallLayout::Live => {
                self.last = Some(id);
                text
            }
            CallLayout::Whole => self.hold(Held { open: Some(id), text }),
        }
    }

    fn ended(&mut self, id: &str, text: String) -> String {
        let heading = self.headings.remove(id);
        if let Some(call) = self.held.iter_mut().find(|held| held.open.as_deref() == Some(id)) {
            call.open = None;
            call.text.push_str(&text);
            self.held_bytes += text.len();
            return self.ready();
        }
        let follows = self.last.as_deref() == Some(id);
        match heading {
            Some(heading) if !follows && !text.is_empty() => self.other(heading.line + &text),
            Some(_) | None => self.other(text),
        }
    }

    fn other(&mut self, text: String) -> String {
        if !text.is_empty() {
            self.last = None;
        }
        if self.held.is_empty() { text } else { self.hold(Held { open: None, text }) }
    }

    fn hold(&mut self, held: Held) -> String {
        self.held_bytes += held.text.len();
        self.held.push_back(held);
        if self.held_bytes > HELD_MAX { self.finish() } else { self.ready() }
    }

    /// Everything before the first open call.
    fn ready(&mut self) -> String {
        let mut text = String::new();
        while let Some(held) = self.held.pop_front_if(|held| held.open.is_none()) {
            self.held_bytes -= held.text.len();
            text.push_str(&held.text);
        }
        text
    }
}
