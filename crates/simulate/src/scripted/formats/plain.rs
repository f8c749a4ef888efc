//! An unknown engine: it writes plain text on stdout, and its exit code says how it ended.

use super::{Ending, Format, Lines};
use crate::scripted::script::Usage;

#[derive(Debug, Default)]
pub(super) struct Plain {
    has_spoken: bool,
}

impl Format for Plain {
    fn open(&mut self, _lines: &mut Lines) {}

    fn say(&mut self, text: &str, lines: &mut Lines) {
        let spoken = std::mem::replace(&mut self.has_spoken, true);
        lines.out(&if spoken { format!("\n{text}") } else { text.to_owned() });
    }

    fn end(&mut self, ending: Ending<'_>, _usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        match ending {
            Ending::Success => Some(0),
            Ending::Failure(message) => {
                lines.err(message);
                Some(1)
            }
            Ending::Limit(_) => None,
        }
    }
}
