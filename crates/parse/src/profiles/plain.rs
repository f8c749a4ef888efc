//! An unknown engine: its stdout is one message, its stderr is kept line by line.

use skillrun_model::{ProfileId, Stream};

use crate::profile::{Emit, LineOutcome, Profile, ProfileLine};
use crate::profiles::stream_text::StreamText;
use crate::record::EndPolicy;

/// Nothing distinguishes a message from a log, or an end from a crash that exits with 0.
const CONFIDENCE: f64 = 0.3;

#[derive(Debug, Default)]
pub(crate) struct Plain {
    stdout: StreamText,
}

impl Profile for Plain {
    fn id(&self) -> ProfileId {
        ProfileId::PlainText
    }

    fn line(&mut self, line: ProfileLine<'_>, _emit: &mut Emit<'_>) -> LineOutcome {
        match line.span.stream {
            Stream::Stdout => {
                self.stdout.line(line.text, line.span);
                LineOutcome::Held
            }
            Stream::Stderr | Stream::Pty => LineOutcome::Raw,
        }
    }

    fn wants_blank_lines(&self) -> bool {
        true
    }

    fn eof(&mut self, stream: Stream, emit: &mut Emit<'_>) {
        if stream == Stream::Stdout {
            std::mem::take(&mut self.stdout).close(CONFIDENCE, emit);
        }
    }

    fn end_policy(&self) -> EndPolicy {
        EndPolicy::Exit { confidence: CONFIDENCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LINE_BUDGET;
    use crate::profiles::story::{self, Story};
    use crate::record::{AnswerFrom, Record, RecordKind, Span};

    fn plain(stdout: &[u8], stderr: &[u8]) -> Story {
        story::read(ProfileId::PlainText, &[(Stream::Stdout, stdout), (Stream::Stderr, stderr)])
    }

    fn read_whole(stdout: &[u8]) -> Story {
        story::read_whole(ProfileId::PlainText, &[(Stream::Stdout, stdout)])
    }

    #[test]
    fn stdout_is_one_message() {
        let told = plain(b"\xef\xbb\xbfone\r\n\n  two \nthree", b"");
        let [message] = &told.messages()[..] else { panic!("{told:?}") };
        assert_eq!(message.text, "one\n\n  two \nthree");
        assert_eq!(message.confidence, 0.3);
        assert_eq!(message.spans, [Span { stream: Stream::Stdout, from: 0, to: 21 }]);
        assert_eq!(told.records.len(), 1);
    }

    #[test]
    fn stderr_is_raw_blank_lines_too() {
        let told = plain(b"answer\n", b"warn\n\n\x1b[31mred\x1b[0m\n");
        assert_eq!(told.texts(), ["answer"]);
        assert_eq!(told.raws().len(), 3);
        assert_eq!(told.raws()[..2], [Some("warn"), Some("")]);
    }

    #[test]
    fn blank_stdout_is_no_message_but_covered() {
        for blank in [&b"\n"[..], b"  ", b"\r\n\t\n\x1b[0m\n"] {
            let told = plain(blank, b"");
            assert_eq!(told.texts(), [""; 0], "{blank:?}");
            assert_eq!(told.raws(), [Some("")], "{blank:?}");
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(plain(b"", b"").records, []);
    }

    #[test]
    fn invalid_bytes_are_shown_and_the_range_stays_true() {
        let told = plain(b"a\xff\xc3\nb\n", b"");
        assert_eq!(told.texts(), ["a\u{fffd}\u{fffd}\nb"]);
    }

    #[test]
    fn an_overlong_line_is_left_out_of_the_pieces() {
        let mut stdout = b"before\n".to_vec();
        stdout.resize(stdout.len() + LINE_BUDGET + 1, b'x');
        stdout.extend_from_slice(b"\nafter\n");
        let told = read_whole(&stdout);
        let [message] = &told.messages()[..] else { panic!("{told:?}") };
        assert_eq!(message.text, "before\nafter");
        let end = stdout.len() as u64;
        let piece = |from, to| Span { stream: Stream::Stdout, from, to };
        assert_eq!(message.spans, [piece(0, 7), piece(end - 6, end)]);
    }

    #[test]
    fn the_end_is_the_exit() {
        let told = plain(b"x", b"");
        assert_eq!(told.end_policy, EndPolicy::Exit { confidence: 0.3 });
        assert_eq!(told.answer_from, AnswerFrom::Only(Stream::Stdout));
    }

    /// Memory must not grow with the input: only the head and the tail of the text are kept.
    #[test]
    fn much_text_is_cut_in_the_middle() {
        let stdout = b"0123456789abcdef\n".repeat(1024 * 1024);
        let told = read_whole(&stdout);
        let [Record { kind: RecordKind::Message { text, .. }, span, .. }] = &told.records[..] else {
            panic!("{} records", told.records.len())
        };
        assert!(text.is_truncated());
        assert_eq!(text.len() + 1, stdout.len() as u64);
        assert!(text.head().len() + text.tail().len() <= 2 * crate::buffer::MESSAGE_BUDGET);
        assert_eq!(span.to, stdout.len() as u64);
    }
}
