//! JSON lines as the program writes them: one value per line, and no character that a reader could mistake for a line
//! end.
//!
//! A line ends at `\n` alone. Many readers split at U+0085, U+2028 and U+2029 too, so these are written as escapes.
//!
//! Events are written far more often than anything else, and most of an event is its envelope, with the same keys each
//! time. So envelopes are assembled piece by piece ([`JsonText`]) and only their data goes through serde.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::fcmp::FcmpEvent;
use crate::ids::RunId;
use crate::rasp::Event;
use crate::time::Timestamp;

#[derive(Debug)]
struct LineFormatter;

impl Formatter for LineFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        let mut done = 0;
        // Plain ASCII, the usual case, is passed on without a scan.
        if !fragment.is_ascii() {
            let mut at = 0;
            while let Some(ahead) = memchr::memchr2(0xc2, 0xe2, &bytes[at..]) {
                at += ahead;
                let (escape, len) = match bytes[at..] {
                    [0xc2, 0x85, ..] => ("\\u0085", 2),
                    [0xe2, 0x80, 0xa8, ..] => ("\\u2028", 3),
                    [0xe2, 0x80, 0xa9, ..] => ("\\u2029", 3),
                    _ => {
                        at += 1;
                        continue;
                    }
                };
                writer.write_all(&bytes[done..at])?;
                writer.write_all(escape.as_bytes())?;
                at += len;
                done = at;
            }
        }
        writer.write_all(&bytes[done..])
    }
}

/// The number of bytes that are collected before they are written.
const BUFFER: usize = 256 * 1024;

/// JSON text that is being assembled, in memory or on its way to a writer.
#[derive(Default)]
pub struct JsonText {
    bytes: Vec<u8>,
    /// Where full buffers go, so that one huge message does not take its size in memory. Without a writer everything is
    /// kept.
    writer: Option<Box<dyn Write + Send>>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
    /// Many events have the same moment, and all have the same run; each is formatted once.
    moment: Spelled<Timestamp>,
    run_id: Spelled<RunId>,
}

impl std::fmt::Debug for JsonText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonText").field("bytes", &self.bytes.len()).field("error", &self.error).finish_non_exhaustive()
    }
}

impl Write for JsonText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    // Called for every key and quote, so without the loop that the trait would put around `write`.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() < BUFFER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(writer) = &mut self.writer {
            let written = writer.write_all(&self.bytes);
            self.bytes.clear();
            written?;
        }
        Ok(())
    }
}

/// A value and its JSON.
type Spelled<T> = Option<(T, String)>;

fn spell<T: PartialEq + std::fmt::Display + Copy>(spelled: &mut Spelled<T>, value: T) -> &str {
    let (known, json) = spelled.get_or_insert_with(|| (value, format!("\"{value}\"")));
    if *known != value {
        *known = value;
        *json = format!("\"{value}\"");
    }
    json
}

impl JsonText {
    /// Text that is already JSON.
    pub(crate) fn raw(&mut self, json: &str) -> &mut Self {
        self.bytes.extend_from_slice(json.as_bytes());
        self
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        self.value(&number)
    }

    pub(crate) fn confidence(&mut self, confidence: f64) -> &mut Self {
        // Nearly all events come from an exact parse.
        if confidence == 1.0 { self.raw("1.0") } else { self.value(&confidence) }
    }

    pub(crate) fn moment(&mut self, moment: Timestamp) -> &mut Self {
        self.bytes.extend_from_slice(spell(&mut self.moment, moment).as_bytes());
        self
    }

    pub(crate) fn run_id(&mut self, run_id: RunId) -> &mut Self {
        self.bytes.extend_from_slice(spell(&mut self.run_id, run_id).as_bytes());
        self
    }

    /// Anything else.
    pub(crate) fn value(&mut self, value: &(impl Serialize + ?Sized)) -> &mut Self {
        if self.error.is_none() {
            let written = value.serialize(&mut Serializer::with_formatter(&mut *self, LineFormatter));
            self.error = written.err().map(io::Error::from);
        }
        self
    }

    pub(crate) fn into_string(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

/// Writes JSON lines. Every call after the first error returns that error again.
#[derive(Debug)]
pub struct LineWriter {
    text: JsonText,
}

impl LineWriter {
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        Self { text: JsonText { writer: Some(writer), ..JsonText::default() } }
    }

    /// Keeps the lines in memory.
    pub fn in_memory() -> Self {
        Self { text: JsonText::default() }
    }

    /// The lines in memory, which may be changed.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.text.bytes
    }

    pub fn rasp(&mut self, event: &Event) -> io::Result<()> {
        event.write_json(&mut self.text);
        self.end_line()
    }

    pub fn fcmp(&mut self, event: &FcmpEvent) -> io::Result<()> {
        event.write_json(&mut self.text);
        self.end_line()
    }

    pub fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.text.value(value);
        self.end_line()
    }

    /// Text that is not JSON, unchanged.
    pub fn plain(&mut self, text: &str) -> io::Result<()> {
        self.text.write_all(text.as_bytes())
    }

    /// Bytes that may not be text, unchanged.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.text.write_all(bytes)
    }

    fn end_line(&mut self) -> io::Result<()> {
        match &self.text.error {
            Some(error) => Err(error.kind().into()),
            None => self.text.write_all(b"\n"),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.text.flush()?;
        self.text.writer.as_mut().map_or(Ok(()), |writer| writer.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reader_sees_a_line_end_inside_a_value() {
        let text = "a\u{85}b\u{2028}c\u{2029}d…é\u{80}\u{e2}\n";
        let mut line = JsonText::default();
        line.value(text);
        let line = line.into_string();
        assert_eq!(line, "\"a\\u0085b\\u2028c\\u2029d…é\u{80}\u{e2}\\n\"");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }

    /// Fails after N bytes, as a full disk does.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_reported_and_memory_stays_small() {
        let mut writer = LineWriter::new(Box::new(Full(4 * BUFFER)));
        writer.value(&"x".repeat(2 * BUFFER)).unwrap();
        assert!(writer.text.bytes.len() < BUFFER, "what is written is not kept");
        let error = writer.value(&"x".repeat(4 * BUFFER)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(writer.value(&1).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
