//! The envelope of every RASP event.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::data::{Category, ControlData, Data, EventType};
use crate::ids::{AttemptNumber, InteractionId, RunId};
use crate::profile::{EngineName, ProfileId};
use crate::status::wire_enum;
use crate::time::Timestamp;
use crate::wire::JsonText;

pub const PROTOCOL_VERSION: &str = "rasp/1.0";

wire_enum! {
    /// Where an event comes from. Everything but `control` is evidence.
    SourceStream {
        Stdout = "stdout",
        Stderr = "stderr",
        Pty = "pty",
        Stdin = "stdin",
        Control = "control",
    }
}

wire_enum! {
    /// The severity.
    Level {
        Info = "info",
        Warning = "warning",
        Error = "error",
    }
}

/// Where an event comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RaspSource")]
pub struct Source {
    pub engine: EngineName,
    pub stream: SourceStream,
    /// The profile that read the bytes; none for control events.
    pub parser: Option<ProfileId>,
    /// 1.0 is an exact parse, below 0.7 is a guess.
    pub confidence: f64,
}

/// What an event belongs to; a field is null where it does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Correlation {
    pub interaction_id: Option<InteractionId>,
    pub tool_call_id: Option<String>,
    // Shared, since nearly every event of an attempt carries it.
    pub session_id: Option<Arc<str>>,
    /// The key of the request that created the run, on control events; on `interaction.replied` the key of that reply.
    pub request_id: Option<String>,
    pub artifact_id: Option<String>,
    /// The run that has asked for this one, on control events.
    pub parent_run_id: Option<RunId>,
    /// The step of a workflow, on events about one.
    pub step_id: Option<String>,
}

/// Half-open byte ranges in the attempt's evidence files, the hull per stream; `0,0` where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawRef {
    pub stdout_from: u64,
    pub stdout_to: u64,
    pub stderr_from: u64,
    pub stderr_to: u64,
}

/// One piece of evidence: a half-open byte range of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpanRef {
    pub stream: SourceStream,
    pub from: u64,
    pub to: u64,
}

/// A position in a Log: its last event, and the hash of that event's line. Every line carries the hash of the line
/// before it, so this hash vouches for the whole Log up to that point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogHead {
    pub seq: u64,
    /// BLAKE3 of the line without its line end, 64 hexadecimal digits.
    pub hash: String,
}

/// One event of the Log. Its type follows from its data; it is not stored a second time.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub run_id: RunId,
    pub seq: u64,
    pub ts: Timestamp,
    pub attempt_number: AttemptNumber,
    pub source: Source,
    pub level: Level,
    pub data: Data,
    pub correlation: Correlation,
    pub raw_ref: RawRef,
}

impl Event {
    /// A control event of the level `info`, before the first attempt.
    pub fn control(run_id: RunId, seq: u64, ts: Timestamp, engine: EngineName, data: ControlData) -> Self {
        Self {
            run_id,
            seq,
            ts,
            attempt_number: AttemptNumber::BEFORE_FIRST,
            source: Source { engine, stream: SourceStream::Control, parser: None, confidence: 1.0 },
            level: Level::Info,
            data: Data::Control(data),
            correlation: Correlation::default(),
            raw_ref: RawRef::default(),
        }
    }

    pub fn event_type(&self) -> EventType {
        self.data.event_type()
    }
}

/// What an event is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RaspKind")]
pub(super) struct Kind {
    pub(super) category: Category,
    #[serde(rename = "type")]
    pub(super) event_type: EventType,
    pub(super) level: Level,
}

impl Event {
    /// The event as its line in the Log, without the line end.
    pub fn to_json(&self) -> String {
        let mut text = JsonText::default();
        self.write_json(&mut text);
        text.into_string()
    }

    /// Writes the event. Keys are in the order of contract R6.1.
    pub fn write_json(&self, out: &mut JsonText) {
        let event_type = self.event_type();
        out.raw("{\"protocol_version\":\"").raw(PROTOCOL_VERSION).raw("\",\"run_id\":").run_id(self.run_id);
        out.raw(",\"seq\":").number(self.seq).raw(",\"ts\":").moment(self.ts);
        out.raw(",\"attempt_number\":").number(u64::from(self.attempt_number.0));
        out.raw(",\"source\":{\"engine\":").value(&self.source.engine);
        out.raw(",\"stream\":\"").raw(self.source.stream.as_str()).raw("\",\"parser\":");
        match self.source.parser {
            Some(parser) => out.raw("\"").raw(parser.as_str()).raw("\""),
            None => out.raw("null"),
        };
        out.raw(",\"confidence\":").confidence(self.source.confidence);
        out.raw("},\"event\":{\"category\":\"").raw(event_type.category().as_str());
        out.raw("\",\"type\":\"").raw(event_type.as_str()).raw("\",\"level\":\"").raw(self.level.as_str());
        out.raw("\"},\"data\":").value(&self.data).raw(",\"correlation\":");
        self.correlation.write_json(out);
        out.raw(",\"raw_ref\":");
        self.raw_ref.write_json(out);
        out.raw("}");
    }
}

impl Correlation {
    pub(crate) fn write_json(&self, out: &mut JsonText) {
        fn text(out: &mut JsonText, key: &str, value: Option<&str>) {
            match value {
                Some(value) => out.raw(key).value(value),
                None => out.raw(key).raw("null"),
            };
        }
        out.raw("{\"interaction_id\":");
        match self.interaction_id {
            Some(id) => out.number(u64::from(id.0)),
            None => out.raw("null"),
        };
        text(out, ",\"tool_call_id\":", self.tool_call_id.as_deref());
        text(out, ",\"session_id\":", self.session_id.as_deref());
        text(out, ",\"request_id\":", self.request_id.as_deref());
        text(out, ",\"artifact_id\":", self.artifact_id.as_deref());
        out.raw(",\"parent_run_id\":").value(&self.parent_run_id);
        text(out, ",\"step_id\":", self.step_id.as_deref());
        out.raw("}");
    }
}

impl RawRef {
    pub(crate) fn write_json(&self, out: &mut JsonText) {
        out.raw("{\"stdout_from\":").number(self.stdout_from).raw(",\"stdout_to\":").number(self.stdout_to);
        out.raw(",\"stderr_from\":").number(self.stderr_from).raw(",\"stderr_to\":").number(self.stderr_to);
        out.raw("}");
    }
}

/// For readers of events inside other JSON; lines are written with [`Event::write_json`].
impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_json()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// The envelope of a line, with its data not decoded yet.
#[derive(Deserialize)]
struct Line<'a> {
    protocol_version: String,
    run_id: RunId,
    seq: u64,
    ts: Timestamp,
    attempt_number: AttemptNumber,
    source: Source,
    event: Kind,
    #[serde(borrow)]
    data: &'a RawValue,
    correlation: Correlation,
    raw_ref: RawRef,
}

/// A line that is not a RASP event.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("not a RASP event: {0}")]
    Json(#[from] serde_json::Error),
    #[error("protocol version {0} is not {PROTOCOL_VERSION}")]
    Version(String),
}

impl Event {
    pub fn from_json(line: &str) -> Result<Self, DecodeError> {
        let line: Line<'_> = serde_json::from_str(line)?;
        if line.protocol_version != PROTOCOL_VERSION {
            return Err(DecodeError::Version(line.protocol_version));
        }
        let stream = line.source.stream;
        Ok(Self {
            run_id: line.run_id,
            seq: line.seq,
            ts: line.ts,
            attempt_number: line.attempt_number,
            source: line.source,
            level: line.event.level,
            data: Data::decode(line.event.event_type, stream, line.data.get())?,
            correlation: line.correlation,
            raw_ref: line.raw_ref,
        })
    }
}
