//! Agent Client Protocol: JSON-RPC, one object per line, as an agent writes it on stdout.
//!
//! - `wire`: the lines, read leniently.
//! - `answers`: the agent's responses to our requests; the response to a prompt is the end of the turn.
//! - `updates`: what it reports while it works.
//! - `draft`: the message that is being written.
//! - `calls`: tool calls, from their announcement to their end.
//! - `questions`: what it asks inside its turn.
//! - `codex`: what the codex adapter reports only in `_meta`.
//! - `failure`: the category of an error.
//! - `ours`: the names of our requests. `said`: a line for the code that has to answer it.
//!
//! Only one side of the conversation is read here. Our requests have names, so that the responses identify themselves;
//! where an id is a number, the shape of the response decides.

mod answers;
mod calls;
mod codex;
mod draft;
mod failure;
pub(crate) mod ours;
mod questions;
pub(crate) mod said;
#[cfg(test)]
mod tests;
mod updates;
mod usage;
mod wire;

use skillrun_model::status::Phase;
use skillrun_model::{ProfileId, Stream};

use crate::buffer::cut;
use crate::json;
use crate::profile::{Emit, LineOutcome, Profile, ProfileLine};
use crate::profiles::open_message::OpenMessage;
use crate::profiles::subagents::Subagents;
use crate::profiles::{stderr, text_errors};
use crate::record::RecordKind;

use calls::Calls;
use codex::Codex;
use draft::{Draft, Ending};
use usage::Usage;
use wire::{Id, Message};

/// Longest name of an unknown type.
const NAME_MAX: usize = 100;
const DETAIL_MAX: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Acp {
    turns: [Turn; 3],
}

/// Where in the conversation the stream is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A later turn of a living agent, unless the answer to `initialize` comes.
    #[default]
    Turn,
    /// After the response to `initialize`, until there is a session and its history was replayed. Updates here are
    /// history.
    Opening,
}

/// Whether our requests have the names that we give them. In recordings of other clients they have numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Names {
    #[default]
    Unseen,
    Ours,
}

/// What was read of one stream.
#[derive(Debug, Default)]
struct Turn {
    stage: Stage,
    names: Names,
    session: SessionName,
    draft: Option<Draft>,
    thought: Option<OpenMessage>,
    calls: Calls,
    codex: Codex,
    /// The last error that came as a text of its own.
    said: Option<String>,
    /// The usage that was reported in pieces.
    spent: Option<Usage>,
    /// Sessions that ours has started.
    subagents: Subagents,
}

/// The session, if its name is known.
#[derive(Debug, Default)]
enum SessionName {
    #[default]
    Unknown,
    /// An update carried it; it might be a subagent's.
    Seen,
    /// The response to our request named it.
    Given(String),
}

impl Profile for Acp {
    fn id(&self) -> ProfileId {
        ProfileId::AcpJsonrpc
    }

    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        if line.span.stream == Stream::Stderr || !line.text.starts_with('{') {
            return stderr::line(line, emit);
        }
        let turn = &mut self.turns[line.span.stream.index()];
        json::read_event(line.text, |text| Some(turn.message(&wire::message(text)?, emit)))
    }

    fn is_cut_success_end(&self, line: ProfileLine<'_>) -> bool {
        let turn = &self.turns[line.span.stream.index()];
        !turn.codex.has_failed() && answers::cut_shows_end_turn(line.text)
    }

    fn eof(&mut self, stream: Stream, emit: &mut Emit<'_>) {
        let turn = &mut self.turns[stream.index()];
        turn.start_announced(emit);
        turn.close(Ending::Cut, emit);
    }
}

impl Turn {
    fn message(&mut self, message: &Message<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let id = message.id.map(Id::read);
        match (message.method, id) {
            (Some(method), id) => match (wire::word(method), id) {
                (Some(method), None) => self.notification(&method, message.params, emit),
                (Some(method), Some(id)) => self.request(&method, &id, message.params, emit),
                (None, _) => LineOutcome::Unknown("object without method".to_owned()),
            },
            (None, Some(id)) => match (message.error, message.result) {
                (Some(error), _) => self.refused(&id, error, emit),
                (None, Some(result)) => self.answered(&id, result, emit),
                (None, None) => LineOutcome::Unknown("answer without result".to_owned()),
            },
            // The agent could not parse what it received.
            (None, None) => match message.error {
                Some(error) => {
                    let told = failure::ErrorReport::of_error(error);
                    emit.push(text_errors::with_category(&told.message, told.category));
                    LineOutcome::Known
                }
                None => LineOutcome::Unknown("object without method".to_owned()),
            },
        }
    }

    /// The open message or thought is over. Announced calls are not affected.
    fn close(&mut self, ending: Ending, emit: &mut Emit<'_>) {
        self.close_thought(emit);
        self.close_draft(ending, emit);
    }

    fn close_thought(&mut self, emit: &mut Emit<'_>) {
        if let Some(thought) = self.thought.take() {
            thought.close_as(emit, |_, text| RecordKind::Reasoning { text: text.head().to_owned() });
        }
    }

    fn close_draft(&mut self, ending: Ending, emit: &mut Emit<'_>) {
        if let Some(draft) = self.draft.take() {
            self.said = draft.close(ending, &self.codex, emit).or(self.said.take());
        }
    }

    /// Calls whose start was held back, until more would be known of them, have started.
    fn start_announced(&mut self, emit: &mut Emit<'_>) {
        for (span, kind) in self.calls.start_announced() {
            emit.push_at(span, Vec::new(), 1.0, kind);
        }
    }
}

fn status(phase: Phase, detail: Option<&str>, emit: &mut Emit<'_>) {
    emit.push(RecordKind::Status { phase, detail: detail.map(|detail| cut(detail, DETAIL_MAX)) });
}

fn unknown(name: &str) -> LineOutcome {
    LineOutcome::Unknown(cut(name, NAME_MAX))
}
