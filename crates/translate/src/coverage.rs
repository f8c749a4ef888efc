//! Which bytes lie in the range of at least one event.

use skillrun_model::Stream;
use skillrun_model::rasp::{Data, Event, EvidenceData, SourceStream, SpanRef};

/// Ranges per stream, joined as they come. Events come nearly in order, so there are seldom more than a few.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    ranges: [Vec<(u64, u64)>; 3],
}

impl Coverage {
    /// An event made of pieces covers its pieces, not the bytes between them.
    pub fn add(&mut self, event: &Event) {
        let stream = match event.source.stream {
            SourceStream::Stdout => Stream::Stdout,
            SourceStream::Stderr => Stream::Stderr,
            SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => return,
        };
        let pieces: &[SpanRef] =
            if let Data::Evidence(EvidenceData::MessageFinal(message)) = &event.data { &message.spans } else { &[] };
        if pieces.is_empty() {
            let raw = event.raw_ref;
            match stream {
                Stream::Stdout => self.insert(stream, raw.stdout_from, raw.stdout_to),
                Stream::Stderr | Stream::Pty => self.insert(stream, raw.stderr_from, raw.stderr_to),
            }
        }
        for piece in pieces {
            self.insert(stream, piece.from, piece.to);
        }
    }

    fn insert(&mut self, stream: Stream, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let ranges = &mut self.ranges[stream.index()];
        let first = ranges.iter().rposition(|(_, end)| *end < from).map_or(0, |at| at + 1);
        let last = first + ranges[first..].iter().take_while(|(start, _)| *start <= to).count();
        let joined = ranges[first..last].iter().fold((from, to), |(a, b), (start, end)| (a.min(*start), b.max(*end)));
        ranges.splice(first..last, [joined]);
    }

    pub fn covered(&self, stream: Stream) -> u64 {
        self.ranges[stream.index()].iter().map(|(from, to)| to - from).sum()
    }
}
