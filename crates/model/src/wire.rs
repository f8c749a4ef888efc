//! JSON lines as we write them: one value per line, and no character that any reader could take for the end of one.
//!
//! A line ends at `\n` alone. Many readers split at U+0085, U+2028 and U+2029 too, so these are written as escapes.
//!
//! Events are written far more often than anything else, and most of an event is its envelope, the same keys each time.
//! So envelopes are put together piece by piece ([`JsonText`]) and only their data goes through serde.

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
        // Plain ASCII, the usual case, is passed on without a closer look.
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

/// JSON text that is being put together.
#[derive(Debug, Default)]
pub struct JsonText {
    bytes: Vec<u8>,
    /// Many events have the same moment, and all the same run; they are put into words once.
    moment: Spelled<Timestamp>,
    run_id: Spelled<RunId>,
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
    /// Text that is JSON already.
    pub(crate) fn raw(&mut self, json: &str) -> &mut Self {
        self.bytes.extend_from_slice(json.as_bytes());
        self
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        self.value(&number)
    }

    pub(crate) fn confidence(&mut self, confidence: f64) -> &mut Self {
        // Nearly all events are read exactly.
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

    /// Anything else. A value of ours always has a JSON form; should one not, `null` stands in its place.
    pub(crate) fn value(&mut self, value: &(impl Serialize + ?Sized)) -> &mut Self {
        let start = self.bytes.len();
        if value.serialize(&mut Serializer::with_formatter(&mut self.bytes, LineFormatter)).is_err() {
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(b"null");
        }
        self
    }

    pub(crate) fn into_string(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

/// So much is put together before it is written.
const BUFFER: usize = 256 * 1024;

/// Writes JSON lines.
#[derive(Debug)]
pub struct LineWriter<W> {
    inner: W,
    text: JsonText,
}

impl<W: Write> LineWriter<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, text: JsonText::default() }
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

    /// Text that is no JSON, as it is.
    pub fn plain(&mut self, text: &str) -> io::Result<()> {
        self.text.raw(text);
        self.write_full()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.text.bytes.push(b'\n');
        self.write_full()
    }

    fn write_full(&mut self) -> io::Result<()> {
        if self.text.bytes.len() < BUFFER { Ok(()) } else { self.write_out() }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let written = self.inner.write_all(&self.text.bytes);
        // One huge message must not cost its size for ever after.
        if self.text.bytes.capacity() > 4 * BUFFER {
            self.text.bytes = Vec::new();
        } else {
            self.text.bytes.clear();
        }
        written
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::LineWriter;

    #[test]
    fn no_reader_sees_a_line_end_inside_a_value() {
        let text = "a\u{85}b\u{2028}c\u{2029}d…é\u{80}\u{e2}\n";
        let mut lines = Vec::new();
        let mut writer = LineWriter::new(&mut lines);
        writer.value(&text).unwrap();
        writer.flush().unwrap();
        let line = String::from_utf8(lines).unwrap();
        assert_eq!(line, "\"a\\u0085b\\u2028c\\u2029d…é\u{80}\u{e2}\\n\"\n");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
