//! A run as a recording of a terminal: asciicast, version 3.
//!
//! ```text
//! {"version":3,"term":{"cols":80,"rows":24},"timestamp":1763164800,"title":"count on codex"}
//! [0.000000,"m","1 run.started"]       an event of the Log: its seq and its type
//! [0.250000,"o","hello\r\n"]           what the engine wrote, through the mask; seconds since the line before
//! [0.000000,"x","0"]                   how the last process ended, when the run is over and that is known
//! ```
//!
//! Two passes run side by side, one over the Log and one over the evidence, and the earlier item is written; at the
//! same moment, bytes come before the events that were read from them. So memory use is small, however long the run is.
//! Time never goes back: an item that claims to be earlier than what was written gets the moment of the last item.
//!
//! Time outside of attempts, when a run is queued or waits for the user, is shortened; within an attempt it never is.
//! Where the run has patterns, a line is written when its end arrives. A run that is not over is shown as far as it was
//! recorded when this began. No terminal size is recorded, so it is the usual one.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use serde::Serialize;
use skillrun_evidence::{EvidenceError, PatternError, Patterns};
use skillrun_log::{EventLog, LogError};
use skillrun_model::Timestamp;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::RunRecord;

mod chunks;
mod clock;
mod decode;
mod markers;
#[cfg(test)]
mod tests;

use chunks::Chunks;
use clock::{Clock, Micros};
use markers::Markers;

/// Longest time outside of attempts that is shown.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(5);

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

/// Why there is no recording, or only the beginning of one.
#[derive(Debug, thiserror::Error)]
pub enum CastError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    #[error("failed to read the redaction patterns: {0}; output is withheld until run.json is repaired")]
    Patterns(#[from] PatternError),
    #[error("the Log was truncated while it was read; try again")]
    LogCut,
    #[error("the engine's output was removed while it was read; try again")]
    EvidenceRemoved,
    #[error("the recording cannot be written ({0})")]
    Write(#[from] io::Error),
}

/// Writes the recording of one run.
#[derive(Debug)]
pub struct CastWriter<'a, L: ?Sized> {
    log: &'a L,
    folder: &'a RunFolder,
    record: &'a RunRecord,
    longest_pause: Duration,
}

#[derive(Serialize)]
struct Header {
    version: u8,
    term: Term,
    timestamp: u64,
    title: String,
}

#[derive(Serialize)]
struct Term {
    cols: u16,
    rows: u16,
}

/// The kind of a line of the recording.
#[derive(Debug, Clone, Copy)]
enum Code {
    Output,
    Marker,
    Exit,
}

impl<'a, L: EventLog + ?Sized> CastWriter<'a, L> {
    /// `longest_pause` is the limit for each time outside of attempts; [`LONGEST_PAUSE`] suits most.
    pub fn new(log: &'a L, folder: &'a RunFolder, record: &'a RunRecord, longest_pause: Duration) -> Self {
        Self { log, folder, record, longest_pause }
    }

    /// Writes all of it.
    pub fn write(&self, out: impl Write) -> Result<(), CastError> {
        let mut out = BufWriter::new(out);
        let patterns = Patterns::new(&self.record.redact_patterns)?;
        let mut markers = Markers::open(self.log, self.record.run_id)?;
        let mut chunks = Chunks::open(self.folder, patterns)?;
        let begin = markers.peek()?.map_or(Micros::of(self.record.created_at), |marker| marker.at);
        self.header(begin, &mut out)?;
        let mut clock = Clock::new(begin, self.longest_pause);
        loop {
            let is_output_next = match (markers.peek()?, chunks.peek()?) {
                (None, None) => break,
                (Some(marker), Some(chunk)) => chunk.at <= marker.at,
                (marker, _) => marker.is_none(),
            };
            if is_output_next {
                let Some(chunk) = chunks.take() else { continue };
                let interval = clock.output(chunk.at, chunk.attempt);
                line(&mut out, interval, Code::Output, &chunk.text)?;
            } else {
                let Some(marker) = markers.take() else { continue };
                let interval = clock.event(&marker);
                line(&mut out, interval, Code::Marker, &format!("{} {}", marker.seq, marker.event_type))?;
            }
        }
        if let Some(code) = markers.exit_code() {
            line(&mut out, Micros(0), Code::Exit, &code.to_string())?;
        }
        out.flush()?;
        Ok(())
    }

    fn header(&self, begin: Micros, out: &mut impl Write) -> Result<(), CastError> {
        let header = Header {
            version: 3,
            term: Term { cols: COLUMNS, rows: ROWS },
            timestamp: begin.0 / 1_000_000,
            title: format!("{} on {}", self.record.title(), self.record.engine.name),
        };
        serde_json::to_writer(&mut *out, &header).map_err(io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    }
}

fn line(out: &mut impl Write, interval: Micros, code: Code, text: &str) -> io::Result<()> {
    let code = match code {
        Code::Output => "o",
        Code::Marker => "m",
        Code::Exit => "x",
    };
    write!(out, "[{}.{:06},\"{code}\",", interval.0 / 1_000_000, interval.0 % 1_000_000)?;
    serde_json::to_writer(&mut *out, text)?;
    out.write_all(b"]\n")
}

impl Micros {
    /// A moment as it is written, to the microsecond; 0 for everything before 1970.
    fn of(moment: Timestamp) -> Self {
        let millis = moment.millis_since(Timestamp::EPOCH).unwrap_or(0);
        // The last three digits before the `Z`.
        let text = moment.to_string();
        let rest = text.len().checked_sub(4).and_then(|at| text.get(at..text.len() - 1)?.parse::<u64>().ok());
        Self(millis.saturating_mul(1_000).saturating_add(rest.filter(|_| millis > 0).unwrap_or(0)))
    }
}
