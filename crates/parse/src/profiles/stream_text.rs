//! A stream that is one message: how the text formats treat lines without any other meaning.

use crate::parser::RAW_CONFIDENCE;
use crate::profile::Emit;
use crate::profiles::open_message::OpenMessage;
use crate::record::{MessageKey, Raw, RecordKind, Span};

/// Lines of one stream, until it ends.
#[derive(Debug, Default)]
pub(crate) struct StreamText {
    open: Option<OpenMessage>,
    lines: u64,
    has_words: bool,
}

impl StreamText {
    pub(crate) fn line(&mut self, text: &str, span: Span) {
        self.lines += 1;
        self.has_words = self.has_words || !crate::ansi::strip(text).trim().is_empty();
        match &mut self.open {
            Some(open) => {
                open.push("\n", span);
                open.push(text, span);
            }
            None => self.open.insert(OpenMessage::new(MessageKey::Unnamed, span)).push(text, span),
        }
    }

    /// Emits the message; if all lines are blank there is no message, but they are covered.
    pub(crate) fn close(self, confidence: f64, emit: &mut Emit<'_>) {
        let Some(open) = self.open else { return };
        if self.has_words {
            open.close_inferred(confidence, emit, |id, text| RecordKind::Message { id, text, partial: false });
        } else {
            let raw = Raw { text: Some(String::new()), lines: self.lines, has_marker: false };
            open.close_inferred(RAW_CONFIDENCE, emit, |_, _| RecordKind::Raw(raw));
        }
    }
}
