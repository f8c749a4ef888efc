//! The box: what holds the process of an attempt inside of its folders, and the report of what is held and by what.

mod hosts;

pub use hosts::{HostName, HostPattern, HostPatternError, HostPort};

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{LimitMechanism, LimitName};
use crate::status::wire_enum;

wire_enum! {
    /// Whether the processes of a run start in a box.
    BoxChoice {
        /// They start without one.
        Off = "off",
        /// What this machine can enforce is enforced, and the report names the rest.
        On = "on",
        /// A run for which this machine cannot enforce a part is refused.
        Required = "required",
    }
}

wire_enum! {
    /// What the processes of a run reach over the network.
    NetworkAccess {
        /// Everything that the user reaches.
        Open = "open",
        /// The address of the engine's model, and nothing else.
        Model = "model",
        /// The address of the engine's model, and the hosts that the request names.
        List = "list",
        /// Nothing: they have a loopback interface of their own.
        None = "none",
    }
}

wire_enum! {
    /// What enforces a part of a box.
    BoxMechanism {
        /// User, mount and PID namespaces: the processes see only what is let in.
        Namespaces = "namespaces",
        /// Rules of the kernel for paths; the processes see the rest, and cannot open it.
        Landlock = "landlock",
    }
}

wire_enum! {
    /// What enforces a part of the report.
    PartMechanism {
        /// User, mount and PID namespaces: the processes see only what is let in.
        Namespaces = "namespaces",
        /// Rules of the kernel for paths; the processes see the rest, and cannot open it.
        Landlock = "landlock",
        /// A control group of the kernel has the limit.
        Cgroup = "cgroup",
        /// The host looks at the processes several times a second, and ends them at the limit.
        Watched = "watched",
    }
}

impl From<BoxMechanism> for PartMechanism {
    fn from(mechanism: BoxMechanism) -> Self {
        match mechanism {
            BoxMechanism::Namespaces => Self::Namespaces,
            BoxMechanism::Landlock => Self::Landlock,
        }
    }
}

impl From<LimitMechanism> for PartMechanism {
    fn from(mechanism: LimitMechanism) -> Self {
        match mechanism {
            LimitMechanism::Cgroup => Self::Cgroup,
            LimitMechanism::Watched => Self::Watched,
        }
    }
}

wire_enum! {
    /// A part of a box, or a limit.
    BoxPartName {
        /// Only the listed folders can be read, and only some of them written.
        Files = "files",
        /// Processes outside cannot be seen, read or signaled.
        Processes = "processes",
        /// Nothing outside can be connected to.
        Network = "network",
        /// The processes together use no more memory than allowed.
        Memory = "memory",
        /// There are no more processes than allowed.
        ProcessCount = "process_count",
        /// The processes together use no more processor time than allowed.
        Cpu = "cpu",
        /// The processes write no more to the disk than allowed.
        Disk = "disk",
    }
}

impl From<LimitName> for BoxPartName {
    fn from(limit: LimitName) -> Self {
        match limit {
            LimitName::Memory => Self::Memory,
            LimitName::Processes => Self::ProcessCount,
            LimitName::Cpu => Self::Cpu,
            LimitName::Disk => Self::Disk,
        }
    }
}

wire_enum! {
    /// Whether a part of a box holds.
    BoxPartState {
        Enforced = "enforced",
        NotEnforced = "not_enforced",
    }
}

/// A part of a box, and what enforces it, or why nothing does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoxPart {
    pub part: BoxPartName,
    pub state: BoxPartState,
    /// What enforces it; only with `enforced`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<PartMechanism>,
    /// Why nothing does; only with `not_enforced`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl BoxPart {
    pub fn enforced(part: BoxPartName, mechanism: impl Into<PartMechanism>) -> Self {
        Self { part, state: BoxPartState::Enforced, mechanism: Some(mechanism.into()), reason: None }
    }

    pub fn not_enforced(part: BoxPartName, reason: impl Into<String>) -> Self {
        Self { part, state: BoxPartState::NotEnforced, mechanism: None, reason: Some(reason.into()) }
    }
}

impl fmt::Display for BoxPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.mechanism, &self.reason) {
            (Some(PartMechanism::Watched), _) => write!(f, "{} enforced, watched by the host", self.part),
            (Some(mechanism), _) => write!(f, "{} enforced by {mechanism}", self.part),
            (None, Some(reason)) => write!(f, "{} not enforced: {reason}", self.part),
            (None, None) => write!(f, "{} {}", self.part, self.state),
        }
    }
}

/// What the box of a run holds: the parts that the run asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoxReport {
    pub parts: Vec<BoxPart>,
    /// What can be reached over the network, where it is restricted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reachable: Vec<HostPattern>,
}

impl BoxReport {
    /// Whether a part was asked for and holds.
    pub fn enforces(&self, part: BoxPartName) -> bool {
        self.parts.iter().any(|one| one.part == part && one.state == BoxPartState::Enforced)
    }

    /// The first part that was asked for and does not hold.
    pub fn missing(&self) -> Option<&BoxPart> {
        self.parts.iter().find(|part| part.state == BoxPartState::NotEnforced)
    }

    /// The mechanism by which the files are held, which is that of the whole box.
    pub fn mechanism(&self) -> Option<BoxMechanism> {
        match self.parts.iter().find(|part| part.part == BoxPartName::Files)?.mechanism? {
            PartMechanism::Namespaces => Some(BoxMechanism::Namespaces),
            PartMechanism::Landlock => Some(BoxMechanism::Landlock),
            PartMechanism::Cgroup | PartMechanism::Watched => None,
        }
    }
}

impl fmt::Display for BoxReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.parts.iter().enumerate() {
            write!(f, "{}{part}", if number == 0 { "" } else { "; " })?;
        }
        for (number, host) in self.reachable.iter().enumerate() {
            write!(f, "{}{host}", if number == 0 { "; reachable: " } else { ", " })?;
        }
        Ok(())
    }
}
