//! The messages between an owner and a host over `host.sock`: JSON lines. The first line in each direction contains the
//! version; a host that does not know the owner's version reports that and closes the connection, and its files can
//! still be followed.
//!
//! ```text
//! host   {"skillrun_host":1,"run_id":"…","attempt":1,"pid":4711,"process":"held"}
//! owner  {"skillrun_owner":1}
//! owner  {"do":"start"}                                                        if the plan requires it
//! host   {"at":"progress","attempt":1,"stdout":512,"stderr":0,"pty":0}         whenever there is more
//! owner  {"do":"input","id":"7","text":"blue\n"}                               or "hex" for what is not UTF-8
//! host   {"at":"input","id":"7","answer":"written"}
//! owner  {"do":"next_attempt","attempt":2}
//! host   {"at":"next_attempt","attempt":2,"stdout":812,"stderr":0,"pty":0}     sizes of the one before
//! owner  {"do":"cancel","ladder":[{"signal":"SIGINT","pause":{"secs":5,"nanos":0}}]}
//! host   {"at":"exited","exit_code":null,"signal":"SIGINT"}
//! host   {"at":"ended","ended_by":"canceled"}                                  its record is on disk
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};
use skillrun_model::{AttemptNumber, EndedBy, RunId};

use crate::Rung;

pub const VERSION: u32 = 1;

/// Longest line either side accepts.
pub const LINE_MAX: usize = 8 << 20;

/// Maximum size of one input.
pub const INPUT_MAX: usize = 1 << 20;

/// The host's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHello {
    pub skillrun_host: u32,
    pub run_id: RunId,
    pub attempt: AttemptNumber,
    pub pid: u32,
    #[serde(default)]
    pub process: ProcessState,
}

/// Whether the engine's process waits for an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It starts when an owner sends [`HostRequest::Start`].
    Held,
    /// It was started, or is about to be without a request.
    #[default]
    Started,
}

/// The owner's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerHello {
    pub skillrun_owner: u32,
}

/// A request of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum HostRequest {
    /// Starts the process, if the plan holds it back until requested. A repeated request, or one for a process that is
    /// not held back, does nothing.
    Start,
    /// Writes to the process. An id that was written before is refused; for numeric ids, so is every one that is not
    /// higher than all before.
    Input {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hex: Option<String>,
    },
    /// The process gets no more input.
    CloseStdin,
    /// Output from now on belongs to the next attempt of the same process.
    NextAttempt {
        attempt: AttemptNumber,
    },
    /// Terminates the process and everything it started.
    Cancel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ladder: Option<Vec<Rung>>,
    },
    /// The user interrupts the turn, which is recorded as an act. A process that can stop its turn and stay is not
    /// ended; it is sent its own request for that after this one.
    Interrupt {
        /// A process that has begun its next attempt ignores the request: the turn had ended before.
        attempt: AttemptNumber,
        process: InterruptedProcess,
    },
    /// The end event was seen: the process has `linger` to exit.
    TurnOver {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        linger: Option<Duration>,
    },
    /// The turn has not ended after all.
    TurnGoesOn,
    /// The process has waited long enough for the next prompt, and is terminated with everything it started.
    StopWaiting,
    /// A user is asked; deadlines are suspended until [`HostRequest::GoOn`].
    Wait {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Duration>,
    },
    GoOn,
    /// The owner detaches, the process continues.
    Detach,
}

/// What becomes of the process of an interrupted turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptedProcess {
    Stays,
    /// It is terminated, with everything it started.
    Ends,
}

/// A notice of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Notice {
    /// How far each stream can be read.
    Progress(RecordedSizes),
    Input {
        id: String,
        answer: InputAnswer,
    },
    /// The attempt began; the sizes are those of the one before, which is settled from exactly these bytes.
    NextAttempt(RecordedSizes),
    /// The main process is over; its streams may not be.
    Exited {
        exit_code: Option<i32>,
        signal: Option<String>,
    },
    /// The attempt is over and its record is on disk.
    Ended {
        ended_by: EndedBy,
    },
    /// A request that cannot be carried out.
    Refused {
        reason: String,
    },
    /// Why the host closes the connection.
    Closed {
        reason: CloseReason,
        version: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSizes {
    pub attempt: AttemptNumber,
    pub stdout: u64,
    pub stderr: u64,
    pub pty: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputAnswer {
    /// The process has received it, or the kernel has buffered it for the process.
    Written,
    /// This id was written before.
    Repeated,
    /// The process accepts no input, or no more.
    Closed,
    TooLarge,
    /// The hexadecimal text is invalid.
    Unreadable,
    /// An earlier input has not been written yet.
    Busy,
    /// A terminal would truncate a line of that length.
    LineTooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    Version,
    Owned,
    Unreadable,
    Detached,
    /// No owner sent [`HostRequest::Start`] in time; the attempt can be begun again.
    Withdrawn,
}
