//! The envelope of every FCMP event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::data::FcmpData;
use crate::ids::{AttemptNumber, RunId};
use crate::profile::EngineName;
use crate::rasp::{Correlation, RawRef};
use crate::time::Timestamp;
use crate::wire::JsonText;

pub const PROTOCOL_VERSION: &str = "fcmp/1.0";

/// Where an event of the conversation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    pub attempt: AttemptNumber,
    /// 1.0 is an exact parse, below 0.7 is a guess.
    pub confidence: f64,
    /// The RASP event this one was made from.
    pub rasp_seq: u64,
}

/// One event of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct FcmpEvent {
    pub run_id: RunId,
    pub seq: u64,
    pub ts: Timestamp,
    pub engine: EngineName,
    pub data: FcmpData,
    pub meta: Meta,
    pub correlation: Correlation,
    pub raw_ref: RawRef,
}

impl FcmpEvent {
    /// The event as one line, without the line end.
    pub fn to_json(&self) -> String {
        let mut text = JsonText::default();
        self.write_json(&mut text);
        text.into_string()
    }

    /// Writes the event. Keys are in the order of contract R7.2.
    pub fn write_json(&self, out: &mut JsonText) {
        out.raw("{\"protocol_version\":\"").raw(PROTOCOL_VERSION).raw("\",\"run_id\":").run_id(self.run_id);
        out.raw(",\"seq\":").number(self.seq).raw(",\"ts\":").moment(self.ts);
        out.raw(",\"engine\":").value(&self.engine);
        out.raw(",\"session_id\":").value(&self.correlation.session_id);
        out.raw(",\"type\":\"").raw(self.data.fcmp_type().as_str());
        out.raw("\",\"data\":").value(&self.data);
        out.raw(",\"meta\":{\"attempt\":").number(u64::from(self.meta.attempt.0));
        out.raw(",\"confidence\":").confidence(self.meta.confidence);
        out.raw(",\"rasp_seq\":").number(self.meta.rasp_seq).raw("},\"correlation\":");
        self.correlation.write_json(out);
        out.raw(",\"raw_ref\":");
        self.raw_ref.write_json(out);
        out.raw("}");
    }
}

/// For readers of events inside other JSON; lines are written with [`FcmpEvent::write_json`].
impl Serialize for FcmpEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = JsonText::default();
        self.write_json(&mut text);
        RawValue::from_string(text.into_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}
