//! A terminal's recording beside stdout and stderr: the messages that it has and they lack.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use skillrun_model::{Code, Stream};

use crate::profile::MergedUse;
use crate::record::{Record, RecordKind};

/// Most messages, and bytes of messages, that are remembered to compare the streams.
const COMPARED_MESSAGES: usize = 100_000;
const REMEMBERED_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// Hashes of the messages on stdout and stderr.
    elsewhere: HashSet<u64>,
    has_end_elsewhere: bool,
    /// Messages of the merged recording.
    records: VecDeque<Record>,
    bytes: u64,
}

impl Merged {
    /// Inspects a record on its way out.
    pub(crate) fn pass(&mut self, record: Record, sink: &mut impl FnMut(Record)) {
        match (&record.kind, record.span.stream) {
            (RecordKind::Message { text, .. }, Stream::Stdout | Stream::Stderr)
                if self.elsewhere.len() < COMPARED_MESSAGES =>
            {
                self.elsewhere.insert(hash(text.head()));
            }
            (RecordKind::Message { text, partial: false, .. }, Stream::Pty) => {
                self.bytes += text.len();
                self.records.push_back(record.clone());
                while self.bytes > REMEMBERED_BYTES && self.records.len() > 1 {
                    if let Some(RecordKind::Message { text, .. }) = self.records.pop_front().map(|r| r.kind) {
                        self.bytes -= text.len();
                    }
                }
            }
            (RecordKind::End(_), Stream::Stdout | Stream::Stderr) => self.has_end_elsewhere = true,
            _ => {}
        }
        sink(record);
    }

    pub(crate) fn finish(&mut self, merged: MergedUse, sink: &mut impl FnMut(Record)) {
        let records = std::mem::take(&mut self.records);
        let alone = self.elsewhere.is_empty() && !self.has_end_elsewhere;
        let counts = |record: &Record| match (merged, &record.kind) {
            (MergedUse::Nothing, _) => false,
            (MergedUse::MissingMessages, RecordKind::Message { text, .. }) => {
                self.elsewhere.len() < COMPARED_MESSAGES && !self.elsewhere.contains(&hash(text.head()))
            }
            (MergedUse::MissingMessages, _) => false,
            (MergedUse::WhenAlone, _) => alone,
        };
        for record in records.into_iter().filter(counts) {
            let message = "a message is missing from stdout and stderr; it is taken from the terminal recording";
            let notice = RecordKind::Notice { code: Code::PtyStreamMismatch, message: message.to_owned() };
            sink(Record { kind: notice, pieces: Vec::new(), ..record.clone() });
            sink(record);
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
