//! Events to lines and back: serialization, and the few fields of a line that the Log itself parses.

use serde::Deserialize;
use serde::de::IgnoredAny;
use skillrun_model::rasp::{Event, SourceStream};
use skillrun_model::wire::LineWriter;
use skillrun_model::{RunId, Timestamp};

use crate::chain::{self, LineHash};
use crate::cursor::Seq;
use crate::error::{DamageKind, LogErrorKind};

/// The longest line that is read, terminator included. An event holds at most a message of 4 MiB and a tool's input of
/// about the same, which escapes can make six times as long. Smaller in the tests of this crate, to keep them fast.
pub const MAX_LINE: usize = if cfg!(test) { 8 * 1024 * 1024 } else { 64 * 1024 * 1024 };

/// Maximum size of a batch in bytes. So no line is longer than a reader accepts.
pub const MAX_BATCH: usize = MAX_LINE;

/// A batch as it will be stored in the Log.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: Vec<BatchLine>,
    /// The hash of the last line; for an empty batch that of the line before it.
    pub(crate) head: LineHash,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLine {
    /// Where the line ends in the batch, terminator included.
    pub(crate) end: usize,
    pub(crate) moment: Millis,
    /// Parsing the line gives the same event: it has no time and no JSON that is written in another form.
    pub(crate) is_exact: bool,
}

/// Milliseconds since 1970, rounded down; 0 for everything before. Precise enough to find the vicinity of a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Millis(pub(crate) u64);

impl From<Timestamp> for Millis {
    fn from(ts: Timestamp) -> Self {
        Self(ts.millis_since(Timestamp::EPOCH).unwrap_or(0))
    }
}

impl Batch {
    /// The lines of a batch that begins at `first`, after a line with the hash `head`; or the error.
    pub(crate) fn new(run: RunId, first: Seq, mut head: LineHash, events: &[Event]) -> Result<Self, LogErrorKind> {
        let mut lines = Vec::with_capacity(events.len());
        let mut writer = LineWriter::in_memory();
        let failed = |error| LogErrorKind::io("an event", error);
        for (event, i) in events.iter().zip(0..) {
            let wanted = first.plus(i);
            if event.run_id != run {
                return Err(LogErrorKind::WrongRun { found: event.run_id });
            }
            if event.seq != wanted.0 {
                return Err(LogErrorKind::WrongSeq { found: Seq(event.seq), wanted });
            }
            writer.rasp(event).map_err(failed)?;
            let start = lines.last().map_or(0, |line: &BatchLine| line.end);
            let bytes = writer.memory();
            let is_same = !keep_on_one_line(&mut bytes[start..]) && event.ts.is_whole_micros();
            // Control events are few, and have more times.
            let is_exact = is_same && event.source.stream != SourceStream::Control;
            chain::link(bytes, head);
            if bytes.len() > MAX_BATCH {
                return Err(LogErrorKind::BatchTooLarge { limit: MAX_BATCH });
            }
            head = LineHash::of(&bytes[start..bytes.len() - 1]);
            lines.push(BatchLine { end: bytes.len(), moment: event.ts.into(), is_exact });
        }
        let bytes = std::mem::take(writer.memory());
        Ok(Self { bytes, lines, head })
    }
}

/// JSON embedded in an event as an engine wrote it may span several lines. An unescaped line end can only be whitespace
/// between tokens, so a space is equivalent. Returns whether there was one.
fn keep_on_one_line(line: &mut [u8]) -> bool {
    let Some((_, inside)) = line.split_last_mut() else { return false };
    let has_any = memchr::memchr(b'\n', inside).is_some();
    if has_any {
        for byte in inside.iter_mut().filter(|byte| **byte == b'\n') {
            *byte = b' ';
        }
    }
    has_any
}

/// The fields of a line that the Log needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineHead<'a> {
    pub(crate) seq: Seq,
    ts: Ts<'a>,
}

/// Parsed only on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ts<'a> {
    Text(&'a str),
    Parsed(Timestamp),
}

impl LineHead<'_> {
    pub(crate) fn ts(&self) -> Option<Timestamp> {
        match self.ts {
            Ts::Text(text) => text.parse().ok(),
            Ts::Parsed(ts) => Some(ts),
        }
    }
}

/// Recognizes the lines of one run.
#[derive(Debug)]
pub(crate) struct LineReader {
    run: RunId,
    /// The beginning of every line that skillrun writes, up to the number.
    prefix: Vec<u8>,
}

/// The envelope, as far as it matters here. Other fields may be from a later version.
#[derive(Deserialize)]
struct Envelope {
    run_id: RunId,
    seq: u64,
    ts: Timestamp,
}

impl LineReader {
    pub(crate) fn new(run: RunId) -> Self {
        let version = skillrun_model::rasp::PROTOCOL_VERSION;
        let prefix = format!("{{\"protocol_version\":\"{version}\",\"run_id\":\"{run}\",\"seq\":");
        Self { run, prefix: prefix.into_bytes() }
    }

    /// Whether a line, without its terminator, looks like the expected event. Its content is not parsed.
    pub(crate) fn glance<'a>(&self, line: &'a [u8], wanted: Seq) -> Result<LineHead<'a>, DamageKind> {
        match self.quick(line) {
            Some(head) if head.seq == wanted => Ok(head),
            Some(head) => Err(DamageKind::WrongSeq { found: head.seq }),
            None => self.parse(line, wanted),
        }
    }

    /// Whether a line is valid JSON as a whole and the expected event.
    pub(crate) fn check<'a>(&self, line: &'a [u8], wanted: Seq) -> Result<LineHead<'a>, DamageKind> {
        let head = self.quick(line).filter(|head| head.seq == wanted);
        match head {
            Some(head) if is_json(line) => Ok(head),
            Some(_) | None => self.parse(line, wanted),
        }
    }

    /// Whether a line is an event of this run, at any position.
    pub(crate) fn is_event(&self, line: &[u8]) -> bool {
        self.envelope(line).is_ok_and(|envelope| envelope.run_id == self.run)
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<LineHead<'a>> {
        let rest = line.strip_prefix(&*self.prefix)?;
        if line.last() != Some(&b'}') {
            return None;
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let seq = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let rest = rest[digits..].strip_prefix(b",\"ts\":\"")?;
        // A time has 27 characters here.
        let end = memchr::memchr(b'"', &rest[..rest.len().min(64)])?;
        let ts = std::str::from_utf8(&rest[..end]).ok()?;
        Some(LineHead { seq: Seq(seq), ts: Ts::Text(ts) })
    }

    fn parse(&self, line: &[u8], wanted: Seq) -> Result<LineHead<'static>, DamageKind> {
        let envelope = self.envelope(line)?;
        if envelope.run_id != self.run {
            return Err(DamageKind::WrongRun { found: envelope.run_id });
        }
        let seq = Seq(envelope.seq);
        if seq != wanted {
            return Err(DamageKind::WrongSeq { found: seq });
        }
        Ok(LineHead { seq, ts: Ts::Parsed(envelope.ts) })
    }

    fn envelope(&self, line: &[u8]) -> Result<Envelope, DamageKind> {
        let zeros = || if memchr::memchr(0, line).is_some() { DamageKind::Zeros } else { DamageKind::NotAnEvent };
        // The parser does not validate texts that it skips, so bytes that are not UTF-8 would go unnoticed.
        let text = std::str::from_utf8(line).map_err(|_| zeros())?;
        serde_json::from_str(text).map_err(|_| zeros())
    }
}

fn is_json(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{event, run_id};

    #[test]
    fn json_of_several_lines_stays_on_one() {
        use skillrun_model::rasp::data::{Foreign, ToolCallStarted};
        use skillrun_model::rasp::{Data, EvidenceData};
        let input =
            serde_json::value::RawValue::from_string("{\n \"a\": \"x\\ny\u{2028}\"\n}".to_owned()).expect("JSON");
        let mut event = event(run_id(1), 1, 0);
        event.data = Data::Evidence(EvidenceData::ToolCallStarted(ToolCallStarted {
            name: "t".to_owned(),
            input: Some(Foreign(input)),
            truncated: false,
        }));
        let batch = Batch::new(run_id(1), Seq(1), LineHash::before_first(run_id(1)), &[event]).expect("a batch");
        assert_eq!(memchr::memchr_iter(b'\n', &batch.bytes).count(), 1);
        let read: serde_json::Value = serde_json::from_slice(&batch.bytes).expect("JSON");
        assert_eq!(read["data"]["input"]["a"], "x\ny\u{2028}");
    }

    #[test]
    fn our_lines_are_known_at_a_glance_and_others_by_reading_them() {
        let run = run_id(1);
        let reader = LineReader::new(run);
        let batch = Batch::new(run, Seq(7), LineHash::before_first(run), &[event(run, 7, 1_234)]).expect("a batch");
        let line = &batch.bytes[..batch.bytes.len() - 1];
        let quick = reader.quick(line).expect("the usual form");
        assert_eq!((quick.seq, quick.ts().map(Millis::from)), (Seq(7), Some(Millis(1_234))));
        // The same event with its keys in another order, as another program might write it.
        let value: serde_json::Value = serde_json::from_slice(line).expect("JSON");
        let mut keys: Vec<_> = value.as_object().expect("an object").clone().into_iter().collect();
        keys.reverse();
        let turned = serde_json::to_vec(&serde_json::Map::from_iter(keys)).expect("JSON");
        assert_eq!(reader.quick(&turned), None);
        let slow = reader.check(&turned, Seq(7)).expect("an event");
        assert_eq!((slow.seq, slow.ts()), (quick.seq, quick.ts()));
        assert_eq!(reader.check(&turned, Seq(8)), Err(DamageKind::WrongSeq { found: Seq(7) }));
        assert_eq!(reader.glance(line, Seq(8)), Err(DamageKind::WrongSeq { found: Seq(7) }));
        assert_eq!(LineReader::new(run_id(2)).glance(line, Seq(7)), Err(DamageKind::WrongRun { found: run }));
        assert_eq!(reader.check(b"{\0\0", Seq(7)), Err(DamageKind::Zeros));
        let mut broken = line.to_vec();
        broken[200] = b'"';
        assert_eq!(reader.check(&broken, Seq(7)), Err(DamageKind::NotAnEvent));
    }

    /// Found by fuzzing: a line with a flipped bit in its text was accepted, and then could not be parsed as an event.
    #[test]
    fn a_line_that_is_not_utf8_is_not_an_event() {
        let run = run_id(1);
        let batch = Batch::new(run, Seq(7), LineHash::before_first(run), &[event(run, 7, 1_234)]).expect("a batch");
        let mut line = batch.bytes[..batch.bytes.len() - 1].to_vec();
        let text = line.windows(6).position(|window| window == b"line 7").expect("its text");
        line[text] ^= 0x80;
        let reader = LineReader::new(run);
        assert_eq!(reader.check(&line, Seq(7)), Err(DamageKind::NotAnEvent));
        assert!(!reader.is_event(&line));
    }
}
