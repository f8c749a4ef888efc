//! Processes that use more than they may, below a host.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use lab::host::HostLab;
use lab::is_gone;
use skillrun_collect::limits::ability;
use skillrun_collect::plan::{HostPlan, ResourcePlan};
use skillrun_collect::start;
use skillrun_confine::{BoxPlan, NetworkPlan, ProbeScope, probe};
use skillrun_evidence::{HostRecord, OsText};
use skillrun_model::EndedBy;
use skillrun_model::confinement::BoxMechanism;
use skillrun_model::limits::{LimitMechanism, LimitName, ResourceLimits};

use super::has_python;

/// Keeps what it has taken for a while, so that there is something to see.
const MEMORY: &str = "
import time
kept = []
for _ in range(12):
    kept.append(b'x' * (32 << 20))
    time.sleep(0.02)
time.sleep(10)
";
const MEMORY_LIMIT: u64 = 128 << 20;

/// The memory of each process alone is below the limit.
const MEMORY_TOGETHER: &str = "
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = os.urandom(48 << 20)
        time.sleep(10)
        os._exit(0)
time.sleep(10)
";

/// Forks as fast as it can; the children know no parent.
const FORKS: &str = "
import os, time
for _ in range(600):
    if os.fork() == 0:
        os.setsid()
        with open('forked', 'a') as file:
            file.write('x')
        time.sleep(20)
        os._exit(0)
time.sleep(10)
";
const PROCESS_LIMIT: u32 = 40;

const DISK: &str = "
import os, time
with open(PLACE + '/large', 'wb') as file:
    for _ in range(24):
        file.write(b'x' * (4 << 20))
        file.flush()
        time.sleep(0.01)
    time.sleep(10)
";
const DISK_LIMIT: u64 = 32 << 20;

const CPU: &str = "
import os, time
if os.fork() == 0:
    os.setsid()
    while time.process_time() < 20: pass
    os._exit(0)
time.sleep(20)
";

/// Processes that are gone before anything sees much of them, and whose parent never waits.
const CPU_OF_MANY: &str = "
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
begin = time.time()
while time.time() - begin < 20:
    if os.fork() == 0:
        while time.process_time() < 0.5: pass
        os._exit(0)
    time.sleep(0.5)
";
const CPU_LIMIT: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Unboxed,
    Boxed(BoxMechanism),
}

/// Without a box, and with each that this machine has.
fn places() -> Vec<Place> {
    let mut places = vec![Place::Unboxed];
    match &probe(ProbeScope::WithoutNetwork).namespaces {
        Ok(()) => places.push(Place::Boxed(BoxMechanism::Namespaces)),
        Err(reason) => eprintln!("skipped: namespaces ({reason})"),
    }
    match probe(ProbeScope::WithoutNetwork).landlock {
        Some(3..) => places.push(Place::Boxed(BoxMechanism::Landlock)),
        version => eprintln!("skipped: Landlock (version {version:?})"),
    }
    places
}

fn mechanisms() -> Vec<LimitMechanism> {
    if ability().has_groups {
        vec![LimitMechanism::Watched, LimitMechanism::Cgroup]
    } else {
        eprintln!("skipped: control groups, which cannot be made here");
        vec![LimitMechanism::Watched]
    }
}

fn limits_of(name: LimitName) -> ResourceLimits {
    let none = ResourceLimits::default();
    match name {
        LimitName::Memory => ResourceLimits { memory_bytes: Some(MEMORY_LIMIT), ..none },
        LimitName::Processes => ResourceLimits { processes: Some(PROCESS_LIMIT), ..none },
        LimitName::Cpu => ResourceLimits { cpu_sec: Some(CPU_LIMIT), ..none },
        LimitName::Disk => ResourceLimits { disk_bytes: Some(DISK_LIMIT), ..none },
    }
}

/// Runs a bomb to its end. `user`: as an ordinary user, if this process may become one.
fn ran(lab: &HostLab, bomb: &str, place: Place, resources: Option<ResourcePlan>, user: Option<u32>) -> HostRecord {
    let base = lab.plan(&[]);
    let confinement = match place {
        Place::Unboxed => None,
        Place::Boxed(mechanism) => Some(BoxPlan {
            mechanism,
            network: NetworkPlan::Open,
            readable: Vec::new(),
            writable: vec![OsText::from(lab.workspace())],
        }),
    };
    fs::write(lab.workspace().join("bomb.py"), bomb).expect("written");
    let argv = ["python3", "bomb.py"].map(OsText::from).to_vec();
    let plan = HostPlan { argv, confinement, resources, ..base };
    let mut command = Command::new(crate::SKILLRUN);
    command.arg("attempt-host");
    if let Some(user) = user {
        let above = lab.workspace().parent().expect("a folder").to_owned();
        let owned = Command::new("chown").arg("-R").arg(format!("{user}:{user}")).arg(above).status();
        assert!(owned.expect("chown").success());
        command.uid(user).gid(user);
    }
    let mut host = start::start(command, &plan).expect("a host");
    host.wait().expect("ended");
    lab.record(1)
}

fn resources(lab: &HostLab, name: LimitName, mechanism: LimitMechanism) -> ResourcePlan {
    ResourcePlan { limits: limits_of(name), mechanism, folders: vec![OsText::from(lab.workspace())] }
}

/// The bomb is ended at its limit, with everything that it has started.
fn is_ended(bomb: &str, name: LimitName, place: Place, mechanism: LimitMechanism, is_other_user: bool) -> HostLab {
    let lab = HostLab::new();
    let user = if is_other_user { lab.other_user() } else { None };
    let resources = resources(&lab, name, mechanism);
    let limits = resources.limits;
    let record = ran(&lab, bomb, place, Some(resources), user);
    let shown = format!("{place:?} {mechanism} {user:?}: {record:#?}");
    assert_eq!(record.ended_by, Some(name.ended_by()), "{shown}");
    let reached = record.limit.expect("a limit");
    assert_eq!(reached.name, name, "{shown}");
    let limit = match name {
        LimitName::Cpu => CPU_LIMIT * 1000,
        LimitName::Memory | LimitName::Processes | LimitName::Disk => limits.get(name).expect("a limit"),
    };
    assert_eq!(reached.limit, limit, "{shown}");
    assert!(reached.seen >= limit, "{shown}");
    assert_eq!(record.error.expect("words").code, name.code(), "{shown}");
    assert!(record.survivors.iter().all(|one| is_gone(one.pid)), "{shown}");
    lab
}

fn in_every_place(bomb: &str, name: LimitName) {
    if !has_python() {
        return;
    }
    for place in places() {
        for mechanism in mechanisms() {
            is_ended(bomb, name, place, mechanism, false);
        }
        is_ended(bomb, name, place, LimitMechanism::Watched, true);
    }
}

#[test]
fn a_memory_bomb_is_ended() {
    in_every_place(MEMORY, LimitName::Memory);
}

#[test]
fn memory_is_that_of_all_processes_together() {
    in_every_place(MEMORY_TOGETHER, LimitName::Memory);
}

#[test]
fn a_fork_bomb_is_ended() {
    in_every_place(FORKS, LimitName::Processes);
}

#[test]
fn a_cpu_burner_is_ended() {
    in_every_place(CPU, LimitName::Cpu);
}

#[test]
fn processor_time_of_processes_that_are_gone_counts() {
    if has_python() {
        is_ended(CPU_OF_MANY, LimitName::Cpu, Place::Unboxed, LimitMechanism::Watched, false);
    }
}

#[test]
fn a_disk_bomb_in_the_workspace_is_ended() {
    in_every_place(&DISK.replace("PLACE", "'.'"), LimitName::Disk);
}

#[test]
fn a_disk_bomb_in_the_folder_for_temporary_files_is_ended() {
    in_every_place(&DISK.replace("PLACE", "os.environ['TMPDIR']"), LimitName::Disk);
}

/// A box with namespaces has file systems in memory that nothing else sees.
#[test]
fn a_disk_bomb_in_the_memory_of_a_box_is_ended() {
    let place = Place::Boxed(BoxMechanism::Namespaces);
    if !has_python() || !places().contains(&place) {
        return;
    }
    for folder in ["'/tmp'", "'/dev/shm'"] {
        for is_other_user in [false, true] {
            let bomb = DISK.replace("PLACE", folder);
            is_ended(&bomb, LimitName::Disk, place, LimitMechanism::Watched, is_other_user);
        }
    }
}

/// The kernel stops what forks faster than the host looks: it allows eight tasks for each process.
#[test]
fn a_control_group_stops_a_fork_bomb_at_once() {
    if !has_python() || !ability().has_groups {
        eprintln!("skipped: {:?}", ability());
        return;
    }
    let lab = HostLab::new();
    let limits = ResourceLimits { processes: Some(2), ..ResourceLimits::default() };
    let resources = ResourcePlan { limits, mechanism: LimitMechanism::Cgroup, folders: Vec::new() };
    let record = ran(&lab, FORKS, Place::Unboxed, Some(resources), None);
    assert_eq!(record.ended_by, Some(EndedBy::ProcessLimit), "{record:#?}");
    let forked = fs::read(lab.workspace().join("forked")).map_or(0, |written| written.len());
    assert!(forked < 16, "{forked}");
}

/// The kernel counts memory that no process has: files in memory.
#[test]
fn a_control_group_holds_memory_that_no_process_has() {
    let place = Place::Boxed(BoxMechanism::Namespaces);
    if !has_python() || !ability().has_groups || !places().contains(&place) {
        return;
    }
    let bomb = DISK.replace("PLACE", "'/tmp'").replace("range(24)", "range(80)");
    is_ended(&bomb, LimitName::Memory, place, LimitMechanism::Cgroup, false);
}

#[test]
fn what_stays_below_its_limits_is_not_ended() {
    if !has_python() {
        return;
    }
    const MODEST: &str = "
import os, time
kept = b'x' * (16 << 20)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(0.5)
        os._exit(0)
open('small', 'wb').write(kept)
for _ in range(4):
    os.wait()
";
    for place in places() {
        for mechanism in mechanisms() {
            let lab = HostLab::new();
            let limits = ResourceLimits {
                memory_bytes: Some(MEMORY_LIMIT),
                processes: Some(5),
                cpu_sec: Some(30),
                disk_bytes: Some(DISK_LIMIT),
            };
            let resources = ResourcePlan { limits, mechanism, folders: vec![OsText::from(lab.workspace())] };
            let record = ran(&lab, MODEST, place, Some(resources), None);
            assert_eq!((record.exit_code, record.limit), (Some(0), None), "{place:?} {mechanism}: {record:#?}");
            assert!(record.error.is_none() && record.survivors_total == 0, "{record:#?}");
        }
    }
}

/// Nothing is left of the groups, also where a host was killed and its attempt is taken up by another.
#[test]
fn control_groups_are_removed() {
    if !has_python() || !ability().has_groups {
        eprintln!("skipped: {:?}", ability());
        return;
    }
    let lab = is_ended(FORKS, LimitName::Processes, Place::Unboxed, LimitMechanism::Cgroup, false);
    let claim: serde_json::Value = serde_json::from_slice(&lab.evidence("claim.1")).expect("a claim");
    let nonce = claim["nonce"].as_str().expect("a nonce");
    let own = fs::read_to_string("/proc/self/cgroup").expect("groups");
    for (controller, path) in own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')) {
        let folder = Path::new("/sys/fs/cgroup").join(controller).join(path.trim_start_matches('/'));
        assert!(!folder.join(format!("skillrun-limits-{nonce}")).exists(), "{}", folder.display());
    }
}
