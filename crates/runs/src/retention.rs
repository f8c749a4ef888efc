//! What is removed, and when. First evidence, later the whole run; a Log is never truncated.
//!
//! ```text
//! .audit/removed.json    {"removed_at", "bytes", "why"}: evidence was here; written before it is removed
//! runs/removed.jsonl     runs that are gone, written by the Log
//! ```
//!
//! - `plan`: decides; pure. `measure`: the disk space of a run. `parts`: what is large in it. `carry_out`: removes, and
//!   cleans up. `left_tests`: folders that tests left.
//!
//! Laws: a run that is not over is never touched. A failed run is kept at least as long as every other one: it is
//! removed only when no run that ended otherwise, at the same time or before, is kept. Links are removed and never
//! followed.

mod carry_out;
mod left_tests;
mod measure;
mod parts;
mod plan;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_model::{RunId, Timestamp};

pub use carry_out::{RemovalReport, Skipped, WhySkipped, carry_out, remove_run};
pub(crate) use measure::ending;
pub use measure::{DiskUsage, Measured, Total, Unmeasured, du, measure, measure_all};
pub use parts::{LargePart, RunPart, large_parts, largest_entry};
pub use plan::plan;

/// Beside evidence that was removed.
pub const NOTE: &str = "removed.json";

/// Whether the evidence in `.audit` was removed, or is being removed. The note is written before anything is removed.
pub fn is_evidence_removed(audit: &Path) -> bool {
    audit.join(NOTE).symlink_metadata().is_ok()
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What may be removed. Runs that are not over are always kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub succeeded: Keep,
    /// Kept at least as long as succeeded ones.
    pub failed: Keep,
    pub canceled: Keep,
    /// For all runs together; the oldest are removed first.
    pub max_bytes: Option<u64>,
    /// The age at which evidence is removed; the rest of the run stays as long as the other limits say.
    pub evidence_age: Option<Duration>,
}

/// None: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    pub age: Option<Duration>,
    pub count: Option<usize>,
}

impl Default for Retention {
    fn default() -> Self {
        let days = |days: u32| Keep { age: Some(DAY * days), count: None };
        Self { succeeded: days(30), failed: days(90), canceled: days(30), max_bytes: None, evidence_age: None }
    }
}

impl Retention {
    /// Every run that ended longer ago than this is removed, and nothing else.
    pub fn by_age_alone(age: Duration) -> Self {
        let keep = Keep { age: Some(age), count: None };
        Self { succeeded: keep, failed: keep, canceled: keep, max_bytes: None, evidence_age: None }
    }
}

/// The state of a run, as far as removing it is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetentionStatus {
    NotOver,
    Succeeded,
    /// Kept like a succeeded run, and counted on its own.
    Closed,
    Failed,
    Canceled,
}

impl RetentionStatus {
    /// The status whose settings say how long a run is kept.
    pub(crate) fn kept_as(self) -> Self {
        match self {
            Self::Succeeded | Self::Closed => Self::Succeeded,
            Self::NotOver | Self::Failed | Self::Canceled => self,
        }
    }
}

/// A run and its disk space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunUse {
    pub run: RunId,
    pub standing: RetentionStatus,
    pub created_at: Timestamp,
    /// None while it is not over.
    pub ended_at: Option<Timestamp>,
    /// On disk, of files that can be removed before the rest; none when there are none.
    pub evidence_bytes: u64,
    pub other_bytes: u64,
    pub evidence: Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    Present,
    /// Removed, or there never was any.
    Absent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub run: RunId,
    pub what: What,
    pub why: Why,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Evidence,
    Run,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RemovalReason")]
pub enum Why {
    Age,
    Count,
    Size,
}
