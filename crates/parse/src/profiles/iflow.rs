//! iFlow: plain text on either stream, and at the end of a turn an `<Execution Info>` block on one of them.
//!
//! Read in three stages, line by line: expressions ([`expressions`]: errors, resume hints), blocks ([`block`]:
//! `<Execution Info>`; [`fence`]: code fences, in which everything is text), and the rest, which is the assistant's
//! text: one message per stream. A line of uncertain origin (startup noise, a resume hint inside a line) is raw and not
//! part of the message. Text and block may change streams from attempt to attempt, so each stream is read by itself
//! ([`lane`]), and only the choice of the answer considers both.

mod block;
mod expressions;
mod fence;
mod lane;
#[cfg(test)]
mod tests;

use skillrun_model::{ProfileId, Stream};

use crate::profile::{Emit, LineOutcome, Profile, ProfileLine};
use crate::record::{AnswerFrom, EndPolicy};

use lane::{Lane, Seen};

/// Confidence in a turn's text. The block that would raise it is as often on the other stream as on this one, and
/// nothing may depend on the order across streams, so the text does not consider it; the end does.
const TEXT: f64 = 0.8;
/// Confidence in a turn's end when an `<Execution Info>` block reports that the turn is over.
const WITH_BLOCK: f64 = 0.8;
const WITHOUT_BLOCK: f64 = 0.6;

#[derive(Debug, Default)]
pub(crate) struct Iflow {
    stdout: Lane,
    stderr: Lane,
}

impl Profile for Iflow {
    fn id(&self) -> ProfileId {
        ProfileId::IflowText
    }

    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        match line.span.stream {
            Stream::Stdout => self.stdout.line(line, emit),
            Stream::Stderr => self.stderr.line(line, emit),
            Stream::Pty => LineOutcome::Raw,
        }
    }

    fn wants_blank_lines(&self) -> bool {
        true
    }

    fn eof(&mut self, stream: Stream, emit: &mut Emit<'_>) {
        match stream {
            Stream::Stdout => self.stdout.eof(emit),
            Stream::Stderr => self.stderr.eof(emit),
            Stream::Pty => {}
        }
    }

    fn end_policy(&self) -> EndPolicy {
        let told = self.stdout.seen().max(self.stderr.seen()) == Some(Seen::Whole);
        EndPolicy::Exit { confidence: if told { WITH_BLOCK } else { WITHOUT_BLOCK } }
    }

    /// The text of the stream without the block; where both or neither have it: stdout.
    fn answer_from(&self) -> AnswerFrom {
        if self.stdout.seen().is_some() && self.stderr.seen().is_none() {
            AnswerFrom::FirstOf(&[Stream::Stderr, Stream::Stdout])
        } else {
            AnswerFrom::FirstOf(&[Stream::Stdout, Stream::Stderr])
        }
    }
}
