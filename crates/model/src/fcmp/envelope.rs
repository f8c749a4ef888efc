//! The envelope every FCMP event travels in.

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use super::data::FcmpData;
use crate::ids::{AttemptNumber, RunId};
use crate::profile::EngineName;
use crate::rasp::{Correlation, RawRef};
use crate::time::Timestamp;

pub const PROTOCOL_VERSION: &str = "fcmp/1.0";

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    pub attempt: AttemptNumber,
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

impl Serialize for FcmpEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("FcmpEvent", 11)?;
        out.serialize_field("protocol_version", PROTOCOL_VERSION)?;
        out.serialize_field("run_id", &self.run_id)?;
        out.serialize_field("seq", &self.seq)?;
        out.serialize_field("ts", &self.ts)?;
        out.serialize_field("engine", &self.engine)?;
        out.serialize_field("session_id", &self.correlation.session_id)?;
        out.serialize_field("type", &self.data.fcmp_type())?;
        out.serialize_field("data", &self.data)?;
        out.serialize_field("meta", &self.meta)?;
        out.serialize_field("correlation", &self.correlation)?;
        out.serialize_field("raw_ref", &self.raw_ref)?;
        out.end()
    }
}
