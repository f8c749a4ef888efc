//! The envelope every RASP event travels in.

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::data::{Category, Data, EventType};
use crate::ids::{AttemptNumber, InteractionId, RunId};
use crate::profile::{EngineName, ProfileId};
use crate::status::wire_enum;
use crate::time::Timestamp;

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
    Level {
        Info = "info",
        Warning = "warning",
        Error = "error",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub engine: EngineName,
    pub stream: SourceStream,
    /// The profile that read the bytes; none for control events.
    pub parser: Option<ProfileId>,
    pub confidence: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Correlation {
    pub interaction_id: Option<InteractionId>,
    pub tool_call_id: Option<String>,
    pub session_id: Option<String>,
    pub request_id: Option<String>,
    pub artifact_id: Option<String>,
    pub parent_run_id: Option<RunId>,
    pub step_id: Option<String>,
}

/// Half-open byte ranges into the attempt's evidence files, the hull per stream; `0,0` where there is none.
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

/// One event of the Log. Its type is that of its data; there is no second place that says so.
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
    pub fn event_type(&self) -> EventType {
        self.data.event_type()
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Kind {
    pub(super) category: Category,
    #[serde(rename = "type")]
    pub(super) event_type: EventType,
    pub(super) level: Level,
}

impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event_type = self.event_type();
        let mut out = serializer.serialize_struct("Event", 10)?;
        out.serialize_field("protocol_version", PROTOCOL_VERSION)?;
        out.serialize_field("run_id", &self.run_id)?;
        out.serialize_field("seq", &self.seq)?;
        out.serialize_field("ts", &self.ts)?;
        out.serialize_field("attempt_number", &self.attempt_number)?;
        out.serialize_field("source", &self.source)?;
        let kind = Kind { category: event_type.category(), event_type, level: self.level };
        out.serialize_field("event", &kind)?;
        out.serialize_field("data", &self.data)?;
        out.serialize_field("correlation", &self.correlation)?;
        out.serialize_field("raw_ref", &self.raw_ref)?;
        out.end()
    }
}

/// The envelope as it stands on the line, its data still undecided.
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

/// A line that is no RASP event.
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
        Ok(Self {
            run_id: line.run_id,
            seq: line.seq,
            ts: line.ts,
            attempt_number: line.attempt_number,
            source: line.source,
            level: line.event.level,
            data: Data::decode(line.event.event_type, line.data.get())?,
            correlation: line.correlation,
            raw_ref: line.raw_ref,
        })
    }
}
