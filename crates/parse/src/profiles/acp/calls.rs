//! Tool calls, from their announcement to their end.
//!
//! A call is often announced before its input is known. Then its start is held back until an update brings the input,
//! or something else shows that no input will come.

use std::collections::{HashMap, VecDeque};

use agent_client_protocol_schema::v1::ToolCallStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{self, Content, Meta, Update};
use super::{DETAIL_MAX, cut};
use crate::json;
use crate::profiles::text_errors;
use crate::record::{RecordKind, ServerFailure, Span};

/// Calls that are remembered; beyond that the oldest is forgotten, and would be started again.
const CALLS_MAX: usize = 10_000;
const ID_MAX: usize = 1024;
const NAME_MAX: usize = 256;
/// Longest input with which a start is held back.
const HELD_INPUT_MAX: usize = 4 * 1024;
/// Most of the output of an agent's terminal that is kept for one call, and for all open calls.
const OUTPUT_MAX: usize = 64 * 1024;
const ALL_OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// Blocks of content of one update that are read.
const BLOCKS_MAX: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Calls {
    known: HashMap<String, Call>,
    order: VecDeque<String>,
    /// Calls whose start is held back, and some whose start was reported since.
    announced: Vec<String>,
    /// Bytes of output that are kept.
    kept: usize,
}

#[derive(Debug)]
enum Call {
    Announced { name: String, input: Option<String>, span: Span },
    Running { name: String, output: String },
    Ended,
}

/// What an update changed.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) records: Vec<RecordKind>,
    announces: bool,
}

impl Step {
    /// Whether a call starts or ends with it.
    pub(super) fn is_news(&self) -> bool {
        self.announces || !self.records.is_empty()
    }
}

#[derive(Default, Deserialize)]
struct TerminalOutput<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl Calls {
    /// None when the update does not belong to a call.
    pub(super) fn update(&mut self, is_first: bool, update: &Update<'_>, span: Span) -> Option<Step> {
        let id = call_id(update)?;
        let status = update.status.and_then(json::decode::<ToolCallStatus>);
        let is_pending = matches!(status, Some(ToolCallStatus::Pending) | None);
        let mut step = Step::default();
        match self.known.get_mut(&id) {
            None => {
                let (name, input) = (name(update), input(update));
                let is_small = input.as_ref().is_none_or(|input| input.len() <= HELD_INPUT_MAX);
                if is_first && is_pending && is_small {
                    step.announces = true;
                    self.remember(id.clone(), Call::Announced { name, input, span });
                    self.note_announced(&id);
                } else {
                    step.records.push(self.start(id.clone(), name, input));
                }
            }
            Some(Call::Announced { .. }) if is_pending && update.raw_input.is_none() => {}
            Some(Call::Announced { .. }) => step.records.extend(self.begin(&id, Some(update))),
            Some(Call::Running { .. } | Call::Ended) => {}
        }
        self.keep_output(&id, update);
        if let Some(ToolCallStatus::Completed | ToolCallStatus::Failed) = status {
            step.records.extend(self.end(&id, status == Some(ToolCallStatus::Failed), update));
        }
        Some(step)
    }

    /// A permission is requested: the name of the tool, and the start of the call if it was not reported before.
    pub(super) fn asked(&mut self, call: &Update<'_>) -> (String, Vec<RecordKind>) {
        let name = name(call);
        let Some(id) = call_id(call) else { return (name, Vec::new()) };
        let known = match self.known.get(&id) {
            Some(Call::Announced { name, .. } | Call::Running { name, .. }) => Some(name.clone()),
            Some(Call::Ended) | None => None,
        };
        let begun = match self.known.get(&id) {
            None => Some(self.start(id, name.clone(), input(call))),
            Some(Call::Announced { .. }) => self.begin(&id, Some(call)),
            Some(Call::Running { .. } | Call::Ended) => None,
        };
        (known.unwrap_or(name), begun.into_iter().collect())
    }

    /// Nothing more will be known of the announced calls.
    pub(super) fn start_announced(&mut self) -> Vec<(Span, RecordKind)> {
        let mut begun = Vec::new();
        for id in std::mem::take(&mut self.announced) {
            if let Some(Call::Announced { span, .. }) = self.known.get(&id) {
                let span = *span;
                begun.extend(self.begin(&id, None).map(|kind| (span, kind)));
            }
        }
        begun
    }

    /// Scans the list only when at least half of it is out of date.
    fn note_announced(&mut self, id: &str) {
        self.announced.push(id.to_owned());
        if self.announced.len() > 2 * CALLS_MAX {
            let known = &self.known;
            self.announced.retain(|id| matches!(known.get(id), Some(Call::Announced { .. })));
        }
    }

    fn remember(&mut self, id: String, call: Call) {
        if self.known.insert(id.clone(), call).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > CALLS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept -= self.known.remove(&oldest).map_or(0, |call| call.output().len());
        }
    }

    fn start(&mut self, id: String, name: String, input: Option<String>) -> RecordKind {
        self.remember(id.clone(), Call::Running { name: name.clone(), output: String::new() });
        RecordKind::ToolStarted { id, name, input }
    }

    /// An announced call starts, with the additional content of the update.
    fn begin(&mut self, id: &str, update: Option<&Update<'_>>) -> Option<RecordKind> {
        let Call::Announced { name, input: announced, .. } = self.known.remove(id)? else { return None };
        let input = update.filter(|update| update.raw_input.is_some()).and_then(input).or(announced);
        self.known.insert(id.to_owned(), Call::Running { name: name.clone(), output: String::new() });
        Some(RecordKind::ToolStarted { id: id.to_owned(), name, input })
    }

    /// The output of the codex adapter's own terminal arrives in pieces.
    fn keep_output(&mut self, id: &str, update: &Update<'_>) {
        let Some(Call::Running { output, .. }) = self.known.get_mut(id) else { return };
        let printed = || {
            let meta = wire::object::<Meta<'_>>(update.meta?)?;
            let printed = wire::object::<TerminalOutput<'_>>(meta.terminal_output_delta?)?;
            wire::word(printed.data?)
        };
        if let Some(printed) = printed() {
            let room = (OUTPUT_MAX - output.len()).min(ALL_OUTPUT_MAX - self.kept);
            let piece = &printed[..printed.floor_char_boundary(room)];
            output.push_str(piece);
            self.kept += piece.len();
        }
    }

    fn end(&mut self, id: &str, has_failed: bool, update: &Update<'_>) -> Option<RecordKind> {
        let call = self.known.get_mut(id)?;
        let Call::Running { output, .. } = call else { return None };
        let printed = std::mem::take(output);
        self.kept -= printed.len();
        *call = Call::Ended;
        let output = output_of(update).or(Some(printed).filter(|printed| !printed.is_empty()));
        let id = id.to_owned();
        Some(if has_failed {
            text_errors::tool_failed(id, output, DETAIL_MAX)
        } else {
            RecordKind::ToolCompleted { id, output }
        })
    }
}

impl Call {
    fn output(&self) -> &str {
        match self {
            Self::Running { output, .. } => output,
            Self::Announced { .. } | Self::Ended => "",
        }
    }
}

/// The codex adapter reports an MCP server that did not start as a failed call, `mcp_startup.NAME.UUID`.
pub(super) fn failed_server(update: &Update<'_>) -> Option<ServerFailure> {
    let id = call_id(update)?;
    let (server, _) = id.strip_prefix("mcp_startup.")?.rsplit_once('.')?;
    let has_failed = update.status.and_then(json::decode::<ToolCallStatus>) == Some(ToolCallStatus::Failed);
    has_failed.then(|| ServerFailure::of(server, "reported at its start"))
}

fn call_id(update: &Update<'_>) -> Option<String> {
    update.tool_call_id.and_then(wire::word).filter(|id| !id.is_empty()).map(|id| cut(&id, ID_MAX))
}

/// The tool's name; agents that do not report it report the kind of tool, or the title of the call.
fn name(update: &Update<'_>) -> String {
    let kind = || update.kind.and_then(wire::word).filter(|kind| kind != "other");
    let name = update.name.and_then(wire::word).or_else(kind).or_else(|| update.title.and_then(wire::word));
    cut(name.as_deref().unwrap_or("tool"), NAME_MAX)
}

fn input(update: &Update<'_>) -> Option<String> {
    if let Some(raw) = update.raw_input {
        return Some(raw.get().to_owned());
    }
    let title = update.title.and_then(wire::word)?;
    Some(serde_json::json!({ "title": title }).to_string())
}

/// The result of the call: as the tool wrote it, else as it is to be shown.
fn output_of(update: &Update<'_>) -> Option<String> {
    if let Some(text) = update.raw_output.and_then(wire::word) {
        return Some(text);
    }
    let mut shown = String::new();
    for block in wire::elements(update.content, BLOCKS_MAX) {
        let inner = || wire::object::<Content<'_>>(wire::object::<Content<'_>>(block)?.content?);
        if let Some(text) = inner().and_then(|inner| wire::word(inner.text?)) {
            if !shown.is_empty() {
                shown.push('\n');
            }
            shown.push_str(&text);
        }
    }
    Some(shown).filter(|shown| !shown.is_empty()).or_else(|| update.raw_output.map(|raw| raw.get().to_owned()))
}
