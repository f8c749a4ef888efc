//! The text of an answer. An engine may continue a message under another id; the gate reads both as one, and so does
//! the result. The byte ranges of the verdict show which messages those are.

use std::collections::VecDeque;

use skillrun_model::presenters::is_answer;
use skillrun_model::rasp::data::MessageFinal;
use skillrun_model::rasp::{Event, SourceStream, SpanRef};
use skillrun_model::verdict::Verdict;

/// Per stream, the same number as the gate keeps, so that its answer is among them.
const KEPT_MESSAGES: usize = 64;
/// Kept regardless of their size.
const KEPT_AT_LEAST: usize = 3;
const KEPT_BYTES: usize = 8 << 20;

/// Finished messages of one attempt, by stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Messages {
    stdout: Kept,
    stderr: Kept,
    pty: Kept,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    messages: VecDeque<Message>,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Message {
    id: String,
    text: String,
    spans: Vec<SpanRef>,
}

impl Messages {
    pub(super) fn add(&mut self, event: &Event, message: &MessageFinal) {
        if message.partial || message.text.trim().is_empty() {
            return;
        }
        let stream = event.source.stream;
        let hull = match stream {
            SourceStream::Stdout => (event.raw_ref.stdout_from, event.raw_ref.stdout_to),
            SourceStream::Stderr => (event.raw_ref.stderr_from, event.raw_ref.stderr_to),
            SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => (0, 0),
        };
        let spans = match message.spans.as_slice() {
            [] => vec![SpanRef { stream, from: hull.0, to: hull.1 }],
            spans => spans.to_vec(),
        };
        let kept = match stream {
            SourceStream::Stdout => &mut self.stdout,
            SourceStream::Stderr => &mut self.stderr,
            SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => &mut self.pty,
        };
        kept.add(Message { id: message.message_id.clone(), text: message.text.clone(), spans });
    }

    /// The engine withdrew it.
    pub(super) fn void(&mut self, id: &str) {
        for kept in [&mut self.stdout, &mut self.stderr, &mut self.pty] {
            kept.messages.retain(|message| message.id != id);
            kept.bytes = kept.messages.iter().map(|message| message.text.len()).sum();
        }
    }

    #[cfg(test)]
    pub(super) fn stderr_len(&self) -> usize {
        self.stderr.messages.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        [&self.stdout, &self.stderr, &self.pty].iter().map(|kept| kept.bytes).sum()
    }

    /// The answer that a verdict names. A turn that did not complete has none, whatever its messages.
    pub(super) fn answer(self, verdict: &Verdict) -> Option<String> {
        let id = verdict.answer_message_id.as_ref().filter(|_| is_answer(verdict.turn))?;
        let of_stream = |kept: &Kept| kept.answer(id, &verdict.evidence.answer);
        of_stream(&self.stdout).or_else(|| of_stream(&self.stderr)).or_else(|| of_stream(&self.pty))
    }
}

impl Kept {
    fn add(&mut self, message: Message) {
        self.bytes += message.text.len();
        self.messages.push_back(message);
        while self.messages.len() > KEPT_MESSAGES || (self.messages.len() > KEPT_AT_LEAST && self.bytes > KEPT_BYTES) {
            let dropped = self.messages.pop_front();
            self.bytes -= dropped.map_or(0, |message| message.text.len());
        }
    }

    /// The message with that id, and before it those whose ranges come before its own in `spans`.
    fn answer(&self, id: &str, spans: &[SpanRef]) -> Option<String> {
        let last = self.messages.iter().rposition(|message| message.id == id)?;
        let (mut first, mut left) = (last, spans);
        for (at, message) in self.messages.iter().enumerate().take(last + 1).rev() {
            let Some(before) = left.strip_suffix(message.spans.as_slice()) else { break };
            (first, left) = (at, before);
        }
        Some(self.messages.range(first..=last).map(|message| message.text.as_str()).collect())
    }
}
