//! What to run and how: [`HostPlan`]. The starter writes it to the host's standard input as one JSON document, because
//! it contains the values of variables, which belong neither on a command line nor on a disk.
//!
//! - [`protocol`]: the messages between an owner and a host.
//! - [`delegation`]: how the process of a run asks its owner for other runs.
//! - [`environment`]: which variables an engine gets by default, and the names of those that the host sets.
//! - [`signals`]: signals by name.
//!
//! Types alone, and the client of the socket for delegation: the crate `collect` carries a plan out, and exports all of
//! this again.

pub mod delegation;
pub mod environment;
pub mod protocol;
pub mod signals;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skillrun_confine::BoxPlan;
use skillrun_evidence::OsText;
use skillrun_evidence::host_record::Label;
use skillrun_model::limits::{LimitMechanism, ResourceLimits};
use skillrun_model::{AttemptNumber, RunId, StdinKind, Wiring};

use crate::signals::SignalName;

/// Everything a host needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostPlan {
    pub run_id: RunId,
    pub attempt: AttemptNumber,
    /// Random, so that processes of this attempt can be distinguished from all others.
    pub nonce: String,
    /// The `.audit` folder; it exists.
    pub audit: OsText,
    pub workspace: OsText,
    pub argv: Vec<OsText>,
    pub variables: Vec<Variable>,
    /// Values that are masked like those of secret variables, although the process does not get them: the server's own
    /// keys.
    #[serde(default)]
    pub keys: Vec<Key>,
    pub wiring: Wiring,
    pub stdin: StdinPlan,
    pub label: Label,
    pub limits: Limits,
    /// How the process is terminated, whatever the deadline.
    pub ladder: Vec<Rung>,
    pub snapshot: SnapshotPlan,
    /// Where the process gets a folder for temporary files.
    pub temporary: OsText,
    /// The box in which the process starts. None: it starts without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<BoxPlan>,
    /// What its processes may use. None: the host does not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcePlan>,
    #[serde(default)]
    pub start: StartWhen,
}

/// What the processes of an attempt may use, and how that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourcePlan {
    pub limits: ResourceLimits,
    /// With `cgroup`, a host that cannot make a control group watches the processes.
    pub mechanism: LimitMechanism,
    /// Folders whose growth counts as disk usage. The host adds the folder for temporary files, and the file systems in
    /// memory of a box.
    pub folders: Vec<OsText>,
}

/// When the process is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartWhen {
    #[default]
    AtOnce,
    /// When the owner sends [`crate::protocol::HostRequest::Start`], so that it can first record that it will. If no owner
    /// sends it in time, counted from the claim, the host withdraws: nothing was begun, and nothing is left.
    Told { within: Duration },
}

/// A value that is masked wherever the process writes it. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key(pub OsText);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A variable of the process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    pub name: OsText,
    pub value: OsText,
    pub kind: VariableKind,
}

impl Variable {
    pub fn plain(name: &str, value: &str) -> Self {
        let text = |text: &str| OsText::from(std::ffi::OsString::from(text));
        Self { name: text(name), value: text(value), kind: VariableKind::Plain }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableKind {
    Plain,
    /// Its value is masked wherever the process writes it.
    Secret,
}

impl fmt::Debug for Variable {
    /// Without the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinPlan {
    Null,
    Pipe,
    Tty,
    File(OsText),
}

impl StdinPlan {
    pub fn kind(&self) -> StdinKind {
        match self {
            Self::Null => StdinKind::Null,
            Self::Pipe => StdinKind::Pipe,
            Self::Tty => StdinKind::Tty,
            Self::File(_) => StdinKind::File,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From the start; in later attempts of a process from the first input.
    pub hard: Duration,
    /// Without a byte.
    pub stall: Duration,
    /// After the end of the turn, or after the last byte of streams that outlive the process.
    pub linger: Duration,
    /// After the deadline of a question that the owner waits for.
    pub wait_grace: Duration,
    /// While a question without a deadline is pending and no owner is attached.
    pub ownerless: Duration,
    /// Of all streams together.
    pub max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hard: Duration::from_secs(3600),
            stall: Duration::from_secs(600),
            linger: Duration::from_secs(10),
            wait_grace: Duration::from_secs(60),
            ownerless: Duration::from_secs(24 * 3600),
            max_bytes: 4 << 30,
        }
    }
}

/// A signal, and how long to wait for its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    pub signal: SignalName,
    pub pause: Duration,
}

/// Default pause after each signal of a ladder.
pub const GRACE: Duration = Duration::from_secs(5);

/// Requests the exit twice, then kills.
pub fn ladder(grace: Duration) -> Vec<Rung> {
    vec![
        Rung { signal: SignalName::INT, pause: grace },
        Rung { signal: SignalName::TERM, pause: grace },
        Rung { signal: SignalName::KILL, pause: Duration::ZERO },
    ]
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotPlan {
    Off,
    /// With rules for what is excluded, as in `.gitignore`.
    On {
        ignore: Vec<String>,
    },
}
