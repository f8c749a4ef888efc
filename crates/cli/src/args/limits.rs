//! Flags that limit what the processes of an attempt use.

use std::time::Duration;

use skillrun_base::amounts;
use skillrun_model::limits::ResourceLimits;

use super::parsers::{age, count};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct LimitArgs {
    /// End an attempt whose processes together use more memory, such as 2G [default: the setting `limits.memory`; in a
    /// box 8G]
    #[arg(long, value_name = "SIZE", value_parser = amounts::size)]
    memory: Option<u64>,
    /// End an attempt that has more processes [default: the setting `limits.processes`; in a box 1,024]
    #[arg(long, value_name = "N", value_parser = count)]
    processes: Option<u32>,
    /// End an attempt whose processes together use more processor time, such as 10min [default: the setting
    /// `limits.cpu_sec`, else none]
    #[arg(long, value_name = "TIME", value_parser = processor_time)]
    cpu: Option<Duration>,
    /// End an attempt that writes more to its workspace, its HOME and its temporary files, such as 1G [default: the
    /// setting `limits.disk`; in a box 20G]
    #[arg(long, value_name = "SIZE", value_parser = amounts::size)]
    disk: Option<u64>,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> ResourceLimits {
        ResourceLimits {
            memory_bytes: self.memory,
            processes: self.processes,
            cpu_sec: self.cpu.map(|time| time.as_secs()),
            disk_bytes: self.disk,
        }
    }
}

fn processor_time(text: &str) -> Result<Duration, &'static str> {
    age(text).ok().filter(|time| !time.is_zero()).ok_or("not a time above 0 such as 30s, 10min or 2h")
}
