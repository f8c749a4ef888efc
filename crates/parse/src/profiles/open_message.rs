//! A message that arrives in pieces.

use crate::buffer::Text;
use crate::profile::Emit;
use crate::record::{MessageKey, PIECES_MAX, RecordKind, Span};

/// Pieces of one message, until its end is seen.
#[derive(Debug)]
pub(crate) struct OpenMessage {
    key: MessageKey,
    text: Text,
    hull: Span,
    pieces: Vec<Span>,
}

impl OpenMessage {
    pub(crate) fn new(key: MessageKey, span: Span) -> Self {
        Self { key, text: Text::default(), hull: span, pieces: vec![span] }
    }

    pub(crate) fn key(&self) -> &MessageKey {
        &self.key
    }

    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    pub(crate) fn push(&mut self, piece: &str, span: Span) {
        self.text.push(piece);
        self.touch(span);
    }

    /// Includes a span that holds no text of its own.
    fn touch(&mut self, span: Span) {
        self.hull.to = self.hull.to.max(span.to);
        if let Some(last) = self.pieces.last_mut().filter(|last| last.to >= span.from) {
            last.to = last.to.max(span.to);
        } else if self.pieces.len() < PIECES_MAX {
            self.pieces.push(span);
        }
    }

    /// Emits one message from all its pieces.
    pub(crate) fn close(self, partial: bool, emit: &mut Emit<'_>) {
        self.close_as(emit, |id, text| RecordKind::Message { id, text, partial });
    }

    /// Emits something other than a message from all its pieces.
    pub(crate) fn close_as(self, emit: &mut Emit<'_>, make: impl FnOnce(MessageKey, Text) -> RecordKind) {
        self.close_inferred(1.0, emit, make);
    }

    pub(crate) fn close_inferred(
        self,
        confidence: f64,
        emit: &mut Emit<'_>,
        make: impl FnOnce(MessageKey, Text) -> RecordKind,
    ) {
        let pieces = if self.pieces.len() > 1 && self.pieces.len() < PIECES_MAX { self.pieces } else { Vec::new() };
        emit.push_at(self.hull, pieces, confidence, make(self.key, self.text.settle()));
    }
}
