//! Limits of what the processes of an attempt use, and what is recorded where one was reached.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::integers::optional_integer;
use crate::status::{EndedBy, wire_enum};

wire_enum! {
    /// What a limit is for.
    LimitName {
        /// Bytes of memory of all processes together; what they share counts once.
        Memory = "memory",
        /// The number of processes.
        Processes = "processes",
        /// Processor time of all processes together, the exited ones too.
        Cpu = "cpu",
        /// Growth of the folders that the processes write, in bytes.
        Disk = "disk",
    }
}

wire_enum! {
    /// How a limit is held.
    LimitMechanism {
        /// By the kernel, for the control group of the processes.
        Cgroup = "cgroup",
        /// By the host, which looks at the processes several times a second and ends them.
        Watched = "watched",
    }
}

impl LimitName {
    /// How an attempt ends that has reached it.
    pub fn ended_by(self) -> EndedBy {
        match self {
            Self::Memory => EndedBy::MemoryLimit,
            Self::Processes => EndedBy::ProcessLimit,
            Self::Cpu => EndedBy::CpuLimit,
            Self::Disk => EndedBy::DiskLimit,
        }
    }

    pub fn code(self) -> Code {
        match self {
            Self::Memory => Code::MemoryLimit,
            Self::Processes => Code::ProcessLimit,
            Self::Cpu => Code::CpuLimit,
            Self::Disk => Code::DiskLimit,
        }
    }

    /// The limit at which an attempt was ended, if it was ended at one of these.
    pub fn of(ended_by: EndedBy) -> Option<Self> {
        match ended_by {
            EndedBy::MemoryLimit => Some(Self::Memory),
            EndedBy::ProcessLimit => Some(Self::Processes),
            EndedBy::CpuLimit => Some(Self::Cpu),
            EndedBy::DiskLimit => Some(Self::Disk),
            EndedBy::Exited
            | EndedBy::HardTimeout
            | EndedBy::Stall
            | EndedBy::Linger
            | EndedBy::WaitTimeout
            | EndedBy::Canceled
            | EndedBy::Interrupted
            | EndedBy::Budget
            | EndedBy::HostError
            | EndedBy::HostLost
            | EndedBy::NotStarted => None,
        }
    }
}

/// What the processes of one attempt may use. What is missing is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceLimits {
    /// Bytes of memory of all processes together; what they share counts once.
    #[serde(deserialize_with = "optional_integer", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub memory_bytes: Option<u64>,
    /// Number of processes.
    #[serde(deserialize_with = "optional_integer", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub processes: Option<u32>,
    /// Seconds of processor time of all processes together, the exited ones too.
    #[serde(deserialize_with = "optional_integer", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub cpu_sec: Option<u64>,
    /// Growth in bytes of the folders that the processes write: workspace, HOME of the run, temporary files.
    #[serde(deserialize_with = "optional_integer", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub disk_bytes: Option<u64>,
}

impl ResourceLimits {
    /// Those of a run in a box that sets none. They leave room for the largest engine, which uses some 600 MB; processor
    /// time is limited by the time limits anyway.
    pub const OF_BOX: Self =
        Self { memory_bytes: Some(8 << 30), processes: Some(1024), cpu_sec: None, disk_bytes: Some(20 << 30) };

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and the others where these say nothing.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.or(others.memory_bytes),
            processes: self.processes.or(others.processes),
            cpu_sec: self.cpu_sec.or(others.cpu_sec),
            disk_bytes: self.disk_bytes.or(others.disk_bytes),
        }
    }

    /// The limit with this name; CPU time in seconds.
    pub fn get(&self, name: LimitName) -> Option<u64> {
        match name {
            LimitName::Memory => self.memory_bytes,
            LimitName::Processes => self.processes.map(u64::from),
            LimitName::Cpu => self.cpu_sec,
            LimitName::Disk => self.disk_bytes,
        }
    }

    /// Those that are set.
    pub fn names(&self) -> impl Iterator<Item = LimitName> + '_ {
        LimitName::ALL.iter().copied().filter(|name| self.get(*name).is_some())
    }
}

/// A limit that the processes of an attempt have reached. Bytes, processes, or milliseconds of processor time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReached {
    pub name: LimitName,
    pub mechanism: LimitMechanism,
    pub limit: u64,
    /// What was seen when it was found; with a control group the limit itself, which the kernel lets no process pass.
    pub seen: u64,
}

impl LimitReached {
    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let Self { limit, seen, .. } = *self;
        match (self.name, self.mechanism) {
            (LimitName::Memory, LimitMechanism::Watched) => {
                format!("the processes used {} of memory, of {} allowed", size(seen), size(limit))
            }
            (LimitName::Memory, LimitMechanism::Cgroup) => {
                format!("the processes needed more than the {} of memory that are allowed", size(limit))
            }
            (LimitName::Processes, LimitMechanism::Watched) => {
                format!("{seen} processes were running, of {limit} allowed")
            }
            (LimitName::Processes, LimitMechanism::Cgroup) => {
                format!("a process could not be started, because {limit} are allowed")
            }
            (LimitName::Cpu, LimitMechanism::Watched | LimitMechanism::Cgroup) => {
                format!("the processes used {} s of processor time, of {} s allowed", seen / 1000, limit / 1000)
            }
            (LimitName::Disk, LimitMechanism::Watched | LimitMechanism::Cgroup) => {
                format!("the processes wrote {}, of {} allowed", size(seen), size(limit))
            }
        }
    }
}

/// In the largest unit of which there is at least one, with one digit after the point where it is not whole.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut whole = bytes;
    let mut rest = 0;
    while whole >= 1024 && unit + 1 < UNITS.len() {
        rest = whole % 1024;
        whole /= 1024;
        unit += 1;
    }
    match rest * 10 / 1024 {
        0 => format!("{whole} {}", UNITS[unit]),
        tenth => format!("{whole}.{tenth} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_end_and_its_code() {
        for name in LimitName::ALL.iter().copied() {
            assert_eq!(LimitName::of(name.ended_by()), Some(name));
        }
        let codes: Vec<&str> = LimitName::ALL.iter().map(|name| name.code().as_str()).collect();
        assert_eq!(codes, ["MEMORY_LIMIT", "PROCESS_LIMIT", "CPU_LIMIT", "DISK_LIMIT"]);
        assert_eq!(LimitName::of(EndedBy::Budget), None);
    }

    #[test]
    fn a_request_says_only_what_it_limits() {
        let asked: ResourceLimits = serde_json::from_str(r#"{"memory_bytes": 1e9, "cpu_sec": 5}"#).expect("limits");
        assert_eq!(serde_json::to_string(&asked).expect("JSON"), r#"{"memory_bytes":1000000000,"cpu_sec":5}"#);
        let all = asked.or(ResourceLimits::OF_BOX);
        assert_eq!((all.memory_bytes, all.processes), (Some(1_000_000_000), Some(1024)));
        assert_eq!(all.names().count(), 4);
        assert!(ResourceLimits::default().is_empty());
        for bad in [r#"{"memory_bytes": -1}"#, r#"{"processes": 1.5}"#, r#"{"disk": 1}"#, r#"{"cpu_sec": "10m"}"#] {
            assert!(serde_json::from_str::<ResourceLimits>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_for_people() {
        for (bytes, shown) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2 << 30, "2 GiB"), (u64::MAX, "16777215.9 TiB")]
        {
            assert_eq!(size(bytes), shown);
        }
    }
}
