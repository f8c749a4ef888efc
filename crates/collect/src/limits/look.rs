//! Figures of processes, from `/proc`.

use std::fs;

use crate::process::list::Process;

/// The memory of processes together. Exact figures cost a walk through the page tables of each process, so they are
/// read only where the cheap ones, in which shared pages count once per process, exceed `enough`.
pub(super) fn memory(processes: &[Process], enough: u64) -> u64 {
    let cheap = processes.iter().fold(0, |sum: u64, process| sum.saturating_add(resident(process.pid)));
    if cheap <= enough {
        return cheap;
    }
    // A process that forbids to look into it counts with everything that it has in memory.
    let exact = |process: &Process| proportional(process.pid).unwrap_or_else(|| resident(process.pid));
    processes.iter().fold(0, |sum: u64, process| sum.saturating_add(exact(process)))
}

/// What a process has in memory and in swap. A process that is gone has nothing.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    sum_of(&status, &["VmRSS:", "VmSwap:"]).unwrap_or(0)
}

/// The same, where a page that several processes share is divided among them.
fn proportional(pid: u32) -> Option<u64> {
    sum_of(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?, &["Pss:", "SwapPss:"])
}

/// The sum in bytes of lines such as `Pss: 12 kB`. None if there is none of them.
fn sum_of(text: &str, names: &[&str]) -> Option<u64> {
    let lines = text.lines().filter_map(|line| {
        let rest = names.iter().find_map(|name| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    });
    lines.map(|kib| kib.saturating_mul(1024)).reduce(u64::saturating_add)
}

/// Whether this system has the figures.
pub(super) fn try_this_process() -> Result<(), String> {
    let own = std::process::id();
    match (Process::read(own), resident(own)) {
        (Some(_), 1..) => Ok(()),
        (Some(_) | None, _) => Err("there are no figures of processes in /proc".to_owned()),
    }
}

/// Ticks of the kernel in milliseconds.
pub(super) fn milliseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1)
}

/// Microseconds in ticks of the kernel.
pub(super) fn ticks(micros: u64) -> u64 {
    micros.saturating_mul(rustix::param::clock_ticks_per_second()) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_added_up() {
        let status = "Name:\tx\nVmPeak:\t 900 kB\nVmRSS:\t  100 kB\nVmSwap:\t 20 kB\n";
        assert_eq!(sum_of(status, &["VmRSS:", "VmSwap:"]), Some(120 * 1024));
        let rollup = "Rss: 7 kB\nPss: 5 kB\nPss_Dirty: 3 kB\nSwapPss: 1 kB\n";
        assert_eq!(sum_of(rollup, &["Pss:", "SwapPss:"]), Some(6 * 1024));
        assert_eq!(sum_of("", &["Pss:"]), None);
        assert_eq!(sum_of("Pss: many", &["Pss:"]), None);
    }

    #[test]
    fn this_process_has_memory() {
        assert_eq!(try_this_process(), Ok(()));
        let own = Process::read(std::process::id()).expect("this process");
        let (cheap, exact) = (memory(std::slice::from_ref(&own), u64::MAX), memory(std::slice::from_ref(&own), 0));
        assert!(exact > 100_000 && exact <= cheap.saturating_mul(2), "{exact} {cheap}");
    }
}
