//! The message that is being written.
//!
//! The adapters write their own errors and warnings as pieces of a message, and only the next event shows that they do
//! not come from the model. Such a text is held back: it is shown as a whole or not at all.

use skillrun_model::Code;

use super::codex::Codex;
use crate::profile::Emit;
use crate::profiles::open_message::OpenMessage;
use crate::profiles::text_errors;
use crate::record::{MessageKey, RecordKind, Span};

/// How a warning of the codex adapter begins.
const WARNINGS: [&str; 2] = ["Warning: ", "Config warning: "];
/// How the text begins that the claude adapter writes in place of an answer.
const ERRORS: [&str; 2] = ["API Error", "Failed to authenticate. API Error"];

/// Why a message is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// It might have continued.
    Cut,
    /// The turn failed, or reached a limit, as its last text may state.
    Failed,
}

#[derive(Debug)]
pub(super) struct Draft {
    message: OpenMessage,
    shown: Shown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// So far it might not come from the model.
    Held,
    Pieces,
}

impl Draft {
    pub(super) fn new(key: MessageKey, span: Span) -> Self {
        Self { message: OpenMessage::new(key, span), shown: Shown::Held }
    }

    pub(super) fn key(&self) -> &MessageKey {
        self.message.key()
    }

    pub(super) fn has_name(&self) -> bool {
        *self.message.key() != MessageKey::Unnamed
    }

    /// Takes a piece and returns the part of the text that can be shown now.
    pub(super) fn push(&mut self, piece: &str, codex: &Codex, span: Span) -> Option<String> {
        self.message.push(piece, span);
        match self.shown {
            Shown::Pieces => Some(piece.to_owned()),
            Shown::Held if self.could_be_noise(codex) => None,
            Shown::Held => {
                self.shown = Shown::Pieces;
                Some(self.message.text().head().to_owned())
            }
        }
    }

    fn could_be_noise(&self, codex: &Codex) -> bool {
        let text = self.message.text().head();
        let could_begin = |words: &str| text.starts_with(words) || words.starts_with(text);
        // The codex adapter names the messages of the model.
        let is_unnamed = !self.has_name();
        ERRORS.into_iter().any(could_begin) || is_unnamed && (codex.is_seen() || WARNINGS.into_iter().any(could_begin))
    }

    /// Whether it would be an error if the turn failed now.
    pub(super) fn looks_like_error(&self, codex: &Codex) -> bool {
        let is_codex = !self.has_name() && codex.is_seen() && codex.has_failed();
        let text = self.message.text().head().trim_start();
        self.shown == Shown::Held && (is_codex || ERRORS.iter().any(|words| text.starts_with(words)))
    }

    /// Turns it into a message, or whatever it is instead; returns the text of an error.
    pub(super) fn close(self, ending: Ending, codex: &Codex, emit: &mut Emit<'_>) -> Option<String> {
        let text = self.message.text().head().trim();
        let is_held = self.shown == Shown::Held;
        let is_codex = is_held && !self.has_name() && codex.is_seen();
        let has_failed = ending == Ending::Failed || codex.has_failed();
        if has_failed && self.looks_like_error(codex) {
            let words = text.to_owned();
            if words.is_empty() {
                return None;
            }
            let error = match codex.failure(Some(&words)) {
                Some(told) => text_errors::with_category(&words, told.category),
                None => text_errors::error(&words),
            };
            self.message.close_as(emit, |_, _| error);
            return Some(words);
        }
        if is_codex && WARNINGS.iter().any(|words| text.starts_with(words)) {
            let warning = |text: &str| text_errors::warning(Code::EngineWarning, text);
            self.message.close_as(emit, |_, text| warning(text.head().trim()));
            return None;
        }
        self.message.close(ending != Ending::Whole, emit);
        None
    }

    /// The agent states that the text does not come from the model.
    pub(super) fn notice(text: &str) -> RecordKind {
        text_errors::warning(Code::EngineWarning, text.trim())
    }
}
